"""Compares quantised variables, bit for bit, with what netCDF-C makes of the same values.

Usage: run_quantised.py --launch "MPIEXEC ..." --forebay COMMAND --dir DIRECTORY

netCDF4-python's netCDF-C must be of version 4.10 or later (until then the three changed NaNs, and
BitGroom negative zeros). Forebay converts the same values to chunks with the codec, and
back: netCDF4-python reads the result. Where nothing can be compared the test is skipped (77).
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys

try:
    import netCDF4
    import numpy as np
except ImportError:
    print("no netCDF4")
    sys.exit(77)

MODES = {"bitgroom": ("BitGroom", "_QuantizeBitGroomNumberOfSignificantDigits", "quantization_nsd"),
         "granularbr": ("GranularBitRound", "_QuantizeGranularBitRoundNumberOfSignificantDigits",
                        "quantization_nsd"),
         "bitround": ("BitRound", "_QuantizeBitRoundNumberOfSignificantBits", "quantization_nsb")}
FILL = 9.969209968386869e+36
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def fields(dtype):
    """One-dimensional arrays by name. None has infinities, of which BitGroom makes NaNs in netCDF-C."""
    random = np.random.default_rng(12)
    word, n = "u%d" % dtype.itemsize, 20011
    most = np.finfo(dtype).max / 4  # nothing is rounded to infinity
    bits = random.integers(0, np.iinfo(word).max, n, dtype=word, endpoint=True).view(dtype)
    near = [10.0**k for k in range(-30, 31)] + [2.0**k for k in range(-99, 99)]
    steps = (np.array(near, dtype).view(word)[:, None] + np.arange(-20, 20).astype(word)).view(dtype)
    waves = 250 + 40 * np.sin(np.arange(n) / 97) + random.normal(0, 0.01, n)
    waves[::53], waves[1::59], waves[2::61], waves[3::67] = FILL, 0, -0.0, np.nan
    all = {"waves": waves, "normal": random.normal(0, 1, n),
           "sizes": 10**random.uniform(-30, 30, n) * random.choice([-1, 1], n),
           "whole": np.arange(-n // 2, n // 2), "steps": steps.ravel(), "few": np.array([1.1, 999.9]),
           "bits": np.where(np.abs(bits) < most, bits, dtype.type(7))}
    try:  # real data: the heights of a part of the Earth
        from matplotlib import cbook
        all["heights"] = cbook.get_sample_data("topobathy.npz")["topo"].ravel()[:n] * (1 / 3)
    except Exception as error:
        print(f"without heights: {error}")
    with np.errstate(over="ignore", invalid="ignore"):
        return {name: values.astype(dtype) for name, values in all.items()}


def write(path, values, form, mode=None, number=None):
    with netCDF4.Dataset(path, "w", format=form) as out:
        out.set_fill_off()
        for name, array in values.items():
            out.createDimension("n" + name, array.size)
            more = {"quantize_mode": mode, "significant_digits": number, "zlib": True} if mode else {}
            v = out.createVariable(name, array.dtype, ("n" + name,), **more)
            v.set_auto_maskandscale(False)
            v[:] = array


def read(path, names):
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        return ({name: f[name][:] for name in names},
                {name: {a: f[name].getncattr(a) for a in f[name].ncattrs()} for name in names})


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: {done.stdout[-2000:]}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--launch", "--forebay", "--dir"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    version = tuple(int(n) for n in netCDF4.__netcdf4libversion__.split("-")[0].split(".")[:2])
    if version < (4, 10) or not netCDF4.__has_quantization_support__:
        print(f"netCDF-C {netCDF4.__netcdf4libversion__} quantises otherwise, or not at all")
        return 77
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    path = {name: os.path.join(options.dir, name + ".nc")
            for name in ("plain", "foreign", "chunked", "back")}
    compared = changed = 0
    for dtype in (np.dtype("f4"), np.dtype("f8")):
        values = fields(dtype)
        write(path["plain"], values, "NETCDF3_64BIT_DATA")
        bits = f"u{dtype.itemsize}"
        numbers = {"bitround": (1, 7, 12, 23) if dtype == "f4" else (1, 7, 23, 30, 52)}
        for codec, (mode, attribute, of_cf) in MODES.items():
            for number in numbers.get(codec, (1, 2, 3, 6) if dtype == "f4" else (1, 3, 7, 15)):
                write(path["foreign"], values, "NETCDF4", mode, number)
                said = f"{codec}:{'bits' if codec == 'bitround' else 'digits'}={number}"
                convert = shlex.split(options.launch) + [options.forebay, "convert", "--force"]
                run(convert + [path["plain"], path["chunked"], "-m",
                               f"layout=chunked;codec={said},shuffle,zstd:1"])
                run(convert + [path["chunked"], path["back"], "-m", "layout=canonical"])
                wanted, _ = read(path["foreign"], values)
                got, attributes = read(path["back"], values)
                for name in values:
                    # Forebay makes no value a missing one.
                    a = np.where(wanted[name] == FILL, values[name], wanted[name]).view(bits)
                    b = got[name].astype(dtype).view(bits)
                    wrong = np.nonzero(a != b)[0]
                    first = [(values[name][i], hex(a[i]), hex(b[i])) for i in wrong[:2]]
                    expect(a.size == b.size and not wrong.size, f"{said} of {name}: {len(wrong)} "
                           f"values are others than netCDF-C's: {first}")
                    compared += a.size
                    changed += np.count_nonzero(a != values[name].view(bits))
                    for att in (attribute, of_cf):
                        its = attributes[name].get(att)
                        expect(its == number and its.dtype == "i4", f"{name}:{att} is {its}")
    with netCDF4.Dataset(path["foreign"]) as f:  # the name that netCDF-C itself gives
        expect(f["waves"].quantization() is not None, "netCDF-C does not know its own file")
    for line in failures[:20]:
        print(line)
    print(f"netCDF-C {netCDF4.__netcdf4libversion__}: {compared} values compared, {changed} of them "
          f"quantised, {len(failures)} failures")
    return 1 if failures or not changed else 0


if __name__ == "__main__":
    sys.exit(main())
