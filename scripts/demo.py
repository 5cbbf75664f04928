#!/usr/bin/env python3
"""Writes and reads the output of an atmosphere model with Forebay and with PnetCDF, in turns, and shows both.

  demo.py --build DIR --out DIR [--data DIR] [--ranks 4] [--samples 3]

Used by ./dev demo, which builds first. With --data the recorded decomposition of the E3SM F case is replayed, without it
a generated one. Every value that is read is compared with what was written; a wrong one fails the demo.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

FOREBAY, PEER = "forebay", "pnetcdf"
MIB = 1 << 20
# The better of Open MPI's two MPI-IO modules for PnetCDF on this pattern.
PEER_MPI_OPTIONS = ["--mca", "io", "romio321"]
RUN_LIMIT = 300  # seconds


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="build directory")
    parser.add_argument("--out", type=Path, required=True, help="where files, records and the picture go")
    parser.add_argument("--data", type=Path, help="folder of recorded maps and headers")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--variable", default="T", help="variable that is drawn")
    return parser.parse_args()


def launcher():
    """mpiexec, and what it needs to start more ranks than there are cores."""
    program = shutil.which("mpiexec") or sys.exit("demo: no mpiexec found")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    is_open_mpi = "Open MPI" in version or "OpenRTE" in version
    return [program, *(["--oversubscribe", "--bind-to", "none"] if is_open_mpi else [])], is_open_mpi


def run_sample(backend, options, records, report=None):
    """One write and one read of the whole case. Adds to the list in the file `records`."""
    launch, is_open_mpi = launcher()
    name = {FOREBAY: "forebay-bench", PEER: "forebay-bench-pnetcdf"}[backend]
    command = launch + (PEER_MPI_OPTIONS if backend == PEER and is_open_mpi else [])
    command += ["-n", str(options.ranks), str(options.build / "bench" / name), "e3sm", "--case", "F", "--field"]
    command += ["--data", str(options.data)] if options.data else ["--generate", "ne=4"]
    command += ["--dir", str(options.out), "--file", f"{backend}.nc", "--keep", "--json", str(records)]
    environment = dict(os.environ)
    # Looking for special networks takes a quarter of a second a start.
    environment.setdefault("OMPI_MCA_pml", "ob1")
    if report:
        environment["FOREBAY_REPORT"] = f"json:{report}"
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT, env=environment)
    if done.returncode != 0:
        sys.exit(f"demo: {' '.join(command)} failed\n{done.stdout}{done.stderr}")


def load_times(path):
    """{(backend, operation): seconds of all samples}, and the bytes that an operation moves."""
    times, moved = {}, 0
    for record in json.loads(path.read_text()):
        times.setdefault((record["backend"], record["operation"]), []).extend(record["seconds"])
        moved = record["bytes"]
        if record.get("wrong_values") or not record.get("verified", True):
            sys.exit(f"demo: {record['backend']} {record['operation']}: wrong values")
    return times, moved


def print_times(times, moved):
    print(f"\n{'':8}{'Forebay':>22}{'PnetCDF':>24}{'ratio':>10}")
    for operation in ("write", "read"):
        ours, theirs = (statistics.median(times[(backend, operation)]) for backend in (FOREBAY, PEER))
        cells = [f"{t:9.3f} s {moved / MIB / t:7.1f} MiB/s" for t in (ours, theirs)]
        print(f"{operation:8}{cells[0]:>22}  {cells[1]:>22}{theirs / ours:>9.1f}x")


def print_phases(records):
    """Where the time went, as the program sees it: the median of each phase, the slowest rank's."""
    phases = {}
    for record in json.loads(records.read_text()):
        for name, seconds in record["phases"].items():
            phases.setdefault(record["operation"], {}).setdefault(name, {}).setdefault(
                record["backend"], []).extend(seconds)
    print("\nwhere the time went, in ms (post: the queueing calls; wait: all data moves)")
    for operation, by_name in phases.items():
        for backend in (FOREBAY, PEER):
            cells = [f"{name} {1000 * statistics.median(samples[backend]):.1f}" for name, samples in by_name.items()
                     if backend in samples]
            print(f"  {operation:6} {backend:8} {'   '.join(cells)}")


def print_report(report):
    """Forebay's own account of each file that it closed in the last turn."""
    print("\nForebay's own account (FOREBAY_REPORT=1), in ms, the slowest rank; steps may lie within others")
    for line in report.read_text().splitlines():
        account = json.loads(line)
        if Path(account["path"]).name != f"{FOREBAY}.nc":
            continue  # the recorded maps are netCDF files, too
        counters = {name: value["sum"] for name, value in account["counters"].items()}
        operation = "write" if counters["bytes_asked_write"] else "read"
        steps = sorted(((1000 * v["max"], name) for name, v in account["steps"].items()), reverse=True)
        print(f"  {operation:6} " + "   ".join(f"{name} {ms:.1f}" for ms, name in steps if ms >= 0.1))
        print(f"         {counters['requests']} requests in {counters['pieces']} pieces; "
              f"{counters['messages']} messages; {counters[operation + '_calls']} system calls; "
              f"transport {account['method']['transport']['value']}")


def same_bytes(a, b):
    chunk = MIB
    with open(a, "rb") as x, open(b, "rb") as y:
        while True:
            p, q = x.read(chunk), y.read(chunk)
            if p != q:
                return False
            if not p:
                return True


def show_file(options):
    tool = options.build / "bin" / "forebay"
    path = options.out / f"{FOREBAY}.nc"
    picture = options.out / f"{options.variable}.png"
    print(f"\n$ forebay info {path.name}")
    info = subprocess.run([tool, "info", path], capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    shown = 24
    print("\n".join(info[:shown]))
    if len(info) > shown:
        print(f"... {len(info) - shown} more lines")
    level = 71  # the lowest of 72
    if not (options.build / "lib" / "forebay" / "python3").exists():  # the package that draws was not built
        print(f"\nthe file is {path}")
        return
    command = [tool, "plot", path, options.variable, "--level", str(level), "--coords", "lat,lon", "-o", picture]
    print(f"\n$ forebay plot {path.name} {options.variable} --level {level} --coords lat,lon -o {picture.name}")
    environment = {name: value for name, value in os.environ.items() if name != "FOREBAY_PYTHON"}
    subprocess.run(command, timeout=60, check=True, env=environment)
    print(f"\nthe file is {path}\nthe map is  {picture}")


def main():
    options = parse_arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in (f"{FOREBAY}.nc", f"{PEER}.nc", "records.json"):
        (options.out / name).unlink(missing_ok=True)
    records = options.out / "records.json"
    backends = [b for b, program in ((PEER, "forebay-bench-pnetcdf"), (FOREBAY, "forebay-bench"))
                if (options.build / "bench" / program).exists()]
    if backends != [PEER, FOREBAY]:
        sys.exit("demo: the two benchmark programs are not built; is PnetCDF installed?")
    source = "the recorded decomposition" if options.data else "a generated decomposition"
    print(f"E3SM F case (atmosphere history file), {source}, {options.ranks} ranks, "
          f"{options.samples} turns of each library")
    report = options.out / "report.json"
    for turn in range(options.samples):
        for backend in backends:
            print(f"  turn {turn + 1} of {options.samples}: {backend} writes and reads ...", flush=True)
            report.unlink(missing_ok=True)
            run_sample(backend, options, records, report if backend == FOREBAY else None)
    times, moved = load_times(records)
    print_times(times, moved)
    print_phases(records)
    print_report(report)
    same = same_bytes(options.out / f"{FOREBAY}.nc", options.out / f"{PEER}.nc")
    print(f"\n{moved / MIB:.1f} MiB of variables; all values read back right; "
          f"the two files are {'the same, byte for byte' if same else 'not the same bytes'}")
    show_file(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
