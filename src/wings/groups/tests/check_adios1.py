#!/usr/bin/env python3
"""Has ADIOS 1 write BP3 files by each of its methods, and compares what the forebay command reads."""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

STEPS = 3
COLUMNS = 3
METHODS = {"MPI": "", "POSIX": "", "MPI_AGGREGATE": "num_aggregators=2;num_ost=2"}

CONFIG = """<?xml version="1.0"?>
<adios-config host-language="{language}">
  <adios-group name="restart" coordination-communicator="comm" time-index="iter" stats="on">
    <var name="rows" type="integer"/>
    <var name="all" type="integer"/>
    <var name="before" type="integer"/>
    <var name="level" path="/grid" type="double"/>
    <global-bounds dimensions="{shape}" offsets="{offsets}">
      <var name="T" path="/grid" type="double" dimensions="{block}"/>
      <var name="packed" type="double" dimensions="{block}" transform="zlib"/>
    </global-bounds>
    <global-bounds dimensions="all" offsets="before">
      <var name="timed" type="integer" dimensions="{timed}"/>
      <var name="wave" type="complex" dimensions="rows"/>
    </global-bounds>
    <var name="own" type="real" dimensions="rows"/>
    <var name="nothing" type="double" dimensions="rows"/>
    <var name="title" type="string"/>
    <attribute name="units" path="/grid/T" value="K" type="string"/>
    <attribute name="rows" path="/grid/T" var="rows"/>
    <attribute name="answer" path="/" value="42" type="integer"/>
  </adios-group>
  <method group="restart" method="{method}">{parameters}</method>
  <buffer size-MB="4"/>
</adios-config>
"""
DIMENSIONS = {
    "C": {"shape": f"all,{COLUMNS}", "offsets": "before,0", "block": f"rows,{COLUMNS}", "timed": "iter,rows"},
    "Fortran": {"shape": f"{COLUMNS},all", "offsets": "0,before", "block": f"{COLUMNS},rows", "timed": "rows,iter"},
}


def expected(ranks):
    rows = sum(2 + r for r in range(ranks))
    own = [10 * r + n for r in range(ranks) for n in range(2 + r)]
    steps = range(STEPS)
    return {
        "rows": ([STEPS], [2] * STEPS),
        "all": ([STEPS], [rows] * STEPS),
        "before": ([STEPS], [0] * STEPS),
        "grid.level": ([STEPS], [s + 0.5 for s in steps]),
        "grid.T": ([STEPS, rows, COLUMNS], [100 * s + n for s in steps for n in range(rows * COLUMNS)]),
        "timed": ([STEPS, rows], [1000 * s + n for s in steps for n in range(rows)]),
        "wave": ([STEPS, rows, 2], [part for s in steps for n in range(rows) for part in (n, -s)]),
        "own": ([STEPS, rows], [100 * s + n for s in steps for n in own]),
        "title": ([STEPS, 5], list("".join(f"step{s}" for s in steps))),
    }


def flat(values):
    if isinstance(values, str):
        return list(values)
    return [one for some in values for one in flat(some)] if isinstance(values, list) else [values]


def check(command, path, ranks):
    done = subprocess.run([command, "dump", "--json", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    there = {v["name"]: v for v in read["variables"]}
    nothing = there.pop("nothing")
    assert nothing["values"] == ["NaN"] * STEPS * sum(2 + r for r in range(ranks)), nothing
    for name, (shape, values) in expected(ranks).items():
        found = there.pop(name)
        assert found["shape"] == shape and flat(found["values"]) == values, f"{path}, {name}: {found}"
        if name == "grid.T":
            attributes = {a["name"]: a["value"] for a in found["attributes"]}
            assert attributes["units"] == "K" and flat(attributes["rows"]) == [2], attributes
    assert not there, list(there)
    assert "packed (values behind ADIOS's operator zlib)" in done.stderr, done.stderr
    assert {a["name"]: flat(a["value"]) for a in read["attributes"]} == {"answer": [42]}, read["attributes"]


def check_index(command, path, ranks):
    """Statistics are those of the values, and none where no value counts."""
    done = subprocess.run([command, "check", "--decode", "--json", str(path)], capture_output=True, text=True, timeout=60)
    found = json.loads(done.stdout)["files"][0]
    assert done.returncode == 0 and found["format"] == "BP3" and not found["damages"], found
    assert all("operator" in note for note in found["notes"]), found["notes"]
    assert found["verified"]["steps"] == STEPS and found["verified"]["blocks"] == 11 * ranks * STEPS, found
    done = subprocess.run([command, "find", "--json", "/grid/T >= 200", str(path)], capture_output=True, text=True, timeout=60)
    blocks = json.loads(done.stdout)["files"][0]["found"]
    assert [b["step"] for b in blocks] == [2] * ranks and all(b["certain"] for b in blocks), blocks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--writer")
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--launch", required=True)
    options = parser.parse_args()
    if not options.writer:
        print("skipped: ADIOS 1 is not installed (libadios-openmpi-dev)")
        sys.exit(77)
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    for language, dimensions in DIMENSIONS.items():
        for method, parameters in METHODS.items():
            config = options.dir / f"{language}_{method}.xml"
            config.write_text(CONFIG.format(language=language, method=method, parameters=parameters, **dimensions))
            path = config.with_suffix(".bp")
            subprocess.run([*options.launch.split(), options.writer, str(config), str(path), str(STEPS)], check=True, timeout=60,
                           stdout=subprocess.DEVNULL)
            check(options.command, path, options.ranks)
            check_index(options.command, path, options.ranks)
            print(f"{method}, {language}: read as written by {options.ranks} ranks")


if __name__ == "__main__":
    main()
