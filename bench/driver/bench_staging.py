"""What staging on a fast device gains: a slow store, a fast device, and the ways from one to the other (Hou 2023, §3.3).

Backends of the suite "staging", each from creating the file to the end of close:

    forebay-auto           as it comes: small writes wait in memory once the store was found to be slow
    forebay-direct         stage=direct: blocking collective writes to the slow store
    forebay-burst          stage=burst: a log on the fast device, flushed in two-level order
    forebay-burst-node     the same with one log for each node (nc_burst_buf_shared_logs)
    forebay-burst-replay   the log of forebay-burst, replayed write by write
    forebay-burst-flatten  the same log; the flush flattens all requests and sorts them
    forebay-stage-out      the file written on the fast device, then copied by all ranks in blocks of 8 MiB
    pnetcdf/MODULE         the peer, direct
    pnetcdf-burst/MODULE   the peer's own burst-buffer driver, if it was built with it
    log-limit              no library: each rank writes the same bytes to a file of its own on the fast device

The suite "log-cost" compares the put phase of forebay-burst with log-limit's, over sizes of transfer: no slow store,
and a barrier at the end of each phase, since ranks that share cores would else wait for one in whatever phase they are.
"""

import contextlib
import glob
import os
import shutil
import statistics
import tempfile

from bench_backends import Backend, holds, own_hints
from bench_compare import MIB, Comparison
from bench_slow_store import SlowStore

SUITES = ("staging", "log-cost")
WORKLOADS = ("ior-strided", "ior-contiguous", "btio", "flash-io")
BACKENDS = ("forebay-auto", "forebay-direct", "forebay-burst", "forebay-burst-node", "forebay-burst-replay",
            "forebay-burst-flatten", "forebay-stage-out", "pnetcdf", "pnetcdf-burst", "log-limit")
TRANSFERS = {"staging": {"ior-strided": "4KiB,16KiB,64KiB", "ior-contiguous": "64KiB,1MiB"},
             "log-cost": {"ior-strided": "4KiB,16KiB,64KiB,256KiB,1MiB",
                          "ior-contiguous": "4KiB,16KiB,64KiB,256KiB,1MiB"}}
# Of a rank, so that no run makes more than 512 calls of all ranks; larger transfers move the workload's usual 8 MiB.
SIZES = {"4KiB": "2MiB"}
# The second has the cells of the paper's largest run at 16 ranks already: 8 points along an edge, 20 KiB in a call.
BTIO = (["--grid", "64", "--iterations", "8"], ["--grid", "32", "--iterations", "64"])
DEFAULT = {"staging": ",".join(BACKENDS), "log-cost": "forebay-burst,log-limit"}
# Figures of the suite log-cost. The least show the work, the medians what other processes made of it.
LOG_COST = {"medians": statistics.median, "least": min}
LOG_COST_SAMPLES = 5  # of each start: they take milliseconds
PHASES = {"put s": "data", "close s": "close", "copy s": "copy"}
# A name that the peer's library holds if it has its own burst-buffer driver.
PEER_DRIVER = b"ncbbio_"


def make_jobs(suite, options):
    names = options.names or (WORKLOADS if suite == "staging" else tuple(TRANSFERS[suite]))
    backends = (options.backends or DEFAULT[suite]).split(",")
    jobs = []
    for name in names:
        variants = [[]]
        if name in TRANSFERS[suite]:
            variants = [["--transfer", t] + (["--size", SIZES[t]] if t in SIZES and suite == "staging" else [])
                        for t in (options.transfer or TRANSFERS[suite][name]).split(",")]
        elif name == "btio" and not options.extra:
            variants = BTIO
        for variant in variants:
            arguments = [name] + variant + options.extra
            jobs.append({"title": " ".join(arguments), "arguments": arguments, "bytes_matter": True, "arrays": False,
                         "backends": backends, "codec": None, "suite": suite})
    return jobs


def make_backends(wanted, programs, modules, fast):
    burst = f"stage=burst;nc_burst_buf_dirname={fast}"
    own, peer = programs["forebay"], programs["pnetcdf"]
    hints = {"forebay-auto": "stage=auto", "forebay-direct": "stage=direct", "forebay-burst": burst,
             "forebay-burst-node": burst + ";nc_burst_buf_shared_logs=enable",
             "forebay-burst-replay": burst + ";burst_order=replay",
             "forebay-burst-flatten": burst + ";burst_order=flatten", "forebay-stage-out": "stage=direct"}
    backends = []
    for label in wanted:
        if label in hints and own:
            arguments = ["--stage-out", fast] if label == "forebay-stage-out" else []
            backends.append(Backend(label, own, None, own_hints(hints[label]), arguments))
        elif label in ("pnetcdf", "pnetcdf-burst") and peer:
            environment = {}
            if label == "pnetcdf-burst":
                environment["PNETCDF_HINTS"] = (f"nc_burst_buf=enable;nc_burst_buf_dirname={fast};"
                                                "nc_burst_buf_overwrite=enable")
            for module in modules:
                name = f"{label}/{module}" if module else label
                backends.append(Backend(name, peer, module, environment))
                if label == "pnetcdf-burst" and not holds(peer, PEER_DRIVER):
                    backends[-1].fault = "this PnetCDF was built without its burst-buffer driver"
                    backends[-1].absent = True
        elif label == "log-limit":
            backends.append(Backend(label, own or peer, directory=fast))
    return backends


class StagingComparison(Comparison):
    """All ways of one workload, with phases and what the slow store counted."""

    def __init__(self, launcher, programs, job, ranks, directory, slow_store):
        super().__init__(launcher, programs, {**job, "backends": ()}, ranks, directory)
        self.slow_store = slow_store
        self.fast = tempfile.mkdtemp(prefix="forebay-bench-fast-", dir=self.options.fast)
        modules = self.options.modules.split(",") if launcher.is_open_mpi else [None]
        self.backends = make_backends(job["backends"], programs, modules, self.fast)

    def run(self):
        try:
            super().run()
        finally:
            shutil.rmtree(self.fast, ignore_errors=True)

    def arguments(self, backend):
        arguments = super().arguments(backend)
        if self.job["suite"] == "log-cost":
            arguments += ["--apart", "--repeat", str(LOG_COST_SAMPLES)]
        # Values are compared once; reading them back from a slow store takes long.
        if backend.records and "--no-verify" not in arguments:
            arguments.append("--no-verify")
        return arguments

    def launch(self, backend, environment=None):
        with contextlib.ExitStack() as stack:
            slow, counters = {}, dict
            if self.slow_store:
                slow, counters = stack.enter_context(self.slow_store.around(self.directory))
            records = super().launch(backend, {**(environment or {}), **slow})
            for record in records:
                record["slow_store"] = {**self.slow_store.parameters, **counters()} if self.slow_store else None
            return records

    def remove_leftovers(self):
        for path in glob.glob(os.path.join(self.directory, f"forebay-bench-{os.getpid()}.nc*")):
            os.unlink(path)
        for path in glob.glob(os.path.join(self.fast, "*")):
            os.unlink(path)

    def own(self):
        return [b for b in self.backends if b.family.startswith("forebay")]

    @staticmethod
    def phase(backend, operation, name, of=statistics.median):
        """Seconds in a phase; None if the backend has no such phase."""
        phases = backend.records[operation]["phases"] if operation in backend.records else {}
        return of(phases[name]) if name in phases else None

    def table(self):
        lines = [self.title()] + ([f"  {self.slow_store}"] if self.slow_store else [])
        for operation in self.operations():
            record = next(b.records[operation] for b in self.backends if operation in b.records)
            size = record["bytes"] / MIB
            lines.append(f"  {operation}: {size:.1f} MiB in {record['requests']} requests, {record['pieces']} pieces")
            heads = "".join(f"{head:>9}" for head in PHASES)
            lines.append(f"    {'':24}{'median s':>9}{'min s':>9}{heads}{'MiB/s':>8}{'cpu s':>8}{'calls':>8}"
                         f"{'switches':>9}  samples")
            lines += [self.staging_row(b, operation, size) for b in self.backends if operation in b.records]
            lines += ["    " + line for line in self.staging_ratios(operation)]
        for backend in self.backends:
            if backend.fault:
                lines.append(f"  {backend.label} {'left out' if self.absent(backend) else 'FAILED'}: {backend.fault}")
            if any(r["wrong_values"] for r in backend.records.values()):
                lines.append(f"  {backend.label}: WRONG VALUES were read back")
        return "\n".join(lines)

    @staticmethod
    def absent(backend):
        return getattr(backend, "absent", False)

    def staging_row(self, backend, operation, size):
        record = backend.records[operation]
        median = statistics.median(record["seconds"])
        phases = [self.phase(backend, operation, name) for name in PHASES.values()]
        shown = "".join(f"{'':9}" if value is None else f"{value:9.4f}" for value in phases)
        store = record.get("slow_store")
        counted = f"{store['writes']:8}{store['switches']:9}" if store else f"{'':17}"
        samples = " ".join(f"{s:.3f}" for s in record["seconds"])
        return (f"    {backend.label:24}{median:9.4f}{min(record['seconds']):9.4f}{shown}{size / median:8.0f}"
                f"{statistics.median(record['processor_seconds']):8.3f}{counted}  {samples}")

    def best_of(self, family, operation):
        same = [b for b in self.backends if b.family == family and b.median(operation)]
        return min(same, key=lambda b: b.median(operation)) if same else None

    def against(self, operation):
        """What the others take in total as multiples of forebay-burst; log-cost: its put phase by log-limit's."""
        burst = self.best_of("forebay-burst", operation)
        if not burst:
            return {}
        ratios = {}
        for family in BACKENDS:
            other = self.best_of(family, operation)
            if other and family not in ("forebay-burst", "log-limit"):
                ratios[other.label] = other.median(operation) / burst.median(operation)
        limit = self.best_of("log-limit", operation)
        if limit and self.job["suite"] == "log-cost":
            for name, of in LOG_COST.items():
                ratios[name] = self.phase(burst, operation, "data", of) / self.phase(limit, operation, "data", of)
        return ratios

    def staging_ratios(self, operation):
        ratios = self.against(operation)
        lines = []
        others = [f"{label} {ratio:.2f}" for label, ratio in ratios.items() if label not in LOG_COST]
        if others:
            lines.append("time in multiples of forebay-burst's: " + ", ".join(others))
        costs = [f"{ratios[name]:.2f} ({name})" for name in LOG_COST if name in ratios]
        if costs:
            lines.append("forebay-burst's put phase / log-limit's = " + ", ".join(costs))
        return lines

    def json_records(self):
        out = super().json_records()
        for record in out:
            record["suite"] = self.job["suite"]
            record["in_multiples_of_forebay_burst"] = self.against(record["operation"])
        return out

    def failed(self):
        return any((b.fault and not self.absent(b)) or any(r["wrong_values"] for r in b.records.values())
                   for b in self.backends)


def run_suite(launcher, programs, options, ranks, keep):
    """Runs all comparisons of options.suite and prints their tables; keep(records) after each. Whether one failed."""
    slow = os.path.abspath(options.slow or options.disk_dir or
                           os.path.join(os.path.dirname(os.path.abspath(options.build)), "bench-tmp"))
    os.makedirs(slow, exist_ok=True)
    os.makedirs(options.fast, exist_ok=True)
    store = SlowStore(options, options.build) if options.suite == "staging" else None
    options.op = "write"
    failed = False
    for job in make_jobs(options.suite, options):
        job["kinds"] = {slow: "slow store" if store else "disk"}
        for count in ranks:
            comparison = StagingComparison(launcher, programs, job, count, slow, store)
            comparison.run()
            print(comparison.table())
            if options.steps:
                print("\n".join(comparison.steps()))
            print(flush=True)
            failed = failed or comparison.failed()
            keep(comparison.json_records())
    return failed
