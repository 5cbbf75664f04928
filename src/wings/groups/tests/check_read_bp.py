#!/usr/bin/env python3
"""Has adios2 write BP4 and BP3 files, and write_bp BP4 files, and compares what the forebay command reads with what adios2 does."""

import argparse
import json
import os
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

TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")
# adios2 takes NumPy's int8 for characters.
NAMES = {"i1": "char", "i2": "short", "i4": "int", "i8": "int64", "u1": "ubyte", "u2": "ushort", "u4": "uint",
         "u8": "uint64", "f4": "float", "f8": "double", "c8": "float", "c16": "double"}
FILL = {"i1": -127, "i2": -32767, "i4": -2147483647, "i8": -9223372036854775806, "u1": 255, "u2": 65535,
        "u4": 4294967295, "u8": 18446744073709551614, "f4": 9.969209968386869e36, "f8": 9.969209968386869e36}
STEPS = 5


def values(dtype, shape, step):
    made = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 11 * step + 1
    return (made - 2j * made).astype(dtype) if dtype[0] == "c" else made.astype(dtype)


def write(path, engine):
    """Every type and kind, in several blocks a step."""
    adios = adios2.Adios()
    io = adios.declare_io("all")
    io.set_engine(engine)
    arrays = {t: io.define_variable(f"array/{t}", values(t, (1,), 0), [6, 8], [0, 0], [3, 8]) for t in TYPES}
    scalars = {t: io.define_variable(f"scalar/{t}", values(t, (1,), 0)) for t in TYPES if t[0] != "c"}
    text = io.define_variable("text")
    odd = io.define_variable("odd", np.zeros(1, "f8"), [4], [0], [4])
    once = io.define_variable("once", np.zeros(1, "i4"), [3, 2], [0, 0], [3, 2])
    local = io.define_variable("local", np.zeros(1, "f4"), [], [], [2, 3])
    grows = io.define_variable("grows", np.zeros(1, "f8"), [1, 2], [0, 0], [1, 2])
    hidden = io.define_variable("hidden", np.zeros(1, "f8"), [1000], [0], [1000])
    operators = [name for name in ("null",) if operator(adios, hidden, name)][:1]
    io.define_attribute("array/f8/units", "K")
    io.define_attribute("title", "of adios2")
    io.define_attribute("level", np.array([1.5, -2.5]))
    io.define_attribute("answer", np.array([42], "i4"))
    io.define_attribute("words", ["a", "", "ccc"])
    engine = io.open(str(path), adios2.bindings.Mode.Write)
    for step in range(STEPS):
        engine.begin_step()
        for t, variable in arrays.items():
            whole = values(t, (6, 8), step)
            for start, count in (((0, 0), (3, 5)), ((0, 5), (3, 3)), ((3, 0), (3, 8))):
                variable.set_selection([list(start), list(count)])
                box = np.ascontiguousarray(whole[start[0]:start[0] + count[0], start[1]:start[1] + count[1]])
                engine.put(variable, box, adios2.bindings.Mode.Sync)
        for t, variable in scalars.items():
            engine.put(variable, values(t, (1,), step), adios2.bindings.Mode.Sync)
        engine.put(text, "step" + step * "!")
        if step % 2:
            engine.put(odd, values("f8", (4,), step), adios2.bindings.Mode.Sync)
        if step == 2:
            engine.put(once, values("i4", (3, 2), step), adios2.bindings.Mode.Sync)
        for block in range(3):
            engine.put(local, values("f4", (2, 3), 10 * step + block), adios2.bindings.Mode.Sync)
        grows.set_shape([step + 1, 2])
        grows.set_selection([[0, 0], [step + 1, 2]])
        engine.put(grows, values("f8", (step + 1, 2), step), adios2.bindings.Mode.Sync)
        engine.put(hidden, values("f8", (1000,), 0), adios2.bindings.Mode.Sync)
        engine.end_step()
    engine.close()
    return operators


def operator(adios, variable, name):
    try:
        variable.add_operation(adios.define_operator(name, name), {})
        return True
    except Exception:  # not in this build of adios2
        return False


def write_odd(path, engine):
    """What this library never writes: extents of 0, blocks without elements, operators on some blocks, infinities."""
    adios = adios2.Adios()
    io = adios.declare_io("odd")
    io.set_engine(engine)
    sync = adios2.bindings.Mode.Sync
    grows = io.define_variable("grows", np.zeros(1), [1], [0], [1])
    some = io.define_variable("some", np.zeros(1), [], [], [1])
    own = io.define_variable("own", np.array(1), [adios2.LocalValueDim])
    steady = io.define_variable("steady", np.zeros(1), [4], [0], [4])
    partly = io.define_variable("partly", np.zeros(1), [2], [0], [1])
    inner = io.define_variable("outer/inner", np.array(1.5))
    outer = io.define_variable("outer", np.array(2.5))
    io.define_attribute("outer/inner/units", "K")
    engine = io.open(str(path), adios2.bindings.Mode.Write)
    for step in range(3):
        engine.begin_step()
        grows.set_shape([2 * step])
        grows.set_selection([[0], [2 * step]])
        engine.put(grows, np.arange(2.0 * step) + 10 * step, sync)
        for n in (0, 3, 0, 2):
            some.set_selection([[], [n]])
            engine.put(some, np.arange(float(n)) + step, sync)
        for n in range(2):
            engine.put(own, np.array(10 * step + n), sync)
        engine.put(steady, np.full(4, float(step)), sync)
        for n in range(2):
            partly.set_selection([[n], [1]])
            if n == 1 and step == 2:
                partly.add_operation(adios.define_operator("null", "null"), {})
            engine.put(partly, np.array([7.0]), sync)
        engine.put(inner, np.array(1.5), sync)
        engine.put(outer, np.array(2.5), sync)
        engine.end_step()
    engine.close()


def check_odd(command, path):
    names = ("grows", "grows_count", "some", "own", "steady", "outer", "outer.inner")
    done = subprocess.run([*command, "dump", "--json", str(path), *names], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    there = {v["name"]: v for v in json.loads(done.stdout)["variables"]}
    # adios2's own Python takes it for a single value, as its first step has no extent.
    assert there["grows"]["values"] == [10, 11, 20, 21, 22, 23], there["grows"]
    assert there["grows_count"]["values"] == [0, 2, 4], there["grows_count"]
    assert np.ravel(there["some"]["values"]).tolist() == [0, 1, 2, 0, 1, 1, 2, 3, 1, 2, 2, 3, 4, 2, 3], there["some"]
    assert np.ravel(there["own"]["values"]).tolist() == [0, 1, 10, 11, 20, 21], there["own"]
    assert np.ravel(there["steady"]["values"]).tolist() == [0] * 4 + [1] * 4 + [2] * 4, there["steady"]
    names = {name: [a["name"] for a in there[name]["attributes"]] for name in ("outer", "outer.inner")}
    assert "units" in names["outer.inner"] and "inner.units" not in names["outer"], names
    done = subprocess.run([*command, "dump", str(path), "partly"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "operator null" in done.stderr, (done.returncode, done.stderr)


def dump(command, path):
    done = subprocess.run([*command, "dump", "--json", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def check_own(command, path, operators):
    read, said = dump(command, path)
    there = {v["name"]: v for v in read["variables"]}

    def same(name, type_name, dimensions, expected):
        found = there.pop(name)
        assert found["type"] == type_name, found
        assert found["dimensions"] == dimensions, found["dimensions"]
        if type_name == "char":
            found["values"] = [ord(c) for c in found["values"]]
        got = np.array(found["values"], expected.dtype if expected.dtype.kind != "c" else "f8").reshape(found["shape"])
        if expected.dtype.kind == "c":
            got = got[..., 0] + 1j * got[..., 1]
        assert got.shape == expected.shape and np.array_equal(got, expected), f"{name}: {got}, not {expected}"
        return {a["name"]: a for a in found["attributes"]}

    for t in TYPES:
        last = ["complex"] if t[0] == "c" else []
        whole = np.stack([values(t, (6, 8), s) for s in range(STEPS)])
        attributes = same(f"array.{t}", NAMES[t], ["step", "dim_6", "dim_8", *last], whole)
        assert attributes["bp_name"]["value"] == f"array/{t}", attributes
        if t == "f8":
            assert attributes["units"]["value"] == "K", attributes
        if t[0] != "c":
            same(f"scalar.{t}", NAMES[t], ["step"], np.concatenate([values(t, (1,), s) for s in range(STEPS)]))
    attributes = same("odd", "double", ["odd_step", "dim_4"], np.stack([values("f8", (4,), s) for s in (1, 3)]))
    assert attributes["bp_steps"]["value"] == [1, 3], attributes
    same("once", "int", ["dim_3", "dim_2"], values("i4", (3, 2), 2))
    same("local", "float", ["step", "dim_6", "dim_3"], np.stack(
        [np.concatenate([values("f4", (2, 3), 10 * s + b) for b in range(3)]) for s in range(STEPS)]))
    same("grows", "double", ["grows_obs", "dim_2"], np.concatenate([values("f8", (s + 1, 2), s) for s in range(STEPS)]))
    counts = same("grows_count", "int64", ["step"], np.arange(1, STEPS + 1))
    assert counts["sample_dimension"]["value"] == "grows_obs", counts
    text = there.pop("text")
    assert text["dimensions"] == ["step", "string_8"], text
    got = "".join(text["values"]) if isinstance(text["values"], list) else text["values"]
    assert [got[8 * s:8 * s + 8].rstrip("\0") for s in range(STEPS)] == ["step" + s * "!" for s in range(STEPS)], text
    if operators:
        assert f"hidden (values behind ADIOS's operator {operators[0]})" in said, said
    else:
        there.pop("hidden")
    assert not there, list(there)
    attributes = {a["name"]: a["value"] for a in read["attributes"]}
    assert attributes == {"title": "of adios2", "level": [1.5, -2.5], "answer": [42]} or \
        attributes == {"title": "of adios2", "level": [1.5, -2.5], "answer": 42}, attributes
    assert "words (a list of strings)" in said, said


def check_against_adios2(command, path):
    """Global arrays of any file that this library wrote."""
    read, _ = dump(command, path)
    compared = holes = 0
    with adios2.FileReader(str(path)) as file:
        known = file.available_variables()
        for found in read["variables"]:
            name = next((a["value"] for a in found["attributes"] if a["name"] == "bp_name"), found["name"])
            if name not in known or known[name]["Type"].endswith("complex") or known[name]["SingleValue"] == "true" \
                    or found["type"] == "char":
                continue
            shape = known[name]["Shape"]
            if not shape or found["dimensions"][0] != "step":
                continue
            count = found["shape"][1:]
            for step in range(file.num_steps()):
                theirs = np.asarray(file.read(name, start=[0] * len(count), count=count, step_selection=[step, 1]))
                ours = np.array(found["values"], theirs.dtype).reshape(found["shape"])[step]
                theirs = theirs.reshape(count)
                # What no rank wrote is netCDF's fill value here, and 0 there.
                hole = (theirs == 0) & (ours == np.array(FILL[ours.dtype.str[1:]], ours.dtype))
                right = (ours == theirs) | ((ours != ours) & (theirs != theirs)) | hole
                holes += np.sum(hole)
                assert np.all(right), f"{path}, {name}, step {step}: {ours}, not {theirs}"
                compared += 1
    assert compared > 20, compared
    return f"{compared} arrays as adios2 reads them, {holes} elements that no rank wrote"


def check_find(command, path):
    """By the index, without the values: they are away."""

    def find(*options):
        done = subprocess.run([*command, "find", *options, str(path)], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout

    away = path.with_suffix(".away")
    data = path / "data.0" if path.is_dir() else path.with_suffix(".bp.dir")
    shutil.move(data, away)
    status, said = find("--json", "array/f8 >= 92")
    found = json.loads(said)["files"][0]
    assert status == 0 and found["searched"] == {"steps": STEPS, "blocks": 3 * STEPS, "unread_steps": 0}, found
    assert [(b["step"], b["start"], b["count"], b["certain"]) for b in found["found"]] == \
        [(4, [3, 0], [3, 8], True)], found
    assert find("array/f8 > 92") == (1, f"{path}: 0 of 15 blocks, in 0 of 5 steps\n")
    assert find("--values", "array/f8 >= 90")[0] == 2  # there is nothing to read
    shutil.move(away, data)
    status, said = find("--values", "array/f8 >= 90")
    assert status == 0 and "step 4, array/f8[3:6, 0:8]: 69 to 92; 3 elements\n" in said, said
    for nonsense in ("array/f8 ~ 3", "none > 1", "text > 1"):
        assert find(nonsense)[0] == 2, nonsense


def check_checks(command, path):
    """Holes are notes; a data file that was cut short is a fault."""

    def check():
        done = subprocess.run([*command, "check", "--decode", "--json", str(path)], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)["files"][0]

    status, found = check()
    assert status == 0 and found["status"] == "ok" and not found["damages"], found
    assert found["verified"]["blocks"] > 100 and found["verified"]["bytes"] > 1000, found
    assert any(note.endswith("were written by no rank") for note in found["notes"]), found["notes"]
    assert not any("least" in note for note in found["notes"]), found["notes"]
    data = path / "data.1"
    whole = data.read_bytes()
    data.write_bytes(whole[:len(whole) // 2])
    status, found = check()
    assert status == 1 and all("ends before" in fault for fault in found["damages"]), found
    data.write_bytes(whole)
    (path / "md.idx").write_bytes(b"rubbish" * 20)
    status, found = check()
    assert status == 2 and found["status"] == "unreadable", found


def check_together(reader, paths):
    """Ranks that read together get what each reads alone; tiny windows, so that there are many."""
    for hints in ("", "buffer_limit=64k;window_size=4k;transport=aggregated;ranks_per_node=2"):
        done = subprocess.run([*reader, *map(str, paths)], env=dict(os.environ, FOREBAY_HINTS=hints), capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        compared = int(done.stdout.split()[0])
        assert compared > 300, done.stdout
    return compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--reader")
    parser.add_argument("--launch", default="")
    options = parser.parse_args()
    command = [options.command]
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    for engine in ("BP3", "BP4"):
        theirs, odd = options.dir / f"theirs_{engine}.bp", options.dir / f"odd_{engine}.bp"
        operators = write(theirs, engine)
        check_own(command, theirs, operators)
        print(f"what adios2's {engine} wrote: read as written; operators refused: {operators}")
        check_find(command, theirs)
        print("found by the index alone, and confirmed by values")
        write_odd(odd, engine)
        check_odd(command, odd)
        print("arrays without elements, and operators on some blocks: read, and refused")
    for ranks in (1, 4):
        path = options.dir / f"ours{ranks}.bp"
        subprocess.run([options.writer, str(path), str(ranks), "2", "0", "3"], check=True, stdout=subprocess.DEVNULL)
        print(f"what {ranks} ranks wrote: {check_against_adios2(command, path)}")
    if options.reader:
        names = [f"{what}_{engine}.bp" for engine in ("BP3", "BP4") for what in ("theirs", "odd")]
        paths = [options.dir / name for name in [*names, "ours4.bp"]]
        print(f"ranks together: {check_together([*options.launch.split(), options.reader], paths)} arrays as alone")
    check_checks(command, options.dir / "ours4.bp")
    print("check: holes are notes, a cut data file and a damaged index are faults")
    for engine in ("BP3", "BP4"):
        theirs, copy = options.dir / f"theirs_{engine}.bp", options.dir / f"theirs_{engine}.nc"
        subprocess.run([*command, "convert", "--skip", str(theirs), str(copy)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        done = subprocess.run([*command, "diff", str(theirs), str(copy)], capture_output=True, text=True)
        differences = done.stdout.split("\n")[2:-1]
        hidden = [f"hidden (values behind ADIOS's operator {operators[0]}) is in A only"] if operators else []
        assert differences == [*hidden, "words (a list of strings) is in A only"], done.stdout + done.stderr
        print(f"{engine} converted to netCDF: the same")


if __name__ == "__main__":
    main()
