"""Previews of patches in Python against other formats with levels, and sizes within one bound: docs/patches.md, "Speed".

    python3 bench/fields/against_peers.py --fields DIR --peers PYTHON [--edge 256] [--dir /dev/shm]

`./dev bench patches-python` installs what it needs and calls it. DIR holds SPERR's test fields (`density_128x128x256.d64`
and `wmag128.float`, lib/SPERR/test_data of hdf5plugin's source archive), which are tiled to cubes;
this script's own Python has the package forebay, PYTHON the peers: OpenVisusNoGui, zarr, blosc2, imagecodecs, h5py, hdf5plugin,
and zfpy below --zfpy.

Each format gets the same cube, in chunks of 64³ where it has chunks. patches and hdf5 (H5Z-ZFP) keep a thousandth of the range;
the others are exact: openvisus-raw and -zip (IDX), zarr-blosc2 and blosc2 (pyramids of means of 2³, each level an array by itself).
Rounds take turns, each in a process of its own, which opens the file for each read: `first` is the first read in a process,
`later` the median of those after it, of a file that the system has in memory. What is read is compared with what it should be.
"""
import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

EDGE_OF_CHUNK, ZFP, ACCURACY_MODE, LEVEL = 64, 32013, 3, 3
FIELDS = {"density": ("density_128x128x256.d64", "<f8", (256, 128, 128)),
          "wmag": ("wmag128.float", "<f4", (128, 128, 128))}
CHUNK = (EDGE_OF_CHUNK,) * 3
OURS = ("patches",)
WAYS = ("patches", "hdf5", "openvisus-raw", "openvisus-zip", "zarr-blosc2", "blosc2")
# Loaded before the clock starts.
MODULES = {"patches": ["forebay"], "hdf5": ["h5py", "hdf5plugin"], "openvisus": ["OpenVisus"], "blosc2": ["blosc2"],
           "zarr": ["zarr", "imagecodecs.numcodecs"]}
WHOLE = np.s_[:, :, :]
LATER = {"preview": 50, "region": 15, "whole": 3}


def field_of(options):
    name, kind, shape = FIELDS[options.field]
    one = np.fromfile(os.path.join(options.fields, name), kind).reshape(shape)
    times = [-(-options.edge // n) for n in shape]
    return np.tile(one, times)[:options.edge, :options.edge, :options.edge]


def filter_of(bound):
    """What H5Z-ZFP is told: its mode, nothing, and a double."""
    low, high = np.frombuffer(np.float64(bound).tobytes(), "<u4")
    return (ACCURACY_MODE, 0, int(low), int(high))


def region_of(edge):
    return (slice(edge // 2 - 20, edge // 2 + 44),) * 3


def halved(field):
    n = len(field) // 2
    return field.reshape(n, 2, n, 2, n, 2).mean(axis=(1, 3, 5)).astype(field.dtype)


def pyramid(field):
    yield field
    for _ in range(LEVEL):
        field = halved(field)
        yield field


def strided(field):
    return field[(slice(None, None, 2**LEVEL),) * 3]


class Patches:
    def make(self, path, field, bound):
        import forebay

        with forebay.create(path, f"layout=patches;codec=zfp:accuracy={bound!r}") as file:
            for name in "zyx":
                file.create_dimension(name, len(field))
            file.create_variable("v", field.dtype.str[1:], ("z", "y", "x"))[:] = field

    def read(self, path, key, level):
        import forebay

        with forebay.open(path) as file:
            var = file["v"].level(level) if level else file["v"]
            return var[key]

    def level(self, path, field):
        """What it should be, and how far it may be from it."""
        import forebay

        with forebay.open(path) as file:
            return strided(field), file["v"].level(LEVEL).resolution_error


def h5py_with_plugins():
    import h5py
    import hdf5plugin

    return h5py if hdf5plugin else None


class Hdf5:
    def make(self, path, field, bound):
        with h5py_with_plugins().File(path, "w") as file:
            file.create_dataset("v", data=field, chunks=CHUNK, compression=ZFP, compression_opts=filter_of(bound))

    def read(self, path, key, level):
        with h5py_with_plugins().File(path, "r") as file:
            return strided(file["v"][...]) if level else file["v"][key]

    def level(self, path, field):
        return strided(field), None


class OpenVisus:
    """Samples: a level is every so-many-th value."""

    def __init__(self, compression):
        self._compression = compression

    def make(self, path, field, bound):
        import OpenVisus

        kind = "float64" if field.itemsize == 8 else "float32"
        file = OpenVisus.CreateIdx(url=path, dims=list(field.shape[::-1]), compression="raw",
                                   fields=[OpenVisus.Field("v", kind, "row_major")])
        file.write(field)
        if self._compression != "raw":
            file.compressDataset([self._compression])

    def read(self, path, key, level):
        import OpenVisus

        file = OpenVisus.LoadDataset(path)
        if level:
            return file.read(quality=-3 * level)
        if key == WHOLE:
            return file.read()
        z, y, x = ((s.start, s.stop) for s in key)
        return file.read(x=x, y=y, z=z)

    def level(self, path, field):
        return strided(field), 0


class ZarrPyramid:
    def make(self, path, field, bound):
        import zarr
        from imagecodecs.numcodecs import Blosc2

        codec = Blosc2(level=5, compressor="zstd", shuffle="bitshuffle", typesize=field.itemsize)
        group = zarr.open_group(path, mode="w", zarr_format=2)
        for k, level in enumerate(pyramid(field)):
            chunk = tuple(min(CHUNK[0], n) for n in level.shape)
            group.create_array(str(k), shape=level.shape, chunks=chunk, dtype=level.dtype, compressors=codec)[...] = level

    def read(self, path, key, level):
        import zarr
        from imagecodecs.numcodecs import register_codecs

        register_codecs(verbose=False)
        return zarr.open_group(path, mode="r", zarr_format=2)[str(level)][key]

    def level(self, path, field):
        return list(pyramid(field))[-1], 0


class Blosc2Pyramid:
    def make(self, path, field, bound):
        import blosc2

        os.makedirs(path)
        parameters = blosc2.CParams(codec=blosc2.Codec.ZSTD, clevel=5, filters=[blosc2.Filter.BITSHUFFLE], filters_meta=[0])
        for k, level in enumerate(pyramid(field)):
            chunk = tuple(min(CHUNK[0], n) for n in level.shape)
            blosc2.asarray(level, urlpath=f"{path}/{k}.b2nd", chunks=chunk, cparams=parameters)

    def read(self, path, key, level):
        import blosc2

        return blosc2.open(f"{path}/{level}.b2nd", mode="r")[key]

    def level(self, path, field):
        return list(pyramid(field))[-1], 0


def way_of(name):
    return {"patches": Patches, "hdf5": Hdf5, "zarr-blosc2": ZarrPyramid, "blosc2": Blosc2Pyramid}.get(
        name, lambda: OpenVisus(name.partition("-")[2]))()


def bytes_of(path):
    """Of the file, or of all in the folder, and of an IDX file's blocks, which lie beside it."""
    folder = path[:-len(".idx")] if path.endswith(".idx") else path
    below = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)
    return below + (os.path.getsize(path) if os.path.isfile(path) else 0)


def remove(path):
    for each in (path, path.removesuffix(".idx")):
        if os.path.isdir(each):
            shutil.rmtree(each)
        elif os.path.exists(each):
            os.remove(each)


def bound_of(field):
    return 1e-3 * float(field.max() - field.min())


def step_make(options):
    field = field_of(options)
    remove(options.path)
    way_of(options.way).make(options.path, np.ascontiguousarray(field), bound_of(field))
    return {"bytes": bytes_of(options.path)}


def check(options, name, got):
    """Whether this is what it should be; a coarse sample of patches is a mean of its surroundings."""
    field = field_of(options)
    if name == "preview":
        wanted, allowed = way_of(options.way).level(options.path, field)
    else:
        wanted, allowed = field[region_of(options.edge) if name == "region" else WHOLE], 0
    if allowed is None or (options.way in ("patches", "hdf5") and name != "preview"):
        allowed = bound_of(field)
    error = float(np.abs(np.asarray(got, "f8") - wanted).max()) if got.shape == wanted.shape else float("inf")
    if error > allowed * (1 + 1e-9):
        sys.exit(f"{options.way}: {name} is wrong by {error}, {allowed} is allowed")


def step_read(options):
    way, results = way_of(options.way), {}
    for module in MODULES[options.way.partition("-")[0]]:
        importlib.import_module(module)
    for name, key, level in (("preview", WHOLE, LEVEL), ("region", region_of(options.edge), 0), ("whole", WHOLE, 0)):
        times = []
        for _ in range(1 + LATER[name]):
            start = time.perf_counter()
            got = np.asarray(way.read(options.path, key, level))
            times.append(time.perf_counter() - start)
        results[name] = {"first": times[0], "later": statistics.median(times[1:])}
        check(options, name, got)
    return results


def step_sizes(options):
    """Each codec on the whole field, as its own package codes it, without a file: bytes, and the largest error over the bound."""
    field = np.fromfile(os.path.join(options.fields, FIELDS[options.field][0]), FIELDS[options.field][1]).reshape(
        FIELDS[options.field][2])
    bound, told = bound_of(field), {"values": {"bytes": field.nbytes}}
    import imagecodecs

    def sperr():
        coded = imagecodecs.sperr_encode(field, level=bound, mode="pwe")
        return coded, lambda: imagecodecs.sperr_decode(coded)

    def zfpy():
        sys.path.append(options.zfpy)
        import zfpy

        coded = zfpy.compress_numpy(field, tolerance=bound)
        return coded, lambda: zfpy.decompress_numpy(coded)

    for name, codec in (("sperr", sperr), ("zfpy", zfpy)):
        start = time.perf_counter()
        coded, decode = codec()
        middle = time.perf_counter()
        back = decode()
        told[name] = {"bytes": len(coded), "encode": middle - start, "decode": time.perf_counter() - middle,
                      "error": float(np.abs(back - field).max()) / bound}
    return told


def step_size(options):
    """The same of patches: a file."""
    name, kind, shape = FIELDS[options.field]
    field = np.fromfile(os.path.join(options.fields, name), kind).reshape(shape)
    bound = bound_of(field)
    import forebay

    remove(options.path)
    start = time.perf_counter()
    with forebay.create(options.path, f"layout=patches;codec=zfp:accuracy={bound!r}") as file:
        for dimension, length in zip("zyx", shape):
            file.create_dimension(dimension, length)
        file.create_variable("v", kind[1:], ("z", "y", "x"))[:] = field
    middle = time.perf_counter()
    with forebay.open(options.path) as file:
        back = file["v"][:]
    end = time.perf_counter()
    told = {"bytes": bytes_of(options.path), "encode": middle - start, "decode": end - middle,
            "error": float(np.abs(back - field).max()) / bound}
    remove(options.path)
    return {"patches": told}


def start(options, way, step):
    suffix = ".idx" if way.startswith("openvisus") else ""
    command = [sys.executable if way in OURS else options.peers, "-B", os.path.abspath(__file__), "--fields", options.fields,
               "--edge", str(options.edge), "--field", options.field, "--step", step, "--way", way, "--zfpy", options.zfpy,
               "--path", os.path.join(options.dir, f"peer-{way}{suffix}")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(options):
    report = {"field": options.field, "edge": options.edge, "dir": options.dir, "ways": {}}
    found = {way: [] for way in options.ways}
    stored = {way: start(options, way, "make")["bytes"] for way in options.ways}
    for number in range(options.rounds):
        for way in options.ways[::1 if number % 2 == 0 else -1]:
            found[way].append(start(options, way, "read"))
    print(f"{options.field}, {options.edge}³, ms          " + "".join(
        f"{what + ' ' + when:>16}" for what in ("preview", "region", "whole") for when in ("first", "later")) + f"{'bytes':>14}")
    for way in options.ways:
        medians = {what: {when: statistics.median(one[what][when] for one in found[way]) for when in ("first", "later")}
                   for what in ("preview", "region", "whole")}
        report["ways"][way] = medians | {"bytes": stored[way]}
        print(f"{way:26}" + "".join(f"{1e3 * medians[what][when]:16.2f}" for what in medians for when in medians[what]) +
              f"{stored[way]:14d}", flush=True)
        remove(os.path.join(options.dir, f"peer-{way}" + (".idx" if way.startswith("openvisus") else "")))
    report["sizes"] = start(options, "patches", "size") | start(options, "peers", "sizes")
    raw = report["sizes"].pop("values")["bytes"]
    for name, one in report["sizes"].items():
        print(f"{options.field} {name:8s} {one['bytes']:10d} bytes {raw / one['bytes']:7.2f} : 1  encode {one['encode']:.3f} s "
              f"decode {one['decode']:.3f} s  error {one['error']:.3f} of the bound")
    if options.json:
        with open(options.json, "a") as out:
            out.write(json.dumps(report) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fields", required=True)
    parser.add_argument("--field", choices=[*FIELDS, "all"], default="all")
    parser.add_argument("--edge", type=int, default=256, help="of the cube, a power of two (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", default="/dev/shm")
    parser.add_argument("--peers", default=sys.executable, help="a Python that has the peers")
    parser.add_argument("--zfpy", default="", help="a folder with zfpy, whose version numcodecs cannot read")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=list(WAYS))
    parser.add_argument("--json", help="a line for each field is added to this file")
    parser.add_argument("--step", choices=("make", "read", "size", "sizes"), help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        steps = {"make": step_make, "read": step_read, "size": step_size, "sizes": step_sizes}
        print(json.dumps(steps[options.step](options)))
        return
    os.makedirs(options.dir, exist_ok=True)
    for field in FIELDS if options.field == "all" else [options.field]:
        options.field = field
        measure(options)


if __name__ == "__main__":
    main()
