#!/usr/bin/env python3
"""Another program changes the definitions of a directory between two jobs: what it added stays. Where netCDF4 is missing this one
appends records itself, and adds no definitions."""

import argparse
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

try:
    import netCDF4
except ImportError:
    netCDF4 = None

FILL = 9.969209968386869e+36
# The environment would beat rules for variables: the layout of each file stands beside them.
RULES = ('<forebay><file match="chunked*" layout="chunked"/><file match="decomposed*" layout="decomposed"/>'
         '<file match="*"><variable match="clock" layout="canonical"/>'
         '<variable match="lat" layout="canonical"/></file></forebay>')


class Job:
    def __init__(self, options, layout):
        self.options = options
        self.path = Path(options.dir) / f"{layout}.nc"
        self.env = dict(os.environ, FOREBAY_CONFIG=str(Path(options.dir) / "rules.xml"))
        self.hints = "container=directory;subfiling=ranks;subfile_ranks=2;buffer_limit=64k"

    def __call__(self, what, hints="", launch=None):
        done = subprocess.run((self.options.launch if launch is None else launch).split() +
                              [self.options.writer, str(self.path), what],
                              env=dict(self.env, FOREBAY_HINTS=f"{self.hints};{hints}"),
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{self.path} {what}: {done.stderr}"
        return {line.split()[0]: [float(value) for value in line.split()[1:]] for line in done.stdout.splitlines()}

    def told(self, *command):
        done = subprocess.run([self.options.command, *command, "--json", self.path], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)
        return found["files"][0] if "files" in found else found

    def expect_records(self, count, added):
        """By the command, which tells how many only the header tells of."""
        records = self.told("info")["records"]
        assert (records["count"], records["added"]) == (count, added), f"{self.path}: {records}"
        notes = [note for note in self.told("check")["notes"] if "header alone" in note]
        assert len(notes) == (added > 0), f"{self.path}: {notes}"

    def expect(self, clock, filled, added=(), **options):
        """Records whose numbers are in `filled` were never written in T and U."""
        found, width = self("show", **options), 32 * self.options.ranks
        rows = [[FILL] * width if n in filled else [1000.0 * n + i for i in range(width)] for n in range(len(clock))]
        wanted = {"clock": clock, "lat": [0.5 * i for i in range(width)], "T": sum(rows, [])}
        wanted["U"] = [value if value == FILL else -value for value in wanted["T"]]
        wanted.update(added)
        assert found.keys() == wanted.keys(), found.keys()
        for name, values in wanted.items():
            # Of what was added nobody writes later records.
            values_found = found[name][:len(values)] if name in added else found[name]
            assert values_found == values, f"{self.path}: {name}: {found[name]}, not {values}"

    def append_clocks(self, *clocks):
        """As another program does: records of `clock`, the one variable with records in the header's file, which ends with them."""
        header = bytearray((self.path / "header.nc").read_bytes())
        header[4:8] = struct.pack(">I", struct.unpack(">I", header[4:8])[0] + len(clocks))
        (self.path / "header.nc").write_bytes(header + struct.pack(f">{len(clocks)}d", *clocks))

    def damage_an_old_state(self):
        """A slot of a commit that a later one overruled, which nothing tells of it any more."""
        state = bytearray((self.path / "state").read_bytes())
        slots = [at for at in range(0, len(state), 512) if state[at:at + 4] == b"FBDS"]
        oldest = min(slots, key=lambda at: state[at + 16:at + 24])
        assert len(slots) > 1
        state[oldest + 24] ^= 1
        (self.path / "state").write_bytes(state)


def add_with_netcdf(job, records):
    with netCDF4.Dataset(job.path / "header.nc", "a") as file:
        file.set_auto_mask(False)
        assert len(file.dimensions["time"]) == records
        file["clock"][records] = 90
        file.history = "by another program; " * 500  # the header outgrows its room: all behind it moves
        file["T"].units = "K"
        flag = file.createVariable("flag", "f8", ("time",))
        flag[:] = [n + 0.25 for n in range(records + 1)]


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
        job.expect_records(2, 0)
        (job.path / "header.nc").write_bytes(header)
        job.append_clocks(70, 80)
        # Read at once, by the command too; and not hidden or written over by the next job.
        job.expect([0, 10, 70, 80], [2, 3])
        job.expect_records(4, 2)
        job("append")
        job.expect([0, 10, 70, 80, 40], [2, 3])
        job.expect_records(5, 0)
        if netCDF4 is not None:
            add_with_netcdf(job, 5)
            flags = {"flag": [n + 0.25 for n in range(6)]}
            job.expect([0, 10, 70, 80, 40, 90], [2, 3, 5], flags)
            job("append")
            job.expect([0, 10, 70, 80, 40, 90, 60], [2, 3, 5], flags)
            with netCDF4.Dataset(job.path / "header.nc") as file:
                assert file["T"].units == "K" and len(file.history) > 9000

        # Where the synced state is the newest, it has them, too.
        job("create")
        job.append_clocks(70, 80)
        job.expect([0, 10, 70, 80], [2, 3], hints="chunk_state=synced")
        job("append", hints="chunk_state=synced")
        job.expect([0, 10, 70, 80, 40], [2, 3])

        # A slot that is damaged may have been a newer state: then the header's may be what it had.
        if layout == "decomposed":
            job("create")
            job.append_clocks(70, 80)
            job.damage_an_old_state()
            job.expect([0, 10], [])
            job("append")
            job.expect([0, 10, 20], [])
            job.expect_records(3, 0)

        # The state that was synced has two records. Records that it gives up are no added ones.
        job("create")
        job("append")
        job.expect([0, 10, 20], [])
        job.expect([0, 10], [], hints="chunk_state=synced")
        job("abandon", hints="chunk_state=synced", launch="")
        job.expect([0, 10], [])
        job("append", hints="chunk_state=synced")
        job.expect([0, 10, 20], [])
    print("ok" if netCDF4 is not None else "ok; without netCDF4, whose changes of definitions were left out")


if __name__ == "__main__":
    main()
