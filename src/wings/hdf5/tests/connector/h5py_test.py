"""Runs an h5py script natively and through the connector, which only the environment names, and compares the files.

    h5py_test.py --python PYTHON --forebay FOREBAY --plugins DIRECTORY [--launch "mpiexec -n 3"]

PYTHON's h5py has the HDF5 that the connector was built for. Without --launch the script is a serial one; with it each
rank runs it, with driver="mpio". What is compared is all that a program can see: through the connector, and, after
`forebay convert`, without it.
"""

import argparse
import difflib
import os
import subprocess
import sys
from pathlib import Path

program = Path(__file__).with_name("h5py_program.py")


class Failed(Exception):
    pass


class Runner:
    def __init__(self, options):
        self.options = options
        self.launch = options.launch.split() if options.launch else []
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HDF5_")}
        self.environment["OMPI_MCA_io"] = "romio321"

    def connector(self, hints):
        text = "forebay under_vol=0;under_info={}"
        if hints:
            text += f";hints={{{hints}}}"
        return {"HDF5_PLUGIN_PATH": self.options.plugins, "HDF5_VOL_CONNECTOR": text}

    def run(self, command, connector=None):
        done = subprocess.run(
            command, env={**self.environment, **(connector or {})}, capture_output=True, text=True, timeout=100
        )
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
        if "HDF5-DIAG" in done.stderr or "-DIAG" in done.stdout:
            raise Failed(f"{command} went on after an error\n{done.stderr}")
        return done.stdout

    def script(self, what, file, *more, connector=None, parallel=False):
        launch = self.launch if parallel else []
        return self.run([*launch, self.options.python, "-B", program, what, file, *more], connector)

    def convert(self, file, out):
        self.run([self.options.forebay, "convert", file, out, "--to", "hdf5", "--force"])


def compare(native, found, what):
    if native == found:
        return
    lines = difflib.unified_diff(native.splitlines(), found.splitlines(), "native", what, lineterm="", n=1)
    raise Failed(f"{what}: not what the same script makes natively\n" + "\n".join(lines))


def holds_log(file):
    return b"_forebay_log" in Path(file).read_bytes()


def copies(runner, name, native, log, connector):
    """H5Ocopy from each file into an ordinary one, which the connector passes through."""
    parallel = bool(runner.launch)
    texts = []
    for source, with_connector in ((native, None), (log, connector)):
        out = f"{Path(source).stem}_copy.h5"
        runner.run([runner.options.python, "-c", f"import h5py; h5py.File({out!r}, 'w').close()"])
        more = ["--mpio"] if parallel else []
        runner.script("copy", source, out, *more, connector=with_connector, parallel=parallel)
        texts.append(runner.script("describe", out))
        if "_forebay_" in texts[-1]:
            raise Failed(f"{out} shows what a log hides")
    compare(texts[0], texts[1], f"{name}: copies out of {log}")


def serial(runner, name, hints="", more=()):
    """One script, one file natively and one through the connector."""
    connector = runner.connector(hints)
    logged = "layout=canonical" not in hints
    native, log, plain = f"{name}_native.h5", f"{name}_log.h5", f"{name}_plain.h5"
    for step in ("write", "change"):
        runner.script(step, native, *more)
        runner.script(step, log, *more, connector=connector)
        if holds_log(log) != logged:
            raise Failed(f"{log} has {'no' if logged else 'a'} log")
        expected = runner.script("describe", native)
        compare(expected, runner.script("describe", log, connector=connector), f"{log} after {step}")
        compare(expected, runner.script("describe", native, connector=connector), f"{native} through the connector")
        if not logged:
            compare(expected, runner.script("describe", log), f"{log} without the connector")
        elif "--lzf" not in more:  # a filter of h5py's own, which the command does not have
            runner.convert(log, plain)
            expected = runner.script("describe", native, "--regions")
            compare(expected, runner.script("describe", plain, "--regions"), f"{log} converted after {step}")
    copies(runner, name, native, log, connector)
    print(f"{name}: {len(expected.splitlines())} lines, the same")


def no_log(runner):
    """What a log does not go with: an ordinary file where it is made, told where the file has one."""

    def script(text, hints=""):
        return runner.run([runner.options.python, "-c", "import h5py; " + text], runner.connector(hints))

    ordinary = {
        "paged": ("fs_strategy='page', fs_page_size=4096, page_buf_size=65536", "f['x'] = range(9)"),
        "swmr": ("libver='latest'", "f['x'] = range(9); f.swmr_mode = True; f['x'][2] = 2"),
        "core": ("driver='core', backing_store=True", "f['x'] = range(9)"),
    }
    for name, (how, what) in ordinary.items():
        script(f"f = h5py.File('{name}.h5', 'w', {how}); {what}; f.close()", "layout=auto" if name == "swmr" else "")
        script(f"assert list(h5py.File('{name}.h5')['x']) == list(range(9))")
        if holds_log(f"{name}.h5"):
            raise Failed(f"{name}.h5 has a log")
    script("h5py.File('log.h5', 'w', libver='latest', fs_strategy='page', fs_page_size=4096)['x'] = range(9)", "layout=log")
    if not holds_log("log.h5"):
        raise Failed("log.h5 has no log")
    compacts = "layout=log;compact=close"
    for text, hints, told in (
        ("h5py.File('log.h5', 'r+', libver='latest').swmr_mode = True", "", "single writer, multiple readers"),
        ("h5py.File('log.h5', 'r+', page_buf_size=65536)", "", "holds a log, which cannot be written with a page"),
        ("h5py.File('log.h5', 'r+', driver='core')", "", "holds a log, which this file driver cannot write"),
        ("h5py.File('log.h5', 'r+')", compacts, "compact=close cannot be done: the file is a log"),
        ("h5py.File('kept.h5', 'w', driver='stdio')", compacts, "compact=close cannot be done: the file is a log"),
    ):
        try:
            script(text, hints)
        except Failed as failed:
            if told not in str(failed):
                raise
        else:
            raise Failed(f"{text} went well")
    if os.path.exists("kept.h5"):
        raise Failed("a file is there that could not be made as asked")
    script("list(h5py.File('log.h5'))", compacts)  # nobody writes
    general = {**runner.connector(""), "FOREBAY_HINTS": "compact=close"}
    runner.run([runner.options.python, "-c", "import h5py; h5py.File('log.h5', 'r+').close()"], general)
    for how in ("page_buf_size=65536", "driver='core'", "driver='stdio'", "swmr=True, libver='latest'"):
        script(f"assert list(h5py.File('log.h5', {how})['x']) == list(range(9))")
    print("page buffers, SWMR and files in memory: as natively, or told")


def parallel(runner, name, hints=""):
    connector = runner.connector(hints)
    native, log, plain = f"{name}_native.h5", f"{name}_log.h5", f"{name}_plain.h5"
    for step in ("rows", "reread"):
        runner.script(step, native, parallel=True)
        runner.script(step, log, parallel=True, connector=connector)
        if not holds_log(log):
            raise Failed(f"{log} has no log")
        expected = runner.script("describe", native)
        compare(expected, runner.script("describe", log, connector=connector), f"{log} after {step}")
        if step == "reread":  # an ordinary file, made of the log before this step
            runner.script(step, plain, parallel=True, connector=connector)
            compare(expected, runner.script("describe", plain), f"{plain} after {step}")
        runner.convert(log, plain)
        compare(expected, runner.script("describe", plain), f"{log} converted after {step}")
    copies(runner, name, native, log, connector)
    print(f"{name}: {len(expected.splitlines())} lines, the same")


def main():
    parser = argparse.ArgumentParser()
    for name in ("python", "forebay", "plugins"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--launch")
    runner = Runner(parser.parse_args())
    try:
        if runner.launch:
            parallel(runner, "plain")
            parallel(runner, "subfiles", "subfiling=ranks;subfile_ranks=2")
        else:
            serial(runner, "plain")
            serial(runner, "filters", "layout=log", more=["--lzf", "--latest"])
            serial(runner, "ordered", more=["--ordered", "--userblock"])
            serial(runner, "passed", "layout=canonical", more=["--lzf"])
            no_log(runner)
    except Failed as failed:
        print(f"FAILED: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
