"""Kills a program that opens the synced state of chunked or decomposed variables to write.

Usage: run_kill_open.py --mpiexec "MPIEXEC ... -n" --program KILL_CHUNKED --dir DIRECTORY

What came after the synced state is given up. One system call after another (support/cases.py) of
a rank is the last one that a program makes which does so, and writes a version then: whichever it is, the file holds
the newest version of before, or the synced one, or the one behind that, whole; and with
chunk_state=synced the synced one.
"""
import argparse
import functools
import os
import re
import shlex
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import cases
import killing
from run_kill import copy_file

MOST_CALLS = 60


class Test:
    def __init__(self, options):
        self.mpiexec = shlex.split(options.mpiexec)
        self.program = options.program
        self.dir = options.dir
        self.file = os.path.join(options.dir, "file.nc")
        self.log = killing.Log(os.path.join(options.dir, "log"))
        self.newest = self.synced = 0  # versions
        self.left = []  # files, and whether the program was killed

    def run(self, ranks, arguments, changes=None):
        self.log.clear()
        process = killing.launch(self.mpiexec + [str(ranks), self.program] + arguments, changes)
        return process.communicate(timeout=100)[0], process.returncode

    def prepare(self):
        """A file whose newest version is some versions behind the synced one, on other ranks."""
        output, code = self.run(2, ["create", self.file, self.log.path])
        newest = synced = 0
        while code == 0 and newest < synced + 4:
            output, code = self.run(3, ["write", self.file, self.log.path, str(newest), "1"])
            newest = self.log.last("done")
            synced = max(synced, self.log.last("synced") or 0)
        if code != 0:
            raise SystemExit(f"the file could not be written: {output}")
        self.newest, self.synced = newest, synced

    def dies(self, ranks, victim, when, call):
        """Whether the program is killed at this call; its file is left."""
        if call > MOST_CALLS:
            return False
        path = f"{self.file}.{ranks}.{victim}.{call}.{when}"
        copy_file(self.file, path)
        hints = os.environ.get("FOREBAY_HINTS", "") + ";chunk_state=synced"
        output, _ = self.run(ranks, ["reopen", path, self.log.path, str(self.synced), "1"],
                             {"FOREBAY_HINTS": hints,
                              "FOREBAY_TEST_KILL": f"{victim}:{call}:{when}"})
        if self.log.has("error"):
            raise SystemExit(f"{path}: {self.log.errors()} {output}")
        killed = not self.log.has("closed")
        self.left.append((path, killed))
        return killed

    def kill_all(self):
        for ranks, victim, when in [(1, 0, "before"), (1, 0, "half"), (3, 0, "before"),
                                    (3, 2, "before"), (4, 3, "before")]:
            tried = cases.try_places(functools.partial(self.dies, ranks, victim, when))
            print(f"{ranks} ranks, rank {victim}, {when}: {tried}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    test = Test(options)
    test.prepare()
    test.kill_all()
    newest, synced, left = test.newest, test.synced, test.left
    listing = os.path.join(options.dir, "list")
    with open(listing, "w") as f:
        for path, _ in left:
            f.write(f"{path} newest {synced} {newest} whole\n")
            f.write(f"{path} synced {synced} {synced} whole\n")
    output, code = test.run(2, ["check", listing])
    held = {(m[1], m[2]): int(m[3])
            for m in re.finditer(r"^(\S+) (newest|synced) holds (\d+)$", output, re.M)}
    failures = [] if code == 0 else [output[-3000:]]
    seen = {}
    for path, _ in left:
        found = held.get((path, "newest"))
        seen[found] = seen.get(found, 0) + 1
        if found not in (newest, synced, synced + 1):
            failures.append(f"{path} holds {found}: neither {newest} nor {synced} nor {synced + 1}")
    print(f"{len(left)} runs, {sum(killed for _, killed in left)} killed; versions held: {seen}")
    if not failures and not {newest, synced, synced + 1} <= set(seen):
        failures.append("not all outcomes were seen: the test does not test")
    for line in failures[:20]:
        print(line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
