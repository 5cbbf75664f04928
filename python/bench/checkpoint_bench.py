"""Checkpoints with zfp against pyrevolve's storages and numpy.save: one state, kept and read back, medians of rounds.

    python python/bench/checkpoint_bench.py [--mib 64] [--rounds 5] [--dir DIR] [--rate 10]

Needs pyrevolve, and zfpy for its storage of compressed bytes. The state is a smooth field, with the bound of D4.
`--rate` is a store's MB/s: to the measured seconds, which are those of files in the system's cache, it adds what the
bytes take, on the way there and back. numpy writes past the calls that the slow store of ./dev bench slows down.
"""

import argparse
import logging
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from pyrevolve.profiling import Profiler
from pyrevolve.storage import BytesStorage, DiskStorage, NumpyStorage

from forebay import checkpoints

BOUND = 1e-3
logging.disable(logging.DEBUG)  # pyrevolve tells of every step


class Ours:
    def __init__(self, folder, name, **options):
        self.store = checkpoints.Store(Path(folder) / name, codec=f"zfp:accuracy={BOUND}", **options)

    def save(self, x):
        self.store[0] = {"x": x}

    def load(self, x):
        x[:] = self.store[0]["x"]

    def stored(self):
        return self.store.info()[0].bytes


class Theirs:
    """A storage of pyrevolve."""

    def __init__(self, storage, stored):
        self.storage, self.size = storage, stored

    def save(self, x):
        self.storage.save(0, [x])

    def load(self, x):
        self.storage.load(0, [x])

    def stored(self):
        return self.size(self.storage)


class Saved:
    def __init__(self, folder):
        self.path = Path(folder) / "state.npy"

    def save(self, x):
        np.save(self.path, x)

    def load(self, x):
        x[:] = np.load(self.path)

    def stored(self):
        return self.path.stat().st_size


def zfp_storage(x):
    try:
        import zfpy
    except ImportError:
        return None
    from pyrevolve.compression import CompressedObject

    def compress(indata):
        made = zfpy.compress_numpy(indata, tolerance=BOUND)
        return CompressedObject(memoryview(made), shape=indata.shape, dtype=indata.dtype)

    def decompress(kept):
        return zfpy.decompress_numpy(bytes(kept.data))

    storage = BytesStorage(x.size * 8, 1, x.dtype, (compress, decompress), profiler=Profiler())
    return Theirs(storage, lambda s: s.lengths[0][0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default=None)
    parser.add_argument("--rate", type=float, default=10, help="MB/s of the store that seconds are told for, too")
    options = parser.parse_args()
    side = round((options.mib * 2**17) ** (1 / 3))
    axis = np.linspace(0, 6, side)
    x = 10 * np.sin(axis)[:, None, None] * np.cos(2 * axis)[None, :, None] + np.sin(axis * 5)[None, None, :]
    other = np.empty_like(x)
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        disk = DiskStorage(x.size, 1, x.dtype, profiler=Profiler(), filedir=folder + "/", singlefile=False)
        ways = {
            "forebay, zfp, memory": Ours(folder, "m", memory="8GiB"),
            "forebay, zfp, file": Ours(folder, "f", memory=0),
            "pyrevolve NumpyStorage": Theirs(NumpyStorage(x.size, 1, x.dtype, profiler=Profiler()), lambda s: x.nbytes),
            "pyrevolve DiskStorage": Theirs(disk, lambda s: x.nbytes),
            "pyrevolve BytesStorage, zfpy": zfp_storage(x),
            "numpy.save": Saved(folder),
        }
        print(f"a state of {x.nbytes / 2**20:.0f} MiB, bound {BOUND:g}; medians of {options.rounds} rounds, in ms")
        print(f"| way | keep | read | MiB kept | both at {options.rate:g} MB/s, s |\n| --- | --- | --- | --- | --- |")
        times = {name: ([], []) for name, way in ways.items() if way}
        for _ in range(options.rounds + 1):  # the first one does not count
            for name in times:
                begin = time.perf_counter()
                ways[name].save(x)
                between = time.perf_counter()
                ways[name].load(other)
                times[name][0].append(between - begin)
                times[name][1].append(time.perf_counter() - between)
                assert np.abs(other - x).max() <= BOUND
        for name, (keep, read) in times.items():
            keep, read = statistics.median(keep[1:]), statistics.median(read[1:])
            size = ways[name].stored()
            slow = keep + read + 2 * size / (options.rate * 1e6)
            print(f"| {name} | {1e3 * keep:.0f} | {1e3 * read:.0f} | {size / 2**20:.1f} | {slow:.2f} |")
        for way in ways.values():
            if isinstance(way, Ours):
                way.store.close()


if __name__ == "__main__":
    main()
