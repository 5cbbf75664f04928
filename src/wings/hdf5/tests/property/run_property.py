#!/usr/bin/env python3
"""Runs property_test through the connector of the environment, and finds out whose fault a failed round is.

  run_property.py --launch "MPIEXEC -n N" --program PROPERTY_TEST --seed S --rounds N
                  [--spoil-tested OPERATION] [options of property_test]

A round that fails, crashes or hangs is repeated without a connector, in a job of its own. If HDF5 fails then, too, the
round is abandoned; otherwise the test fails, and says how to repeat the round. HDF5 may fail in few rounds only, or
little would have been tested. --spoil-tested is --spoil for all but the repetition without a connector.
"""

import argparse
import os
import shlex
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../../tests/support"))
import cases  # noqa: E402  pylint: disable=wrong-import-position

SILENCE = 60  # seconds that an operation may take
CONNECTOR = "HDF5_VOL_CONNECTOR"
SHOWN = ("HDF5_", "FOREBAY_", "OMPI_")


class Job:
    """Rounds in one job, up to the first that does not pass."""

    def __init__(self, options, seed, rounds, native=False):
        self.options, self.first, self.last, self.native = options, seed, seed, native
        self.said, self.hangs = [], False
        environment = {k: v for k, v in os.environ.items() if not (native and k == CONNECTOR)}
        with subprocess.Popen(self.command(rounds), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace") as process:
            for line in self.lines(process):
                words = line.split()
                if words[:1] == ["round"]:
                    self.last, self.said = int(words[1]), []
                elif words[:1] != ["operation"]:
                    self.said.append(line)
        self.passed = process.returncode == 0

    def lines(self, process):
        """What the job says, until it ends or an operation takes too long."""
        while True:
            silence = threading.Timer(SILENCE, self.end, [process])
            silence.start()
            line = process.stdout.readline()
            silence.cancel()
            if not line:
                return
            yield line

    def end(self, process):
        self.hangs = True
        process.terminate()  # mpiexec ends its ranks

    def command(self, rounds):
        spoil = ["--spoil", self.options.spoil_tested] if self.options.spoil_tested and not self.native else []
        return [*shlex.split(self.options.launch), self.options.program, "--seed", str(self.first), "--rounds",
                str(rounds), *spoil, *self.options.rest]

    def how(self):
        """Its end, in a line."""
        if self.hangs:
            return f"no end of an operation after {SILENCE} s"
        said = (line.strip().removeprefix("FAILED: ") for line in self.said)  # errors may come before the output
        return next((line for line in said if line.startswith("seed")), "it crashed")

    def repeat(self):
        settings = [f"{k}={shlex.quote(v)}" for k, v in sorted(os.environ.items()) if k.startswith(SHOWN)]
        return f"cd {shlex.quote(os.getcwd())} && env {' '.join(settings)} " + shlex.join(
            self.command(self.last - self.first + 1))


def is_abandoned(failed, options):
    """Whether HDF5 fails without the connector in what a job failed in; says it."""
    alone = Job(options, failed.last, 1)
    # Where the round passes alone, an earlier one did the damage.
    through = failed if alone.passed else alone
    native = Job(options, through.first, failed.last - through.first + 1, native=True)
    # Slow is no fault, and a fault of another round is not that of this one.
    if not native.passed and native.last == failed.last and not (native.hangs and not failed.hangs):
        print(f"abandoned: seed {failed.last}: without a connector: {native.how()}", flush=True)
        return True
    print("".join(failed.said[-60:]))
    print(f"FAILED: seed {failed.last}, without a connector it passes: {failed.how()}\nrepeat: {through.repeat()}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--spoil-tested")
    parser.add_argument("--most-abandoned", type=float, default=0.05, help="of the rounds (default: %(default)s)")
    options, options.rest = parser.parse_known_args()
    rounds = cases.few_of(options.rounds)
    abandoned, seed, end = 0, options.seed, options.seed + rounds
    while seed < end:
        job = Job(options, seed, end - seed)
        if job.passed:
            break
        if not is_abandoned(job, options):
            return 1
        abandoned += 1
        seed = job.last + 1
    print(f"{rounds} rounds from seed {options.seed}, {abandoned} of them abandoned, connector: "
          f"{os.environ.get(CONNECTOR) or 'none'}")
    if abandoned > options.most_abandoned * rounds:
        print(f"FAILED: more than {options.most_abandoned:.0%} of the rounds are abandoned")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
