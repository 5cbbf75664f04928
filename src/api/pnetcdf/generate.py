#!/usr/bin/env python3
"""Writes what follows from table.py.

    generate.py header TEMPLATE OUT    pnetcdf.h
    generate.py stubs DIRECTORY        stubs_<part>.cc, the typed functions
    generate.py errors OUT             the names and texts of the error codes, for errors.cc
    generate.py calls OUT              for a test: each data function behind one signature
    generate.py addresses OUT          a C program that takes the address of every function
    generate.py features               for pnetcdf-config: a case of its script for each build option
    generate.py names                  the names of all functions, one a line, to standard output
"""

import itertools
import pathlib
import sys

import table

# The source file of each group of stubs. Several files compile at the same time.
PARTS = {
    "attributes": ("put_att", "get_att"),
    "blocking": ("put_var", "get_var"),
    "nonblocking": ("iput_var", "iget_var", "bput_var"),
    "multiple": ("mput_var", "mget_var"),
    "decomposed": ("put_decom", "get_decom", "iput_decom", "iget_decom", "bput_decom"),
}


def wrap(text, indent=4, width=98):
    """Breaks a declaration at its commas."""
    lines, line = [], ""
    for piece in text.split(", "):
        if line and len(line) + len(piece) + 2 > width:
            lines.append(line + ",")
            line = " " * indent + piece
        else:
            line = line + ", " + piece if line else piece
    return "\n".join(lines + [line])


def error_lines(errors):
    return "\n".join(f"#define {name:31} ({value}) /* {text} */" for name, value, text in errors)


def prototypes():
    out = []
    for group, functions in itertools.groupby(table.all_functions(), lambda f: f.group):
        title = group if " " in group or group.isalpha() else "ncmpi_" + group
        out.append(f"/* {title} */")
        out += [wrap("extern " + f.declaration()) + ";" for f in functions]
        out.append("")
    return "\n".join(out)


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def header(template, out):
    major, minor, sub = table.VERSION.split(".")
    text = pathlib.Path(template).read_text()
    for key, value in {
        "VERSION": table.VERSION,
        "VERSION_MAJOR": major,
        "VERSION_MINOR": minor,
        "VERSION_SUB": sub,
        "RELEASE_DATE": table.RELEASE_DATE,
        "FEATURES": "\n".join(f"#define {macro:32} {value}" for macro, _, value, _ in table.FEATURES),
        "NETCDF_ERRORS": error_lines(table.NETCDF_ERRORS),
        "PNETCDF_ERRORS": error_lines(table.PNETCDF_ERRORS),
        "PROTOTYPES": prototypes(),
    }.items():
        text = text.replace(f"@{key}@", value)
    write(out, text)


def stubs(directory):
    left = set(f.name for f in table.stub_functions())
    for part, groups in PARTS.items():
        out = ['// Generated from table.py.\n#include "api/pnetcdf/typed_calls.h"\n\nusing namespace '
               "forebay::pnetcdf;\n"]
        for f in table.stub_functions():
            if f.group.startswith(groups):
                left.remove(f.name)
                out.append(wrap(f.declaration()) + " {\n  return " + wrap(f.call, 6) + ";\n}\n")
        write(pathlib.Path(directory) / f"stubs_{part}.cc", "\n".join(out))
    assert not left, f"no part takes {sorted(left)[:3]}"


def errors(out):
    lines = ["// Generated from table.py."]
    for name, value, text in table.NETCDF_ERRORS + table.PNETCDF_ERRORS:
        lines.append(f'{{{value}, "{name}", "{text}"}},')
    write(out, "\n".join(lines) + "\n")


def addresses(out):
    names = [f.name for f in table.all_functions()]
    body = ",\n".join(f"    (function){n}" for n in names)
    write(out, f"""/* Generated from table.py: fails to link if a function is missing. */
#include <pnetcdf.h>
#include <stdio.h>

typedef void (*function)(void);

static const function all[] = {{
{body}}};

int main(void) {{
  size_t i, n = sizeof all / sizeof *all;
  for (i = 0; i < n; ++i) {{
    if (all[i] == NULL) return 1;
  }}
  printf("%d functions\\n", (int)n);
  return n == {len(names)} ? 0 : 1;
}}
""")


ARGUMENTS = {
    "varids": "&a.varid",
    "starts": "a.starts",
    "counts": "a.counts",
    "request": "&a.request",
    "bufcounts": "&a.bufcount",
    "buftypes": "&a.buftype",
}


def call(function):
    """A call of a data function with everything taken from an argument block `a`."""
    values = []
    for kind, name in function.parameters:
        if name == "buf":
            values.append(f"static_cast<{kind.strip()}>(a.buf)")
        elif name == "bufs":
            values.append(f"reinterpret_cast<{kind.strip()}>(&a.buf)")
        else:
            values.append(ARGUMENTS.get(name, "a." + name))
    return f"{function.name}({', '.join(values)})"


def calls(out):
    types = dict(table.TYPES)
    lines = ["// Generated from table.py: name, verb, kind, element type, collective, call."]
    for f in table.stub_functions():
        verb, kind = f.group.split("_", 1)
        if kind == "att":
            continue
        rest = f.name[len(f"ncmpi_{verb}_{kind}"):]
        collective = rest.endswith("_all")
        element = rest.removesuffix("_all").lstrip("_")
        assert element in types or not element, f.name
        line = (f'{{"{f.name}", "{verb}", "{kind}", "{element}", {str(collective).lower()}, '
                f'[](Arguments& a) {{ return {call(f)}; }}}},')
        # The peer library's tests use this list, too.
        own = kind.startswith("decom")
        lines += ["#ifdef FOREBAY_HAS_DECOMPOSITIONS", line, "#endif"] if own else [line]
    write(out, "\n".join(lines) + "\n")


def features():
    print("\n".join(f"    {option}) echo {table.feature_word(option, value)} ;;"
                    for _, option, value, _ in table.FEATURES))


def names():
    print("\n".join(f.name for f in table.all_functions()))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or ["help"]
    commands = {"header": header, "stubs": stubs, "errors": errors, "calls": calls,
                "addresses": addresses, "features": features, "names": names}
    if command not in commands:
        sys.exit(__doc__)
    commands[command](*arguments)
