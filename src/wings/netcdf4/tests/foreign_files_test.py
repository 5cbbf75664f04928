"""Forebay reads what others write, or says what it does not show. It writes to it or leaves it.

usage: foreign_files_test.py --launch "MPIEXEC ..." --client PROGRAM --dir DIRECTORY [--only NAME]

The files are those of foreign_files.py. What Forebay reads is compared with what netCDF4-python
reads, and h5py where that cannot. Then Forebay opens each file for writing, writes a value again
into each variable and adds an attribute, and all must be as before; or it refuses and leaves every
byte of the file as it is.
"""
import hashlib
import re
import sys
import warnings
from urllib.parse import unquote

try:
    import h5netcdf  # noqa: F401
    import h5py
    import netCDF4
    import numpy
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)

import foreign_files
from twins import DTYPES, Calls, Programs, count, expect, say_array, word

KINDS = {numpy.dtype(t).str.lstrip("<|>="): name for name, t in DTYPES.items()}


class Told:
    """What the client told of a file."""

    def __init__(self, text):
        self.dims, self.vars, self.atts, self.data, self.errors = {}, {}, {}, {}, {}
        for line in text.splitlines():
            words = line.split(" ")
            names = [unquote(w) for w in words]
            if words[0] == "dim":
                self.dims[names[1]] = (int(words[2]), words[3] == "unlimited")
            elif words[0] == "att":
                self.atts.setdefault(names[1], {})[names[2]] = (words[3], int(words[4]), words[5])
            elif words[0] == "var":
                self.vars[names[1]] = (words[2], names[4:])
            elif words[0] == "data":
                self.data[names[1]] = bytes.fromhex(words[2])
            elif words[0] == "error":
                self.errors[names[1]] = line


def is_subsequence(some, all_of_them):
    rest = iter(all_of_them)
    return all(its in rest for its in some)


def kind_of(dtype):
    if not isinstance(dtype, numpy.dtype):
        return None
    return KINDS.get(dtype.newbyteorder("<").str.lstrip("<|>="))


class Reference:
    """What netCDF4-python, and else h5py, read of one variable."""

    def __init__(self, path):
        self.path = path
        try:
            self.file = netCDF4.Dataset(path)
            self.file.set_auto_maskandscale(False)
            self.file.set_auto_chartostring(False)
        except (OSError, RuntimeError, AttributeError):  # the last: an error of netCDF4-python
            self.file = None

    def kind(self, var):
        its = var.datatype
        return kind_of(its.dtype) if isinstance(its, netCDF4.EnumType) else kind_of(its)

    def values(self, name, var):
        """As bytes; None: nobody reads them."""
        try:
            its = numpy.asarray(var[...])
        except (OSError, RuntimeError, TypeError, IndexError):
            try:
                with h5py.File(self.path, "r") as f:
                    its = f[name][...]
            except (OSError, RuntimeError, KeyError):
                return None
        return its.astype(its.dtype.newbyteorder("<")).tobytes()


def value_of_attribute(value):
    """(type, count, bytes) as told; None: the classic model does not know it."""
    if isinstance(value, str):
        its = value.encode("utf-8", "surrogateescape").rstrip(b"\0")
        return "char", its
    its = numpy.asarray(value)
    kind = kind_of(its.dtype)
    if kind is None or kind == "char":
        return None
    return kind, its.astype(its.dtype.newbyteorder("<")).tobytes()


def check_attributes(told, owner, names, get, said, what):
    mine = told.atts.get(owner, {})
    expect(is_subsequence(mine, names), f"{what}: attributes of {owner}: {list(mine)}, not {names}")
    for name in names:
        try:
            wanted = value_of_attribute(get(name))
        except Exception as error:
            wanted = error
        if name in mine:
            kind, n, text = mine[name]
            got = bytes.fromhex(text)
            if kind == "char":
                got = got.rstrip(b"\0")
            expect(isinstance(wanted, Exception) or (kind, got) == wanted,
                   f"{what}: attribute {name} of {owner} is {mine[name]}, not {wanted}")
        else:
            expect(re.search(f"not shown: attribute {re.escape(name)} of ", said),
                   f"{what}: attribute {name} of {owner} is missing, and not said to be")


def check_variable(told, reference, name, var, said, what):
    if name not in told.vars:
        expect(re.search(f"not shown: .*(variable|dataset|link) {re.escape(name)}\\b", said),
               f"{what}: variable {name} is missing, and not said to be: {said[-900:]}")
        return
    kind, dims = told.vars[name]
    expect(kind == reference.kind(var), f"{what}: {name} is {kind}, not {var.datatype}")
    expect(tuple(dims) == var.dimensions, f"{what}: {name} has {dims}, not {var.dimensions}")
    check_attributes(told, name, var.ncattrs(), var.getncattr, said, what)
    wanted = reference.values(name, var)
    if wanted is None:
        expect(name in told.errors, f"{what}: {name} has values that nobody else reads")
    elif expect(name in told.data, f"{what}: {told.errors.get(name)}"):
        expect(told.data[name] == wanted, f"{what}: values of {name} differ")


def check_with_h5py(path, reference, told, said, what):
    """For files that netCDF4-python does not open."""
    if told is None:
        return expect("it cannot be opened" in said, f"{what} is not read: {said}")
    if reference.file:
        reference.file.close()
    count("h5py")
    told = Told(told)
    with h5py.File(path, "r") as f:
        for name in f:
            if name not in told.vars:
                expect(f" {name} " in said, f"{what}: {name} is missing, and not said to be")
                continue
            its = f[name][...]
            its = its.astype(its.dtype.newbyteorder("<")).tobytes()
            expect(told.data.get(name) == its, f"{what}: values of {name} differ")


def check_read(path, told, said, what):
    """Compares what was told of a file with what netCDF-C shows."""
    reference = Reference(path)
    if reference.file is None or what in foreign_files.OF_H5PY:
        return check_with_h5py(path, reference, told, said, what)
    if not expect(told, f"{what} is not read: {said}"):
        return
    f = reference.file
    if f.groups:  # whose dimensions netCDF-C numbers, too
        numbered = [re.findall(r"^dim (phony_dim_\d+)", told, re.M),
                    [d for d in f.dimensions if d.startswith("phony_dim_")]]
        names = dict(zip(*numbered))
        told = re.sub(r"\bphony_dim_\d+\b", lambda its: names[its[0]], told)
    told = Told(told)
    expect(is_subsequence(told.dims, f.dimensions), f"{what}: dimensions {list(told.dims)}, not "
           f"{list(f.dimensions)}")
    expect(is_subsequence(told.vars, f.variables), f"{what}: variables {list(told.vars)}, not "
           f"{list(f.variables)}")
    for name, dim in f.dimensions.items():
        if name not in told.dims:
            expect(f"not shown: dimension {name} " in said, f"{what}: dimension {name} is missing")
            continue
        length, unlimited = told.dims[name]
        expect(length == len(dim), f"{what}: dimension {name} is {length} long, not {len(dim)}")
        expect(unlimited == dim.isunlimited() or f"not shown: dimension {name} cannot grow" in said,
               f"{what}: dimension {name} is unlimited: {unlimited}")
    check_attributes(told, "*", f.ncattrs(), f.getncattr, said, what)
    for name, var in f.variables.items():
        check_variable(told, reference, name, var, said, what)
    for name in f.groups:
        expect(f"not shown: group {name} " in said, f"{what}: nothing is said of group {name}")
    f.close()  # HDF5 shows what it has of an open file, also when the file has changed
    count("netCDF4-python")


# -- writing

def views(group, prefix=""):
    """{what: text} of all that netCDF4-python shows, groups and types included."""
    its = {"model": group.data_model} if not prefix else {}
    for name, dim in group.dimensions.items():
        its[f"{prefix}dim {name}"] = f"{len(dim)} {dim.isunlimited()}"
    for kind in ("cmptypes", "vltypes", "enumtypes"):
        its[f"{prefix}{kind}"] = str(sorted(getattr(group, kind)))

    def atts(owner, of):
        for name in of.ncattrs():
            try:
                value = of.getncattr(name)
            except Exception as error:
                value = f"unread: {type(error)}"
            text = repr(value) if isinstance(value, (str, list)) else say_array(value)
            its[f"{owner} att {name}"] = text
    atts(prefix, group)
    for name, var in group.variables.items():
        owner = f"{prefix}var {name}"
        var.set_auto_maskandscale(False)
        try:
            values = say_array(var[...])
        except Exception as error:
            values = f"unread: {type(error)}"
        its[owner] = f"{var.datatype} {var.dimensions} {var.endian()} {var.filters()} {values}"
        atts(owner, var)
    for name, inner in group.groups.items():
        its.update(views(inner, f"{prefix}{name}/"))
    return its


def views_by_h5py(path):
    with h5py.File(path, "r") as f:
        return {name: f"{its} {say_array(its[...])}" if isinstance(its, h5py.Dataset) else str(its)
                for name, its in f.items()}


def views_of(path):
    """A function that has the views of a file like the one at path now, and these views."""
    def views_by_netcdf(path):
        with netCDF4.Dataset(path) as f:
            return views(f)
    try:
        if any(name in path for name in foreign_files.OF_H5PY):
            return views_by_h5py, views_by_h5py(path)
        return views_by_netcdf, views_by_netcdf(path)
    except (OSError, RuntimeError, AttributeError):
        return views_by_h5py, views_by_h5py(path)


def calls_that_change_little(told):
    f = Calls().add("open_or_end").add("redef").att("*", "forebay_was_here", "int", [1])
    f.add("enddef")
    for name, (kind, dims) in told.vars.items():
        lengths = [told.dims[d][0] for d in dims]
        if 0 in lengths or name not in told.data:
            continue
        # The middle element.
        at = [n // 2 for n in lengths]
        width = numpy.dtype(DTYPES[kind]).itemsize
        place = width * int(numpy.ravel_multi_index(at, lengths)) if at else 0
        f.add("put", word(name), *at, *[1] * len(at), told.data[name][place:place + width].hex())
    return f.add("close")


def bytes_of(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def check_written(programs, told):
    files = {p: calls_that_change_little(Told(t)) for p, (t, _) in told.items() if t}
    before = {p: (*views_of(p), bytes_of(p)) for p in files}
    said = programs.forebay(files)
    again = programs.tell([p for p in files])
    for path in files:
        what = path.rsplit("/", 1)[1].removesuffix(".nc")
        views_now, shown, digest = before[path]
        refused = re.search("^refused: (.*)$", said[path], re.M)
        wanted = what in foreign_files.WRITABLE
        if refused:
            expect(bytes_of(path) == digest, f"{what}: it is changed, though refused")
            expect(not wanted, f"{what} cannot be written to: {refused[1]}")
            expect(again[path][0] == told[path][0], f"{what} reads otherwise, though refused")
            count("refused to write to")
            continue
        if views_now is not views_by_h5py:
            shown[" att forebay_was_here"] = say_array(numpy.int32(1))
        now = {key: text for key, text in views_now(path).items()
               if key in shown or not key.startswith("phony_dim_")}  # these have datasets now
        for key in sorted(set(shown) | set(now)):
            expect(shown.get(key) == now.get(key),
                   f"{what}: after writing {key} is {str(now.get(key))[:300]}, not "
                   f"{str(shown.get(key))[:300]}")
        expect(wanted or what in foreign_files.EITHER, f"{what} was written to")
        count("written to")


def main():
    warnings.simplefilter("ignore")
    programs = Programs(__doc__)
    paths = []
    for make in foreign_files.ALL:
        if not programs.only or programs.only in make.__name__:
            paths.append(programs.path(make.__name__ + ".nc"))
            make(paths[-1])
    told = programs.tell(paths)
    for path in paths:
        check_read(path, *told[path], path.rsplit("/", 1)[1].removesuffix(".nc"))
    check_written(programs, told)
    return programs.end()


if __name__ == "__main__":
    sys.exit(main())
