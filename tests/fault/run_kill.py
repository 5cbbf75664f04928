"""Kills a program that writes variables in the layout that hints choose, again and again, and looks at what is left.

Usage: run_kill.py --mpiexec "MPIEXEC ... -n" --program KILL_CHUNKED --dir DIRECTORY
                   [--kills 24] [--seed S] [--forebay FOREBAY] [--power 3] [--behind] [--foreign PYTHON]

Each cycle writes on 1 or 3 ranks, ends all of them with SIGKILL (all at once, or one and the rest
a moment later; at a random time, or before, in the midst of or after one chosen system call), and
reads the file with another number of ranks. What must hold:
- the file opens, and holds the last version that was done, or the one that was under way, whole;
- after a simulated power failure (the bytes at the last fsync, and a random part of the sectors
  that were written later) chunk_state=synced shows the last synced version; chunk_state=newest
  shows some whole version, or errors, and never other values;
- the next cycle goes on with the same file; now and then with one that lost power.
With --behind the program writes through stage `async`: a call that is done may not be in the file
yet, but for what was synced or closed; no version may be there in part, all the same.
With --foreign netCDF4 of that Python reads the file, and those that lost power. They must hold what
was synced last, or what a sync or close that was under way was about to make of it, and nothing in between.
Files in directories, and those with decomposed variables, lose power with all of their data files. Slabs without a codec have no
checksums, so that of these only the synced version is looked at.
"""
import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import cases
import killing

SECTOR = 512
VERSIONS = 60       # a cycle writes at most so many
POWER_FAILURES = 3  # simulated after each kill
CYCLES_A_FILE = 12


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def parts(path):
    """What a file consists of: the ends of paths."""
    if os.path.isdir(path):
        return ["/" + name for name in os.listdir(path) if name in ("header.nc", "index") or name.isdigit()]
    found = [""]
    if os.path.isdir(path + ".subfiles"):
        found += [".subfiles/" + name for name in os.listdir(path + ".subfiles")
                  if name in ("state", "index") or name.isdigit()]
    return found


def copy_file(path, to):
    shutil.rmtree(to + ".subfiles", ignore_errors=True)
    if os.path.isdir(path):
        shutil.rmtree(to, ignore_errors=True)
    for part in parts(path):
        os.makedirs(os.path.dirname(to + part), exist_ok=True)
        shutil.copyfile(path + part, to + part)


# Prints which of the versions a file holds. Arguments: file, folder, versions.
FOREIGN = """
import sys, numpy, netCDF4
names = ("grid", "small", "series", "trace")
with netCDF4.Dataset(sys.argv[1]) as f:
    f.set_auto_mask(False)
    found = {name: f[name][:].astype("i4").ravel() for name in names}
for version in sys.argv[3:]:
    if all(numpy.array_equal(found[n], numpy.fromfile(f"{sys.argv[2]}/{version}.{n}", "i4")) for n in names):
        print("holds", version)
        break
else:
    sys.exit(f"{sys.argv[1]} holds none of the versions {sys.argv[3:]}")
"""


class Test:
    def __init__(self, options):
        self.mpiexec = shlex.split(options.mpiexec)
        self.program = options.program
        self.forebay = options.forebay
        self.power = options.power
        self.foreign = options.foreign
        self.behind = options.behind
        # The close of a netCDF-4 file makes a state of its own.
        self.close_shows = "container=netcdf4" in os.environ.get("FOREBAY_HINTS", "")
        self.last_done = 0   # whose call had returned
        self.dir = options.dir
        self.file = os.path.join(options.dir, "file.nc")
        self.random = random.Random(options.seed)
        self.failures = []
        self.done = 0        # version that must be there
        self.under_way = 0   # version that may be there
        self.synced = 0      # the same two for what was synced
        self.syncing = 0
        self.highest = 0     # version that was ever begun in this file
        self.may_show = {0}  # versions that a file which lost power may show to other libraries
        self.power_version = 0
        self.counts = {"killed": 0, "by call": 0, "power failures": 0, "versions": 0, "newer": 0, "behind": 0,
                       "refused": 0, "checked": 0}

    def launch(self, ranks, arguments, changes=None):
        return killing.launch(self.mpiexec + [str(ranks), self.program] + arguments, changes)

    def fail(self, message):
        self.failures.append(message)
        print(message, flush=True)

    def create(self):
        for name in os.listdir(self.dir):
            path = os.path.join(self.dir, name)
            if name.startswith("file.nc"):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        log = killing.Log(os.path.join(self.dir, "create.log"))
        log.clear()
        process = self.launch(2, ["create", self.file, log.path])
        output = process.communicate(timeout=60)
        if process.returncode != 0:
            raise SystemExit(f"the file could not be created: {output}")
        self.done = self.under_way = self.synced = self.syncing = self.highest = 0
        self.may_show = {0}

    def write_and_kill(self, cycle, changes=None):
        ranks = self.random.choice([1, 3])
        log = killing.Log(os.path.join(self.dir, "write.log"))
        log.clear()
        changes = dict(changes or {})
        by_call = cycle % 2 == 1
        if by_call:
            # Rank 0 makes the most calls, and those that publish.
            whom = self.random.choice([0, 0, 0, ranks - 1])
            most = self.random.choice([8, 60, 400])
            changes["FOREBAY_TEST_KILL"] = "{}:{}:{}".format(
                whom, self.random.randint(1, most),
                self.random.choice(["before", "half", "after"]))
        how = f"cycle {cycle}: {ranks} ranks {changes}"
        process = self.launch(ranks, ["write", self.file, log.path, str(self.done), str(VERSIONS)],
                              changes)
        victim = killing.Victim(process, log)
        if not by_call:
            time.sleep(self.random.uniform(0, 0.3))
            victim.kill_now(self.random)
        output, in_time = victim.wait()
        if not in_time:
            self.fail(f"{how}: did not end: {output}")
        if log.has("error") or not log.has("ready"):
            self.fail(f"{how}: {log.errors()} {output}")
        if not log.has("closed"):
            self.counts["killed"] += 1
            self.counts["by call"] += by_call
        begun, done = log.last("begin"), log.last("done")
        self.counts["versions"] += (done or self.done) - self.done
        self.last_done = done if done is not None else self.done
        if self.behind and not log.has("closed"):
            done = log.last("synced")
        self.done = done if done is not None else self.done
        self.under_way = begun if begun is not None else self.done
        self.highest = max(self.highest, self.under_way)
        if log.last("synced") is not None:
            self.synced = log.last("synced")
        self.syncing = max(self.synced, self.syncing, log.last("syncing") or 0)
        if log.last("synced") is not None:
            self.may_show.clear()  # this state is on the device, and so are later ones at most
        self.may_show |= {self.synced, max(self.synced, log.last("syncing") or 0)}
        if self.close_shows and log.has("closing"):
            self.may_show.add(self.last_done)
            self.syncing = max(self.syncing, self.last_done)
        return ranks, how, done is not None

    def lose_power(self):
        """Files as a power failure may leave them."""
        paths = []
        for i in range(self.power):
            share = self.random.choice([0.02, 0.2, 0.5, 0.8, 0.98])
            path = f"{self.file}.power{i}"
            copy_file(self.file, path)
            for part in parts(self.file):
                with open(path + part, "wb") as f:
                    f.write(self.image(self.file + part, share))
            paths.append(path)
        self.counts["power failures"] += len(paths)
        return paths

    def image(self, path, share):
        """The bytes at the last fsync, and of the sectors written later about that share."""
        durable = read_bytes(path + ".durable") if os.path.exists(path + ".durable") else b""
        later = read_bytes(path)
        length = max(len(durable), len(later))
        before, after = durable.ljust(length, b"\0"), later.ljust(length, b"\0")
        image = bytearray(before)
        for at in range(0, length, SECTOR):
            if before[at:at + SECTOR] != after[at:at + SECTOR] and self.random.random() < share:
                image[at:at + SECTOR] = after[at:at + SECTOR]
        if len(later) > len(durable) and self.random.random() < 0.3:
            del image[self.random.randrange(len(durable), len(later)):]
        return image

    def check(self, ranks, how, paths):
        lines = [f"{self.file} newest {self.done} {self.under_way} whole"]
        for path in paths:
            lines.append(f"{path} synced {self.synced} {self.syncing} whole")
            if not os.path.exists(path + ".subfiles/state"):
                lines.append(f"{path} newest {self.synced} {self.highest} damage")
        listing = os.path.join(self.dir, "list")
        with open(listing, "w") as f:
            f.write("\n".join(lines) + "\n")
        process = self.launch(2 if ranks == 1 else self.random.choice([1, 2]), ["check", listing])
        try:
            output, errors = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            self.fail(f"{how}: the check did not end")
        if process.returncode != 0:
            self.fail(f"{how}: {output[-3000:]}\n{errors[-300:] if not output else ''}")
        held = {(m[1], m[2]): int(m[3])
                for m in re.finditer(r"^(\S+) (newest|synced) holds (\d+)$", output, re.M)}
        self.counts["refused"] += len(re.findall(r"newest damaged", output))
        if self.foreign:
            for path in [self.file] + paths:
                self.check_foreign(how, path, self.may_show)
        if self.forebay:
            done = subprocess.run([self.forebay, "check", self.file], timeout=60,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.counts["checked"] += 1
            if done.returncode != 0:
                self.fail(f"{how}: forebay check: {done.stdout[-1000:]}")
        return held

    def check_foreign(self, how, path, versions):
        versions = [str(v) for v in sorted(versions)]
        subprocess.run([self.program, "values", self.dir] + versions, timeout=60, check=True)
        done = subprocess.run([self.foreign, "-c", FOREIGN, path, self.dir] + versions, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.counts["foreign"] = self.counts.get("foreign", 0) + 1
        if done.returncode != 0:
            self.fail(f"{how}: {done.stdout[-1000:]}")

    def cycle(self, number):
        changes = None
        if number % CYCLES_A_FILE == 0:
            self.create()
        elif number % 5 == 0 and os.path.exists(self.file + ".power0"):
            # The machine lost power; the program goes on from the synced state.
            copy_file(self.file + ".power0", self.file)
            for part in parts(self.file):
                shutil.copyfile(self.file + part, self.file + part + ".durable")
            self.done = self.under_way = self.power_version
            self.synced = self.syncing = self.power_version
            self.may_show = {self.power_version}
            changes = {"FOREBAY_HINTS": os.environ.get("FOREBAY_HINTS", "") + ";chunk_state=synced"}
        ranks, how, advanced = self.write_and_kill(number, changes)
        if changes and not advanced:
            self.create()  # without a publication the newest state is still the one that lost power
            return not self.failures
        paths = self.lose_power()
        held = self.check(ranks, how, paths)
        newest = held.get((self.file, "newest"))
        if newest is None:
            return False
        self.counts["newer"] += newest > self.done
        self.counts["behind"] += newest < self.last_done
        self.done = self.under_way = newest
        if paths:
            self.power_version = held.get((paths[0], "synced"), self.synced)
        return not self.failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forebay")
    parser.add_argument("--power", type=int, default=POWER_FAILURES, help="failures after a kill")
    parser.add_argument("--behind", action="store_true", help="what is done may not be in the file")
    parser.add_argument("--foreign", metavar="PYTHON", help="has netCDF4, which reads what is left")
    parser.add_argument("--keep-going", action="store_true", help="with a new file after a failure")
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    test = Test(options)
    number = 0
    kills = max(cases.few_of(options.kills), min(options.kills, 6))  # the sixth goes on after a power failure
    print(f"{kills} of {options.kills} kills")
    for turn in range(options.kills):
        if turn >= kills and (test.counts["behind"] or not options.behind):
            break
        if not test.cycle(number):
            if not options.keep_going:
                break
            number += CYCLES_A_FILE - number % CYCLES_A_FILE
            test.create()
        else:
            number += 1
    print(", ".join(f"{n} {what}" for what, n in test.counts.items()))
    if not test.failures and (test.counts["killed"] < kills // 2 or
                              (kills > 8 and not test.counts["by call"])):  # few may all end before their call
        test.fail("too few kills: the test does not test")
    if not test.failures and options.behind and not test.counts["behind"]:
        test.fail("all that was done was in the file: the test does not test")
    print(f"{len(test.failures)} failures (seed {options.seed})")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
