#!/usr/bin/env python3
"""Kills a program that writes through HDF5, opens its file again, and looks at what is there.

Usage: run_kill_hdf5.py --mpiexec "MPIEXEC ... -n" --program KILL_HDF5 --dir DIRECTORY --mode fixed|records
                        [--kills 12] [--seed S] [--skip-amid-flush]

Each cycle writes on 1 to 4 ranks, kills all of them with SIGKILL at a random time, and opens the file with another
process: then everything up to the last flush that returned must be there, and of the rest each element or none of it.
Kills amid H5Fflush are counted apart, since there much is under way; half of the cycles aim at them. HDF5 without a
connector promises nothing for those: --skip-amid-flush leaves them unchecked.
"""
import argparse
import os
import random
import shlex
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
import killing  # noqa: E402  pylint: disable=wrong-import-position

ROWS = 400


class Test:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.mpiexec = shlex.split(options.mpiexec)
        self.file = os.path.join(options.dir, "file.h5")
        self.log = killing.Log(os.path.join(options.dir, "write.log"))
        self.counts = {"killed": 0, "killed amid a flush": 0, "not checked": 0, "rows that had to be there": 0}
        self.failure = None

    def command(self, ranks, *arguments):
        return self.mpiexec + [str(ranks), self.options.program] + [str(a) for a in arguments]

    def wait_for_flush(self, process):
        """Until a flush has begun, one chosen by chance."""
        wanted = self.random.randint(1, 12) * 4
        while process.poll() is None and (self.log.last("flushing") or 0) < wanted:
            time.sleep(0.0005)
        time.sleep(self.random.uniform(0, 0.003))

    def cycle(self, number):
        for name in os.listdir(self.options.dir):
            os.unlink(os.path.join(self.options.dir, name))
        ranks, seed = self.random.choice([1, 2, 3, 4]), self.random.randrange(1 << 30)
        process = killing.launch(self.command(ranks, "write", self.file, self.log.path, seed, ROWS, self.options.mode))
        victim = killing.Victim(process, self.log)
        if self.random.random() < 0.5:
            self.wait_for_flush(process)
        else:
            time.sleep(self.random.uniform(0, 0.4))
        for pid in victim.pids.values():
            killing.kill(pid)
        output, in_time = victim.wait()
        how = f"mode {self.options.mode}, cycle {number}, seed {seed}, {ranks} ranks"
        if not in_time or self.log.has("error") or not self.log.has("ready"):
            self.failure = f"{how}: {self.log.errors()} {output}"
            return
        flushed, begun = self.log.last("flushed"), self.log.last("flushing")
        self.counts["killed"] += not self.log.has("closed")
        self.counts["killed amid a flush"] += begun != flushed
        if begun != flushed and self.options.skip_amid_flush:
            self.counts["not checked"] += 1
            return
        self.counts["rows that had to be there"] += flushed
        self.check(f"{how}, {flushed} rows flushed" + (f", flushing {begun}" if begun != flushed else ""), seed, flushed)

    def check(self, how, seed, flushed):
        ranks = self.random.choice([1, 2])
        done = subprocess.run(self.command(ranks, "check", self.file, seed, ROWS, flushed, self.options.mode),
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            self.failure = f"{how}: {done.stdout[-1500:]} {done.stderr[-300:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--mode", choices=("fixed", "records"), required=True)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip-amid-flush", action="store_true")
    options = parser.parse_args()
    options.dir = os.path.abspath(options.dir)
    os.makedirs(options.dir, exist_ok=True)
    test = Test(options)
    for number in range(options.kills):
        test.cycle(number)
        if test.failure:
            break
    print(", ".join(f"{n} {what}" for what, n in test.counts.items()))
    if not test.failure and test.counts["killed"] < options.kills // 3:
        test.failure = "too few kills: the test does not test"
    print(f"FAILED: {test.failure}" if test.failure else "all right", f"(seed {options.seed})")
    return 1 if test.failure else 0


if __name__ == "__main__":
    sys.exit(main())
