"""An ordinary h5py script, which knows nothing of Forebay: it uses what scripts use, and checks itself what it reads.

    h5py_program.py write FILE      groups, attributes, datasets of every kind, slices, resizing, copies, links
    h5py_program.py change FILE     opens it again, writes over what is there, adds and removes
    h5py_program.py describe FILE   prints all that a program can see in the file, to compare two files; --regions too
    h5py_program.py copy FILE TO    copies what `write` or `rows` made into another file, which exists; --mpio for mpiexec
    h5py_program.py rows FILE       for mpiexec: each rank writes its rows, collectively and not
    h5py_program.py reread FILE     for mpiexec: each rank reads what the others wrote

--lzf adds a filter that is h5py's own; --latest, --userblock and --ordered choose how the file is made.
"""

import argparse
import hashlib
import sys

import h5py
import numpy as np

rng = np.random.default_rng(4711)
options = argparse.Namespace()


def same(dataset, model, what):
    found = dataset[...] if isinstance(dataset, h5py.Dataset) else dataset
    if found.dtype != model.dtype or not np.array_equal(found, model):
        raise AssertionError(f"{what}: read back otherwise than written")


# -- write


def attributes(thing):
    thing.attrs["text"] = "höhe über Grund"
    thing.attrs["bytes"] = np.bytes_(b"fixed")
    thing.attrs["number"] = 7
    thing.attrs["vector"] = np.linspace(0, 1, 5, dtype="f4")
    thing.attrs["flag"] = True
    thing.attrs["complex"] = 1.5 - 2j
    thing.attrs["empty"] = h5py.Empty("f4")
    thing.attrs["names"] = ["a", "bc", "äöü"]
    thing.attrs.create("grid", np.arange(6).reshape(2, 3), dtype=">i2")
    thing.attrs["gone"] = 1
    del thing.attrs["gone"]
    thing.attrs.modify("number", 8)


def slices(group):
    model = np.zeros((40, 30))
    d = group.create_dataset("contiguous", shape=model.shape, dtype="f8")
    attributes(d)
    for where in (
        np.s_[3:9, 4:20],
        np.s_[::7, 1::5],
        np.s_[..., -1],
        np.s_[17],
        np.s_[[1, 4, 30], :],
        np.s_[2:30:3, [0, 5, 29]],
        np.s_[39, 29],
    ):
        values = rng.normal(size=model[where].shape)
        d[where] = values
        model[where] = values
    mask = rng.random(model.shape) < 0.1
    d[mask] = np.arange(mask.sum())
    model[mask] = np.arange(mask.sum())
    d[5:7, :] = 2.5  # broadcast
    model[5:7, :] = 2.5
    same(d, model, "slices")
    same(d[mask], model[mask], "a mask")
    same(d[[2, 8, 33], 3:9], model[[2, 8, 33], 3:9], "a list of rows")
    same(d[h5py.MultiBlockSlice(1, 9, 4, 2), 0], model[[1, 2, 10, 11, 19, 20, 28, 29], 0], "blocks")
    same(d.astype("f4")[:], model.astype("f4"), "another type")
    out = np.full((10, 10), -1.0)
    d.read_direct(out, np.s_[0:20:4, 3:8], np.s_[2:7, 4:9])
    same(out[2:7, 4:9], model[0:20:4, 3:8], "read_direct")
    d.write_direct(out, np.s_[0:10, 0:10], np.s_[10:20, 10:20])
    model[10:20, 10:20] = out
    same(np.stack(list(d)), model, "iteration over rows")
    group["twin"] = d


def chunked(group, lzf):
    model = rng.integers(-1000, 1000, size=(50, 24), dtype="i4")
    d = group.create_dataset(
        "deflated", data=model, chunks=(8, 6), maxshape=(None, 24), compression="gzip",
        compression_opts=4, shuffle=True, fletcher32=True, fillvalue=-9,
    )
    attributes(d)
    d.resize(70, axis=0)
    model = np.concatenate([model, np.full((20, 24), -9, "i4")])
    d[60:] = np.arange(240).reshape(10, 24)
    model[60:] = np.arange(240).reshape(10, 24)
    d.resize((30, 24))
    d.resize((44, 24))
    model = np.concatenate([model[:30], np.full((14, 24), -9, "i4")])
    same(d, model, "a resized dataset")
    for part in d.iter_chunks():
        same(d[part], model[part], "a chunk")
    records = group.create_dataset("records", shape=(0, 3), maxshape=(None, 3), chunks=True, dtype="u2")
    for n in range(9):
        records.resize(n + 1, axis=0)
        records[n] = [n, n + 1, n + 2]
    same(records, np.add.outer(np.arange(9), np.arange(3)).astype("u2"), "records")
    group.create_dataset("scaled", data=np.arange(100) % 17, chunks=(10,), scaleoffset=5)
    group.create_dataset("rounded", data=np.linspace(0, 9, 64).astype("f4"), chunks=(64,), scaleoffset=3)
    group.create_dataset("sparse", shape=(1000, 1000), chunks=(100, 100), dtype="f4")[500, 10:20] = 3
    if lzf:
        group.create_dataset("lzf", data=np.arange(5000) // 7, chunks=(500,), compression="lzf")


def types(group):
    pair = np.dtype([("a", "i4"), ("b", "f8"), ("name", "S6"), ("xyz", "f4", (3,))])
    model = np.zeros(12, pair)
    model["a"], model["b"], model["name"] = np.arange(12), np.sqrt(np.arange(12)), b"pair"
    d = group.create_dataset("pairs", data=model)
    d["b"] = np.arange(12.0)  # one field, the others stay
    d[3:5, "a"] = np.array([7, 8], "i4")
    model["b"] = np.arange(12.0)
    model["a"][3:5] = [7, 8]
    same(d, model, "a compound")
    same(d["xyz"], model["xyz"], "a field")
    same(d.fields(["a", "b"])[2:9]["a"], model["a"][2:9], "two fields")
    values = {
        "big_endian": np.arange(20, dtype=">i2"),
        "half": np.linspace(-1, 1, 9).astype("f2"),
        "complex": np.arange(6).astype("c8") * 1j,
        "flags": np.arange(10) % 3 == 0,
        "fixed": np.array([b"one", b"three", b""], "S8"),
        "unsigned": np.array([0, 2**64 - 1], "u8"),
        "arrays": np.zeros(4, np.dtype(("i2", (2, 3)))),
        "nothing": np.zeros((0, 5)),
        "scalar": np.float64(2.5),
    }
    for name, value in values.items():
        same(group.create_dataset(name, data=value)[()], np.asarray(value), name)
    colours = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42}, basetype="i1")
    group.create_dataset("colours", data=[0, 42, 1], dtype=colours)
    dates = np.array(["2019-09-22T17:38:30", "2020-01-01T00:00:00"], "M8[s]")
    group.create_dataset("dates", data=dates.astype(h5py.opaque_dtype(dates.dtype)))
    for name, more in {"word": {}, "words": {"chunks": (2,), "compression": 1}}.items():  # h5py gives it at variable length
        group.create_dataset(name, (4,), dtype=h5py.string_dtype("ascii", 10), fillvalue=b"foo", **more)[1] = b"bar"
    group.create_dataset("utf8", data=[s.encode() for s in ("grün", "blau")], dtype=h5py.string_dtype("utf-8", 8))
    text = group.create_dataset("text", data=["Zürich", "", "x" * 300], dtype=h5py.string_dtype())
    text[1] = "now there"
    assert list(text.asstr()[:]) == ["Zürich", "now there", "x" * 300]
    ragged = group.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("i4"))
    ragged[0], ragged[2] = [1, 2, 3], [4]
    assert list(ragged[0]) == [1, 2, 3] and len(ragged[1]) == 0
    group["committed"] = np.dtype([("x", "f4"), ("n", "i4")])
    named = group.create_dataset("of_committed", (5,), dtype=group["committed"])
    named[2] = (1.5, 3)
    group["empty"] = h5py.Empty("i4")


def links(f):
    group = f.create_group("links")
    group["hard"] = f["slices/contiguous"]
    group["soft"] = h5py.SoftLink("/chunked/deflated")
    group["broken"] = h5py.SoftLink("/nowhere")
    group["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    assert group["hard"] == f["slices/contiguous"] and group["soft"].shape == (44, 24)
    f.attrs["reference"] = f["slices/contiguous"].ref
    f.attrs["region"] = f["types/text"].regionref[1:3]
    f.attrs["of_log"] = f["chunked/deflated"].regionref[2:4, ::3]  # HDF5 cannot follow it into a log
    regions = group.create_dataset("regions", (3,), dtype=h5py.regionref_dtype)
    regions[0], regions[2] = f["types/pairs"].regionref[[1, 5, 6]], f["slices/contiguous"].regionref[...]
    references = group.create_dataset("references", (2,), dtype=h5py.ref_dtype)
    references[0], references[1] = f["types/pairs"].ref, group.ref
    assert f[references[0]].shape == (12,) and f[f.attrs["reference"]].shape == (40, 30)
    assert list(f[f.attrs["region"]][f.attrs["region"]]) == [b"now there", b"x" * 300]
    x = group.create_dataset("x", data=np.arange(30.0))
    x.make_scale("x axis")
    scaled = group.create_dataset("scaled", data=np.ones((4, 30)))
    scaled.dims[1].attach_scale(x)
    scaled.dims[1].label = "x"
    assert scaled.dims[1]["x axis"] == x


def copies(f):
    f.copy("slices", "copied")
    f.copy(f["chunked/deflated"], f["links"], "copy", without_attrs=True)
    same(f["copied/contiguous"], f["slices/contiguous"][:], "a copy")
    f["copied/contiguous"][0] = -1
    assert f["slices/contiguous"][0, 0] != -1
    f.move("copied/contiguous", "copied/moved")
    f["gone"] = np.arange(10)
    del f["gone"]
    ordered = f.create_group("ordered", track_order=True)
    for name in "zamby":
        ordered[name] = np.arange(3)
        ordered.attrs[name] = name
    ordered["bytes"] = h5py.SoftLink("/types/text")
    ordered.create_group("inner", track_order=True)["x"] = np.arange(4)
    assert list(ordered) == [*"zamby", "bytes", "inner"] and list(ordered.attrs) == list("zamby")
    assert f.require_dataset("slices/contiguous", (40, 30), "f8").size == 1200
    f.create_dataset_like("like", f["chunked/deflated"])[0] = 5
    assert len(f) == 7 and "gone" not in f and not [name for name in f if name.startswith("_")]


def write(options):
    how = {"track_order": True} if options.ordered else {}
    if options.latest:
        how["libver"] = "latest"
    if options.userblock:
        how["userblock_size"] = 1024
    with h5py.File(options.file, "w", **how) as f:
        attributes(f)
        slices(f.create_group("slices"))
        chunked(f.create_group("chunked"), options.lzf)
        f.flush()
        types(f.create_group("types"))
        links(f)
        copies(f)
        kept = f["slices/contiguous"]
    assert not kept  # closed with the file


# -- change


def change(options):
    with h5py.File(options.file, "r+") as f:
        d = f["slices/contiguous"]
        before = d[:]
        d[7:9, ::2] = 100
        before[7:9, ::2] = 100
        same(d, before, "a changed dataset")
        d.attrs["number"] = 9
        deflated = f["chunked/deflated"]
        deflated.resize((48, 24))
        deflated[44:48] = 1
        f["types/pairs"][0] = (1, 2, b"new", [1, 2, 3])
        f["new"] = np.arange(100).reshape(10, 10)
        del f["types/half"]
    with h5py.File(options.file, "a") as f:
        f["new"][:, 3] = -1
        assert f["new"][4, 3] == -1 and f["new"][4, 4] == 44


# -- copy


def copy(options, access):
    with h5py.File(options.file, "r+", **access) as f, h5py.File(options.to, "r+", **access) as to:
        if "g" in f:  # of rows(): each rank changes its own
            comm = access["comm"]
            f["g/strided"][comm.rank] = -7
            comm.Barrier()
        else:
            f["slices/contiguous"][3] = -7  # still in memory
        for name in f:
            f.copy(name, to)
        f.copy("/", to, "everything")
        first = next(name for name in f if isinstance(f[name], h5py.Group))
        f.copy(first, to, "a/b/bare", without_attrs=True)
        f.copy(f[first], to["a"], "shallow", shallow=True)
        to.create_group("kept", track_order=True)["old"] = 1
        for name in f[first]:
            f[first].copy(name, to["kept"])
        assert list(to["kept"]) == ["old", *f[first]]


# -- describe


def target(f, reference):
    if not reference:
        return None
    try:
        name = f[reference].name
        if not (options.regions and isinstance(reference, h5py.RegionReference)):
            return name
        space = h5py.h5r.get_region(reference, f.id)
        return f"{name} {space.shape} {space.get_select_npoints()} from {space.get_select_bounds()}"
    except (KeyError, ValueError):  # of a copy: HDF5 leaves references to what was not copied
        return "nothing"


def value_text(f, value, dtype):
    if isinstance(value, h5py.Empty):
        return "empty"
    if h5py.check_ref_dtype(dtype):
        return str([target(f, r) for r in np.ravel(value)])
    array = np.asarray(value)
    if dtype.hasobject:  # text, lists, and what dimension scales have: lists of references, pairs with them
        def each(x):
            if isinstance(x, (h5py.Reference, h5py.RegionReference)):
                return target(f, x)
            return [each(y) for y in x] if isinstance(x, (np.ndarray, np.void)) else x

        return str([each(x) for x in array.ravel()])
    text = hashlib.sha1(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{text} {array.ravel()[:4].tolist()}"


def describe_attributes(f, thing, out):
    for name, value in thing.attrs.items():
        attribute = thing.attrs.get_id(name)
        out(f"    @{name} {attribute.dtype} {attribute.shape} {value_text(f, value, attribute.dtype)}")


def describe_dataset(f, d, out):
    plist = d.id.get_create_plist()
    filters = [plist.get_filter(i)[:2] for i in range(plist.get_nfilters())]
    out(f"  dataset {d.dtype} shape {d.shape} most {d.maxshape} chunks {d.chunks} "
        f"compression {d.compression} {d.compression_opts} {filters} fill {d.fillvalue!r} "
        f"scale {d.is_scale} committed {d.id.get_type().committed()}")
    if d.shape is None:
        out("  null")
    else:
        out(f"  {value_text(f, d[()], d.dtype)}")


def describe_group(f, group, out):
    out(f"group {group.name} {len(group)} {list(group)}")
    describe_attributes(f, group, out)
    for name in group:
        link = group.get(name, getlink=True)
        out(f"  link {name} {type(link).__name__} {getattr(link, 'filename', '')} {getattr(link, 'path', '')}")


def describe(options, access):
    with h5py.File(options.file, "r", **access) as f:
        lines = []
        out = lines.append
        describe_group(f, f, out)

        def visit(name, thing):
            out(f"{name} {h5py.h5o.get_info(thing.id).rc} links")
            if isinstance(thing, h5py.Group):
                describe_group(f, thing, out)
                return
            if isinstance(thing, h5py.Dataset):
                describe_dataset(f, thing, out)
            else:
                out(f"  type {thing.dtype}")
            describe_attributes(f, thing, out)

        f.visititems(visit)
        f.visititems_links(lambda name, link: out(f"link {name} {type(link).__name__}"))
        return "\n".join(lines)


# -- in parallel


def collectively(dataset, where):
    """What dataset[where] is, which h5py reads independently even here."""
    out = np.empty_like(dataset[where])
    dataset.read_direct(out, where)
    return out


def rows(options, comm):
    n, rank = comm.size, comm.rank
    with h5py.File(options.file, "w", driver="mpio", comm=comm) as f:
        attributes(f)
        group = f.create_group("g")
        block = group.create_dataset("block", (4 * n, 50), "f8")
        mine = np.s_[4 * rank : 4 * (rank + 1)]
        with block.collective:
            block[mine] = 1000.0 * rank + np.arange(200).reshape(4, 50)
            same(block[mine], 1000.0 * rank + np.arange(200.0).reshape(4, 50), "collective rows")
            other = (rank + 1) % n
            same(collectively(block, np.s_[4 * other]), 1000.0 * other + np.arange(50.0), "another rank's row")
        strided = group.create_dataset("strided", (n * 9, n * 5), "i4", fillvalue=-1)
        strided[rank::n, :] = np.arange(9 * n * 5).reshape(9, n * 5) + rank  # independent
        growing = group.create_dataset(
            "growing", (0, 6 * n), "f4", maxshape=(None, 6 * n), chunks=(2, 6), compression="gzip", shuffle=True)
        for step in range(5):
            growing.resize(step + 1, axis=0)
            with growing.collective:
                growing[step, 6 * rank : 6 * (rank + 1)] = (100 * step + 10 * rank + np.arange(6)).astype("f4")
        irregular = group.create_dataset("irregular", (60,), "i8")
        own = np.arange(60)[np.arange(60) % (n + 1) == rank]
        irregular[own] = own * (rank + 1)
        f.flush()
        comm.Barrier()
        same(strided[:], np.stack([np.arange(n * 5) + (r // n) * n * 5 + r % n for r in range(9 * n)]).astype("i4"),
             "what others wrote independently, after a flush")
        # More than one piece, when they are copied.
        group.create_dataset("wide", (n, 1_100_000), "f8")[rank] = np.arange(1_100_000.0) * (rank + 1)
        tall = group.create_dataset("tall", (300 * n, 4000), "f4", chunks=(250, 1000), compression=1)
        with tall.collective:
            tall[300 * rank : 300 * (rank + 1)] = (np.arange(1_200_000) % 977).astype("f4").reshape(300, 4000) + rank
        group.create_dataset("short", (n,), "S12")[rank] = f"rank {rank}".encode()
        attributes(block)


def reread(options, comm):
    text = describe(options, {"driver": "mpio", "comm": comm})
    texts = comm.allgather(text)
    assert all(other == text for other in texts), "ranks read differently"
    with h5py.File(options.file, "r+", driver="mpio", comm=comm) as f:
        block = f["g/block"]
        with block.collective:
            block[comm.rank, 10:20] = -comm.rank
            same(collectively(block, np.s_[: comm.size, 10:20]), np.repeat(-np.arange(float(comm.size)), 10).reshape(-1, 10), "changed rows")
        again = f["g"].create_dataset("again", (comm.size,), "i4")
        again[comm.rank] = comm.rank  # independent, then collective by all
        comm.Barrier()
        with again.collective:
            same(collectively(again, np.s_[:]), np.arange(comm.size, dtype="i4"), "independent writes, read collectively")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["write", "change", "copy", "describe", "rows", "reread"])
    parser.add_argument("file")
    parser.add_argument("to", nargs="?")
    for name in ("mpio", "regions", "lzf", "latest", "userblock", "ordered"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.parse_args(namespace=options)
    if options.mpio or options.what in ("rows", "reread"):
        from mpi4py import MPI

        if options.what == "copy":
            copy(options, {"driver": "mpio", "comm": MPI.COMM_WORLD})
        else:
            {"rows": rows, "reread": reread}[options.what](options, MPI.COMM_WORLD)
    elif options.what == "copy":
        copy(options, {})
    elif options.what == "describe":
        print(describe(options, {}))
    else:
        {"write": write, "change": change}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
