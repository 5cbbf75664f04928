#!/usr/bin/env python3
"""Checks the project's text files: white space at the end of a line, tabs, a missing last newline, merge markers, and
paths of one machine. Files of more than 500 lines are named, without failing.

  check_text.py [--root DIR]
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

TEXT = {".h", ".cc", ".c", ".f90", ".F90", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".in", ".xml", ".cdl", ".toml", ".yml", ""}
DATA = {".cdl", ".txt"}  # as their makers wrote them, except our own CMakeLists.txt
LICENCES = {"LICENSE"}
LONG = 500

RULES = [
    (re.compile(r"[ \t]+$"), "white space at the end of the line"),
    (re.compile(r"\t"), "tab"),
    (re.compile(r"^(<<<<<<<|>>>>>>>)( |$)"), "merge marker"),
    (re.compile(r"(?<![\w.$}])/(root|home/\w+|work)/"), "path of one machine"),
]


def project_files(root):
    """Files that git keeps or would keep; outside a repository, all but those in build/ and hidden folders."""
    git = ["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(git, cwd=root, capture_output=True, check=True).stdout.decode().split("\0")
        paths = [root / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [p for p in root.rglob("*")
                 if not any(part == "build" or part.startswith(".") for part in p.relative_to(root).parts[:-1])]
    return sorted({path for path in paths if path.is_file()})


def is_checked(path):
    if path.name in LICENCES or path.suffix not in TEXT:
        return False
    return path.suffix not in DATA or path.name == "CMakeLists.txt"


def check_file(root, path):
    name = path.relative_to(root)
    raw = path.read_bytes()
    if b"\0" in raw:
        return
    text = raw.decode("utf-8", errors="replace")
    if "\ufffd" in text:
        yield f"{name}:1: not UTF-8"
    if text and not text.endswith("\n"):
        yield f"{name}:{text.count(chr(10)) + 1}: no newline at the end of the file"
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in RULES:
            if pattern.search(line):
                yield f"{name}:{number}: {what}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    files = [path for path in project_files(root) if is_checked(path)]
    faults = [fault for path in files for fault in check_file(root, path)]
    for fault in faults:
        print(fault)
    for path in files:
        lines = path.read_bytes().count(b"\n")
        if lines > LONG and path.suffix in {".h", ".cc", ".c", ".py", ".sh"}:
            print(f"note: {path.relative_to(root)} has {lines} lines")
    print(f"text: {len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
