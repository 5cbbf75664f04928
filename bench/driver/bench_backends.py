"""What is measured: libraries, their settings, and what the system alone needs."""

import os
import resource
import statistics
import subprocess
import time

from bench_launch import Failure

# Programs by backend, relative to the build tree.
PROGRAMS = {
    "forebay": "forebay-bench",
    "pnetcdf": "forebay-bench-pnetcdf",
    "hdf5": "forebay-bench-hdf5",
    "codec-limit": "forebay-bench-codec-limit",
}
OWN = ("forebay", "forebay-async", "forebay-chunked", "forebay-netcdf4", "forebay-patches", "forebay-decomposed",
       "forebay-decom-async", "forebay-decom-codec", "forebay-decom-api")
PEERS = ("pnetcdf", "pnetcdf-hints", "pnetcdf-blob", "pnetcdf-nccopy", "hdf5", "hdf5-multi")
SYSTEM = ("append", "limit", "log-limit", "exchange-limit")
LIMITS = SYSTEM + ("floor", "floor-pass", "codec-limit")
ALL = PEERS + OWN + LIMITS
DEFAULT = "forebay,pnetcdf,pnetcdf-hints,append,limit"
DEFAULT_ARRAYS = "forebay-chunked,hdf5,codec-limit"
DEFAULT_FIELDS = "hdf5,forebay-chunked,forebay-patches,codec-limit"
DEFAULT_CODEC = {"e3sm": "shuffle,zstd:1", "small": "shuffle,zstd:1"}
DEFAULT_ARRAY_CODEC = "deflate:6"


HINTED_MODULE = "romio321"  # the one that reads these hints
# What users of the peer set where the default is slow: collective buffering always, with one or with every rank as an
# aggregator, deferred opening, and, where the library has it, aggregation within a node.
PEER_HINTS = {
    "cb": "romio_cb_write=enable;romio_cb_read=enable",
    "cb-1": "romio_cb_write=enable;romio_cb_read=enable;cb_nodes=1",
    "cb-all": "romio_cb_write=enable;romio_cb_read=enable;cb_nodes={ranks};cb_config_list=*:{ranks}",
    "no-indep": "romio_no_indep_rw=true;cb_nodes={ranks};cb_config_list=*:{ranks}",
    "aggrs": "nc_num_aggrs_per_node=1",
}


def holds(program, text):
    """Whether a program or the PnetCDF library that it loads contains `text`."""
    files = [program]
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    files += [word for line in listed.splitlines() if "libpnetcdf" in line for word in line.split() if "/" in word]
    for path in files:
        with open(path, "rb") as data:
            if text in data.read():
                return True
    return False


def find_program(build, name):
    for place in ("bench", "bin", "."):
        path = os.path.join(build, place, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
    return None


class Backend:
    """One way to do the work, and all that was measured of it."""

    def __init__(self, label, program, module=None, environment=None, arguments=(), ranks=None, directory=None):
        self.directory = directory  # None: that of the comparison
        self.label, self.program, self.module = label, program, module
        self.environment, self.arguments = environment or {}, list(arguments)
        self.ranks = ranks  # None: those of the comparison
        self.family = label.split("/")[0]
        self.records = {}
        self.fault = None
        self.dropped = False

    def finish(self, path, records):  # pylint: disable=unused-argument
        """Does what belongs to the backend after its program, whose file is at `path`, and returns the records."""
        return records

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


class CodecLimit(Backend):
    """The least time that encoding (decoding) and one stream of system calls need, with all cores on the codec."""

    def __init__(self, program, arguments, cores):
        super().__init__("codec-limit", program, arguments=arguments, ranks=1)
        self.cores = cores

    def add(self, records):
        for record in records:
            phases = record["phases"]
            stream = phases["pwrite" if record["operation"] == "write" else "pread"]
            record["seconds"] = [cpu / self.cores + io for cpu, io in zip(phases["codec_cpu"], stream)]
            record["cores"] = self.cores
        super().add(records)


class ThenNccopy(Backend):
    """A canonical file, of which netCDF-C's command nccopy makes a compressed netCDF-4 file afterwards. Writes only."""

    def __init__(self, label, program, module, codec):
        super().__init__(label, program, module, arguments=["--keep"])
        stages = codec.split(",")
        level = [stage.partition(":")[2] or "6" for stage in stages if stage.startswith("deflate")]
        self.options = (["-d" + level[0]] if level else ["-k", "nc4"]) + (["-s"] if "shuffle" in stages else [])
        self.codec = codec

    def finish(self, path, records):
        """Adds to the record of the write what nccopy takes, and returns it alone."""
        written = [record for record in records if record["operation"] == "write"]
        copy = path + ".copy.nc"
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(["nccopy", *self.options, path, copy], capture_output=True, text=True, check=False)
        took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise Failure(f"nccopy: {done.stderr.strip()}")
        for record in written:
            record["phases"]["nccopy"] = [took]
            record["seconds"] = [seconds + took for seconds in record["seconds"]]
            processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            record["processor_seconds"] = [seconds + processor for seconds in record["processor_seconds"]]
            record["file_bytes"] = os.path.getsize(copy)
        for left in (path, copy):
            os.unlink(left)
        return written


def own_hints(hints):
    """Forebay's settings, after those that the caller's environment has."""
    return {"FOREBAY_HINTS": ";".join(filter(None, [os.environ.get("FOREBAY_HINTS"), hints]))}


def make_backends(wanted, programs, job, ranks, modules, cores):
    """Those of the labels `wanted` that can do `job`: peers first, then Forebay, then the limits."""
    backends = []

    def with_modules(label, program, arguments=()):
        for module in modules:
            name = f"{label}/{module}" if module else label
            backends.append(Backend(name, program, module, arguments=arguments))

    own, peer, hdf5 = programs["forebay"], programs["pnetcdf"], programs["hdf5"]
    as_hdf5 = ["--chunked", "--codec", job["codec"]]
    if peer and "pnetcdf" in wanted:
        with_modules("pnetcdf", peer)
    if peer and "pnetcdf-hints" in wanted:
        for name, hints in PEER_HINTS.items():
            if name != "aggrs" or holds(peer, b"nc_num_aggrs_per_node"):
                backends.append(Backend(f"pnetcdf-hints/{name}", peer, HINTED_MODULE if modules[0] else None,
                                        {"PNETCDF_HINTS": hints.format(ranks=ranks)}))
    if peer and job["arguments"][0] == "e3sm" and "pnetcdf-blob" in wanted:
        with_modules("pnetcdf-blob", peer, ["--blobs"])
    if peer and "pnetcdf-nccopy" in wanted:
        for module in modules:
            label = f"pnetcdf-nccopy/{module}" if module else "pnetcdf-nccopy"
            backends.append(ThenNccopy(label, peer, module, job["codec"]))
    if hdf5 and job["arrays"] and "hdf5" in wanted:
        with_modules("hdf5", hdf5, as_hdf5)
    if hdf5 and job["arrays"] and "hdf5-multi" in wanted:
        with_modules("hdf5-multi", hdf5, as_hdf5 + ["--one-call"])
    if own and "forebay" in wanted:
        backends.append(Backend("forebay", own))
    if own and "forebay-async" in wanted:
        backends.append(Backend("forebay-async", own, None, own_hints("stage=async")))
    for label, container in (("forebay-chunked", ""), ("forebay-netcdf4", "container=netcdf4;")):
        if not own or label not in wanted:
            continue
        # Of a field the bytes of a chunk are told, and the shape is the library's, as a program's is that tells none.
        field = job.get("chunk_bytes")
        arguments = ["--chunked"] if job["arrays"] and not field else []
        hints = f"{container}layout=chunked;codec={job['codec']}" + (f";chunk_bytes={field}" if field else "")
        backends.append(Backend(label, own, None, own_hints(hints), arguments))
    if own and "forebay-patches" in wanted:
        backends.append(Backend("forebay-patches", own, None, own_hints(f"layout=patches;codec={job['codec']}")))
    if own and "forebay-decomposed" in wanted:
        backends.append(Backend("forebay-decomposed", own, None, own_hints("layout=decomposed")))
    if own and "forebay-decom-async" in wanted:
        backends.append(Backend("forebay-decom-async", own, None, own_hints("layout=decomposed;stage=async")))
    if own and "forebay-decom-codec" in wanted:
        backends.append(Backend("forebay-decom-codec", own, None, own_hints(f"layout=decomposed;codec={job['codec']}")))
    if own and job["arguments"][0] == "e3sm":
        if "forebay-decom-api" in wanted:
            backends.append(Backend("forebay-decom-api", own, arguments=["--by-maps"]))
        if "floor" in wanted:
            backends.append(Backend("floor", own, arguments=["--floor"]))
        if "floor-pass" in wanted:
            backends.append(Backend("floor-pass", own, arguments=["--floor", "--pass"]))
    if job["bytes_matter"]:
        backends += [Backend(name, own or peer) for name in SYSTEM if name in wanted]
    limit = programs["codec-limit"]
    if limit and job["arrays"] and "codec-limit" in wanted:
        arguments = ["--as-ranks", str(ranks), "--codec", job.get("limit_codec", job["codec"])]
        backends.append(CodecLimit(limit, arguments, cores))
    return backends
