#!/usr/bin/env python3
"""Runs one Fortran program with Forebay, with PnetCDF, and built for PnetCDF with Forebay preloaded: all succeed, and write
the same bytes.

  same_bytes.py PROGRAM [--peer PROGRAM --preload LIBFOREBAY] --launch "mpiexec -n 3" --scratch DIR
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def run(launch, program, file, environment):
    """Whether it succeeded; prints what it said."""
    exported = [x for name in environment for x in ("-x", name)]
    done = subprocess.run([*shlex.split(launch), *exported, program, file], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(f"-- {program} {environment}: {done.returncode}\n{done.stdout}")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--peer", help="the program, built for PnetCDF")
    parser.add_argument("--preload", help="Forebay's library")
    parser.add_argument("--launch", default="mpiexec -n 1")
    parser.add_argument("--scratch", required=True, type=Path)
    options = parser.parse_args()
    shutil.rmtree(options.scratch, ignore_errors=True)
    options.scratch.mkdir(parents=True)
    ours, theirs, preloaded = (options.scratch / name for name in ("ours.nc", "theirs.nc", "preloaded.nc"))
    problems = [] if run(options.launch, options.program, ours, {}) else ["the program fails with Forebay"]
    if options.peer:
        if not run(options.launch, options.peer, theirs, {"OMPI_MCA_io": "romio321"}):
            problems.append("the program fails with PnetCDF")
        report = options.scratch / "report.json"
        settings = {"LD_PRELOAD": options.preload, "FOREBAY_REPORT": f"json:{report}"}
        if not run(options.launch, options.peer, preloaded, settings):
            problems.append("the program built for PnetCDF fails with Forebay preloaded")
        if not report.exists():
            problems.append("the preloaded library was not used")
        for file in (ours, preloaded):
            if not file.exists() or not theirs.exists() or file.read_bytes() != theirs.read_bytes():
                problems.append(f"{file} is not what PnetCDF writes")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
