#!/usr/bin/env python3
"""Another program changes the definitions of a directory between two jobs: what it added stays."""

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

FILL = 9.969209968386869e+36
RULES = ('<forebay><file match="*"><variable match="clock" layout="canonical"/>'
         '<variable match="lat" layout="canonical"/></file></forebay>')


class Job:
    def __init__(self, options, layout):
        self.options = options
        self.path = Path(options.dir) / f"{layout}.nc"
        self.env = dict(os.environ, FOREBAY_CONFIG=str(Path(options.dir) / "rules.xml"))
        self.hints = f"layout={layout};container=directory;subfiling=ranks;subfile_ranks=2;buffer_limit=64k"

    def __call__(self, what, hints="", launch=None):
        done = subprocess.run((self.options.launch if launch is None else launch).split() +
                              [self.options.writer, str(self.path), what],
                              env=dict(self.env, FOREBAY_HINTS=f"{self.hints};{hints}"),
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{self.path} {what}: {done.stderr}"
        return {line.split()[0]: np.array(line.split()[1:], float) for line in done.stdout.splitlines()}

    def dumped_records(self):
        done = subprocess.run([self.options.command, "dump", "--header", self.path], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split("// (")[1].split()[0])

    def expect(self, clock, filled, added=(), **options):
        """Records whose numbers are in `filled` were never written in T and U."""
        found, width = self("show", **options), 32 * self.options.ranks
        rows = [np.full(width, FILL) if n in filled else 1000.0 * n + np.arange(width) for n in range(len(clock))]
        wanted = {"clock": np.array(clock, float), "lat": 0.5 * np.arange(width), "T": np.concatenate(rows)}
        wanted["U"] = np.where(wanted["T"] == FILL, FILL, -wanted["T"])
        wanted.update(added)
        assert found.keys() == wanted.keys(), found.keys()
        for name, values in wanted.items():
            # Of what was added nobody writes later records.
            assert np.array_equal(found[name][:len(values)] if name in added else found[name], values), f"{self.path}: {name}: {found[name]}, not {values}"


def foreign(job, change):
    with netCDF4.Dataset(job.path / "header.nc", "a") as file:
        file.set_auto_mask(False)
        change(file)


def add_records(file):
    n = len(file.dimensions["time"])
    file["clock"][n:n + 2] = [70, 80]


def add_definitions(file):
    file.history = "by another program; " * 500  # the header outgrows its room: all behind it moves
    file["T"].units = "K"
    flag = file.createVariable("flag", "f8", ("time",))
    flag[:] = np.arange(len(file.dimensions["time"])) + 0.25


def main():
    parser = argparse.ArgumentParser()
    for name in ("writer", "command", "dir", "launch"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    (Path(options.dir) / "rules.xml").write_text(RULES)
    for layout in ("decomposed", "chunked"):
        job = Job(options, layout)
        job("create")
        job.expect([0, 10], [])
        # A header that promises what the file cannot have: no more than there is.
        header = (job.path / "header.nc").read_bytes()
        (job.path / "header.nc").write_bytes(header[:4] + (1 << 30).to_bytes(4, "big") + header[8:])
        job.expect([0, 10], [])
        assert job.dumped_records() == 2
        (job.path / "header.nc").write_bytes(header)
        foreign(job, add_records)
        # Read at once, by the command too; and not hidden or written over by the next job.
        job.expect([0, 10, 70, 80], [2, 3])
        assert job.dumped_records() == 4
        job("append")
        job.expect([0, 10, 70, 80, 40], [2, 3])
        foreign(job, add_definitions)
        flags = {"flag": np.arange(5) + 0.25}
        job.expect([0, 10, 70, 80, 40], [2, 3], flags)
        job("append")
        job.expect([0, 10, 70, 80, 40, 50], [2, 3], flags)
        with netCDF4.Dataset(job.path / "header.nc") as file:
            assert file["T"].units == "K" and len(file.history) > 9000

        # The state that was synced has two records. Records that it gives up are no added ones.
        job("create")
        job("append")
        job.expect([0, 10, 20], [])
        job.expect([0, 10], [], hints="chunk_state=synced")
        job("abandon", hints="chunk_state=synced", launch="")
        job.expect([0, 10] if layout == "decomposed" else [0, 10, 20], [])
        job("append", hints="chunk_state=synced")
        job.expect([0, 10, 20], [])
    print("ok")


if __name__ == "__main__":
    main()
