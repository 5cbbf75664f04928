"""The suite hdf5: HDF5 programs with and without the log connector, beside PnetCDF and plain writes of the same bytes.

Every program is the same; what differs is the environment. Reads are of files that the same backend wrote.
"""

import glob
import os
import statistics

from bench_backends import Backend, own_hints
from bench_compare import MIB, SLOW_MODULE, Comparison

SUITES = ("hdf5",)
CONNECTOR = "forebay under_vol=0;under_info={}"
LOG, LOG_MULTI = "hdf5-log", "hdf5-log-multi"
COMPACT = "hdf5-log-compact"  # compact=close: an ordinary file, which ranks write together
OWN = (LOG, LOG_MULTI, COMPACT)
BACKENDS = ("pnetcdf", "hdf5", "hdf5-multi", LOG, LOG_MULTI, COMPACT, "append")
DEFAULT = f"pnetcdf,hdf5,{LOG},{COMPACT},append"
# name: (arguments, operations, backends that take no part)
NO_PEER = ("pnetcdf", "append")
WORKLOADS = {
    "e3sm-f": (["e3sm", "--case", "F"], "write", ()),
    "e3sm-g": (["e3sm", "--case", "G"], "write", ()),
    "e3sm-i": (["e3sm", "--case", "I"], "write", ()),
    "flash-io": (["flash-io"], "write", ()),
    "s3d": (["s3d"], "write", ()),
    "e3sm-g-whole": (["e3sm", "--case", "G", "--read-back", "whole"], "read", NO_PEER),
    "e3sm-g-hyperslab": (["e3sm", "--case", "G", "--read-back", "hyperslab"], "read", NO_PEER),
    "flash-io-whole": (["flash-io", "--read-back", "whole"], "read", NO_PEER),
    "flash-io-hyperslab": (["flash-io", "--read-back", "hyperslab"], "read", NO_PEER),
    "s3d-own": (["s3d"], "read", NO_PEER),
    "metadata": (["metadata"], "both", NO_PEER),
}
# A native HDF5 that needs so many times the time of the best in the first round is not run again.
HOPELESS = 5.0


def environment_of(family, options):
    if family not in OWN:
        return {}
    hints = own_hints("compact=close") if family == COMPACT else {}
    return {"HDF5_PLUGIN_PATH": os.path.abspath(options.connector), "HDF5_VOL_CONNECTOR": CONNECTOR, **hints}


def make_jobs(options, data):
    jobs = []
    for name in options.names or WORKLOADS:
        arguments, operation, absent = WORKLOADS[name]
        arguments = list(arguments)
        if arguments[0] == "e3sm":
            arguments += ["--data", data] if data else []
            arguments += ["--tile", str(options.tile)] if options.tile else []
        wanted = [b for b in (options.backends or DEFAULT).split(",") if b not in absent]
        jobs.append({"title": " ".join([name] + options.extra), "arguments": arguments + options.extra,
                     "bytes_matter": name != "metadata", "arrays": False, "backends": wanted, "codec": None,
                     "operation": operation, "suite": "hdf5"})
    return jobs


def make_backends(wanted, programs, options, modules):
    backends = []
    for family in BACKENDS:
        if family not in wanted:
            continue
        if family == "append":
            if programs["pnetcdf"] or programs["forebay"]:
                backends.append(Backend(family, programs["pnetcdf"] or programs["forebay"]))
            continue
        program = programs["pnetcdf" if family == "pnetcdf" else "hdf5"]
        if not program or (family in OWN and not options.connector):
            continue
        arguments = ["--one-call"] if family.endswith("-multi") else []
        for module in modules:
            label = f"{family}/{module}" if module else family
            backends.append(Backend(label, program, module, environment_of(family, options), arguments))
    return backends


class Hdf5Comparison(Comparison):
    """All ways of one workload, and how many times the connector's time they take."""

    def __init__(self, launcher, programs, job, ranks, directory):
        super().__init__(launcher, programs, {**job, "backends": ()}, ranks, directory)
        modules = self.options.modules.split(",") if launcher.is_open_mpi else [None]
        self.backends = make_backends(job["backends"], programs, self.options, modules)

    def arguments(self, backend):
        self.options.op = self.job["operation"]
        arguments = super().arguments(backend)
        # Values are compared once; reading back what other ranks wrote takes long in some ways.
        if backend.records and "--no-verify" not in arguments:
            arguments.append("--no-verify")
        return arguments

    def operations(self):
        # That of the file that is written for a read is not what the read is about.
        return [self.job["operation"]] if self.job["operation"] != "both" else super().operations()

    def own(self):
        return [b for b in self.backends if b.family in OWN]

    def drop_slow_modules(self):
        for operation in self.operations():
            known = [b for b in self.backends if b.median(operation) and b.family != "append"]
            best = min((b.median(operation) for b in known), default=0)
            for backend in known:
                family = min(b.median(operation) for b in known if b.family == backend.family)
                mine = backend.median(operation)
                hopeless = backend not in self.own() and mine > HOPELESS * best and mine > 20
                backend.dropped = backend.dropped or mine > SLOW_MODULE * family or hopeless

    def remove_leftovers(self):
        for path in glob.glob(os.path.join(self.directory, f"forebay-bench-{os.getpid()}.nc*")):
            os.unlink(path)

    def against(self, operation):
        """Times in multiples of the connector's, by the label of the better module of each backend."""
        ratios = {}
        for log in (LOG, LOG_MULTI):
            mine = self.best(log, operation)
            if not mine:
                continue
            for family in BACKENDS:
                other = self.best(family, operation)
                if other and family != log:
                    ratios[f"{other.label} / {mine.label}"] = other.median(operation) / mine.median(operation)
        return ratios

    def ratios(self, operation):
        lines = ["steps, slowest rank, ms: " + self.steps_of(self.best(family, operation), operation)
                 for family in ("hdf5", *OWN) if self.best(family, operation)]
        ratios = self.against(operation)
        if ratios:
            lines.append(";  ".join(f"{label} = {ratio:.2f}" for label, ratio in ratios.items()))
        return lines

    @staticmethod
    def steps_of(backend, operation):
        phases = backend.records[operation]["phases"]
        return f"{backend.label} " + ", ".join(f"{name} {statistics.median(samples) * 1e3:.1f}"
                                               for name, samples in phases.items())

    def json_records(self):
        out = super().json_records()
        for record in out:
            record["suite"] = "hdf5"
            record["in_multiples_of_the_connector"] = self.against(record["operation"])
        return out

    def failed(self):
        return any(b.fault or any(r["wrong_values"] for r in b.records.values()) for b in self.backends)


def run_suite(launcher, programs, options, ranks, keep, data):
    """Runs all comparisons and prints their tables; keep(records) after each. Whether one failed."""
    directory = os.path.abspath(options.dir or "/dev/shm")
    os.makedirs(directory, exist_ok=True)
    # What the caller has set must not turn the native runs into something else.
    for name in ("HDF5_VOL_CONNECTOR", "HDF5_PLUGIN_PATH"):
        launcher.environment.pop(name, None)
    failed = False
    for job in make_jobs(options, data):
        job["kinds"] = {directory: directory}
        for count in ranks:
            comparison = Hdf5Comparison(launcher, programs, job, count, directory)
            if not comparison.backends:
                continue
            comparison.run()
            print(comparison.table(), end="\n\n", flush=True)
            failed = failed or comparison.failed()
            keep(comparison.json_records())
    return failed
