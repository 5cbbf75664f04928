"""Kills one rank of a job at a random moment; the whole job has to be gone soon after.

Usage: run_rank_killed.py --launch "MPIEXEC ..." --program LOOPS --ranks N --file FILE [--kills N]
                          [--seed N]

"Gone" means that no process of the job runs any more. A job that ends before the kill, or that
does not get into its loop, is a failure as well.
"""
import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import time

LIMIT = 10  # seconds


def runs(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def once(options, generator):
    """Returns what went wrong, and the seconds that the job took to end."""
    command = shlex.split(options.launch) + [options.program, options.file]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    processes = {}
    while len(processes) < options.ranks:
        line = job.stdout.readline()
        if not line:
            return "the job ended before its loop", 0
        words = line.split()
        if words[:1] == ["rank"] and words[2:3] == ["process"]:
            processes[int(words[1])] = int(words[3])
    time.sleep(generator.uniform(0, 0.5))
    if not all(runs(p) for p in processes.values()):
        return "a rank ended by itself", 0
    victim = generator.randrange(options.ranks)
    os.kill(processes[victim], signal.SIGKILL)
    begin = time.monotonic()
    problem = ""
    while any(runs(p) for p in processes.values()):
        if time.monotonic() - begin > LIMIT:
            left = [r for r, p in processes.items() if runs(p)]
            problem = f"ranks {left} still run {LIMIT} s after rank {victim} was killed"
            break
        time.sleep(0.02)
    took = time.monotonic() - begin
    for process in processes.values():
        if runs(process):
            os.kill(process, signal.SIGKILL)
    job.kill()
    job.wait()
    return problem, took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    failures, longest = 0, 0.0
    for number in range(options.kills):
        problem, took = once(options, generator)
        longest = max(longest, took)
        if problem:
            failures += 1
            print(f"kill {number}: {problem}")
    print(f"{options.kills} kills, {failures} failures, {longest:.2f} s at most")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
