"""An ordinary parallel h5py script with filtered datasets, which knows nothing of Forebay: it checks what it reads itself.

    chunked_program.py write FILE      for mpiexec: datasets with filters, written collectively in many ways
    chunked_program.py change FILE     opens it again, writes over parts, extends and removes
    chunked_program.py contiguous FILE datasets without filters, collectively and not

--all adds what HDF5 1.14 alone does not do with filters in parallel: converting elements, and writing chunks anew that
filters did not make smaller.
"""

import sys

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
everything = "--all" in sys.argv


def mine(n):
    """This rank's part of n rows."""
    return slice(rank * n // size, (rank + 1) * n // size)


def values(shape, seed, dtype="f8"):
    """The same on all ranks. Half of it compresses well."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 50, size=shape)
    data.reshape(-1)[: data.size // 2] = np.arange(data.size // 2) // 7
    return data.astype(dtype)


def read_all(d):
    """d[...] would be an independent read, also in `with d.collective`."""
    found = np.empty(d.shape, d.dtype)
    with d.collective:
        d.read_direct(found)
    return found


def write_nothing(d):
    """This rank's part of a collective write of others. An empty slice would make no call."""
    space = d.id.get_space()
    space.select_none()
    with d.collective:
        d.id.write(space, space, np.empty(1, d.dtype), dxpl=d._dxpl)


def same(d, model, what):
    found = read_all(d)
    if found.dtype != model.dtype or not np.array_equal(found, model):
        raise AssertionError(f"rank {rank}: {what}: read back otherwise than written")


def write_rows(d, model):
    with d.collective:
        d[mine(model.shape[0])] = model[mine(model.shape[0])]


def write(name):
    with h5py.File(name, "w", driver="mpio", comm=comm) as f:
        g = f.create_group("group")
        g.attrs["note"] = "an attribute"
        models = {}

        def make(name, shape, dtype="f8", **how):
            how = {"chunks": True, "compression": "gzip", "compression_opts": 1, **how}
            return g.create_dataset(name, shape=shape, dtype=dtype, **how)

        # Rows whose borders are not those of chunks, so that ranks share chunks; all types.
        types = ("f8", "f4", "i2", "u1", "?", "i8", "S4", ">i4", ">f8")
        for i, dtype in enumerate(types if everything else types[:-2]):
            name_, shape = f"type{i}", (37, 29)
            model = values(shape, i)
            model = (model % 2 == 0) if dtype == "?" else model.astype(dtype)
            d = make(name_, shape, dtype, chunks=(8, 10), shuffle=i % 2 == 0, fletcher32=i % 3 == 0)
            write_rows(d, model)
            models[name_] = model

        # Elements of memory are converted.
        if everything:
            d = make("converted", (20, 10), "i2", chunks=(7, 3))
            model = values((20, 10), 50)
            write_rows(d, model)
            models["converted"] = model.astype("i2")

        # Unwritten parts have the fill value; unwritten chunks are not there.
        d = make("holes", (40, 40), "f4", chunks=(8, 8), fillvalue=-7)
        model = np.full((40, 40), -7, "f4")
        with d.collective:
            d[rank * 3 % 40, 5:9] = np.arange(4, dtype="f4") + rank
        for r in range(size):
            model[r * 3 % 40, 5:9] = np.arange(4) + r
        models["holes"] = model

        # Strides, points, lists.
        d = make("selections", (30, 30), "i4", chunks=(9, 11))
        model = np.zeros((30, 30), "i4")
        part = values((30, 30), 60, "i4")
        with d.collective:
            d[rank::size, ::3] = part[rank::size, ::3]
        model[:, ::3] = part[:, ::3]
        columns = [1, 4, 5, 10, 28]
        with d.collective:
            d[mine(30), columns] = part[mine(30), columns] + 1
        model[:, columns] = part[:, columns] + 1
        mask = np.zeros((30, 30), bool)
        mask[mine(30), 2::9] = True
        with d.collective:
            d[mask] = part[mask] + 2
        model[:, 2::9] = part[:, 2::9] + 2
        models["selections"] = model

        # Later calls write over what other ranks wrote in earlier ones, of both orders of ranks.
        d = make("over", (12, 12), "i4", chunks=(5, 5))
        model = np.zeros((12, 12), "i4")
        for step in range(2 * size):
            rows = [(step * 2) % 12, (step * 2 + 1) % 12]
            for turn in (step % size, (size - 1 - step) % size):
                if rank == turn:
                    with d.collective:
                        d[rows[0] : rows[1] + 1, :] = np.full((2, 12), 100 * step + turn, "i4")
                else:
                    write_nothing(d)
                model[rows[0] : rows[1] + 1, :] = 100 * step + turn
        models["over"] = model

        # All ranks write the same.
        d = make("all", (10,), "f8", chunks=(4,))
        with d.collective:
            d[...] = np.arange(10.0)
        models["all"] = np.arange(10.0)

        # Records that are appended, with and without a flush between them.
        d = make("records", (0, 18), "f4", chunks=(2, 7), maxshape=(None, 18))
        model = values((9, 18), 70, "f4")
        for t in range(9):
            d.resize(t + 1, axis=0)
            with d.collective:
                d[t, mine(18)] = model[t, mine(18)]
            if t % 4 == 3:
                f.flush()
        models["records"] = model
        d = make("columns", (6, 2), "i8", chunks=(4, 3), maxshape=(None, None))
        model = values((8, 11), 71, "i8")
        with d.collective:
            d[mine(6)] = model[mine(6), :2]
        d.resize((8, 11))
        with d.collective:
            d[:, mine(11)] = model[:, mine(11)]
        models["columns"] = model

        # Noise does not become smaller.
        d = make("noise", (64, 64), "f8", chunks=(16, 16), shuffle=True)
        model = np.random.default_rng(5).random((64, 64))
        write_rows(d, model)
        models["noise"] = model

        # Not of the connector: no filters, another filter, compounds, references, scalars.
        d = make("plain", (20, 20), "f8", chunks=(6, 6), compression=None, compression_opts=None)
        models["plain"] = values((20, 20), 80)
        write_rows(d, models["plain"])
        d = make("scaled", (20, 20), "i4", chunks=(6, 6), compression=None, compression_opts=None, scaleoffset=0)
        models["scaled"] = values((20, 20), 81, "i4")
        write_rows(d, models["scaled"])
        d = make("pairs", (20,), np.dtype([("a", "i4"), ("b", "f4")]), chunks=(6,))
        pairs = np.zeros(20, d.dtype)
        pairs["a"], pairs["b"] = np.arange(20), np.arange(20) / 2
        write_rows(d, pairs)
        models["pairs"] = pairs
        g["scalar"] = 17.5
        g["link"] = h5py.SoftLink("/group/all")

        for name_, model in models.items():
            if name_ not in ("pairs",):
                same(g[name_], model, name_)
        # Again, and this time it is the close that writes.
        if everything:
            write_rows(g["noise"], models["noise"] + 1)
        write_rows(g["type0"], models["type0"] + 1)


def change(name):
    with h5py.File(name, "r+", driver="mpio", comm=comm) as f:
        g = f["group"]
        if everything:
            d = g["noise"]
            model = read_all(d)
            with d.collective:
                d[mine(64), 3:20] = np.zeros((len(range(64)[mine(64)]), 17))
            model[:, 3:20] = 0
            same(d, model, "noise after a change")
        d = g["holes"]
        model = read_all(d)
        with d.collective:
            d[39 - rank, 39] = np.float32(rank)
        for r in range(size):
            model[39 - r, 39] = r
        same(d, model, "holes after a change")
        d = g["records"]
        model = read_all(d)
        d.resize(5, axis=0)
        d.resize(12, axis=0)
        model = np.concatenate([model[:5], np.zeros((7, 18), "f4")])
        with d.collective:
            d[6 + rank % 6, :] = np.full(18, 6 + rank % 6, "f4")
        for r in range(size):
            model[6 + r % 6, :] = 6 + r % 6
        same(d, model, "records after a change")
        # A dataset takes the place of one that was removed while writes to it waited.
        write_rows(g["all"], np.ones(10))
        del g["all"]
        d = g.create_dataset("all", (14,), "i2", chunks=(5,), compression="gzip")
        write_rows(d, np.arange(14, dtype="i2"))
        same(d, np.arange(14, dtype="i2"), "a dataset in place of another")
        write_rows(g["type1"], values((37, 29), 99).astype("f4"))
        f.copy("group/type1", "copy")
        same(f["copy"], values((37, 29), 99).astype("f4"), "a copy")


def contiguous(name):
    with h5py.File(name, "w", driver="mpio", comm=comm) as f:
        model = values((60, 50), 1)
        d = f.create_dataset("collective", (60, 50), "f8")
        write_rows(d, model)
        same(d, model, "collective")
        d = f.create_dataset("alone", (60, 50), "f4")
        for row in range(60)[mine(60)]:
            d[row] = model[row]
        f.flush()
        same(d, model.astype("f4"), "independent")
        d = f.create_dataset("chunks", (60, 50), ">i4", chunks=(7, 50))
        with d.collective:
            d[mine(60)] = model[mine(60)]
        comm.Barrier()
        if rank == size - 1:
            d[3:5, :] = np.full((2, 50), -1)  # after all that was written collectively
        comm.Barrier()
        with d.collective:
            d[4, mine(50)] = np.full(len(range(50)[mine(50)]), -2)  # and before this
        model[3:5, :] = -1
        model[4] = -2
        same(d, model.astype(">i4"), "independent writes between collective ones")
        f["few"] = np.arange(5)
        f["scalar"] = 3


{"write": write, "change": change, "contiguous": contiguous}[sys.argv[1]](sys.argv[2])
