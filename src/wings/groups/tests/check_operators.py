#!/usr/bin/env python3
"""Reads what adios2's operators made (adios2_operators.py): by the command, by the C interface on several ranks, after
conversion; and damaged copies, which must not crash.

  check_operators.py --command FOREBAY --dir DIR [--reader read_groups --launch MPIEXEC]
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

try:
    import numpy as np
    from adios2_operators import LONG, STEPS, block_of, variables
except ImportError:
    print("skipped: numpy is not here")
    sys.exit(77)

# The largest error of each; of others none.
BOUNDS = {"zfp_accuracy": 1e-3, "zfp_flat": 0.01, "zfp_rate": 0.01, "zfp_precision": 1e-3, "zfp_all": 8, "zfp_five": 1e-9,
          "zfp_complex": 1e-6}


def run(command, *arguments, launch=()):
    return subprocess.run([*launch, command, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def dump(command, path, *names):
    done = run(command, "dump", "--json", path, *names)
    assert done.returncode == 0, done.stderr
    return {v["name"]: v for v in json.loads(done.stdout)["variables"]}, done.stderr


def check_values(command, path, without):
    there, said = dump(command, path)
    compared = 0
    for name, _, _, kind, extents in variables():
        if name.startswith(without):
            assert name not in there and f"{name} (values behind ADIOS's operator bzip2" in said, said
            continue
        found = there.pop(name)
        got = np.array(found["values"], "f8").reshape(found["shape"])
        if kind == "c16":
            got = got[..., 0] + 1j * got[..., 1]
        expected = np.stack([np.concatenate([block_of(kind, extents, s, b) for b in range(2)]) for s in range(STEPS)])
        assert got.shape == expected.shape, (name, got.shape)
        error = np.max(np.abs(got - expected))
        assert error <= BOUNDS.get(name, 0), f"{name}: {error}"
        compared += got.size
    long = np.array(there.pop("long")["values"])
    assert np.array_equal(long, LONG), long
    assert not there, list(there)
    return compared + long.size


def check_damaged(command, path, rng):
    """Some copies are refused, others have other values; none crashes."""
    copy = path.with_suffix(".damaged.bp")
    whole = (path / "data.0").read_bytes()
    refused = 0
    for n in range(10):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(path, copy)
        spoiled = bytearray(whole)
        for _ in range(rng.choice((3, 40, 4000))):
            spoiled[rng.randrange(64, len(spoiled))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        if n % 5 == 4:
            del spoiled[rng.randrange(64, len(spoiled)):]
        (copy / "data.0").write_bytes(spoiled)
        for what in (("dump", copy), ("check", "--decode", copy)):
            done = run(command, *what)
            assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
            refused += done.returncode != 0
            assert "memory" not in done.stderr, done.stderr
    assert refused > 5, refused
    return refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--reader")
    parser.add_argument("--launch", default="")
    options = parser.parse_args()
    command = options.command
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    with tarfile.open(Path(__file__).with_name("adios2_operators.tar.xz")) as archive:
        archive.extractall(options.dir, filter="data") if hasattr(tarfile, "data_filter") else \
            archive.extractall(options.dir)
    path = options.dir / "adios2_operators.bp"
    listed = run(command, "ls", path)
    without = "bzip2" if "libbz2" in listed.stderr + listed.stdout else "nothing"
    print(f"{check_values(command, path, without)} values behind operators; left out: {without}")

    done = run(command, "check", "--decode", "--json", path)
    found = json.loads(done.stdout)["files"][0]
    assert done.returncode == 0 and not found["damages"], found
    assert without == "bzip2" or not any("not looked at" in note for note in found["notes"]), found["notes"]
    done = run(command, "find", "--values", "lz4_bitshuffle > 562", path)
    assert done.returncode == 0 and "step 4" in done.stdout, done.stdout + done.stderr

    copy = options.dir / "copy.nc"
    done = run(command, "convert", "--skip", path, copy, launch=options.launch.split())
    assert done.returncode == 0, done.stderr
    done = run(command, "diff", path, copy)
    assert done.returncode == 0, done.stdout + done.stderr
    print("found by values, checked, and converted by several ranks: the same")

    if options.reader:
        for hints in ("", "buffer_limit=64k;window_size=4k;transport=aggregated;ranks_per_node=2"):
            done = subprocess.run([*options.launch.split(), options.reader, str(path)], capture_output=True, text=True,
                                  env=dict(os.environ, FOREBAY_HINTS=hints), timeout=300)
            assert done.returncode == 0, done.stderr
            # In two rounds, on each rank.
            assert int(done.stdout.split()[0]) >= 2 * (33 * STEPS + 1), done.stdout
        print("ranks together: as alone")
    print(f"damaged copies: {check_damaged(command, path, random.Random(7))} of 20 refused, none crashes")


if __name__ == "__main__":
    main()
