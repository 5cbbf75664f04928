"""Kills a program that writes through stage `burst`, recovers, and looks at what is there.

Usage: run_kill_burst.py --mpiexec "MPIEXEC ... -n" --program KILL_BURST --forebay FOREBAY
                         --dir DIRECTORY --mode MODE [--kills 12] [--seed S] [--power-failures]

Each cycle writes on 1 to 4 ranks, ends one or all of them with SIGKILL (at a random time, or
before, in the midst of or after one chosen system call on a log or on the file), and recovers with
another number of ranks: `forebay recover` alone or under mpiexec, or opening with recover=auto;
now and then the recovery is killed too, and done again. What must hold then:
- every request that returned on a rank is there, and of the others a rank's first ones, whole;
- another program that reads the file over its logs (recover=overlay) before the recovery gets what
  is there after it;
- recovering twice gives the same bytes (of chunks: values), and leaves no logs and no control
  file;
- ncdump reads the file, where its layout is canonical.
With --disks N the directory of logs is each of N nodes' own (DIRECTORY/logs of the first is
DIRECTORY/logs.node0, ...), and ranks go round the nodes: those that recover must be on every node
that has logs, and where they are not, nothing is replayed.
With --power-failures a log loses its tail, or the last sectors of its data, before the recovery:
then what was flushed is there, and every other request whole or not at all, unless the job ended
amid a flush; recovery says that the log is damaged, or that it ends early.
"""
import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../tests")
sys.path[:0] = [os.path.join(TESTS, name) for name in ("fault", "support")]
import cases
import killing

STEPS = 250         # a cycle writes at most so many
CYCLES_A_FILE = 10  # a value tells the cycle that it is of
MOST = 10  # times --kills
HEADER, DATA_BEGIN, BLOCK, DATA_BLOCK = 8192, 4096, 64 << 10, 1 << 20  # src/core/store/journal.h
BUFFER = "nc_burst_buf_flush_buffer_size=1MiB"
MODES = {
    "process": [BUFFER],
    "shared": [BUFFER, "nc_burst_buf_shared_logs=enable"],
    "background": [BUFFER, "burst_flush_size=64k"],
    "chunked": [BUFFER, "layout=chunked", "codec=shuffle,zstd:3", "chunk_bytes=16k",
                "buffer_limit=1MiB"],
    "netcdf4": [BUFFER, "container=netcdf4", "layout=chunked", "codec=shuffle,deflate:1", "chunk_bytes=16k",
                "buffer_limit=1MiB"],
    "keep": [BUFFER, "nc_burst_buf_del_on_close=disable"],
    "keep_shared": [BUFFER, "nc_burst_buf_del_on_close=disable", "nc_burst_buf_shared_logs=enable"],
}
# Calls to be killed at, and about how many of them a run makes.
CALLS = {"": 500, "pwrite": 400, "pwritev": 30, "ftruncate": 60, "unlink": 20, "fallocate": 30, "fsync": 40}


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


class Test:
    def __init__(self, options):
        self.options = options
        self.mpiexec = shlex.split(options.mpiexec)
        self.dir = options.dir
        self.file = os.path.join(options.dir, "file.nc")
        self.base = os.path.join(options.dir, "base")
        self.logs = os.path.join(options.dir, "logs")
        self.disks = [f"{self.logs}.node{i}" for i in range(options.disks)] or [self.logs]
        self.random = random.Random(options.seed)
        self.hints = ["stage=burst", f"nc_burst_buf_dirname={self.logs}"] + MODES[options.mode]
        self.failures = []
        self.counts = {"killed": 0, "by call": 0, "recoveries": 0, "recoveries killed": 0,
                       "recoveries without a disk": 0, "damaged": 0, "with damage skipped": 0,
                       "empty logs": 0, "requests": 0, "laid over": 0}

    def fail(self, message):
        self.failures.append(message)
        print(message, flush=True)

    def launch(self, ranks, arguments, changes=None, program=None, more=()):
        hints = self.hints + list(more)
        if self.options.mode.endswith("shared") and ranks > 2 and not self.options.disks:
            hints.append("ranks_per_node=2")
        changes = dict(changes or {}, FOREBAY_HINTS=";".join(hints))
        command = [program or self.options.program] + arguments
        return killing.launch((self.mpiexec + [str(ranks)] if ranks else []) + command, changes)

    def run(self, ranks, arguments, program=None, more=()):
        """Returns the exit code and all that was printed."""
        process = self.launch(ranks, arguments, program=program, more=more)
        try:
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            return None, "did not end: " + str(process.communicate())
        return process.returncode, output[-3000:] + errors[-1500:]

    def create(self):
        for path in self.log_files():
            os.unlink(path)
        for name in os.listdir(self.dir):
            if name.startswith("file.nc"):
                os.unlink(os.path.join(self.dir, name))
        for arguments in (["create", self.file], ["check", self.file, "-", "0", "0", "0", "acked",
                                                  self.base]):
            code, output = self.run(2, arguments)
            if code != 0:
                raise SystemExit(f"{arguments[0]} failed: {output}")

    def log_files(self):
        return [os.path.join(disk, name) for disk in self.disks for name in os.listdir(disk)]

    # -- killing

    def choose_call(self, program, ranks):
        """Where FOREBAY_TEST_KILL ends a rank."""
        name = self.random.choice(sorted(CALLS))
        most = self.random.choice([3, CALLS[name] // 5, CALLS[name]])
        if program == "recover":
            most = min(most, 8)
        return "{}:{}:{}".format(
            self.random.choice([0, 0, ranks - 1]), self.random.randint(1, most),
            self.random.choice(["before", "half", "after"])) + (f":{name}" if name else "")

    def run_and_kill(self, ranks, arguments, log, most_seconds):
        """True if the program was killed before it had ended."""
        log.clear()
        changes = {}
        if self.random.random() < 0.6:
            changes["FOREBAY_TEST_KILL"] = self.choose_call(arguments[0], ranks)
        how = f"{arguments[0]} on {ranks} ranks {changes.get('FOREBAY_TEST_KILL', 'at some time')}"
        victim = killing.Victim(self.launch(ranks, arguments, changes), log)
        if not changes:
            time.sleep(self.random.uniform(0, most_seconds))
            victim.kill_now(self.random)
        output, in_time = victim.wait()
        if not in_time:
            self.fail(f"{how}: did not end: {output}")
        if log.has("error") or not log.has("ready"):
            self.fail(f"{how}: {log.errors()} {output}")
        killed = not log.has("closed")
        self.counts["by call"] += killed and bool(changes)
        return killed, how

    # -- what a power failure leaves

    def lose_tail(self, ranks):
        """Damages one log file. Returns what was done."""
        paths = sorted(self.log_files())
        if not paths:
            return None
        path = self.random.choice(paths)
        name = os.path.basename(path)
        shared = ".n" in name[-20:]
        parts = ranks if shared else 1
        if name.endswith(".records"):
            least = HEADER + (parts - 1) * BLOCK
        else:
            least = DATA_BEGIN + (parts - 1) * DATA_BLOCK
        size = os.path.getsize(path)
        if size <= least:
            return None
        how = self.random.choice(["cut", "zero", "sectors"])
        at = self.random.randint(least, size - 1)
        if how == "sectors":
            at = max(least, size - self.random.randint(1, 8) * 512)
        with open(path, "r+b") as f:
            if how == "zero":
                f.seek(at)
                f.write(bytes(size - at))
            else:
                f.truncate(at)
        self.counts["damaged"] += 1
        return f"{name} of {size} bytes: {how} at {at}"

    # -- recovering

    def recover_by_tool(self, ranks, more=()):
        return self.run(ranks, ["recover", self.file] + list(more), self.options.forebay)

    def kill_recovery(self, ranks):
        log = killing.Log(os.path.join(self.dir, "recover.log"))
        killed, _ = self.run_and_kill(ranks, ["recover", self.file, log.path], log, 0.05)
        self.counts["recoveries killed"] += killed

    def read_file(self):
        return read_bytes(self.file)

    def differs(self, before):
        # Chunks are written to new places; what they hold is checked later.
        return self.options.mode not in ("chunked", "netcdf4") and self.read_file() != before

    def recover_without_a_disk(self, how):
        """One rank does not see the logs of the second node: it must say so, and change nothing."""
        before = self.read_file()
        code, output = self.recover_by_tool(1)
        if code == 0 and "nothing to replay" in output:
            return
        self.counts["recoveries without a disk"] += 1
        if code == 0 or "directories of other nodes" not in output:
            self.fail(f"{how}: recovered without the logs of a node: {output}")
        if self.read_file() != before:
            self.fail(f"{how}: a recovery without the logs of a node changed the file")

    def recover(self, how, damage):
        nodes = max(i + 1 for i, disk in enumerate(self.disks) if i == 0 or os.listdir(disk))
        if nodes > 1 and os.path.exists(self.file + ".staging") and not damage:
            self.recover_without_a_disk(how)
        least = [ranks for ranks in (1, 2, 3) if ranks >= nodes]
        while self.random.random() < 0.35 and not damage:
            self.kill_recovery(self.random.choice(least))
        ranks = self.random.choice(least if self.options.disks else [0, 1, 2, 3])
        kind = self.random.choice(["tool", "twice", "auto"])
        self.counts["recoveries"] += 1
        how += f", recovered by {kind} on {ranks} ranks"
        if kind == "auto" and not damage:
            log = os.path.join(self.dir, "recover.log")
            code, output = self.run(max(ranks, 1), ["recover", self.file, log])
        else:
            more = []
            before = self.read_file()
            if kind == "twice":
                more = ["--keep"]
            code, output = self.recover_by_tool(ranks, more)
            if code != 0 and damage and "damage" in output:
                self.counts["with damage skipped"] += 1
                if self.read_file() != before:
                    self.fail(f"{how}: a recovery that was refused changed the file")
                more.append("--skip-damaged")
                code, output = self.recover_by_tool(ranks, more)
                code = 0 if code == 1 and "error" not in output else code
                if code == 0 and kind == "twice":
                    more.remove("--keep")
                    before = self.read_file()
                    self.recover_by_tool(max(nodes, self.random.choice([1, 2])), more)
                    if self.differs(before):
                        self.fail(f"{how}: the second recovery changed the file")
            elif code == 0 and kind == "twice":
                before = self.read_file()
                code, output = self.recover_by_tool(max(nodes, self.random.choice([1, 2])))
                if self.differs(before):
                    self.fail(f"{how}: the second recovery changed the file")
        if code != 0:
            self.fail(f"{how}: returned {code}: {output}")
        return how

    # -- a cycle

    def look_at(self, ranks, number, seed, mode, base, more=()):
        return self.run(self.random.choice([1, 2, 3]),
                        ["check", self.file, os.path.join(self.dir, "write.log"), str(seed),
                         str(number), str(ranks), mode, base], more=more)

    def lay_over(self, how, ranks, number, seed):
        """Another program reads the file with its logs, which must change nothing. Returns what it read."""
        base = self.base + ".overlay"
        shutil.copyfile(self.base, base)
        before = self.read_file(), {path: os.path.getsize(path) for path in self.log_files()}
        code, output = self.look_at(ranks, number, seed, "acked", base, ["recover=overlay"])
        if code != 0:
            self.fail(f"{how}: with recover=overlay: {output}")
        if before != (self.read_file(), {path: os.path.getsize(path) for path in self.log_files()}):
            self.fail(f"{how}: reading changed the file or its logs")
        self.counts["laid over"] += os.path.exists(self.file + ".staging")
        return read_bytes(base)

    def check(self, how, ranks, number, seed, mode):
        code, output = self.look_at(ranks, number, seed, mode, self.base)
        if code != 0:
            self.fail(f"{how}: {output}")
            return
        self.counts["requests"] += int(output.split()[0])
        if "chunked" not in self.options.mode and shutil.which("ncdump"):
            done = subprocess.run(["ncdump", "-h", self.file], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0 or "series(time, series_x)" not in done.stdout:
                self.fail(f"{how}: ncdump: {done.stdout[-500:]}")

    def hold_nothing(self, paths):
        """Whether logs hold no writes, or were not even begun."""
        for disk in sorted({os.path.dirname(path) for path in paths}):
            code, output = self.run(0, ["recover", "--list", "--json", disk], self.options.forebay)
            begun = any(p.endswith(".records") and os.path.getsize(p) <= HEADER for p in paths)
            sessions = json.loads(output)["sessions"]
            # A part of a node's log may be killed amid its header, before the control file is there.
            begun |= "two states is whole" in output and not os.path.exists(self.file + ".staging")
            elsewhere = self.options.disks and all(s["outcome"] == "logs are missing" for s in sessions)
            if code != 0 and not begun and not elsewhere:
                return False
            if any(session["writes"] != 0 for session in sessions):
                return False
        return True

    def check_left(self, how):
        left = self.log_files()
        # Logs of datasets that were closed stay if they are to. A job that is killed before its
        # control file is there leaves logs without anything in them, which no file knows of.
        if left and ("keep" in self.options.mode or self.hold_nothing(left)):
            self.counts["empty logs"] += "keep" not in self.options.mode
            for path in left:
                os.unlink(path)
            left = []
        left += [n for n in os.listdir(self.dir) if n.startswith("file.nc.")]
        if left:
            self.fail(f"{how}: left behind: {left}")

    def cycle(self, number):
        number %= CYCLES_A_FILE
        if number == 0:
            self.create()
        for name in os.listdir(self.dir):
            if name.startswith("write.log"):
                os.unlink(os.path.join(self.dir, name))
        ranks = self.random.choice([2, 3, 4] if self.options.disks else [1, 2, 3, 4])
        seed = self.random.randrange(1 << 30)
        log = killing.Log(os.path.join(self.dir, "write.log"))
        killed, how = self.run_and_kill(
            ranks, ["write", self.file, log.path, str(seed), str(number), str(STEPS)], log, 0.35)
        how = f"mode {self.options.mode}, cycle {number}, seed {seed}: {how}"
        self.counts["killed"] += killed
        damage = self.lose_tail(ranks) if killed and self.options.power_failures else None
        if damage:
            how += f", {damage}"
        if self.options.keep_state:
            shutil.rmtree(self.dir + ".state", ignore_errors=True)
            shutil.copytree(self.dir, self.dir + ".state")
        over = None if damage or self.options.disks else self.lay_over(how, ranks, number, seed)
        how = self.recover(how, damage)
        if self.failures:
            return False
        self.check_left(how)
        self.check(how, ranks, number, seed, "synced" if damage else "acked")
        if over is not None and over != read_bytes(self.base):
            self.fail(f"{how}: with recover=overlay other values were read than after the recovery")
        return not self.failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--forebay", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--mode", choices=sorted(MODES), required=True)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--disks", type=int, default=0)
    parser.add_argument("--power-failures", action="store_true")
    parser.add_argument("--keep-state", action="store_true",
                        help="copy files and logs to DIRECTORY.state before they are recovered")
    options = parser.parse_args()
    options.kills = cases.few_of(options.kills)
    options.dir = os.path.abspath(options.dir)
    os.makedirs(os.path.join(options.dir, "logs"), exist_ok=True)
    test = Test(options)
    # Whether a kill leaves something to recover is chance: there are more of them until one has.
    without_a_disk = options.disks > 1 and not options.power_failures
    for number in range(MOST * options.kills):
        shown = not without_a_disk or test.counts["recoveries without a disk"] > 0
        if (number >= options.kills and shown) or not test.cycle(number):
            break
    print(", ".join(f"{n} {what}" for what, n in test.counts.items()))
    if not test.failures and without_a_disk and test.counts["recoveries without a disk"] == 0:
        test.fail("no recovery without a node's logs")
    if not test.failures and test.counts["killed"] < max(1, options.kills // 4):
        test.fail("too few kills: the test does not test")
    if not test.failures and test.counts["killed"] and not options.power_failures and not options.disks:
        if test.counts["laid over"] == 0:
            test.fail("no logs were laid over a file")
    print(f"{len(test.failures)} failures (seed {options.seed})")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
