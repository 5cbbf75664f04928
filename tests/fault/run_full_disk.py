"""Mounts a small tmpfs and runs full_disk on it.

Usage: run_full_disk.py --launch "MPIEXEC ..." --program FULL_DISK --dir DIRECTORY

Exits with 77, which CTest shows as skipped, where nothing may be mounted.
"""
import argparse
import os
import shlex
import subprocess
import sys

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", options.dir]
    if os.geteuid() != 0:
        print("not run: needs root, to mount a small file system")
        return SKIPPED
    mounted = subprocess.run(mount, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if mounted.returncode != 0:
        print(f"not run: needs root that may mount: {mounted.stdout}")
        return SKIPPED
    try:
        done = subprocess.run(shlex.split(options.launch) +
                              [options.program, os.path.join(options.dir, "file.nc"),
                               os.path.join(options.dir, "other")], timeout=100)
        return 1 if done.returncode != 0 else 0
    finally:
        subprocess.run(["umount", "-l", options.dir], check=True)


if __name__ == "__main__":
    sys.exit(main())
