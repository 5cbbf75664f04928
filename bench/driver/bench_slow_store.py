"""A directory as slow as a parallel file system that other jobs use, too: slow_store_model.h has the model."""

import contextlib
import os
import struct
import tempfile

from bench_launch import Failure, Launcher

LIBRARY = "libforebay_slow_store.so"
STATE_BYTES = 4 << 20  # more than sizeof(SlowStoreState)
COUNTERS = ("writes", "written", "reads", "read", "switches", "waited_ns", "lost")

# The store that 4 or 16 processes, each as if on a node of its own, share with other jobs:
# A small synchronous write takes some 0.1 ms on the network and in an idle server; the rest are the queues of others.
LATENCY_MS = 0.5
# A few storage targets that other jobs use, too; to /dev/shm here about what the file system of the paper's machine was
# to its burst buffer (744 to 1,700 GB/s).
MB_PER_SECOND = 500
STRIPE = "1MiB"  # Lustre's default.
# A lock changes hands in two exchanges, of the server with its holder and with its next owner, each as long as another
# small request. (That the holder first writes out what it has cached is not counted on top.)
SWITCH_MS = 1.0
# All stripes share the bandwidth. With more servers a stripe has that of its own server only, which is what makes small
# strided transfers slow in the paper: they touch the stripes of few servers at a time.
SERVERS = 1


def add_options(add):
    add("--slow-latency", type=float, default=LATENCY_MS, help="ms of a system call (default: %(default)s)")
    add("--slow-bandwidth", type=float, default=MB_PER_SECOND, help="MB/s of all ranks together (default: %(default)s)")
    add("--slow-stripe", default=STRIPE, help="what one process at a time may write to (default: %(default)s)")
    add("--slow-switch", type=float, default=SWITCH_MS, help="ms to hand a stripe to another (default: %(default)s)")
    add("--slow-open", type=float, default=0.0, help="ms to create or open a file (default: %(default)s)")
    add("--slow-servers", type=int, default=SERVERS,
        help="servers that share the bandwidth and hold stripes in turn (default: %(default)s)")
    add("--slow-one-server-files", action="store_true", help="all stripes of a file are on one of them")


def bytes_of(text):
    units = {"": 1, "B": 1, "K": 1 << 10, "KiB": 1 << 10, "M": 1 << 20, "MiB": 1 << 20}
    number = text.rstrip("BKMi")
    try:
        size = int(float(number) * units[text[len(number):]])
    except (ValueError, KeyError):
        size = 0
    if size < 1:
        raise Failure(f"a size is bytes, KiB or MiB, not {text}")
    return size


class SlowStore:
    """The model's parameters, and how programs are started so that it applies to them."""

    def __init__(self, options, build):
        self.parameters = {"latency_ms": options.slow_latency, "MB_per_second": options.slow_bandwidth,
                           "stripe": bytes_of(options.slow_stripe), "switch_ms": options.slow_switch,
                           "servers": options.slow_servers, "open_ms": options.slow_open,
                           "one_server_files": options.slow_one_server_files}
        places = [os.path.join(build, place, LIBRARY) for place in ("bench", "lib", ".")]
        self.library = next((os.path.abspath(path) for path in places if os.path.isfile(path)), None)
        if not self.library:
            raise Failure(f"there is no {LIBRARY} in {build}: build first")

    def __str__(self):
        p = self.parameters
        servers = f" of {p['servers']} servers" if p["servers"] > 1 else ""
        servers += ", a file on one" if p["one_server_files"] else ""
        opening = f", {p['open_ms']:g} ms to open" if p["open_ms"] else ""
        return (f"slow store: {p['latency_ms']:g} ms a call, {p['MB_per_second']:g} MB/s{servers}, "
                f"{p['switch_ms']:g} ms to hand over a stripe of {p['stripe'] >> 10} KiB{opening}")

    @contextlib.contextmanager
    def around(self, directory):
        """Yields (environment, counters()) for one start of programs that shall find `directory` slow.

        What they share lies beside it where it can: nodes that see the same directory may have each a /dev/shm of
        its own."""
        beside = os.path.dirname(os.path.abspath(directory))
        shared = os.path.isdir(directory) and os.stat(beside).st_dev == os.stat(directory).st_dev
        with tempfile.NamedTemporaryFile(prefix="forebay-slow-store-", dir=beside if shared else "/dev/shm") as state:
            state.truncate(STATE_BYTES)
            p = self.parameters
            loaded = ":".join(filter(None, [self.library, os.environ.get("LD_PRELOAD")]))
            environment = {"LD_PRELOAD": loaded}
            for name, value in (("DIR", directory), ("STATE", state.name), ("LATENCY_US", p["latency_ms"] * 1e3),
                                ("BYTES_PER_SECOND", p["MB_per_second"] * 1e6), ("STRIPE", p["stripe"]),
                                ("SWITCH_US", p["switch_ms"] * 1e3), ("SERVERS", p["servers"]),
                                ("OPEN_US", p["open_ms"] * 1e3),
                                ("ONE_SERVER_FILES", int(p["one_server_files"]))):
                environment["FOREBAY_SLOW_STORE_" + name] = str(value)

            def counters():
                with open(state.name, "rb") as data:
                    return dict(zip(COUNTERS, struct.unpack(f"={len(COUNTERS)}Q", data.read(8 * len(COUNTERS)))))

            yield environment, counters


class SlowLauncher(Launcher):
    """Starts programs that find a directory slow."""

    def __init__(self, options, directory):
        super().__init__(options)
        self.store = SlowStore(options, options.build)
        self.directory = directory

    def run(self, program, arguments, ranks, module=None, environment=None):
        with self.store.around(self.directory) as (slow, _):
            return super().run(program, arguments, ranks, module, {**(environment or {}), **slow})
