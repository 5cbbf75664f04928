"""Plays the property test on a file system that answers slowly, which nobody has told it.

Usage: run_slow_store.py --launch "MPIEXEC ..." --program MODEL_TEST --slow-store LIBRARY --dir DIRECTORY

Stage auto has to find out and let collective writes wait, and has to notice where ranks wrote the same bytes.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    for name in ("launch", "program", "slow-store", "dir"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    slow, reports = os.path.join(options.dir, "slow"), os.path.join(options.dir, "reports")
    os.makedirs(slow, exist_ok=True)
    state = os.path.join(options.dir, "state")
    for path, size in ((reports, 0), (state, 4 << 20)):
        with open(path, "wb") as file:
            file.truncate(size)
    environment = {**os.environ, "FOREBAY_REPORT": "json:" + reports, "FOREBAY_SLOW_STORE_DIR": slow,
                   "FOREBAY_SLOW_STORE_STATE": state, "FOREBAY_SLOW_STORE_LATENCY_US": "300",
                   "LD_PRELOAD": ":".join(filter(None, [options.slow_store, os.environ.get("LD_PRELOAD")]))}
    environment.pop("FOREBAY_HINTS", None)
    command = [*shlex.split(options.launch), options.program, "--dir", slow, "--seed", "12", "--rounds", "30"]
    done = subprocess.run(command, env=environment, timeout=100, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    print(done.stdout[-2000:])
    with open(reports) as file:
        reasons = [reason for line in file for reason in json.loads(line)["reasons"]]
    wrong = done.returncode != 0
    for wanted in ("a write takes", "collective writes waited", "ranks wrote the same bytes"):
        files = sum(wanted in reason for reason in reasons)
        print(f"{files} files: {wanted}")
        wrong = wrong or files == 0
    return wrong


if __name__ == "__main__":
    sys.exit(main())
