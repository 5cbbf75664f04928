#!/usr/bin/env python3
"""Fresh seeds for every property, kill and fault test, and the fuzzers, until the time is over.

  soak.py --build DIR --minutes N [--jobs 2] [--seed S] [--only REGEX] [--fuzz DIR --corpus DIR]

Used by ./dev soak, which builds first. Programs, environments and time limits are those that CTest knows; TABLE says
which tests take part and where a seed goes. A failure prints the command that repeats it, and the soak goes on; the end
prints how many rounds of each ran. --seed repeats the choice of seeds, not how tests meet in time.
"""

import argparse
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

# Names of tests; options that each run gets (None: a fresh seed); the option that tells how many rounds a run is.
TABLE = (
    (r"(cluster\.)?model[._]", {"--seed": None}, "--rounds"),
    (r"hdf5\.(vol|compact)\.property|cluster\.hdf5_property", {"--seed": None, "--most-abandoned": "1"}, "--rounds"),
    (r"fault\.no_memory", {"--seed": None}, "--seconds"),
    (r"fault\.kill|hdf5\.vol\.kill|cluster\.(hdf5_)?kill", {"--seed": None, "--kills": "6"}, "--kills"),
    (r"(transport_np|threads\.)", {}, None),
    (r"fault\.", {}, None),  # the order in which ranks meet differs
)
# Where tests take a seed from the environment.
SEED_VARIABLES = ("FOREBAY_TEST_SEED", "FOREBAY_TEST_DELAYS")
FUZZ_SECONDS = 30
# Rounds in which HDF5 itself fails: judged over all runs, for in one of few rounds a single one is much.
ABANDONED = re.compile(r"(\d+) rounds from seed \d+, (\d+) of them abandoned")
MOST_ABANDONED, FEW_ABANDONED = 0.05, 3
TAIL, WIDTH = 40, 500  # lines of what a failed run said, and characters of each


class Run:
    """One test of CTest, or a fuzzer: how it is run with a new seed."""

    def __init__(self, name, command, options, counted, environment=None, folder=None, limit=600):
        self.name, self.command, self.options, self.counted = name, command, options, counted
        self.environment, self.folder, self.limit = environment or {}, folder, limit
        self.busy = threading.Lock()  # its files are not those of a second run beside it

    def fresh(self, seeds):
        """(command, environment, rounds)"""
        command = list(self.command)
        for option, value in self.options.items():
            value = value or str(seeds.randrange(1, 1 << 30))
            if option in command:
                command[command.index(option) + 1] = value
            else:
                command += [option, value]
        environment = {"FOREBAY_TEST_FULL": "1", "FOREBAY_TEST_SEED": "", **self.environment}
        for name in SEED_VARIABLES:
            if name in environment:
                environment[name] = str(seeds.randrange(1, 1 << 30))
        rounds = int(command[command.index(self.counted) + 1]) if self.counted in command else 1
        return command, environment, rounds


def tests_of(build, only):
    """The tests that take part."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                            check=True).stdout
    runs = []
    for test in json.loads(listed)["tests"]:
        row = next((row for row in TABLE if re.match(row[0], test["name"])), None)
        if row is None or "command" not in test or not re.search(only, test["name"]):
            continue
        properties = {p["name"]: p["value"] for p in test["properties"]}
        environment = {}
        for change in properties.get("ENVIRONMENT_MODIFICATION", []):
            name, _, rest = change.partition("=")
            operation, _, value = rest.partition(":")
            if operation not in ("set", "unset"):
                sys.exit(f"soak: {test['name']} changes its environment by {operation}, which is not known here")
            environment[name] = value if operation == "set" else None
        runs.append(Run(test["name"], test["command"], row[1], row[2], environment, properties["WORKING_DIRECTORY"],
                        properties.get("TIMEOUT", 600)))
    return runs


def fuzzers_of(folder, corpora, only):
    runs = []
    for program in sorted(Path(folder).glob("**/fuzz_*")):
        if not (program.is_file() and os.access(program, os.X_OK)) or program.name.endswith("_seeds"):
            continue
        corpus = Path(corpora) / program.name
        corpus.mkdir(parents=True, exist_ok=True)
        inputs = [str(corpus)] + [str(p) for p in [program.with_name(program.name + ".corpus")] if p.is_dir()]
        command = [str(program), f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", "-rss_limit_mb=2048",
                   "-max_len=65536", "-verbosity=0", *inputs]
        if re.search(only, program.name):
            runs.append(Run(program.name, command, {}, None, folder=str(program.parent), limit=FUZZ_SECONDS + 120))
    return runs


def shown(command, environment, folder):
    """The command line that repeats a run."""
    settings = [f"-u {name}" for name, value in environment.items() if value is None]
    settings += [f"{name}={shlex.quote(value)}" for name, value in environment.items() if value is not None]
    return f"cd {shlex.quote(folder)} && env {' '.join(settings)} {shlex.join(command)}"


class Soak:
    def __init__(self, runs, options):
        self.runs, self.options = runs, options
        self.seeds = random.Random(options.seed)
        self.turn = threading.Lock()
        self.waiting = []
        self.rounds, self.times, self.failures = Counter(), Counter(), []
        self.judged, self.abandoned = Counter(), Counter()
        self.end = time.monotonic() + 60 * options.minutes

    def next(self):
        """A run that is not busy: each once before any comes again."""
        with self.turn:
            if time.monotonic() >= self.end:
                return None
            if not self.waiting:
                self.waiting = self.seeds.sample(self.runs, len(self.runs))
            run = self.waiting.pop()
            return (run, *run.fresh(self.seeds))

    def work(self):
        while (chosen := self.next()) is not None:
            run, command, environment, rounds = chosen
            with run.busy:
                self.do(run, command, environment, rounds)

    def do(self, run, command, environment, rounds):
        merged = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
        for name in (k for k, v in environment.items() if v is None):
            merged.pop(name, None)
        begin = time.monotonic()
        with subprocess.Popen(command, cwd=run.folder, env=merged, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", start_new_session=True) as process:
            try:
                said, _ = process.communicate(timeout=run.limit)
                fault = None if process.returncode in (0, 77) else f"exit code {process.returncode}"
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                said, _ = process.communicate()
                fault = f"no end after {run.limit:.0f} s"
        with self.turn:
            self.times[run.name] += 1
            self.rounds[run.name] += rounds
            for judged, abandoned in ABANDONED.findall(said):
                self.judged[run.name] += int(judged)
                self.abandoned[run.name] += int(abandoned)
            if fault:
                self.failures.append(run.name)
                print("\n".join(line[:WIDTH] for line in said.splitlines()[-TAIL:]))
                print(f"soak: {run.name} FAILED ({fault}, {time.monotonic() - begin:.0f} s); again:\n"
                      f"  {shown(command, environment, run.folder)}", flush=True)

    def report(self):
        for name in sorted(run.name for run in self.runs):
            failed = self.failures.count(name)
            print(f"soak: {name:40} {self.times[name]:5} runs {self.rounds[name]:7} rounds"
                  + (f"  {failed} FAILED" if failed else ""))
        if self.judged:
            print(f"soak: of {sum(self.judged.values())} rounds over HDF5 {sum(self.abandoned.values())} were abandoned, "
                  "as HDF5 itself failed")
        for name, abandoned in self.abandoned.items():
            if abandoned > max(FEW_ABANDONED, MOST_ABANDONED * self.judged[name]):
                self.failures.append(name)
                print(f"soak: {name} FAILED: {abandoned} of {self.judged[name]} rounds were abandoned")
        print(f"soak: {sum(self.rounds.values())} rounds in {sum(self.times.values())} runs of {len(self.runs)} tests, "
              f"{self.options.minutes:g} minutes, seed {self.options.seed}: {len(self.failures)} failures")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--only", default="", metavar="REGEX", help="names of tests and fuzzers")
    parser.add_argument("--fuzz", help="the build tree of the fuzzers")
    parser.add_argument("--corpus", help="folder of their inputs")
    options = parser.parse_args()
    runs = tests_of(options.build, options.only)
    if options.fuzz:
        runs += fuzzers_of(options.fuzz, options.corpus, options.only)
    if not runs:
        sys.exit("soak: no test takes part")
    print(f"soak: {len(runs)} tests for {options.minutes:g} minutes, seed {options.seed}", flush=True)
    soak = Soak(runs, options)
    workers = [threading.Thread(target=soak.work) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        soak.end = 0  # what runs now comes to its end
        for worker in workers:
            worker.join()
    soak.report()
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
