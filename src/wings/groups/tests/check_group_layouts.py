#!/usr/bin/env python3
"""One program under several methods: `forebay diff` finds the same in all files, netCDF-C reads them."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

try:
    import netCDF4
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (netCDF4 and numpy are needed)")
    sys.exit(77)

SMALL = "buffer_limit=4k;window_size=4k"


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "xml", "command", "dir", "launch"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    folder = Path(options.dir)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    launch = options.launch.split()  # ends with the number of ranks

    def run(name, hints, code=0, ranks=launch[-1]):
        done = subprocess.run(
            launch[:-1] + [ranks, options.program, options.xml, str(folder / name)],
            env=dict(os.environ, FOREBAY_HINTS=hints, FOREBAY_REPORT="1"), capture_output=True, text=True, timeout=120)
        assert (done.returncode == 0) == (code == 0), f"{hints}: {done.returncode} {done.stderr}"
        return done.stderr

    # One rank has the reason, and MPI_Abort of another may cut it off: the words are those of a run on one rank.
    def refused(name, hints):
        run(name, hints, code=1)
        return run(name, hints, code=1, ranks="1")

    def diff(one, other):
        done = subprocess.run([options.command, "diff", folder / one, folder / other],
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout

    run("run.bp", "layout=auto")
    methods = {
        "plain": "", "auto": "layout=auto", "chunked": "layout=chunked;codec=shuffle,zstd:3;chunk_bytes=1k",
        "decomposed": "layout=decomposed", "directory": "container=directory",
        "async": "stage=async;async_memory=8k", "burst": f"stage=burst;nc_burst_buf_dirname={folder}"}
    for name, hints in methods.items():
        run(f"{name}.nc", f"{hints};{SMALL}")
        code, said = diff("run.bp", f"{name}.nc")
        assert code == 0, f"{hints}: {said}"

    run("three.bp", "bp_version=3;subfiling=none")
    assert (folder / "three.bp").is_file()
    code, said = diff("run.bp", "three.bp")
    assert code == 0, said
    for key, wrong in (("subfiling=node", "one file for all ranks"), ("stage=async", "written at once")):
        said = refused("none.bp", "bp_version=3;subfiling=none;" + key)
        assert wrong in said, said
    with netCDF4.Dataset(folder / "plain.nc") as file:
        whole = file["T"][:]
        assert file["T"].dimensions[0] == "step" and file.dimensions["step"].isunlimited()
        assert file["T"].units == "K" and whole.shape[0] == 5 and not np.ma.is_masked(whole)
    run("split.nc", "split=step")
    files = sorted(folder.glob("split.*.nc"))
    assert [f.name for f in files] == [f"split.{n:06}.nc" for n in range(5)], files
    for step, name in enumerate(files):
        with netCDF4.Dataset(name) as file:
            assert np.array_equal(file["T"][:], whole[step]), name

    # The comparison can fail, and so can a method that makes no sense.
    with netCDF4.Dataset(folder / "plain.nc", "r+") as file:
        file["T"][3, 2, 1] += 1
    assert diff("run.bp", "plain.nc")[0] == 3
    # What the environment says is a general rule: a file that cannot have it goes without, and the report says so.
    said = run("log.nc", "layout=log")
    assert "layout=log" in said, said
    assert diff("log.nc", "run.bp")[0] == 0
    run("nothing.nc", "layout=null")
    assert not (folder / "nothing.nc").exists()
    run("nothing.bp", "transport=null")
    assert not (folder / "nothing.bp").exists()
    said = run("some.nc", "transport=null")
    assert "transport=null" in said, said
    assert diff("some.nc", "run.bp")[0] == 0
    print(f"{len(methods)} methods: the same values")


if __name__ == "__main__":
    main()
