#!/usr/bin/env python3
"""Has the Fortran programs write groups on some number of ranks, and adios2 read them, value for value."""

import argparse
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

from check_groups import rows_of, same


def check_fields(path, ranks):
    """Dimensions stand the other way round here."""
    total = sum(rows_of(r, ranks) for r in range(ranks))
    with adios2.FileReader(str(path)) as file:
        assert file.num_steps() == 3, file.num_steps()
        assert file.read_attribute("A/units") == "m s-1"
        columns = 10 * np.arange(1, total + 1)[:, None] + np.arange(1, 6)[None, :]
        for step in range(3):
            chosen = [step, 1]
            same("A", file.read("A", step_selection=chosen), (1000 * step + columns).astype("f4"))
            same("part", file.read("part", step_selection=chosen), 1000 * step + columns + 0.5)
            boxes = 100 * step + 10 * np.arange(2 * ranks)[:, None] + np.arange(1, 5)[None, :]
            same("B", file.read("B", step_selection=chosen), boxes.astype("i4"))
            places = np.arange(1, total + 1)[:, None] * np.array([1, -1])
            got = file.read("P", start=[0, 0], count=[total, 2], step_selection=chosen)
            same("P", got, places.astype("i2"))
            for rank in range(ranks):
                got = file.read("own", block_id=rank, step_selection=chosen)
                same("own", got, (np.arange(1, 4) + 10 * rank).astype("i1"))
            assert complex(np.ravel(file.read("z", step_selection=chosen))[0]) == complex(step, -1)
            assert file.read("title", step_selection=chosen) == "the title"
            assert bytes(file.read("letters", block_id=0, step_selection=chosen)) == b"abc de"


def check_made(path):
    with adios2.FileReader(str(path)) as file:
        assert list(file.read_attribute("C/levels")) == [1, 2]
        same("C", file.read("C", start=[3, 0], count=[3, 2]), np.arange(1, 7, dtype="i4").reshape(3, 2))


def check_example(path, ranks):
    with adios2.FileReader(str(path)) as file:
        assert file.num_steps() == 5 and file.read_attribute("T/units") == "K"
        j, i = np.meshgrid(np.arange(1, 6 * ranks + 1), np.arange(1, 65), indexing="ij")
        for step in range(5):
            got = file.read("T", step_selection=[step, 1])
            expected = 280 + 10 * np.sin(0.1 * j + 0.25 * step) * np.cos(0.1 * i)
            assert got.shape == (6 * ranks, 64) and np.allclose(got, expected, rtol=1e-14), f"T of step {step}"
        assert file.read("run", step_selection=[0, 1]) == "an example"


def run(options, *command):
    done = subprocess.run(options.launch.split() + list(command), timeout=100)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}"


def main():
    parser = argparse.ArgumentParser()
    for name in ("writer", "xml", "example", "example-xml", "dir", "launch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    options = parser.parse_args()
    folder = Path(options.dir)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(options, options.writer, options.xml, str(folder))
    check_fields(folder / "fields.bp", options.ranks)
    check_made(folder / "made.bp")
    run(options, options.example, options.example_xml, str(folder / "example.bp"))
    check_example(folder / "example.bp", options.ranks)
    print(f"{options.ranks} ranks: adios2 read what Fortran wrote")


if __name__ == "__main__":
    main()
