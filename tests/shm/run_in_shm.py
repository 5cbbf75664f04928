"""Runs a command where there is little of /dev/shm, or none.

Usage: run_in_shm.py --shm SIZE|readonly|absent|taken [--dir DIRECTORY] [--killed]
                     [--report TEXT,...] -- COMMAND ARGUMENT...

SIZE: as mount says it. taken: with every name that a process of the command could choose for its
first pieces of memory in it, as if it were another user's. absent: no /dev/shm at all. Nothing is
mounted where --shm is not given.

The command must end well and leave nothing in /dev/shm (--killed: must be killed, and leave
nothing). --report: the report of every file must have all these sentences, which may be patterns.
Exits with 77, which CTest shows as skipped, where nothing may be mounted, or where the command does.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
NODES = ["null", "zero", "full", "random", "urandom", "tty", "ptmx"]
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
         "stderr": "/proc/self/fd/2"}


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def dev_without_shm(place):
    """Puts a /dev that has what programs use, but no shm, in place of the present one."""
    os.makedirs(place, exist_ok=True)
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", place)
    for name in filter(lambda name: os.path.exists("/dev/" + name), NODES):
        with open(os.path.join(place, name), "w", encoding="ascii"):
            pass
        mount("--bind", "/dev/" + name, os.path.join(place, name))
    os.mkdir(os.path.join(place, "pts"))
    if os.path.isdir("/dev/pts"):
        mount("--rbind", "/dev/pts", os.path.join(place, "pts"))
    for name, target in LINKS.items():
        os.symlink(target, os.path.join(place, name))
    mount("--move", place, "/dev")


def take_names():
    """By the processes of a new namespace, whose numbers are low."""
    for pid in range(1, 200):
        for number in range(40):
            with open(f"/dev/shm/forebay-{pid}-{number}", "w", encoding="ascii"):
                pass


def prepare(shm, directory):
    if shm == "absent":
        dev_without_shm(os.path.join(directory, "dev"))
    elif shm == "readonly":
        mount("-t", "tmpfs", "-o", "ro", "tmpfs", "/dev/shm")
    elif shm == "taken":
        mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", "/dev/shm")
        take_names()
    elif shm:
        mount("-t", "tmpfs", "-o", f"size={shm}", "tmpfs", "/dev/shm")
    # Open MPI keeps messages between ranks in files there, unless it is told where else.
    if shm and shm != "64m":
        os.environ["OMPI_MCA_btl_vader_backing_directory"] = directory


def names():
    """What Open MPI keeps there for its messages is its own business."""
    return {name for name in glob.glob("/dev/shm/*") if "vader_segment" not in name}


def inside(options):
    """In the new namespace."""
    prepare(options.shm, options.dir)
    report = os.path.join(options.dir, "report.json")
    if os.path.exists(report):
        os.unlink(report)  # reports are appended
    if options.report:
        os.environ["FOREBAY_REPORT"] = "json:" + report
    before = names()
    done = subprocess.run(options.command, timeout=200, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    if done.returncode == SKIPPED:
        return SKIPPED
    failed = done.returncode != 0
    if options.killed:
        failed = done.returncode == 0 or "killing" not in done.stdout
    if failed:
        print(f"FAILED: ended with {done.returncode}")
    left = sorted(names() - before)
    if left:
        print(f"FAILED: left behind: {left}")
    return 1 if failed or left or not has_said(options) else 0


def has_said(options):
    if not options.report:
        return True
    with open(os.path.join(options.dir, "report.json"), encoding="utf-8") as f:
        reports = [" ".join(json.loads(line)["reasons"]) for line in f]
    missing = [(pattern, text) for pattern in options.report.split(",") for text in reports
               if not re.search(pattern, text)]
    if missing or not reports:
        print(f"FAILED: reports do not say: {missing}")
    return reports and not missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shm")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--killed", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    if options.inside or not options.shm:
        return inside(options)
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    unshare = ["unshare", "--mount"]
    if options.shm == "taken":
        unshare += ["--pid", "--fork", "--mount-proc"]
    possible = subprocess.run(unshare + ["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if possible.returncode != 0:
        print(f"not run: needs root that may mount: {possible.stdout}")
        return SKIPPED
    again = [sys.executable, "-B", *sys.argv]
    again.insert(again.index("--"), "--inside")
    return subprocess.run(unshare + again).returncode


if __name__ == "__main__":
    sys.exit(main())
