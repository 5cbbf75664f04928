#!/usr/bin/env python3
"""Measures workloads with Forebay, with PnetCDF (the peer), and without any library, in turn.

    run.py                              a short list: the E3SM F case, large blocks, strided pieces, a large header
    run.py e3sm --case F,G,I            some workloads, each at 4 and 16 ranks, on the disk and on /dev/shm
    run.py strided --ranks 4 --where memory --rounds 9 -- --piece 1KiB

Options after "--" go to the workload (`forebay-bench NAME --help` lists them).

One round runs every backend once, in a new set of processes each, so that whatever else the machine does meets all of
them alike; the figures are medians over the rounds. The backends are

    forebay           this library
    pnetcdf/MODULE    the peer with each MPI-IO module of the MPI library; ratios use the better one. A module that
                      needs more than twice the time of the better one in the first round is not run again.
    append            each rank pwrites one contiguous block, the same bytes in all
    limit             one process pwrites them all in pieces of 8 MiB
"""

import argparse
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1024.0 * 1024.0
SLOW_MODULE = 2.0
LIBRARY_FREE = ("append", "limit")
SHORT_LIST = (("e3sm", "F"), ("contiguous", ""), ("strided", ""), ("metadata", ""))
NAMES = ("e3sm", "contiguous", "strided", "checkerboard", "metadata")
E3SM_MAP = "map_f_case_16p.nc"


class Failure(Exception):
    pass


def parse_arguments(argv):
    extra = []
    if "--" in argv:
        cut = argv.index("--")
        argv, extra = argv[:cut], argv[cut + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="one or more of " + ", ".join(NAMES) + " (default: a short list)")
    add("--case", default="F", help="cases of e3sm, with commas: F,G,I (default: %(default)s)")
    add("--op", default="both", choices=("write", "read", "both"))
    add("--ranks", help="with commas (default: 4,16; for the short list: 4)")
    add("--where", default="disk,memory", help="disk, memory or both, with commas (default: %(default)s)")
    add("--disk-dir", help="a directory on a disk (default: bench-tmp beside the build)")
    add("--memory-dir", default="/dev/shm", help="a directory in memory (default: %(default)s)")
    add("--rounds", type=int, default=5, help="samples of each (default: %(default)s)")
    add("--backends", default="forebay,pnetcdf,append,limit", help="with commas (default: %(default)s)")
    add("--modules", default="romio321,ompio", help="MPI-IO modules for the peer (default: %(default)s)")
    add("--all-modules", action="store_true", help="run slow modules in every round, too")
    add("--tile", type=int, help="e3sm: repeat the horizontal dimensions N times")
    add("--data", help="e3sm: folder of recorded maps (default: $FOREBAY_E3SM_DATA, else beside the source tree)")
    add("--no-verify", action="store_true", help="do not compare the values read back")
    add("--json", help="write all records to this file")
    add("--steps", action="store_true", help="one more round with FOREBAY_REPORT: where the time went")
    add("--build", default=os.path.join(HERE, "..", "build", "release"), help="build tree (default: %(default)s)")
    add("--exe", help="forebay-bench (default: found in the build tree)")
    add("--peer-exe", help="forebay-bench-pnetcdf (default: found in the build tree)")
    add("--mpiexec", default="mpiexec", help="(default: %(default)s)")
    add("--timeout", type=float, default=600, help="seconds for one process launch (default: %(default)s)")
    options = parser.parse_args(argv)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"no workload is called {name}; there are {', '.join(NAMES)}")
    options.extra = extra
    return options


def find_program(build, name):
    for place in ("bench", "bin", "."):
        path = os.path.join(build, place, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
    return None


def find_data(given):
    beside = os.path.join(HERE, "..", "..", "shared", "data", "e3sm")
    for path in (given, os.environ.get("FOREBAY_E3SM_DATA"), beside):
        if path and os.path.isfile(os.path.join(path, E3SM_MAP)):
            return os.path.abspath(path)
    if given:
        raise Failure(f"{given} holds no {E3SM_MAP}")
    return None


class Launcher:
    """Starts programs under mpiexec and returns the records that they write."""

    def __init__(self, options):
        self.options = options
        version = subprocess.run([options.mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
        self.is_open_mpi = "Open MPI" in version or "OpenRTE" in version
        self.environment = dict(os.environ)
        if self.is_open_mpi and os.geteuid() == 0:
            # Open MPI refuses to start as root unless told twice.
            self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
            self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

    def command(self, program, arguments, ranks, module=None):
        command = [self.options.mpiexec]
        if self.is_open_mpi:
            command += ["--oversubscribe"]
            if module:
                command += ["--mca", "io", module]
        return command + ["-n", str(ranks), program] + arguments

    def run(self, program, arguments, ranks, module=None, environment=None):
        command = self.command(program, arguments, ranks, module)
        with tempfile.NamedTemporaryFile(suffix=".json", prefix="forebay-bench-") as out:
            code, said = self.wait_for(command + ["--json", out.name], {**self.environment, **(environment or {})})
            text = out.read()
        if not text:
            tail = "\n".join(said.splitlines()[:12])
            raise Failure(f"exit code {code}: {shlex.join(command)}\n{tail}")
        records = json.loads(text)
        for record in records:
            record["command"] = shlex.join(command)
        return records


    def wait_for(self, command, environment):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment) as process:
            try:
                said, _ = process.communicate(timeout=self.options.timeout)
                return process.returncode, said
            except subprocess.TimeoutExpired as fault:
                raise Failure(f"no end after {self.options.timeout:.0f} s: {shlex.join(command)}") from fault
            finally:
                if process.poll() is None:
                    self.stop(process)

    @staticmethod
    def stop(process):
        process.terminate()  # lets mpiexec end its ranks
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()


class Backend:
    def __init__(self, label, program, module=None):
        self.label, self.program, self.module = label, program, module
        self.records = {}
        self.fault = None
        self.dropped = False

    def add(self, records):
        for record in records:
            mine = self.records.setdefault(record["operation"], record)
            if mine is record:
                continue
            for key in ("seconds", "processor_seconds"):
                mine[key] += record[key]
            for name, samples in record["phases"].items():
                mine["phases"].setdefault(name, []).extend(samples)
            for key in ("peak_rss", "library_rss"):
                mine[key] = max(mine[key], record[key])
            mine["wrong_values"] += record["wrong_values"]

    def median(self, operation, key="seconds"):
        record = self.records.get(operation)
        return statistics.median(record[key]) if record else None


class Comparison:
    """One workload at one number of ranks in one directory: all backends in turn."""

    def __init__(self, launcher, programs, job, ranks, directory):
        self.launcher, self.job, self.ranks, self.directory = launcher, job, ranks, directory
        self.options = launcher.options
        own, peer = programs
        wanted = self.options.backends.split(",")
        self.backends = []
        if peer and "pnetcdf" in wanted:
            modules = self.options.modules.split(",") if launcher.is_open_mpi else [None]
            self.backends += [Backend(f"pnetcdf/{m}" if m else "pnetcdf", peer, m) for m in modules]
        if own and "forebay" in wanted:
            self.backends.append(Backend("forebay", own))
        self.backends += [Backend(n, own or peer) for n in LIBRARY_FREE if n in wanted and job["bytes_matter"]]

    def arguments(self, backend):
        common = ["--dir", self.directory, "--file", f"forebay-bench-{os.getpid()}.nc", "--op", self.options.op]
        if self.options.no_verify:
            common.append("--no-verify")
        if backend.label in LIBRARY_FREE:
            return [backend.label, "--bytes", str(self.bytes())] + common
        return self.job["arguments"] + common

    def bytes(self):
        for backend in self.backends:
            for record in backend.records.values():
                return record["bytes"]
        raise Failure("no library was measured: the number of bytes for append and limit is not known")

    def libraries(self):
        return [b for b in self.backends if b.label not in LIBRARY_FREE]

    def peers(self):
        return [b for b in self.libraries() if b.label != "forebay"]

    def run(self):
        try:
            self.run_rounds()
        finally:
            self.remove_leftovers()

    def run_rounds(self):
        for number in range(self.options.rounds):
            progress(f"{self.title()}: round {number + 1} of {self.options.rounds}")
            for backend in self.backends:
                if backend.fault or backend.dropped:
                    continue
                try:
                    backend.add(self.launcher.run(backend.program, self.arguments(backend), self.ranks, backend.module))
                except Failure as fault:
                    backend.fault = str(fault)
                    self.remove_leftovers()
            if number == 0 and not self.options.all_modules:
                self.drop_slow_modules()
        progress("")

    def remove_leftovers(self):
        # A program that was stopped could not remove its file.
        path = os.path.join(self.directory, f"forebay-bench-{os.getpid()}.nc")
        if os.path.exists(path):
            os.unlink(path)

    def drop_slow_modules(self):
        peers = [b for b in self.peers() if not b.fault]
        totals = [sum(backend.median(operation) for operation in backend.records) for backend in peers]
        for backend, total in zip(peers, totals):
            backend.dropped = total > SLOW_MODULE * min(totals)

    def operations(self):
        names = []
        for backend in self.libraries():
            names += [op for op in backend.records if op not in names]
        return names

    def best_peer(self, operation):
        peers = [b for b in self.peers() if b.median(operation) is not None]
        return min(peers, key=lambda b: b.median(operation)) if peers else None

    def title(self):
        return f"{self.job['title']}, {self.ranks} ranks, {self.job['kinds'][self.directory]}"

    def steps(self):
        """Forebay's own account of one run more: a list of lines."""
        own = next((b for b in self.backends if b.label == "forebay" and not b.fault), None)
        if not own:
            return []
        with tempfile.NamedTemporaryFile(suffix=".json", prefix="forebay-report-") as out:
            environment = {"FOREBAY_REPORT": "json:" + out.name}
            self.launcher.run(own.program, self.arguments(own), self.ranks, None, environment)
            reports = [json.loads(line) for line in out.read().decode().splitlines() if line.strip()]
        lines = []
        for report in reports:
            if os.path.basename(report["path"]) != f"forebay-bench-{os.getpid()}.nc":
                continue
            steps = sorted(report["steps"].items(), key=lambda item: -item[1]["max"])
            shown = ", ".join(f"{name} {step['max'] * 1e3:.1f}" for name, step in steps if step["max"] > 5e-5)
            lines.append(f"    steps, slowest rank, ms: {shown}")
        return lines

    def table(self):
        lines = [self.title()]
        for operation in self.operations():
            any_record = next(b.records[operation] for b in self.libraries() if operation in b.records)
            size = any_record["bytes"] / MIB
            lines.append(f"  {operation}: {size:.1f} MiB in {any_record['pieces']} pieces")
            lines.append(f"    {'':18}{'median s':>10}{'min s':>9}{'MiB/s':>9}{'cpu s':>8}{'memory +MiB':>13}  samples")
            for backend in self.backends:
                if operation in backend.records:
                    lines.append(self.row(backend, backend.records[operation], size))
            lines += self.ratios(operation)
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
        return (f"    {backend.label:18}{median:10.4f}{min(record['seconds']):9.4f}{rate}"
                f"{statistics.median(record['processor_seconds']):8.3f}{record['library_rss'] / MIB:13.1f}  {samples}")

    def ratios(self, operation):
        own = next((b.median(operation) for b in self.backends if b.label == "forebay"), None)
        peer = self.best_peer(operation)
        parts = []
        if own and peer:
            parts.append(f"{peer.label} / forebay = {peer.median(operation) / own:.2f}")
        for backend in self.backends:
            if own and backend.label in LIBRARY_FREE and backend.median(operation):
                parts.append(f"forebay / {backend.label} = {own / backend.median(operation):.2f}")
        return ["    " + ";  ".join(parts)] if parts else []

    def json_records(self):
        out = []
        for backend in self.backends:
            for operation, record in backend.records.items():
                peer = self.best_peer(operation)
                record = dict(record)
                # The name by itself says nothing of the size: keep what the bytes were taken from.
                record["of"] = self.job["title"]
                record["backend"] = backend.label
                record["directory kind"] = record.pop("directory_kind")
                record["median"] = statistics.median(record["seconds"])
                record["peer"] = peer.label if peer else None
                record["peer_median"] = peer.median(operation) if peer else None
                record["ratio"] = peer.median(operation) / record["median"] if peer else None
                record["rounds"] = self.options.rounds
                out.append(record)
        return out


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


def make_jobs(options):
    pairs = []
    for name in options.names:
        pairs += [(name, case) for case in (options.case.split(",") if name == "e3sm" else [""])]
    jobs = []
    data = find_data(options.data)
    for name, case in pairs or SHORT_LIST:
        arguments = [name]
        title = name
        if name == "e3sm":
            arguments += ["--case", case]
            title += f" {case}"
            if data:
                arguments += ["--data", data]
            if options.tile:
                arguments += ["--tile", str(options.tile)]
                title += f" tile {options.tile}"
        arguments += options.extra
        title = " ".join([title] + options.extra)
        jobs.append({"title": title, "arguments": arguments, "bytes_matter": name != "metadata"})
    return jobs


def make_directories(options):
    disk = options.disk_dir or os.path.join(os.path.dirname(os.path.abspath(options.build)), "bench-tmp")
    places = {"disk": disk, "memory": options.memory_dir}
    kinds = {}
    for kind in options.where.split(","):
        if kind not in places:
            raise Failure(f"--where takes disk and memory, not {kind}")
        if kind == "disk":
            os.makedirs(places[kind], exist_ok=True)
        if os.path.isdir(places[kind]):
            kinds[os.path.abspath(places[kind])] = kind
    return kinds


def main(argv):
    options = parse_arguments(argv)
    programs = (options.exe or find_program(options.build, "forebay-bench"),
                options.peer_exe or find_program(options.build, "forebay-bench-pnetcdf"))
    if not any(programs):
        raise Failure(f"neither forebay-bench nor forebay-bench-pnetcdf is in {options.build}: build first")
    launcher = Launcher(options)
    kinds = make_directories(options)
    ranks = [int(n) for n in (options.ranks or ("4,16" if options.names else "4")).split(",")]
    records, failed = [], False
    for job in make_jobs(options):
        job["kinds"] = kinds
        for count in ranks:
            for directory in kinds:
                comparison = Comparison(launcher, programs, job, count, directory)
                comparison.run()
                print(comparison.table())
                if options.steps:
                    print("\n".join(comparison.steps()))
                print(flush=True)
                records += comparison.json_records()
                for backend in comparison.backends:
                    wrong = any(r["wrong_values"] for r in backend.records.values())
                    failed = failed or bool(backend.fault) or wrong
                if options.json:
                    with open(options.json, "w", encoding="utf-8") as out:
                        json.dump(records, out, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: stopped"))
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as fault:
        sys.exit(f"bench: {fault}")
