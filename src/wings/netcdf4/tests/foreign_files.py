"""Files as netCDF-C, h5netcdf and h5py write them: each function makes one, at a path.

Many have what PnetCDF's interface cannot show. `writable`: Forebay must take them for writing.
`either`: it may take them. OF_H5PY: netCDF-C gets them wrong.
"""
import ctypes
import os

import h5netcdf
import h5py
import netCDF4
import numpy

WRITABLE, EITHER, ALL = set(), set(), []
OF_H5PY = {"some_scales"}


def file(function):
    ALL.append(function)
    return function


def writable(function):
    WRITABLE.add(function.__name__)
    return file(function)


def noise(*shape, kind="f4"):
    """Values whose upper bytes compress, and whose lower ones do not."""
    n = int(numpy.prod(shape))
    return (numpy.sin(numpy.arange(n)) * 1000 + numpy.arange(n)).astype(kind).reshape(shape)


def either(function):
    EITHER.add(function.__name__)
    return file(function)


# -- netCDF-C

@writable
def compressed(path):
    """Chunks that are large enough to be compressed, by each codec that ranks decode."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("t", None)
        f.createDimension("y", 40)
        f.createDimension("x", 50)
        its = {"deflate": dict(zlib=True, complevel=4, shuffle=False),
               "shuffled": dict(zlib=True, complevel=9), "summed": dict(fletcher32=True),
               "all": dict(zlib=True, fletcher32=True), "zstd": dict(compression="zstd")}
        for kind in ("i1", "i2", "f4", "f8", "u8"):
            for name, options in its.items():
                for dims in (("y", "x"), ("t", "y", "x")):
                    var = f.createVariable(f"{name}_{kind}_{len(dims)}", kind, dims, **options)
                    var[:] = noise(*([3] if len(dims) == 3 else []), 40, 50, kind=kind)
        f.createVariable("in_parts", "f4", ("y", "x"), zlib=True, fletcher32=True,
                         chunksizes=(27, 33))[:] = noise(40, 50)


@writable
def filters_in_every_order(path):
    """Lists of filters that h5py makes, with the checksum first, last and alone."""
    with h5py.File(path, "w") as f:
        for i, names in enumerate(("F", "SF", "FS", "FSD", "SDF", "FD", "DF", "D", "S", "SD")):
            for kind in ("f8", "i2", "u1"):
                dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                dcpl.set_chunk((17, 31))
                for name in names:
                    {"F": dcpl.set_fletcher32, "S": dcpl.set_shuffle,
                     "D": lambda: dcpl.set_deflate(5)}[name]()
                space = h5py.h5s.create_simple((40, 50))
                its = h5py.h5d.create(f.id, f"v{i}_{names}_{kind}".encode(),
                                      h5py.h5t.py_create(numpy.dtype(kind)), space, dcpl)
                h5py.Dataset(its)[:] = noise(40, 50, kind=kind)


@file
def two_compressors(path):
    """The second one gets more bytes than the chunk has if the first does not help."""
    with h5py.File(path, "w") as f:
        for names in ("DD", "FDD", "SFD"):
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            dcpl.set_chunk((40, 50))
            for name in names:
                {"F": dcpl.set_fletcher32, "S": dcpl.set_shuffle,
                 "D": lambda: dcpl.set_filter(1, 0, (5,))}[name]()
            its = h5py.h5d.create(f.id, names.encode(), h5py.h5t.STD_U8LE,
                                  h5py.h5s.create_simple((40, 50)), dcpl)
            h5py.Dataset(its)[:] = numpy.random.default_rng(1).integers(0, 256, (40, 50))


@file
def other_filters(path):
    """Filters that HDF5 alone decodes, or that it may lack."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("y", 64)
        f.createDimension("x", 64)
        for name in ("szip", "bzip2", "blosc_lz"):
            f.createVariable(name, "f4", ("y", "x"), compression=name)[:] = noise(64, 64)
        f.createVariable("plain", "i4", ("y", "x"))[:] = noise(64, 64, kind="i4")


@writable
def byte_orders(path):
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("t", None)
        f.createDimension("x", 300)
        for kind in ("i2", "u4", "i8", "f4", "f8"):
            for endian in ("big", "little"):
                for name, options in (("plain", dict(contiguous=True)),
                                      ("packed", dict(zlib=True))):
                    var = f.createVariable(f"{name}_{endian}_{kind}", kind, ("x",), endian=endian,
                                           fill_value=7, **options)
                    if name == "packed" or kind != "f4":  # one stays unwritten
                        var[10:] = noise(290, kind=kind)
            f.createVariable(f"record_{kind}", kind, ("t", "x"), endian="big")[:2] = \
                noise(2, 300, kind=kind)


@file
def storage(path):
    """What netCDF-C 4.9 can choose beside chunks."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 10)
        f.createVariable("contiguous", "f4", ("x",), contiguous=True)[:] = noise(10)
        f.createVariable("quantised", "f4", ("x",), zlib=True, least_significant_digit=2)[:] = \
            noise(10)
        f.createVariable("no_fill", "i4", ("x",), fill_value=False)[:4] = [1, 2, 3, 4]
        f.createVariable("no_fill_packed", "i4", ("x",), fill_value=False, zlib=True)[:4] = 1
    library = [line.split()[-1] for line in open("/proc/self/maps") if "/libnetcdf" in line][0]
    nc, var, nid = ctypes.CDLL(library), ctypes.c_int(), ctypes.c_int()
    assert nc.nc_open(path.encode(), 1, ctypes.byref(nid)) == 0
    dims = (ctypes.c_int * 1)(0)
    assert nc.nc_def_var(nid, b"compact", 4, 1, dims, ctypes.byref(var)) == 0
    assert nc.nc_def_var_chunking(nid, var, 2, None) == 0
    assert nc.nc_put_var_int(nid, var, (ctypes.c_int * 10)(*range(10))) == 0
    assert nc.nc_close(nid) == 0


@file
def extended_model(path):
    """Groups, types of a user, strings, several unlimited dimensions."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("t", None)
        f.createDimension("u", None)
        f.createDimension("x", 4)
        pair = f.createCompoundType(numpy.dtype([("a", "i4"), ("b", "f8")]), "pair")
        rows = f.createVLType("i4", "rows")
        colour = f.createEnumType("u1", "colour", {"red": 0, "green": 3})
        f.createVariable("strings", str, ("x",))[:] = numpy.array(list("abcd"), object)
        f.createVariable("pairs", pair, ("x",))[:] = numpy.zeros(4, pair.dtype)
        f.createVariable("ragged", rows, ("x",))[0] = numpy.array([1, 2], "i4")
        f.createVariable("colours", colour, ("x",))[:] = [0, 3, 3, 0]
        f.createVariable("plain", "i4", ("x",))[:] = [1, 2, 3, 4]
        f.createVariable("grows", "i4", ("t", "x"))[:3] = noise(3, 4, kind="i4")
        f.createVariable("other", "i4", ("u",))[:5] = [5, 6, 7, 8, 9]
        f.createVariable("both", "f8", ("t", "u"))[:2, :3] = noise(2, 3)
        f.createVariable("second", "f8", ("x", "u"))[:, :4] = noise(4, 4)
        f.setncattr_string("one_string", "Grüße")
        f.setncattr("strings", ["a", "bcd"])
        f.setncattr("number", 3.5)
        f.variables["plain"].setncattr("strings", ["x", "y"])
        group = f.createGroup("inner")
        group.createDimension("z", 2)
        group.createVariable("inside", "i4", ("z", "x"))[:] = 8


@writable
def strings_as_attributes(path):
    """Text that is not ASCII becomes NC_STRING in netCDF4-python."""
    with netCDF4.Dataset(path, "w") as f:
        f.setncattr("text", "Grüße ☃")
        f.setncattr_string("empty", "")
        f.createDimension("x", 3)
        var = f.createVariable("v", "f4", ("x",))
        var.setncattr_string("units", "K")
        var[:] = [1, 2, 3]


@writable
def classic_model(path):
    with netCDF4.Dataset(path, "w", format="NETCDF4_CLASSIC") as f:
        f.createDimension("t", None)
        f.createDimension("n", 6)
        for kind in ("i1", "i2", "i4", "f4", "f8", "S1"):
            var = f.createVariable("v" + kind, kind, ("t", "n"), zlib=True)
            var[:3] = noise(3, 6, kind=kind) if kind != "S1" else numpy.full((3, 6), b"q", "S1")
        f.createVariable("n", "i4", ("t", "n"))[:] = 1  # named like a dimension, but not its own


@writable
def fewer_records(path):
    """Records that some variables have, and that chunks end beyond."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("t", None)
        f.createDimension("x", 7)
        f.createVariable("a", "f4", ("t", "x"), chunksizes=(4, 3))[:6] = noise(6, 7)
        f.createVariable("b", "i2", ("t",), fill_value=-5)[:2] = [1, 2]
        f.createVariable("none", "i2", ("t", "x"), zlib=True, fletcher32=True)
        f.createVariable("late", "f8", ("t",), zlib=True)[8] = 2.5


@file
def second_unlimited(path):
    """An unlimited dimension that is not the first one of its variables."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 3)
        f.createDimension("t", None)
        f.createVariable("later", "i4", ("x", "t"))[:, :5] = noise(3, 5, kind="i4")
        f.createVariable("first", "i4", ("t",))[:4] = [1, 2, 3, 4]


@writable
def renamed(path):
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("a", 3)
        f.createDimension("b", 4)
        f.createVariable("v", "i4", ("a", "b"))[:] = noise(3, 4, kind="i4")
        f.createVariable("w", "i4", ("b",))[:] = 4
    with netCDF4.Dataset(path, "a") as f:
        f.renameDimension("a", "c")
        f.renameVariable("w", "b")


# -- h5netcdf

@writable
def of_h5netcdf(path):
    with h5netcdf.File(path, "w") as f:
        f.dimensions = {"x": 30, "time": None, "y": 20}
        f.attrs["title"] = "h5netcdf"
        f.create_variable("x", ("x",), "f8", data=noise(30, kind="f8"))
        its = f.create_variable("v", ("y", "x"), "f4", chunks=(20, 15), compression="gzip",
                                shuffle=True, fillvalue=numpy.float32(-1))
        its[:10] = noise(10, 30)
        its.attrs["units"] = "K"
        f.create_variable("grows", ("time", "x"), "i4")
        f.resize_dimension("time", 4)
        f["grows"][:3] = noise(3, 30, kind="i4")


@file
def more_of_h5netcdf(path):
    with h5netcdf.File(path, "w", invalid_netcdf=True) as f:
        f.dimensions = {"x": 6}
        f.create_variable("flags", ("x",), "?", data=numpy.array([0, 1, 0, 1, 1, 0], "?"))
        f.create_variable("complex", ("x",), "c8", data=numpy.arange(6) * 1j)
        f.create_variable("fine", ("x",), "u2", data=numpy.arange(6))
        f.create_group("g").create_variable("inside", ("x",), "i4")


# -- h5py

@writable
def without_scales(path):
    with h5py.File(path, "w", track_order=True) as f:
        f["b"] = noise(4, 6)
        f["a"] = noise(6, 4, 6, kind="i8")
        f["square"] = noise(4, 4)
        f["scalar"] = 3.5
        f.create_dataset("grows", data=noise(5, 6), maxshape=(None, 6), chunks=(2, 6))
        f["b"].attrs["number"] = 5
        f["b"].attrs["numbers"] = numpy.arange(3, dtype="u2")


@file
def types_of_h5py(path):
    with h5py.File(path, "w") as f:
        f["half"] = numpy.arange(6, dtype="f2")
        f["long"] = numpy.arange(6, dtype="longdouble")
        f["flags"] = numpy.array([True, False])
        f["complex"] = numpy.arange(3) * 1j
        f["fixed_text"] = numpy.array([b"ab", b"cde"])
        f["text"] = ["one", "zwei"]
        f["letters"] = numpy.array(list("xyz"), "S1")
        f["opaque"] = numpy.array([b"abc", b"xyz"], "V3")
        f["arrays"] = numpy.zeros(3, [("m", "f4", (2, 2))])
        f["nothing"] = h5py.Empty("f4")
        f["no_elements"] = numpy.zeros((0, 3))
        f["reference"] = numpy.array([f["half"].ref], h5py.ref_dtype)
        f["good"] = numpy.arange(5, dtype="i4")
        bits = h5py.h5t.STD_B16LE
        its = h5py.h5d.create(f.id, b"bits", bits, h5py.h5s.create_simple((4,)))
        its.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.arange(4, dtype="u2"), mtype=bits)
        narrow = h5py.h5t.STD_I32LE.copy()
        narrow.set_precision(17)
        h5py.h5d.create(f.id, b"narrow", narrow, h5py.h5s.create_simple((4,)))


@file
def attributes_of_h5py(path):
    with h5py.File(path, "w") as f:
        f["v"] = numpy.arange(5, dtype="i4")
        its = f["v"].attrs
        its["number"], its["text"], its["bytes"] = 3, "Grüße", numpy.bytes_(b"abc")
        its["padded"] = numpy.array(b"ab", "S5")
        its["table"] = numpy.arange(6).reshape(2, 3)
        its["texts"] = ["a", "b"]
        its["one_text"] = ["alone"]
        its["empty"] = h5py.Empty("f8")
        its["empty_text"] = h5py.Empty(h5py.string_dtype())
        its["flag"] = True
        its["reference"] = f["v"].ref
        its["pair"] = numpy.array((1, 2.5), [("a", "i4"), ("b", "f8")])
        its["half"] = numpy.float16(2)
        f.attrs["flag"], f.attrs["number"] = False, numpy.uint64(2**63)


@file
def storage_of_h5py(path):
    other = path + ".values"
    with h5py.File(path, "w") as f:
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        its = h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I32LE,
                              h5py.h5s.create_simple((7,)), compact)
        h5py.Dataset(its)[:] = numpy.arange(7)
        f.create_dataset("external", (20,), "i4", external=[(other, 0, 80)])[:] = numpy.arange(20)
        source = h5py.VirtualSource(path, "part", shape=(5, 4))
        layout = h5py.VirtualLayout((6, 4), "f4")
        layout[1:] = source
        f.create_dataset("part", data=noise(5, 4))
        f.create_virtual_dataset("virtual", layout, fillvalue=-3)
        f.create_dataset("scaled", data=noise(40, 50, kind="i4"), scaleoffset=0, chunks=(20, 30))
        f.create_dataset("rounded", data=noise(40, 50), scaleoffset=2, chunks=(20, 30))
        f.create_dataset("lzf", data=noise(40, 50), compression="lzf")
        nbit = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        nbit.set_chunk((40, 50))
        nbit.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL, ())
        its = h5py.h5d.create(f.id, b"nbit", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((40, 50)),
                              nbit)
        h5py.Dataset(its)[:] = noise(40, 50, kind="i4")


def places_in_part(path):
    """Chunks that are missing, lie beyond the end of a dataset that shrank, or are of one kind."""
    with h5py.File(path, "w") as f:
        missing = f.create_dataset("missing", (100, 90), "f4", chunks=(30, 40), fillvalue=2.5)
        missing[35:45, 50:] = noise(10, 40)
        its = f.create_dataset("shrunk", (100, 90), "i2", chunks=(30, 40), maxshape=(100, 90),
                               compression="gzip")
        its[:] = noise(100, 90, kind="i2")
        its.resize((50, 85))
        f.create_dataset("unwritten", (3, 4), "f8", fillvalue=-2)
        f.create_dataset("default_fill", (30, 4), "f8", chunks=(10, 4))
        f.create_dataset("late_fill", (30, 4), "f8", chunks=(10, 4), fill_time="never")[:10] = 3
        f.create_dataset("undefined", (3,), "f8")


@writable
def masked_chunks(path):
    """Chunks that skip filters, as their masks say."""
    with h5py.File(path, "w") as f:
        its = f.create_dataset("v", (4, 400), "i4", chunks=(1, 400), compression="gzip",
                               shuffle=True, fletcher32=True)
        its[:] = noise(4, 400, kind="i4")
        raw = noise(1, 400, kind="i4") * 3
        its.id.write_direct_chunk((1, 0), raw.tobytes(), 0b111)
        import zlib
        its.id.write_direct_chunk((2, 0), zlib.compress((raw * 5).tobytes()), 0b101)


@file
def missing_filter(path):
    """An optional filter that nobody has, and which no chunk used."""
    with h5py.File(path, "w") as f:
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_chunk((1, 400))
        dcpl.set_filter(32000, h5py.h5z.FLAG_OPTIONAL, (4, 0, 1600))
        its = h5py.Dataset(h5py.h5d.create(f.id, b"v", h5py.h5t.STD_I32LE,
                                           h5py.h5s.create_simple((2, 400)), dcpl))
        for i in range(2):
            its.id.write_direct_chunk((i, 0), (noise(1, 400, kind="i4") * i).tobytes(), 1)


def set_chunk_options(dcpl, options):
    """h5py does not have this function of HDF5."""
    library = [line.split()[-1] for line in open("/proc/self/maps")
               if "h5py.libs/libhdf5-" in line or "libhdf5_serial.so" in line][0]
    f = ctypes.CDLL(library).H5Pset_chunk_opts
    f.argtypes = [ctypes.c_int64, ctypes.c_uint]
    assert f(dcpl.id, options) >= 0


@file
def partial_chunks_without_filters(path):
    """H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS: the file does not say it of each chunk."""
    with h5py.File(path, "w", libver=("v110", "v110")) as f:
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_chunk((30, 40))
        dcpl.set_deflate(3)
        set_chunk_options(dcpl, 2)
        its = h5py.h5d.create(f.id, b"v", h5py.h5t.STD_I32LE,
                              h5py.h5s.create_simple((50, 60)), dcpl)
        h5py.Dataset(its)[:] = noise(50, 60, kind="i4")


@file
def user_block(path):
    with h5py.File(path, "w", userblock_size=1024) as f:
        f["v"] = noise(5, 6)
        f.create_dataset("c", data=noise(40, 50), compression="gzip", chunks=(20, 20))


@writable
def indexes_of_chunks(path):
    """Each kind of index that newer formats have: one chunk, implicit, arrays, B-trees."""
    with h5py.File(path, "w", libver=("v110", "v114")) as f:
        f.create_dataset("single", data=noise(20, 30), chunks=(20, 30))
        f.create_dataset("single_packed", data=noise(20, 30), chunks=(20, 30), compression="gzip")
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_chunk((7, 8))
        dcpl.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        h5py.Dataset(h5py.h5d.create(f.id, b"implicit", h5py.h5t.IEEE_F32LE,
                                     h5py.h5s.create_simple((20, 30)), dcpl))[:] = noise(20, 30)
        f.create_dataset("fixed_array", data=noise(20, 30), chunks=(7, 8), compression="gzip")
        f.create_dataset("extensible_array", data=noise(20, 30), chunks=(7, 8), maxshape=(None, 30),
                         shuffle=True, compression="gzip")


@file
def two_growing(path):
    with h5py.File(path, "w", libver=("v110", "v114")) as f:
        f.create_dataset("btree", data=noise(20, 30), chunks=(7, 8), maxshape=(None, None))


@writable
def other_file_spaces(path):
    with h5py.File(path, "w", fs_strategy="page", fs_persist=True, fs_page_size=4096) as f:
        f.create_dataset("v", data=noise(20, 30), chunks=(7, 8), maxshape=(None, 30))


@file
def links(path):
    other = path + ".other.h5"
    with h5py.File(other, "w") as f:
        f["away"] = numpy.arange(3)
    with h5py.File(path, "w") as f:
        f["v"] = numpy.arange(4)
        f["again"] = f["v"]
        f["soft"], f["dangling"] = h5py.SoftLink("/v"), h5py.SoftLink("/none")
        f["external"] = h5py.ExternalLink(os.path.basename(other), "/away")
        f["type"] = numpy.dtype("i4")


def some_scales(path):
    """Scales on some dimensions only. netCDF-C gives w a dimension of another length."""
    with h5py.File(path, "w") as f:
        f["x"] = numpy.arange(4.0)
        f["x"].make_scale("length")
        f["v"] = noise(3, 4)
        f["v"].dims[1].attach_scale(f["x"])
        f["w"] = noise(4, 4)
        f["w"].dims[0].attach_scale(f["x"])


@file
def scale_in_group(path):
    with h5py.File(path, "w") as f:
        f["g/x"] = numpy.arange(4.0)
        f["g/x"].make_scale("x")
        f["v"] = noise(3, 4)
        f["v"].dims[1].attach_scale(f["g/x"])


@file
def attributes_of_hdf5(path):
    """Attributes that netCDF-C hides, where they have other meanings."""
    with h5py.File(path, "w") as f:
        f["v"] = noise(3, 4)
        f["v"].dims[0].label = "rows"
        f["image"] = numpy.zeros((4, 4), "u1")
        f["image"].attrs["CLASS"] = numpy.bytes_(b"IMAGE")


@writable
def wrong_checksum(path):
    with h5py.File(path, "w") as f:
        its = f.create_dataset("v", data=noise(20, 30), chunks=(20, 30), fletcher32=True)
        place = its.id.get_chunk_info(0).byte_offset
    with open(path, "r+b") as f:
        f.seek(place + 100)
        f.write(b"\x55\xaa")


@either
def of_newest_hdf5(path):
    """The newest format of h5py's HDF5, which may be newer than Forebay's."""
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("v", data=noise(20, 30), chunks=(7, 8), maxshape=(None, 30))
        f["w"] = noise(5)
