"""What the papers measured, and what of it can be measured here: data only; run.py runs it, docs/papers.md shows it.

A Run is one command. A Comparison names a figure, table or sentence of a paper, what the paper says of it, and which
results of a run are divided to get the same ratio here. A number of a paper stands in `theirs` and nowhere else.
"""

from dataclasses import dataclass, field

PAPERS = {
    "D3": "Staging in logs (Hou 2023, ch. 3; Hou et al. 2018)",
    "D4": "Compressed checkpoints (Hou 2023, ch. 4)",
    "D5": "Chunks in classic files (Hou 2023, ch. 5)",
    "D6": "Logs and decompositions (Hou 2023, ch. 6)",
    "H": "Compressed hierarchies (Fan et al. 2021)",
    "A": "Process groups (Lofstead et al. 2009)",
    "B": "Bundles (Wang et al. 2014)",
}


@dataclass(frozen=True)
class Run:
    """One command: a program, and its arguments as a shell has them."""

    program: str  # "run.py", "adjoint.py" (bench/driver), "forebay", or a program of build/release/bench
    arguments: str  # {name} stands for one of `sizes`; {dir}: a folder in memory, {root}: of the sources,
    # {connector}: of HDF5's plug-in, {files}: a fourth of the ranks
    sizes: dict = field(default_factory=dict)  # name: (as measured, with --quick)
    ranks: str = "4,16"  # with commas; "": the program starts ranks by itself, or takes none
    quick_ranks: str = "4"
    rounds: int = 5  # 0: the program has a number of its own
    slow: str = ""  # options of the slow store, where the program itself has none
    model: bool = False  # ranks are those of a prediction: --ranks is not heard


@dataclass(frozen=True)
class Figure:
    """One number here. A result is "BACKEND" (its seconds) or "BACKEND:KEY"; of several that fit, all are shown."""

    label: str
    of: tuple = ()  # phrases that the title of the result must have
    divide: tuple = ()  # (a, b): the number is a / b
    value: str = ""  # or this result itself
    operation: str = "write"
    unit: str = "×"
    scale: float = 1


@dataclass(frozen=True)
class Comparison:
    paper: str
    place: str  # in the paper
    what: str
    theirs: str  # what the paper says
    differs: str  # why the numbers differ
    run: str = ""  # of RUNS
    figures: tuple = ()
    docs: str = ""  # our figures that stand in docs already, with a link from docs/papers.md
    by_hand: str = ""  # a command that run.py does not run
    absent: str = ""  # why it cannot be had here


_SEVEN_FILES = "1201MiB 960MiB 720MiB 532MiB 435MiB 105MiB 42MiB"
_HDF5_SUITE = "--suite hdf5 --connector {connector} --dir {dir} --modules romio321"
_SIZES = "--dir {dir} --files {files} --scale {scale}"
_SIZES_STORE = "--slow-bandwidth 100 --slow-servers 8 --slow-one-server-files"

RUNS = {
    "staging": Run(
        "run.py",
        "--suite staging --fast {dir} --slow {dir}/slow --modules romio321 --backends "
        "forebay-burst,forebay-burst-node,forebay-burst-flatten,forebay-stage-out,pnetcdf {workloads}",
        {"workloads": ("ior-strided ior-contiguous btio flash-io", "ior-strided --transfer 64KiB -- --size 256KiB")},
        rounds=3,
    ),
    "order": Run("forebay-order", "{quick}", {"quick": ("", "--quick")}, ranks="", rounds=0),
    "adjoint": Run("adjoint.py", "--only a,b,errors {quick}", {"quick": ("", "--quick")}, ranks="", rounds=0),
    "checkerboard": Run(
        "run.py",
        "checkerboard2d --total {total} --memory-dir {dir} --where memory --modules romio321 "
        "--backends forebay-chunked,hdf5,codec-limit",
        {"total": ("64MiB", "1MiB")},
    ),
    "chunks": Run(
        "run.py",
        "checkerboard2d --total {total} --random 100 --codec none --memory-dir {dir} --where memory,slow "
        "--modules romio321 --backends forebay,forebay-chunked",
        {"total": ("64MiB", "1MiB")},
        rounds=3,
    ),
    "compressed": Run(
        "run.py",
        "checkerboard2d --total {total} --random 50,10 --memory-dir {dir} --where slow --modules romio321 "
        "--backends forebay,forebay-chunked",
        {"total": ("64MiB", "1MiB")},
        rounds=3,
    ),
    "arrays": Run(
        "run.py",
        "flash pandana --total {total} --memory-dir {dir} --where memory --modules romio321 "
        "--backends forebay-chunked,hdf5,hdf5-multi,codec-limit",
        {"total": ("64MiB", "2MiB")},
        rounds=3,
    ),
    "e3sm-chunks": Run(
        "run.py",
        "e3sm --case {cases} --memory-dir {dir} --where memory --modules romio321 "
        "--backends forebay,forebay-chunked --codec deflate:6 --no-verify {generated}",
        {"cases": ("F,G", "F"), "generated": ("", "-- --generate ne=1 --records 2")},
    ),
    "e3sm-log": Run(
        "run.py",
        _HDF5_SUITE + " --backends pnetcdf,hdf5,hdf5-log {workloads}",
        {"workloads": ("e3sm-f e3sm-g e3sm-i", "e3sm-f -- --generate ne=1 --records 2")},
        ranks="4",
    ),
    "e3sm-decomposed": Run(
        "run.py",
        "e3sm --case {cases} --op write --no-verify --memory-dir {dir} --where memory --modules romio321 "
        "--backends forebay-decomposed,forebay-decom-api,pnetcdf {generated}",
        {"cases": ("F,G,I", "F"), "generated": ("", "-- --generate ne=1 --records 2")},
        ranks="4",
        rounds=3,
    ),
    "blocks-log": Run(
        "run.py",
        _HDF5_SUITE + " --backends pnetcdf,hdf5,hdf5-log {workloads}",
        {"workloads": ("s3d flash-io", "s3d -- --edge 8")},
    ),
    "log-reads": Run(
        "run.py",
        _HDF5_SUITE + " --backends hdf5,hdf5-log {workloads}",
        {"workloads": ("e3sm-g-whole e3sm-g-hyperslab flash-io-whole flash-io-hyperslab",
        "flash-io-whole -- --blocks 2")},
        ranks="4",
    ),
    "patch-plans": Run("forebay-patch-scale", "--side {side}", {"side": ("16", "4")}, ranks="", rounds=0),
    "flame": Run(
        "forebay-bench-sizes",
        "extrapolated {root}bench/sizes/flame.json --patches 2x2x2 " + _SIZES,
        {"scale": ("8", "0.01")},
        ranks="32",
        rounds=3,
        slow=_SIZES_STORE,
    ),
    "turbulence": Run(
        "forebay-bench-sizes",
        "extrapolated {root}bench/sizes/turbulence.json " + _SIZES,
        {"scale": ("2", "0.01")},
        ranks="32",
        rounds=3,
        slow=_SIZES_STORE,
    ),
    "chimera-peers": Run(
        "forebay-bench-groups-peers",
        "--dir {dir}/groups --variables 80 --elements {elements} --steps 10",
        {"elements": ("1440", "10")},
        rounds=9,
    ),
    "chimera": Run(
        "forebay-bench-groups",
        "--dir {dir}/groups --variables 80 --elements {elements} --steps 10",
        {"elements": ("1440", "10")},
        rounds=9,
    ),
    "particles": Run(
        "forebay-bench-groups",
        "--dir {dir}/groups --variables 1 --elements {elements} --steps 10",
        {"elements": ("1440000", "100")},
    ),
    "restart": Run(
        "forebay-bench-groups",
        "--dir {dir}/groups --variables 8 --elements {elements} --steps 2",
        {"elements": ("1048576", "100")},
    ),
    "bundles": Run(
        "run.py",
        "geos manyfiles --dir {dir} --slow-open 2 --backends bundle,bundle-later,bundle-bps,files,masters,pnetcdf "
        "-- --steps {steps} --nx {nx} --ny {ny}",
        {"steps": ("8", "2"), "nx": ("144", "20"), "ny": ("91", "13")},
    ),
    "bundle-plans": Run(
        "forebay",
        f"bundle plan --ranks {{ranks}} --ranks-per-node 8 --message 3e-5 --json {_SEVEN_FILES}",
        ranks="32,64,128,256,512",
        quick_ranks="32,64,128,256,512",
        rounds=0,
        model=True,
    ),
}

_STAGING = "A simulated slow store and memory stand for Lustre and a burst buffer; 16 ranks stand for 4,096 processes."
_STAGING_DOCS = "internals/performance.md#results"
_ARRAYS = (
    "64 MiB in memory on one node stand for Lustre and 4,096 processes, HDF5 1.14.5 for 1.12.0, libdeflate for zlib."
)
_ARRAYS_DOCS = "internals/performance.md#chunked-and-compressed"
_LOGS = "Recorded maps of 16 processes in memory stand for up to 21,600 processes on Lustre and GPFS."
_LOG_DOCS = "internals/performance.md#hdf5-programs"
_ADJOINT_DOCS = "internals/checkpoints.md#measured-the-study-of-hou-2023-ch-4"
_MODEL = "A shallow-water model with an adjoint by hand stands for MITgcm."
_ADJOINT = _MODEL + " Our store is slowed until raw states take the paper's share of the run."
_CACHED = _MODEL + " Our files of this case lie in the system's cache, so a codec can save no time."
_SIZES_DOCS = "internals/patches.md#sizes-of-larger-runs"
_SIZES_DIFFER = "Made fields, 32 ranks and a simulated store of 8 servers stand for the paper's fields and machine."
_GROUPS = "4 and 16 ranks in memory stand for 512 to 8,192 processes that share one metadata server."
_ADIOS1_DOCS = "internals/performance.md#writing-beside-adios-1"
_ADIOS2_DOCS = "internals/performance.md#writing-beside-adios2-and-hdf5"
_BUNDLES_DOCS = "internals/bundles.md#measured"
_MODEL_DOCS = "internals/bundles.md#the-planner"


def _staged(label, *of):
    return Figure(label, of, ("pnetcdf", "forebay-burst"))


def _checkerboard(operation):
    return tuple(Figure(f"{share} % random", (f"random-{share}",), ("hdf5", "forebay-chunked"), operation=operation)
                 for share in (100, 50, 10))


def _codecs(case, key, unit, names=("float32", "deflate", "zfp", "sz3")):
    return tuple(Figure(name, (f"case {case}",), value=f"{name}:{key}", operation="run", unit=unit) for name in names)


def _errors(case):
    return tuple(Figure(name, (f"errors {case}",), value=f"{name}:error", operation="run", unit=" %", scale=100)
                 for name in ("float32", "zfp", "sz3"))


def _adios1(work):
    return tuple(Figure(label, (work,), (way, "forebay")) for label, way in (("MPI", "adios-mpi"), ("POSIX",
    "adios-posix")))


def _pipelines(*slower):
    return tuple(Figure(name, ("extrapolated",), (name, "balanced")) for name in slower)


def _bundles(*slower):
    return tuple(Figure(f"{workload}, {slow}", (workload, "slow store"), (slow, "bundle-later"))
                 for workload in ("geos", "manyfiles") for slow in slower)


COMPARISONS = (
    Comparison(
        "D3", "§3.3.2, Fig. 3.5 and 3.6, IOR strided", "collective writes of small strided pieces beside staging",
        "up to 4.2 (Cori) and 3.8 (Theta); the chapter's opening says up to 4",
        _STAGING + " At 16 ranks pieces of 64 KiB are whole stripes already.", "staging",
        tuple(_staged(size, "ior-strided", f"--transfer {size}") for size in ("4KiB", "16KiB", "64KiB")),
        docs=f"[4, 16, 64 KiB: 6.8, 3.2, 1.4 at 4 ranks; 2.4, 1.5, 0.9 at 16]({_STAGING_DOCS})"),
    Comparison(
        "D3", "§3.3.2, Fig. 3.5 and 3.6, IOR contiguous", "the same where one call of all ranks is contiguous",
        "drawn only; less than strided", _STAGING, "staging",
        tuple(_staged(size, "ior-contiguous", f"--transfer {size}") for size in ("64KiB", "1MiB")),
        docs=f"[64 KiB, 1 MiB: 1.4, 1.1 at 4 ranks; 1.8, 1.0 at 16]({_STAGING_DOCS})"),
    Comparison(
        "D3", "§3.3.2, Fig. 3.5 and 3.6, FLASH", "a checkpoint and two plot files, written directly and staged",
        "no gain, except at 4,096 processes",
        _STAGING + " Large pieces are flushed in the background here.", "staging", (_staged("FLASH", "flash-io"),),
        docs=f"[1.3 at 4 ranks, 1.0 at 16]({_STAGING_DOCS})"),
    Comparison(
        "D3", "§3.3.2, Fig. 3.5 and 3.6, BTIO, weak", "large cells, written directly and staged",
        "1.37 (Cori), 1.16 (Theta)",
        _STAGING + " Our grid is fixed, and each call of all ranks covers whole slabs.", "staging",
        (_staged("64³", "btio", "--grid 64"),), docs=f"[0.96 at 4 ranks, 1.1 at 16]({_STAGING_DOCS})"),
    Comparison(
        "D3", "§3.3.2, Fig. 3.5 and 3.6, BTIO, strong", "small cells, written directly and staged",
        "up to 2.6 (Cori) and 4.3 (Theta)",
        _STAGING + " Our cells have as many points as those of the paper's largest run.", "staging",
        (_staged("32³", "btio", "--grid 32"),), docs=f"[1.9 at 4 ranks, 3.2 at 16]({_STAGING_DOCS})"),
    Comparison(
        "D3", "§3.3.3, Fig. 3.7", "a native file on fast storage that is copied afterwards, beside staging",
        "contiguous up to 1.7, strided up to 4, FLASH about 2, BTIO up to 3.9 (weak) and 6.5 (strong)",
        _STAGING + " Our copy is made by all ranks; the paper's by a fixed set of servers, which is its main cost.",
        "staging",
        tuple(Figure(label, of, ("forebay-stage-out", "forebay-burst")) for label, of in (
            ("strided 4KiB", ("ior-strided", "--transfer 4KiB")),
            ("contiguous 1MiB", ("ior-contiguous", "--transfer 1MiB")), ("FLASH", ("flash-io",)),
            ("BTIO 64³", ("btio", "--grid 64")), ("BTIO 32³", ("btio", "--grid 32")))),
        docs=f"[up to 1.3 at 4 ranks, up to 3.2 at 16]({_STAGING_DOCS})"),
    Comparison(
        "D3", "§3.3.3, Fig. 3.7, second half", "the time of that copy beside the time of the flush at close",
        "more than 2 at 4,096 processes", _STAGING, "staging",
        tuple(Figure(label, of, ("forebay-stage-out:copy", "forebay-burst:close")) for label, of in (
            ("strided 64KiB", ("ior-strided", "--transfer 64KiB")), ("BTIO 32³", ("btio", "--grid 32"))))),
    Comparison(
        "D3", "§3.3.4", "Data Elevator, which copies files in the background, beside staging",
        "contiguous 0.6 (Data Elevator has 70 % more bandwidth), strided up to 1.5, BTIO about 1.7, FLASH equal", "",
        absent="Data Elevator is not packaged here, and it needs a burst buffer that all nodes share"),
    Comparison(
        "D3", "§3.3.5, Fig. 3.8", "LogFS, which logs flat offsets below MPI-IO, beside staging",
        "contiguous 1.5 (Cori) and 1.6 or 2.6 (Theta), FLASH 3 and 2, strided less than 0.25", "",
        absent="LogFS is not built here; the next two rows compare the order alone"),
    Comparison(
        "D3", "§3.3.5, Fig. 3.8, the order in a run", "a flush that sorts all pieces beside the order in two levels",
        "no number for the order alone", _STAGING + " The R-tree of LogFS is replaced by a sort.", "staging",
        tuple(Figure(label, of, ("forebay-burst-flatten", "forebay-burst")) for label, of in (
            ("strided 4KiB", ("ior-strided", "--transfer 4KiB")), ("BTIO 32³", ("btio", "--grid 32"))))),
    Comparison(
        "D3", "§3.2.4, Fig. 3.4", "processor time of sorting all pieces beside the order in two levels",
        "drawn only, no number", "The paper has no measurement of it.", "order",
        (Figure("BTIO, a rank of 4", ("btio", "4 ranks"), value="order:ratio", operation="order"),
         Figure("requests apart", ("apart",), value="order:ratio", operation="order"),
         Figure("all interleave", ("interleaved",), value="order:ratio", operation="order")),
        docs=f"[BTIO on 4 ranks 6 to 31, apart 3.5 to 26, interleaved 1.4]({_STAGING_DOCS})"),
    Comparison(
        "D3", "§3.3.6, Fig. 3.9 and 3.10",
        "a log for each node beside a log for each process: time of the puts, and of all",
        "making logs takes about half as long (Cori); writing takes clearly longer (Theta)",
        "One machine has no metadata server that thousands of log files meet, so a shared log can hardly gain.",
        "staging",
        tuple(Figure(label, ("ior-strided", "--transfer 64KiB"), pair) for label, pair in (
            ("puts", ("forebay-burst-node:data", "forebay-burst:data")),
            ("all", ("forebay-burst-node", "forebay-burst"))))),

    Comparison(
        "D4", "Table 4.1, hs94", "run time with raw states beside that with smaller ones",
        "float 1.32, deflate 1.75, ZFP 1.90, SZ 1.45 (both modes)", _ADJOINT, "adjoint", _codecs("a", "ratio", "×"),
        docs=f"[float32, deflate, zfp, sz3: 1.43, 2.14, 2.26, 2.23]({_ADJOINT_DOCS})"),
    Comparison(
        "D4", "Table 4.1, halfpipe", "the same where computing takes most of the time",
        "float 0.97, deflate 1.00, ZFP 0.97, SZ 0.90 (both modes)", _CACHED, "adjoint", _codecs("b", "ratio", "×"),
        docs=f"[float32, deflate, zfp, sz3: 1.00, 0.98, 0.99, 0.97]({_ADJOINT_DOCS})"),
    Comparison(
        "D4", "§4.3.1, Fig. 4.1, bytes", "bytes that a codec saves, hs94",
        "deflate 90 %, ZFP 94 %, SZ 98 % (speed) and 99 % (compression)",
        _MODEL + " 27 of its 30 fields do not change.",
        "adjoint", _codecs("a", "bytes_saved", " %"),
        docs=f"[float32, deflate, zfp, sz3: 50, 90, 94, 99 %]({_ADJOINT_DOCS})"),
    Comparison(
        "D4", "§4.3.1, Fig. 4.1, time", "checkpoint time that a codec saves, hs94",
        "float 46 %, deflate 65 %, ZFP 86 % (the opening says 87 %), SZ 51 % and 41 %",
        _ADJOINT + " libdeflate stands for zlib, SZ3's predictors with a stream of our own for SZ.", "adjoint",
        _codecs("a", "time_saved", " %"), docs=f"[float32, deflate, zfp, sz3: 49, 87, 91, 90 %]({_ADJOINT_DOCS})"),
    Comparison(
        "D4", "§4.3.1, Fig. 4.2, bytes", "bytes that a codec saves, halfpipe",
        "deflate 84 %, ZFP 65 %, SZ 71 % and 84 %", _MODEL + " Our fields are smoother than halfpipe's.", "adjoint",
        _codecs("b", "bytes_saved", " %"), docs=f"[float32, deflate, zfp, sz3: 50, 85, 92, 98 %]({_ADJOINT_DOCS})"),
    Comparison(
        "D4", "§4.3.1, Fig. 4.2, time", "checkpoint time that a codec saves, halfpipe",
        "float 34 %, deflate 43 %, ZFP 59 %, SZ none",
        _CACHED, "adjoint",
        _codecs("b", "time_saved", " %")),
    Comparison(
        "D4", "§4.3.2, hs94", "error of the gradient at four points, for 1 to 32 checkpoints",
        "float negligible, ZFP below 1 %, SZ about 7 %",
        "Our values are in the hundreds, so that 1e-3 is a small part of them.",
        "adjoint", _errors("a"), docs=f"[float32, zfp, sz3: 1e-5, 6e-4, 0.021 % at most]({_ADJOINT_DOCS})"),
    Comparison(
        "D4", "§4.3.2, halfpipe", "the same for halfpipe", "all below 1 %; SZ most",
        "As for hs94.", "adjoint", _errors("b"),
        docs=f"[float32, zfp, sz3: 4e-6, 5e-4, 0.004 % at most]({_ADJOINT_DOCS})"),

    Comparison(
        "D5", "§5.5.1, Fig. 5.2, writes", "HDF5 beside chunks of this library, one compressed 2-D variable",
        "up to 3 at 4,096 processes", _ARRAYS + " Noise is noticed here, and stored as it is.", "checkerboard",
        _checkerboard("write"),
        docs=f"[100, 50, 10 % random: 9.5, 1.7, 1.7 at 4 ranks; 8.2, 1.6, 1.6 at 16]({_ARRAYS_DOCS})"),
    Comparison(
        "D5", "§5.5.1, Fig. 5.2, reads", "the same, read", "below 1 at 4,096 processes, drawn only",
        _ARRAYS + " Reading chooses between owners and everybody here.", "checkerboard", _checkerboard("read"),
        docs=f"[100, 50, 10 % random: 2.3, 2.3, 2.9 at 4 ranks; 2.6, 2.0, 1.4 at 16]({_ARRAYS_DOCS})"),
    Comparison(
        "D5", "§5.5.1, chunks", "the plain layout beside chunks without a codec, data that does not compress",
        "above 1, drawn only", "A file in memory has no stripes whose locks chunks could spare.", "chunks",
        tuple(Figure(place, (place,), ("forebay", "forebay-chunked")) for place in ("memory", "slow"))),
    Comparison(
        "D5", "ch. 5, opening", "the plain layout beside compressed chunks, data that compresses well",
        "up to 2.7", "A simulated store of 500 MB/s, and two cores that encode.", "compressed",
        tuple(Figure(f"{share} % random, {operation}", (f"random-{share}",), ("forebay", "forebay-chunked"),
                     operation=operation) for share in (50, 10) for operation in ("write", "read"))),
    Comparison(
        "D5", "§5.5.2, Fig. 5.3", "HDF5 beside chunks of this library, FLASH's pattern",
        "writes drawn only, above 1; reads below 1", _ARRAYS + " Made fields stand for a galaxy cluster.", "arrays",
        tuple(Figure(operation, ("flash",), ("hdf5", "forebay-chunked"), operation=operation)
              for operation in ("write", "read")),
        docs=f"[writes 4.7, reads 2.1 at 4 ranks; 4.0, 2.5 at 16]({_ARRAYS_DOCS})"),
    Comparison(
        "D5", "§5.5.2, size", "bytes of the array beside those of the file, FLASH's pattern", "2.65",
        "Other data.", "arrays",
        (Figure("", ("flash",), ("forebay-chunked:bytes", "forebay-chunked:file_bytes")),)),
    Comparison(
        "D5", "§5.5.3, Fig. 5.4", "HDF5 beside chunks of this library, many small 1-D variables",
        "writes 5, reads 14 (64 nodes)",
        _ARRAYS + " Two cores bound what both sides encode, and few ranks read the same chunk again.", "arrays",
        tuple(Figure(operation, ("pandana",), ("hdf5", "forebay-chunked"), operation=operation)
              for operation in ("write", "read")),
        docs=f"[writes 3.2, reads 2.6 at 4 ranks; 3.5, 7.7 at 16]({_ARRAYS_DOCS})"),
    Comparison(
        "D5", "§5.5.3, size", "bytes of the arrays beside those of the file, many small variables", "4.92",
        "Made values stand for NOvA's events.", "arrays",
        (Figure("", ("pandana",), ("forebay-chunked:bytes", "forebay-chunked:file_bytes")),)),
    Comparison(
        "D5", "§5.5.4, Fig. 5.5", "speed of compressed chunks as a part of the plain layout's, E3SM",
        "writes 0.2 to 0.5; reads above 1 for few processes",
        "Recorded maps of 16 processes with smooth values, in memory: plain files cost nothing to read there.",
        "e3sm-chunks",
        tuple(Figure(f"{case}, {operation}", (f"e3sm {case}",), ("forebay", "forebay-chunked"), operation=operation)
              for case in "FG" for operation in ("write", "read")),
        docs="[writes 0.45 to 0.55 in memory, reads 0.37 to 0.48, with zstd:1]"
        "(internals/performance.md#e3sm-compressed)"),
    Comparison(
        "D5", "§5.5.4, size", "bytes of the arrays beside those of the file, E3SM", "F 2.27, G 1.99",
        "Smooth values compress better than a model's.", "e3sm-chunks",
        tuple(Figure(case, (f"e3sm {case}",), ("forebay-chunked:bytes", "forebay-chunked:file_bytes"))
              for case in "FG"),
        docs="[F 2.2, G 3.6](internals/performance.md#e3sm-compressed)"),
    Comparison(
        "D5", "§5.5.4, Fig. 5.5 (c)", "share of the exchange between processes in a write",
        "most of the time, drawn only",
        "", docs="[counted, not timed](internals/performance.md#planning-for-any-number-of-ranks)",
        absent="messages of thousands of processes can be counted on one machine, but not timed"),

    Comparison(
        "D6", "§6.4.2, Fig. 6.5, PnetCDF", "PnetCDF beside the HDF5 connector's log, E3SM",
        "F 5.4, G 5.7, I 10.9 (the opening says up to 9)",
        _LOGS + " HDF5's own opening and closing takes longer than PnetCDF's whole write of G's 37 MiB.", "e3sm-log",
        tuple(Figure(case, (f"e3sm-{case.lower()}",), ("pnetcdf", "hdf5-log")) for case in "FGI"),
        docs=f"[F, G, I: 7.6, 0.8, 4.5 at 4 ranks; 2.4, 0.5, 3.4 at 16]({_LOG_DOCS})"),
    Comparison(
        "D6", "§6.4.2, Fig. 6.5, HDF5", "HDF5 itself beside the connector's log, E3SM", "HDF5 does not finish",
        "Our program gives HDF5 one union of hyperslabs for a variable, so that it finishes.", "e3sm-log",
        tuple(Figure(case, (f"e3sm-{case.lower()}",), ("hdf5", "hdf5-log")) for case in "FGI"),
        docs=f"[F, G, I: 4.7, 1.9, 12 at 4 ranks]({_LOG_DOCS})"),
    Comparison(
        "D6", "§6.4.2, Fig. 6.5, PnetCDF-log", "PnetCDF beside decomposed variables (the paper's PnetCDF-log), E3SM",
        "drawn only; the best of all", _LOGS, "e3sm-decomposed",
        tuple(Figure(f"{case}, {way}", (f"e3sm {case}",), ("pnetcdf", way))
              for case in "FGI" for way in ("forebay-decomposed", "forebay-decom-api")),
        docs="[F, G, I: 42, 1.3, 9.0 at 4 ranks](internals/performance.md#e3sm)"),
    Comparison(
        "D6", "§6.4.2, Fig. 6.5, ADIOS",
        "ADIOS with Scorpio's maps beside the connector's log", "above 1 nearly always, drawn only",
        "", absent="Scorpio over ADIOS is not built here"),
    Comparison(
        "D6", "§6.4.2, Fig. 6.6", "time that a tool takes to make an ordinary file of a log file",
        "drawn only; PnetCDF-log's tool is quickest for F and G, the connector's for I",
        "Ours are whole conversions in memory; the paper's bars are the reading alone.",
        by_hand="mpiexec -n 4 forebay convert --json F.nc OUT.nc -m layout=canonical",
        docs="[F 0.025 s, G 0.036 s, I 0.309 s](internals/decomposed.md#how-fast)"),
    Comparison(
        "D6", "§6.5, Fig. 6.7", "PnetCDF and HDF5 beside the connector's log, S3D", "above 1, drawn only",
        "In memory HDF5 takes at most twice as long as appending, so a log can win little.", "blocks-log",
        tuple(Figure(peer, ("s3d",), (peer, "hdf5-log")) for peer in ("pnetcdf", "hdf5")),
        docs=f"[PnetCDF, HDF5: 0.9, 0.9 at 4 ranks; 1.0, 1.1 at 16]({_LOG_DOCS})"),
    Comparison(
        "D6", "§6.6, Fig. 6.8 and 6.9", "PnetCDF and HDF5 beside the connector's log, FLASH",
        "above 1, drawn only; the gap is small",
        "One file on one node has no locks that files of nodes could spare. Our time is that of all three files.",
        "blocks-log", tuple(Figure(peer, ("flash-io",), (peer, "hdf5-log")) for peer in ("pnetcdf", "hdf5")),
        docs=f"[PnetCDF, HDF5: 0.6, 0.8 at 4 ranks; 0.6, 0.9 at 16]({_LOG_DOCS})"),
    Comparison(
        "D6", "§6.2.4, §6.4.2", "HDF5 beside the connector's log, both read", "a log is slow to read, no number",
        "Our log has an R-tree, the paper's is searched entry by entry.", "log-reads",
        tuple(Figure(name, (name,), ("hdf5", "hdf5-log"), operation="read")
              for name in ("e3sm-g-whole", "e3sm-g-hyperslab", "flash-io-whole", "flash-io-hyperslab")),
        docs=f"[G whole and boxes, FLASH whole and boxes: 7.1, 3.0, 0.88, 0.77 at 4 ranks]({_LOG_DOCS})"),
    Comparison(
        "D6", "Table 6.1", "pieces of a process in the file of case F", "174,953 (21,600 processes)",
        "A generated decomposition of the same size.", by_hand="build/release/bench/forebay-plan-scale",
        docs="[174,924](internals/performance.md#planning-alone)"),

    Comparison(
        "H", "§V-A, Fig. 6 (a)", "patches of a rank at 4,096 ranks, by the balanced and by the greedy rule",
        "balanced 3 or 4; greedy up to 8, for about a quarter of the processes",
        "This is planning, so the paper's own numbers of ranks and patches are taken.", "patch-plans",
        tuple(Figure(f"{rule}, {end}", ("patch-owners",), value=f"{backend}:{end}", operation="plan", unit="")
              for rule, backend in (("balanced", "ours"), ("greedy", "greedy")) for end in ("least", "most")),
        docs="[balanced 3 to 4; greedy 1 to 8, which 18 % of the ranks have]"
             "(internals/patches.md#which-rank-transforms-a-patch)"),
    Comparison(
        "H", "§V-A, Fig. 6 (b)",
        "time of distribution, transform and coding by the greedy rule beside the balanced one",
        "2.5 (contributions in §I)", "",
        absent="the greedy rule exists in the planner and in tests only; two cores would not show its gain"),
    Comparison(
        "H", "§V-A, Fig. 6 (c)", "that time on 512 processes beside that on 4,096", "7.4 (1.11 s and 0.15 s)", "",
        absent="strong scaling needs as many cores"),
    Comparison(
        "H", "§V-B, Fig. 7 (a)", "turbulence: other ways beside balanced files",
        "non-balanced 1.14, a file a process 1.76", _SIZES_DIFFER + " Made turbulence is nearly equal everywhere.",
        "turbulence", _pipelines("non-balanced", "file-per-process"),
        docs=f"[non-balanced 1.09, a file a process 0.84]({_SIZES_DOCS})"),
    Comparison(
        "H", "§V-B, Fig. 8 (a)", "flame: other ways beside balanced files",
        "non-balanced 1.33, a file a process 1.94", _SIZES_DIFFER + " Eight patches a rank.", "flame",
        _pipelines("non-balanced", "file-per-process"),
        docs=f"[non-balanced 1.64, a file a process 1.40]({_SIZES_DOCS})"),
    Comparison(
        "H", "§V-B, Fig. 7 (b), 8 (b)", "the largest file over the mean, by equal counts and balanced, 512 files",
        "drawn only", "Sizes of made fields, on the grid of Fig. 6 (a).", "patch-plans",
        tuple(Figure(f"flame, {name}", ("patch-files flame", "512 files"), value=f"forebay:{key}", operation="plan",
                     unit="") for name, key in (("equal counts", "equal_counts"), ("balanced", "largest_over_mean"))),
        docs="[on the grid of Table I: equal counts 4.5, balanced 1.06]"
        "(internals/patches.md#which-file-a-patch-goes-to)"),
    Comparison(
        "H", "§V-C and §VI, Fig. 11", "five ways to write extrapolated sizes, each beside balanced files",
        "a file a process 1.22; one file by collective MPI-IO about 8; others drawn only", _SIZES_DIFFER, "flame",
        _pipelines("file-per-process", "collective", "group-collective", "non-balanced"),
        docs=f"[a file a process 1.40, collective 6.2, group collective 1.60, non-balanced 1.64]({_SIZES_DOCS})"),
    Comparison(
        "H", "§V-C, Fig. 9", "strong scaling of writing the flame", "drawn only", "",
        absent="strong scaling needs as many cores"),
    Comparison(
        "H", "Table I", "bytes of the arrays beside those of the files", "10.6, 13.2 and 7.0 (computed from its bytes)",
        "The paper's fields are not public: two test fields of SPERR, within a thousandth of their range.",
        by_hand="./dev bench patches", docs="[83.7 and 4.13](internals/patches.md#measured)"),

    Comparison(
        "A", "§IV.A, Fig. 2 and 3", "parallel HDF5 beside groups, Chimera's restart",
        "POSIX 1,000, MPI-IO 140, collective 100 (8,192 processes)", _GROUPS, "chimera-peers",
        tuple(Figure(label, ("80 variables",), (way, "forebay"))
              for label, way in (("HDF5", "hdf5"), ("ADIOS2 BP4", "adios2-bp4"))),
        docs=f"[HDF5 11 to 19, ADIOS2 BP4 1.73]({_ADIOS2_DOCS})"),
    Comparison(
        "A", "§IV.A, Fig. 2, the paper's own methods", "ADIOS 1 beside groups, Chimera's restart",
        "no number for this library", _GROUPS, "chimera",
        _adios1("80 variables"),
        docs=f"[MPI 1.44, POSIX 0.92 at 4 ranks in memory]({_ADIOS1_DOCS})"),
    Comparison(
        "A", "§IV.B, Fig. 5 and 7", "ADIOS 1 beside groups, GTC's particles",
        "drawn only; POSIX is much quicker than both MPI-IO methods", _GROUPS, "particles",
        (*_adios1("1 variables"), Figure("MPI ÷ POSIX", ("1 variables",), ("adios-mpi", "adios-posix")))),
    Comparison(
        "A", "§IV.B, Fig. 8 and 9", "ADIOS 1 beside groups, GTC's restart", "drawn only", _GROUPS, "restart",
        _adios1("8 variables"),
        docs=f"[MPI 1.30, POSIX 1.01 at 4 ranks in memory]({_ADIOS1_DOCS})"),
    Comparison(
        "A", "§IV.A.4, Fig. 4", "rate at which one process makes HDF5 of a BP file",
        "90 MB/s (1.8 GB), 60 MB/s (7 GB)", "Files in memory, not on Lustre.",
        by_hand="forebay convert FILE.bp OUT.h5", docs="[256 MiB in 0.165 s](internals/performance.md#converting)"),
    Comparison(
        "A", "§IV.A.4, §IV.E", "HDF5 directly beside BP and its conversion",
        "more than 10 (1,400 s; 10 and 117 or 127 s)",
        _GROUPS, by_hand="./dev bench groups --ranks 4,16 --rounds 9, then forebay convert FILE.bp OUT.h5"),
    Comparison(
        "A", "Tables I and II", "write calls of HDF5 beside those of ADIOS, 512 processes", "56 (144,065 and 2,560)",
        "A rank and step make one call here, too.",
        by_hand="FOREBAY_REPORT=1 mpiexec -n 4 build/release/bench/forebay-bench-groups --dir DIR --ways forebay"),
    Comparison(
        "A", "§IV.A.3", "opening all at once beside opening in turns", "3.4, with the tokens' time 2.7", "",
        absent="one machine has no metadata server to spare; `open_stagger` does it, and no command times it"),
    Comparison(
        "A", "§IV.B, Fig. 6", "independent beside collective MPI-IO for BP files", "drawn only", "",
        absent="BP files are written without MPI-IO here"),
    Comparison(
        "A", "§IV.C, Fig. 10 and 11", "the same methods on another machine", "drawn only; another order than before",
        "",
        absent="it needs two machines that differ"),
    Comparison(
        "A", "§III.D.5", "bytes of the index", "about 100 a process group and variable, 50 more an instance",
        "BP4 keeps name, range and place of each block.", by_hand="ls -l FILE.bp/md.0",
        docs="[87 bytes a block](internals/performance.md#the-index)"),

    Comparison(
        "B", "abstract, §V.A, Fig. 8", "one master a file beside files that are written together",
        "2.1 on average; by scheme 2.13 (BPS), 1.89 (LPS), 2.04 (IPS)",
        "A simulated store, 2 ms to create a file; our masters write no netCDF header. "
        "Schemes differ on many nodes only.",
        "bundles", _bundles("masters"), docs=f"[geos 2.5, manyfiles 2.6 at 4 ranks]({_BUNDLES_DOCS})"),
    Comparison(
        "B", "§II, Fig. 2 and 4", "PnetCDF, and this library file by file, beside files that are written together",
        "drawn only; PnetCDF takes longer from 64 processes on",
        "As the row above; two cores show no rise with processes.",
        "bundles", _bundles("pnetcdf", "files"),
        docs=f"[file by file: geos 1.96, manyfiles 4.20 at 4 ranks]({_BUNDLES_DOCS})"),
    Comparison(
        "B", "§V.A, Fig. 8, by a model", "predicted time without groups beside that of each scheme, 32 to 512 ranks",
        "BPS best at first, IPS best at 256 and 512, LPS worst there",
        "A model with rates of our own; the paper gives neither sizes nor times.", "bundle-plans",
        tuple(Figure(scheme.upper(), ("plan",), ("off", scheme), operation="plan") for scheme in ("bps", "lps", "ips")),
        docs=f"[BPS, LPS, IPS: 2.1, 2.0, 2.0 at 32 ranks; 1.2, 1.1, 2.5 at 512]({_MODEL_DOCS})"),
    Comparison(
        "B", "Table I", "processes of the largest file, 32 to 512 ranks",
        "BPS and IPS 11, 21, 39, 79, 155; LPS 8, 8, 8, 72, 136",
        "Sizes were chosen so that the row of BPS comes out; the row of LPS does not follow from the paper's equation.",
        "bundle-plans",
        tuple(Figure(scheme.upper(), ("plan",), value=f"{scheme}:largest_group", operation="plan", unit="")
              for scheme in ("bps", "lps", "ips")),
        docs=f"[BPS and IPS the same; LPS 8, 16, 32, 72, 144]({_MODEL_DOCS})"),
    Comparison(
        "B", "§V.B, Fig. 9", "predicted time of the shuffle of each scheme beside that of IPS",
        "drawn only; IPS least, LPS most",
        "A model; one node has no network.", "bundle-plans",
        tuple(Figure(scheme.upper(), ("plan",), (f"{scheme}:shuffle", "ips:shuffle"), operation="plan")
              for scheme in ("bps", "lps"))),
    Comparison(
        "B", "§II, Fig. 3", "share of communication in the time of masters", "nearly all, drawn only", "",
        absent="it needs a network; our masters print one time"),
)
