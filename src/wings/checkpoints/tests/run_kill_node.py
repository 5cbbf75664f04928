"""Kills a job that keeps checkpoints with redundancy, deletes a node's own disk, and looks at what is left.

Usage: run_kill_node.py --mpiexec "MPIEXEC ... -n" --program KILL_NODE --ranks R --nodes N --disk DIR [--kills K]

It runs beside the nodes of scripts/cluster.py --script --disk DIR: DIR.node0, DIR.node1, ... are the nodes' disks. Each
cycle writes until a rank is killed, before, in the midst of or after one of its system calls. The others are killed
then by mpiexec. All files of one node are deleted, and the job is started again to check (kill_node.cc)."""

import argparse
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../tests/support"))
import cases


def run(options, words, kill=""):
    environment = dict(os.environ, FOREBAY_TEST_KILL=kill)
    command = [*shlex.split(options.mpiexec), str(options.ranks), options.program, *words]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False)


def empty(folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--disk", required=True)
    parser.add_argument("--kills", type=int, default=30)
    options = parser.parse_args()
    said = os.path.abspath("said")
    killed = synced = 0
    for cycle in range(cases.few_of(options.kills)):
        when = ("before", "half", "after")[cycle % 3]
        kill = f"{cycle * 5 % options.ranks}:{4 + cycle * 29 % 190}:{when}"
        written = run(options, ["write", said, str(cycle)], kill)
        if "FAILED" in written.stdout:
            sys.exit(f"cycle {cycle}, {kill}: {written.stdout}")
        killed += written.returncode != 0
        # The killed rank is on the lost node in some cycles, and in others its torn files are what is left.
        lost = f"{options.disk}.node{(cycle // 3 + cycle) % options.nodes}"
        empty(lost)
        checked = run(options, ["check", said])
        print(f"cycle {cycle}, {kill}, {lost} lost: {checked.stdout.strip()}", flush=True)
        if checked.returncode != 0:
            sys.exit(f"cycle {cycle}, {kill}: {written.stdout}{checked.stdout}")
        for node in range(options.nodes):
            empty(f"{options.disk}.node{node}")
        synced += ", 0 of them synced" not in checked.stdout
    if killed < cases.few_of(options.kills) // 2 or synced == 0:
        sys.exit(f"{killed} kills, {synced} with states that were synced: too few to tell")
    print(f"{killed} kills, {synced} with states that were synced")


if __name__ == "__main__":
    main()
