"""Makes every system call of every rank fail in turn, and looks at what the ranks say of it.

Usage: run_injection.py --launch "MPIEXEC ..." --program INJECTION --dir DIRECTORY --ranks N
                        [--chunked COLUMNS]

For each kind of call and rank, the first, second, ... call fails until a run gets through without
an error. Each run must end by itself, with one code on all ranks and the code that the errno
stands for; after a failed write the file still opens and holds what nobody wrote to. With
--chunked (and FOREBAY_HINTS that make variables chunked) rows have COLUMNS elements, a failed write
leaves all of the old state or all of the new one, and a second attempt must succeed.
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


class Runner:
    def __init__(self, options):
        self.launch = shlex.split(options.launch)
        self.program = options.program
        self.path = os.path.join(options.dir, "file.nc")
        self.columns = [str(options.chunked)] if options.chunked else []
        self.runs = 0

    def run(self, phase, fault=None):
        environment = dict(os.environ)
        environment.pop("FOREBAY_FAULT", None)
        if fault:
            environment["FOREBAY_FAULT"] = fault
        self.runs += 1
        try:
            command = self.launch + [self.program, phase, self.path] + self.columns
            done = subprocess.run(command, timeout=60, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        except subprocess.TimeoutExpired:
            return None, "hang", []
        codes = [int(c) for line in done.stdout.splitlines() if line.startswith("codes")
                 for c in line.split()[1:]]
        # What the launcher has to say about a failure fills pages.
        return done.returncode, done.stdout[-600:] or done.stderr[-600:], codes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--chunked", type=int, metavar="COLUMNS")
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    runner = Runner(options)
    code, output, _ = runner.run("prepare")
    if code != 0:
        print(f"prepare failed: {output}")
        return 1
    original = os.path.join(options.dir, "original.nc")
    shutil.copyfile(runner.path, original)
    failures, fired = [], {}
    plan, most = (CHUNKED_PLAN, MOST_CHUNKED_CALLS) if options.chunked else (PLAN, MOST_CALLS)
    checked = ("write", "redefine") if options.chunked else ("write",)
    for phase, call, errno, expected in plan:
        for rank in range(options.ranks):
            for number in range(1, most + 1):
                fault = f"{call}:rank={rank}:call={number}:errno={errno}"
                shutil.copyfile(original, runner.path)
                code, output, codes = runner.run(phase, fault)
                if code != 0:
                    failures.append(f"{phase} under {fault}: exit {code}: {output}")
                if code == 0 and not codes:
                    break  # there are no more such calls
                key = (phase, call, errno)
                fired[key] = fired.get(key, 0) + 1
                if codes and expected is not None and codes[0] != expected:
                    failures.append(f"{phase} under {fault}: codes {codes}, expected {expected}")
                if phase in checked:
                    code, output, _ = runner.run("check")
                    if code != 0:
                        failures.append(f"after {phase} under {fault}: {output}")
                if code is None:
                    break
    for line in failures[:20]:
        print(line)
    for phase, call, errno, _ in plan:
        print(f"{phase}: {fired.get((phase, call, errno), 0)} calls of {call} made to fail ({errno})")
    silent = [c for c in ("pwrite", "open") if not any(k[1] == c for k in fired)]
    if silent:
        print(f"no fault fired for {silent}: the hook does not work")
    print(f"{runner.runs} runs, {len(failures)} failures")
    return 1 if failures or silent else 0


if __name__ == "__main__":
    sys.exit(main())
