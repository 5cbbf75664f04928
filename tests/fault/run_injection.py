"""Makes every system call of every rank fail in turn, and looks at what the ranks say of it.

Usage: run_injection.py --launch "MPIEXEC ..." --program INJECTION --dir DIRECTORY --ranks N
                        [--chunked COLUMNS | --staged FOREBAY]

For each kind of call and rank, the first, second, ... call (see injection.cc) fails until runs get through without an
error, all in one process a rank (which a hang ends). Each run must end by itself, with one code on all ranks and the code that the errno
stands for; after a failed write the file still opens and holds what nobody wrote to. With
--chunked (and FOREBAY_HINTS that make variables chunked) rows have COLUMNS elements, a failed write
leaves all of the old state or all of the new one, and a second attempt must succeed. With --staged
writes go through stage `burst`: whatever call fails, what was put is in the file once it was closed
and, if logs are left, recovered, unless the put itself returned an error.
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys

NO_SPACE, QUOTA, ACCESS = -224, -225, -77
# (phase, call, errno, code that every rank must report, or None for any error)
PLAN = [
    ("write", "pwrite", "ENOSPC", NO_SPACE),
    ("write", "pwrite", "EIO", None),
    ("write", "pread", "EIO", None),
    ("write", "fsync", "EIO", None),
    ("write", "open", "EACCES", ACCESS),
    ("redefine", "pwrite", "ENOSPC", NO_SPACE),
    ("redefine", "pread", "EIO", None),
    ("read", "pread", "EIO", None),
    ("read", "open", "EACCES", ACCESS),
]
CHUNKED_PLAN = [step for step in PLAN if step[:3] != ("write", "pwrite", "EIO")] + [
    ("rewrite", "pwrite", "ENOSPC", NO_SPACE),
    ("rewrite", "pread", "EIO", None),
    ("rewrite", "fsync", "EIO", None),
    ("rewrite", "open", "EACCES", ACCESS),
]
MOST_CALLS, MOST_CHUNKED_CALLS = 12, 150
# (call, errno, how many calls a rank makes at most) of a write through a log
STAGED_PLAN = [("pwrite", "ENOSPC", 20), ("pwrite", "EIO", 20), ("pread", "EIO", 8),
               ("open", "EACCES", 6), ("fsync", "EIO", 3)]


class Runner:
    def __init__(self, options):
        self.launch = shlex.split(options.launch)
        self.program = options.program
        self.path = os.path.join(options.dir, "file.nc")
        self.columns = [str(options.chunked)] if options.chunked else []
        self.runs = 0
        self.failed = []  # calls of the last run that returned an error
        self.changes = {}

    def run(self, phase, fault=None):
        environment = dict(os.environ, **self.changes)
        environment.pop("FOREBAY_FAULT", None)
        if fault:
            environment["FOREBAY_FAULT"] = fault
        self.runs += 1
        try:
            command = self.launch + [self.program, phase, self.path] + self.columns
            done = subprocess.run(command, timeout=60, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        except subprocess.TimeoutExpired:
            return None, "hang"
        self.failed = [w for line in done.stdout.splitlines() if line.startswith("failed")
                       for w in line.split()[1:]]
        # What the launcher has to say about a failure fills pages.
        return done.returncode, done.stdout[-600:] or done.stderr[-600:]

    def sweep(self, phase, original, fault, most):
        """Exit code, output, and the codes of each run by the number of the call that failed."""
        command = self.launch + [self.program, "sweep", phase, original, self.path, fault, str(most)]
        done = subprocess.run(command + self.columns, timeout=500, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, FOREBAY_FAULT="none"))
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("call ")]
        calls = {int(words[1]): [int(c) for c in words[3:]] for words in lines}
        self.runs += len(calls)
        return done.returncode, done.stdout[-600:] or done.stderr[-600:], calls


class StagedRunner:
    """Makes calls of a write through stage `burst` fail."""

    def __init__(self, runner, options, original):
        self.runner, self.original = runner, original
        self.forebay, self.ranks, self.every = options.staged, options.ranks, options.every
        self.logs = os.path.join(options.dir, "logs")
        self.hints = f"stage=burst;nc_burst_buf_dirname={self.logs};" + os.environ.get(
            "FOREBAY_HINTS", "")
        self.failures = []
        self.counts = {"without an error": 0, "with one": 0, "recovered": 0}

    def left(self):
        beside = os.path.exists(self.runner.path + ".staging")
        return os.listdir(self.logs) + (["control file"] if beside else [])

    def inject(self, fault):
        shutil.rmtree(self.logs, ignore_errors=True)
        os.mkdir(self.logs)
        shutil.copyfile(self.original, self.runner.path)
        self.runner.changes = {"FOREBAY_HINTS": self.hints}
        code, output = self.runner.run("write", fault)
        failed = self.runner.failed
        self.runner.changes = {}
        if code != 0:
            self.failures.append(f"staged write under {fault}: exit {code}: {output}")
            return
        self.counts["with one" if failed else "without an error"] += 1
        if self.left() and not failed:
            self.failures.append(f"under {fault} nothing failed and {self.left()} are left")
        if self.left():
            done = subprocess.run([self.forebay, "recover", self.runner.path], timeout=60,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.counts["recovered"] += 1
            if done.returncode != 0 or self.left():
                self.failures.append(f"under {fault}: {failed} failed, and recovery: {done.stdout}, "
                                     f"left: {self.left()}")
        refused = {"open", "put_vara_all", "wait_all"} & set(failed)
        code, output = self.runner.run("partly" if refused else "written")
        if code != 0:
            self.failures.append(f"after {fault}, where {failed} failed: {output}")

    def run(self):
        for call, errno, most in STAGED_PLAN:
            for rank in range(self.ranks):
                for number in range(1, most + 1, self.every):
                    self.inject(f"{call}:rank={rank}:call={number}:errno={errno}")
                for number in range(4, most + 1, 2 * self.every):
                    self.inject(f"{call}:rank={rank}:call={number}:errno={errno}:from")
        for line in self.failures[:20]:
            print(line)
        print(", ".join(f"{n} {what}" for what, n in self.counts.items()))
        silent = self.counts["with one"] == 0 or self.counts["recovered"] == 0
        if silent:
            print("no call returned an error, or nothing had to be recovered: the test does not test")
        print(f"{self.runner.runs} runs, {len(self.failures)} failures")
        return 1 if self.failures or silent else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--chunked", type=int, metavar="COLUMNS")
    parser.add_argument("--staged", metavar="FOREBAY")
    parser.add_argument("--every", type=int, default=1, help="of the calls (--staged)")
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    runner = Runner(options)
    code, output = runner.run("prepare")
    if code != 0:
        print(f"prepare failed: {output}")
        return 1
    original = os.path.join(options.dir, "original.nc")
    shutil.copyfile(runner.path, original)
    if options.staged:
        return StagedRunner(runner, options, original).run()
    failures, fired = [], {}
    plan, most = (CHUNKED_PLAN, MOST_CHUNKED_CALLS) if options.chunked else (PLAN, MOST_CALLS)
    checked = ("write", "redefine") if options.chunked else ("write",)
    for phase, call, errno, expected in plan:
        phases = phase + ",check" if phase in checked else phase
        for rank in range(options.ranks):
            code, output, calls = runner.sweep(phases, original, f"{call}:rank={rank}:errno={errno}",
                                               most)
            if code != 0:
                failures.append(f"{phase} under {call} {len(calls)} of rank {rank} failing ({errno}) "
                                f"or the next: exit {code}: {output}")
            elif not calls:
                failures.append(f"{phase}: no run under {call} of rank {rank}: {output}")
            fired[phase, call, errno] = fired.get((phase, call, errno), 0) + sum(map(bool, calls.values()))
            failures += [f"{phase} under {call} {number} of rank {rank} ({errno}): codes {codes}, "
                         f"expected {expected}" for number, codes in calls.items()
                         if codes and expected is not None and codes[0] != expected]
    for line in failures[:20]:
        print(line)
    for (phase, call, errno), number in fired.items():
        print(f"{phase}: {number} calls of {call} made to fail ({errno})")
    silent = [c for c in ("pwrite", "open") if not any(n for k, n in fired.items() if k[1] == c)]
    if silent:
        print(f"no fault fired for {silent}: the hook does not work")
    print(f"{runner.runs} runs, {len(failures)} failures")
    return 1 if failures or silent else 0


if __name__ == "__main__":
    sys.exit(main())
