#!/usr/bin/env python3
"""Kills a program that writes through HDF5, opens its file again, and looks at what is there.

Usage: run_kill_hdf5.py --mpiexec "MPIEXEC ... -n" --program KILL_HDF5 --dir DIRECTORY --mode fixed|records|objects
                        [--kills 12] [--calls 40 --preload KILL_AT_CALL] [--close] [--no-room 6]
                        [--serial] [--step] [--judged 10] [--seed S]

Each cycle writes on 1 to 4 ranks, kills them with SIGKILL, and opens the file with another process: then it must be the
file of the last flush that returned or, where a flush had begun, that of this one. Every kill is judged.

--calls: one rank in one of its calls that change the file or what lies beside it, over the whole range of these calls; the
others end a moment later. --kills: all ranks at a random time, half of them soon after a flush has begun. Whether such a
kill comes before the program ends, or amid a flush, is chance: there are more of them until --judged kills were judged,
half of these amid flushes. --close: calls are those of H5Fclose, the last of each rank among them. --no-room: the undo file of one rank cannot grow: all ranks
must come back with an error, and the file is judged as if they had been killed.

With --preload, half of the files that have something to put back are opened by a process that is killed in that, first.
--serial: HDF5's default driver, one rank. --step: datasets of their full size get all rows of a flush or none.
"""
import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../../tests", name)
                for name in ("fault", "support")]
import cases  # noqa: E402  pylint: disable=wrong-import-position
import killing  # noqa: E402  pylint: disable=wrong-import-position

ROWS = 400  # of a program that is killed at a random time
ROWS_OF_CALLS = 16
MOST = 10  # times --kills


class Test:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.mpiexec = shlex.split(options.mpiexec)
        self.file = os.path.join(options.dir, "file.h5")
        self.told = os.path.join(options.dir, "calls")
        self.log = killing.Log(os.path.join(options.dir, "write.log"))
        self.ways = (",serial" if options.serial else "") + (",step" if options.step else "")
        self.counts = {"killed": 0, "amid a flush": 0, "killed in putting back": 0, "without room": 0,
                       "found the old file": 0, "found the new file": 0,
                       "rows that had to be there": 0}
        self.failure = None

    def command(self, ranks, *arguments):
        return self.mpiexec + [str(ranks), self.options.program] + [str(a) for a in arguments]

    def clear(self):
        shutil.rmtree(self.options.dir)
        os.mkdir(self.options.dir)

    def start(self, ranks, seed, rows, changes=None):
        self.clear()
        mode = self.options.mode + self.ways + (",close" if self.options.close else "")
        command = self.command(ranks, "write", self.file, self.log.path, seed, rows, mode)
        return killing.launch(command, changes)

    def wait_for_flush(self, process):
        """Until a flush has begun, one chosen by chance."""
        wanted = self.random.randint(1, 12) * 4
        while process.poll() is None and (self.log.last("flushing") or 0) < wanted:
            time.sleep(0.0005)
        time.sleep(self.random.uniform(0, 0.003))

    def at_some_time(self, number):
        ranks, seed = self.random.choice(self.options.ranks), self.random.randrange(1 << 30)
        victim = killing.Victim(self.start(ranks, seed, ROWS), self.log)
        if self.random.random() < 0.5:
            self.wait_for_flush(victim.process)
        else:
            time.sleep(self.random.uniform(0, 0.4))
        victim.kill_now(self.random)
        self.judge(victim, f"cycle {number}, seed {seed}, {ranks} ranks", seed, ROWS)

    def environment(self, at, rank):
        return {"LD_PRELOAD": self.options.preload, "FOREBAY_TEST_KILL_AT": str(at),
                "FOREBAY_TEST_KILL_RANK": str(rank), "FOREBAY_TEST_KILL_FILE": self.file,
                "FOREBAY_TEST_KILL_TELL": self.told}

    def calls_of(self, ranks, seed):
        """How many calls each rank makes when nobody is killed."""
        calls = {}
        for rank in range(ranks):
            process = self.start(ranks, seed, ROWS_OF_CALLS, self.environment(0, rank))
            output = process.communicate(timeout=60)
            if process.returncode != 0 or not self.log.has("closed"):
                self.failure = f"{ranks} ranks, seed {seed}: {output}"
                return {}
            with open(self.told, encoding="ascii") as f:
                calls.update({int(a): int(b) for a, b in (line.split() for line in f) if int(a) == rank})
        return calls

    def at_calls(self, kills):
        """As many kills, on 1, 2 and 3 ranks, spread evenly over all calls of all ranks."""
        several = self.options.ranks[:3]
        for ranks in several:
            seed = self.random.randrange(1 << 30)
            calls = self.calls_of(ranks, seed)
            if self.failure:
                return
            places = [(rank, n) for rank, most in sorted(calls.items()) for n in range(1, most + 1)]
            share = kills // len(several)
            chosen = [places[int((k + self.random.random()) * len(places) / share)] for k in range(share)]
            if self.options.close:  # when the index is written
                chosen += [(rank, n) for rank, most in sorted(calls.items()) for n in range(most - 2, most + 1)]
            for rank, at in cases.some_of(chosen):
                if self.failure:
                    return
                victim = killing.Victim(self.start(ranks, seed, ROWS_OF_CALLS, self.environment(at, rank)), self.log)
                self.judge(victim, f"call {at} of rank {rank}, seed {seed}, {ranks} ranks", seed, ROWS_OF_CALLS)

    def without_room(self, number):
        ranks, seed = 2 + number % 2, self.random.randrange(1 << 30)
        rank, call = self.random.randrange(ranks), self.random.randint(1, 12)
        fault = {"FOREBAY_FAULT": f"append:rank={rank}:call={call}:errno=ENOSPC"}
        victim = killing.Victim(self.start(ranks, seed, ROWS_OF_CALLS, fault), self.log)
        output, in_time = victim.wait()
        how = f"mode {self.options.mode}, no room at call {call} of rank {rank}, seed {seed}, {ranks} ranks"
        if not in_time or (not self.log.has("error") and not self.log.has("closed")):
            self.failure = f"{how}: {output}"
        elif self.log.has("error") and self.log.has("ready"):
            self.counts["without room"] += 1
            flushed, begun = self.log.last("flushed"), self.log.last("flushing")
            self.check(f"{how}, {flushed} rows flushed, {begun} begun", seed, ROWS_OF_CALLS, flushed, begun)

    def kill_in_putting_back(self, command):
        """Where there is something to put back, a process is killed in that, at one of its first calls."""
        undo = self.file + ".undo"
        if not self.options.preload or not os.path.exists(undo) or os.path.getsize(undo) == 0:
            return
        if self.random.random() < 0.5:  # each costs a process that starts
            return
        environment = dict(os.environ, FOREBAY_TEST_KILL_COUNTS="1", **self.environment(self.random.randint(1, 8), 0))
        killed = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
        self.counts["killed in putting back"] += killed.returncode != 0

    def enough(self):
        return (self.counts["killed"] >= self.options.judged and
                self.counts["amid a flush"] >= self.options.judged // 2)

    def judge(self, victim, how, seed, rows):
        output, in_time = victim.wait()
        how = f"mode {self.options.mode}, {how}"
        if not in_time or self.log.has("error") or not self.log.has("ready"):
            self.failure = f"{how}: {self.log.errors()} {output}"
            return
        flushed, begun = self.log.last("flushed"), self.log.last("flushing")
        if self.log.has("closed"):
            flushed = begun
        self.counts["killed"] += not self.log.has("closed")
        self.counts["amid a flush"] += begun != flushed
        self.counts["rows that had to be there"] += flushed
        self.check(f"{how}, {flushed} rows flushed, {begun} begun", seed, rows, flushed, begun)

    def check(self, how, seed, rows, flushed, begun):
        ranks = self.random.choice([1, 2])
        if self.options.serial:
            ranks = 1
        command = self.command(ranks, "check", self.file, seed, rows, flushed, begun, self.options.mode + self.ways)
        self.kill_in_putting_back(command)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            self.failure = f"{how}: {done.stdout[-1500:]} {done.stderr[-300:]}"
        elif begun != flushed:
            self.counts["found the new file" if "new" in done.stdout else "found the old file"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--preload")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--mode", choices=("fixed", "records", "objects"), required=True)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--judged", type=int, default=8, help="fewer kills, or fewer than half as many amid flushes, fail")
    parser.add_argument("--close", action="store_true")
    parser.add_argument("--no-room", type=int, default=0)
    parser.add_argument("--serial", action="store_true")
    parser.add_argument("--step", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.judged = cases.few_of(options.judged)
    options.ranks = [1] if options.serial else [1, 2, 3, 4]
    options.dir = os.path.abspath(options.dir)
    os.makedirs(options.dir, exist_ok=True)
    test = Test(options)
    if options.calls:
        test.at_calls(options.calls)
    for number in range(options.no_room):
        if not test.failure:
            test.without_room(number)
    number = 0
    while not test.failure and (number < options.kills or not test.enough()) and number < MOST * options.kills:
        test.at_some_time(number)
        number += 1
    print(", ".join(f"{n} {what}" for what, n in test.counts.items()))
    if not test.failure and test.counts["without room"] < options.no_room // 2:
        test.failure = "too few writes found no room"
    if not test.failure and not test.enough():
        test.failure = f"too few kills: of {options.judged}, and half as many amid flushes, the test makes a judgement"
    print(f"FAILED: {test.failure}" if test.failure else "all right", f"(seed {options.seed})")
    return 1 if test.failure else 0


if __name__ == "__main__":
    sys.exit(main())
