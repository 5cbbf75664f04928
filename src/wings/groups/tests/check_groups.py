#!/usr/bin/env python3
"""Has write_groups write groups on some number of ranks, and adios2 read them, value for value."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

try:
    import adios2
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (adios2 and numpy are needed)")
    sys.exit(77)


def rows_of(rank, ranks):
    return 0 if ranks > 2 and rank == 1 else rank + 2


def same(what, got, expected):
    got = np.asarray(got)
    assert got.shape == expected.shape and got.dtype == expected.dtype, f"{what}: {got.shape} {got.dtype}"
    assert np.array_equal(got, expected), f"{what}: {got}, not {expected}"


def check_restart(path, ranks):
    total = sum(rows_of(r, ranks) for r in range(ranks))
    with adios2.FileReader(str(path)) as file:
        variables = file.available_variables()
        assert file.num_steps() == 7, file.num_steps()
        assert variables["grid"]["AvailableStepsCount"] == "1", "written in the first step alone"
        assert file.read_attribute("T/units") == "K"
        assert list(file.read_attribute("levels")) == [1, 2.5]
        same("grid", file.read("grid", step_selection=[0, 1]), np.arange(total * 8, dtype="f4").reshape(total, 8))
        for step in range(7):
            chosen = [step, 1]
            values = 1000 * step + np.arange(total * 8).reshape(total, 8)
            same(f"T of step {step}", file.read("T", step_selection=chosen), values.astype("f8"))
            ions = 1000 * step + np.arange(total * 7).reshape(total, 7)
            got = file.read("ions", start=[0, 0], count=[total, 7], step_selection=chosen)
            same(f"ions of step {step}", got, ions.astype("f4"))
            assert file.read("title", step_selection=chosen) == f"step {step}"
            assert int(np.ravel(file.read("total", step_selection=chosen))[0]) == total
        low, high = float(variables["T"]["Min"]), float(variables["T"]["Max"])
        assert (low, high) == (0, 6000 + total * 8 - 1), (low, high)
        blocks = [r for r in range(ranks) if rows_of(r, ranks) > 0]
        for number, rank in enumerate(blocks):
            own = np.arange(rows_of(rank, ranks)) + 100 * rank + 4
            got = file.read("own", block_id=number, step_selection=[4, 1])
            same(f"own of rank {rank}", got, own.astype("i2"))


def check_boxes(path, ranks):
    files = sorted(p.name for p in path.glob("data.*"))
    assert files == [f"data.{n}" for n in range((ranks + 1) // 2)], files
    with adios2.FileReader(str(path)) as file:
        assert file.read_attribute("made") == "by calls"
        for step in range(5):  # adios2 turns the order of Fortran's dimensions
            columns = 100 * step + 10 * np.arange(2 * ranks)
            expected = (columns[:, None] + np.arange(3)[None, :]).astype("i4")
            same(f"A of step {step}", file.read("A", step_selection=[step, 1]), expected)


def check_empty(path):
    with adios2.FileReader(str(path)) as file:
        assert sorted(file.available_variables()) == ["letters", "most", "n"], file.available_variables()


def check_sync(command, ranks):
    """What the device refuses is told by forebay_sync on all ranks."""
    last = f"fsync:rank={ranks - 1}:call=1:errno=EIO"
    done = subprocess.run(command, env=dict(os.environ, FOREBAY_FAULT=last), capture_output=True, text=True, timeout=200)
    told = done.stderr.count("forebay_sync(f)")
    assert done.returncode != 0 and told == ranks, f"{told} of {ranks} ranks told: {done.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    parser.add_argument("--xml", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--launch", required=True)
    options = parser.parse_args()
    folder = Path(options.dir)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = subprocess.run(options.launch.split() + [options.writer, options.xml, str(folder)], timeout=200)
    assert done.returncode == 0, f"the writer ended with {done.returncode}"
    check_restart(folder / "restart.bp", options.ranks)
    check_boxes(folder / "boxes.bp", options.ranks)
    check_empty(folder / "empty.bp")
    check_sync(options.launch.split() + [options.writer, options.xml, str(folder)], options.ranks)
    print(f"{options.ranks} ranks: adios2 read what was written")


if __name__ == "__main__":
    main()
