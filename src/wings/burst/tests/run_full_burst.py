"""Mounts small tmpfs and runs full_burst with logs, or the file, on them.

Usage: run_full_burst.py --launch "MPIEXEC ..." --program FULL_BURST --forebay FOREBAY
                         --dir DIRECTORY

Exits with 77, which CTest shows as skipped, where nothing may be mounted.
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../tests/fault"))
from run_full_disk import SKIPPED, mount_small, unmount

HINTS = {
    "canonical": "",
    "shared": "nc_burst_buf_shared_logs=enable",
    "chunked": "layout=chunked;codec=shuffle,zstd:3;chunk_bytes=64k;buffer_limit=1MiB",
}


class Runner:
    def __init__(self, options):
        self.options = options
        self.small = os.path.join(options.dir, "small")
        self.large = os.path.join(options.dir, "large")
        self.failures = []

    def run(self, hints, *arguments):
        command = shlex.split(self.options.launch) + [self.options.program] + list(arguments)
        done = subprocess.run(command, timeout=100, env=dict(os.environ, FOREBAY_HINTS=hints),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            self.failures.append(f"{arguments[0]} with {hints}: {done.stdout[:2000]}")

    def on_small(self, hints, phase):
        """Runs a phase with an empty small device and an empty directory."""
        shutil.rmtree(self.large, ignore_errors=True)
        os.mkdir(self.large)
        small, large = os.path.join(self.small, "file.nc"), os.path.join(self.large, "file.nc")
        skipped = mount_small(self.small)
        if skipped:
            print(skipped)
            return False
        try:
            if phase == "small-log":
                self.run(hints, phase, large, self.small)
                return True
            self.run(hints, phase, small, os.path.join(self.small, "other"), self.large)
            if phase == "full-close":
                self.recover(small)
                self.run("", "verify", small)
            return True
        finally:
            unmount(self.small)

    def recover(self, path):
        done = subprocess.run([self.options.forebay, "recover", path], timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        left = os.listdir(self.large)
        if done.returncode != 0 or left:
            self.failures.append(f"recovery: {done.stdout}, left: {left}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("launch", "program", "forebay", "dir"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    runner = Runner(options)
    os.makedirs(runner.small, exist_ok=True)
    for hints in HINTS.values():
        for phase in ("small-log", "full-file", "full-close"):
            if not runner.on_small(hints, phase):
                return SKIPPED
    for line in runner.failures:
        print(line)
    print(f"{len(runner.failures)} failures")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
