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

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../tests", name) for name in ("fault", "support")]
import cases
import killing

MOST_CALLS = 80
# Which rank writes a file's head differs from run to run: one that makes fewer calls than before has not shown them all.
UNKILLED = 4  # runs, one after the other, behind which there are no more calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--behind", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="calls from one that is the last to the next")
    options = parser.parse_args()
    mpiexec = shlex.split(options.mpiexec)
    killed, failures, found = 0, [], {}
    for victim, when in [(0, "before"), (0, "after"), (1, "before"), (1, "half")]:
        ended = False

        def dies(call):
            nonlocal killed, ended
            if call > MOST_CALLS * options.every:
                return False
            shutil.rmtree(options.dir, ignore_errors=True)
            os.makedirs(options.dir)
            log = killing.Log(os.path.join(options.dir, "log"))
            process = killing.launch(
                mpiexec + ["2", options.program, "write", options.dir, log.path],
                {"FOREBAY_TEST_KILL": f"{victim}:{call}:{when}"},
            )
            output = process.communicate(timeout=100)
            done = log.last("done") or 0
            if process.returncode == 0:
                ended = True
                return False
            killed += 1
            least = max(done - options.behind, 0)
            look = subprocess.run(
                mpiexec + ["1", options.program, "check", options.dir, str(least)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=100,
            )
            whole = [int(line.split()[0]) for line in look.stdout.splitlines() if line.endswith(" whole")]
            found[victim, when, call] = whole[0] if whole else 0
            if look.returncode != 0 or not whole:
                failures.append(f"rank {victim} {when} call {call}, {done} done: {look.stdout} {output}")
            return True

        tried = cases.try_places(dies, step=options.every, patience=UNKILLED)
        print(f"rank {victim}, {when}: {tried} calls")
        # All files of a step came between two of these kills: between them one is amid publishing.
        calls = sorted(call for who, how, call in found if (who, how) == (victim, when))
        if victim == 0 and not any(count % 3 for count in found.values()):
            low, high = next((pair for pair in zip(calls, calls[1:]) if found[0, when, pair[0]] < found[0, when, pair[1]]), (0, 0))
            while high - low > 1 and not any(count % 3 for count in found.values()):
                middle = (low + high) // 2
                if dies(middle) and found[0, when, middle] > found[0, when, low]:
                    high = middle
                else:
                    low = middle
        if not ended:
            failures.append(f"rank {victim}: more than {MOST_CALLS * options.every} calls")
    seen = set(found.values())
    print(f"{killed} kills; whole were {sorted(seen)} of 9 files")
    # Between headers, too: some of a step's files are there, and others are not.
    if not any(count % 3 for count in seen):
        failures.append("no kill was amid publishing: the test does not test")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
