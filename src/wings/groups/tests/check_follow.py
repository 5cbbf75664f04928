#!/usr/bin/env python3
"""Programs follow a BP file while another one writes it: on several ranks, the command, and adios2."""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

try:
    import adios2
except ImportError:
    adios2 = None

STEPS = 8


def start(command, hints="", **environment):
    env = dict(os.environ, **environment)
    if hints:
        env["FOREBAY_HINTS"] = hints
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def end(process, code=0, seconds=120):
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == code, f"{process.args}: {process.returncode}, not {code}\n{out}{err}"
    return out + err


def wait_for_steps(path, steps):
    """Until the index has so many."""
    limit = time.monotonic() + 60
    while not (path / "md.idx").exists() or (path / "md.idx").stat().st_size < 64 * (1 + steps):
        assert time.monotonic() < limit, f"{path} has no {steps} steps"
        time.sleep(0.01)


class Rig:
    def __init__(self, options):
        self.options = options
        self.folder = Path(options.dir)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def write(self, path, steps, pause, hints="follow=enable", **environment):
        launch = shlex.split(self.options.launch)
        return start([*launch, self.options.program, "write", str(path), str(steps), str(pause)], hints, **environment)

    def read(self, path, seconds, ranks=None):
        launch = shlex.split(self.options.launch_two) if ranks == 2 else []
        return start([*launch, self.options.program, "read", str(path), str(seconds)])

    def convert(self, path, out, seconds):
        return start([self.options.command, "convert", "--follow", str(path), str(out), "--timeout", str(seconds)])

    def adios(self, path):
        """adios2's own reader, step by step."""
        code = f"""
import time, adios2, os
while not os.path.exists({str(path)!r} + "/md.idx"): time.sleep(0.02)
time.sleep(0.2)
seen = 0
with adios2.Stream({str(path)!r}, "r") as stream:
    for _ in stream.steps(timeout=60.0):
        step = int(stream.read("step"))
        T = stream.read("T")
        assert step == seen and T[0, 1] == step * 1e6 + 1 and T[-1, -1] == step * 1e6 + (len(T) - 1) * 1e3 + 49, step
        seen += 1
print(seen, "steps")
"""
        return start([sys.executable, "-c", code])

    def everybody_follows(self):
        for name, hints in (("direct", ""), ("async", ";stage=async"), ("files", ";subfiling=ranks;subfile_ranks=1"),
                            ("late", "")):
            path, out = self.folder / f"{name}.bp", self.folder / f"{name}.nc"
            delays = {"FOREBAY_TEST_DELAYS": "7"} if name == "late" else {}
            readers = [self.read(path, 60), self.read(path, 60, ranks=2)]
            copy = self.convert(path, out, 60)
            stranger = self.adios(path) if adios2 else None
            writer = self.write(path, STEPS, 150, "follow=enable" + hints, **delays)
            end(writer)
            for reader in readers:
                assert end(reader) == f"{STEPS} steps, end\n"
            end(copy)
            if stranger:
                assert end(stranger) == f"{STEPS} steps\n"
            self.same(path, out)
            assert end(start([self.options.command, "recover", "--list", str(path)])).find("nothing to do") > 0
            print(f"{name}: all have seen {STEPS} steps")

    def same(self, path, out):
        """What was copied step by step has the same values; `late` has fill values in steps without it."""
        once = self.folder / "once.nc"
        end(start([self.options.command, "convert", "-f", str(path), str(once)]))
        for name in ("T", "step", "x0", "total"):
            compared = end(start([self.options.command, "diff", str(once), str(out), "-v", name]))
            assert "same" in compared, compared

    def writer_is_killed(self):
        path, out = self.folder / "killed.bp", self.folder / "killed.nc"
        writer = self.write(path, 1000, 50)
        wait_for_steps(path, 1)
        reader, copy = self.read(path, 2), self.convert(path, out, 2)
        wait_for_steps(path, 6)
        os.killpg(writer.pid, signal.SIGKILL)
        writer.communicate()
        begun = time.monotonic()
        seen, how = end(reader).strip().split(" steps, ")
        assert how == "not ready" and int(seen) >= 6, (seen, how)
        told = end(copy, code=1)
        assert "no further step" in told and f"has {seen} steps" in told, told
        assert time.monotonic() - begun < 30
        listed = end(start([self.options.command, "ls", str(out)]))
        assert f"step={seen}*" in listed, listed
        # Its index is right, and still marked. `forebay recover` takes the mark away.
        end(start([self.options.command, "recover", str(path)]))
        assert end(self.read(path, 60)) == f"{seen} steps, end\n"
        print(f"killed: {seen} steps, then a timeout")

    def without_a_mark_it_ends(self):
        path = self.folder / "plain.bp"
        writer = self.write(path, 1000, 20, hints="follow=disable")
        wait_for_steps(path, 5)
        seen, how = end(self.read(path, 60)).strip().split(" steps, ")
        assert how == "end" and int(seen) >= 5, (seen, how)
        os.killpg(writer.pid, signal.SIGKILL)
        writer.communicate()

    def refused(self):
        path, out = self.folder / "none.bp", self.folder / "none.nc"
        assert "not there" in end(self.convert(path, out, 0.2), code=1)
        assert not out.exists()
        path = self.folder / "direct.bp"
        for more in (["--verify"], ["--to", "zarr"]):
            command = [self.options.command, "convert", "--follow", str(path), str(out), *more]
            assert "--follow" in end(start(command), code=1)
        assert "netCDF" in end(self.convert(path, self.folder / "again.bp", 1), code=1)
        assert "follow" in end(self.write(self.folder / "three.bp", 1, 1, "follow=enable;bp_version=3"), code=1)


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "command", "dir", "launch", "launch-two"):
        parser.add_argument(f"--{name}", required=True)
    rig = Rig(parser.parse_args())
    rig.everybody_follows()
    rig.writer_is_killed()
    rig.without_a_mark_it_ends()
    rig.refused()
    if not adios2:
        print("adios2 is not there: its reader was not tried")


if __name__ == "__main__":
    main()
