"""Has foreign readers open files with chunked variables.

Usage: run_chunked.py --launch "MPIEXEC ..." --writer PROGRAM --dir DIRECTORY [--netcdf PROGRAM]

The writer makes one file in each format, and one whose header has outgrown its room. Then ncdump
shows the anchors, netCDF-C (check_netcdf) and scipy read what is not chunked, value for value, and
ncvalidator accepts the header and the fixed variables (it wants a file to end with its last
variable, so it gets a copy that does). Chunks are read by chunked_file.py, which knows the grammar
in docs/formats.md and nothing else of Forebay.
"""
import argparse
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chunked_file import ChunkedFile, ZSTD  # noqa: E402

NT, NY, NX, WRITTEN_ROWS = 3, 37, 53, 20
TEMPERATURE = [(i * 7) % 1000 - 200 if i < ((NT - 1) * NY + WRITTEN_ROWS) * NX else -999
               for i in range(NT * NY * NX)]
EXPECTED = {
    "T": TEMPERATURE,
    "P": [i * 31 % 997 / 8 for i in range(NY * NX)],
    "step": [100, 101, 102],
    "F": [i % 50 + 0.5 for i in range(NY * NX)],
}
MASK, LATER = list(range(NY * NX)), [3 * i for i in range(NX)]
FILLS = {"T": -999.0, "P": 9.969209968386869e+36, "F": 9.969209968386869e+36, "step": -32767}

failures, done = [], []


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120)


def expect(holds, what):
    if not holds:
        failures.append(what)


def native(code, values):
    return struct.pack(f"<{len(values)}{code}", *values).hex()


def expectation(file, grown):
    """What check_netcdf is to find: the header as it is stored, and all values."""
    header, lines = file.header, [f"format {file.header.version}"]
    for name, length in header.dims:
        lines.append(f"dim {name} {length or header.numrecs} {'fixed' if length else 'unlimited'}")
    codes = {1: "byte", 2: "char", 3: "short", 4: "int", 5: "float", 6: "double"}

    def att(owner, name, kind, value):
        text = value.hex() if kind == 2 else native("bshifd"[kind - 1], value)
        lines.append(f"att {owner} {name} {codes[kind]} {len(value)} {text}")
    for name, (kind, value) in header.atts.items():
        att("*", name, kind, value)
    for var in header.vars:
        dims = "".join(f" {d}" for d in var["dims"])
        lines.append(f"var {var['name']} {codes[var['type']]} {len(var['dims'])}{dims}")
        for name, (kind, value) in var["atts"].items():
            att(var["name"], name, kind, value)
        plain = {"m": MASK, "later": LATER}.get(var["name"])
        values = [FILLS[var["name"]]] if plain is None else plain
        lines.append(f"data {var['name']} {native('bshifd'[var['type'] - 1], values)}")
    return "\n".join(lines) + "\n"


def check_anchors(path, file, grown):
    shown = run(["ncdump", "-h", path])
    expect(shown.returncode == 0, f"ncdump -h {path}: {shown.stdout[-300:]}")
    for words in (r"float T ;", r"T:units = \"K\" ;", r"T:__chunk_dims = 0, 1, 2 ;",
                  r"T:__chunk_shape = 2, 16, 53 ;", r"T:__filters = \"shuffle,deflate:6\" ;",
                  r"P:__chunk_dims = 1, 2 ;", r"P:__filters = \"bitshuffle,zstd:3\" ;",
                  r"step:__chunk_dims = 0 ;", r"step:__filters = \"none\" ;",
                  r"int m\(y, x\) ;", r"t = UNLIMITED ; // \(3 currently\)"):
        expect(re.search(words, shown.stdout), f"ncdump -h {path} does not show {words}")
    expect(run(["ncdump", path]).returncode == 0, f"ncdump {path} fails")


def check_scipy(path, grown):
    try:
        from scipy.io import netcdf_file
    except ImportError:
        return False
    with netcdf_file(path, "r", mmap=False) as f:
        expect(f.variables["m"].data.tolist() == [MASK[y * NX:(y + 1) * NX] for y in range(NY)],
               f"scipy reads other values of m in {path}")
        if grown:
            expect(f.variables["later"].data.tolist() == LATER, f"scipy: later in {path}")
        expect(f.variables["T"].shape == () and f.variables["T"].units == b"K",
               f"scipy does not see T as a scalar with its attributes in {path}")
    return True


def check_validator(path, file):
    """The file up to the end of its last fixed variable is one that ncvalidator accepts."""
    widths = {3: 2, 4: 4, 5: 4, 6: 8}
    end = 0
    for var in file.header.vars:
        n = 1
        for d in var["dims"]:
            n *= file.header.dims[d][1]
        end = max(end, var["begin"] + -(-n * widths[var["type"]] // 4) * 4)
    cut = path + ".fixed"
    with open(cut, "wb") as f:
        f.write(file.data[:end])
    shown = run(["ncvalidator", cut])
    expect(shown.returncode == 0, f"ncvalidator {cut}: {shown.stdout}")


def check_chunks(path, file, grown):
    for name, wanted in EXPECTED.items():
        if name == "P" and not ZSTD:
            continue
        got = list(file.read(name))
        expect(len(got) == len(wanted), f"{name} in {path} has {len(got)} elements")
        wrong = [i for i, (a, b) in enumerate(zip(got, wanted)) if a != b]
        expect(not wrong, f"{name} in {path} differs at {wrong[:3]}")
    expect((file.shift > 0) == grown, f"{path} has the shift {file.shift}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--netcdf")
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    for version, grown in (("1", False), ("2", False), ("5", False), ("2", True), ("5", True)):
        path = os.path.join(options.dir, f"cdf{version}{'grown' if grown else ''}.nc")
        written = run(shlex.split(options.launch) +
                      [options.writer, path, version] + (["grown"] if grown else []))
        if written.returncode != 0:
            failures.append(f"writing {path}: {written.stdout[-2000:]}")
            continue
        file = ChunkedFile(path)
        check_chunks(path, file, grown)
        done.append("chunked_file.py")
        if shutil.which("ncdump"):
            check_anchors(path, file, grown)
            done.append("ncdump")
        if options.netcdf:
            with open(path + ".expect", "w") as f:
                f.write(expectation(file, grown))
            shown = run([options.netcdf, path, path + ".expect"])
            expect(shown.returncode == 0, f"netCDF-C on {path}: {shown.stdout[-600:]}")
            done.append("netCDF-C")
        if version != "5" and check_scipy(path, grown):
            done.append("scipy")
        if shutil.which("ncvalidator"):
            check_validator(path, file)
            done.append("ncvalidator")
    for line in failures[:30]:
        print(line)
    for name in ("chunked_file.py", "netCDF-C", "ncdump", "ncvalidator", "scipy"):
        print(f"{name}: {done.count(name) or 'no'} files read")
    return 1 if failures or not done else 0


if __name__ == "__main__":
    sys.exit(main())
