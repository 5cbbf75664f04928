"""One workload at one number of ranks in one directory: all backends in turn, and what comes out."""

import glob
import json
import os
import shutil
import statistics
import sys
import tempfile

from bench_backends import LIMITS, OWN, PEERS, SYSTEM, make_backends
from bench_launch import Failure

MIB = 1024.0 * 1024.0
SLOW_MODULE = 2.0


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


class Comparison:
    def __init__(self, launcher, programs, job, ranks, directory):
        self.launcher, self.job, self.ranks, self.directory = launcher, job, ranks, directory
        self.options = launcher.options
        modules = self.options.modules.split(",") if launcher.is_open_mpi else [None]
        cores = self.options.cores or len(os.sched_getaffinity(0))
        self.backends = make_backends(job["backends"], programs, job, ranks, modules, cores)

    def arguments(self, backend):
        common = ["--dir", backend.directory or self.directory, "--file", self.file_name(), "--op", self.options.op]
        if self.options.no_verify:
            common.append("--no-verify")
        if backend.label in SYSTEM:
            return [backend.label, "--bytes", str(self.bytes())] + common
        return self.job["arguments"] + backend.arguments + common

    def launch(self, backend, environment=None):
        records = self.launcher.run(backend.program, self.arguments(backend), backend.ranks or self.ranks, backend.module,
                                    {**backend.environment, **(environment or {})})
        return backend.finish(os.path.join(backend.directory or self.directory, self.file_name()), records)

    @staticmethod
    def file_name():
        return f"forebay-bench-{os.getpid()}.nc"

    def bytes(self):
        for backend in self.libraries():
            for record in backend.records.values():
                return record["bytes"]
        raise Failure("no library was measured: the number of bytes for append and limit is not known")

    def libraries(self):
        return [b for b in self.backends if b.family not in LIMITS]

    def own(self):
        return [b for b in self.backends if b.family in OWN]

    def run(self):
        try:
            self.run_rounds()
        finally:
            self.remove_leftovers()

    def run_rounds(self):
        for number in range(self.options.rounds):
            progress(f"{self.title()}: round {number + 1} of {self.options.rounds}")
            # Turn about, since each finds the caches and the store as the one before left them.
            for backend in self.backends if number % 2 == 0 else reversed(self.backends):
                if backend.fault or backend.dropped:
                    continue
                try:
                    backend.add(self.launch(backend))
                except Failure as fault:
                    backend.fault = str(fault)
                    self.remove_leftovers()
            if number == 0:
                self.keep_best_hints()
                if not self.options.all_modules:
                    self.drop_slow_modules()
        progress("")

    def remove_leftovers(self):
        # A program that was stopped could not remove its file.
        name = self.file_name()
        for left in glob.glob(os.path.join(glob.escape(self.directory), name + "*")):
            if os.path.isdir(left):
                shutil.rmtree(left, ignore_errors=True)
            else:
                os.unlink(left)

    def keep_best_hints(self):
        """Of the sets of hints for the peer the one that was quickest goes on: one row."""
        hinted = [b for b in self.backends if b.family == "pnetcdf-hints"]
        quick = [b for b in hinted if not b.fault and b.records]
        if quick:
            best = min(quick, key=lambda b: sum(b.median(operation) for operation in b.records))
            self.backends = [b for b in self.backends if b not in hinted or b is best]

    def drop_slow_modules(self):
        for family in PEERS:
            peers = [b for b in self.backends if b.family == family and not b.fault]
            totals = [sum(b.median(operation) for operation in b.records) for b in peers]
            for backend, total in zip(peers, totals):
                backend.dropped = total > SLOW_MODULE * min(totals)

    def operations(self):
        names = []
        for backend in self.backends:
            if backend.label not in SYSTEM:
                names += [op for op in backend.records if op not in names]
        return names

    def best(self, family, operation):
        """The quickest of those that differ in their MPI-IO module only."""
        peers = [b for b in self.backends if b.family == family and b.median(operation) is not None]
        return min(peers, key=lambda b: b.median(operation)) if peers else None

    def best_peers(self, operation):
        return [b for b in (self.best(family, operation) for family in PEERS) if b]

    def title(self):
        return f"{self.job['title']}, {self.ranks} ranks, {self.job['kinds'][self.directory]}"

    def steps(self):
        """Forebay's own account of one run more: a list of lines."""
        lines = []
        for own in self.own():
            if own.fault:
                continue
            with tempfile.NamedTemporaryFile(suffix=".json", prefix="forebay-report-") as out:
                self.launch(own, {"FOREBAY_REPORT": "json:" + out.name})
                reports = [json.loads(line) for line in out.read().decode().splitlines() if line.strip()]
            for report in reports:
                if os.path.basename(report["path"]) != self.file_name():
                    continue
                steps = sorted(report["steps"].items(), key=lambda item: -item[1]["max"])
                shown = ", ".join(f"{name} {step['max'] * 1e3:.1f}" for name, step in steps if step["max"] > 5e-5)
                lines.append(f"    {own.label}: steps, slowest rank, ms: {shown}")
        return lines

    def table(self):
        lines = [self.title()]
        for operation in self.operations():
            any_record = next(b.records[operation] for b in self.backends if operation in b.records)
            size = any_record["bytes"] / MIB
            lines.append(f"  {operation}: {size:.1f} MiB in {any_record['pieces']} pieces")
            lines.append(f"    {'':20}{'median s':>10}{'min s':>9}{'MiB/s':>9}{'cpu s':>8}{'memory +MiB':>13}"
                         f"{'file MiB':>10}  samples")
            for backend in self.backends:
                if operation in backend.records:
                    lines.append(self.row(backend, backend.records[operation], size))
            ratios = self.ratios(operation)
            lines += ["    " + line for line in ratios]
        for backend in self.backends:
            if backend.fault:
                lines.append(f"  {backend.label} FAILED: {backend.fault}")
            if any(r["wrong_values"] for r in backend.records.values()):
                lines.append(f"  {backend.label}: WRONG VALUES were read back")
        return "\n".join(lines)

    @staticmethod
    def row(backend, record, size):
        median = statistics.median(record["seconds"])
        rate = f"{size / median:9.0f}" if size else f"{'':9}"
        samples = " ".join(f"{s:.3f}" for s in record["seconds"])
        # The limit is no library: what it holds says nothing.
        memory = f"{record['library_rss'] / MIB:13.1f}" if backend.family not in LIMITS else f"{'':13}"
        return (f"    {backend.label:20}{median:10.4f}{min(record['seconds']):9.4f}{rate}"
                f"{statistics.median(record['processor_seconds']):8.3f}{memory}{record['file_bytes'] / MIB:10.1f}"
                f"  {samples}")

    def ratios(self, operation):
        """One line for each of Forebay's backends: what the others take of its time, and it of the limits'."""
        lines = []
        for own in self.own():
            mine = own.median(operation)
            if mine is None:
                continue
            parts = [f"{peer.label} / {own.label} = {peer.median(operation) / mine:.2f}"
                     for peer in self.best_peers(operation)]
            for limit in self.backends:
                if limit.family in LIMITS and limit.median(operation):
                    parts.append(f"{own.label} / {limit.label} = {mine / limit.median(operation):.2f}")
            parts += self.against(own, "forebay", operation)
            if own.family in ("forebay-patches", "forebay-netcdf4"):
                parts += self.against(own, "forebay-chunked", operation)
            if parts:
                lines.append(";  ".join(parts))
        return lines

    def against(self, own, label, operation):
        other = self.best(label, operation)
        if own.family == label or not other:
            return []
        size = own.records[operation]["file_bytes"] / other.records[operation]["file_bytes"]
        return [f"{own.label} / {label} = {own.median(operation) / other.median(operation):.2f} in time, "
                f"{size:.2f} in file size"]

    def json_records(self):
        out = []
        for backend in self.backends:
            for operation, record in backend.records.items():
                median = backend.median(operation)
                peers = self.best_peers(operation)
                peer = min(peers, key=lambda b: b.median(operation)) if peers else None
                limit = self.best("codec-limit", operation)
                record = dict(record)
                # The name by itself says nothing of the size: keep what the bytes were taken from.
                record["of"] = self.job["title"]
                record["backend"] = backend.label
                record["for_ranks"] = self.ranks
                record["codec"] = self.job["codec"]
                record["directory kind"] = record.pop("directory_kind")
                record["median"] = median
                record["peer"] = peer.label if peer else None
                record["peer_median"] = peer.median(operation) if peer else None
                record["ratio"] = peer.median(operation) / median if peer else None
                record["codec_limit"] = limit.median(operation) if limit else None
                record["rounds"] = self.options.rounds
                out.append(record)
        return out
