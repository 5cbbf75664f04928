#!/usr/bin/env python3
"""Has the forebay command convert netCDF files to BP4 on several ranks; adios2 reads them, and they convert back."""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

try:
    import adios2
    import netCDF4
    import numpy as np
    import check_read_bp
except ImportError as missing:
    print(f"skipped: {missing} (adios2, netCDF4 and numpy are needed)")
    sys.exit(77)

try:
    import h5py
except ImportError:
    h5py = None

TYPES = {"i1": "int8_t", "i2": "int16_t", "i4": "int32_t", "i8": "int64_t", "u1": "uint8_t", "u2": "uint16_t",
         "u4": "uint32_t", "u8": "uint64_t", "f4": "float", "f8": "double"}
LONG = "many words " * 7000  # more than a string of BP has room for
# So that a record and a large variable take several rounds of a rank each.
SMALL = ["-m", "buffer_limit=8KiB"]


def series(dtype, shape, first):
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) + first).astype(dtype)


def make(path, records, **how):
    """Every type, in records and without, and all kinds of attributes."""
    with netCDF4.Dataset(path, "w", **how) as file:
        file.createDimension("time", None)
        for name, length in (("y", 40), ("x", 30), ("len", 7), ("nobody", 3)):
            file.createDimension(name, length)
        for dtype in TYPES:
            fixed = file.createVariable(f"fixed_{dtype}", dtype, ("y", "x"), fill_value=series(dtype, (), 99))
            fixed[:] = series(dtype, (40, 30), 1)
            fixed.setncattr("range", series(dtype, (2,), 3))
            record = file.createVariable(f"record_{dtype}", dtype, ("time", "y"))
            for n in range(records):
                record[n] = series(dtype, (40,), n)
        file.createVariable("number", "f8", ())[...] = 2.5
        time = file.createVariable("time", "f8", ("time",))
        names, word = file.createVariable("names", "S1", ("time", "len")), file.createVariable("word", "S1", ("len",))
        word[:] = np.frombuffer(b"hello\0\0", "S1")
        for n in range(records):
            time[n] = n + 0.5
            names[n] = np.frombuffer(f"rec {n}".encode().ljust(7, b"\0"), "S1")
        time.units = "days"
        file.title, file.story = "all kinds", LONG
        file.setncattr("one", np.int32(7))


def check_adios2(path, records):
    """What stock adios2 has of such a file."""
    with adios2.FileReader(str(path)) as file:
        there, attributes = file.available_variables(), file.available_attributes()
        assert file.num_steps() == max(records, 1), file.num_steps()
        for dtype, name in TYPES.items():
            fixed = f"fixed_{dtype}"
            assert there[fixed]["Type"] == name and there[fixed]["Shape"] == "40, 30", there[fixed]
            assert there[fixed]["AvailableStepsCount"] == "1", there[fixed]
            same(fixed, file.read(fixed, step_selection=[0, 1]), series(dtype, (40, 30), 1))
            same(fixed, file.read_attribute(f"{fixed}/range"), series(dtype, (2,), 3))
            assert one(file.read_attribute(f"{fixed}/_FillValue")) == 99
            assert list(file.read_attribute(f"{fixed}/__xarray_dimensions__")) == ["y", "x"]
            record = f"record_{dtype}"
            assert (record in there) == (records > 0), record
            for n in range(records):
                same(record, file.read(record, step_selection=[n, 1]), series(dtype, (40,), n))
            if records:
                assert there[record]["AvailableStepsCount"] == str(records), there[record]
                assert list(file.read_attribute(f"{record}/__xarray_dimensions__")) == ["y"]
        assert one(file.read("number", step_selection=[0, 1])) == 2.5
        assert there["word"]["Type"] == "char" and there["word"]["Shape"] == "7", there["word"]
        assert bytes(file.read("word", step_selection=[0, 1]).astype("u1")) == b"hello\0\0"
        for n in range(records):
            assert one(file.read("time", step_selection=[n, 1])) == n + 0.5
            names = file.read("names", step_selection=[n, 1])
            assert bytes(names.astype("u1")).startswith(f"rec {n}".encode()), names
        assert file.read_attribute("title") == "all kinds"
        assert one(file.read_attribute("one")) == 7
        assert attributes["story"]["Elements"] == str(len(LONG)), attributes["story"]["Elements"]
        if records:
            assert file.read_attribute("time/units") == "days"


def one(value):
    return np.ravel(value).tolist()[0]


def same(what, got, expected):
    got = np.asarray(got)
    assert got.dtype == expected.dtype, f"{what}: {got.dtype}, not {expected.dtype}"
    assert np.array_equal(got, expected), f"{what}: {got}, not {expected}"


def to_hdf5(run, ranks, folder):
    """BP to HDF5 on several ranks: contiguous, in chunks of which some are cut off, and encoded; h5py reads it."""
    if h5py is None:
        print("no h5py: HDF5 files are not looked at")
        return
    plain, made = folder / "large.nc", folder / "large.bp"
    wanted = {"fixed": series("f8", (50, 70, 30), 1), "small": series("i2", (70,), 2),
              "flat": series("f4", (70000,), 3), "record": series("i4", (5, 70, 130), 4)}
    with netCDF4.Dataset(plain, "w", format="NETCDF3_64BIT_DATA") as file:
        for name, length in (("t", None), ("a", 50), ("b", 70), ("c", 30), ("d", 130), ("e", 70000)):
            file.createDimension(name, length)
        for name, dims in (("fixed", "abc"), ("small", "b"), ("flat", "e"), ("record", "tbd")):
            fill = series(wanted[name].dtype, (), 77)
            file.createVariable(name, wanted[name].dtype, tuple(dims), fill_value=fill)[:] = wanted[name]
    run("convert", plain, made, "-f", launch=ranks[3])
    for how in ([], ["-m", "chunk_bytes=7000"], ["-m", "layout=chunked;chunk_bytes=20000"],
                ["-m", "codec=shuffle,deflate:1"], ["-m", "layout=canonical"]):
        for number, launch in ranks.items():
            out = folder / f"large{number}.h5"
            run("convert", made, out, "--to", "hdf5", "--verify", "-f", *how, launch=launch)
            run("diff", made, out)
            with h5py.File(out, "r+") as file:
                for name, values in wanted.items():
                    same(name, file[name][...], values)
                record = file["record"]
                if "layout=canonical" in how:
                    # HDF5 wants chunks of what can grow.
                    assert [name for name in wanted if file[name].chunks] == ["record"], how
                record.resize((6, *record.shape[1:]))
                assert record.chunks and (record[5] == 77).all(), (how, number, record.chunks)
    print("BP to HDF5: as it was")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--launch", required=True, help="what starts 3 ranks of it")
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    ranks = {1: [], 3: shlex.split(options.launch)}

    def run(*arguments, launch=(), code=0):
        done = subprocess.run([*launch, options.command, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode == code, f"{arguments}: {done.returncode}, {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def convert_and_back(source, name, launch, *how):
        """Returns the BP directory; what comes back is equal in all."""
        made, back = options.dir / f"{name}.bp", options.dir / f"{name}.back.nc"
        run("convert", source, made, "--verify", "-f", *how, launch=launch)
        run("convert", made, back, "--format", "cdf5", "-f", *how[2:])
        run("check", made)
        return made, back

    for records in (1, 3):
        plain, modern = options.dir / f"r{records}.nc", options.dir / f"r{records}.nc4"
        make(plain, records, format="NETCDF3_64BIT_DATA")
        make(modern, records, format="NETCDF4")
        chunked, maps = options.dir / f"chunked{records}.nc", options.dir / f"maps{records}.nc"
        run("convert", plain, chunked, "-m", "codec=zstd:1;chunk_bytes=1000")
        run("convert", plain, maps, "-m", "layout=decomposed", "--format", "cdf5", launch=ranks[3])
        for source in (plain, modern, chunked, maps):
            for number, launch in ranks.items():
                made, back = convert_and_back(source, f"{source.stem}{source.suffix}{number}", launch, *SMALL)
                check_adios2(made, records)
                run("diff", plain, back)
                run("diff", source, made)
    spread, back = convert_and_back(plain, "files", ranks[3], "-m", "buffer_limit=8KiB;subfiling=ranks;striping_unit=64")
    assert len(list(spread.glob("data.*"))) == 3, list(spread.iterdir())
    check_adios2(spread, records)
    run("diff", plain, back)

    to_hdf5(run, ranks, options.dir)

    # A rank that holds all of a step writes one group.
    whole, back = convert_and_back(plain, "whole", ranks[1])
    assert (whole / "data.0").read_bytes().count(b"\x07\0forebay") == 3

    # Many small variables: ranks put the entries of the index together.
    many, report = options.dir / "many.nc", options.dir / "many.json"
    with netCDF4.Dataset(many, "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("x", 12)
        for n in range(300):
            file.createVariable(f"v{n}", "f8", ("x",))[:] = series("f8", (12,), n)
    made, back = options.dir / "many.bp", options.dir / "many.back.nc"
    os.environ["FOREBAY_REPORT"] = f"json:{report}"
    run("convert", many, made, launch=ranks[3])
    del os.environ["FOREBAY_REPORT"]
    reports = [json.loads(line) for line in report.read_text().splitlines()]
    assert any(one["counters"]["windows"]["sum"] > 0 for one in reports), reports
    run("convert", made, back, "--format", "cdf5")
    run("diff", many, back)

    # Attributes with the names by which dimensions have theirs are refused, or left out.
    clash = options.dir / "clash.nc"
    with netCDF4.Dataset(clash, "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("x", 4)
        file.bp_dimensions, file.bp_dimension_lengths = "of another kind", "long"
        variable = file.createVariable("v", "f4", ("x",))
        variable.setncattr("__xarray_dimensions__", "none")
        variable.setncattr("bp_step_dimension", "never")
        variable.setncattr("bp_dimensions", "of no variable")
        variable[:] = range(4)
    for launch in ranks.values():
        said = run("convert", clash, options.dir / "clash.bp", code=1, launch=launch)
        assert "bp_dimensions is an attribute with a name" in said, said
        said = run("convert", clash, options.dir / "clash.bp", "--skip", "-f", launch=launch)
        for name in ("bp_dimensions", "bp_dimension_lengths", "v:__xarray_dimensions__", "v:bp_step_dimension"):
            assert name in said, (name, said)
        run("convert", options.dir / "clash.bp", options.dir / "clash.back.nc", "-f", launch=launch)
        with netCDF4.Dataset(options.dir / "clash.back.nc") as file:
            assert file.ncattrs() == [] and list(file.dimensions) == ["x"], file
            assert file["v"].ncattrs() == ["bp_dimensions"] and file["v"].dimensions == ("x",), file["v"]

    # No records: their variables are refused, or left out.
    empty = options.dir / "r0.nc"
    make(empty, 0, format="NETCDF3_64BIT_DATA")
    said = run("convert", empty, options.dir / "r0.bp", code=1, launch=ranks[3])
    assert said.count("record_i1 is an array without elements") == 1, said
    made, back = convert_and_back(empty, "r0", ranks[3], *SMALL, "--skip")
    check_adios2(made, 0)
    with netCDF4.Dataset(back) as file:
        assert file.dimensions["time"].isunlimited() and len(file.dimensions["time"]) == 0
        assert "record_f8" not in file.variables and file.variables["fixed_f8"].dimensions == ("y", "x")

    # What adios2 wrote, by netCDF, and directly.
    foreign = options.dir / "foreign.bp"
    check_read_bp.write(foreign, "BP4")
    first = options.dir / "foreign.nc"
    run("convert", foreign, first, "--to", "netcdf", "--format", "cdf5", "--skip")
    for number, launch in ranks.items():
        made, back = convert_and_back(first, f"again{number}", launch, *SMALL)
        run("diff", first, back)
        made, back = convert_and_back(foreign, f"direct{number}", launch, *SMALL, "--skip")
        run("diff", first, back)
        with adios2.FileReader(str(made)) as file:
            assert "array/f8" in file.available_variables() and file.read_attribute("array/f8/units") == "K"
    assert "is a directory" in run("convert", first, foreign.parent, "--to", "bp", "-f", code=1)
    assert "layout=chunked" in run("convert", first, made, "-f", "-m", "layout=chunked", code=1)
    assert not list(options.dir.glob(".forebay*")), list(options.dir.iterdir())
    print("converted to BP4 and back on 1 and 3 ranks")


if __name__ == "__main__":
    main()
