"""Mounts a small tmpfs and runs full_disk on it, or another program that takes the same two files.

Usage: run_full_disk.py --launch "MPIEXEC ..." --program FULL_DISK --dir DIRECTORY [--plain | --synced]
                        [--size 2m] [--before WORD] [--after WORD]

Exits with 77, which CTest shows as skipped, where nothing may be mounted.
"""
import argparse
import os
import shlex
import subprocess
import sys

SKIPPED = 77


def mount_small(directory, size="2m"):
    """Mounts a file system of that size there. Returns why it could not."""
    if os.geteuid() != 0:
        return "not run: needs root, to mount a small file system"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory],
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
    parser.add_argument("--size", default="2m")
    parser.add_argument("--before", action="append", default=[])
    parser.add_argument("--after", action="append", default=[])
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    skipped = mount_small(options.dir, options.size)
    if skipped:
        print(skipped)
        return SKIPPED
    try:
        done = subprocess.run(shlex.split(options.launch) +
                              [options.program] + options.before + [os.path.join(options.dir, "file.nc"),
                               os.path.join(options.dir, "other")] +
                              ["plain"] * options.plain + ["synced"] * options.synced + options.after, timeout=100)
        return 1 if done.returncode != 0 else 0
    finally:
        unmount(options.dir)


if __name__ == "__main__":
    sys.exit(main())
