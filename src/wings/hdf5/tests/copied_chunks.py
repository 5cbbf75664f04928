"""`forebay convert` copies chunked datasets of HDF5 by all ranks: h5py reads the same values, chunks and filters.

Usage: copied_chunks.py FOREBAY FOLDER [LAUNCHER...]
"""
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np

AT_ONCE = 1024  # chunks that a rank encodes at once, at most
RECORD = np.dtype([("a", "i4"), ("b", "f8")])


def make(path):
    numbers = np.random.default_rng(1)
    with h5py.File(path, "w", userblock_size=512) as f:
        # Six rounds of three ranks.
        f.create_dataset("small", data=numbers.integers(0, 9, (17 * AT_ONCE, 25), "i2"), chunks=(1, 25), shuffle=True,
                         compression="gzip")
        f.create_dataset("edges", data=np.cumsum(numbers.integers(-3, 4, (300, 133)), axis=1).astype(">i4"),
                         chunks=(64, 50), compression="gzip", shuffle=True, fletcher32=True, maxshape=(None, 400))
        f.create_dataset("unfiltered", data=numbers.random((50, 77, 9)), chunks=(9, 20, 9))
        f.create_dataset("scaled", data=numbers.integers(0, 1000, (200, 200), "i4"), chunks=(100, 60), scaleoffset=0)
        f.create_dataset("fill", shape=(300, 100), dtype="f4", chunks=(70, 30), fillvalue=-9.5, compression="gzip",
                         maxshape=(None, None))
        f["fill"][10:20] = 3
        f.create_dataset("random", data=numbers.integers(0, 2**63, 20000), chunks=(7000,), compression="gzip")
        records = np.zeros(9000, RECORD)
        records["a"] = np.arange(9000)
        f.create_dataset("records", data=records, chunks=(700,), compression="gzip")
        f.create_dataset("strings", data=np.array([b"%d" % i for i in range(9000)], "S9"), chunks=(1000,))
        # Those that rank 0 copies.
        f.create_dataset("little", data=np.arange(100.), chunks=(10,), compression="gzip")
        f.create_dataset("lists", (3,), dtype=h5py.vlen_dtype("i4"), chunks=(2,))[1] = [1, 2]
        f.create_dataset("contiguous", data=numbers.random(30000))


def compare(path, other, same_storage):
    with h5py.File(path) as a, h5py.File(other) as b:
        assert sorted(a) == sorted(b)
        for name in a:
            x, y = a[name], b[name]
            assert (x.dtype, x.shape, x.maxshape) == (y.dtype, y.shape, y.maxshape), name
            if name == "lists":
                assert [list(i) for i in x] == [list(i) for i in y]
                continue
            assert np.array_equal(x[()], y[()]), name
            if same_storage:
                assert (x.chunks, x._filters) == (y.chunks, y._filters), name
                assert x.id.get_num_chunks() == y.id.get_num_chunks() or name == "fill" if x.chunks else True, name
    # Elements that a chunk has beyond the dataset are missing ones when it grows.
    shutil.copy(other, other + ".grown")
    with h5py.File(other + ".grown", "r+") as f:
        f["fill"].resize((303, 101))
        assert (f["fill"][300:] == -9.5).all() and (f["fill"][:, 100] == -9.5).all()
        f["edges"][-1, -1] = 77
        assert f["edges"][-1, -1] == 77


def main(forebay, folder, *launcher):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    make("in.h5")
    for method in "", "codec=shuffle,deflate:2", "layout=chunked;chunk_bytes=3000":
        done = subprocess.run([*launcher, forebay, "convert", "in.h5", "out.h5", "--to", "hdf5", "--verify", "--force",
                               *(["--method", method] if method else [])], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "verified: 10 variables are equal" in done.stdout, done.stdout
        compare("in.h5", "out.h5", not method)
    print("copied_chunks: 11 datasets, three methods: the same values")


if __name__ == "__main__":
    main(*sys.argv[1:])
