#!/usr/bin/env python3
"""Every function of groups' C header is public in the Fortran module, and nothing else is.

  fortran_module.py --module forebay.F90 HEADER..."""

import argparse
import re
import sys
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    parser.add_argument("headers", nargs="+", type=Path)
    options = parser.parse_args()
    declared = set()
    for header in options.headers:
        declared |= set(re.findall(r"FOREBAY_EXPORT extern [^;(]*?(forebay_\w+)\s*\(", header.read_text()))
    # For text there are ways of its own.
    declared |= {"forebay_write_string", "forebay_read_string"}
    listed = re.search(r"public ::((?:[^\n]*&\n)*[^\n]*)\n", options.module.read_text())
    public = set(re.findall(r"forebay_\w+", listed.group(1)))
    problems = [f"{name} is in the headers, not in the module" for name in sorted(declared - public)]
    problems += [f"{name} is in the module, not in the headers" for name in sorted(public - declared)]
    for problem in problems:
        print(problem)
    print(f"{len(public)} names of the module, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
