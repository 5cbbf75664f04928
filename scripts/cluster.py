#!/usr/bin/env python3
"""Runs a program on several nodes that are all on this machine.

  cluster.py NODES [--ranks R] [options] COMMAND...

NODES is a number of nodes of R ranks each, or the ranks of each node: 3,1,2. COMMAND is what mpiexec starts, or, with
--script, a script that runs once, beside the nodes, and starts mpiexec itself as often as it likes.

A node is a process that sleeps in namespaces of its own, so that MPI, and all that asks the system, finds a machine
there: a network with one link to a bridge that joins the nodes, and with no way out; a host name; process numbers; a
/dev/shm; System V memory; with --disk, a disk. Everything else is shared, as is a file system that all nodes mount.
mpiexec runs on a host beside them, "head". Open MPI starts its daemons through an agent that enters a node instead of
ssh, and carries the caller's environment along.

All of it lies in a process namespace whose first process ends with this one, however this one ends: nothing is left.
Several clusters can be there at the same time. Root, or a user who may have user namespaces, can do this; where nobody
can, that is said in one line that begins with "cluster: not run:", and the exit code is 77. Otherwise it is COMMAND's.
"""

import argparse
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NOT_RUN = 77
MOST_NODES = 200
LINK = "eth0"
# <sched.h>, <sys/prctl.h>
NEW_MOUNTS, NEW_HOST_NAME, NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
SIGNAL_AT_PARENTS_END = 1
OF_A_NODE = NEW_MOUNTS | NEW_HOST_NAME | NEW_IPC | NEW_NETWORK
OF_A_CLUSTER = OF_A_NODE | NEW_PROCESSES
ENTER = ("--mount", "--uts", "--ipc", "--net")

AGENT = """#!/bin/sh
# HOST COMMAND...: what Open MPI starts instead of ssh
host=$1
shift
exec nsenter --target "$(cat '{folder}'/"$host".pid)" {enter} -- /bin/sh -c "$*"
"""
GLUSTER_SERVICE = ("/var/lib/glusterd", "/var/log/glusterfs", "/run/gluster")
GLUSTER_SOCKET = "/run/gluster/glusterd.socket"  # the usual one is in /run, which all clusters share
GLUSTER_SECONDS = 60

libc = ctypes.CDLL(None, use_errno=True)


class CannotBe(Exception):
    """This machine does not let a cluster be."""


# -- the system

def run(*command, **more):
    """A command of the system; what it says is shown if it fails only."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {' '.join(done.stdout.split()) or f'exit code {done.returncode}'}")
    return done.stdout


def links(*lines):
    run("ip", "-batch", "-", input="".join(line + "\n" for line in lines))


def leave(namespaces):
    if libc.unshare(namespaces) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter_cluster():
    """This process gets new namespaces (that of processes: its children); as root of a user namespace where it may not
    have them otherwise."""
    user, group = os.geteuid(), os.getegid()
    try:
        leave(OF_A_CLUSTER)
        return
    except PermissionError as error:
        refused = error.strerror
    try:
        leave(OF_A_CLUSTER | NEW_USER)
    except OSError as error:
        raise OSError(f"no namespaces ({refused}), nor as root of a user namespace ({error.strerror})") from None
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path("/proc/self", name).write_text(text, encoding="ascii")


def ends_with_parent():
    libc.prctl(SIGNAL_AT_PARENTS_END, signal.SIGKILL)


def forked(work, *arguments):
    """The number of a process that does just this: its exit code is what `work` returns."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = work(*arguments)
    except Exception as error:  # pylint: disable=broad-except
        print(f"cluster: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def exit_code(status):
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def own_mounts():
    """What is mounted from now on nobody else sees; /proc shows this process namespace."""
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")


# -- can there be one?

def try_everything():
    own_mounts()
    run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    links("link add probe0 type bridge", "link add probe1 type veth peer name probe2")
    leave(OF_A_NODE | NEW_PROCESSES)


def explain(work, *arguments):
    """Raises CannotBe if `work` fails, in a process of its own."""
    reader, writer = os.pipe()

    def attempt():
        try:
            work(*arguments)
        except (OSError, CannotBe) as error:
            os.write(writer, str(getattr(error, "strerror", None) or error).encode()[:4000])
            return 1
        return 0

    pid = forked(attempt)
    os.close(writer)
    with os.fdopen(reader) as said:
        reason = said.read()
    if os.waitpid(pid, 0)[1] != 0:
        raise CannotBe(reason or "it cannot be found out whether there can be nodes")


def check_machine(options):
    if not sys.platform.startswith("linux"):
        raise CannotBe("nodes are namespaces of Linux")
    tools = ["ip", "mount", "nsenter", options.mpiexec]
    if options.gluster:
        tools += ["glusterd", "gluster", "mount.glusterfs"]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        raise CannotBe(f"no {', '.join(missing)} here")
    version = run(options.mpiexec, "--version").splitlines()[0]
    if "(Open MPI) 4." not in version and "(OpenRTE) 4." not in version:
        raise CannotBe(f"Open MPI 4 is needed, and {options.mpiexec} is {version}")
    if options.gluster and os.geteuid() != 0:
        raise CannotBe("GlusterFS needs root")
    if options.gluster and not os.path.exists("/dev/fuse"):
        raise CannotBe("GlusterFS needs /dev/fuse")

    def try_cluster():
        enter_cluster()
        explain(try_everything)  # in the first process of the new process namespace

    explain(try_cluster)


# -- a cluster

class Cluster:
    """What the first process of the process namespace does."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.names = [f"node{i}" for i in range(len(options.ranks_of))]
        self.makers, self.pids = [], []  # of each node: its parent, its first process
        self.enter = [*ENTER] if options.common_pids else [*ENTER, "--pid"]

    def play(self):
        ends_with_parent()
        os.setsid()  # signals of the terminal are for the parent, which ends all
        socket.sethostname("head")
        own_mounts()
        self.write_files()
        self.start_nodes()
        if self.options.gluster:
            self.serve_gluster()
            self.on_nodes(self.mount_gluster)
        return self.run_command()

    def write_files(self):
        with open("/etc/hosts", encoding="utf-8", errors="replace") as file:
            others = file.read()
        hosts = "".join(f"{address(i)} {name}\n" for i, name in enumerate(self.names))
        self.path("hosts").write_text(hosts + others, encoding="utf-8")
        slots = zip(self.names, self.options.ranks_of)
        self.path("slots").write_text("".join(f"{n} slots={r}\n" for n, r in slots), encoding="ascii")
        self.path("agent").write_text(AGENT.format(folder=self.folder, enter=" ".join(self.enter)), encoding="utf-8")
        self.path("agent").chmod(0o755)
        self.path("jobs").mkdir()
        if self.options.disk:
            for i in range(len(self.names)):
                self.disk(i).mkdir(exist_ok=True)

    def path(self, *names):
        return Path(self.folder, *names)

    def disk(self, i):
        return Path(f"{self.options.disk}.{self.names[i]}")

    # -- nodes

    def start_nodes(self):
        """Each is there with its namespaces before it gets its link, and whole before the next step."""
        gates = []
        for i in range(len(self.names)):
            ready, wanted = os.pipe(), os.pipe()
            self.makers.append(forked(self.make_node, i, ready[1], wanted[0]))
            for end in (ready[1], wanted[0]):
                os.close(end)
            gates.append((ready[0], wanted[1]))
        self.pids = [int(said) for said in self.hear(gates)]
        for name, pid in zip(self.names, self.pids):
            self.path(name + ".pid").write_text(f"{pid}\n", encoding="ascii")
        links("link set lo up", f"link add {LINK} type bridge", f"addr add {HEAD}/24 dev {LINK}", f"link set {LINK} up")
        for i, pid in enumerate(self.pids):
            links(f"link add port{i} type veth peer name {LINK} netns {pid}", f"link set port{i} master {LINK} up")
        for _, wanted in gates:
            os.write(wanted, b".")
        self.hear(gates)

    @staticmethod
    def hear(gates):
        """A word of each node."""
        words = [os.read(ready, 20) for ready, _ in gates]
        if not all(words):
            raise OSError("a node could not be made")
        return words

    def make_node(self, i, ready, wanted):
        """With process numbers of its own, whose first process is a child."""
        ends_with_parent()
        leave(OF_A_NODE)
        run("mount", "--make-rprivate", "/")
        if self.options.common_pids:
            os.write(ready, b"%d" % os.getpid())
            return self.be_node(i, ready, wanted)
        leave(NEW_PROCESSES)
        pid = forked(self.be_node, i, ready, wanted)
        os.write(ready, b"%d" % pid)
        return exit_code(os.waitpid(pid, 0)[1])

    def be_node(self, i, ready, wanted):
        ends_with_parent()
        os.read(wanted, 1)
        if not self.options.common_pids:
            run("mount", "-t", "proc", "proc", "/proc")
        socket.sethostname(self.names[i])
        links("link set lo up", f"addr add {address(i)}/24 dev {LINK}", f"link set {LINK} up")
        run("mount", "-t", "tmpfs", "-o", f"mode=1777,size={self.options.shm}", "tmpfs", "/dev/shm")
        run("mount", "--bind", str(self.path("hosts")), "/etc/hosts")
        if self.options.disk:
            run("mount", "--bind", str(self.disk(i)), self.options.disk)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those whose parents have ended are its children
        os.write(ready, b".")
        while True:
            signal.pause()

    def inside(self, i, command):
        """The command line that runs another on a node, in this folder."""
        here = 'cd "$0" && exec "$@"'
        return ["nsenter", "--target", str(self.pids[i]), *self.enter, "--",
                "/bin/sh", "-c", here, os.getcwd(), *command]

    def on_nodes(self, work):
        for i in range(len(self.names)):
            work(i)

    # -- GlusterFS

    def serve_gluster(self):
        """The first node serves a volume of as many bricks; what its programs keep is not the machine's."""
        private = [self.path("gluster", name.strip("/").replace("/", "-")) for name in GLUSTER_SERVICE]
        for place in private:
            place.mkdir(parents=True)
        for i in range(len(self.names)):
            for name, place in zip(GLUSTER_SERVICE, private):
                os.makedirs(name, exist_ok=True)
                run(*self.inside(i, ["mount", "--bind", str(place), name]))
        bricks = [self.path("brick", str(k)) for k in range(self.options.gluster)]
        for brick in bricks:
            brick.mkdir(parents=True)
        run(*self.inside(0, ["glusterd", "--pid-file", str(self.path("glusterd.pid")),
                             f"--xlator-option=management.glusterd-sockfile={GLUSTER_SOCKET}"]))
        end = time.monotonic() + GLUSTER_SECONDS
        while True:
            try:
                self.gluster("volume", "list")
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        self.gluster("volume", "create", "v", *(f"{self.names[0]}:{brick}" for brick in bricks), "force")
        self.gluster("volume", "start", "v")

    def gluster(self, *command):
        run(*self.inside(0, ["gluster", "--mode=script", f"--glusterd-sock={GLUSTER_SOCKET}", *command]))

    def mount_gluster(self, i):
        run(*self.inside(i, ["mount", "-t", "glusterfs", f"{self.names[0]}:/v", self.options.at]))

    # -- the command

    def environment(self):
        return {
            **what_open_mpi_needs(), **os.environ,
            "OMPI_MCA_plm_rsh_agent": str(self.path("agent")),
            "OMPI_MCA_orte_default_hostfile": str(self.path("slots")),
            "OMPI_MCA_orte_tmpdir_base": str(self.path("jobs")),
            "OMPI_MCA_oob_tcp_if_include": LINK,
            "OMPI_MCA_btl_tcp_if_include": LINK,
            "OMPI_MCA_rmaps_base_mapping_policy": "node" if self.options.by_node else "slot",
            "FOREBAY_CLUSTER": ",".join(map(str, self.options.ranks_of)),
        }

    def run_command(self):
        command = self.options.command
        if not self.options.script:
            command = [self.options.mpiexec, "-n", str(sum(self.options.ranks_of)), *command]
        with subprocess.Popen(command, env=self.environment()) as process:
            # The first process of a process namespace is the parent of all whose own has ended.
            while True:
                pid, status = os.wait()
                if pid == process.pid:
                    process.returncode = exit_code(status)
                    return process.returncode
                if pid in self.makers:
                    print(f"cluster: {self.names[self.makers.index(pid)]} has ended", file=sys.stderr)
                    return 1


HEAD = "10.0.0.254"


def address(i):
    return f"10.0.0.{i + 1}"


def what_open_mpi_needs():
    """Unless the caller says otherwise: messages over TCP between nodes, and ranks that are many more than cores."""
    return {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,vader,tcp",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }


# -- the caller's side

def parse():
    parser = argparse.ArgumentParser(usage="./dev cluster NODES [options] COMMAND...", allow_abbrev=False,
                                     description=__doc__.split("\n\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, metavar="R", help="of each node (default: 2)")
    parser.add_argument("--shm", default="64m", metavar="SIZE", help="of each node's /dev/shm (default: 64m)")
    parser.add_argument("--by-node", action="store_true",
                        help="ranks go round the nodes; else the first node is filled first")
    parser.add_argument("--disk", metavar="DIR",
                        help="a folder that is each node's own: there the first sees what DIR.node0 holds, the second "
                             "DIR.node1, …")
    parser.add_argument("--gluster", type=int, default=0, metavar="K",
                        help="make a GlusterFS volume of K bricks, in the first node, which each node mounts; it is "
                             "gone when the command ends")
    parser.add_argument("--at", default="gluster", metavar="DIR", help="where it is mounted (default: ./gluster)")
    parser.add_argument("--common-pids", action="store_true",
                        help="nodes have the process numbers of the script, which can so send signals to ranks; else "
                             "each has its own")
    parser.add_argument("--script", action="store_true", help="run COMMAND once; it starts mpiexec")
    parser.add_argument("--mpiexec", default="mpiexec", metavar="PROGRAM", help="Open MPI's (default: mpiexec)")
    parser.add_argument("program", metavar="COMMAND")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER)
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        parser.print_help()
        sys.exit(0 if len(sys.argv) > 1 else 2)
    nodes = sys.argv[1]
    options = parser.parse_args(sys.argv[2:])
    options.command = [options.program, *options.arguments]
    try:
        options.ranks_of = [int(word) for word in nodes.split(",")]
    except ValueError:
        parser.error(f"NODES is a number, or the ranks of each node with commas between them, not {nodes}")
    if len(options.ranks_of) > 1 and options.ranks is not None:
        parser.error("--ranks is for nodes that are all alike")
    if len(options.ranks_of) == 1:
        options.ranks_of = options.ranks_of[0] * [2 if options.ranks is None else options.ranks]
    if not 1 <= len(options.ranks_of) <= MOST_NODES or min(options.ranks_of) < 1:
        parser.error(f"there can be 1 to {MOST_NODES} nodes, each of at least one rank")
    if not re.fullmatch(r"0*[1-9][0-9]*[kmgKMG]?", options.shm):  # 0 would be any size
        parser.error(f"--shm is a number of bytes, or of k, m or g, not {options.shm}")
    options.disk = options.disk and os.path.abspath(options.disk)
    if options.disk:
        os.makedirs(options.disk, exist_ok=True)
    options.at = os.path.abspath(options.at)
    return options


@contextlib.contextmanager
def folder(options):
    """Of the cluster's own files, and the place for a volume; both gone at the end."""
    made = options.gluster and not os.path.exists(options.at)
    if made:
        os.makedirs(options.at)
    place = tempfile.mkdtemp(prefix="forebay-cluster-")
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if made:
            with contextlib.suppress(OSError):
                os.rmdir(options.at)


def stopped(number, _):
    sys.exit(128 + number)


def main():
    options = parse()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stopped)
    try:
        check_machine(options)
    except CannotBe as error:
        print(f"cluster: not run: {error}")
        return NOT_RUN
    with folder(options) as place:
        enter_cluster()
        pid = forked(Cluster(options, place).play)
        try:
            return exit_code(os.waitpid(pid, 0)[1])
        except SystemExit:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)  # and all others of the process namespace with it
            raise


if __name__ == "__main__":
    sys.exit(main())
