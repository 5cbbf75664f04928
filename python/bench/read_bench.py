#!/usr/bin/env python3
"""Reading from Python against the readers that people have: whole variables, compressed chunks, opening, importing.

  read_bench.py [--dir DIR] [--rounds 7] [--mib 256] [--threads 2] [--json PATH]

Needs the package with scipy, netCDF4, xarray and zarr. The readers take turns, each round in another order; every time
runs from opening the file to an array of NumPy in the machine's byte order, with the file in the page cache. scipy's
values are big-endian, a view of its mapping or of what it read: astype() makes of them the array that all others give,
in the one pass that any use of the values would be. Values are compared once before. Prints medians of the time that
passed and of the time of processors, which other programs on the machine disturb less, their ratios to the first
reader, and whether each target is met; exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import forebay

MIB = 1 << 20


class Case(NamedTuple):
    title: str
    target: str
    readers: dict[str, Callable[[], object]]
    met: Callable[[dict[str, float]], bool]


def field(shape: tuple[int, ...]) -> np.ndarray:
    """Waves with a little noise: compresses by about two, as model output does."""
    rows, columns = np.indices(shape[1:], dtype="f4")
    noise = np.random.default_rng(1)
    out = np.empty(shape, "f4")
    for i in range(shape[0]):
        wave = 280 + 20 * np.sin(rows / 40 + i) * np.cos(columns / 60)
        out[i] = np.round(wave + noise.normal(0, 0.1, shape[1:]), 2)
    return out


class Times(NamedTuple):
    elapsed: float  # seconds
    processor: float  # of all threads and child processes


def processor_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(work: Callable[[], object]) -> Times:
    start, used = time.perf_counter(), processor_seconds()
    work()
    return Times(time.perf_counter() - start, processor_seconds() - used)


def measure(readers: dict[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Medians of each reader."""
    for work in readers.values():
        work()
    times: dict[str, list[Times]] = {name: [] for name in readers}
    order = list(readers)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            times[name].append(timed(readers[name]))
    return {name: Times(*map(statistics.median, zip(*seen, strict=True))) for name, seen in times.items()}


def check_equal(readers: dict[str, Callable[[], object]]) -> None:
    expected = None
    for name, work in readers.items():
        values = np.asarray(work())
        expected = values if expected is None else expected
        if not np.array_equal(values, expected):
            sys.exit(f"{name} reads other values")


def contiguous(folder: Path, mib: int, threads: int) -> Case:
    import netCDF4
    import scipy.io

    path = folder / "contiguous.nc"
    rows = mib * MIB // (4 * MIB)
    with forebay.create(path, format="CDF-2") as out:
        out.create_dimension("t", rows)
        out.create_dimension("y", 1024)
        out.create_dimension("x", 1024)
        out.create_variable("v", "f4", ("t", "y", "x"))[...] = field((rows, 1024, 1024))

    def ours(threads: int) -> np.ndarray:
        with forebay.open(path, threads=threads) as file:
            return file["v"][...]

    def by_netcdf4() -> np.ndarray:
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            return file["v"][...]

    def by_scipy(mmap: bool) -> np.ndarray:
        with scipy.io.netcdf_file(path, mmap=mmap) as file:
            return file.variables["v"][...].astype("f4")

    readers = {
        "forebay": lambda: ours(threads),
        "forebay, 1 thread": lambda: ours(1),
        "netCDF4": by_netcdf4,
        "scipy (mmap)": lambda: by_scipy(True),
        "scipy (read)": lambda: by_scipy(False),
    }
    check_equal(readers)
    peers = [name for name in readers if not name.startswith("forebay")]
    return Case(
        f"a whole variable of {mib} MiB, uncompressed, {threads} threads",
        "not slower than any",
        readers,
        lambda t: t["forebay"] <= min(t[p] for p in peers),
    )


def chunked(folder: Path, mib: int, threads: int, shuffle: bool) -> Case:
    import numcodecs
    import zarr

    zarr.config.set({"threading.max_workers": threads})
    chunk = (1, 512, 512)
    values = field((mib * MIB // (4 * MIB), 1024, 1024))
    codec = "shuffle,zstd:3" if shuffle else "zstd:3"
    path, store = (
        folder / f"{'shuffled' if shuffle else 'plain'}.nc",
        folder / f"{'shuffled' if shuffle else 'plain'}.zarr",
    )
    with forebay.create(path) as out:
        for name, length in zip("tyx", values.shape, strict=True):
            out.create_dimension(name, length)
        out.create_variable("v", "f4", ("t", "y", "x"), chunks=chunk, codec=codec)[...] = values
    array = zarr.create_array(
        store,
        shape=values.shape,
        chunks=chunk,
        dtype="f4",
        zarr_format=2,
        filters=[numcodecs.Shuffle(4)] if shuffle else None,
        compressors=numcodecs.Zstd(level=3),
        overwrite=True,
    )
    array[...] = values

    def ours() -> np.ndarray:
        with forebay.open(path, threads=threads) as file:
            return file["v"][...]

    readers = {"forebay": ours, "zarr": lambda: zarr.open_array(store, mode="r")[...]}
    check_equal(readers)
    return Case(
        f"a variable of {mib} MiB in chunks of 1 MiB, {codec}, {threads} threads",
        "1.5 times zarr",
        readers,
        lambda t: t["forebay"] * 1.5 <= t["zarr"],
    )


def opening(folder: Path) -> Case:
    import xarray

    variables, records = 1000, 100
    classic, netcdf4 = folder / "many.nc", folder / "many.nc4"
    ours = folder / "many_chunked.nc"
    data = {
        f"v{i:04}": (("time", "x"), np.zeros((records, 8), "f4"), {"units": "K", "long_name": f"variable {i}"})
        for i in range(variables)
    }
    dataset = xarray.Dataset(data, coords={"time": np.arange(records), "x": np.arange(8.0)})
    dataset.time.attrs["units"] = "days since 2000-01-01"
    dataset.to_netcdf(netcdf4, engine="netcdf4", unlimited_dims="time")
    forebay.to_netcdf(dataset, classic, unlimited_dims="time", format="CDF-5")
    forebay.to_netcdf(dataset, ours, unlimited_dims="time", method={"layout": "chunked", "codec": "zstd:3"})

    def opened(path: Path, engine: str) -> Callable[[], None]:
        return lambda: xarray.open_dataset(path, engine=engine).close()

    readers = {
        "forebay": opened(classic, "forebay"),
        "forebay, chunked": opened(ours, "forebay"),
        "netCDF4, same file": opened(classic, "netcdf4"),
        "netCDF4, HDF5": opened(netcdf4, "netcdf4"),
    }
    return Case(
        f"xarray.open_dataset, {variables} variables of {records} records",
        "under 0.5 s, or twice netCDF4",
        readers,
        lambda t: max(t["forebay"], t["forebay, chunked"]) < max(0.5, t["netCDF4, HDF5"] / 2),
    )


def importing() -> Case:
    def fresh(code: str) -> Callable[[], None]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    return Case(
        "import (a new process)",
        "under 0.15 s beyond NumPy",
        {"numpy": fresh("import numpy"), "numpy and forebay": fresh("import numpy, forebay")},
        lambda t: t["numpy and forebay"] - t["numpy"] < 0.15,
    )


def show(case: Case, medians: dict[str, Times]) -> bool:
    met = case.met({name: times.elapsed for name, times in medians.items()})
    print(f"\n{case.title}: {case.target}: {'met' if met else 'MISSED'}")
    first = medians[next(iter(medians))]
    print(f"  {'':22} {'elapsed':>10}  ratio  {'processor':>10}  ratio")
    for name, times in medians.items():
        print(f"  {name:22} {times.elapsed:8.4f} s {times.elapsed / first.elapsed:6.2f}  ", end="")
        print(f"{times.processor:8.4f} s {times.processor / first.processor:6.2f}")
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, help="where the files go (default: a temporary folder)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mib", type=int, default=256, help="size of the variables")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the medians here, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        folder = Path(name)
        makers = [
            lambda: contiguous(folder, options.mib, options.threads),
            lambda: chunked(folder, options.mib, options.threads, False),
            lambda: chunked(folder, options.mib, options.threads, True),
            lambda: opening(folder),
            importing,
        ]
        results, missed = {}, 0
        for make in makers:
            case = make()
            medians = measure(case.readers, options.rounds)
            missed += not show(case, medians)
            results[case.title] = {reader: times._asdict() for reader, times in medians.items()}
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
