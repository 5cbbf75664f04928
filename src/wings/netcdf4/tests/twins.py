"""What tests of twins share: calls that make files, the programs that carry them out, and views of
a file that are compared.

A *view* is text that says all that a reader shows of a file. Twins must have equal views. What may
legitimately differ is taken out by name, each with its reason, in this file and nowhere else.
"""
import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
from urllib.parse import quote

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {"byte": "i1", "char": "S1", "short": "i2", "int": "i4", "float": "f4", "double": "f8",
          "ubyte": "u1", "ushort": "u2", "uint": "u4", "int64": "i8", "uint64": "u8"}
CLASSIC_TYPES = ["byte", "char", "short", "int", "float", "double"]

failures, counts = [], {}


def expect(holds, what):
    if not holds:
        failures.append(what)
    return holds


def expect_equal(one, two, what):
    """Compares two views, and tells the first lines that differ."""
    if one == two:
        return True
    lines = difflib.unified_diff(two.splitlines(), one.splitlines(), "twin", "forebay", n=2,
                                 lineterm="")
    shown = [line if len(line) < 300 else line[:300] + " ..." for line in lines]
    failures.append(f"{what}:\n  " + "\n  ".join(shown[:24]))
    return False


def count(reader):
    counts[reader] = counts.get(reader, 0) + 1


def run(command, environment=None, timeout=120):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                          env={**os.environ, **(environment or {})})
    return subprocess.CompletedProcess(command, done.returncode,
                                       done.stdout.decode(errors="surrogateescape"),
                                       done.stderr.decode(errors="surrogateescape"))


def output_of(command, what, environment=None):
    """What a program prints; a failure if it fails."""
    done = run(command, environment)
    expect(done.returncode == 0, f"{what}: {shlex.join(command)[:300]}: {done.stderr[-500:]}")
    return done.stdout


# -- calls

def word(name):
    return "*" if name == "*" else quote(name.encode(), safe="")


def values_of(kind, values):
    """Values as bytes, as they lie in memory."""
    if kind == "char":
        if isinstance(values, str):
            values = values.encode()
        return values if isinstance(values, bytes) else numpy.asarray(values, "S1").tobytes()
    return numpy.asarray(values).astype("<" + DTYPES[kind]).tobytes()


class Calls:
    """A list of calls (netcdf4_client.c)."""

    def __init__(self, *lines):
        self.lines = list(lines)
        self.types = {}
        self.twin = self  # the calls for netCDF-C, where it needs others

    def add(self, *words):
        self.lines.append(" ".join(str(w) for w in words))
        return self

    def dim(self, name, length):
        return self.add("dim", word(name), length)

    def var(self, name, kind, *dims):
        self.types[name] = kind
        return self.add("var", word(name), kind, len(dims), *[word(d) for d in dims])

    def att(self, owner, name, kind, values):
        data = values_of(kind, values)
        n = len(data) // numpy.dtype(DTYPES[kind]).itemsize
        return self.add("att", word(owner), word(name), kind, n, data.hex())

    def put(self, name, start, values, call="put"):
        array = numpy.asarray(values)
        return self.add(call, word(name), *start, *array.shape,
                        values_of(self.types[name], array).hex())

    def write(self, path):
        with open(path, "w") as f:
            f.write("\n".join(self.lines) + "\n")
        return path

    def with_storage(self, storage, codec):
        """The calls with the chunks of another file, and filters where there are chunks.

        Forebay does not shuffle bytes of elements that have one."""
        alone = ",".join(s for s in codec.split(",") if s != "shuffle")
        its = Calls()
        for line in self.lines:
            words = line.split()
            its.lines.append(line)
            if words[0] == "var" and words[1] in storage:
                if storage[words[1]] is None:
                    its.add("contiguous", words[1])
                else:
                    its.add("chunk", words[1], *storage[words[1]])
                    if codec:
                        narrow = numpy.dtype(DTYPES[words[2]]).itemsize == 1
                        its.add("filter", words[1], alone if narrow else codec)
        return its


# -- programs

def said_of(paths, text):
    """{path: what the client says of this file} of what it says of all."""
    said = dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", text, re.M))
    return {path: said.get(path, "nothing: " + text[-500:]) for path in paths}


class Programs:
    """Where the programs are, and what they write."""

    def __init__(self, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--launch", required=True)
        parser.add_argument("--client", required=True)
        parser.add_argument("--dir", required=True)
        parser.add_argument("--h5dump", help="compare what it shows, too")
        parser.add_argument("--only", help="cases whose names have this in them")
        parser.add_argument("kinds", nargs="*", help="of files; without them all")
        options = parser.parse_args()
        self.launch, self.client = shlex.split(options.launch), options.client
        self.dir, self.h5dump, self.only = options.dir, options.h5dump, options.only
        self.kinds = options.kinds
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def forebay(self, files, hints=""):
        """Has ranks write files, {path: calls}. Returns what they say, by path."""
        command = self.launch + [self.client]
        for path, calls in files.items():
            command += ["play", calls.write(path + ".calls"), path]
        done = run(command, {"FOREBAY_HINTS": hints, "FOREBAY_REPORT": ""})
        said = said_of(files, done.stderr)
        for path, text in said.items():
            expect("** rank" not in text, f"writing {path}: {text[:1500]}")
        expect(done.returncode in (0, 1), f"writing: {(done.stdout + done.stderr)[-2500:]}")
        return said

    def netcdf(self, files, library="python"):
        command = [sys.executable, "-B", os.path.join(HERE, "netcdf_c.py"), library]
        for path, calls in files.items():
            command += [calls.write(path + ".calls"), path]
        done = run(command)
        expect(done.returncode == 0, f"netCDF-C: {done.stderr[-1500:]}")

    def tell(self, paths):
        """{path: what Forebay reads, or nothing; and what it says of the file}."""
        command = self.launch + [self.client]
        for path in paths:
            command += ["tell", path, path + ".told"]
            if os.path.exists(path + ".told"):
                os.remove(path + ".told")
        done = run(command, {"FOREBAY_REPORT": "1"})
        expect(done.returncode in (0, 1), f"reading: {(done.stdout + done.stderr)[-2500:]}")
        said, results = said_of(paths, done.stderr), {}
        for path in paths:
            text = None
            if os.path.exists(path + ".told"):
                with open(path + ".told") as f:
                    text = f.read()
            if "it cannot be opened" not in said[path]:
                expect("** rank" not in said[path], f"reading {path}: {said[path][:1500]}")
            results[path] = (text, said[path])
        return results

    def end(self):
        for failure in failures[:40]:
            print(failure)
        for reader, n in sorted(counts.items()):
            print(f"{reader}: {n} files")
        print(f"{len(failures)} failures")
        return 1 if failures or not counts else 0


def storage_of(path):
    """Shapes of chunks of variables, by their words in calls; None: contiguous."""
    import h5py
    with h5py.File(path, "r") as f:
        return {word(name.removeprefix("_nc4_non_coord_")): its.chunks
                for name, its in f.items() if isinstance(its, h5py.Dataset)}


# -- views

def view_of_ncdump(path, *options):
    """ncdump's text. _NCProperties tells which library made the file, the first line its name."""
    text = output_of(["ncdump", *options, path], "ncdump")
    lines = [line for line in text.splitlines()[1:] if ":_NCProperties = " not in line]
    return "\n".join(lines)


HIDDEN = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid",
          "_Netcdf4Coordinates"}


def parse_h5dump(lines):
    """Blocks of h5dump as lists: [head, line or block, ...]."""
    current, stack = ["file"], []
    for line in lines:
        text = line.strip()
        if text == "}":
            current = stack.pop()
        elif text.endswith("{") and text.count("{") > text.count("}"):
            block = [text]
            current.append(block)
            stack.append(current)
            current = block
        else:
            current.append(text)
    return current


NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."


def without_length(block):
    if isinstance(block, str):
        block = re.sub(NO_VARIABLE + r" +\d+", NO_VARIABLE, block)
        return re.sub(r"\{ \( \d+ \) / \( H5S_UNLIMITED \) \}", "{ unlimited }", block)
    return [without_length(its) for its in block]


def name_in(head):
    return re.sub(r'^[A-Z]+ "(.*)" \{$', r"\1", head)


def normal_block(block):
    """A block without what twins need not have in common."""
    head, rest, hidden = block[0], [], []
    if head.startswith("DATASET") and NO_VARIABLE in str(block) and "H5S_UNLIMITED" in str(block):
        # netCDF-C leaves an unlimited dimension without a variable at the length 0, and takes its
        # length from variables. Forebay stores the length.
        block = without_length(block)
    heads = [its[0] for its in block if isinstance(its, list)]
    is_scale = any(h.startswith('ATTRIBUTE "CLASS"') for h in heads)
    for its in block[1:]:
        if isinstance(its, str):
            # Where bytes lie, and how many a compressor needed.
            if head.startswith("STORAGE_LAYOUT") and its.startswith(("OFFSET", "SIZE")):
                continue
            its = re.sub(r"(DATASET|GROUP) \d+ ", r"\1 ", its)  # references are addresses
            # HDF5 2 says by an unsigned number which dimension a scale is of, HDF5 1 by a signed.
            its = re.sub(r'H5T_STD_[IU]32LE "dimension"', 'H5T_STD_I32LE "dimension"', its)
            rest.append(its)
            continue
        if its[0].startswith("ALLOCATION_TIME"):
            # Forebay gives contiguous variables their space when they are defined. Readers see
            # nothing of it.
            continue
        name = name_in(its[0])
        if its[0].startswith("ATTRIBUTE") and name == "_NCProperties":
            continue
        if its[0].startswith("ATTRIBUTE") and name in HIDDEN:
            # netCDF-C writes the number of a variable's first dimension to any variable, in some
            # files, and uses that of dimension scales alone.
            if name == "_Netcdf4Dimid" and not is_scale:
                continue
            hidden.append(normal_block(its))
            continue
        rest.append(normal_block(its))
    if head.startswith("FILTERS") and "CHECKSUM FLETCHER32" in rest:
        # netCDF-C 4.9 and later sum what is not compressed yet. Older ones, h5py and Forebay sum
        # what is stored.
        rest.sort(key=lambda its: its == "CHECKSUM FLETCHER32")
    # netCDF-C's own attributes have an order among those of the program that no reader shows.
    return [head, *sorted(hidden, key=str), *rest]


def text_of_block(block, indent=""):
    lines = [indent + block[0]]
    for its in block[1:]:
        if isinstance(its, str):
            lines.append(indent + "  " + its)
        else:
            lines += text_of_block(its, indent + "  ")
    return lines


def view_of_h5dump(program, path):
    """Objects, types, storage, attributes with values, references, in the order of creation."""
    text = output_of([program, "-A", "-p", "-w", "0", "--sort_by=creation_order", path], "h5dump")
    lines = ["the file {", *text.splitlines()[1:]]  # the first line has its name
    return "\n".join(text_of_block(normal_block(parse_h5dump(lines))))


def say_array(array):
    array = numpy.asarray(array)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes() if array.dtype != object else \
        repr(array.tolist()).encode()
    return f"{array.dtype.newbyteorder('=')} {array.shape} {data.hex()}"


def say_att(value):
    if isinstance(value, str):
        return repr(value)
    return say_array(value)


def view_of_netcdf4_python(path):
    import netCDF4
    lines = []
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        f.set_auto_chartostring(False)
        lines.append(f"{f.data_model} {f.disk_format}")
        for name, dim in f.dimensions.items():
            lines.append(f"dim {name} {len(dim)} {dim.isunlimited()}")
        lines += [f"att {n} {say_att(f.getncattr(n))}" for n in f.ncattrs()]
        for name, var in f.variables.items():
            lines.append(f"var {name} {var.dtype} {var.dimensions} {var.shape} {var.chunking()} "
                         f"{var.filters()} {var.endian()}")
            lines += [f"att {n} {say_att(var.getncattr(n))}" for n in var.ncattrs()]
            lines.append(say_array(var[...]))
    return "\n".join(lines)


def view_of_h5netcdf(path):
    import h5netcdf
    lines = []
    with h5netcdf.File(path, "r", decode_vlen_strings=True) as f:
        for name, dim in f.dimensions.items():
            lines.append(f"dim {name} {dim.size} {dim.isunlimited()}")
        lines += [f"att {n} {say_att(v)}" for n, v in f.attrs.items()]
        for name, var in f.variables.items():
            lines.append(f"var {name} {var.dtype} {var.dimensions} {var.shape} {var.chunks}")
            lines += [f"att {n} {say_att(v)}" for n, v in var.attrs.items()]
            lines.append(say_array(var[...]))
    return "\n".join(lines)


def same_in_xarray(one, two, engine):
    """Whether xarray has the same of both, raw and decoded."""
    import xarray
    for decode in (False, True):
        with xarray.open_dataset(one, engine=engine, decode_cf=decode) as a, \
                xarray.open_dataset(two, engine=engine, decode_cf=decode) as b:
            a.load()
            b.load()
            if not a.identical(b) or list(a.variables) != list(b.variables) or \
                    list(a.attrs) != list(b.attrs) or repr(a) != repr(b):
                return False
    return True


def is_refused_by_scipy(path):
    from scipy.io import netcdf_file
    try:
        with netcdf_file(path, "r", mmap=False):
            return False
    except TypeError as error:
        return "is not a valid NetCDF 3 file" in str(error)
