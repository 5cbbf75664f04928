#!/usr/bin/env python3
"""Measures workloads with Forebay, with its peers PnetCDF and parallel HDF5, and without any library, in turn.

    run.py                              a short list: the E3SM F case, large blocks, strided pieces, a large header
    run.py e3sm --case F,G,I            some workloads, each at 2, 4 and 16 ranks, on the disk and on /dev/shm
    run.py strided --ranks 4 --where memory --rounds 9 -- --piece 1KiB
    run.py checkerboard2d flash pandana     compressed arrays: Forebay's chunks, HDF5's, and the least that codecs need
    run.py e3sm --case F,G --backends forebay,forebay-chunked
    run.py e3sm --case F,G --codec shuffle,deflate:1 --backends forebay-netcdf4,forebay-chunked,pnetcdf-nccopy
    run.py density wmag --fields DIR --ranks 4,16    fields in patches, HDF5's and own chunks, within a thousandth of the range
    run.py geos manyfiles --ranks 4,16              several files a step, written together, and one after another
    run.py --suite staging --ranks 4,16 --fast /dev/shm --slow DIR      a log on a fast device before a slow store
    run.py --suite log-cost                                             what that log costs beside plain writes
    run.py --suite hdf5 --connector build/release/lib --dir /dev/shm    HDF5 programs through the log connector

Options after "--" go to the workload (`forebay-bench NAME --help` lists them).

One round runs every backend once, in a new set of processes each and in the other order each time, so that whatever else
the machine does meets all of them alike; the figures are medians over the rounds. The backends are

    forebay           this library as the environment says; by default, canonical files
    forebay-async     the same with stage=async
    forebay-chunked   this library, layout chunked, with --codec (deflate:6; e3sm: shuffle,zstd:1)
    forebay-netcdf4   the same in a netCDF-4 file
    forebay-patches   as forebay-chunked, layout patches
    forebay-decomposed
                      this library, layout decomposed: slabs in a data file a node
    forebay-decom-async
                      the same with stage=async
    forebay-decom-codec
                      forebay-decomposed with --codec
    forebay-decom-api this library, maps defined and written by (ncmpi_def_decom), e3sm only
    pnetcdf/MODULE    the peer with each MPI-IO module of the MPI library; ratios use the better one. A module that
                      needs more than twice the time of the better one in the first round is not run again.
    pnetcdf-hints/SET the peer with the hints for ROMIO that are best here: romio_cb_write, cb_nodes, romio_no_indep_rw
                      and nc_num_aggrs_per_node in some sets, of which the quickest of the first round goes on
    pnetcdf-blob/MODULE
                      the peer, e3sm only: a file a node, in which each rank's values of a variable and record are one
                      contiguous piece (iput_vara), and maps are not told
    pnetcdf-nccopy/MODULE
                      the peer, and then `nccopy -dLEVEL -s` of its file by one process, as --codec says; writes only
    hdf5/MODULE       parallel HDF5: the same data, chunks and codec, one collective call a variable
    hdf5-multi/MODULE the same, with one call for all variables
    append            each rank pwrites one contiguous block, the same bytes in all
    limit             one process pwrites them all in pieces of 8 MiB
    log-limit         each rank pwrites the same bytes in all to a file of its own
    floor             e3sm: the header by this library without data, and each rank appends its bytes to a file beside it
    floor-pass        the same, and one pass over starts and counts
    codec-limit       processor time of the codec on the same chunks in one thread, divided by the cores, and one pwrite
                      (pread) stream of what came out

HDF5 and codec-limit know the compressed arrays: checkerboard2d, flash, pandana. Those run forebay-chunked, hdf5 and
codec-limit unless --backends says otherwise; density and wmag, which are SPERR's test fields (docs/patches.md), repeated to
cubes, forebay-patches, too (hdf5 by H5Z-ZFP in $HDF5_PLUGIN_PATH, the limit that of patches); the other workloads
forebay, pnetcdf, pnetcdf-hints, append and limit.
The suites have backends of their own (bench_staging.py); names of workloads choose among theirs.
`./dev bench patches` fetches the fields and the plug-in, and runs density and wmag.
`./dev bench papers` measures what the papers measured (docs/papers.md).
`./dev bench adjoint | hdf5-async | patches-python | patch-figures | groups | capture-sizes FILE --grid PxPyPz |
extrapolated SIZES` are programs of their own, each with options of its own.
"memory +MiB" is the largest growth of a rank's resident memory while it was timed: what a library takes beyond the
program's own buffers.
"""

import argparse
import array
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from bench_backends import (ALL, DEFAULT, DEFAULT_ARRAY_CODEC, DEFAULT_ARRAYS, DEFAULT_CODEC,  # noqa: E402
                            DEFAULT_FIELDS, PROGRAMS, find_program)
from bench_compare import Comparison  # noqa: E402
from bench_launch import Failure, Launcher  # noqa: E402
import bench_bundles  # noqa: E402
import bench_hdf5  # noqa: E402
import bench_slow_store  # noqa: E402
import bench_staging  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SHORT_LIST = ("e3sm", "contiguous", "strided", "metadata")
# File, whether of floats, shape.
FIELDS = {"density": ("density_128x128x256.d64", False, (256, 128, 128)), "wmag": ("wmag128.float", True, (128, 128, 128))}
RELATIVE_BOUND, CHUNK_EDGE, PATCH_LEVELS = 1e-3, 64, 4
ARRAYS = ("checkerboard2d", "flash", "pandana") + tuple(FIELDS)
NAMES = ("e3sm", "contiguous", "strided", "checkerboard", "metadata", "small") + ARRAYS + bench_staging.WORKLOADS + \
    tuple(bench_hdf5.WORKLOADS) + bench_bundles.WORKLOADS
E3SM_MAP = "map_f_case_16p.nc"
FIELDS_PACKAGE = "ferret-datasets"


def parse_arguments(argv):
    extra = []
    if "--" in argv:
        cut = argv.index("--")
        argv, extra = argv[:cut], argv[cut + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="one or more of " + ", ".join(NAMES) + " (default: a short list)")
    add("--case", default="F", help="cases of e3sm, with commas: F,G,I (default: %(default)s)")
    add("--field", choices=("noise", "smooth", "sphere"),
        help="e3sm: values (default: smooth if forebay-chunked or -netcdf4 is measured, else noise)")
    add("--random", default="100,50,10",
        help="checkerboard2d: per cent of random bits, with commas (default: %(default)s)")
    add("--real", metavar="FILE:VARIABLE",
        help=f"checkerboard2d, flash: values from a netCDF file, also by its name in Debian's {FIELDS_PACKAGE}")
    add("--total", help="checkerboard2d, flash, pandana: bytes of all variables, for example 64MiB")
    add("--fields", metavar="DIR", help="density, wmag: folder of their files")
    add("--edge", type=int, default=256, help="density, wmag: of the cube (default: %(default)s)")
    add("--codec", help="of forebay-chunked, forebay-netcdf4, hdf5 and codec-limit (default: deflate:6; e3sm: shuffle,zstd:1); density and "
        "wmag have zfp, of their bound")
    add("--op", default="both", choices=("write", "read", "both"))
    add("--ranks", help="with commas (default: 2,4,16; for the short list: 2,4)")
    add("--where", default="disk,memory",
        help="disk, memory, slow (--slow, made slow as in the suites), with commas (default: %(default)s); several "
             "files a step: slow, or the slow store and memory")
    add("--disk-dir", help="a directory on a disk (default: bench-tmp beside the build)")
    add("--memory-dir", default="/dev/shm", help="a directory in memory (default: %(default)s)")
    add("--rounds", type=int, default=5, help="samples of each (default: %(default)s)")
    add("--backends", help=f"with commas (default: {DEFAULT}; compressed arrays: {DEFAULT_ARRAYS})")
    add("--modules", default="romio321,ompio", help="MPI-IO modules for the peers (default: %(default)s)")
    add("--all-modules", action="store_true", help="run slow modules in every round, too")
    add("--cores", type=int, help="that codec-limit divides by (default: those that this process may use)")
    add("--tile", type=int, help="e3sm: repeat the horizontal dimensions N times")
    add("--compute", type=float, help="e3sm: seconds that ranks compute after each record's write; they are not counted")
    add("--data", help="e3sm: folder of recorded maps (default: $FOREBAY_E3SM_DATA, else beside the source tree)")
    add("--no-verify", action="store_true", help="do not compare the values read back")
    add("--json", help="write all records to this file")
    add("--steps", action="store_true", help="one more round with FOREBAY_REPORT: where the time went")
    add("--build", default=os.path.join(HERE, "..", "..", "build", "release"), help="build tree (default: %(default)s)")
    add("--exe", help="forebay-bench (default: found in the build tree)")
    add("--peer-exe", help="forebay-bench-pnetcdf (default: found in the build tree)")
    add("--hdf5-exe", help="forebay-bench-hdf5 (default: found in the build tree)")
    add("--mpiexec", default="mpiexec", help="(default: %(default)s)")
    add("--timeout", type=float, default=600, help="seconds for one process launch (default: %(default)s)")
    add("--suite", choices=bench_staging.SUITES + bench_hdf5.SUITES,
        help="a set of workloads with backends of their own")
    add("--connector", metavar="DIR", help="suite hdf5: folder of the HDF5 plug-in; without it, the plug-in is left out")
    add("--dir", help="suite hdf5: directory of the files (default: /dev/shm)")
    add("--fast", default="/dev/shm", help="suites: directory on the fast device (default: %(default)s)")
    add("--slow", help="directory that is made slow (default: suites: that of --disk-dir, else one in --memory-dir)")
    add("--transfer", help="suites, of ior-*: bytes of a rank in one call, with commas")
    bench_slow_store.add_options(add)
    options = parser.parse_args(argv)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"no workload is called {name}; there are {', '.join(NAMES)}")
    suite = bench_hdf5 if options.suite in bench_hdf5.SUITES else bench_staging
    bundles = bool(set(options.names) & set(bench_bundles.WORKLOADS))
    if bundles and (options.suite or not set(options.names) <= set(bench_bundles.WORKLOADS)):
        parser.error(f"{', '.join(bench_bundles.WORKLOADS)} are measured by themselves")
    known = bench_bundles.BACKENDS if bundles else suite.BACKENDS if options.suite else ALL
    for backend in (options.backends or "").split(","):
        if backend and backend not in known:
            parser.error(f"no backend is called {backend}; there are {', '.join(known)}")
    if options.suite and not set(options.names) <= set(suite.WORKLOADS):
        parser.error(f"the suite {options.suite} has {', '.join(suite.WORKLOADS)}")
    if not options.suite and set(options.names) & (set(bench_hdf5.WORKLOADS) - {"metadata"}):
        parser.error("that is a workload of --suite hdf5")
    options.extra = extra
    return options


def find_data(given):
    beside = os.path.join(HERE, "..", "..", "..", "shared", "data", "e3sm")
    for path in (given, os.environ.get("FOREBAY_E3SM_DATA"), beside):
        if path and os.path.isfile(os.path.join(path, E3SM_MAP)):
            return os.path.abspath(path)
    if given:
        raise Failure(f"{given} holds no {E3SM_MAP}")
    return None


def find_field(given):
    """FILE:VARIABLE with a FILE that is there."""
    path, _, variable = given.rpartition(":")
    if not path:
        raise Failure(f"--real takes FILE:VARIABLE, not {given}")
    if os.path.isfile(path):
        return f"{os.path.abspath(path)}:{variable}"
    try:
        listed = subprocess.run(["dpkg", "-L", FIELDS_PACKAGE], capture_output=True, text=True, check=False).stdout
    except OSError:
        listed = ""
    for line in listed.splitlines():
        if os.path.basename(line) == path and os.path.isfile(line):
            return f"{line}:{variable}"
    raise Failure(f"there is no {path}, here or in the package {FIELDS_PACKAGE}")


def find_programs(options):
    programs = {name: find_program(options.build, program) for name, program in PROGRAMS.items()}
    for name, given in (("forebay", options.exe), ("pnetcdf", options.peer_exe), ("hdf5", options.hdf5_exe)):
        programs[name] = given or programs[name]
    return programs


def array_jobs(name, options):
    """[(title, arguments)]"""
    arguments = [name] + (["--total", options.total] if options.total else [])
    title = " ".join(arguments)
    if options.real and name != "pandana":
        return [(f"{title} real {os.path.basename(options.real)}", arguments + ["--real", find_field(options.real)])]
    if name == "checkerboard2d":
        return [(f"{title} random-{share}", arguments + ["--random", share]) for share in options.random.split(",")]
    return [(title, arguments)]


def field_job(name, options):
    """What a field's job has beside its arguments."""
    file, floats, shape = FIELDS[name]
    path = os.path.join(options.fields or ".", file)
    values = array.array("f" if floats else "d")
    try:
        with open(path, "rb") as data:
            values.frombytes(data.read())
    except OSError as fault:
        raise Failure(f"{fault}: --fields DIR (./dev bench patches fetches them)") from fault
    bound = RELATIVE_BOUND * (max(values) - min(values))
    arguments = ["field", path, "--shape", ",".join(map(str, shape)), "--edge", str(options.edge), "--chunk-edge",
                 str(CHUNK_EDGE), "--bound", repr(bound * (1 + 1e-12))] + (["--float"] if floats else [])
    codec = f"zfp:accuracy={bound!r}"
    return {"title": f"{name} {options.edge}^3", "arguments": arguments, "codec": codec,
            "limit_codec": f"wavelet:{PATCH_LEVELS},{codec}", "chunk_bytes": CHUNK_EDGE**3 * values.itemsize}


def e3sm_jobs(options, backends):
    data = find_data(options.data)
    field = options.field or ("smooth" if {"forebay-chunked", "forebay-netcdf4"} & set(backends) else "noise")
    jobs = []
    for case in options.case.split(","):
        title, arguments = f"e3sm {case}", ["e3sm", "--case", case]
        if data:
            arguments += ["--data", data]
        if options.tile:
            arguments += ["--tile", str(options.tile)]
            title += f" tile {options.tile}"
        if options.compute is not None:
            arguments += ["--compute", str(options.compute), "--wait", "record"]
            title += f" computing {options.compute} s"
        if field != "noise":
            arguments += ["--field", field]
            title += f" {field}"
        jobs.append((title, arguments))
    return jobs


def make_jobs(options):
    jobs = []
    for name in options.names or SHORT_LIST:
        arrays = name in ARRAYS
        usual = DEFAULT_FIELDS if name in FIELDS else DEFAULT_ARRAYS if arrays else DEFAULT
        backends = (options.backends or usual).split(",")
        if name in FIELDS:
            job = field_job(name, options)
            jobs.append({**job, "title": " ".join([job["title"]] + options.extra),
                         "arguments": job["arguments"] + options.extra, "bytes_matter": True, "arrays": True,
                         "backends": backends})
            continue
        if arrays:
            named = array_jobs(name, options)
        elif name == "e3sm":
            named = e3sm_jobs(options, backends)
        else:
            named = [(name, [name])]
        codec = options.codec or DEFAULT_CODEC.get(name, DEFAULT_ARRAY_CODEC)
        for title, arguments in named:
            if {"forebay-chunked", "forebay-netcdf4"} & set(backends) or arrays:
                title += f" {codec}"
            jobs.append({"title": " ".join([title] + options.extra), "arguments": arguments + options.extra,
                         "bytes_matter": name != "metadata", "arrays": arrays, "backends": backends, "codec": codec})
    return jobs


def make_directories(options):
    disk = options.disk_dir or os.path.join(os.path.dirname(os.path.abspath(options.build)), "bench-tmp")
    slow = options.slow or os.path.join(options.memory_dir, "forebay-slow")
    places = {"disk": disk, "memory": options.memory_dir, "slow": slow}
    kinds = {}
    for kind in options.where.split(","):
        if kind not in places:
            raise Failure(f"--where takes disk, memory and slow, not {kind}")
        if kind != "memory":
            os.makedirs(places[kind], exist_ok=True)
        if os.path.isdir(places[kind]):
            kinds[os.path.abspath(places[kind])] = kind
    return kinds


def keep(records, more, path):
    """Adds to the records and to the file of all."""
    records += more
    if path:
        with open(path, "w", encoding="utf-8") as out:
            json.dump(records, out, indent=1)


def main(argv):
    options = parse_arguments(argv)
    if options.names and set(options.names) <= set(bench_bundles.WORKLOADS):
        bench_bundles.run_workloads(Launcher(options), options,
                                    lambda more, all_records=[]: keep(all_records, more, options.json))
        return 0
    programs = find_programs(options)
    if not (programs["forebay"] or programs["pnetcdf"]):
        raise Failure(f"neither forebay-bench nor forebay-bench-pnetcdf is in {options.build}: build first")
    launcher = Launcher(options)
    ranks = [int(n) for n in (options.ranks or ("2,4,16" if options.names or options.suite else "2,4")).split(",")]
    records = []
    if options.suite in bench_hdf5.SUITES:
        if not programs["hdf5"]:
            raise Failure("forebay-bench-hdf5 is not there: configure with -DHDF5_ROOT=PREFIX (./dev bench does)")
        return 1 if bench_hdf5.run_suite(launcher, programs, options, ranks,
                                         lambda more: keep(records, more, options.json), find_data(options.data)) else 0
    if options.suite:
        return 1 if bench_staging.run_suite(launcher, programs, options, ranks,
                                            lambda more: keep(records, more, options.json)) else 0
    kinds = make_directories(options)
    launchers = {directory: bench_slow_store.SlowLauncher(options, directory) if kind == "slow" else launcher
                 for directory, kind in kinds.items()}
    for each in launchers.values():
        if each is not launcher:
            print(each.store)
    jobs = make_jobs(options)
    if not programs["hdf5"] and any("hdf5" in b for job in jobs if job["arrays"] for b in job["backends"]):
        print("bench: without HDF5: configure with -DHDF5_ROOT=PREFIX (./dev bench does)", file=sys.stderr)
    failed = False
    for job in jobs:
        job["kinds"] = kinds
        for count in ranks:
            for directory in kinds:
                comparison = Comparison(launchers[directory], programs, job, count, directory)
                comparison.run()
                print(comparison.table())
                if options.steps:
                    print("\n".join(comparison.steps()))
                print(flush=True)
                keep(records, comparison.json_records(), options.json)
                for backend in comparison.backends:
                    wrong = any(r["wrong_values"] for r in backend.records.values())
                    failed = failed or bool(backend.fault) or wrong
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: stopped"))
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as fault:
        sys.exit(f"bench: {fault}")
