#!/usr/bin/env python3
"""How much of the writes of an HDF5 program its computing hides (docs/internals/async.md), on a slow store.

  hdf5_async.py --build build/release [--ranks 1,2] [--rounds 5] [--steps 8] [--fields 4] [--mib 2] [--compute SECONDS]

A step's computing takes as long as its writes do without the thread, unless --compute says otherwise. Each round runs
every way once: HDF5 alone, the log, the log with stage=async, the log with event sets, and the log in memory, which is
the least that calls need. Figures are medians of the seconds in calls, of the rank that takes longest."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import bench_slow_store
from bench_launch import Failure, Launcher

CONNECTOR = "forebay under_vol=0;under_info={};hints={layout=log"
# name: (whether through the connector, its hints, arguments, whether on the slow store)
WAYS = {
    "HDF5": (False, "", [], True),
    "log": (True, "", [], True),
    "log, stage=async": (True, ";stage=async;buffer_limit=128MiB", [], True),
    "log, event sets": (True, "", ["--events"], True),
    "log in memory": (True, "", [], False),
}


class Runs:
    def __init__(self, options, ranks):
        self.options, self.ranks = options, ranks
        self.program = os.path.join(options.build, "bench", "forebay-bench-hdf5-async")
        if not os.path.isfile(self.program):
            raise Failure(f"there is no {self.program}: build first, with HDF5")
        self.launcher = Launcher(options)
        self.folder = tempfile.mkdtemp(prefix="forebay-hdf5-async-", dir=options.dir)
        self.store = bench_slow_store.SlowStore(options, options.build)

    def run(self, way, compute):
        connected, hints, arguments, slow = WAYS[way]
        environment = {}
        if connected:
            environment["HDF5_PLUGIN_PATH"] = os.path.abspath(os.path.join(self.options.build, "lib"))
            environment["HDF5_VOL_CONNECTOR"] = CONNECTOR + hints + "}"
        path = os.path.join(self.folder, "file.h5")
        given = [path, "--compute", str(compute), *arguments]
        for name in ("steps", "fields", "mib"):
            given += ["--" + name, str(getattr(self.options, name))]
        try:
            if not slow:
                return self.answer(given, environment)
            with self.store.around(self.folder) as (slowed, _):
                return self.answer(given, {**environment, **slowed})
        finally:
            if os.path.exists(path):
                os.unlink(path)

    def answer(self, arguments, environment):
        command = self.launcher.command(self.program, arguments, self.ranks, "romio321")
        done = subprocess.run(command, env={**self.launcher.environment, **environment}, capture_output=True, text=True,
                              timeout=self.options.timeout, check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--build", required=True)
    add("--dir", default="/dev/shm", help="directory that is made slow (default: %(default)s)")
    add("--ranks", default="1,2", help="with commas (default: %(default)s)")
    add("--rounds", type=int, default=5)
    add("--steps", type=int, default=8)
    add("--fields", type=int, default=4)
    add("--mib", type=float, default=2, help="of a rank in one field and step (default: %(default)s)")
    add("--compute", type=float, help="seconds of a step (default: as long as its writes)")
    add("--mpiexec", default="mpiexec")
    add("--timeout", type=float, default=300)
    bench_slow_store.add_options(add)
    options = parser.parse_args()
    try:
        for ranks in options.ranks.split(","):
            compare(options, int(ranks))
    except Failure as failure:
        sys.exit(str(failure))


def compare(options, ranks):
    runs = Runs(options, ranks)
    found = {way: [] for way in WAYS}
    try:
        compute = options.compute
        if compute is None:
            compute = runs.run("log", 0.05)["seconds"] / options.steps
        print(f"{runs.store}\n{ranks} ranks, {options.steps} steps of {options.fields} fields of {options.mib:g} MiB a "
              f"rank; a step computes for {compute:.3f} s; load {os.getloadavg()[0]:.1f}")
        for _ in range(options.rounds):
            for way in WAYS:
                found[way].append(runs.run(way, compute))
    finally:
        os.rmdir(runs.folder)
    seconds = {way: statistics.median(run["seconds"] for run in found[way]) for way in WAYS}
    print("| way | seconds in calls | of these in H5Fclose | hidden | of what the store takes |")
    print("| --- | --- | --- | --- | --- |")
    for way in WAYS:
        close = statistics.median(run["close"] for run in found[way])
        hidden = 1 - seconds[way] / seconds["log"]
        store = (seconds["log"] - seconds[way]) / (seconds["log"] - seconds["log in memory"])
        told = f"{100 * hidden:.0f} % | {100 * store:.0f} %" if "," in way else "|"
        print(f"| {way} | {seconds[way]:.3f} | {close:.3f} | {told} |")


if __name__ == "__main__":
    main()
