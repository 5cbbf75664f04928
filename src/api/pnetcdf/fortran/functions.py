"""The functions of F77 as data, made of those of C in table.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import table  # noqa: E402

# C's part of the name, Fortran's, the prefix of the argument's name in F90, its type and its kind there.
TYPES = [
    ("text", "text", "text", "character(len=*)", None),
    ("schar", "int1", "i1val", "integer", "OneByteInt"),
    ("short", "int2", "i2val", "integer", "TwoByteInt"),
    ("int", "int", "ival", "integer", "FourByteInt"),
    ("float", "real", "rval", "real", "FourByteReal"),
    ("double", "double", "dval", "real", "EightByteReal"),
    ("longlong", "int8", "i8val", "integer", "EightByteInt"),
]
OF_C = {c: f77 for c, f77, *_ in TYPES}

# Functions of C that Fortran has no form of: for several variables, and Forebay's own; those that return text are
# written by hand (messages.cc).
LEFT_OUT = ("mput_", "mget_", "strerr", "inq_libvers")
OWN = ("decom", "_levels", "_level", "_chunk", "_filter")

# Names of arguments in Fortran, where they differ from those in C; those of one function first.
ARGUMENT_NAMES = {
    ("nfmpi_create", "omode"): "cmode",
    ("nfmpi_def_var", "xtype"): "datatype",
    ("nfmpi_inq_var", "xtypep"): "datatype",
    ("nfmpi_inq_attid", "idp"): "attid",
    ("nfmpi_inq_default_format", "formatp"): "default_fmt",
    ("nfmpi_rename_att", "name"): "curname",
    ("nfmpi_cancel", "num"): "count",
    ("nfmpi_inq_files_opened", "num"): "nfiles",
    ("nfmpi_put_att", "nelems"): "len",
    "comm": "mpi_comm", "info": "mpi_info", "info_used": "mpi_info", "ncidp": "ncid", "omode": "mode",
    "filename": "path", "format": "new_fmt", "old_formatp": "old_fmt", "formatp": "fmt", "old_modep": "old_mode",
    "idp": "dimid", "dimidsp": "dimids", "varidp": "varid", "lenp": "len", "xtypep": "xtype", "attnum": "attid",
    "ndimsp": "ndims", "nvarsp": "nvars", "ngattsp": "ngatts", "unlimdimidp": "unlimdimid", "nattsp": "natts",
    "array_of_requests": "req", "array_of_statuses": "status", "reqs": "req", "statuses": "status", "request": "req",
}

OF_DIMENSIONS = {
    "start": 1,
    "count": 0,
    "stride": 0,
    "imap": 0,
    "starts": 1,
    "counts": 0,
}  # and what Fortran counts from


def element_of(function):
    """The row of TYPES of a typed function, by its name."""
    last = function.removesuffix("_all").rsplit("_", 1)[1]
    return next((row for row in TYPES if row[1] == last), None)


class Argument:
    """`kind` says what the argument is; generate_fortran.py knows what that means in C++ and in F90."""

    def __init__(self, function, c_type, c_name):
        self.c_type, self.c_name = c_type.replace(" *", "*"), c_name
        self.kind = self._kind(function)
        names = ARGUMENT_NAMES
        self.name = names.get((function, c_name), names.get(c_name, c_name))
        if self.kind == "buffer":
            prefix = (element_of(function) or [0, 0, c_name])[2]
            one = "_var1_" in function or prefix in ("text", c_name)
            self.name = prefix if one else prefix + "s"
        if function.startswith("nfmpi_") and "_var1" in function and c_name == "start":
            self.name = "index"

    def _kind(self, function):
        kind, name = self.c_type, self.c_name
        if name in OF_DIMENSIONS and kind.startswith(("const MPI_Offset", "MPI_Offset")):
            return "pieces" if name.endswith("s") else "selection"
        if name in ("buf", "value", "fill_value"):
            return "buffer"
        if name == "dimidsp":
            return "dimids" if kind.startswith("const") else "dimids_out"
        if kind == "const char*":
            return "text"
        if kind == "char*":
            return "path_out" if name == "path" else "text_out"
        if kind == "MPI_Info*":
            return "info_out"
        if kind.startswith("MPI_") and kind not in ("MPI_Offset", "MPI_Offset*"):
            return "handle"
        if kind == "MPI_Offset":
            return "record" if name == "recno" else "offset"
        if kind == "MPI_Offset*":
            return "offset_out"
        if name.startswith("array_of_") or name in ("reqs", "statuses", "ncids"):
            return "ints"
        if kind in ("int", "nc_type"):
            return "index" if name in ("varid", "varid_in", "varid_out", "dimid", "attnum") else "int"
        assert kind in ("int*", "nc_type*"), (function, kind, name)
        return "index_out" if name in ("idp", "varidp", "unlimdimidp") else "int_out"


class Function:
    def __init__(self, of_c, name):
        self.c_name, self.name, self.group = of_c.name, name, of_c.group
        self.arguments = [Argument(name, *p) for p in _parameters(of_c)]
        # No explicit interface: the buffer may have any type.
        self.any_buffer = any(a.kind == "buffer" and "void" in a.c_type for a in self.arguments)
        self.puts = any(word in name for word in ("put", "def_var_fill"))


def _parameters(of_c):
    """(type, name) of each parameter; functions written by hand have them in one line."""
    if not isinstance(of_c, table.Written):
        return of_c.parameters
    text = of_c.line.split("(", 1)[1].rstrip(")")
    found = []
    for one in text.split(", "):
        if one != "void":
            kind, name = one.replace("*", "* ").rsplit(None, 1)
            found.append((kind.replace("* ", "*") + "*" * name.count("[]"), name.replace("[]", "")))
    return found


def f77_functions():
    for f in table.all_functions():
        short = f.name.removeprefix("ncmpi_")
        if short.startswith(LEFT_OUT) or any(own in short for own in OWN):
            continue
        if f.group.endswith("_att") or "_var" in f.group:  # typed functions
            base = f.group + "_" if f.group in ("put_att", "get_att") else f.group
            rest = short[len(f.group) :].lstrip("_")
            element = rest.removesuffix("_all").removesuffix("all") if rest else ""
            if element and element not in OF_C:
                continue
            ending = "_all" if rest.endswith("all") else ""
            short = base.rstrip("_") + ("_" + OF_C[element] if element else "") + ending
        yield Function(f, "nfmpi_" + short)
