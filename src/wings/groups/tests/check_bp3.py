#!/usr/bin/env python3
"""Has write_bp write BP3 files on several numbers of ranks; adios2 and ADIOS 1's bpls read them."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from check_bp import File, adios2, cases, faults, np, run, same, series

RNG = np.random.default_rng(11)


def places(path):
    """Of the footer: where the index begins, and where it ends."""
    data = path.read_bytes()
    assert data[-56:].startswith(b"ADIOS-BP v2"), data[-56:]
    return int.from_bytes(data[-28:-20], "little"), len(data) - 56


def is_compact(path, ranks, steps):
    """The index follows the groups, which are the step's alone."""
    begin, end = places(path)
    data = path.read_bytes()
    assert begin % 4096 == 0 and begin < end, (begin, end)
    groups = sum(data[at : at + 4] == b"[PGI" for at in range(0, begin, 4096))
    written = sum(ranks - (ranks >= 3 and step == 1) for step in range(steps))
    assert groups == written, f"{groups} groups, {written} were written"


def bpls(options, path, ranks, steps):
    if not options.bpls:
        return
    listed = subprocess.run([options.bpls, "-l", str(path)], capture_output=True, text=True, timeout=60).stdout
    line = next(line for line in listed.splitlines() if " array/double " in line)
    last = 20 * ranks - 1 + 7 * (steps - 1)
    several = f"{steps}*" if steps > 1 else ""
    assert f"{several}{{{4 * ranks}, 5}} = 0 / {last}" in " ".join(line.split()), line
    for name, dtype in (("array/double", "f8"), ("array/int16", "i2"), ("array/uint32", "u4")):
        dump = subprocess.run([options.bpls, "-y", "-d", str(path), name], capture_output=True, text=True, timeout=60)
        values = np.array(
            [v for row in dump.stdout.splitlines() if not row.startswith(";") for v in row.split()], dtype
        )
        values = values.reshape(steps, 4 * ranks, 5)
        for step in range(steps):
            for r in range(ranks):
                if not (ranks >= 3 and r == 1 and step == 1):
                    same(name, values[step, 4 * r : 4 * r + 4], series(20 * r, 20, step, dtype).reshape(4, 5))
    text = subprocess.run(
        [options.bpls, "-y", "-d", str(path), "text"], capture_output=True, text=True, timeout=60
    ).stdout
    assert '"step 0"' in text, text  # of the others it drops characters, whoever wrote them


def recovered(options, path, ranks, steps):
    """A file that lost its footer, or more, gets one for all steps whose groups are there."""
    if not options.command:
        return
    assert "nothing to do" in run(options.command, "recover", path)
    whole, (begin, end) = path.read_bytes(), places(path)
    cut = path.with_name("cut.bp")
    last = max(at for at in range(0, begin, 4096) if whole[at : at + 4] == b"[PGI")
    for size, left in (
        (len(whole) - 1, steps),
        (begin + 10, steps),
        (begin, steps),
        (last + 100, steps - 1),
        (2000, 0),
    ):
        cut.write_bytes(whole[:size])
        found = json.loads(run(options.command, "recover", "--list", "--json", cut, code=None))
        assert found["steps"] == left and cut.stat().st_size == size, (size, found)
        for what in ("ls", "check"):
            done = subprocess.run([options.command, what, str(cut)], capture_output=True, text=True)
            assert done.returncode != 0 and "recover" in done.stdout + done.stderr, done
        run(options.command, "recover", cut, code=0 if left else None)
        if left:
            assert cut.read_bytes().startswith(whole[:size])
            File(cut, ranks, range(left)).check()
            bpls(options, cut, ranks, left)
            subprocess.run(
                [options.writer, str(cut), str(ranks), "0", str(left), str(left), "append", "bp3"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            File(cut, ranks, range(left + 1)).check()
            is_compact(cut, ranks, left + 1)
    cut.unlink()


def failing_writes(options):
    path = options.dir / "fault.bp"

    def judge(call, fault):
        if options.command and call % 3 == 0:
            assert "nothing to do" in run(options.command, "recover", path), fault

    faults(options.writer, path, ["0", "0", "2", "bp3"], judge)


def kills(options):
    """Killed anywhere, a file has every step that ended; while its index is moved, by recovery."""
    seen, without, more = [], 0, 0
    path = options.dir / "killed.bp"
    environment = dict(os.environ, FOREBAY_FAULT="pwrite:delay=300")
    for _ in range(cases.few_of(24)):
        path.unlink(missing_ok=True)
        words = [options.writer, str(path), "3", "0", "0", "100000", "bp3"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
            process.stdout.readline()
            time.sleep(float(RNG.uniform(0, 0.15)))
            process.kill()
            ended = 1 + process.stdout.read().count("ended")
        try:
            with adios2.FileReader(str(path)) as file:
                there = file.num_steps()
            assert ended <= there <= ended + 1, f"{there} steps, {ended} had ended"
            File(path, 3, range(there)).check()
            bpls(options, path, 3, there)
        except RuntimeError:
            assert path.read_bytes()[-56:-45] != b"ADIOS-BP v2", "a footer, and adios2 does not open it"
            without += 1
            there = 0
        if options.command:
            found = json.loads(run(options.command, "recover", "--json", path))
            assert ended <= found["steps"] <= ended + 1 and found["steps"] >= there, (found, ended, there)
            more += found["steps"] > there > 0
            there = found["steps"]
            File(path, 3, range(there)).check()
        if there == 0:
            continue
        subprocess.run(
            [options.writer, str(path), "3", "0", str(there), str(there + 1), "append", "bp3"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        File(path, 3, range(there + 2)).check()
        is_compact(path, 3, there + 2)
        seen.append(there)
    print(
        f"killed behind {seen} steps: {without} without a footer, {more} with a step beyond it; all there, appended to"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--command", help="the forebay command, to recover what is lost")
    parser.add_argument("--bpls", default=shutil.which("bpls"), help="ADIOS 1's, the second judge")
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    print(f"judges: adios2 {adios2.__version__}, bpls: {options.bpls or 'not installed'}")

    def write(path, *arguments, code=0):
        done = subprocess.run([options.writer, str(path), *map(str, arguments), "bp3"], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stderr

    for ranks in (1, 2, 3, 4, 7):
        path = options.dir / f"r{ranks}.bp"
        write(path, ranks, 0, 0, 2)
        File(path, ranks, [0, 1, 2]).check()
        is_compact(path, ranks, 3)
        bpls(options, path, ranks, 3)
        recovered(options, path, ranks, 3)
        write(path, ranks, 0, 3, 4, "append", "early")
        File(path, ranks, range(5)).check()
        is_compact(path, ranks, 5)
        bpls(options, path, ranks, 5)
        recovered(options, path, ranks, 5)
        print(f"{ranks} ranks: as written")
    path = options.dir / "column.bp"
    write(path, 3, 0, 0, 0, "column")
    with adios2.FileReader(str(path)) as file:
        got = file.read("array/double", start=[0, 0], count=[5, 12])
        for r in range(3):
            same("array/double", got[:, 4 * r : 4 * r + 4], series(20 * r, 20, 0, "f8").reshape(5, 4))
    assert "row-major" not in write(path, 3, 0, 0, 0, "append", code=1).replace("column-major", "")
    write(path, 2, 0, 0, 1)  # replaced by one of fewer ranks
    File(path, 2, [0, 1]).check()
    # What is no file of this kind is neither replaced nor appended to.
    (options.dir / "notes.bp").write_text("measured in the laboratory, never to be had again")
    assert "no BP3 file" in write(options.dir / "notes.bp", 1, 0, 0, 0, code=1)
    (options.dir / "folder.bp").mkdir()
    assert "no BP3 file" in write(options.dir / "folder.bp", 1, 0, 0, 0, code=1)
    assert "a directory" in write(options.dir / "folder.bp", 1, 0, 0, 0, "append", code=1)
    io = adios2.Adios().declare_io("io")
    io.set_engine("BP3")
    io.set_parameters({"CollectiveMetadata": "On"})
    n = io.define_variable("n", np.array(1))
    engine = io.open(str(options.dir / "adios2.bp"), adios2.bindings.Mode.Write)
    engine.put(n, np.array(7), adios2.bindings.Mode.Sync)
    engine.close()
    assert "another program wrote it" in write(options.dir / "adios2.bp", 1, 0, 0, 0, "append", code=1)
    assert "is a file" in write_bp4(options, path)
    print("column-major, replaced, refused")
    failing_writes(options)
    kills(options)
    return 0


def write_bp4(options, path):
    done = subprocess.run([options.writer, str(path), "2", "0", "0", "0", "append"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return done.stderr


if __name__ == "__main__":
    sys.exit(main())
