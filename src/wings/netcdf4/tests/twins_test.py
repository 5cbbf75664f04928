"""Forebay and netCDF-C make the same files from the same calls: twins, for every reader.

usage: twins_test.py --launch "MPIEXEC ..." --client PROGRAM --dir DIRECTORY [--h5dump PROGRAM]

netCDF-C is that of netCDF4-python and, where it can be loaded, the system's, which may be older.
A third twin is what ncgen makes of ncdump's text. The twins get the shapes of chunks that Forebay
chose, as these are a choice of each library.
"""
import ctypes
import os
import shutil
import sys
import warnings

try:
    import h5netcdf  # noqa: F401
    import netCDF4  # noqa: F401
    import numpy
    import scipy  # noqa: F401
    import xarray  # noqa: F401
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)

from twins import (CLASSIC_TYPES, DTYPES, Calls, Programs, count, expect, expect_equal,
                   is_refused_by_scipy, output_of, same_in_xarray, storage_of,
                   view_of_h5dump, view_of_h5netcdf, view_of_ncdump, view_of_netcdf4_python)

CHUNKED = "container=netcdf4;layout=chunked;chunk_bytes=64;codec="


def extremes(kind):
    """Twelve values of a type, with the ends of its range."""
    if kind == "char":
        return numpy.array(list("abcdefghijkl"), "S1")
    if kind in ("float", "double"):
        its = numpy.arange(12) * 1.25 - 3
        its[[1, 5]] = [-1e30, numpy.inf]
        return its.astype(DTYPES[kind])
    limits = numpy.iinfo(DTYPES[kind])
    its = numpy.arange(12).astype(DTYPES[kind])
    its[[1, 5]] = [limits.min, limits.max]
    return its


def every_kind(form, types):
    """All that a definition can have, and where names and places clash."""
    f = Calls().add("create", form).add("fill")
    for name, length in (("t", 0), ("y", 3), ("x", 4), ("n", 5), ("z", 2), ("great", 7),
                         ("größe +1@b", 2), ("unused", 6)):
        f.dim(name, length)
    f.att("*", "title", "char", "twins").att("*", "empty", "char", "")
    f.att("*", "Ünïcode ☃", "char", "Grüße ☃").att("*", "lengthy", "char", "x" * 70000)
    f.att("*", "many", "double", numpy.arange(9000) / 8)
    f.var("v", "float", "t", "y", "x").att("v", "units", "char", "K")
    f.att("v", "_FillValue", "float", [-1])
    for kind in types:
        f.var("fixed_" + kind, kind, "y", "x").att("fixed_" + kind, "of_" + kind, kind,
                                                   extremes(kind)[:6])
        f.var("record_" + kind, kind, "t", "x").att("*", "of_" + kind, kind, extremes(kind)[4:6])
        if kind != "char":
            f.att("*", "none_" + kind, kind, [])
    f.var("x", "double", "x").att("x", "axis", "char", "X")  # coordinates after others
    f.var("n", "int", "n", "x")  # a coordinate variable of two dimensions
    f.var("y", "int")            # not the coordinate variable of y
    f.var("z", "short", "y")
    f.var("scalar", "double").att("scalar", "about", "char", "pi")
    f.var("text", "char", "n", "great")
    f.var("größe +1@b", "float", "größe +1@b")
    f.var("a-b.c@d+e f", "int", "größe +1@b", "z")
    f.var("unwritten", "int", "y", "x")
    f.var("same_twice", "int", "y", "y")
    f.var("many_attributes", "int")
    for i in range(14):
        f.att("many_attributes", f"z{14 - i}", "int", [i, i + 1])
        f.att("*", f"z{14 - i}", "char", "x" * i)
    f.att("many_attributes", "lengthy", "int", numpy.arange(20000))
    f.add("enddef")
    for kind in types:
        f.put("fixed_" + kind, (0, 0), extremes(kind).reshape(3, 4))
        f.put("record_" + kind, (1, 0), extremes(kind).reshape(3, 4))
    f.put("v", (1, 0, 0), numpy.arange(12).reshape(1, 3, 4))
    f.put("v", (3, 1, 1), numpy.arange(4).reshape(1, 2, 2), "independent")
    f.put("x", (0,), [1.5, 2.5, 3.5, 4.5]).put("n", (0, 0), numpy.arange(20).reshape(5, 4))
    f.put("y", (), 17).put("z", (0,), [7, 8, 9]).put("scalar", (), 3.140625)
    f.put("text", (1, 0), numpy.array([list("seven  "), list("letters")], "S1"))
    f.put("größe +1@b", (0,), [0.5, -0.5]).put("a-b.c@d+e f", (0, 0), [[1, 2], [3, 4]])
    f.put("same_twice", (0, 0), numpy.arange(9).reshape(3, 3)).put("many_attributes", (), 1)
    return f.add("close")


def fewer_records(form, _):
    """Variables to which fewer records were written than there are, or none.

    netCDF-C then gives them shorter datasets, whose missing records it shows as fill values. All
    datasets of Forebay have all records. So tools that do not know netCDF see a difference.
    """
    f = Calls().add("create", form).add("fill").dim("time", 0).dim("x", 4)
    f.var("a", "int", "time", "x").var("b", "short", "time").var("none", "float", "time", "x")
    f.var("time", "double", "time").add("enddef")
    f.put("a", (0, 0), numpy.arange(12).reshape(3, 4)).put("b", (0,), [1, 2])
    f.put("time", (0,), [0.5])
    return f.add("close")


def nothing(form, _):
    return Calls().add("create", form).add("enddef").add("close")


def dimensions_only(form, _):
    f = Calls().add("create", form).dim("y", 3).dim("t", 0).dim("x", 4)
    return f.add("enddef").add("close")


def no_records(form, types):
    f = Calls().add("create", form).add("fill").dim("x", 3).dim("t", 0)
    f.var("t", "double", "t").att("t", "units", "char", "days since 2000-01-01")
    for kind in types:
        f.var("no_" + kind, kind, "t", "x")
    return f.add("enddef").add("close")


def with_time(form, _):
    """An unlimited dimension with a coordinate variable, and all values, as models write it.

    PnetCDF's programs do not ask for fill values, and their files are twins of filled ones."""
    f = Calls().add("create", form).dim("time", 0).dim("lat", 3).dim("lon", 6)
    f.var("T", "float", "time", "lat", "lon").att("T", "_FillValue", "float", [1e20])
    f.att("T", "coordinates", "char", "area").var("p", "short", "time", "lat", "lon")
    f.att("p", "scale_factor", "float", [0.5]).att("p", "add_offset", "float", [10])
    f.att("p", "_FillValue", "short", [-999])
    f.var("time", "double", "time").att("time", "units", "char", "days since 2000-01-01")
    f.att("time", "calendar", "char", "noleap")
    f.var("lon", "float", "lon").var("lat", "float", "lat")
    f.var("area", "double", "lat", "lon").add("enddef")
    for t in range(3):
        f.put("T", (t, 0, 0), numpy.arange(18).reshape(1, 3, 6) + 100 * t)
        f.put("time", (t,), [t + 0.5])
    f.add("sync").put("p", (0, 0, 0), numpy.arange(54).reshape(3, 3, 6))
    f.put("lon", (0,), numpy.arange(6) * 60).put("lat", (0,), [-45, 0, 45])
    f.put("area", (0, 0), numpy.ones((3, 6)))
    return f.add("close")


def defined_twice(form, _):
    """Definitions after values, in a file that is opened again, with renamed and deleted ones."""
    f = Calls().add("create", form).add("fill").dim("t", 0).dim("x", 4)
    f.var("a", "int", "t", "x").var("x", "float", "x").att("a", "first", "char", "1")
    f.att("a", "second", "char", "2").add("chunk", "a", 3, 2).add("enddef")
    f.put("a", (0, 0), numpy.arange(8).reshape(2, 4)).put("x", (0,), [1, 2, 3, 4])
    f.add("close").add("open").add("redef").dim("y", 3)
    f.att("a", "third", "int", [3]).add("delete_att", "a", "first")
    f.add("rename_att", "a", "second", "zweites").att("*", "later", "char", "much later than that")
    f.var("b", "double", "t", "y", "x").var("y", "int", "y").add("enddef")
    f.put("b", (1, 0, 0), numpy.arange(24).reshape(2, 3, 4)).put("y", (0,), [3, 2, 1])
    f.put("a", (2, 0), numpy.arange(4).reshape(1, 4))
    return f.add("close")


def renamed(form, _):
    """Names that change, so that a variable becomes its dimension's or ceases to be it.

    netCDF-C renames such ones badly. So its twin gets the last names at once.
    """
    f = Calls().add("create", form).dim("t", 0).dim("a", 2).dim("b", 3).dim("e", 4)
    f.var("v", "int", "t", "a", "b").var("w", "float", "b").var("e", "short", "e")
    f.var("s", "double")
    f.att("v", "old", "char", "1").add("enddef")
    f.put("v", (0, 0, 0), numpy.arange(12).reshape(2, 2, 3)).put("w", (0,), [1, 2, 3])
    f.put("e", (0,), [1, 2, 3, 4]).put("s", (), 2.5).add("sync")
    f.add("redef").add("rename_dim", "a", "long_name").add("rename_var", "w", "b")
    f.add("rename_dim", "e", "f").add("rename_var", "s", "t").add("rename_att", "v", "old", "newer")
    f.add("enddef").add("close")
    twin = Calls().add("create", form).dim("t", 0).dim("long_name", 2).dim("b", 3).dim("f", 4)
    twin.var("v", "int", "t", "long_name", "b").var("b", "float", "b").var("e", "short", "f")
    twin.var("t", "double").att("v", "newer", "char", "1").add("enddef")
    twin.put("v", (0, 0, 0), numpy.arange(12).reshape(2, 2, 3)).put("b", (0,), [1, 2, 3])
    twin.put("e", (0,), [1, 2, 3, 4]).put("t", (), 2.5).add("close")
    f.twin = twin
    return f


def append_by_netcdf4_python(path):
    with netCDF4.Dataset(path, "a") as f:
        f.set_auto_maskandscale(False)
        f.set_auto_chartostring(False)
        f.setncattr("appended", numpy.int32(1))
        for var in list(f.variables.values()):
            var.setncattr("appended", numpy.int16(2))
            if var.dimensions and f.dimensions[var.dimensions[0]].isunlimited():
                n = len(f.dimensions[var.dimensions[0]])
                var[n:n + 2] = numpy.full((2, *var.shape[1:]), 49).astype(var.dtype)
        f.createDimension("appended", 2)
        f.createVariable("appended", "i4", ("appended",))[:] = [7, 8]


CASES = [every_kind, fewer_records, nothing, dimensions_only, no_records, with_time, defined_twice,
         renamed]
KINDS = {  # format that the program asks for, hints, codec
    "nc4": ("nc4", "container=netcdf4", ""),
    "cdf5": ("cdf5", "container=netcdf4", ""),
    "cdf2": ("cdf2", "container=netcdf4", ""),
    "classic_deflate": ("nc4classic", CHUNKED + "shuffle,deflate:4", "shuffle,deflate:4"),
    "nc4_checked": ("nc4", CHUNKED + "shuffle,deflate:4,fletcher32",
                    "shuffle,deflate:4,fletcher32"),
}


def is_on_this_machine(library):
    try:
        ctypes.CDLL(library)
        return True
    except OSError:
        return False


def compare(programs, path, twin, what):
    """All readers see the same in both files."""
    for options in (("-s",), ("-h",)):
        expect_equal(view_of_ncdump(path, *options), view_of_ncdump(twin, *options),
                     f"ncdump {what}")
    expect_equal(view_of_netcdf4_python(path), view_of_netcdf4_python(twin),
                 f"netCDF4-python {what}")
    if not what.startswith("fewer_records"):
        if programs.h5dump:
            expect_equal(view_of_h5dump(programs.h5dump, path),
                         view_of_h5dump(programs.h5dump, twin), f"h5dump {what}")
            count("h5dump")
        expect_equal(view_of_h5netcdf(path), view_of_h5netcdf(twin), f"h5netcdf {what}")
    for engine in ("netcdf4", "h5netcdf"):
        try:
            expect(same_in_xarray(path, twin, engine), f"xarray with {engine} {what}: differs")
        except Exception as error:
            failures_of_xarray(path, twin, engine, what, error)
    for reader in ("ncdump", "netCDF4-python", "h5netcdf", "xarray"):
        count(reader)


def failures_of_xarray(path, twin, engine, what, error):
    """xarray refuses some files: then it must refuse both."""
    for its in (path, twin):
        try:
            with xarray.open_dataset(its, engine=engine, decode_cf=False) as f:
                f.load()
            expect(False, f"xarray with {engine} {what}: {error}")
        except Exception as again:
            expect(type(again) is type(error), f"xarray with {engine} {what}: {again}")


def with_ncgen(path, form, what):
    """What ncgen makes of ncdump's text has the same text."""
    cdl, twin = path + ".cdl", path + ".ncgen.nc"
    with open(cdl, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(output_of(["ncdump", "-s", path], "ncdump"))
    kind = "nc7" if form in ("nc4classic", "cdf1", "cdf2") else "nc4"
    output_of(["ncgen", "-k", kind, "-o", twin, cdl], f"ncgen {what}")
    if expect(os.path.exists(twin), f"ncgen {what} makes nothing"):
        expect_equal(view_of_ncdump(path), view_of_ncdump(twin), f"ncgen {what}")
        count("ncgen")


def try_kind(programs, kind):
    form, hints, codec = KINDS[kind]
    types = CLASSIC_TYPES if form in ("nc4classic", "cdf2") else list(DTYPES)
    files, names = {}, {}
    for case in CASES:
        path = programs.path(f"{case.__name__}_{kind}.nc")
        if not programs.only or programs.only in path:
            files[path], names[path] = case(form, types), f"{case.__name__}, {kind}"
    programs.forebay(files, hints)
    told = programs.tell(list(files))
    for path, what in names.items():
        expect(is_refused_by_scipy(path), f"scipy takes {what} as a classic file")
        text, said = told[path]
        expect(text and "\nerror " not in text, f"Forebay does not read {what}: {said[-500:]}")
        if shutil.which("ncgen"):
            with_ncgen(path, form, what)
    for name, library in (("python", "python"), ("system", "libnetcdf.so.19")):
        if library != "python" and not is_on_this_machine(library):
            continue
        twins = {f"{path}.{name}.nc": calls.twin.with_storage(storage_of(path), codec)
                 for path, calls in files.items()}
        programs.netcdf(twins, library)
        of_twins = programs.tell(list(twins))
        for path, twin in zip(files, twins):
            what = f"{names[path]}, netCDF-C of {name}"
            compare(programs, path, twin, what)
            text, said = of_twins[twin]
            if expect(text, f"Forebay does not read {twin}: {said[-500:]}"):
                expect_equal(told[path][0], text, f"Forebay {what}")
    append(programs, {path: f"{path}.python.nc" for path in files}, names)


def append(programs, twins, names):
    """netCDF4-python adds records and definitions to Forebay's files and their twins."""
    for pair in twins.items():
        for path in pair:
            append_by_netcdf4_python(path)
    told = programs.tell([path for pair in twins.items() for path in pair])
    for path, twin in twins.items():
        what = f"appended to {names[path]}"
        expect_equal(view_of_ncdump(path), view_of_ncdump(twin), f"ncdump {what}")
        expect_equal(told[path][0], told[twin][0], f"Forebay {what}")


def main():
    warnings.filterwarnings("ignore", "Duplicate dimension names")
    programs = Programs(__doc__)
    for kind in programs.kinds or KINDS:
        try_kind(programs, kind)
    return programs.end()


if __name__ == "__main__":
    sys.exit(main())
