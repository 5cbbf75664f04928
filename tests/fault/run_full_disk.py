"""Mounts a small tmpfs and runs full_disk on it.

Usage: run_full_disk.py --launch "MPIEXEC ..." --program FULL_DISK --dir DIRECTORY [--plain | --synced]

Exits with 77, which CTest shows as skipped, where nothing may be mounted.
"""
import argparse
import os
import shlex
import subprocess
import sys

SKIPPED = 77


def mount_small(directory):
    """Mounts 2 MiB there. Returns why it could not."""
    if os.geteuid() != 0:
        return "not run: needs root, to mount a small file system"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", directory],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if mounted.returncode != 0:
        return f"not run: needs root that may mount: {mounted.stdout}"
    return None


def unmount(directory):
    subprocess.run(["umount", "-l", directory], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--synced", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    skipped = mount_small(options.dir)
    if skipped:
        print(skipped)
        return SKIPPED
    try:
        done = subprocess.run(shlex.split(options.launch) +
                              [options.program, os.path.join(options.dir, "file.nc"),
                               os.path.join(options.dir, "other")] +
                              ["plain"] * options.plain + ["synced"] * options.synced, timeout=100)
        return 1 if done.returncode != 0 else 0
    finally:
        unmount(options.dir)


if __name__ == "__main__":
    sys.exit(main())
