#!/usr/bin/env python3
"""Has write_bp write BP4 files on several numbers of ranks, and adios2 read them, value for value."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../tests/support"))
import cases

try:
    import adios2
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (adios2 and numpy are needed)")
    sys.exit(77)

TYPES = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4",
         "uint64": "u8", "float": "f4", "double": "f8", "complex64": "c8", "complex128": "c16"}
ADIOS_TYPES = {"int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t",
               "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "float": "float", "double": "double",
               "complex64": "float complex", "complex128": "double complex"}


def series(start, n, step, dtype):
    values = np.arange(start, start + n) + 7 * step
    if dtype[0] == "c":
        return (values - 1j * values).astype(dtype)
    return values.astype(dtype)


def same(what, got, expected):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype, f"{what}: {got.dtype}, not {expected.dtype}"
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    assert np.array_equal(got, expected, equal_nan=got.dtype.kind == "f"), f"{what}: {got}, not {expected}"


class File:
    """An open file, and what `ranks` ranks wrote to it in the given steps. `order`: of dimensions, as it is read."""

    def __init__(self, path, ranks, steps):
        self.ranks, self.steps = ranks, steps
        self.file = adios2.FileReader(str(path))
        self.variables = self.file.available_variables()

    def present(self, step):
        """Ranks that were not empty in it."""
        return [r for r in range(self.ranks) if not (self.ranks >= 3 and r == 1 and step == 1)]

    def read(self, name, index, start=None, count=None, block_id=None):
        if self.variables[name]["Type"].endswith("complex"):  # which FileReader has no NumPy type for
            variable = self.file.inquire_variable(name)
            variable.set_step_selection([index, 1])
            if start is not None:
                variable.set_selection([start, count])
            got = np.empty(count or [], "c8" if variable.type().startswith("float") else "c16")
            self.file.engine.get(variable, got, adios2.bindings.Mode.Sync)
            return got
        selected = {"start": start, "count": count} if start is not None else {}
        if block_id is not None:
            selected["block_id"] = block_id
        return self.file.read(name, step_selection=[index, 1], **selected)

    def blocks(self, name, index):
        return self.file.engine.blocks_info(name, index)

    def check(self):
        assert self.file.num_steps() == len(self.steps), f"{self.file.num_steps()} steps"
        for index, step in enumerate(self.steps):
            self.numbers(index, step)
            self.shapes(index, step)
        self.ranges()
        self.attributes()
        self.file.close()

    def numbers(self, index, step):
        present = self.present(step)
        for name, dtype in TYPES.items():
            assert self.variables["scalar/" + name]["Type"] == ADIOS_TYPES[name], self.variables["scalar/" + name]
            scalar = self.read("scalar/" + name, index)
            same("scalar/" + name, np.asarray(scalar, dtype).reshape(-1), series(3, 1, step, dtype))
            whole = self.read("array/" + name, index, start=[0, 0], count=[4 * self.ranks, 5])
            expected = series(0, 20 * self.ranks, step, dtype).reshape(-1, 5)
            for r in range(self.ranks):
                if r in present:
                    same(f"array/{name} of rank {r}", whole[4 * r:4 * r + 4], expected[4 * r:4 * r + 4])
            # A box across blocks, and not from the beginning.
            if len(present) == self.ranks:
                box = self.read("array/" + name, index, start=[2, 1], count=[4 * self.ranks - 3, 3])
                same(f"a box of array/{name}", box, expected[2:-1, 1:4])
            if dtype[1:] == "1":
                continue  # adios2 tells their bounds as characters, and fails where they are none
            blocks = self.blocks("array/" + name, index)
            assert [b["Start"] for b in blocks] == [f"{4 * r},0" for r in present], blocks
            assert all(b["Count"] == "4,5" for b in blocks), blocks
            if dtype[0] != "c":
                for b, r in zip(blocks, present):
                    assert float(b["Min"]) == 20 * r + 7 * step, b
                    assert float(b["Max"]) == 20 * r + 19 + 7 * step, b
        text = self.read("text", index)
        assert str(text if isinstance(text, str) else text[0]) == f"step {step}", text

    def shapes(self, index, step):
        present = self.present(step)
        same("own", np.asarray(self.read("own", index, start=[0], count=[len(present)])).reshape(-1),
             np.array([10 * r + step for r in present], "i4"))
        columns = 6 + step
        if len(present) == self.ranks:
            boxes = self.read("boxes", index, start=[0, 0], count=[2 * self.ranks, columns])
            same("boxes", boxes, series(0, 2 * self.ranks * columns, step, "f8").reshape(-1, columns))
        assert len(self.blocks("boxes", index)) == 2 * len(present)
        for block, r in enumerate(r for r in present if r > 0 or self.ranks == 1):
            local = self.read("local", index, block_id=block)
            same(f"local of rank {r}", local, series(100 * r, 3 * r + 3, step, "i4").reshape(-1, 3))
        counts = [r + step + 1 for r in present]
        joined = self.read("joined", index, start=[0, 0], count=[sum(counts), 3])
        same("joined", joined, np.concatenate(
            [series(1000 * r, 3 * n, step, "f4").reshape(-1, 3) for r, n in zip(present, counts)]))
        holes = self.read("holes", index, start=[0, 0], count=[self.ranks, 2])
        for r in present:
            if r % 2 == 0:
                same("holes", holes[r], series(50 + 2 * r, 2, step, "f4"))

    def ranges(self):
        """Over all blocks: only what is finite counts, and blocks without elements do not."""
        last = max(self.steps)
        strange, holes = self.variables["strange"], self.variables["holes"]
        assert (float(strange["Min"]), float(strange["Max"])) == (-4.0 - self.ranks, -5.0), strange
        top = (self.ranks - 1) // 2 * 2
        assert float(holes["Min"]) == 50 + 7 * min(self.steps), holes
        assert float(holes["Max"]) == 51 + 2 * top + 7 * last, holes
        for rank in range(self.ranks):
            steps = [s for s in self.steps if (s + rank) % 2 == 0 and rank in self.present(s)]
            name = f"only/{rank}"
            assert (name in self.variables) == bool(steps), name
            if steps:
                assert int(self.variables[name]["AvailableStepsCount"]) == len(steps), self.variables[name]
                for i, step in enumerate(steps):
                    same(name, self.read(name, i, start=[0], count=[4]), series(rank, 4, step, "i2"))

    def attributes(self):
        read = self.file.read_attribute
        assert read("array/double/units") == "kelvin", read("array/double/units")
        assert list(read("names")) == ["one", "", "three"], read("names")
        same("version", read("version"), np.array([4, 5, 6], "i4"))
        assert float(np.asarray(read("pi"))) == 3.25
        assert int(np.asarray(read("last"))) == self.ranks
        there = self.file.available_attributes()
        assert ("late" in there) == (2 in self.steps), there
        assert there["version"]["Type"] == "int32_t" and int(there["version"]["Elements"]) == 3, there["version"]


def walk_groups(path, alignment=4096):
    """data.K is process groups without a gap, each of whose variables is where its lengths say."""
    data = path.read_bytes()
    at, groups = 64, 0
    while at < len(data):
        assert data[at:at + 4] == b"[PGI", f"{path} at {at}: no group"
        length = int.from_bytes(data[at + 4:at + 12], "little") + 4
        assert data[at + length - 4:at + length] == b"PGI]", f"{path} at {at}: no end of a group"
        name = int.from_bytes(data[at + 13:at + 15], "little")
        if name:
            assert at % alignment == 0, f"{path}: a group at {at}"
        at, groups = at + length, groups + 1
    assert at == len(data)
    return groups


def unmarked(data):
    """Without what groups say of when the file was opened."""
    return re.sub(rb"/[0-9a-f]{16}/", b"/opening/", data)


def faults(writer, path, arguments, judge=lambda call, fault: None):
    """One write after another fails on one rank: its step is in no file, the others are. `judge` looks at a file."""
    whole = 0
    for rank in (0, 2):
        def fails(call):
            nonlocal whole
            assert call < 1000, "there is no end of failing writes"
            if path.is_file():
                path.unlink()
            fault = f"pwrite:rank={rank}:call={call}:errno=ENOSPC"
            done = subprocess.run([writer, str(path), "3", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, env=dict(os.environ, FOREBAY_FAULT=fault), timeout=60)
            if done.returncode == 1:
                assert "ended" not in done.stdout, f"{fault}: {done.stdout}"
                return True  # it could not be created
            lines = done.stdout.split("\n")[:-1]
            ended = [int(line.split()[1]) for line in lines if line.startswith("ended")]
            assert len(lines) == 3 and len(ended) >= 2, f"{fault}: {lines}"
            File(path, 3, ended).check()
            judge(call, fault)
            whole += 1
            return len(ended) < 3

        print(f"rank {rank}: {cases.try_places(fails)}")
    assert whole > cases.few_of(20), whole
    print(f"{whole} failing writes: the other steps as written")


def run(command, *arguments, code=0):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert code is None or done.returncode == code, f"{arguments}: {done.returncode}, {done.stdout}{done.stderr}"
    return done.stdout


def recover(command, path, ranks):
    """Whatever is lost of the index, it is made again, as it was but for the time, and data files stay."""
    if not command:
        return
    whole = {p.name: p.read_bytes() for p in path.iterdir()}
    size = len(whole["md.0"])
    ends = np.frombuffer(whole["md.idx"][64:], "<u8").reshape(-1, 8)[:, 5].astype(int)
    assert "nothing to do" in run(command, "recover", path)
    for number, (index, metadata) in enumerate((
            (None, size), (-40, size), (64 + 2 * 64, size), (-64, ends[-2] + 100), (-64, ends[1] - 1),
            (10, size), (None, None), (None, 0), (-1, None), (None, ends[0] + 8))):
        for name, length in (("md.idx", index), ("md.0", metadata)):
            (path / name).write_bytes(whole[name][:length] if length is not None else b"")
            if length is None:
                (path / name).unlink()
        listed = json.loads(run(command, "recover", "--list", "--json", path))
        assert listed["outcome"] == "can be recovered" and listed["steps"] == len(ends), listed
        assert not (path / "md.0.new").exists()
        run(command, "recover", path)
        for name in whole:
            got, expected = (path / name).read_bytes(), whole[name]
            if name == "md.idx":  # seconds since 1970
                got, expected = (np.frombuffer(b[64:], "<u8").reshape(-1, 8)[:, [0, 1, 2, 3, 4, 5, 7]].tobytes()
                                 for b in (got, expected))
            assert got == expected, f"{path}, case {number}: {name} is not what it was"
        for kept in path.glob("*.old"):
            assert whole[kept.name[:-4]].startswith(kept.read_bytes()), kept
            kept.unlink()
    File(path, ranks, list(range(len(ends)))).check()


def recover_adios2(command, path):
    """What adios2 wrote is found in md.0; without that there is nothing that tells which groups are a step."""
    with adios2.FileReader(str(write_adios2(path))) as file:
        steps = file.num_steps()
    assert "nothing to do" in run(command, "recover", path)
    index = (path / "md.idx").read_bytes()
    for length in (64 + 64, 64, 30):
        (path / "md.idx").write_bytes(index[:length])
        run(command, "recover", path)
        with adios2.FileReader(str(path)) as file:
            assert file.num_steps() == steps, (length, file.num_steps())
            for step in range(steps):
                same("a", file.read("a", step_selection=[step, 1]), np.arange(6.0).reshape(2, 3) + step)
    # adios2 leaves the number of a step out in which nothing was written (and cannot open such a file itself).
    gaps = path.with_name("gaps.bp")
    write_gaps(gaps)
    records = np.frombuffer((gaps / "md.idx").read_bytes()[64:], "<u8").reshape(-1, 8)[:, :6]
    assert list(records[:, 0]) == [1, 3, 4], records
    os.truncate(gaps / "md.idx", 64 + 64)
    found = json.loads(run(command, "recover", "--json", gaps))
    assert found["steps"] == 3 and found["by_index"] == 2 and not found["notes"], found
    again = np.frombuffer((gaps / "md.idx").read_bytes()[64:], "<u8").reshape(-1, 8)[:, :6]
    assert np.array_equal(again, records), again
    (path / "md.0").unlink()
    assert "damaged" in run(command, "recover", path, code=1)
    assert (path / "md.idx").stat().st_size == 64 + 64 * steps


def write_gaps(path):
    io = adios2.Adios().declare_io("gaps")
    io.set_engine("BP4")
    a = io.define_variable("a", np.zeros(1), [6], [0], [6])
    engine = io.open(str(path), adios2.bindings.Mode.Write)
    for step in range(4):
        engine.begin_step()
        if step != 1:
            engine.put(a, np.arange(6.0) + step, adios2.bindings.Mode.Sync)
        engine.end_step()
    engine.close()


def write_adios2(path):
    adios = adios2.Adios()
    io = adios.declare_io("io")
    io.set_engine("BP4")
    packed = io.define_variable("packed", np.zeros(1), [100000], [0], [100000])  # if it can
    for name in ("null",):
        try:
            packed.add_operation(adios.define_operator(name, name), {})
            break
        except Exception:  # not in this build of adios2
            continue
    a, n = io.define_variable("a", np.zeros(1), [2, 3], [0, 0], [2, 3]), io.define_variable("n", np.array(1))
    text, own = io.define_variable("text"), io.define_variable("own", np.array(1), [adios2.LocalValueDim])
    io.define_attribute("a/units", "K")
    engine = io.open(str(path), adios2.bindings.Mode.Write)
    for step in range(3):
        engine.begin_step()
        engine.put(a, np.arange(6.0).reshape(2, 3) + step, adios2.bindings.Mode.Sync)
        engine.put(n, np.array(step), adios2.bindings.Mode.Sync)
        engine.put(packed, np.zeros(100000), adios2.bindings.Mode.Sync)
        engine.put(text, f"step {step}")
        engine.put(own, np.array(step), adios2.bindings.Mode.Sync)
        engine.end_step()
    engine.close()
    return path


def kills(writer, folder, command):
    """Killed anywhere, a file has every step that ended (async: but the last); what is found behind is right."""
    rng = np.random.default_rng(7)
    seen, more = [], []
    for attempt in range(12):
        late = attempt >= 8
        path = folder / "killed.bp"
        shutil.rmtree(path, ignore_errors=True)
        words = [writer, str(path), "3", "2", "0", "100000"] + ["async"] * late + ["early"] * (attempt % 3 == 0)
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(1 + late):  # a step is in the file
                process.stdout.readline()
            time.sleep(float(rng.uniform(0, 0.1)))
            process.kill()
            ended = 1 + late + process.stdout.read().count("ended")
        with adios2.FileReader(str(path)) as file:
            there = file.num_steps()
        assert ended - late <= there <= ended + 1 - late, f"{there} steps, {ended} had ended"
        File(path, 3, list(range(there))).check()
        if command:
            kept = there
            if attempt % 2:  # where a kill comes between a step and its record is rare
                kept = there - 1
                os.truncate(path / "md.idx", 64 + 64 * kept)
                if attempt % 4 == 3:  # or within its index
                    os.truncate(path / "md.0", (path / "md.0").stat().st_size - int(rng.integers(1, 500)))
            found = json.loads(run(command, "recover", "--json", path))
            assert there <= found["steps"] <= there + 1 + late, found
            assert found["by_index"] + found["by_groups"] == found["steps"] - kept, found
            more.append(found["steps"] - kept)
            there = found["steps"]
            for name in ("md.0", "md.idx"):
                (path / name).unlink()
            found = json.loads(run(command, "recover", "--json", path))
            assert found["steps"] == there and found["by_groups"] == there, (found, there)
            File(path, 3, list(range(there))).check()
        subprocess.run([writer, str(path), "3", "2", str(there), str(there + 1), "append"], check=True,
                       stdout=subprocess.DEVNULL)
        File(path, 3, list(range(there + 2))).check()
        seen.append(there)
    assert not command or sum(more) >= 4, more
    print(f"killed behind {seen} steps, of which {sum(more)} were recovered: all there, and appended to")


def kills_in_logs(writer, folder, command):
    """Steps that wait in logs: whenever the job or the recovery is killed, all that ended are there in the end."""
    rng = np.random.default_rng(11)
    path, logs = folder / "burst.bp", folder / "burst.bp.logs"
    replayed, seen = 0, []
    for attempt in range(12):
        shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir()
        (folder / "burst.bp.staging").unlink(missing_ok=True)
        words = [writer, str(path), "3", "2", "0", "100000", "burst"] + ["early"] * (attempt % 3 == 0)
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            time.sleep(float(rng.uniform(0, 0.1)))
            process.kill()
            ended = 1 + process.stdout.read().count("ended")
        with adios2.FileReader(str(path)) as file:
            flushed = file.num_steps()
        assert flushed <= ended + 1, (flushed, ended)
        if flushed:
            File(path, 3, list(range(flushed))).check()
        for _ in range(attempt % 3):
            with subprocess.Popen([command, "recover", str(path)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                time.sleep(float(rng.uniform(0, 0.03)))
                process.kill()
        found = json.loads(run(command, "recover", "--json", path))
        assert not list(logs.iterdir()) and not (folder / "burst.bp.staging").exists(), found
        with adios2.FileReader(str(path)) as file:
            there = file.num_steps()
        assert ended <= there <= ended + 1, f"{there} steps, {ended} had ended"
        replayed += there > flushed  # by this recovery, or one of those that were killed
        File(path, 3, list(range(there))).check()
        words = [writer, str(path), "3", "2", str(there), str(there + 1), "append"] + ["burst"] * (attempt % 2)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        File(path, 3, list(range(there + 2))).check()
        seen.append((flushed, there))
    assert replayed >= 4 and any(flushed for flushed, _ in seen), seen
    print(f"killed with steps in logs, {seen} flushed and ended: all there")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--launch", help="what starts 3 ranks of the writer")
    parser.add_argument("--command", help="the forebay command, to recover what is lost")
    parser.add_argument("--bp4dbg", help="folder of adios2's module of that name, which walks the files too")
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)

    def write(path, *arguments, launch=()):
        subprocess.run([*launch, options.writer, str(path), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    for ranks in (1, 2, 3, 4, 7):
        for per_file in (0, 1, 2):
            path = options.dir / f"r{ranks}f{per_file}.bp"
            write(path, ranks, per_file, 0, 2)
            File(path, ranks, [0, 1, 2]).check()
            files = sorted(path.glob("data.*"))
            assert len(files) == (1 if per_file == 0 else -(-ranks // per_file)), files
            for data in files:
                assert walk_groups(data) > 1
            walk(options.bp4dbg, path)
            # Appended to, behind a record that was torn and a step that did not get one.
            before = {p.name: p.read_bytes() for p in path.iterdir()}
            for name, rubbish in (("md.idx", 40), ("md.0", 1000)):
                with open(path / name, "ab") as file:
                    file.write(b"\x7f" * rubbish)
            File(path, ranks, [0, 1, 2]).check()
            write(path, ranks, per_file, 3, 4, "append")
            File(path, ranks, [0, 1, 2, 3, 4]).check()
            for name, bytes_before in before.items():
                assert (path / name).read_bytes().startswith(bytes_before), f"{name} was rewritten"
            for data in files:
                walk_groups(data)
            walk(options.bp4dbg, path)
            recover(options.command, path, ranks)
            print(f"{ranks} ranks, {per_file} a data file: as written")
    for ranks, per_file in ((1, 0), (3, 0), (4, 2)):
        early(options, write, ranks, per_file)
    path = options.dir / "column.bp"
    write(path, 3, 0, 0, 0, "column")
    with adios2.FileReader(str(path)) as file:
        # The first dimension is the fastest one: readers in C see them turned round.
        got = file.read("array/double", start=[0, 0], count=[5, 12])
        for r in range(3):
            same("array/double", got[:, 4 * r:4 * r + 4], series(20 * r, 20, 0, "f8").reshape(5, 4))
    write(path, 2, 0, 0, 1)  # replaced by one of fewer ranks
    File(path, 2, [0, 1]).check()
    print("column-major, and replaced: as written")
    if options.launch:
        path = options.dir / "mpi.bp"
        write(path, 3, 2, 0, 2, launch=options.launch.split())
        File(path, 3, [0, 1, 2]).check()
        for name in ("data.0", "data.1", "md.0"):
            threads = (options.dir / "r3f2.bp" / name).read_bytes()[:(path / name).stat().st_size]
            assert unmarked((path / name).read_bytes()) == unmarked(threads), f"{name}: processes wrote other than threads"
        print("3 processes: as written")
    faults(options.writer, options.dir / "fault.bp", ["2", "0", "2"])
    kills(options.writer, options.dir, options.command)
    if options.command:
        if "burst" in os.environ.get("FOREBAY_TEST_WINGS", "burst").split(","):
            kills_in_logs(options.writer, options.dir, options.command)
        recover_adios2(options.command, options.dir / "adios2.bp")
    return 0


def early(options, write, ranks, per_file):
    """Ranks without memory for a step: what is beyond it lies in one more data file, of the node, or, where a rank has a
    data file alone and writes at once, in that."""
    path = options.dir / f"early{ranks}.bp"
    write(path, ranks, per_file, 0, 2, "early")
    File(path, ranks, [0, 1, 2]).check()
    files = (-(-ranks // per_file) if per_file else 1) + (0 if ranks == 1 else 1)
    last = path / f"data.{files - 1}"
    assert sorted(path.glob("data.*"))[-1] == last
    assert walk_groups(last) > 3 * ranks
    write(path, ranks, per_file, 3, 4, "append", "early", "async")
    write(path, ranks, per_file, 5, 5, "append")
    File(path, ranks, range(6)).check()
    assert sum(walk_groups(file) for file in path.glob("data.*") if file >= last) > 5 * ranks
    walk(options.bp4dbg, path)
    if options.command:
        for name in ("md.0", "md.idx"):
            (path / name).unlink()
        found = json.loads(run(options.command, "recover", "--json", path))
        assert found["steps"] == found["by_groups"] == 6, found
        File(path, ranks, range(6)).check()
    print(f"{ranks} ranks without memory for a step: as written")


def walk(bp4dbg, path):
    if not bp4dbg:
        return
    script = "import sys; sys.path.insert(0, sys.argv[1]); from bp4dbg import {0} as m; sys.exit(not m.{1}(sys.argv[2]))"
    for file in sorted(path.iterdir()):
        if file.name == "md.0" and file.stat().st_size > 60000:
            continue  # its arithmetic has 16 bits with today's NumPy
        call = ("data", "DumpData") if file.name.startswith("data") else \
            ("metadata", "DumpMetaData") if file.name == "md.0" else ("idxtable", "DumpIndexTable")
        done = subprocess.run([sys.executable, "-c", script.format(*call), bp4dbg, str(file)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0 and "ERROR" not in done.stdout, f"{file}: {done.stdout[-2000:]}"


if __name__ == "__main__":
    sys.exit(main())
