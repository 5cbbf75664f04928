"""NCO, CDO and netCDF4-python work with Forebay's files, and change them; Forebay goes on.

usage: nco_cdo_test.py --launch "MPIEXEC ..." --client PROGRAM --dir DIRECTORY [KIND ...]

Each program gets Forebay's file and its twin by netCDF-C, and both results must be equal. Programs
that are not installed are named as not run.
"""
import os
import shutil
import sys

try:
    import h5py
    import netCDF4
    import numpy
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)

from twins import (Calls, Programs, count, counts, expect, expect_equal, output_of, storage_of,
                   view_of_ncdump, view_of_netcdf4_python)

LATITUDES, LONGITUDES = 13, 30
KINDS = {
    "nc4": ("nc4", "container=netcdf4", ""),
    "classic": ("nc4classic", "container=netcdf4", ""),
    "deflate": ("nc4", "container=netcdf4;layout=chunked;codec=shuffle,deflate:4",
                "shuffle,deflate:4"),
    "checked": ("nc4classic", "container=netcdf4;layout=chunked;codec=shuffle,deflate:4,fletcher32",
                "shuffle,deflate:4,fletcher32"),
}

# Commands get IN and, if they make one, a new file OUT. They must not write down when they ran.
READS = {
    "ncks prints": "ncks -H IN",
    "ncks shows definitions": "ncks --cdl -m IN",
    "ncks takes a part": "ncks -h -d lon,1,20,3 -d time,1, -v T,area IN OUT",
    "ncks compresses": "ncks -h -4 -L 2 IN OUT",
    "ncks makes a classic file": "ncks -h -5 IN OUT",
    "ncra": "ncra -h IN OUT",
    "ncrcat": "ncrcat -h IN IN OUT",
    "ncatted": "ncatted -h -a units,T,m,c,Kelvin -a new,global,c,d,1.5 IN OUT",
    "ncwa": "ncwa -h -a lon IN OUT",
    "ncap2": "ncap2 -h -s double=T*2 IN OUT",
    "ncdiff": "ncdiff -h IN IN OUT",
    "cdo info": "cdo -s info IN",
    "cdo sinfo": "cdo -s sinfon IN",
    "cdo selvar": "cdo -s --no_history selvar,T IN OUT",
    "cdo timmean": "cdo -s --no_history timmean IN OUT",
    "cdo zips": "cdo -s --no_history -f nc4 -z zip_2 copy IN OUT",
    "nccopy": "nccopy -k cdf5 IN OUT",
    "nccopy packs": "nccopy -d 3 -s -c time/2,lat/5,lon/7 IN OUT",
}


def field(records, start=0):
    shape = (records, LATITUDES, LONGITUDES)
    return numpy.arange(numpy.prod(shape)).reshape(shape) * 0.25 + 1000 * start


def first_calls(form):
    f = Calls().add("create", form).dim("time", 0).dim("lat", LATITUDES).dim("lon", LONGITUDES)
    f.var("time", "double", "time").att("time", "units", "char", "days since 2000-01-01")
    f.att("time", "calendar", "char", "standard").att("time", "axis", "char", "T")
    for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
        f.var(name, "double", name).att(name, "units", "char", units)
        f.att(name, "standard_name", "char", {"lat": "latitude", "lon": "longitude"}[name])
    f.var("T", "float", "time", "lat", "lon").att("T", "units", "char", "K")
    f.att("T", "_FillValue", "float", [1e20]).att("T", "missing_value", "float", [1e20])
    f.var("p", "short", "time", "lat", "lon").att("p", "scale_factor", "float", [0.5])
    f.var("area", "double", "lat", "lon").att("*", "Conventions", "char", "CF-1.8")
    f.add("enddef").put("T", (0, 0, 0), field(4)).put("p", (0, 0, 0), field(4) % 300)
    f.put("time", (0,), [0.5, 1.5, 2.5, 3.5]).put("area", (0, 0), field(1)[0])
    f.put("lat", (0,), numpy.linspace(-90, 90, LATITUDES))
    return f.put("lon", (0,), numpy.arange(LONGITUDES) * 12.0).add("close")


def more_calls(number):
    """Records, and definitions, of Forebay in a file that others have changed."""
    f = Calls().add("open").add("redef").dim(f"d{number}", 5)
    f.att("*", f"round_{number}", "int", [number])
    f.var(f"more_{number}", "int", "time", f"d{number}").add("enddef")
    f.types.update({"T": "float", "time": "double", "p": "short"})
    records = 4 + 3 * number
    f.put("T", (records, 0, 0), field(1, number)).put("time", (records,), [records + 0.5])
    f.put("p", (records, 0, 0), field(1, number) % 200)
    f.put("p", (1, 2, 3), field(1)[:, :5, :7])  # in the midst of compressed chunks
    f.put(f"more_{number}", (0, 0), numpy.arange(5 * (records + 1)).reshape(records + 1, 5))
    return f.add("close")


def is_there(command):
    return shutil.which(command.split()[0]) is not None


def read_by_tools(path, twin, kind):
    for what, command in READS.items():
        if not is_there(command):
            continue
        views = []
        for its in (path, twin):
            # All names are the same, since programs print them.
            words = [w.replace("IN", "in.nc").replace("OUT", "out.nc") for w in command.split()]
            place = its + ".place"
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place)
            shutil.copy(its, os.path.join(place, "in.nc"))
            said = output_of(["env", "-C", place, *words], f"{what}, {kind}")
            made = os.path.join(place, "out.nc")
            expect(os.path.exists(made) == ("OUT" in command), f"{what}, {kind}: no file")
            views.append(said + (view_of_ncdump(made) if os.path.exists(made) else ""))
        expect_equal(views[0], views[1], f"{what}, {kind}")
        expect(len(views[0]) > 300, f"{what}, {kind} says little: {views[0]}")
        count(command.split()[0])


# -- changes in place, in the order in which they are made

def by_netcdf4_python(path):
    with netCDF4.Dataset(path, "a") as f:
        n = len(f.dimensions["time"])
        f["T"][n:n + 2] = field(2, 7)
        f["time"][n:n + 2] = [n + 0.5, n + 1.5]
        f["p"].set_auto_scale(False)
        f["p"][n + 1] = 5
        f["area"][2:4, 3:9] = -1
        f["T"].setncattr("changed", numpy.int32(3))
        f.delncattr("Conventions")
        f.createDimension("station", 4)
        names = f.createVariable("names", "S1", ("station", "lon"))
        names[:] = b"s"
        zlib = f.data_model == "NETCDF4"
        f.createVariable("level", "f4", ("time", "station"), zlib=zlib)[:] = 2.5


def by_ncks(path):
    extra = path + ".extra.nc"
    with netCDF4.Dataset(extra, "w") as f:
        f.createDimension("lat", LATITUDES)
        f.createDimension("depth", 3)
        f.createVariable("mask", "i4", ("lat", "depth"))[:] = 4
    output_of(["ncks", "-h", "-A", extra, path], "ncks -A")
    output_of(["ncatted", "-h", "-a", "comment,mask,o,c,from elsewhere", path], "ncatted")
    with netCDF4.Dataset(path, "a") as f:
        n = len(f.dimensions["time"])
        f["T"][n:n + 2] = field(2, 9)
        f["time"][n:n + 2] = [n + 0.5, n + 1.5]


def by_h5py(path):
    with h5py.File(path, "r+") as f:
        f["area"][5, :] = 17
        f["T"][2, 3, :] = 3.5
        f["T"].attrs["units"] = numpy.bytes_(b"celsius")
        n = f["time"].shape[0]
        for name, values in (("time", [n + 0.5, n + 1.5]), ("T", field(2, 11)), ("p", 7)):
            f[name].resize(n + 2, axis=0)
            f[name][n:] = values


CHANGES = [("netCDF4-python", by_netcdf4_python), ("ncks -A", by_ncks), ("h5py", by_h5py)]


def same(path, twin, told, what):
    expect_equal(view_of_ncdump(path), view_of_ncdump(twin), f"ncdump {what}")
    expect_equal(view_of_netcdf4_python(path).replace(path, ""),
                 view_of_netcdf4_python(twin).replace(twin, ""), f"netCDF4-python {what}")
    expect(told[path][0], f"Forebay does not read {what}: {told[path][1][-600:]}")
    expect_equal(told[path][0], told[twin][0], f"Forebay {what}")


def change_in_turns(programs, path, twin, kind):
    """Others and Forebay change both files in turns."""
    for number, (name, change) in enumerate(CHANGES):
        if name == "ncks -A" and not shutil.which("ncks"):
            continue
        for its in (path, twin):
            change(its)
        same(path, twin, programs.tell([path, twin]), f"after {name}, {kind}")
        count(name)
        calls = more_calls(number + 1)
        programs.forebay({path: calls, twin: calls})
        same(path, twin, programs.tell([path, twin]), f"after {name} and Forebay, {kind}")


def main():
    programs = Programs(__doc__)
    for kind in programs.kinds or KINDS:
        form, hints, codec = KINDS[kind]
        path, twin = programs.path(kind + ".nc"), programs.path(kind + ".twin.nc")
        calls = first_calls(form)
        programs.forebay({path: calls}, hints)
        programs.netcdf({twin: calls.with_storage(storage_of(path), codec)})
        read_by_tools(path, twin, kind)
        change_in_turns(programs, path, twin, kind)
    for tool in ("ncks", "cdo", "nccopy"):
        if tool not in counts:
            print(f"{tool}: not run")
    return programs.end()


if __name__ == "__main__":
    sys.exit(main())
