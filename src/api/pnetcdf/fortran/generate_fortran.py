#!/usr/bin/env python3
"""Writes PnetCDF's Fortran interfaces, which follow from table.py.

generate_fortran.py stubs OUT             fortran_stubs.cc, the functions of F77
generate_fortran.py header OUT            pnetcdf.inc
generate_fortran.py module TEMPLATE OUT   pnetcdf.F90
generate_fortran.py names                 the names of all functions of F77, one a line, to standard output
"""

import sys
from pathlib import Path

import constants
import f90
import functions
from functions import OF_DIMENSIONS

BY_HAND = ["nfmpi_inq_libvers", "nfmpi_strerror", "nfmpi_strerrno", "nfmpi_issyserr"]

SUBROUTINES = ["nfmpi_xstrerror", "nfmpi_xstrerrno", "nfmpi_xinq_libvers"]


def write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


# -- F77 in C++: what Fortran passes, and what C gets ---------------------------------------------------


def passed(argument):
    """A parameter of C++, and of what hidden length it has."""
    types = {"selection": "const MPI_Offset*", "pieces": "const MPI_Offset*", "offset": "const MPI_Offset*",
             "record": "const MPI_Offset*", "offset_out": "MPI_Offset*", "text": "const char*", "text_out": "char*",
             "path_out": "char*", "dimids": "const int*", "int": "const int*", "index": "const int*",
             "handle": "const MPI_Fint*", "info_out": "MPI_Fint*", "buffer": argument.c_type}
    return f"{types.get(argument.kind, 'int*')} {argument.name}"


def is_text(argument):
    return argument.kind in ("text", "text_out", "path_out") or argument.c_type in ("char*", "const char*")


def to_c(argument):
    name, base = argument.name, OF_DIMENSIONS.get(argument.c_name)
    return {
        "int": f"*{name}",
        "index": f"*{name} - 1",
        "offset": f"*{name}",
        "record": f"*{name} - 1",
        "handle": f"{argument.c_type.replace('Datatype', 'Type')}_f2c(*{name})",
        "text": f"TextIn({name}, {name}_length)",
        "text_out": f"TextOut({name}, {name}_length)",
        "path_out": f"TextOut({name}, {name}_length, length_of_path(ncid))",
        "selection": f"Reversed<MPI_Offset>(dimensions, {name}, {base})",
        "pieces": f"Pieces(dimensions, *num, {name}, {base})",
        "dimids": f"Reversed<int>(*ndims, {name}, 1)",
        "dimids_out": f"IndicesOut(dimensions, {name})",
        "index_out": f"IndexOut({name})",
        "info_out": f"InfoOut({name})",
    }.get(argument.kind, name)


def stub(function):
    parameters = [passed(a) for a in function.arguments]
    for a in filter(is_text, function.arguments):
        parameters.append("std::size_t" if a.kind == "buffer" else f"std::size_t {a.name}_length")
    calls = [to_c(a) for a in function.arguments]
    dimensions = (
        "" if not any("(dimensions" in c for c in calls) else "  const int dimensions = dimensions_of(ncid, varid);\n"
    )
    return (
        f"int FORTRAN({function.name}, {function.name.upper()})({', '.join(parameters)}) {{\n{dimensions}"
        f"  return {function.c_name}({', '.join(calls)});\n}}\n"
    )


def stubs(out):
    head = """// Generated from table.py.
#include "api/pnetcdf/fortran/arguments.h"

using namespace forebay::pnetcdf::fortran;
#define FORTRAN(lower, upper) FOREBAY_FORTRAN_GLOBAL_(lower, upper)

#pragma GCC visibility push(default)
extern "C" {
"""
    tail = '}  // extern "C"\n#pragma GCC visibility pop\n'
    write(out, "\n".join([head, *map(stub, functions.f77_functions()), tail]))


# -- F77's header, in fixed form that is free form, too ---------------------------------------------------


def header(out):
    lines = ["! PnetCDF's F77 interface, as Forebay implements it. Generated from table.py."]
    for kind, name, value in constants.of_f77():
        lines += [f"      {kind} {name}", f"      parameter ({name} = {value})"]
    for kind, name in function_types():
        lines += [f"      {kind} {name}", f"      external {name}"]
    too_long = [line for line in lines[1:] if len(line) > 72]
    assert not too_long, too_long
    write(out, "\n".join(lines) + "\n")


def function_types():
    for name in BY_HAND:
        yield "logical" if name.endswith("issyserr") else "character*80", name
    for f in functions.f77_functions():
        yield "integer", f.name


def names():
    print("\n".join(name for _, name in function_types()))
    print("\n".join(SUBROUTINES))


def module(template, out):
    text = Path(template).read_text().replace("@VERSION@", constants.table.VERSION)
    for key, lines in f90.parts():
        text = text.replace(f"@{key}@", "\n".join(lines))
    write(out, text)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or ["help"]
    commands = {"stubs": stubs, "header": header, "module": module, "names": names}
    if command not in commands:
        sys.exit(__doc__)
    commands[command](*arguments)
