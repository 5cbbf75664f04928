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
ENGINE = BASIS + ["plan", "codec", "storage", "store", "format", "method"]
CORE = ENGINE + ["layout", "stage", "transport", "container", "dataset"]

# The core, src/core, whose headers are included by their room. A room may use only rooms above it in this table.
ROOMS = {
    "base": Room([]),
    "comm": Room(["base"], mpi=True),
    "array": Room(["base"], files=False),
    "plan": Room(["base", "array"], files=False),
    "codec": Room(["base", "array"], files=False),
    "storage": Room(["base", "comm"]),
    "store": Room(["base", "comm", "storage"]),
    "format": Room(["base", "array", "store"], files=False),
    "method": Room(BASIS + ["codec"]),
    "layout": Room(ENGINE),
    "stage": Room(ENGINE + ["layout"]),
    "transport": Room(["base", "comm", "plan", "storage", "method"], mpi=True),
    "container": Room(ENGINE + ["layout", "transport"]),
    "dataset": Room(ENGINE + ["layout", "stage", "transport", "container"]),
    "files": Room(ENGINE + ["layout", "transport", "dataset"]),
    # A front end or the tools use dataset, and what its own interface is made of.
    "api/pnetcdf": Room(BASIS + ["dataset"], mpi=True),
    "api/serial": Room(["base"]),  # what a front end has in a build without MPI
    "tools": Room(BASIS + ["method", "stage", "dataset", "files"]),
}

# A wing, src/wings/NAME, whose headers are included by its name. What it may use depends on the folder in it. Everything
# in a wing may use all of that wing. No wing uses another one, and the core includes none of any.
WING_FOLDERS = {
    "format": Room(["base", "array", "store", "format"], files=False),
    "plan": Room(ENGINE + ["layout", "transport", "container"], files=False),
    "files": Room(CORE + ["files"]),
    "commands": Room(CORE + ["files", "tools"]),
    "generate": Room(BASIS + ["method", "tools"]),
    # Functions that a wing adds to a front end find that front end's open files.
    "api": Room(CORE + ["api/pnetcdf"], mpi=True),
    "connector": Room(CORE, mpi=True, hdf5=True),
    "plugin": Room(BASIS, hdf5=True),
    "companion": Room(CORE + ["files"]),
    "convert": Room(CORE + ["files", "tools"], hdf5=True),
    "shared": Room(["base", "array"], files=False, hdf5=True),
    "tests": Room(CORE + ["files", "tools"], mpi=True, hdf5=True),
    "": Room(CORE),
}
# HDF5 comes with the readers of this wing.
HDF5_READERS = "hdf5/files"

# It is compiled only where all wings are built.
OF_ALL_WINGS = "tools/front_ends_test.cc"

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


def room_of(parts):
    """Name of the room of a path as headers are included: a room of the core, a front end, or `wing:NAME`; or None."""
    for depth in (2, 1):
        name = "/".join(parts[:depth])
        if len(parts) > depth and name in ROOMS:
            return name
    return None


class Place(NamedTuple):
    name: str            # as it is told of
    room: Room
    own: str             # the wing, or the room


def place_of(source):
    """Where a path relative to src/ stands, or None."""
    parts = source.parts
    if parts[0] == "wings" and len(parts) > 2:
        folder = parts[2] if len(parts) > 3 and parts[2] in WING_FOLDERS else ""
        room = WING_FOLDERS[folder]
        if "/".join(parts[1:3]) == HDF5_READERS:
            room = room._replace(hdf5=True)
        return Place("/".join(parts[:3] if folder else parts[:2]), room, "wings/" + parts[1])
    name = room_of(parts[1:] if parts[0] == "core" else parts)
    return None if name is None else Place(name, ROOMS[name], name)


def without_comments_and_strings(text):
    """The code alone, with every line at its place."""
    def blank(match):
        return "\n" * match.group().count("\n") or " "
    return NOT_CODE.sub(blank, text)


def included_room(root, source, target):
    """(room, wing as "wings/NAME", or None; whether it lies in src/) of an include found in `source`."""
    path = Path(target)
    if ".." in path.parts:
        path = Path(os.path.normpath(source.parent / path))
        path = Path(*path.parts[1:]) if path.parts[0] in ("core", "wings") else path
    elif path.parts[0] in ("core", "wings"):
        return None, True  # by another way than all others name it
    elif len(path.parts) == 1:
        return None, False  # the file's own folder, or a header from elsewhere
    if (root / "src/wings" / path.parts[0]).is_dir():
        return "wings/" + path.parts[0], True
    if path.parts[0] not in {name.split("/")[0] for name in ROOMS}:
        return None, False
    return room_of(path.parts), True


def check_file(root, file):
    source = file.relative_to(root / "src")
    path = file.relative_to(root)
    place = place_of(source)
    if place is None:
        yield f"{path}:1: stands in no room of the table (add the room to scripts/check_rooms.py and the design)"
        return
    room = place.room
    text = file.read_text(encoding="utf-8", errors="replace")
    is_test = source.stem.endswith(("_test", "_testing"))
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        if quote == "<":
            if target == "mpi.h" and not room.mpi:
                yield f"{path}:{number}: {place.name} must not include <mpi.h>"
            if HDF5_HEADERS.match(target) and not room.hdf5:
                yield f"{path}:{number}: {place.name} must not include HDF5's <{target}>: the library does not link HDF5"
            if FILE_HEADERS.match(target) and not room.files and not is_test:
                yield f"{path}:{number}: {place.name} must not make system calls, yet includes <{target}>"
            continue
        used, in_src = included_room(root, source, target)
        if used is None and in_src:
            yield f"{path}:{number}: \"{target}\" stands in no room of the table"
            continue
        # A unit test may use all of the core to make its inputs and to look at what came out.
        if used in (None, place.own) or used in room.may_use or str(source) == OF_ALL_WINGS:
            continue
        if is_test and not used.startswith(("api/", "wings/")):
            continue
        may = ", ".join(room.may_use) or "no other room"
        yield f"{path}:{number}: {place.name} must not use {used} (\"{target}\"); it may use {may}"
    if not room.mpi:
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            match = MPI_NAME.search(line)
            if match and not INCLUDE.match(line):
                yield f"{path}:{number}: {place.name} must not name MPI ({match.group()})"


def check_tree(root):
    breaches = list(check_table())
    files = sorted(p for p in (root / "src").rglob("*") if p.suffix in SOURCE_SUFFIXES and p.is_file())
    for path in files:
        breaches.extend(check_file(root, path))
    return files, breaches


def explain():
    rooms = ROOMS | {f"wings/*/{folder}" if folder else "wings/*": room for folder, room in WING_FOLDERS.items()}
    width = max(map(len, rooms))
    print(f"{'room':{width}}  MPI  files  HDF5  may use")
    for name, room in rooms.items():
        yes = {True: "yes", False: "-"}
        print(f"{name:{width}}  {yes[room.mpi]:3}  {yes[room.files]:5}  {yes[room.hdf5]:4}  {', '.join(room.may_use) or '-'}")


def self_test():
    """Each case: a file, its text, and whether it must be reported."""
    cases = [
        ("core/plan/a.cc", '#include "array/type.h"\n', False),
        ("core/plan/a.cc", '#include "comm/comm.h"\n', True),
        ("core/plan/a.cc", '#include "../comm/comm.h"\n', True),
        ("core/plan/a.cc", '#include "a.h"\n', False),
        ("core/base/a.h", '#include "array/type.h"\n', True),
        ("core/array/a.h", "#include <mpi.h>\n", True),
        ("core/array/a.h", "// MPI_Comm is not used\nconst char* s = \"MPI_Comm\";\n", False),
        ("core/array/a.h", "int f(MPI_Comm c);\n", True),
        ("core/format/a.cc", "#include <unistd.h>\n", True),
        ("core/format/a_test.cc", "#include <fstream>\n", False),
        ("core/comm/a.cc", "#include <mpi.h>\nMPI_Comm c;\n", False),
        ("core/transport/a.cc", '#include "array/schema.h"\n', True),
        ("core/dataset/a.cc", '#include "storage/file.h"\n', False),
        ("core/dataset/a.cc", '#include "api/pnetcdf/a.h"\n', True),
        ("core/dataset/a.cc", '#include "one/a.h"\n', True),
        ("api/pnetcdf/a.cc", '#include "dataset/dataset.h"\nMPI_Info i;\n', False),
        ("api/pnetcdf/a.cc", '#include "tools/info.h"\n', True),
        ("tools/a.cc", '#include "one/a.h"\n', True),
        ("wings/one/a.cc", '#include "one/b.h"\n#include "dataset/dataset.h"\n', False),
        ("wings/one/a.cc", '#include "two/b.h"\n', True),
        ("wings/one/a.cc", '#include "../two/b.h"\n', True),
        ("wings/one/a.cc", '#include "wings/two/b.h"\n', True),
        ("core/base/a.cc", '#include "core/dataset/dataset.h"\n', True),
        ("wings/one/a.cc", '#include "tools/commands.h"\n', True),
        ("wings/one/commands/a.cc", '#include "tools/commands.h"\n', False),
        ("wings/one/api/a.cc", '#include "api/pnetcdf/a.h"\n', False),
        ("wings/one/a.cc", '#include "api/pnetcdf/a.h"\n', True),
        ("wings/one/api/a.cc", "MPI_Comm c;\n", False),
        ("wings/one/log/a.cc", "MPI_Comm c;\n", True),
        ("wings/one/log/a_test.cc", '#include "files/source.h"\n', False),
        ("wings/one/log/a_test.cc", '#include "two/b.h"\n', True),
        ("core/dataset/a_test.cc", '#include "one/b.h"\n', True),
        ("wings/one/tests/a.cc", '#include "tools/commands.h"\nMPI_Comm c;\n', False),
        ("wings/one/tests/a.cc", '#include "two/b.h"\n', True),
        ("wings/one/format/a.cc", '#include "storage/file.h"\n', True),
        ("wings/one/format/a.cc", "#include <unistd.h>\n", True),
        ("wings/one/connector/a.cc", "#include <hdf5.h>\n#include <mpi.h>\nMPI_Comm c;\n", False),
        ("core/format/a_test.cc", '#include "plan/order.h"\n', False),
        ("core/format/a_test.cc", '#include "api/pnetcdf/a.h"\n', True),
        ("core/dataset/a.cc", 'auto s = R"(an "MPI_Info" here)";\n', False),
        ("core/dataset/a.cc", "#include <hdf5.h>\n", True),
        ("core/stage/a.cc", "#include <H5VLnative.h>\n", True),
        ("core/cellar/a.cc", "int x;\n", True),
        ("core/dataset/a.cc", '#include "api/cellar.h"\n', True),
    ]
    wrong = 0
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "src" / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            for wing in ("one", "two"):
                (Path(directory) / "src/wings" / wing).mkdir(parents=True, exist_ok=True)
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
