"""BP to netCDF: `forebay convert` against reading and writing as many bytes, and ADIOS 1's bp2ncd.

    build/release/bench/forebay-bench-groups-read --dir /dev/shm/bench --make --pattern blocks \
        --variables 4 --shape 256,256,256 --rounds 0
    python3 bench/driver/bp_to_netcdf.py build/release/bin/forebay /dev/shm/bench/groups.bp [--bp2ncd PROGRAM]

The ways take turns; medians. bp2ncd reads files of one step that ADIOS 1 wrote: name one of those.
"""

import argparse
import shutil
import statistics
import subprocess
import time
from pathlib import Path


def copy(source, out):
    """What any conversion does at least: each byte is read, and written."""
    files = sorted(source.glob("data.*")) if source.is_dir() else [source]
    buffer = memoryview(bytearray(4 << 20))
    with open(out, "wb", buffering=0) as target:
        for path in files:
            with open(path, "rb", buffering=0) as file:
                while n := file.readinto(buffer):
                    target.write(buffer[:n])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the program forebay")
    parser.add_argument("source", type=Path, help="a BP file")
    parser.add_argument("--bp2ncd", help="that program of ADIOS 1")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = options.source.absolute().parent / "bp_to_netcdf"
    folder.mkdir()
    out = folder / "out.nc"

    def run(*arguments):
        subprocess.run([*arguments, str(options.source), str(out)], check=True, stdout=subprocess.DEVNULL)

    ways = {
        "read and write": lambda: copy(options.source, out),
        "forebay convert": lambda: run(options.command, "convert"),
    }
    if options.bp2ncd:
        ways["bp2ncd"] = lambda: run(options.bp2ncd)
    times = {name: [] for name in ways}
    try:
        for _ in range(options.rounds):
            for name, way in ways.items():
                out.unlink(missing_ok=True)
                begin = time.perf_counter()
                way()
                times[name].append(time.perf_counter() - begin)
        size = out.stat().st_size
    finally:
        shutil.rmtree(folder)
    least = statistics.median(times["read and write"])
    print(f"{size / 2**20:.0f} MiB, medians of {options.rounds}")
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        print(f"{name:<16} {middle:8.3f} s  {middle / least:5.2f} times reading and writing")


if __name__ == "__main__":
    main()
