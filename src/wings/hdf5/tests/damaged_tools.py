"""Damages HDF5 files and gives them to the forebay command: it may refuse them, but not crash, and it must end.

Usage: damaged_tools.py FOREBAY FOLDER ROUNDS SEED

Of each file some bytes are changed, words become huge, or the end is cut; checksums of HDF5's are not made right.
A file that made the command crash stays in FOLDER.
"""
import os
import random
import subprocess
import sys

import h5py
import numpy as np

COMMANDS = (["info"], ["check"], ["check", "--decode"])


def make_files(folder):
    paths = []
    for name, versions in (("old.h5", "earliest"), ("new.h5", ("v110", "v110"))):
        paths.append(os.path.join(folder, name))
        with h5py.File(paths[-1], "w", libver=versions) as f:
            f.create_dataset("chunks", data=np.arange(300.).reshape(50, 6), chunks=(2, 3), maxshape=(None, 6),
                             compression="gzip", shuffle=True)
            f.create_dataset("plain", data=np.arange(30, dtype=">i4").reshape(5, 6))
            f.create_dataset("packed", data=np.arange(10, dtype="i4"), chunks=(5,), scaleoffset=0)
            f["strings"] = np.array(["a", "bb"], dtype=h5py.string_dtype())
            for i in range(12):  # so many that they are not in the header
                f.attrs[f"a{i}"] = np.arange(i + 1)
            for i in range(20):
                f.create_group("many").create_dataset("x", data=i) if i == 0 else f["many"].create_dataset(f"d{i}", data=i)
            f["x"] = np.arange(6.)
            f["x"].make_scale("x")
            f["chunks"].dims[1].attach_scale(f["x"])
    return paths


def damage(data, chance):
    data = bytearray(data)
    kind = chance.randrange(8)
    if kind == 0:
        return data[:chance.randrange(8, len(data))]
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(8, len(data) - 8)
        if kind < 3:
            data[at:at + 8] = chance.choice((b"\xff" * 8, bytes(8), (2**62).to_bytes(8, "little"), (2**31).to_bytes(8, "little")))
        else:
            data[at] = chance.randrange(256)
    return data


def main():
    forebay, folder = sys.argv[1:3]
    rounds, seed = map(int, sys.argv[3:])
    os.makedirs(folder, exist_ok=True)
    whole = [open(path, "rb").read() for path in make_files(folder)]
    for path in make_files(folder):
        for command in COMMANDS:
            subprocess.run([forebay, *command, path], check=True, stdout=subprocess.DEVNULL)
    chance = random.Random(seed)
    told = {"refused": 0, "taken": 0, "of a crash": 0}
    failures = 0
    for number in range(rounds):
        path = os.path.join(folder, f"bad.{number}.h5")
        with open(path, "wb") as f:
            f.write(damage(whole[number % len(whole)], chance))
        bad = False
        for command in COMMANDS:
            done = subprocess.run([forebay, *command, path], capture_output=True, text=True, timeout=120, errors="replace",
                                  check=False)
            said = done.stdout + done.stderr
            if done.returncode not in (0, 1, 2) or (done.returncode != 0 and path not in said):
                print(f"{path}: {' '.join(command)} ended with {done.returncode}: {said[-300:]}")
                bad = True
            told["taken" if done.returncode == 0 else "refused"] += 1
            if "HDF5 crashed" in said or "did not get to the end" in said:
                told["of a crash"] += 1
        failures += bad
        if not bad:
            os.remove(path)
    print(", ".join(f"{n} {what}" for what, n in told.items()), f"of {rounds} files, {failures} failures")
    return 1 if failures or told["refused"] == 0 or told["taken"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
