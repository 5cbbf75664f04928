#!/usr/bin/env python3
"""Compares the PnetCDF interface as it stands in the table, the generated header, the library's dynamic
symbols and, where it is installed, PnetCDF's own header: names, signatures and constants."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# The last one came after PnetCDF 1.12.3.
OWN_MACROS = {"FOREBAY_PNETCDF", "FOREBAY_HAS_CHUNKS", "FOREBAY_HAS_DECOMPOSITIONS", "FOREBAY_HAS_LEVELS",
              "NC_COUNT_IGNORE"}
OWN_INTERFACE = {"ncmpi_var_set_chunk", "ncmpi_var_get_chunk", "ncmpi_var_set_filter", "ncmpi_var_get_filter",
                 "ncmpi_inq_var_levels", "ncmpi_get_vara_level", "ncmpi_get_vara_level_all"}


def own_functions(headers):
    """What Forebay's own headers declare."""
    found = set()
    for header in headers:
        with open(header) as text:
            found |= set(re.findall(r"FOREBAY_EXPORT extern [^;(]*?(forebay_\w+)\s*\(", text.read()))
    return found


def prototypes(header):
    """name -> (result, parameter types), blanks and parameter names left out."""
    text = re.sub(r"/\*.*?\*/", " ", open(header).read(), flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    found = {}
    for result, name, arguments in re.findall(
            r"((?:const\s+)?(?:char|int)\s*\**)\s*(ncmpi_\w+)\s*\(([^)]*)\)\s*;", text):
        types = tuple(parameter_type(a) for a in arguments.split(","))
        found[name] = (squeeze(result), types)
    return found


def squeeze(text):
    return re.sub(r"\s*([*])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def parameter_type(text):
    arrays = text.count("[]")
    text = squeeze(text.replace("[]", ""))
    if text != "void":
        text = re.sub(r"(?<=[ *])\w+$", "", text)
    return squeeze(text) + "*" * arrays


def macros(header, compiler, includes):
    """Object-like macros that a header adds to those of mpi.h, name -> text."""
    def defined(source):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.c")
            with open(path, "w") as out:
                out.write(source)
            command = [compiler, "-dM", "-E", path] + ["-I" + i for i in includes]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return set(lines.splitlines())

    added = defined(f'#include <mpi.h>\n#include "{header}"\n') - defined("#include <mpi.h>\n")
    return dict(re.match(r"#define (\S+) ?(.*)", line).groups() for line in added)


def exported(library):
    """Name -> version of what a library shows, "" where it has none."""
    out = subprocess.run(["nm", "-D", "--with-symbol-versions", "--defined-only", library], check=True,
                         capture_output=True, text=True).stdout
    symbols = [line.split() for line in out.splitlines()]
    return dict((words[-1].split("@@") + [""])[:2] for words in symbols if words[-2] != "A")


def codes(headers):
    """Name -> value of the codes that Forebay's own headers define, and the names of all that they mention."""
    defined, mentioned = {}, set()
    for header in headers:
        with open(header) as text:
            words = text.read()
        defined.update((name, int(value)) for name, value in re.findall(r"#define FOREBAY_(E\w+) \((-\d+)\)", words))
        mentioned |= set(re.findall(r"\b(?:NC|FOREBAY)_(E[A-Z_0-9]+)\b", words)) - {"EXPORT"}
    return defined, mentioned


def needs_others(header, compiler, includes):
    """Whether a header cannot be included alone, by C or by C++."""
    faults = []
    for language in ("c", "c++"):
        command = [compiler, "-x", language, "-fsyntax-only", "-Werror", "-"] + ["-I" + i for i in includes]
        ran = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True)
        if ran.returncode != 0:
            faults.append(f"{header} cannot be included alone in {language}: {ran.stderr.splitlines()[0]}")
    return faults


def texts(library):
    """What ncmpi_strerrno and ncmpi_strerror say of every code, [name, text] for each."""
    script = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
def of(function, code):
    call = getattr(library, function)
    call.restype = ctypes.c_char_p
    return call(code).decode()
print(json.dumps([[of("ncmpi_strerrno", c), of("ncmpi_strerror", c)] for c in range(2, -450, -1)]))
"""
    out = subprocess.run([sys.executable, "-c", script, library], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def differences(what, left, right, left_name, right_name):
    problems = [f"{what} {n} is in {left_name}, not in {right_name}" for n in sorted(left - right)]
    return problems + [f"{what} {n} is in {right_name}, not in {left_name}"
                       for n in sorted(right - left)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", required=True, help="folder of table.py")
    parser.add_argument("--header", required=True)
    parser.add_argument("--own", nargs="+", required=True, help="Forebay's own headers")
    parser.add_argument("--library", required=True)
    parser.add_argument("--peer", required=True, help="PnetCDF's own header; compared if there")
    parser.add_argument("--peer-library", default="", help="PnetCDF's own library; compared if there")
    parser.add_argument("--config", required=True, help="pnetcdf-config")
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--mpi-include", default="", help="folders, separated by colons")
    args = parser.parse_args()

    sys.path.insert(0, args.table)
    import table

    names = [f.name for f in table.all_functions()]
    problems = [] if len(names) == len(set(names)) else ["the table has a function twice"]
    ours = prototypes(args.header)
    problems += differences("function", set(names), set(ours), "the table", "the header")
    shown = {name: version for name, version in exported(args.library).items()
             if not name.startswith(("nfmpi_", "__pnetcdf_MOD_"))}  # Fortran's have a test of their own
    problems += differences("symbol", set(names) | own_functions(args.own), set(shown), "the headers", "the library")
    problems += [f"{name} has the version '{version}'" for name, version in sorted(shown.items())
                 if name.startswith("forebay_") != bool(re.fullmatch(r"FOREBAY_\d+\.\d+", version))]

    includes = [i for i in args.mpi_include.split(":") if i]
    defined, mentioned = codes(args.own)
    known = {name[3:]: value for name, value, _ in table.NETCDF_ERRORS + table.PNETCDF_ERRORS}
    problems += [f"FOREBAY_{name} is {value}, not NC_{name}" for name, value in sorted(defined.items())
                 if known.get(name) != value]
    problems += [f"a header mentions {name}, which forebay_codes.h does not define" for name in
                 sorted(mentioned - set(defined))]
    for header in args.own:
        problems += needs_others(os.path.abspath(header), args.compiler,
                                 includes + [os.path.dirname(os.path.abspath(h)) for h in args.own])
    mine = macros(os.path.abspath(args.header), args.compiler, includes)
    for macro, option, *_ in table.FEATURES:
        command = ["sh", args.config, option]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        if answer != table.feature_word(option, int(mine[macro])):
            problems.append(f"{macro} is {mine[macro]}, but pnetcdf-config {option} says {answer}")

    compared = "no PnetCDF header is installed"
    if os.path.exists(args.peer):
        peer = prototypes(args.peer)
        own = OWN_INTERFACE | {n for n in names if "_decom" in n or "_ndecoms" in n}
        problems += differences("function", set(ours) - own, set(peer), "our header", "PnetCDF's")
        problems += [f"{n}: {ours[n]} differs from PnetCDF's {peer[n]}"
                     for n in sorted(set(ours) & set(peer)) if ours[n] != peer[n]]
        theirs = macros(args.peer, args.compiler, includes)
        our_features = {macro for macro, _, _, same in table.FEATURES if not same}
        for own in OWN_MACROS:
            mine.pop(own, None)
        problems += differences("macro", set(mine), set(theirs), "our header", "PnetCDF's")
        problems += [f"macro {n}: {mine[n]} differs from PnetCDF's {theirs[n]}"
                     for n in sorted(set(mine) & set(theirs) - our_features) if mine[n] != theirs[n]]
        compared = f"compared with {len(peer)} functions and {len(theirs)} macros of PnetCDF"

    if os.path.exists(args.peer_library):
        for mine, theirs in zip(texts(args.library), texts(args.peer_library)):
            if theirs[0].startswith("Unknown code") and not theirs[1].startswith("Unknown Error"):
                theirs[0] = mine[0]  # netCDF codes that PnetCDF has no name for
            if mine != theirs:
                problems.append(f"{mine} differs from PnetCDF's {theirs}")

    for problem in problems:
        print(problem)
    print(f"{len(names)} functions; {len(problems)} differences; {compared}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
