"""HDF5's filters bitshuffle and zfp: hdf5plugin reads what Forebay writes, and Forebay what it wrote.

usage: filters_test.py --launch "MPIEXEC ..." --client PROGRAM --dir DIRECTORY

h5py and netCDF4-python read by the plug-ins of hdf5plugin. Forebay's ranks have none of these, unless
a test says so: what they read they decode themselves.
"""
import itertools
import os
import sys

try:
    import hdf5plugin
    os.environ["HDF5_PLUGIN_PATH"] = hdf5plugin.PLUGIN_PATH  # for netCDF4's HDF5
    import h5netcdf
    import h5py
    import netCDF4
    import numpy
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)

from twins import DTYPES, Calls, Programs, count, expect, run

BITSHUFFLE, ZFP, ZSTD, DEFLATE = 32008, 32013, 32015, 1
SHAPE = (6, 43, 70)
CHUNKS = [(1, 20, 30), (2, 43, 70), (1, 9, 64), (3, 16, 16), (1, 43, 69)]

# codec: (types, numbers of filters, largest error; None: it has no bound)
CODECS = {
    "bitshuffle,zstd:3": (["float", "double", "int", "short", "int64"], [BITSHUFFLE, ZSTD], 0),
    "bitshuffle:block=64,deflate:4": (["float", "ushort"], [BITSHUFFLE, DEFLATE], 0),
    "zfp:accuracy=1e-3": (["float", "double"], [ZFP], 1e-3),
    "zfp:precision=20": (["float", "double"], [ZFP], None),
    "zfp:rate=12": (["float", "double"], [ZFP], None),
    "zfp:reversible": (["float", "double"], [ZFP], 0),
    "zfp:accuracy=0.5,fletcher32": (["float"], [ZFP, 3], 0.5),
}


def waves(kind, shape=SHAPE):
    at = sum(numpy.arange(n).reshape([-1] + [1] * (len(shape) - 1 - d)) * (d + 2)
             for d, n in enumerate(shape))
    return (numpy.round(6400 * numpy.sin(at / 30)) / 64 + 200).astype(DTYPES[kind])


def holds(got, wanted, bound):
    if bound == 0:
        return numpy.array_equal(got, wanted)
    difference = numpy.abs(got.astype("f8") - wanted.astype("f8")).max()
    return difference <= (1 if bound is None else bound)


def with_plugins(there):
    """Whether programs that begin from now on find the plug-ins."""
    os.environ.pop("HDF5_PLUGIN_PATH", None)
    if there:
        os.environ["HDF5_PLUGIN_PATH"] = hdf5plugin.PLUGIN_PATH


def filters_of(dataset):
    its = dataset.id.get_create_plist()
    return [its.get_filter(i) for i in range(its.get_nfilters())]


# -- what Forebay writes

def calls_of(codec, kinds, chunks):
    """Records two at a time; the last are written again, in part."""
    calls = Calls("create nc4").dim("t", 0).dim("y", SHAPE[1]).dim("x", SHAPE[2])
    values = {}
    for kind in kinds:
        for c, chunk in enumerate(chunks):
            name = f"{kind}_{c}"
            values[name] = waves(kind)
            calls.var(name, kind, "t", "y", "x")
            if chunk:
                calls.add("chunk", name, *chunk)
            calls.add("filter", name, codec)
    calls.add("enddef")
    for first in range(0, SHAPE[0], 2):
        for name, its in values.items():
            calls.put(name, (first, 0, 0), its[first:first + 2])
    for name, its in values.items():
        calls.put(name, (3, 5, 10), its[3:6, 5:30, 10:45])
    return calls.add("close"), values


def check_file(path, values, codec):
    _, numbers, bound = CODECS[codec]
    with h5py.File(path) as f, netCDF4.Dataset(path) as nc:
        nc.set_auto_maskandscale(False)
        for name, wanted in values.items():
            dataset, what = f[name], f"{path}: {name}"
            expect([its[0] for its in filters_of(dataset)] == numbers, f"{what}: {filters_of(dataset)}")
            expect(all(dataset.id.get_chunk_info(i).filter_mask == 0
                       for i in range(dataset.id.get_num_chunks())), f"{what}: filters are skipped")
            whole = dataset.id.get_num_chunks() * numpy.prod(dataset.chunks) * wanted.itemsize
            expect(dataset.id.get_storage_size() < whole, f"{what} is not smaller")
            expect(holds(dataset[...], wanted, bound), f"{what}: h5py reads other values")
            expect(holds(nc[name][...], wanted, bound), f"{what}: netCDF4 reads other values")
            if numbers[0] == ZFP and name.endswith("_0"):
                check_parameters(dataset, codec.split(",")[0].removeprefix("zfp:"), what)
    count("h5py")


def check_parameters(dataset, mode, what):
    """Those that the plug-in makes itself for such a dataset."""
    key, _, value = mode.partition("=")
    options = hdf5plugin.Zfp(**{key: float(value) if value else True})
    with h5py.File("none", "w", driver="core", backing_store=False) as f:
        twin = f.create_dataset("v", dataset.shape, dataset.dtype, chunks=dataset.chunks, compression=options)
        expect(filters_of(twin)[0][2] == filters_of(dataset)[0][2],
               f"{what}: parameters {filters_of(dataset)[0][2]}, and of the plug-in {filters_of(twin)[0][2]}")


def values_told(text):
    return {line.split(" ")[1]: bytes.fromhex(line.split(" ")[2])
            for line in (text or "").splitlines() if line.startswith("data ")}


def check_told(programs, files):
    """Forebay reads {path: (values, largest error)}, its own files and others'. What it says of each."""
    told, said = programs.tell(list(files)), {}
    for path, (wanted, bound) in files.items():
        text, said[path] = told[path]
        values = values_told(text)
        for name, its in wanted.items():
            here = numpy.frombuffer(values.get(name, b""), its.dtype)
            expect(here.size == its.size and holds(here.reshape(its.shape), its, bound),
                   f"{path}: Forebay reads other values of {name}: {said[path][:400]}")
        count("Forebay")
    return said


def check_written(programs):
    written = {}
    for plugins in (False, True):
        with_plugins(plugins)
        files = {}
        for number, codec in enumerate(CODECS):
            path = programs.path(f"ours_{number}_{plugins}.nc")
            files[path], values = calls_of(codec, CODECS[codec][0], CHUNKS + [None])
            written[path] = codec, values
        programs.forebay(files, "buffer_limit=4k;chunk_bytes=4k")
    with_plugins(False)
    for path, (codec, values) in written.items():
        check_file(path, values, codec)
    said = check_told(programs, {path: (values, CODECS[codec][2]) for path, (codec, values) in written.items()})
    for path, (codec, values) in written.items():
        plugin = {BITSHUFFLE: "bitshuffle (32008)", ZFP: "zfp (32013)"}[CODECS[codec][1][0]]
        expect(f"readers need HDF5's plug-in for filter {plugin}: " in said[path], f"{path}: the report: {said[path]}")


def check_shapes(programs):
    """Other numbers of dimensions; values of fixed variables; a codec of all variables, from outside."""
    shapes = {"one": (5000,), "two": (90, 80), "four": (3, 5, 21, 40), "five": (4, 3, 5, 11, 20), "tiny": (3,)}
    calls, values, wanted = Calls("create nc4"), {}, {}
    for name, shape in shapes.items():
        dims = [calls.dim(f"{name}_{d}", n) and f"{name}_{d}" for d, n in enumerate(shape)]
        calls.var(name, "float", *dims)
        values[name] = waves("float", shape)
    calls.add("enddef")
    for name, its in values.items():
        calls.put(name, [0] * its.ndim, its)
    calls.add("close")
    for codec, bound in {"zfp:accuracy=1e-3": 1e-3, "zfp:rate=12": None, "bitshuffle,zstd:3": 0}.items():
        path = programs.path(f"shapes_{len(wanted)}.nc")
        programs.forebay({path: calls}, f"codec={codec};chunk_bytes=2k")
        wanted[path] = values, bound
        with h5py.File(path) as f:
            for name, its in values.items():
                expect(holds(f[name][...], its, bound), f"{path}: h5py reads other values of {name}")
                expect(name == "tiny" or filters_of(f[name]), f"{path}: {name} has no filter")
    check_told(programs, wanted)


def check_missing(programs):
    """Missing values stay, and what is beside them; what was never written is the fill value."""
    fill = netCDF4.default_fillvals["f4"]
    its = waves("float")
    its[:, 10:14, 20:33] = fill
    for codec in ("zfp:accuracy=1e-3", "zfp:precision=16"):
        calls = Calls("create nc4").dim("t", 0).dim("y", SHAPE[1]).dim("x", SHAPE[2]).var("v", "float", "t", "y", "x")
        calls.add("chunk", "v", 4, 16, 16).add("filter", "v", codec).add("enddef")
        path = programs.path(f"missing_{codec[4:8]}.nc")
        programs.forebay({path: calls.put("v", (0, 0, 0), its).add("close")}, "buffer_limit=4k")
        with h5py.File(path) as f:
            got, land = f["v"][...], its == numpy.float32(fill)
            expect(numpy.array_equal(got == numpy.float32(fill), land), f"{path}: other values are missing")
            expect(numpy.abs(got - its)[~land].max() < (1e-3 if "accuracy" in codec else 1), f"{path}: spoilt")
            masks = [f["v"].id.get_chunk_info(i).filter_mask for i in range(f["v"].id.get_num_chunks())]
            expect(0 in masks and 1 in masks, f"{path}: masks {masks}")


def check_refused(programs):
    for codec, words in {"sz3:abs=0.1": ["velocity", "sz3 (32024)"], "zfp:relative=1e-3": ["velocity", "relative"],
                         "blosc2": ["blosc2"], "zfp:rate=8,zstd": ["velocity", "go together"]}.items():
        calls = Calls("create nc4").dim("x", 5000).var("velocity", "float", "x").add("filter", "velocity", codec)
        path = programs.path("refused.nc")
        done = run(programs.launch + [programs.client, "play", calls.add("close").write(path + ".calls"), path])
        said = done.stdout + done.stderr
        expect(done.returncode != 0 and all(word in said for word in words), f"{codec}: {said[:800]}")


# -- what others write

def foreign_datasets():
    """{name: (values, chunk, filter, whether ranks decode it)}"""
    zfp, bits = hdf5plugin.Zfp, hdf5plugin.Bitshuffle
    cases = {"bits": (["f4", "f8", "i4", "u2", "i8", "u1"], bits(nelems=0, cname="none"), True),
             "bits8": (["f4", "u1", "i2"], bits(nelems=8, cname="none"), True),
             "rate": (["f4", "f8", "i4", "i8"], zfp(rate=9.5), True),
             "precision": (["f4", "f8", "i4"], zfp(precision=14), True),
             "accuracy": (["f4", "f8"], zfp(accuracy=0.01), True),
             "reversible": (["f4", "f8", "i4", "i8"], zfp(reversible=True), True),
             "default": (["f4", "f8"], zfp(), True),
             "expert": (["f4"], zfp(minbits=1, maxbits=400, maxprec=20, minexp=-10), False),
             "lz4": (["u2"], bits(), False), "sz3": (["f4"], hdf5plugin.SZ3(absolute=0.1), False),
             "blosc2": (["f4"], hdf5plugin.Blosc2(), False)}
    chunks = [(1, 20, 30), (3, 43, 70), (2, 9, 11), (1, 1, 70), (6, 5, 4)]
    for name, (kinds, its, known) in cases.items():
        for kind, (c, chunk) in itertools.product(kinds, enumerate(chunks)):
            values = (100 * numpy.sin(numpy.arange(numpy.prod(SHAPE)) / 77) + 110).reshape(SHAPE).astype(kind)
            yield f"{name}_{kind}_{c}", values, chunk, its, known


def check_read(programs):
    paths = {True: programs.path("known.h5"), False: programs.path("others.h5")}
    files = {known: h5py.File(path, "w") for known, path in paths.items()}
    wanted = {}
    for name, values, chunk, its, known in foreign_datasets():
        files[known].create_dataset(name, data=values, chunks=chunk, **its)
    for known, f in files.items():
        f.close()
        with h5py.File(paths[known]) as f:  # by its filters, and not from the cache
            wanted[known] = {name: its[...] for name, its in f.items()}
    with_plugins(False)
    check_told(programs, {paths[True]: (wanted[True], 0)})
    text, said = programs.tell([paths[False]])[paths[False]]
    told = values_told(text)
    expect(not told, f"ranks read {list(told)}, whose filters they do not know")
    for name in ("lz4", "sz3", "blosc2", "expert"):
        number = {"lz4": BITSHUFFLE, "sz3": 32024, "blosc2": 32026, "expert": ZFP}[name]
        expect(f"({number})" in (text or "") + said or str(number) in (text or "") + said,
               f"{name}: nothing says that filter {number} is missing: {text[:500]} {said[:500]}")
    with_plugins(True)
    check_told(programs, {paths[False]: (wanted[False], 0)})
    with_plugins(False)


def check_changed(programs):
    """Records are added to files of others, and some are written again."""
    filters = {"exact": hdf5plugin.Zfp(reversible=True), "near": hdf5plugin.Zfp(accuracy=0.01),
               "bits": hdf5plugin.Bitshuffle(nelems=0, cname="none"), "odd": hdf5plugin.Bitshuffle()}
    values = waves("float", (9, *SHAPE[1:]))
    for names in (["exact", "near", "bits"], ["odd"]):
        path = programs.path(f"changed_{names[0]}.nc")
        with h5netcdf.File(path, "w") as f:
            f.dimensions = {"t": None, "y": SHAPE[1], "x": SHAPE[2]}
            for name in names:
                its = f.create_variable(name, ("t", "y", "x"), "f4", chunks=(2, 20, 30), **filters[name])
                f.resize_dimension("t", 5)
                its[...] = values[:5]
        calls = Calls("open_or_end")
        calls.types = {name: "float" for name in names}
        for name in names:
            calls.put(name, (4, 0, 0), values[4:]).put(name, (1, 3, 5), values[1:3, 3:30, 5:65])
        said = programs.forebay({path: calls.add("close")}, "buffer_limit=4k")[path]
        if names == ["odd"]:
            expect("refused: " in said and "bitshuffle (32008)" in said, f"{path}: {said}")
            continue
        with h5py.File(path) as f:
            for name in names:
                expect(holds(f[name][...], values, 0.03 if name == "near" else 0), f"{path}: {name} is wrong")
        check_told(programs, {path: ({name: values for name in names}, 0.03)})


def main():
    programs = Programs(__doc__)
    with_plugins(False)
    for check in (check_written, check_shapes, check_missing, check_refused, check_read, check_changed):
        if not programs.only or programs.only in check.__name__:
            check(programs)
    return programs.end()


if __name__ == "__main__":
    sys.exit(main())
