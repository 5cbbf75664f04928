"""Changes netCDF-4 files of netCDF-C and h5py by Forebay, and reads them by netCDF-C.

Usage: PYTHON run_change_foreign.py --launch "MPIEXEC ..." --program CHANGE_FOREIGN --dir DIRECTORY

PYTHON has netCDF4 and h5py. Chunks of other libraries lie at any byte. What Forebay does not write stays as it
was; files that would lose something are refused.
"""
import argparse
import os
import shlex
import subprocess
import sys

import h5py
import netCDF4
import numpy as np

ROUNDS, ROWS, COLUMNS = 6, 120, 37


def make(path, old_format):
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w", format="NETCDF4_CLASSIC" if old_format else "NETCDF4") as f:
        f.createDimension("t", None)
        f.createDimension("x", COLUMNS)
        values = {}
        for name, kind in (("a", "i2"), ("b", "i1"), ("c", "f4")):
            var = f.createVariable(name, kind, ("t", "x"), zlib=True, chunksizes=(1, COLUMNS))
            most = rng.integers(2, 120, (ROWS, 1))  # so that chunks are of all lengths
            values[name] = rng.integers(0, most, (ROWS, COLUMNS)).astype(kind)
        f.createVariable("unwritten", "f4", ("x",))
        fixed = f.createVariable("fixed", "f8", ("x",))
        fixed[:] = np.arange(COLUMNS)
        f.title = "made by netCDF-C"
        for row in range(ROWS):  # chunks of variables lie among each other
            for name in values:
                f[name][row] = values[name][row]
                f.sync()
    return values


def expected(values):
    for r in range(1, ROUNDS + 1):
        for row in range(r % 2, ROWS, 2):
            c = np.arange(COLUMNS)
            new = np.full(COLUMNS, r) if r % 3 == 0 else (row * 31 + c * c * r) % 101
            values["a"][row] = new
            if row % 8 < 2:
                values["b"][row] = new
    return values


def check(path, values):
    with netCDF4.Dataset(path) as f:
        for name, its in values.items():
            if not np.array_equal(np.ma.getdata(f[name][:]), its):
                return f"{path}: variable {name} is wrong"
        unwritten = np.ma.getdata(f["unwritten"][:])
        rest = np.delete(unwritten, 5)
        if unwritten[5] != 0.5 or not np.all(rest == netCDF4.default_fillvals["f4"]):
            return f"{path}: variable unwritten is {unwritten}"
        if not np.array_equal(f["fixed"][:], np.arange(COLUMNS)) or f.title != "made by netCDF-C":
            return f"{path}: what was not changed was"
    return None


def make_refused(folder):
    """Paths, and the words that tell why."""
    lzf, compact, group, user = (os.path.join(folder, n) for n in ("lzf.h5", "compact.h5", "group.nc", "user.h5"))
    with h5py.File(lzf, "w") as f:
        f.create_dataset("packed", data=np.arange(100, dtype="i4"), chunks=(10,), compression="lzf")
    with h5py.File(compact, "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((10,))
        h5py.h5d.create(f.id, b"inside", h5py.h5t.STD_I32LE, space, plist).write(h5py.h5s.ALL, h5py.h5s.ALL,
                                                                                 np.arange(10, dtype="i4"))
    with netCDF4.Dataset(group, "w") as f:
        f.createGroup("forecast").createDimension("x", 3)
    with h5py.File(user, "w", userblock_size=512) as f:
        f.create_dataset("values", data=np.arange(100, dtype="i4"))
    return [(lzf, "packed"), (compact, "inside"), (group, "forecast"), (user, "user block")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    command = shlex.split(options.launch) + [options.program]
    failures = []
    for old_format in (False, True):
        path = os.path.join(options.dir, f"file{old_format}.nc")
        values = make(path, old_format)
        for _ in range(2):  # the second time the file is one of Forebay's
            if subprocess.run(command + ["rewrite", path], timeout=60).returncode != 0:
                failures.append(f"{path} could not be changed")
            failures.append(check(path, expected(values)))
    for path, word in make_refused(options.dir):
        with open(path, "rb") as f:
            before = f.read()
        if subprocess.run(command + ["refused", path, word], timeout=60).returncode != 0:
            failures.append(f"{path} was not refused")
        with open(path, "rb") as f:
            if f.read() != before:
                failures.append(f"{path} was changed")
    failures = [text for text in failures if text]
    print("\n".join(failures) or "all is right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
