"""Patches against HDF5 with H5Z-ZFP, and own chunks, on SPERR's test fields: docs/patches.md, "Speed".

    python3 bench/fields/against_hdf5.py --fields DIR --hdf5-python P --plugins DIR [--edge 256] [--ranks 4]

DIR holds `density_128x128x256.d64` and `wmag128.float` (lib/SPERR/test_data of hdf5plugin's source archive); they are tiled
to cubes. P is a Python with a parallel h5py and mpi4py, --plugins hdf5plugin's folder of plug-ins. This script's own Python
has the package forebay, and mpi4py: what is written in parallel goes through PnetCDF's interface of --library. Each rank writes a slab; rounds take turns, in a process of its own each, and the figures
are medians. All write within the same bound (a thousandth of the range), which is checked.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

EDGE_OF_CHUNK, ZFP, ACCURACY_MODE, LEVEL = 64, 32013, 3, 3
FIELDS = {"density": ("density_128x128x256.d64", "<f8", (256, 128, 128)),
          "wmag": ("wmag128.float", "<f4", (128, 128, 128))}


def field_of(options):
    name, kind, shape = FIELDS[options.field]
    one = np.fromfile(os.path.join(options.fields, name), kind).reshape(shape)
    times = [-(-options.edge // n) for n in shape]
    return np.tile(one, times)[:options.edge, :options.edge, :options.edge]


def filter_of(bound):
    """What H5Z-ZFP is told: its mode, nothing, and a double."""
    low, high = np.frombuffer(np.float64(bound).tobytes(), "<u4")
    return (ACCURACY_MODE, 0, int(low), int(high))


def import_h5py():
    """Plug-ins of hdf5plugin look for the library among what is loaded for all."""
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
    import h5py
    return h5py


def h5_write(comm, path, slab, begin, shape, bound):
    h5py = import_h5py()
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("v", shape, slab.dtype, chunks=(EDGE_OF_CHUNK,) * 3, compression=ZFP,
                                   compression_opts=filter_of(bound))
        with data.collective:
            data[begin:begin + len(slab)] = slab


def h5_read(comm, path, begin, end):
    h5py = import_h5py()
    with h5py.File(path, "r", driver="mpio", comm=comm) as file:
        data = file["v"]
        with data.collective:
            data[begin:end]


class Pnetcdf:
    """The functions of PnetCDF's interface that are needed, of Forebay's library, in its own process."""

    def __init__(self, library):
        self._library = ctypes.CDLL(library)

    def __getattr__(self, name):
        def call(*arguments):
            code = getattr(self._library, "ncmpi_" + name)(*arguments)
            if code != 0:
                raise OSError(f"ncmpi_{name} failed with {code}")
        return call


def handle(of):
    from mpi4py import MPI
    return ctypes.c_void_p(MPI._handleof(of))


def box(begin, slab):
    offsets = ctypes.c_longlong * 3
    return offsets(begin, 0, 0), offsets(*slab.shape), slab.ctypes.data_as(ctypes.c_void_p)


def kind_of(slab):
    return (6, "double") if slab.itemsize == 8 else (5, "float")


def forebay_write(library, comm, path, slab, begin, shape):
    from mpi4py import MPI
    nc, file, var = Pnetcdf(library), ctypes.c_int(), ctypes.c_int()
    nc.create(handle(comm), path.encode(), 0x20, handle(MPI.INFO_NULL), ctypes.byref(file))
    dims = (ctypes.c_int * 3)()
    for d, length in enumerate(shape):
        nc.def_dim(file, b"zyx"[d:d + 1], ctypes.c_longlong(length), ctypes.byref(dims, 4 * d))
    number, name = kind_of(slab)
    nc.def_var(file, b"v", number, 3, dims, ctypes.byref(var))
    nc.enddef(file)
    getattr(nc, f"put_vara_{name}_all")(file, var, *box(begin, slab))
    nc.close(file)


def forebay_read(library, comm, path, slab, begin):
    from mpi4py import MPI
    nc, file, var = Pnetcdf(library), ctypes.c_int(), ctypes.c_int()
    nc.open(handle(comm), path.encode(), 0, handle(MPI.INFO_NULL), ctypes.byref(file))
    nc.inq_varid(file, b"v", ctypes.byref(var))
    getattr(nc, f"get_vara_{kind_of(slab)[1]}_all")(file, var, *box(begin, slab))
    nc.close(file)


def timed(comm, run, *arguments):
    comm.barrier()
    start = time.perf_counter()
    run(*arguments)
    return max(comm.allgather(time.perf_counter() - start))


def step_write(options):
    """Also reads what was written, on as many ranks."""
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    field = field_of(options)
    begin, end = (len(field) * r // comm.size for r in (comm.rank, comm.rank + 1))
    bound = 1e-3 * float(field.max() - field.min())
    slab, shape = np.ascontiguousarray(field[begin:end]), field.shape
    del field
    if options.way == "hdf5":
        import_h5py()
        write = timed(comm, h5_write, comm, options.path, slab, begin, shape, bound)
        read = timed(comm, h5_read, comm, options.path, begin, end)
    else:
        chunk = "" if options.way == "patches" else f";chunk_bytes={EDGE_OF_CHUNK ** 3 * slab.itemsize}"
        os.environ["FOREBAY_HINTS"] = f"layout={options.way};codec=zfp:accuracy={bound!r}{chunk}"
        write = timed(comm, forebay_write, options.library, comm, options.path, slab, begin, shape)
        read = timed(comm, forebay_read, options.library, comm, options.path, slab, begin)
    if comm.rank == 0:
        print(json.dumps({"write": write, "read": read, "bytes": os.path.getsize(options.path)}))


def readers(options):
    """(whole, region, preview) of a file, opened anew by each."""
    middle = (slice(options.edge // 2 - 20, options.edge // 2 + 44),) * 3
    if options.way == "hdf5":
        h5py = import_h5py()

        def of(key):
            with h5py.File(options.path, "r") as file:
                return file["v"][key]
        return lambda: of(...), lambda: of(middle), lambda: of(...)[::2 ** LEVEL, ::2 ** LEVEL, ::2 ** LEVEL]
    import forebay

    def own(key, level):
        with forebay.open(options.path) as file:
            return (file["v"].level(level) if level else file["v"])[key]
    return (lambda: own(np.s_[:, :, :], 0), lambda: own(middle, 0),
            lambda: own(np.s_[:, :, :], LEVEL if options.way == "patches" else 0))


def step_read(options):
    field = field_of(options)
    results = {}
    for name, read in zip(("whole", "region", "preview"), readers(options)):
        start = time.perf_counter()
        got = np.asarray(read())
        results[name] = time.perf_counter() - start
        if name == "whole":
            error = float(np.abs(got - field).max())
            results["within"] = error <= 1e-3 * float(field.max() - field.min()) * (1 + 1e-12)
    print(json.dumps(results))


def start(options, way, step, rank_count):
    ours = way != "hdf5"
    environment = dict(os.environ)
    if not ours:
        environment["HDF5_PLUGIN_PATH"] = options.plugins
    path = os.path.join(options.dir, f"{way}.{'nc' if ours else 'h5'}")
    command = [sys.executable if ours else options.hdf5_python, "-B", os.path.abspath(__file__), "--fields", options.fields,
               "--edge", str(options.edge), "--field", options.field, "--step", step, "--way", way, "--path", path,
               "--library", options.library]
    if step == "write":
        command = options.mpiexec.split() + ["-n", str(rank_count)] + command
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def limit(options):
    """What coding on two cores, and one stream of system calls, would take (bench/limits/patch_limit.cc)."""
    field = field_of(options)
    raw = os.path.join(options.dir, "limit.raw")
    field.tofile(raw)
    bound = 1e-3 * float(field.max() - field.min())
    done = subprocess.run([options.limit, raw, "--type", "double" if field.itemsize == 8 else "float", "--edge", str(options.edge),
                           "--bound", repr(bound), "--out", os.path.join(options.dir, "limit.bin"), "--rounds", "1"],
                          stdout=subprocess.PIPE, text=True, check=True)
    os.remove(raw)
    os.remove(os.path.join(options.dir, "limit.bin"))
    return json.loads(done.stdout)


def measure(options):
    ways = ["hdf5", "chunked", "patches"] + (["limit"] if options.limit else [])
    for ranks in options.ranks:
        found = {way: [] for way in ways}
        for number in range(options.rounds):
            for way in ways[::1 if number % 2 == 0 else -1]:
                found[way].append(limit(options) if way == "limit" else start(options, way, "write", ranks))
        for way in ways:
            write, read = (statistics.median(one[what] for one in found[way]) for what in ("write", "read"))
            print(f"{options.field} {ranks:2d} ranks  {way:8s} write {write:8.3f} s  read {read:8.3f} s "
                  f"{found[way][0]['bytes']:12d} bytes", flush=True)
    ways = [way for way in ways if way != "limit"]
    found = {way: [start(options, way, "read", 1) for _ in range(options.rounds)] for way in ways}
    for way in ways:
        for what in ("whole", "region", "preview"):
            seconds = statistics.median(one[what] for one in found[way])
            print(f"{options.field}  1 process read {way:8s} {what:8s} {seconds:8.4f} s")
        print(f"{options.field} {way}: {'within' if all(one['within'] for one in found[way]) else 'NOT within'} its bound")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fields", required=True)
    parser.add_argument("--field", choices=FIELDS, default="density")
    parser.add_argument("--edge", type=int, default=256, help="of the cube (default: %(default)s)")
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")], default=[4, 16])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default="/dev/shm")
    parser.add_argument("--hdf5-python", default=sys.executable)
    parser.add_argument("--plugins", default="")
    parser.add_argument("--library", default=os.path.abspath("build/release/libforebay.so"))
    parser.add_argument("--limit", help="forebay-patch-limit, to be measured in the same rounds")
    parser.add_argument("--mpiexec", default="mpiexec --oversubscribe")
    parser.add_argument("--step", choices=("write", "read"), help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    {"write": step_write, "read": step_read, None: measure}[options.step](options)


if __name__ == "__main__":
    main()
