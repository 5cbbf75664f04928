#!/usr/bin/env python3
"""Checks who uses whom in src/: the table of rooms of the design, kept as data below.

  check_rooms.py [--root DIR]      report every breach as file:line, exit 1 if there is one
  check_rooms.py --explain         print the table
  check_rooms.py --self-test       show on made-up files that each rule can fail
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

class Room(NamedTuple):
    may_use: list        # rooms whose headers it may include, besides its own
    mpi: bool = False    # may it name MPI?
    files: bool = True   # may it make system calls on files?
    hdf5: bool = False   # may it include HDF5's headers?


BASIS = ["base", "comm", "array"]
ENGINE = BASIS + ["plan", "codec", "format", "storage", "staging_log", "method"]

# A room may use only rooms above it in this table. A front end or the tools use dataset, and what dataset's own
# interface is made of: errors and types (base), selections and requests (array), the communicator (comm), methods.
ROOMS = {
    "base": Room([]),
    "comm": Room(["base"], mpi=True),
    "array": Room(["base"], files=False),
    "plan": Room(["base", "array"], files=False),
    "codec": Room(["base", "array"], files=False),
    "format": Room(["base", "array"], files=False),
    "storage": Room(["base", "comm"]),
    "staging_log": Room(["base", "array", "format"]),
    "method": Room(BASIS + ["codec"]),
    "checkpoint": Room(BASIS + ["plan", "codec", "format", "storage", "method"]),
    "layout": Room(ENGINE),
    "layout/logged": Room(ENGINE + ["layout"]),
    "layout/process_group": Room(ENGINE + ["layout"]),
    "stage": Room(ENGINE + ["layout"]),
    "transport": Room(["base", "comm", "plan", "storage", "method"], mpi=True),
    "container": Room(ENGINE + ["layout", "transport"]),
    "simulation": Room(BASIS + ["plan", "codec", "format", "method", "layout", "transport", "container"], files=False),
    "dataset": Room(ENGINE + ["layout", "layout/process_group", "stage", "transport", "container"]),
    "bundle": Room(BASIS + ["plan", "storage", "method", "transport", "dataset"]),
    "files": Room(ENGINE + ["layout", "layout/process_group", "transport", "dataset"]),
    "hdf5": Room(["base"], files=False, hdf5=True),
    "files/hdf5": Room(["base", "array", "layout/logged", "files", "hdf5"], hdf5=True),
    "api/pnetcdf": Room(BASIS + ["dataset", "bundle"], mpi=True),
    "api/hdf5vol": Room(BASIS + ["method", "layout/logged", "dataset", "hdf5"], mpi=True, hdf5=True),
    "api/groups": Room(BASIS + ["method", "dataset"], mpi=True),
    "api/checkpoint": Room(BASIS + ["plan", "method", "checkpoint"], mpi=True),
    "tools": Room(BASIS + ["method", "checkpoint", "stage", "simulation", "dataset", "files", "files/hdf5"], hdf5=True),
}

SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp", ".inc", ".in"}
FILE_HEADERS = re.compile(r"^(unistd\.h|fcntl\.h|sys/(stat|uio|mman|file)\.h|fstream|filesystem)$")
HDF5_HEADERS = re.compile(r"^(hdf5(_hl)?|H5[A-Z]\w*)\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MPI_NAME = re.compile(r"(?<![A-Za-z0-9_])P?MPI_[A-Za-z]\w*")
NOT_CODE = re.compile(
    r'R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])\'', re.DOTALL)


def check_table():
    """The table itself: every room uses only rooms above it, so that includes never run in a circle."""
    names = list(ROOMS)
    for i, name in enumerate(names):
        for used in ROOMS[name].may_use:
            if used not in names[:i]:
                yield f"table: {name} uses {used}, which does not stand above it"


def room_of(path):
    """Name of the room that a path relative to src/ stands in, or None."""
    parts = Path(path).parts
    for depth in (2, 1):  # a room may have rooms of its own
        name = "/".join(parts[:depth])
        if len(parts) > depth and name in ROOMS:
            return name
    return None


def without_comments_and_strings(text):
    """The code alone, with every line at its place."""
    def blank(match):
        return "\n" * match.group().count("\n") or " "
    return NOT_CODE.sub(blank, text)


def included_room(source, target):
    """(room or None, whether it lies in src/) of an include found in `source`, a path relative to src/."""
    path = Path(target)
    if ".." in path.parts:
        path = Path(os.path.normpath(source.parent / path))
    elif len(path.parts) == 1 or path.parts[0] not in {name.split("/")[0] for name in ROOMS}:
        return None, False  # the file's own folder, or a header from elsewhere
    return room_of(path), True


def names_for_tests():
    """What a unit test may use to make its inputs and to look at what came out: all of the library."""
    return [name for name in ROOMS if not name.startswith("api/") and name != "tools"]


def check_file(root, file):
    source = file.relative_to(root / "src")
    path = file.relative_to(root)
    room_name = room_of(source)
    if room_name is None:
        yield f"{path}:1: stands in no room of the table (add the room to scripts/check_rooms.py and the design)"
        return
    room = ROOMS[room_name]
    text = file.read_text(encoding="utf-8", errors="replace")
    is_test = source.stem.endswith(("_test", "_testing"))
    may_use = room.may_use + (names_for_tests() if is_test else [])
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        if quote == "<":
            if target == "mpi.h" and not room.mpi:
                yield f"{path}:{number}: {room_name} must not include <mpi.h>"
            if HDF5_HEADERS.match(target) and not room.hdf5:
                yield f"{path}:{number}: {room_name} must not include HDF5's <{target}>: the library does not link HDF5"
            if FILE_HEADERS.match(target) and not room.files and not is_test:
                yield f"{path}:{number}: {room_name} must not make system calls, yet includes <{target}>"
            continue
        used, in_src = included_room(source, target)
        if used is None and in_src:
            yield f"{path}:{number}: \"{target}\" stands in no room of the table"
        elif used not in (None, room_name) and used not in may_use:
            may = ", ".join(may_use) or "no other room"
            yield f"{path}:{number}: {room_name} must not use {used} (\"{target}\"); it may use {may}"
    if not room.mpi:
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            match = MPI_NAME.search(line)
            if match and not INCLUDE.match(line):
                yield f"{path}:{number}: {room_name} must not name MPI ({match.group()})"


def check_tree(root):
    breaches = list(check_table())
    files = sorted(p for p in (root / "src").rglob("*") if p.suffix in SOURCE_SUFFIXES and p.is_file())
    for path in files:
        breaches.extend(check_file(root, path))
    return files, breaches


def explain():
    width = max(map(len, ROOMS))
    print(f"{'room':{width}}  MPI  files  HDF5  may use")
    for name, room in ROOMS.items():
        yes = {True: "yes", False: "-"}
        print(f"{name:{width}}  {yes[room.mpi]:3}  {yes[room.files]:5}  {yes[room.hdf5]:4}  {', '.join(room.may_use) or '-'}")


def self_test():
    """Each case: a file, its text, and whether it must be reported."""
    cases = [
        ("plan/a.cc", '#include "array/type.h"\n', False),
        ("plan/a.cc", '#include "comm/comm.h"\n', True),
        ("plan/a.cc", '#include "../comm/comm.h"\n', True),
        ("plan/a.cc", '#include "a.h"\n', False),
        ("base/a.h", '#include "array/type.h"\n', True),
        ("array/a.h", "#include <mpi.h>\n", True),
        ("array/a.h", "// MPI_Comm is not used\nconst char* s = \"MPI_Comm\";\n", False),
        ("array/a.h", "int f(MPI_Comm c);\n", True),
        ("format/a.cc", "#include <unistd.h>\n", True),
        ("format/a_test.cc", "#include <fstream>\n", False),
        ("comm/a.cc", "#include <mpi.h>\nMPI_Comm c;\n", False),
        ("transport/a.cc", '#include "array/schema.h"\n', True),
        ("dataset/a.cc", '#include "storage/file.h"\n', False),
        ("dataset/a.cc", '#include "api/pnetcdf/a.h"\n', True),
        ("api/pnetcdf/a.cc", '#include "dataset/dataset.h"\nMPI_Info i;\n', False),
        ("api/pnetcdf/a.cc", '#include "tools/info.h"\n', True),
        ("api/groups/a.cc", '#include "api/pnetcdf/a.h"\n', True),
        ("format/a_test.cc", '#include "plan/order.h"\n', False),
        ("format/a_test.cc", '#include "api/pnetcdf/a.h"\n', True),
        ("dataset/a.cc", 'auto s = R"(an "MPI_Info" here)";\n', False),
        ("api/hdf5vol/a.cc", "#include <hdf5.h>\n#include <mpi.h>\nMPI_Comm c;\n", False),
        ("dataset/a.cc", "#include <hdf5.h>\n", True),
        ("stage/a.cc", "#include <H5VLnative.h>\n", True),
        ("cellar/a.cc", "int x;\n", True),
        ("dataset/a.cc", '#include "api/cellar.h"\n', True),
    ]
    wrong = 0
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "src" / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            found = check_tree(Path(directory))[1]
        if bool(found) != expected:
            wrong += 1
            print(f"wrong: {name} with {text!r}: {found or 'nothing reported'}")
    print(f"rooms: self-test, {len(cases)} cases, {wrong} wrong")
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.explain:
        explain()
        return 0
    if options.self_test:
        return 0 if self_test() else 1
    files, breaches = check_tree(options.root)
    for breach in breaches:
        print(breach)
    print(f"rooms: {len(files)} files, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
