#!/usr/bin/env python3
"""Runs one of HDF Group's test programs natively and through the connector, and compares.

  run_suite.py PROGRAM --connector TEXT --plugins DIR [--data DIR] [--folder DIR] [--launch "mpiexec -n 3"]
               [--differences FILE]

The program must end alike: with the same exit code, and with as many passed and failed parts as it reports natively.
A program that fails natively shows nothing and counts as skipped (exit code 77). FILE says of programs that may differ
how each ends, and where in its source it complains: then it must be just that. Without FOREBAY_TEST_FULL a program that
ends well through the connector, or just as FILE says, is not run natively.
"""

import argparse
import collections
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[5] / "tests/support"))
import cases  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
VERDICT = re.compile(r"(PASSED|\*FAILED\*|-SKIP-)")
COMPLAINT = re.compile(r"^ +at (?:\S*/)?(\w+\.c):(\d+) in (\w+)\(\)|"
                       r"\*\*\* UNEXPECTED \w+ from (\S+).*? line +(\d+) in \S*?(\w+\.c)$", re.MULTILINE)


class Run:
    """One run in a folder of its own: exit code, verdicts by kind, and the output."""

    def __init__(self, command, folder, data, settings):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HDF5_")} | settings
        if data:
            environment["srcdir"] = str(data)
            (folder / "testfiles").symlink_to(data / "testfiles")
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)
        self.code = done.returncode
        self.output = done.stdout
        self.verdicts = collections.Counter(VERDICT.findall(done.stdout))

    def ending(self):
        """What the file of differences has of a program, but for why. By which signal a program ends that has spoiled its
        memory, and what it had said by then, is a matter of chance."""
        if self.code < 0:
            return {"code": "a signal"}
        places = {f"{a or f}:{b or e} {c or d}" for a, b, c, d, e, f in COMPLAINT.findall(self.output)}
        return {"code": self.code, "passed": self.verdicts["PASSED"], "complaints": sorted(places)}

    def __str__(self):
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(self.verdicts.items())) or "no verdicts"
        return f"exit code {self.code}, {counts}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--connector", required=True, help="HDF5_VOL_CONNECTOR")
    parser.add_argument("--plugins", required=True, help="HDF5_PLUGIN_PATH")
    parser.add_argument("--data", type=Path, help="folder of HDF5's test files")
    parser.add_argument("--folder", type=Path, help="where to run; default: named after the program")
    parser.add_argument("--launch", default="", help="what starts the program")
    parser.add_argument("--differences", type=Path, help="how programs end that do not end alike (JSON)")
    options = parser.parse_args()
    command = shlex.split(options.launch) + [str(options.program)]
    folder = (options.folder or Path(options.program.name)).absolute()
    through = Run(command, folder / "through", options.data,
                  {"HDF5_VOL_CONNECTOR": options.connector, "HDF5_PLUGIN_PATH": options.plugins})
    print(f"through:  {through}")
    as_known = False
    if options.differences:
        known = json.loads(options.differences.read_text())[options.program.name]
        as_known = through.ending() == {key: known.get(key) for key in through.ending()}
    parts = through.verdicts  # what is skipped has to be skipped natively, too
    no_doubt = through.code == 0 and not parts["*FAILED*"] and not parts["-SKIP-"] and (parts["PASSED"] or not +parts)
    well = as_known if options.differences else no_doubt
    if well and not cases.all_cases():
        shutil.rmtree(folder)
        return 0
    native = Run(command, folder / "native", options.data, {})
    print(f"natively: {native}")
    if native.code != 0:
        print(f"skipped\n{native.output[-2000:]}")
        return SKIPPED
    if options.differences:
        if as_known:
            shutil.rmtree(folder)
            return 0
        print(f"not as {options.differences} has it:\n{json.dumps(through.ending(), indent=2)}")
        return 1
    if (native.code, native.verdicts) == (through.code, through.verdicts):
        shutil.rmtree(folder)
        return 0
    print(through.output[-8000:])
    return 1


if __name__ == "__main__":
    sys.exit(main())
