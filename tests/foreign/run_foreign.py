"""Has foreign readers open files that Forebay wrote, and compares values with what was written.

Usage: run_foreign.py --launch "MPIEXEC ..." --model PROGRAM --dir DIRECTORY [--netcdf PROGRAM]
                      [--seed S] [--rounds N]

The model test writes the files and says what each holds. Readers: netCDF-C through check_netcdf,
ncdump (must accept every file), PnetCDF's ncvalidator, and scipy.io.netcdf_file for CDF-1 and
CDF-2. A reader that is not installed is named as not run, and at least one must have read.
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))


def run(command, timeout=200):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=timeout)


def scipy_reader():
    """scipy's reader, from this Python or from the system's."""
    try:
        from scipy.io import netcdf_file
        return netcdf_file
    except ImportError:
        return None


def read_expectation(path):
    variables, current = {}, None
    for line in open(path):
        words = line.split()
        if words[0] == "format":
            version = int(words[1])
        elif words[0] == "var":
            current = words[1]
            variables[current] = dict(type=words[2], data="")
        elif words[0] == "data":
            variables[words[1]]["data"] = "" if words[2] == "." else words[2]
    return version, variables


def check_scipy(netcdf_file, path, expectation):
    """Differences between scipy's values and the expected ones."""
    version, variables = read_expectation(expectation)
    if version == 5:
        return None
    found = []
    with netcdf_file(path, "r", mmap=False) as f:
        for name, var in variables.items():
            # Native little-endian bytes, as in the expectation.
            array = f.variables[name].data
            values = array.astype(array.dtype.newbyteorder("<")).tobytes()
            if len(values) * 2 != len(var["data"]):
                found.append(f"{name} has {len(values)} bytes, expected {len(var['data']) // 2}")
                continue
            text = values.hex()
            for i, (got, want) in enumerate(zip(text, var["data"])):
                if want not in ("-", got):
                    found.append(f"{name} differs at byte {i // 2}")
                    break
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--netcdf")
    parser.add_argument("--seed", default="21")
    parser.add_argument("--rounds", default="30")
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    done = run(shlex.split(options.launch) +
               [options.model, "--dir", options.dir, "--keep", "--seed", options.seed, "--rounds",
                options.rounds])
    if done.returncode != 0:
        print(done.stdout[-3000:])
        return 1
    files = sorted(os.path.join(options.dir, n) for n in os.listdir(options.dir)
                   if n.endswith(".nc"))
    failures, counts = [], {}
    netcdf_file = scipy_reader()
    for path in files:
        expectation = path + ".expect"
        readers = {}
        if options.netcdf:
            readers["netCDF-C"] = [options.netcdf, path, expectation]
        for tool in ("ncdump", "ncvalidator"):
            if shutil.which(tool):
                readers[tool] = [tool, path]
        for name, command in readers.items():
            done = run(command)
            counts[name] = counts.get(name, 0) + 1
            if done.returncode != 0:
                failures.append(f"{name} on {path}: {done.stdout[-600:]}")
        if netcdf_file:
            differences = check_scipy(netcdf_file, path, expectation)
            if differences is not None:
                counts["scipy"] = counts.get("scipy", 0) + 1
                failures += [f"scipy on {path}: {d}" for d in differences]
    for line in failures[:30]:
        print(line)
    for name in ("netCDF-C", "ncdump", "ncvalidator", "scipy"):
        print(f"{name}: {counts[name]} files read" if name in counts else f"{name}: not run")
    print(f"{len(files)} files, {len(failures)} failures")
    return 1 if failures or not files or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
