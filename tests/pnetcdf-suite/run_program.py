#!/usr/bin/env python3
"""Runs one of PnetCDF's own test programs against Forebay.

  run_program.py FOLDER/NAME --programs DIR --data SOURCES [--launch "mpiexec -n {ranks}"] [--peer LIBRARY]

A program passes if it exits with 0, says "pass" where it reports a verdict, and PnetCDF's own ncvalidator, where it is
installed, accepts the files it leaves. One that does not pass is run again with the peer library before Forebay's: if it
fails there too it shows nothing and counts as skipped (exit code 77).
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77

# A program that reads what another one wrote, and that one.
AFTER = {
    "test/C/pres_temp_4D_rd": "test/C/pres_temp_4D_wr",
    "examples/C/get_vara": "examples/C/put_vara",
} | {f"examples/tutorial/pnetcdf-read-{name}": f"examples/tutorial/pnetcdf-write-{name}"
     for name in ("flexible", "from-master", "nb", "nfiles", "standard")}

# Arguments; the default is the output file. {data} is the program's folder in PnetCDF's sources.
ARGUMENTS = {
    **dict.fromkeys(["test/nc_test/nc_test", "test/nf_test/nf_test", "test/nf90_test/nf90_test"],
                    [["-d", "."], ["-2", "-d", "."], ["-5", "-d", "."]]),
    "test/cdf_format/test_inq_format": [["{data}"]],
    "test/cdf_format/tst_corrupt": [["{data}"]],
    "test/cdf_format/tst_open_cdf5": [["{data}/bad_begin.nc5"]],
    "test/F90/tst_io": [["."]],
    "examples/burst_buffer/create_open": [["-q", "-b", ".", "output.nc"]],
    "examples/burst_buffer/nonblocking": [["-q", "-b", ".", "output.nc"]],
}
# With more ranks than one these hang, whatever the library: one rank alone creates a file on all ranks' communicator,
# or each rank removes the file that all have just created.
ALONE = {"test/nc_test/nc_test", "test/nc_test/tst_misc", "test/nf_test/nf_test", "test/nf90_test/nf90_test"}
# A file that they open to see that it is none of netCDF.
NO_NETCDF = {"test/nf_test/nf_test": "nf_test", "test/nf90_test/nf90_test": "test_get.F90"}
FAILED = re.compile(r"^.*(?:fail with|FAILURES TESTING|Error at|Error:).*$", re.MULTILINE)


def arguments_of(name, data):
    default = [["-q", "output.nc"]] if name.startswith(("examples/C/", "examples/F")) else [["output.nc"]]
    return [[a.format(data=data / Path(name).parent) for a in line] for line in ARGUMENTS.get(name, default)]


class Suite:
    def __init__(self, options):
        self.options = options
        self.programs = options.programs
        self.validator = shutil.which("ncvalidator")

    def run(self, name, folder, settings):
        """What is wrong with one run in a folder of its own; empty if nothing is. Prints the output."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        wrong = []
        if name in NO_NETCDF:
            (folder / NO_NETCDF[name]).write_text("not a netCDF file\n")
        steps = ([AFTER[name]] if name in AFTER else []) + [name]
        for step in steps:
            for arguments in arguments_of(step, self.options.data):
                wrong += self.launch(step, arguments, folder, settings)
        if self.validator:
            for file in sorted(folder.glob("*.nc*")):
                with file.open("rb") as opened:
                    if opened.read(3) != b"CDF":
                        continue  # it knows classic files only
                check = subprocess.run([self.validator, "-q", file], capture_output=True, text=True, check=False)
                if check.returncode != 0:
                    wrong.append(f"ncvalidator refuses {file.name}: {check.stdout}{check.stderr}")
        return wrong

    def launch(self, name, arguments, folder, settings):
        preloads = [x for key, value in settings.items() for x in ("-x", f"{key}={value}")]
        ranks = "1" if name in ALONE else self.options.ranks
        command = [x.format(ranks=ranks) for x in shlex.split(self.options.launch)]
        command += preloads + [str(self.programs / name)] + arguments
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        print(done.stdout[-6000:])
        wrong = []
        if done.returncode != 0:
            wrong.append(f"{name} {' '.join(arguments)}: exit code {done.returncode}")
        wrong += FAILED.findall(done.stdout)
        if "TESTING" in done.stdout and not re.search(r"\b(pass|skip)\b", done.stdout):
            wrong.append(f"{name} does not say that it passed")
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="FOLDER/NAME")
    parser.add_argument("--programs", type=Path, required=True, help="where the programs were built")
    parser.add_argument("--launch", default="mpiexec -n {ranks}", help="what starts the program")
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--data", type=Path, required=True, help="PnetCDF's sources")
    parser.add_argument("--peer", default="", help="PnetCDF's library")
    parser.add_argument("--natively", action="store_true", help="with the peer library only")
    options = parser.parse_args()
    suite = Suite(options)
    folder = Path.cwd() / options.name
    native = {"LD_PRELOAD": options.peer}
    wrong = suite.run(options.name, folder, native if options.natively else {})
    if not wrong:
        shutil.rmtree(folder)
        return 0
    print(*wrong, sep="\n")
    if options.natively or not Path(options.peer).is_file():
        return 1
    print("-- natively")
    failed = suite.run(options.name, folder.with_name(folder.name + ".native"), native)
    print(*failed, sep="\n")
    return SKIPPED if failed else 1


if __name__ == "__main__":
    sys.exit(main())
