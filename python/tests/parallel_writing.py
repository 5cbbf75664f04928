"""Writing with every rank of a communicator: run under mpiexec with a build that has MPI.

    mpiexec -n 3 python -m mpi4py python/tests/parallel_writing.py

FOREBAY_PARALLEL_SITE names a folder that holds that build, if it is not the installed one. Rank 0 reads what was
written, and prints what failed; the exit code tells.
"""

import contextlib
import gc
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

if os.environ.get("FOREBAY_PARALLEL_SITE"):
    sys.path.insert(0, os.environ["FOREBAY_PARALLEL_SITE"])

import numpy as np
from mpi4py import MPI

import forebay
from forebay.checkpoints import Store

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
WIDTH = 5
SCHEMES = {"joint", "bps", "lps", "ips", "balanced"}  # that a bundle chooses among


def blocks_of_all_ranks(path, method):
    """Each rank writes its columns of every record; the last one writes none of the second variable."""
    with forebay.create(path, method, comm=comm) as out:
        out.create_dimension("t", None)
        out.create_dimension("x", WIDTH * ranks)
        T = out.create_variable("T", "f4", ("t", "x"))
        P = out.create_variable("P", "f8", ("x",), fill_value=-1)
        out.attributes["ranks"] = ranks
        mine = slice(WIDTH * rank, WIDTH * (rank + 1))
        for t in range(4):
            T[t, mine] = 100 * t + rank
        if rank == ranks - 1:
            P[0:0] = []
        else:
            P[mine] = rank
        with out.batch():
            for t in range(4 + rank % 2, 6):  # ranks queue different numbers of writes
                T[t, mine] = 100 * t + rank
    if rank == 0:
        with forebay.open(path) as file:
            owner = np.repeat(np.arange(ranks), WIDTH)
            for t in range(6):
                expected = np.where((owner % 2 == 1) & (t == 4), file["T"][t], 100 * t + owner)
                np.testing.assert_array_equal(file["T"][t], expected)
            np.testing.assert_array_equal(file["P"][:], np.where(owner == ranks - 1, -1, owner))
            assert file.attributes["ranks"] == ranks


def netcdf4_of_all_ranks(path, codec):
    """The same as netCDF-4, which netCDF4 reads, and to which all ranks add records."""
    method = {"container": "netcdf4", **({"codec": codec} if codec else {})}
    blocks_of_all_ranks(path, method)
    with forebay.open(path, "a", comm=comm) as out:
        out["T"][6, WIDTH * rank : WIDTH * (rank + 1)] = rank
    if rank == 0:
        import netCDF4

        with netCDF4.Dataset(path) as file:
            assert file.data_model == "NETCDF4" and file["T"].filters()["zlib"] == (codec is not None)
            owner = np.repeat(np.arange(ranks), WIDTH)
            np.testing.assert_array_equal(file["T"][3], 300 + owner)
            np.testing.assert_array_equal(file["T"][6], owner)
            np.testing.assert_array_equal(file["P"][:].filled(), np.where(owner == ranks - 1, -1, owner))


def writes_netcdf4(path):
    try:
        forebay.create(path, "container=netcdf4", comm=comm).close()
    except forebay.UnsupportedError:
        return False
    return True


def one_rank_fails(path):
    """A rank with an error takes part, gets its own error, and the others' values are written."""
    with forebay.create(path, comm=comm) as out:
        out.create_dimension("x", ranks)
        v = out.create_variable("v", "i4", ("x",), fill_value=-1)
        failed = None
        try:
            v[rank if rank != 1 else ranks + 7] = rank
        except IndexError as error:
            failed = error
        assert (failed is not None) == (rank == 1), failed
        v[0:0] = []  # all ranks are still in step
    if rank == 0:
        with forebay.open(path) as file:
            assert file["v"][:].tolist() == [-1 if r == 1 else r for r in range(ranks)]


def ranks_on_their_own(path):
    with forebay.create(path, comm=comm) as out:
        out.create_dimension("x", ranks)
        v = out.create_variable("v", "i4", ("x",))
        with out.independent():
            for _ in range(rank + 1):
                v[rank] = 10 * rank
        assert v[:].tolist() == [10 * r for r in range(ranks)]


def one_process_alone(path):
    """Without a communicator a build with MPI writes for itself."""
    with forebay.create(f"{path}.{rank}", "layout=chunked;codec=zstd:1") as out:
        out.create_dimension("x", 3)
        out.create_variable("v", "i4", ("x",))[:] = [rank] * 3
    with forebay.open(f"{path}.{rank}") as file:
        assert file["v"][:].tolist() == [rank] * 3


def files_of_a_bundle(path):
    """Files of a bundle wait, are written together when it ends, and are what each would be by itself."""
    names = [path.with_name(f"{name}.nc") for name in ("prog", "surf", "bud")]

    def fill(file, number):
        file.create_dimension("t", None)
        file.create_dimension("x", WIDTH * ranks)
        v = file.create_variable("v", "f4", ("t", "x"))
        mine = slice(WIDTH * rank, WIDTH * (rank + 1))
        for t in range(1 + number):
            if rank == 1 and t == 1:
                v[0, 0:0] = []  # nothing of this rank's
            else:
                v[t, mine] = 100 * number + 10 * t + rank

    with forebay.bundle("history", {"bundle_scheme": "balanced"}, comm=comm) as b:
        files = [b.create(name) for name in names]
        for number, file in enumerate(files):
            fill(file, number)
        comm.barrier()
        assert names[2].stat().st_size == 0
        comm.barrier()
        files[0].close()  # waits as well
        assert [file.closed for file in files] == [True, False, False]
        assert names[0].stat().st_size == 0
        comm.barrier()
    assert b.closed and all(file.closed for file in files)
    assert [file["path"] for file in b.plan["files"]] == list(map(str, names)), b.plan
    assert b.plan["scheme"] == "balanced" and b.plan["one_after_another"] == []
    for number, name in enumerate(names):
        apart = name.with_suffix(".apart")
        with forebay.create(apart, comm=comm) as file:
            fill(file, number)
        assert apart.read_bytes() == name.read_bytes(), name
    comm.barrier()
    with forebay.bundle("history", comm=comm) as b:
        again = b.open(names[1])
        again["v"][0, WIDTH * rank : WIDTH * (rank + 1)] = -1
        assert names[1].read_bytes() == names[1].with_suffix(".apart").read_bytes()
        comm.barrier()
        b.flush()
        assert names[1].read_bytes() != names[1].with_suffix(".apart").read_bytes()
        comm.barrier()
        # A member that is open is not created anew; one that waits is completed before.
        try:
            forebay.create(names[1], comm=comm)
        except ValueError as refused:
            assert "is in a bundle already" in str(refused), refused
        else:
            raise AssertionError("an open member was created anew")
        again["v"][0, WIDTH * rank : WIDTH * (rank + 1)] = -2
        again.close()
        with forebay.create(names[1], comm=comm) as file:
            file.create_dimension("x", 1)
    with forebay.open(names[1]) as file:
        assert not file.variables
    # By a key, as programs have it that know nothing of bundles.
    for number, name in enumerate(names[:2]):
        with forebay.create(name, "bundle=by_key;bundle_files=2", comm=comm) as file:
            fill(file, number)
        comm.barrier()
        assert (name.stat().st_size == 0) == (number == 0)
        comm.barrier()
    assert names[1].with_suffix(".apart").read_bytes() == names[1].read_bytes()
    # One that nobody has any more, and nobody closed, is the bundle's still.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        file = forebay.create(names[0], "bundle=left", comm=comm)
        fill(file, 0)
        del file
        gc.collect()
    comm.barrier()
    assert names[0].stat().st_size == 0
    comm.barrier()
    forebay.open(names[0], "a", comm=comm).close()
    assert names[0].with_suffix(".apart").read_bytes() == names[0].read_bytes()


def schemes_of_a_bundle(path):
    """Every scheme writes the same; so do ranks at their own pace, of whose chunks all are one operation."""
    names = [path.with_name(f"{name}.nc") for name in ("moist", "tend", "bud")]

    def fill(file, number, alone=False):
        file.create_dimension("x", 500 * (3 - number) * ranks)
        v = file.create_variable("v", "i4", ("x",))
        begin = 500 * (3 - number) * rank
        values = np.arange(begin, begin + 500 * (3 - number))
        with file.independent() if alone else contextlib.nullcontext():
            if not alone:
                v[begin : begin + len(values)] = values
            elif rank > 0:  # rank 0 has nothing to write
                v[begin : begin + 7] = values[:7] + 1
                v[begin : begin + len(values)] = values

    for number, name in enumerate(names):
        with forebay.create(name.with_suffix(".apart"), comm=comm) as file:
            fill(file, number)
    for scheme in ("auto", "off", "joint", "bps", "lps", "ips", "balanced"):
        with forebay.bundle("schemes", {"bundle_scheme": scheme, "window_size": "4KiB"}, comm=comm) as b:
            for number, name in enumerate(names):
                fill(b.create(name), number)
        assert b.plan["scheme"] in ({"off"} if scheme == "off" else SCHEMES if scheme == "auto" else {scheme}), b.plan
        for name in names:
            assert name.with_suffix(".apart").read_bytes() == name.read_bytes(), (scheme, name)
        comm.barrier()
    with forebay.bundle("alone", comm=comm) as b:
        for number, name in enumerate(names):
            fill(b.create(name, "layout=chunked;codec=zstd:1"), number, alone=True)
    assert b.plan["encoded_together"] == list(map(str, names)), b.plan
    for number, name in enumerate(names):
        each = 500 * (3 - number)
        with forebay.open(name) as file:
            assert np.array_equal(file["v"][each:], np.arange(each, each * ranks)), name
    comm.barrier()


def report_of_all_ranks(path):
    """A report in JSON tells of every rank when it did what."""
    report = Path(comm.bcast(str(path) + ".json"))
    os.environ["FOREBAY_REPORT"] = f"json:{report}"
    try:
        blocks_of_all_ranks(path, "layout=chunked;codec=zstd:1")
    finally:
        del os.environ["FOREBAY_REPORT"]
    if rank == 0:
        timeline = json.loads(report.read_text().splitlines()[0])["timeline"]
        assert timeline["every"] == 1 and len(timeline["ranks"]) == ranks
        for spans in timeline["ranks"]:
            rows = [dict(zip(timeline["columns"], span, strict=True)) for span in spans]
            assert rows and all(0 <= row["begin"] <= row["end"] and row["times"] >= 1 for row in rows)
            assert {"define", "exchange"} <= {row["step"] for row in rows}


def checkpoints_of_all_ranks(path):
    """Each rank has states of its own; after a close they are those that all ranks have."""
    name = path.parent / "run"
    store = Store(name, memory="1KiB", comm=comm)
    for step in range(4):
        store[step] = {"x": np.full(100 + rank, 10 * step + rank)}
    if rank == 0:
        store[4] = {"x": np.zeros(3)}  # the others were killed before they had pushed it
    assert store.pop()[0] == (4 if rank == 0 else 3)
    store[4 + rank] = {"x": np.zeros(3)}
    store.close(keep=True)
    with Store(name, comm=comm) as again:
        assert list(again) == ([0, 1, 2] if ranks > 1 else [0, 1, 2, 3, 4])
        np.testing.assert_array_equal(again[2]["x"], np.full(100 + rank, 20 + rank))
    # What one of them says wrongly all of them are told.
    try:
        Store(path.parent / "refused", memory="nonsense" if rank == 0 else "1KiB", comm=comm)
        raise AssertionError("a size that is none")
    except ValueError:
        pass
    comm.barrier()
    assert not list(name.parent.glob("run.*"))


def checkpoints_that_one_rank_leaves(path):
    """The others learn of it in their close, once it ends or opens the next ones, and all keep their states."""
    name = path.parent / "left"
    leaves = rank == ranks - 1
    try:
        with Store(name, memory="1KiB", comm=comm) as store:
            store[0] = {"x": np.full(100, rank)}
            if leaves:
                raise KeyError("mine")
        raise AssertionError("nobody told of the rank that has left")
    except KeyError:
        assert leaves
    except PermissionError as error:
        assert not leaves and "another rank has left" in str(error)
    with Store(name, comm=comm) as again:
        np.testing.assert_array_equal(again[0]["x"], np.full(100, rank))


def files_that_are_left_open(path, method):
    """What a program ends without closing all ranks close, in one order."""
    from forebay._writing import close_all

    for name in ("a.nc", "b.nc"):
        out = forebay.create(path.parent / name, method, comm=comm)
        out.create_dimension("x", WIDTH * ranks)
        out.create_variable("v", "f8", ("x",))[WIDTH * rank : WIDTH * (rank + 1)] = rank
        out.keeps = out["v"]
        del out
    close_all()
    if rank == 0:
        for name in ("a.nc", "b.nc"):
            with forebay.open(path.parent / name) as file:
                np.testing.assert_array_equal(file["v"][:], np.repeat(np.arange(ranks), WIDTH))


def main():
    assert forebay.has_mpi
    folder = comm.bcast(tempfile.mkdtemp() if rank == 0 else None)
    path = Path(folder) / "out.nc"
    cases = [
        (blocks_of_all_ranks, None),
        (blocks_of_all_ranks, {"layout": "chunked", "codec": "shuffle,zstd:3"}),
        (blocks_of_all_ranks, "stage=burst;nc_burst_buf_dirname=" + folder),
        *((netcdf4_of_all_ranks, codec) for codec in (None, "shuffle,deflate:2") if writes_netcdf4(path)),
        (one_rank_fails,),
        (ranks_on_their_own,),
        (files_of_a_bundle,),
        (schemes_of_a_bundle,),
        (report_of_all_ranks,),
        (one_process_alone,),
        (files_that_are_left_open, {"stage": "memory"}),
        (files_that_are_left_open, {"layout": "chunked", "codec": "zstd:1"}),
        (checkpoints_of_all_ranks,),
        (checkpoints_that_one_rank_leaves,),
    ]
    for work, *arguments in cases:
        work(path, *arguments)
        comm.barrier()
    if rank == 0:
        import shutil

        shutil.rmtree(folder)
        print(f"parallel writing: {len(cases)} cases passed on {ranks} ranks")


main()
