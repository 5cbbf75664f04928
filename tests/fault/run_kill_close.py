"""Kills a program that closes a file which becomes shorter then.

Usage: run_kill_close.py --mpiexec "MPIEXEC ... -n" --program KILL_CHUNKED --dir DIRECTORY

Versions are written, one a session, until one of them takes so much less space than the one before that
what lies last is moved when the file is closed, and the file is cut. Of that session each of the last
system calls of a rank, and some of those before (support/cases.py), is the last that it makes: whichever it
is, the file holds the version before or this one, whole, and the next session makes the file as short as it would
have been.
"""
import argparse
import os
import re
import shlex
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import cases
import killing
from run_kill import copy_file, parts

os.environ["KILL_TEST_UNSYNCED"] = "1"

RANKS = 3
LAST, SOME = 32, 12  # system calls of a session
MOST_VERSIONS = 40
SHORTER = 100 << 10  # bytes: more than a file has that is not worth a move


def size_of(path):
    return sum(os.path.getsize(path + part) for part in parts(path))


class Test:
    def __init__(self, options):
        self.mpiexec = shlex.split(options.mpiexec)
        self.program = options.program
        self.file = os.path.join(options.dir, "file.nc")
        self.log = killing.Log(os.path.join(options.dir, "log"))
        self.list = os.path.join(options.dir, "list")

    def run(self, ranks, arguments, changes=None):
        self.log.clear()
        process = killing.launch(self.mpiexec + [str(ranks), self.program] + arguments, changes)
        output = process.communicate(timeout=100)[0]
        if self.log.has("error"):
            raise SystemExit(f"{arguments}: {self.log.errors()} {output}")
        return output, process.returncode

    def write(self, path, version, ranks=RANKS, changes=None):
        """Whether that session came to its end."""
        self.run(ranks, ["reopen", path, self.log.path, str(version), "1"], changes)
        return self.log.has("closed")

    def prepare(self):
        """The version behind which the next one makes the file shorter, and how long it is then."""
        self.run(RANKS, ["create", self.file, self.log.path])
        for version in range(MOST_VERSIONS):
            before = self.file + ".before"
            copy_file(self.file, before)
            if not self.write(self.file, version):
                raise SystemExit(f"version {version + 1} could not be written")
            if size_of(self.file) < size_of(before) - SHORTER:
                return version, size_of(self.file)
        raise SystemExit("no version made the file shorter: it keeps the space of what it had")

    def held(self, paths, low, high):
        with open(self.list, "w") as f:
            for path in paths:
                f.write(f"{path} newest {low} {high} whole\n")
        output, code = self.run(2, ["check", self.list])
        if code != 0:
            raise SystemExit(output[-3000:])
        return {m[1]: int(m[2]) for m in re.finditer(r"^(\S+) newest holds (\d+)$", output, re.M)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    test = Test(options)
    version, least = test.prepare()
    before = test.file + ".before"
    killed = []

    def dies(victim, call, when):
        path = f"{test.file}.{victim}.{call}.{when}"
        copy_file(before, path)
        if test.write(path, version, changes={"FOREBAY_TEST_KILL": f"{victim}:{call}:{when}"}):
            return False
        killed.append(path)
        return True

    for victim in (0, RANKS - 1):
        least_alive, most_dead = 1, 0
        while dies(victim, least_alive, "before"):
            most_dead, least_alive = least_alive, 2 * least_alive
        while least_alive - most_dead > 1:
            middle = (least_alive + most_dead) // 2
            if dies(victim, middle, "before"):
                most_dead = middle
            else:
                least_alive = middle
        calls = set(range(max(1, least_alive - LAST), least_alive)) | set(range(1, least_alive, least_alive // SOME + 1))
        chosen = cases.some_of(sorted(calls))
        print(f"rank {victim}: {len(chosen)} of {len(calls)} calls, and those by which the last one was found")
        for call in chosen:
            for when in ("before", "half") if victim == 0 else ("before",):
                if f"{test.file}.{victim}.{call}.{when}" not in killed:
                    dies(victim, call, when)
    held = test.held(killed, version, version + 1)
    found = set(held.values())
    print(f"{len(killed)} runs killed, {size_of(before)} bytes before and {least} after; versions held: {sorted(found)}")
    if found != {version, version + 1}:
        raise SystemExit("not both outcomes were seen: the test does not test")
    # The old version again, or nothing but its close to do: what was left behind goes in any case.
    again = [path for path in killed if held[path] == version]
    for path in again:
        if not test.write(path, version) or size_of(path) > least + SHORTER:
            raise SystemExit(f"{path} has {size_of(path)} bytes")
    test.held(again, version + 1, version + 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
