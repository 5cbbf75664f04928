"""Runs damaged_files with files of netCDF-C and h5py, in the old and the new formats of HDF5.

Usage: PYTHON run_damaged_files.py PROGRAM DIRECTORY ROUNDS SEED

PYTHON has netCDF4 and h5py.
"""
import os
import subprocess
import sys
import zlib

import h5py
import netCDF4
import numpy as np


def make_files(folder):
    paths = [os.path.join(folder, name) for name in ("chunks.nc", "many.nc", "old.h5", "new.h5")]
    with netCDF4.Dataset(paths[0], "w") as f:
        f.createDimension("t", None)
        f.createDimension("x", 5)
        f.createVariable("a", "i2", ("t", "x"), zlib=True, chunksizes=(2, 5))[0:5] = np.arange(25).reshape(5, 5)
        f.createVariable("x", "f4", ("x",))[:] = 1
        f.createVariable("s", "i4", ())[:] = 4
        f["a"].units = "m"
        for i in range(12):  # so many that they are not in the header
            f.setncattr(f"att{i}", np.arange(i + 1))
    with netCDF4.Dataset(paths[1], "w", format="NETCDF4_CLASSIC") as f:
        f.createDimension("x", 5)
        for i in range(12):
            f.createVariable(f"v{i}", "f8", ("x",), fletcher32=True, chunksizes=(3,))[:] = i
    for path, versions in ((paths[2], "earliest"), (paths[3], ("v110", "v110"))):
        with h5py.File(path, "w", libver=versions) as f:
            f.create_dataset("c", data=np.arange(30.).reshape(5, 6), chunks=(2, 3), maxshape=(None, 6),
                             compression="gzip", shuffle=True)
            f.create_dataset("p", data=np.arange(30, dtype=">i4").reshape(5, 6))
            f.create_dataset("l", data=np.arange(10, dtype="i4"), chunks=(5,), compression="lzf")
            f.create_dataset("so", data=np.arange(10, dtype="i4"), chunks=(5,), scaleoffset=0)
            f.attrs["s"] = "text"
            f.create_group("g")
            f["strings"] = np.array(["a", "bb"], dtype=h5py.string_dtype())
            f["x"] = np.arange(6.)
            f["x"].make_scale("x")
            f["c"].dims[1].attach_scale(f["x"])
    return paths


def dataset(shape, chunk, **more):
    return lambda f: f.create_dataset("v", shape=shape, chunks=chunk, dtype="i4", **more)


def odd_chunks(f):
    """Chunks of other sizes than they can have."""
    f.create_dataset("v", shape=(100,), chunks=(10,), dtype="i4", compression="gzip")
    f["v"].id.write_direct_chunk((0,), b"z" * 5000)
    f["v"].id.write_direct_chunk((10,), zlib.compress(bytes(100 << 20)))
    f.create_dataset("w", shape=(100,), chunks=(10,), dtype="i4")
    f["w"].id.write_direct_chunk((0,), b"z" * 7)
    f["w"].id.write_direct_chunk((10,), b"z" * 7000)
    f.create_dataset("u", shape=(100,), chunks=(10,), dtype="i4", fletcher32=True)
    f["u"].id.write_direct_chunk((0,), b"zz")
    f["u"].id.write_direct_chunk((10,), b"z" * 44, filter_mask=1)
    f["u"].id.write_direct_chunk((20,), b"z" * 44, filter_mask=0xffffffff)


def large_chunk(f):
    f.create_dataset("v", shape=(2**30 - 1,), chunks=(2**30 - 1,), dtype="i4", compression="gzip")
    f["v"].id.write_direct_chunk((0,), b"x")


def odd_names(f):
    for name in (b"a" * 300, b"b" * 256, b"\xff\xfe", b"x\n"):
        f.create_dataset(name, shape=(3,), dtype="i4")
    f.attrs["c" * 300] = 1


def odd_dimensions(f):
    f.create_dataset("x", shape=(3,), dtype="i4").make_scale("x")
    f.create_dataset("y", shape=(5,), dtype="i4").dims[0].attach_scale(f["x"])
    f["x"].attrs["_Netcdf4Dimid"] = np.int32(-5)
    f["y"].attrs["_Netcdf4Coordinates"] = np.array([77], "i4")


def links(f):
    f["soft"] = h5py.SoftLink("/soft")
    f["external"] = h5py.ExternalLink("/etc/passwd", "/x")
    f["loop"] = f["/"]


HOSTILE = [dataset((2**40, 2**20), (1, 1)), dataset((2**62, 2), (1, 1)), dataset((2**61 - 1,), (1,)),
           dataset((2**30, 2**30, 2**30), (1, 1, 1)), dataset((1,) * 32, None), odd_chunks, large_chunk,
           odd_names, odd_dimensions, links]


def make_hostile(folder):
    paths = []
    for i, make in enumerate(HOSTILE):
        paths.append(os.path.join(folder, f"hostile{i}.h5"))
        with h5py.File(paths[-1], "w") as f:
            make(f)
    return paths


def main():
    program, folder, rounds, seed = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    return subprocess.run([program, folder, rounds, seed] + make_files(folder) + make_hostile(folder)).returncode


if __name__ == "__main__":
    sys.exit(main())
