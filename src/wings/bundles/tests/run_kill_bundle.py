"""Kills a program that writes files of a bundle, at one system call after another, and looks at what is left.

Usage: run_kill_bundle.py --mpiexec "MPIEXEC ... -n" --program KILL_BUNDLE --dir DIRECTORY [--behind 1] [--every 1]

Whichever call is the last of a rank, each file is whole, or has no header; and those are there whose closes had
returned, but for the last `--behind` steps (bundle_async).
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../tests")
sys.path[:0] = [os.path.join(TESTS, name) for name in ("fault", "support")]
import cases
import killing

MOST_CALLS = 80
# Which rank writes a file's head differs from run to run: one that makes fewer calls than before has not shown them all.
UNKILLED = 4  # runs, one after the other, behind which there are no more calls


class Test:
    def __init__(self, options):
        self.options = options
        self.mpiexec = shlex.split(options.mpiexec)
        self.killed, self.failures = 0, []
        self.whole = {}  # files that are whole after a kill: (victim, when, call) -> how many

    def dies(self, victim, when, call):
        """Whether the program is killed at this call; then what is left is looked at."""
        shutil.rmtree(self.options.dir, ignore_errors=True)
        os.makedirs(self.options.dir)
        log = killing.Log(os.path.join(self.options.dir, "log"))
        process = killing.launch(
            self.mpiexec + ["2", self.options.program, "write", self.options.dir, log.path],
            {"FOREBAY_TEST_KILL": f"{victim}:{call}:{when}"},
        )
        output = process.communicate(timeout=100)
        done = log.last("done") or 0
        if process.returncode == 0:
            return False
        self.killed += 1
        least = max(done - self.options.behind, 0)
        look = subprocess.run(
            self.mpiexec + ["1", self.options.program, "check", self.options.dir, str(least)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
        )
        whole = [int(line.split()[0]) for line in look.stdout.splitlines() if line.endswith(" whole")]
        if look.returncode != 0 or not whole:
            self.failures.append(f"rank {victim} {when} call {call}, {done} done: {look.stdout} {output}")
        self.whole[victim, when, call] = whole[0] if whole else 0
        return True

    def amid_publishing(self):
        """Whether after some kill some of a step's files were there, and others were not."""
        return any(count % 3 for count in self.whole.values())

    def kill_between(self, victim, when):
        """Kills between two kills where files appeared, until one is amid publishing."""
        calls = sorted(call for who, how, call in self.whole if (who, how) == (victim, when))
        whole = [self.whole[victim, when, call] for call in calls]
        step = next((i for i in range(1, len(calls)) if whole[i - 1] < whole[i]), None)
        if step is None:
            return
        low, high = calls[step - 1], calls[step]
        while high - low > 1 and not self.amid_publishing():
            middle = (low + high) // 2
            later = self.dies(victim, when, middle) and self.whole[victim, when, middle] > whole[step - 1]
            low, high = (low, middle) if later else (middle, high)

    def sweep(self, victim, when):
        most = MOST_CALLS * self.options.every
        over = False

        def dies(call):
            nonlocal over
            died = not over and self.dies(victim, when, call)
            over = over or (died and call > most)
            return died and not over

        tried = cases.try_places(dies, step=self.options.every, patience=UNKILLED)
        print(f"rank {victim}, {when}: {tried}")
        if over:
            self.failures.append(f"rank {victim}: more than {most} calls")
        if victim == 0 and not self.amid_publishing():
            self.kill_between(victim, when)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--behind", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="calls from one that is the last to the next")
    test = Test(parser.parse_args())
    for victim, when in [(0, "before"), (0, "after"), (1, "before"), (1, "half")]:
        test.sweep(victim, when)
    print(f"{test.killed} kills; whole were {sorted(set(test.whole.values()))} of 9 files")
    if not test.amid_publishing():
        test.failures.append("no kill was amid publishing: the test does not test")
    print("\n".join(test.failures))
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
