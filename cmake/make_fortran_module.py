#!/usr/bin/env python3
"""Writes a Fortran module over functions of C, from a template that declares each of them in one line.

  make_fortran_module.py TEMPLATE OUTPUT

    @interfaces            becomes interface bodies of all the functions
    @c forebay_f(ARGS)     a function of C, `c_f` in Fortran, for a subroutine written by hand
    @ forebay_f(ARGS)      the same, and the subroutine forebay_f(ARGS, ierr) that calls it

Functions called forebay_f_f, which only modules call, make the same names. An argument is a kind and a name, as in
`long& steps`. Kinds are int, long, double, address (a pointer), text, whose subroutine takes characters, and data,
which is an array of any type, and two arguments of C: its number of elements, and its address. They are passed by
value; `&` is set by the function. `int[2]` and `long[]` are arrays, which only functions for subroutines written by
hand have, and `?` marks one that may be left out."""

import re
import sys
import textwrap
from pathlib import Path

TYPES = {"int": "integer(c_int)", "long": "integer(long)", "double": "real(c_double)", "address": "type(c_ptr)",
         "text": "character(kind=c_char)"}
ARGUMENT = re.compile(r"(?P<kind>[a-z]+)(?:\[(?P<extent>\d*)\])?(?P<out>&?)(?P<optional>\??) (?P<name>\w+)")


def continued(text, indent):
    return textwrap.wrap(text, 98, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4),
                         break_long_words=False, break_on_hyphens=False)


def statement(text, indent):
    return [f"{line} &" for line in continued(text, indent)[:-1]] + continued(text, indent)[-1:]


def c_declaration(argument):
    array = f"({argument['extent'] or '*'})" if argument["extent"] is not None or argument["kind"] == "text" else ""
    how = "intent(inout)" if argument["out"] else "intent(in)" if array else "value"
    optional = ", optional" if argument["optional"] else ""
    return f"{TYPES[argument['kind']]}, {how}{optional} :: {argument['name']}{array}"


def declaration(argument):
    if argument["kind"] == "data":
        how = "inout" if argument["out"] else "in"
        return f"type(*), dimension(..), intent({how}), target, contiguous :: {argument['name']}"
    kind = {"int": "integer", "text": "character(*)"}.get(argument["kind"], TYPES[argument["kind"]])
    return f"{kind}, intent({'inout' if argument['out'] else 'in'}) :: {argument['name']}"


def passed(argument):
    forms = {"text": "to_c({0})", "data": "size({0}, kind=long), c_loc({0})"}
    return forms.get(argument["kind"], "{0}").format(argument["name"])


def interface_body(name, own_name, arguments):
    names = ", ".join(argument["name"] for argument in arguments)
    return [*statement(f'integer(c_int) function {own_name}({names}) bind(c, name="{name}")', 4), "      import",
            *(f"      {c_declaration(argument)}" for argument in arguments), "    end function"]


def subroutine(name, own_name, arguments):
    return [*statement(f"subroutine {name}({', '.join([a['name'] for a in arguments] + ['ierr'])})", 2),
            *(f"    {declaration(argument)}" for argument in arguments), "    integer, intent(out) :: ierr",
            *statement(f"ierr = {own_name}({', '.join(map(passed, arguments))})", 4), "  end subroutine"]


def parsed(arguments):
    return [ARGUMENT.fullmatch(argument) for argument in re.findall(r"[^,\s][^,]*", arguments)]


def main():
    template, output = map(Path, sys.argv[1:])
    bodies = []

    def expanded(found):
        by_hand, name, arguments = found.groups()
        short_name = re.sub("^forebay_(f_)?", "", name)
        of_c = re.sub(r"\bdata&? (\w+)", r"long elements, address \1", arguments)
        bodies.extend(interface_body(name, "c_" + short_name, parsed(of_c)))
        if by_hand:
            return ""
        return "\n".join(subroutine("forebay_" + short_name, "c_" + short_name, parsed(arguments))) + "\n\n"

    text = re.sub(r"^ *@(c?) (\w+)\(([^)]*)\)\n", expanded, template.read_text(), flags=re.MULTILINE)
    text = text.replace("    @interfaces", "\n".join(bodies))
    if not output.exists() or output.read_text() != text:  # else it would be compiled again
        output.write_text(text)


if __name__ == "__main__":
    main()
