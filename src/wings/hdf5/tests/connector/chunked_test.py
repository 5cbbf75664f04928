"""layout=chunked: runs an h5py script natively and through the connector, which only the environment names, and compares.

    chunked_test.py --python PYTHON --plugins DIRECTORY --tools DIRECTORY --launch "mpiexec -n 3"

PYTHON's h5py has the HDF5 that the connector was built for. The script checks itself what it reads. Then h5dump, which
knows nothing of the connector, must print the same of both files: values, types, attributes, chunks and filters.
"""

import argparse
import difflib
import os
import re
import subprocess
from pathlib import Path

program = Path(__file__).with_name("chunked_program.py")


class Failed(Exception):
    pass


class Runner:
    def __init__(self, options):
        self.options = options
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "FOREBAY_"))}
        self.environment["OMPI_MCA_io"] = "romio321"

    def run(self, command, more=None, fails=False):
        done = subprocess.run(
            command, env={**self.environment, **(more or {})}, capture_output=True, text=True, timeout=120
        )
        if (done.returncode != 0) != fails:
            raise Failed(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stderr if fails else done.stdout + done.stderr

    def connector(self, hints):
        text = "forebay under_vol=0;under_info={};hints={" + hints + "}"
        return {"HDF5_PLUGIN_PATH": self.options.plugins, "HDF5_VOL_CONNECTOR": text}

    def script(self, what, file, hints=None, *more, **environment):
        connector = self.connector(hints) if hints else {}
        command = [*self.options.launch.split(), self.options.python, "-B", program, what, file, *more]
        return self.run(command, {**connector, **environment})

    def python(self, text, hints="", fails=False, **environment):
        command = [*self.options.launch.split(), self.options.python, "-c", text]
        return self.run(command, {**self.connector(hints), **environment}, fails)

    def dump(self, file, *how):
        text = self.run([f"{self.options.tools}/h5dump", *how, file])
        # Sizes in the file depend on the compressor.
        return re.sub(r"SIZE \d+.*|OFFSET \d+", "", text.split("\n", 1)[1])


def compare(native, found, what):
    if native != found:
        lines = difflib.unified_diff(native.splitlines(), found.splitlines(), "native", what, lineterm="", n=1)
        raise Failed(f"{what}: not what the same script makes natively\n" + "\n".join(list(lines)[:40]))


def filtered(runner):
    hints = "layout=chunked"
    for step in ("write", "change"):
        runner.script(step, "native.h5")
        runner.script(step, "ours.h5", hints)
        for how in ([], ["-pH"]):
            compare(runner.dump("native.h5", *how), runner.dump("ours.h5", *how), f"ours.h5 after {step} {how}")
    # One continues what the other began, and small buffers make many operations of it.
    runner.script("write", "mixed.h5", hints + ";buffer_limit=4KiB", "--all", FOREBAY_REPORT="json:report.json")
    runner.script("change", "mixed.h5")
    runner.script("write", "mixed.h5")
    runner.script("change", "mixed.h5", hints + ";buffer_limit=4KiB")
    compare(runner.dump("native.h5"), runner.dump("mixed.h5"), "mixed.h5")
    for step in ("write", "change"):
        runner.script(step, "all.h5", hints, "--all")
    if "ranks encoded and wrote its datasets" not in Path("report.json").read_text():
        raise Failed("the report does not say that ranks wrote chunks")
    if "CHECKSUM FLETCHER32" not in runner.dump("ours.h5", "-pH"):
        raise Failed("there is no checksum")


def contiguous(runner):
    runner.script("contiguous", "native_contiguous.h5")
    runner.script("contiguous", "contiguous.h5", "layout=chunked;codec=shuffle,deflate:1")
    compare(runner.dump("native_contiguous.h5"), runner.dump("contiguous.h5"), "contiguous.h5")
    if runner.dump("contiguous.h5", "-pH").count("COMPRESSION DEFLATE { LEVEL 1 }") != 3:
        raise Failed("not all large datasets are compressed")
    runner.script("contiguous", "plain.h5", "layout=chunked")
    for how in ([], ["-pH"]):
        compare(runner.dump("native_contiguous.h5", *how), runner.dump("plain.h5", *how), "without a codec")


def refused(runner):
    """What cannot be done is said."""
    if "-n 1" in runner.options.launch:
        return
    make = (
        "import h5py, numpy; from mpi4py import MPI; f = h5py.File('refused.h5', 'w', driver='mpio', comm=MPI.COMM_WORLD);"
        "d = f.create_dataset('x', (8, 9), 'f8', chunks=(3, 9), compression='gzip')\n"
        "with d.collective: d[...] = numpy.ones((8, 9))\n"
    )
    said = runner.python(make + "d.id.read(d.id.get_space(), d.id.get_space(), numpy.empty((8, 9)))", "layout=chunked", True)
    if "call H5Fflush before it" not in said:
        raise Failed(f"an independent read while writes wait: {said}")
    runner.python(make + "f.flush(); assert (d[...] == 1).all(); f.close()", "layout=chunked")
    # HDF5 has no independent writes with filters; here they wait.
    runner.python(
        make + "d[0, MPI.COMM_WORLD.rank] = 2.0; f.flush(); assert (d[0, :MPI.COMM_WORLD.size] == 2).all(); f.close()",
        "layout=chunked",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("python", "plugins", "tools", "launch"):
        parser.add_argument("--" + name, required=True)
    runner = Runner(parser.parse_args())
    for test in (filtered, contiguous, refused):
        test(runner)
        print(f"{test.__name__}: passed")


try:
    main()
except Failed as failed:
    raise SystemExit(str(failed)) from None
