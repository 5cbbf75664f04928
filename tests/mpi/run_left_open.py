"""Programs that end without closing their files: what PnetCDF would have written is there.

Usage: run_left_open.py PROGRAM HOW DIRECTORY -- LAUNCHER...
"""
import os
import re
import shutil
import subprocess
import sys


def main():
    program, how, directory, _, *launcher = sys.argv[1:]
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    written = subprocess.run([*launcher, program, how, directory], capture_output=True, text=True,
                             timeout=100, check=False)
    print(written.stdout, written.stderr, sep="\n")
    told = re.findall(r"^forebay: (\S+) was open when the program ended: (.*)$", written.stderr, re.M)
    names = [os.path.basename(path) for path, _ in told]
    if how == "finalize":
        assert written.returncode == 0, f"the program ended with {written.returncode}"
        assert names == ["pending.nc"], f"said, of {names}"  # once, of what is lost
        assert "were pending" in told[0][1]
    elif how == "some":
        # Those of stages that keep writes, and no others, by the rank that went.
        assert "memory.nc" in names and "async.nc" in names, f"nothing was said of {names}"
        assert "direct.nc" not in names and "apart.nc" not in names, f"said, of {names}"
        assert len(set(names)) == len(names), f"said more than once, of {names}"
        if "burst" not in os.environ.get("FOREBAY_TEST_WINGS", "burst").split(","):
            return 0
        burst = told[names.index("burst.nc")]
        assert f"forebay recover {os.path.realpath(burst[0])}" in burst[1], burst
        return 0
    elif how in ("thread", "signal"):
        assert names and set(names) == {"held.nc"} and " in a call" in told[0][1], f"said {told}"
        return 0
    elif how == "overlap":
        assert names == ["stuck.nc"], f"said, of {names}"
        size = os.path.getsize(os.path.join(directory, "saved.nc"))
        assert size >= 2 * 5 * 6 * 4, f"saved.nc has {size} bytes"
        return 0
    missing = [] if how == "finalize" else ["defining", "pending", "apart"]
    read = subprocess.run([*launcher, program, "read", directory, *missing], capture_output=True,
                          text=True, timeout=100, check=False)
    print(read.stdout, read.stderr, sep="\n")
    return read.returncode


if __name__ == "__main__":
    sys.exit(main())
