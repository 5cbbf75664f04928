#!/usr/bin/env python3
"""Runs the programs of this folder with PnetCDF and with Forebay in front of it, and compares what came of them.

Usage: compare.py PROGRAMS LIBRARY FOLDER [--launch COMMAND | --daemon] [--method NAME=HINTS]... [--only NAME]...
                  [--rules FILE]

A program that says nothing for a while is ended, and the others go on without it. Where PnetCDF itself does less than
it should, or gives another code for the same error, the rules say what is expected of Forebay instead.
"""

import argparse
import fnmatch
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time


def own_mounts():
    """What gives the jobs mounts of their own, which go with them; nothing where that is not to be had."""
    prefix = ["unshare", "--mount"]
    try:
        return prefix if subprocess.run(prefix + ["true"], capture_output=True).returncode == 0 else []
    except OSError:
        return []


def names_of(programs, wanted):
    listed = subprocess.run([programs, "--list"], check=True, capture_output=True, text=True)
    names = listed.stdout.split()
    for name in wanted:
        if name not in names:
            sys.exit(f"there is no program {name}")
    return [name for name in names if not wanted or name in wanted]


def run_some(programs, names, folder, log, launch, environment, patience):
    """Runs them in one job; whether it ended by itself."""
    command = own_mounts() + launch + [programs, log, folder] + names
    if not launch:  # one process, without the three streams, as daemons are
        command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"] + command
    with open(log + ".out", "a") as out:
        job = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment,
                               start_new_session=True)
        size, since = -1, time.monotonic()
        while job.poll() is None:
            time.sleep(0.05)
            now = os.path.getsize(log) if os.path.exists(log) else -1
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > patience:
                os.killpg(job.pid, signal.SIGTERM)
                try:
                    job.wait(5)
                except subprocess.TimeoutExpired:
                    os.killpg(job.pid, signal.SIGKILL)
                return "hangs"
    return "ends" if job.returncode == 0 else "dies"


def outcomes(programs, names, folder, launch, environment, patience):
    """What each of them said: a list of lines."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    folder = os.path.abspath(folder)
    log = folder + ".log"
    for old in (log, log + ".out"):
        if os.path.exists(old):
            os.remove(old)
    said, left = {}, list(names)
    while left:
        if os.path.exists(log):
            os.remove(log)
        end = run_some(programs, left, folder, log, launch, environment, patience)
        current = None
        for line in open(log, errors="replace") if os.path.exists(log) else []:
            if line.startswith("== "):
                current = line[3:].strip()
                if current != "end":
                    said[current] = []
                    left.remove(current)
            else:
                said[current].append(line.rstrip("\n"))
        if current is None:
            sys.exit(f"nothing runs: see {log}.out")
        if current != "end":
            said[current].append(end)
        elif end != "ends":
            said.setdefault("finalize", []).append(end)
    return said


def rules_of(path):
    """Lines "PROGRAM like OTHER": what PnetCDF does in the other one is expected. Lines "PROGRAM [METHOD]: A | B":
    where it says A, Forebay may say B, by that method. All but OTHER are patterns; "-" is no line."""
    like, alike = {}, []
    for line in open(path):
        line = line.strip()
        if line.startswith("#") or not line:
            continue
        if " like " in line:
            program, other = line.split(" like ")
            like[program] = other
            continue
        where, pair = line.split(": ", 1)
        program, _, method = where.partition(" ")
        alike.append((program, method or "*", *(side.strip() for side in pair.split(" | "))))
    return like, alike


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("library")
    parser.add_argument("folder")
    parser.add_argument("--launch", default="mpiexec -n 2")
    parser.add_argument("--daemon", action="store_true", help="one process, without standard streams, instead")
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--preload", help="another library, in front of both")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--patience", type=float, default=40)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--rules", help="a file of what Forebay does otherwise, and rightly so")
    options = parser.parse_args()
    programs, folder = os.path.abspath(options.programs), os.path.abspath(options.folder)
    names = names_of(programs, options.only)
    launch = [] if options.daemon else options.launch.split()
    base = {k: v for k, v in os.environ.items() if k not in ("FOREBAY_HINTS", "PNETCDF_HINTS", "FOREBAY_CONFIG")}
    preload = [os.path.abspath(library) for library in (options.preload, options.library) if library]
    if os.environ.get("LD_PRELOAD"):
        preload.insert(0, os.environ["LD_PRELOAD"])
    of_peer = (os.path.join(folder, "peer"), launch,
               dict(base, OMPI_MCA_io="romio321", LD_PRELOAD=":".join(preload[:-1])), options.patience)
    peer = outcomes(programs, names, *of_peer)
    # The peer hangs now and then on a busy machine. What it does twice is not what others should do.
    again = [name for name in names if peer.get(name, [])[-1:] == ["hangs"]]
    if again:
        print(f"once more with the peer, which hangs: {' '.join(again)}")
        peer.update(outcomes(programs, again, *of_peer))
    like, alike = rules_of(options.rules) if options.rules else ({}, [])
    failures = 0
    for method in options.method or ["default="]:
        name, hints = method.split("=", 1)
        ours = outcomes(programs, names, os.path.join(folder, name), launch,
                        dict(base, LD_PRELOAD=":".join(preload), FOREBAY_HINTS=hints), options.patience)
        for program in names + (["finalize"] if "finalize" in ours else []):
            want = peer.get(like.get(program, program), [])
            got = ours.get(program, ["not run"])
            if want[-1:] == ["hangs"] and got[-1:] not in (["hangs"], ["dies"], ["not run"]):
                print(f"not compared: {program} {name}, with which the peer hangs")
                continue
            pairs = list(itertools.zip_longest(want, got, fillvalue="-"))
            allowed = [both for programs, methods, *both in alike
                       if fnmatch.fnmatchcase(program, programs) and fnmatch.fnmatchcase(name, methods)]
            right = [a == b or any(fnmatch.fnmatchcase(a, p) and fnmatch.fnmatchcase(b, q) for p, q in allowed)
                     for a, b in pairs]
            if all(right):
                continue
            failures += 1
            print(f"== {program} {name}")
            for (a, b), well in zip(pairs, right):
                print(f"   {b}" if well else f" * {a}   |   {b}")
        print(f"-- {name}: {len(names)} programs", flush=True)
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failures else 0)


main()
