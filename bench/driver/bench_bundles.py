"""Bundles: several files a step, together and one after another, with this library and with PnetCDF."""

import hashlib
import os
import shutil
import statistics

from bench_backends import find_program
from bench_launch import Failure
from bench_slow_store import SlowStore

WORKLOADS = ("geos", "manyfiles")
# name: (program, way, hints, MPI-IO module)
BACKENDS = {
    "bundle": ("forebay-bench-bundles", "bundle", "", None),
    # Of each step the last close waits for the writing of the step before; that of the last one is not counted.
    "bundle-async": ("forebay-bench-bundles", "bundle", "bundle_async=enable", None),
    "bundle-later": ("forebay-bench-bundles", "bundle", "bundle_create=later", None),
    "bundle-later-async": ("forebay-bench-bundles", "bundle", "bundle_create=later;bundle_async=enable", None),
    "bundle-balanced": ("forebay-bench-bundles", "bundle", "bundle_scheme=balanced", None),
    "bundle-bps": ("forebay-bench-bundles", "bundle", "bundle_scheme=bps", None),
    "bundle-ips": ("forebay-bench-bundles", "bundle", "bundle_scheme=ips", None),
    "files": ("forebay-bench-bundles", "files", "", None),
    "masters": ("forebay-bench-bundles", "masters", "", None),
    "split": ("forebay-bench-bundles", "split", "", None),
    "bundle-zstd": ("forebay-bench-bundles", "bundle", "layout=chunked;codec=zstd:3", None),
    "files-zstd": ("forebay-bench-bundles", "files", "layout=chunked;codec=zstd:3", None),
    "pnetcdf": ("forebay-bench-bundles-pnetcdf", "files", "", "romio321"),
}
DEFAULT = ("bundle", "bundle-async", "bundle-later", "bundle-balanced", "files", "masters", "split", "pnetcdf")


def digest(directory):
    """Of all files, by name: this library's are the same in all ways."""
    total = hashlib.sha256()
    for name in sorted(os.listdir(directory)):
        total.update(name.encode())
        with open(os.path.join(directory, name), "rb") as data:
            total.update(data.read())
    return total.hexdigest()


class Run:
    """One workload, number of ranks and place: rounds of all backends in turn."""

    def __init__(self, launcher, options, workload, ranks, directory, store):
        self.launcher, self.options = launcher, options
        self.workload, self.ranks, self.store = workload, ranks, store
        self.directory = os.path.join(directory, f"forebay-bench-bundles-{os.getpid()}")
        self.seconds, self.commands, self.digests, self.bytes = {}, {}, {}, 0

    def once(self, name):
        program, way, hints, module = BACKENDS[name]
        path = find_program(self.options.build, program)
        if not path:
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        arguments = ["--workload", self.workload, "--way", way, "--dir", self.directory] + self.options.extra
        if hints:
            arguments += ["--hint", hints]
        if self.store:
            with self.store.around(self.directory) as (environment, _):
                record = self.launcher.run(path, arguments, self.ranks, module, environment)[0]
        else:
            record = self.launcher.run(path, arguments, self.ranks, module)[0]
        # The first step finds out how long calls take, and sets up memory.
        self.seconds.setdefault(name, []).append(statistics.mean(record["seconds"][1:] or record["seconds"]))
        self.commands[name], self.bytes = record["command"], record["bytes_a_step"]
        if program == "forebay-bench-bundles" and way in ("bundle", "files"):
            # By what is the same for all of them: compressed files are not those that are not.
            self.digests[name] = ("codec" in hints, digest(self.directory))

    def go(self, names):
        try:
            for round_number in range(self.options.rounds):
                for name in names if round_number % 2 == 0 else reversed(names):
                    self.once(name)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
        if any(len({text for coded, text in self.digests.values() if coded == which}) > 1 for which in (True, False)):
            raise Failure(f"{self.workload}: files differ between {', '.join(self.digests)}")

    def table(self):
        where = str(self.store) if self.store else os.path.dirname(self.directory)
        lines = [f"{self.workload}, {self.ranks} ranks, {self.bytes / 1e6:.1f} MB a step, {where}"]
        first = next(iter(self.seconds), None)
        mine = statistics.median(self.seconds.get(first) or [0])
        for name, seconds in self.seconds.items():
            median = statistics.median(seconds)
            ratio = f"{median / mine:5.2f} times {first}" if mine else ""
            lines.append(f"  {name:16} {median * 1e3:8.1f} ms a step ({min(seconds) * 1e3:.1f} to "
                         f"{max(seconds) * 1e3:.1f})  {ratio}")
        return "\n".join(lines)

    def records(self):
        return [{"suite": "bundles", "workload": self.workload, "ranks": self.ranks, "backend": name,
                 "slow_store": self.store.parameters if self.store else None, "seconds": seconds,
                 "command": self.commands[name]} for name, seconds in self.seconds.items()]


def run_workloads(launcher, options, keep):
    ranks = [int(n) for n in (options.ranks or "4,16").split(",")]
    names = options.backends.split(",") if options.backends else DEFAULT
    for name in names:
        if name not in BACKENDS:
            raise Failure(f"no backend is called {name}; there are {', '.join(BACKENDS)}")
    for workload in options.names:
        for count in ranks:
            slow = SlowStore(options, options.build)
            for store in (slow,) if options.where == "slow" else (slow, None):
                run = Run(launcher, options, workload, count, options.dir or options.memory_dir, store)
                run.go(names)
                print(run.table(), flush=True)
                keep(run.records())
