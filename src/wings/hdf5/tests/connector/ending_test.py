"""Programs that do not close their files, or not as one should: what they leave must be what they leave natively.

    ending_test.py --program PROGRAM --tools DIRECTORY --plugins DIRECTORY [--forebay COMMAND] [--launch "mpiexec -n 3"]

PROGRAM FILE WORD... writes a file and ends (ending_program.c); DIRECTORY has HDF5's tools. Each way to end is run
natively, and through the connector with a log, with compact=close, and without a log: the exit code and what h5dump shows must be equal.
Without --launch files are opened by sec2.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

methods = {"log": "layout=log", "compact": "compact=close", "canonical": "layout=canonical"}


class Failed(Exception):
    pass


class Programs:
    def __init__(self, options):
        self.options = options
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "FOREBAY_"))}

    def run(self, command, hints=None, folder=None):
        environment = dict(self.environment)
        if hints is not None:
            environment["HDF5_VOL_CONNECTOR"] = "forebay under_vol=0;under_info={};hints={" + hints + "}"
            environment["HDF5_PLUGIN_PATH"] = self.options.plugins
        return subprocess.run(
            [str(word) for word in command], env=environment, capture_output=True, text=True, timeout=100, cwd=folder
        )

    def write(self, folder, words, hints=None):
        command = [self.options.program, "a.h5", *words]
        if self.options.launch:
            command = [*self.options.launch.split(), *command, "mpi"]
        return self.run(command, hints, folder)

    def dump(self, file, hints=None):
        """What h5dump shows; None where it cannot read the file or one of its datasets."""
        how = [] if hints is None else ["--vol-name=forebay", "--vol-info=under_vol=0;under_info={}"]
        done = self.run([Path(self.options.tools) / "h5dump", *how, file], hints)
        return done.stdout if done.returncode == 0 else None


def errors(done):
    """Lines on standard error but for the launcher's own."""
    own = ("prterun", "mpirun", "--------", "[", "Primary job", "process rank", "mpiexec")
    return [line for line in done.stderr.splitlines() if line.strip() and not line.startswith(own)]


def check_whole(programs, folder, words):
    """The file is as natively, by whichever way it is written."""
    files = {}
    for name, hints in {"native": None, **methods}.items():
        place = folder / name
        place.mkdir(parents=True)
        files[name] = (place / "a.h5", programs.write(place, words, hints))
    native_file, native = files["native"]
    for ending in ("", ".moved"):
        if not Path(f"{native_file}{ending}").exists():
            continue
        wanted = programs.dump(f"{native_file}{ending}")
        if wanted is None:
            raise Failed(f"{words}: natively the file is not whole")
        for name, hints in methods.items():
            file, done = files[name]
            if done.returncode != native.returncode:
                raise Failed(f"{words}, {name}: exit code {done.returncode}, natively {native.returncode}\n{done.stderr[:3000]}")
            said = errors(done)
            if said != errors(native):
                raise Failed(f"{words}, {name}: {len(said)} lines on standard error\n" + "\n".join(said[:20]))
            found = programs.dump(f"{file}{ending}", hints)
            if found != wanted.replace(str(native_file), str(file)):
                raise Failed(f"{words}, {name}: through the connector the file has\n{found}\ninstead of\n{wanted}")
            natively = programs.dump(f"{file}{ending}")
            if name != "log" and natively != wanted.replace(str(native_file), str(file)):
                raise Failed(f"{words}, {name}: natively the file has\n{natively}\ninstead of\n{wanted}")
            if name == "log" and natively is not None:
                raise Failed(f"{words}, log: natively the datasets have\n{natively}")
            beside = sorted(p.name for p in file.parent.iterdir() if p.name not in ("a.h5", "a.h5.moved", "elsewhere"))
            if beside:
                raise Failed(f"{words}, {name}: left beside the file: {beside}")
    print(" ".join(words), "as natively", flush=True)


def check_killed(programs, folder, words):
    """Killed behind a flush: whole through the connector, and natively no values that nobody wrote."""
    folder.mkdir(parents=True)
    file = folder / "a.h5"
    programs.write(folder, words, methods["log"])
    natively = programs.dump(file)
    if natively is not None:
        raise Failed(f"{words}: natively the killed job's file has\n{natively}")
    # What is flushed, nothing more.
    found = programs.dump(file, methods["log"])
    if found is None or "1000000, 1000001" not in found:
        raise Failed(f"{words}: through the connector the killed job's file has\n{found}")
    print(" ".join(words), "told", flush=True)


def check_holes(programs, folder, words):
    """What nobody wrote takes no room, neither in an ordinary file nor in one that was converted."""
    shown = {}
    for name, hints in {"native": None, **methods}.items():
        place = folder / name
        place.mkdir(parents=True)
        programs.write(place, words, hints)
        file = place / "a.h5"
        if name == "log" and programs.options.forebay:
            done = programs.run([programs.options.forebay, "convert", file, place / "b.h5", "--to", "hdf5"])
            if done.returncode != 0:
                raise Failed(f"convert: {done.stderr}")
            file = place / "b.h5"
        elif name == "log":
            continue
        room = file.stat().st_blocks * 512
        if room > 64 << 20:
            raise Failed(f"{words}, {name}: the file takes {room} bytes")
        part = ["-s", str((1 << 25) - 10), "-c", "50"]
        texts = [
            programs.run([Path(programs.options.tools) / "h5dump", "-d", f"/{dataset}", *part, file]).stdout
            for dataset in ("few", "never")
        ]
        shown[name] = [text.replace(str(file), "") for text in texts]
        if shown[name] != shown["native"]:
            raise Failed(f"{words}, {name}: the file has\n{texts}")
    print(" ".join(words), "takes no room", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "tools", "plugins"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--launch", default="")
    parser.add_argument("--forebay", help="the command, which converts log files")
    options = parser.parse_args()
    programs = Programs(options)
    ways = [
        "keep=f",
        "keep=dgtaf flush end=exit",
        "keep=dgtasf end=h5close",
        "keep=dgtaf strong close",
        "keep=df quiet end=finalize",
        "keep=dtf end=reopen",
        "end=reopen close",
        "keep=df move",
        "move close",
    ]
    if not options.launch:  # with MPI-IO HDF5 closes no file that has open objects, and opens none twice
        ways += [
            "keep=df2 quiet end=finalize",
            "keep=df atclose",
            "keep=dtf end=reopen close",
            "keep=d",
            "keep=t",
            "keep=gta end=exit",
            "keep=dgta strong",
            "keep=d flush fork",
            "keep=df fork close end=exit",
            "fork",
        ]
    failures = 0
    here = Path.cwd() / ("ending_mpi" if options.launch else "ending")
    subprocess.run(["rm", "-rf", str(here)], check=True)
    for n, (check, words) in enumerate(
        [(check_whole, way) for way in ways] + [(check_killed, "keep=df flush end=kill"), (check_killed, "keep=d flush close weak end=kill"), (check_holes, "large")]
    ):
        try:
            check(programs, here / str(n), words.split())
        except (Failed, subprocess.TimeoutExpired) as error:
            failures += 1
            print(error, file=sys.stderr, flush=True)
    if failures == 0:
        subprocess.run(["rm", "-rf", str(here)], check=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
