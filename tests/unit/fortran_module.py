#!/usr/bin/env python3
"""Every function of C headers is public in a Fortran module, and nothing else is but constants of theirs and NAMES.

  fortran_module.py --module forebay.F90 HEADER... [--besides NAMES...]"""

import argparse
import re
import sys
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True, type=Path)
    parser.add_argument("headers", nargs="+", type=Path)
    parser.add_argument("--besides", nargs="+", default=[], help="what is Fortran's alone")
    options = parser.parse_args()
    declared, constants = set(), set()
    for header in options.headers:
        constants |= {name.lower() for name in re.findall(r"#define (FOREBAY_\w+) \d", header.read_text())}
        declared |= set(re.findall(r"FOREBAY_EXPORT extern [^;(]*?(forebay_\w+)\s*\(", header.read_text()))
    declared |= set(options.besides)
    listed = re.search(r"public ::((?:[^\n]*&\n)*[^\n]*)\n", options.module.read_text())
    public = set(re.findall(r"forebay_\w+", listed.group(1)))
    problems = [f"{name} is in the headers, not in the module" for name in sorted(declared - public)]
    problems += [f"{name} is in the module, not in the headers" for name in sorted(public - declared - constants)]
    for problem in problems:
        print(problem)
    print(f"{len(public)} names of the module, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
