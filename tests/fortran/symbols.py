#!/usr/bin/env python3
"""Compares PnetCDF's Fortran interfaces here with the table, and with an installed PnetCDF: the library's symbols, the
constants of pnetcdf.inc, and the module's constants and procedures with all of their arguments.

  symbols.py --generator FOLDER --library LIBFOREBAY --header pnetcdf.inc --module pnetcdf.mod
             [--peer-library L --peer-header I --peer-module M]
"""

import argparse
import gzip
import re
import subprocess
import sys
from pathlib import Path

FORTRAN = re.compile(r"(nfmpi_|__pnetcdf_MOD_)\w+$")


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {words[-1] for words in map(str.split, out.splitlines()) if FORTRAN.match(words[-1])}


def constants_of(header):
    text = re.sub(r"!.*", "", Path(header).read_text().lower())
    values = dict(re.findall(r"parameter\s*\(\s*(\w+)\s*=\s*([^)\s]+)\s*\)", text))
    types = {}
    for kind, names in re.findall(r"^ *(integer\*8|integer|real|doubleprecision) +([\w, ]+)$", text, re.MULTILINE):
        types.update(dict.fromkeys(re.split(r"\s*,\s*", names.strip()), kind))

    def resolved(value):
        while value in values:
            value = values[value]
        return value

    return {name: (types.get(name), resolved(value)) for name, value in values.items()}


def module_lists(path):
    """gfortran's file of a module is lists in parentheses; returns them and the version of the format."""
    with gzip.open(path, "rt") as opened:
        first, text = opened.read().split("\n", 1)
    stack = [[]]
    for token in re.findall(r"'(?:[^']|'')*'|[()]|[^\s()]+", text):
        if token == "(":
            stack[-1].append([])
            stack.append(stack[-1][-1])
        elif token == ")":
            stack.pop()
        else:
            stack[-1].append(token)
    return stack[0], re.search(r"'(\d+)'", first).group(1)


def argument(name, body):
    """(name, type, intent, optional, rank), where a put's buffer that may be changed is one that may not."""
    attributes, kind = body[0], body[2]
    array = next(
        (x for x in body[4:] if isinstance(x, list) and x and len(x) > 2 and str(x[2]).startswith("ASSUMED")), None
    )
    explicit = next((x for x in body[4:] if isinstance(x, list) and len(x) > 2 and x[2] == "EXPLICIT"), None)
    rank = int((array or explicit or ["0"])[0])
    intent = "IN" if attributes[1] == "INOUT" and name not in ("req",) else attributes[1]
    # A dummy argument that is an array of characters takes a single text, too.
    shaped = rank if kind[0] != "CHARACTER" or (array and array[2] == "ASSUMED_SHAPE") else 0
    return name, kind[0], kind[1], intent, "OPTIONAL" in attributes, shaped


def module_of(path):
    """Public name, or generic name and procedure, -> what a program sees of it."""
    lists, version = module_lists(path)
    symbols = {lists[-2][i]: (lists[-2][i + 1].strip("'"), lists[-2][i + 5]) for i in range(0, len(lists[-2]), 6)}
    seen = {}

    def see(name, number):
        body = symbols[number][1]
        if body[0][0] == "PARAMETER":
            seen[name] = (
                tuple(body[2][:2]),
                str([x[3] for x in body[3:] if isinstance(x, list) and x[:1] == ["CONSTANT"]]),
            )
        elif body[0][0] == "PROCEDURE":
            seen[name] = body[2][0], [argument(*symbols[a]) for a in body[5]]

    names = lists[-1]
    for i in range(0, len(names), 3):
        see(names[i].strip("'"), names[i + 2])
    for generic in lists[2]:
        for number in generic[2:]:
            see(f"{generic[0]} {symbols[number][0]}".replace("'", ""), number)
    return seen, version


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("generator", "library", "header", "module"):
        parser.add_argument("--" + name, required=True)
    for name in ("library", "header", "module"):
        parser.add_argument("--peer-" + name, default="")
    options = parser.parse_args()
    sys.path.insert(0, options.generator)
    import constants
    import generate_fortran

    problems = []
    ours = exported(options.library)
    of_table = {name for _, name in generate_fortran.function_types()} | set(generate_fortran.SUBROUTINES)
    shown = {name.rstrip("_") for name in ours if name.startswith("nfmpi_")}
    problems += [f"{name} is in the table, not in the library" for name in sorted(of_table - shown)]
    problems += [f"{name} is in the library, not in the table" for name in sorted(shown - of_table)]
    compared = f"{len(of_table)} functions of F77"
    build_options = {macro.lower() for macro, *_ in constants.table.FEATURES}

    if Path(options.peer_library).is_file():
        theirs = exported(options.peer_library)
        problems += [f"PnetCDF's library has {name}" for name in sorted(theirs - ours)]
        compared += f", {len(theirs)} symbols of PnetCDF's library"
    if Path(options.peer_header).is_file():
        mine, theirs = constants_of(options.header), constants_of(options.peer_header)
        problems += [f"{name}: {mine.get(name)} here, {value} in PnetCDF's header" for name, value in sorted(theirs.items())
                     if mine.get(name) != value and name not in build_options]
        compared += f", {len(theirs)} constants of its header"
    if Path(options.peer_module).is_file():
        (mine, version), (theirs, their_version) = module_of(options.module), module_of(options.peer_module)
        if version == their_version:
            for name, value in sorted(theirs.items()):
                # Functions that take any buffer have no arguments in PnetCDF's module.
                if name in build_options or (name in mine and value[1] == []):
                    continue
                if mine.get(name) != value:
                    problems.append(f"{name}: {mine.get(name)} here, {value} in PnetCDF's module")
            compared += f", {len(theirs)} names of its module"

    print(*problems, sep="\n")
    print(f"{compared}; {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
