#!/usr/bin/env python3
"""A group is written by each method of docs/groups.md, and by several at once. Foreign readers find the same."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

try:
    import adios2
    import h5py
    import netCDF4
    import numpy as np
    from scipy.io import netcdf_file
except ImportError as missing:
    print(f"skipped: {missing} (adios2, h5py, netCDF4, scipy and numpy are needed)")
    sys.exit(77)

GROUP = """
  <group name="run" language="C">
    <var name="nx" type="int32"/> <var name="x0" type="int32"/> <var name="total" type="int32"/>
    <var name="title" type="string"/>
    <global dimensions="total" offsets="x0"> <var name="grid" type="float" dimensions="nx" steps="once"/> </global>
    <global dimensions="total,8" offsets="x0,0">
      <var name="T" type="double" dimensions="nx,8"/> <var name="U" type="double" dimensions="nx,8"/>
    </global>
    <attribute name="T/units" value="K"/>
  </group>
"""
STEPS = 6
SMALL = 'buffer_limit="4k"'  # steps of each rank are larger, so that what goes out goes out in rounds


class Runs:
    def __init__(self, options):
        self.launch, self.program = options.launch.split(), options.program
        self.ranks = int(self.launch[-1])
        self.folder = Path(options.dir)
        self.total = sum(0 if self.ranks > 2 and r == 1 else 40 + 3 * r for r in range(self.ranks))

    def run(self, name, *methods, mode="w", first=0, steps=STEPS, end="", fails=False, hints=""):
        """Returns what the program said. Several methods are several elements."""
        xml = self.folder / "run.xml"
        elements = "\n".join(f'<method group="run" {m}/>' for m in methods)
        xml.write_text(f"<forebay>{GROUP}{elements}</forebay>")
        done = subprocess.run(
            [*self.launch, self.program, xml, name, mode, str(first), str(steps), *([end] if end else [])],
            cwd=self.folder, capture_output=True, text=True, timeout=120,
            env=dict(os.environ, FOREBAY_REPORT="1", FOREBAY_HINTS=hints))
        left = end == "leave"  # mpiexec takes it for a failure
        assert (done.returncode != 0) == (fails or left), f"{methods}: {done.returncode} {done.stderr}"
        return done.stderr

    def refused(self, name, *methods, why, mode="w"):
        """All ranks get the error, and nobody waits for another one."""
        said = self.run(name, *methods, mode=mode, end="fail")
        assert why in said, f"{methods}: {said}, not {why}"
        # Others may have the code alone.
        assert said.count(": forebay_open(") == self.ranks or ": forebay_init(" in said, said

    def expected(self, steps=STEPS):
        values = np.arange(self.total * 8, dtype="f8").reshape(self.total, 8)
        return np.stack([1e6 * step + values for step in range(steps)])

    def same(self, what, temperature, u, grid, steps=STEPS):
        whole = self.expected(steps)
        for name, got, wanted in (("T", temperature, whole), ("U", u, -whole),
                                  ("grid", grid, np.arange(self.total, dtype="f4"))):
            got = np.asarray(got)
            assert got.shape == wanted.shape, f"{what}: {name} {got.shape}, not {wanted.shape}"
            assert np.array_equal(got, wanted), f"{what}: {name} has other values"

    def check_bp(self, name, steps=STEPS):
        with adios2.FileReader(str(self.folder / name)) as file:
            assert file.num_steps() == steps, f"{name}: {file.num_steps()} steps"
            assert file.read_attribute("T/units") == "K"
            each = {v: [file.read(v, step_selection=[s, 1]) for s in range(steps)] for v in ("T", "U")}
            each = {v: np.stack([np.asarray(a).reshape(self.total, 8) for a in each[v]]) for v in each}
            self.same(name, each["T"], each["U"], file.read("grid", step_selection=[0, 1]), steps)
            assert file.available_variables()["grid"]["AvailableStepsCount"] == "1", f"{name}: grid in every step"
            assert file.read("title", step_selection=[steps - 1, 1]) == f"step {steps - 1}"

    def check_hdf5(self, name, steps=STEPS):
        path = self.folder / name
        with h5py.File(path) as file:
            self.same(name, file["T"], file["U"], file["grid"], steps)
            assert file["T"].attrs["units"] in ("K", b"K")
        with netCDF4.Dataset(path) as file:
            assert file.data_model.startswith("NETCDF4") and file.dimensions["step"].isunlimited()
            self.same(name, file["T"][:], file["U"][:], file["grid"][:], steps)

    def check_classic(self, name, steps=STEPS):
        with netcdf_file(self.folder / name, mmap=False) as file:
            self.same(name, *(file.variables[v][:] for v in ("T", "U", "grid")), steps)

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def files(self):
        return sorted(p.name for p in self.folder.iterdir() if p.name != "run.xml")


def data_files(folder):
    return len(list(folder.glob("data.*")))


def each_method(runs):
    bp = {  # the method, and how many data files there are at least; parts of steps may be in more
        'method="MPI"': 1, 'method="mpi_lustre"': 1, 'method="MPI_CIO"': 1, 'transport="independent"': 1,
        'method="POSIX"': runs.ranks, 'method="MPI_AGGREGATE"': 1,
        'transport="collective" subfiling="ranks" subfile_ranks="2"': (runs.ranks + 1) // 2,
        'method="MPI" transport="collective"': 1}
    for number, (method, files) in enumerate(bp.items()):
        for limit in ("", SMALL):
            if limit and number % 2 == 1:
                continue
            runs.clear()
            said = runs.run("run.bp", f"{method} {limit}")
            runs.check_bp("run.bp")
            assert runs.files() == ["run.bp"], runs.files()
            count = data_files(runs.folder / "run.bp")
            assert count == files if not limit else count >= files, f"{method}: {count} data files"
            by_mpi = "POSIX" not in method and "AGGREGATE" not in method
            assert ("MPI-IO writes the groups" in said) == by_mpi, said
            if not limit:
                continue
            runs.run("run.bp", f"{method} {limit}", mode="a", first=STEPS, steps=2)
            runs.check_bp("run.bp", STEPS + 2)
            runs.run("run.bp", f"{method} {limit}", mode="r", steps=STEPS + 2)
    for transport in ("independent", "collective"):
        runs.clear()
        for end in ("open", "leave"):
            runs.run("left.bp", f'transport="{transport}"', end=end)
            runs.check_bp("left.bp")
        runs.run("run.bp", f'bp_version="3" transport="{transport}"')
        assert (runs.folder / "run.bp").is_file()
        runs.check_bp("run.bp")

    for name, method in (("run.h5", ""), ("run.hdf5", 'codec="shuffle,deflate:1" layout="chunked"'),
                         ("run.nc4", SMALL), ("run.bp", 'method="PHDF5"'), ("run.nc", 'method="NC4"'),
                         ("run.h5", f'method="PHDF5" transport="collective" {SMALL}')):
        runs.clear()
        runs.run(name, method)
        runs.check_hdf5(name)
        assert runs.files() == [name], runs.files()
        runs.run(name, method, mode="a", first=STEPS, steps=2)
        runs.check_hdf5(name, STEPS + 2)
        runs.run(name, method, mode="r", steps=STEPS + 2)
    # Each step is there when it has ended.
    runs.run("left.h5", "", end="leave")
    runs.check_hdf5("left.h5")
    runs.run("called.bp", end="call")
    runs.check_hdf5("called.bp")

    for method in ("", 'layout="canonical"', 'transport="independent"', f'transport="collective" {SMALL}'):
        runs.clear()
        runs.run("run.nc", method)
        runs.check_classic("run.nc")
    runs.clear()
    runs.run("run.bp", 'method="NULL"')
    assert runs.files() == [], runs.files()
    return len(bp) + 9


def several_methods(runs):
    runs.clear()
    methods = ['method="MPI"', 'method="PHDF5"', 'layout="canonical"', 'method="NULL"',
               'method="POSIX" base_path="fast"']
    (runs.folder / "fast").mkdir()
    runs.run("run.bp", *methods)
    assert runs.files() == ["fast", "run.bp", "run.h5", "run.nc"], runs.files()

    def check(steps):
        runs.check_bp("run.bp", steps)
        runs.check_bp("fast/run.bp", steps)
        runs.check_hdf5("run.h5", steps)
        runs.check_classic("run.nc", steps)
    check(STEPS)
    assert data_files(runs.folder / "fast/run.bp") == runs.ranks and data_files(runs.folder / "run.bp") == 1
    # The order of elements says which is read, and not what files are called.
    runs.run("run.bp", *methods, mode="a", first=STEPS, steps=2)
    check(STEPS + 2)
    runs.run("run.bp", *methods, mode="r", steps=STEPS + 2)
    shutil.rmtree(runs.folder / "run.bp")
    runs.run("run.bp", *methods[1:], mode="r", steps=STEPS + 2)
    # A name without an ending is BP's, and others get theirs.
    runs.run("plain", *methods[:3])
    runs.check_bp("plain")
    runs.check_hdf5("plain.h5")
    runs.check_classic("plain.nc")
    # One file that cannot be made, and files that have different numbers of steps.
    runs.run("run.h5", 'method="PHDF5"', mode="a", first=STEPS + 2, steps=1)
    runs.refused("run.nc", *methods[1:3], mode="a", why="run.nc has 8 steps, and ")
    runs.check_classic("run.nc", STEPS + 2)
    runs.refused("new.bp", 'method="MPI"', 'method="PHDF5" base_path="nowhere"', why="nowhere")


def refusals(runs):
    runs.clear()
    for methods, why in (
            (['method="VAR_MERGE"'], "ADIOS's method VAR_MERGE has nothing like it here"),
            (['method="DATASPACES"'], "hands data to another program"),
            (['method="MPI_AGREGATE"'], 'did you mean "MPI_AGGREGATE"?'),
            (['method="MPI"', 'method="MPI_CIO"'], "two methods of group run would write"),
            (['method="MPI" stage="async"'], "at once (transport=independent, stage=async)"),
            (['transport="collective" stage="burst"'], "at once (transport=collective, stage=burst)"),
            (['method="PHDF5" layout="process-group"'], ", method=PHDF5: BP files of groups have no container"),
            (['base-path="fast"'], 'did you mean "base_path"?')):
        runs.refused("run.bp", *methods, why=why)
        assert runs.files() == [], f"{methods}: {runs.files()}"
    runs.refused("run.zarr", "", why="groups are not written in the format of that name")
    # A general rule that cannot be followed is a line of the report.
    for rule, named in (("transport=collective", 'stage="async"'), ("stage=async", 'transport="collective"')):
        said = runs.run("run.bp", named, hints=rule)
        assert "FOREBAY_HINTS did not reach this file: MPI-IO writes groups at once" in said, said
        runs.check_bp("run.bp")


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "dir", "launch"):
        parser.add_argument("--" + name, required=True)
    runs = Runs(parser.parse_args())
    count = each_method(runs)
    several_methods(runs)
    refusals(runs)
    # The comparison can fail.
    runs.clear()
    runs.run("run.h5", "")
    with h5py.File(runs.folder / "run.h5", "r+") as file:
        file["T"][3, 2, 1] += 1
    try:
        runs.check_hdf5("run.h5")
    except AssertionError:
        print(f"{count} methods on {runs.ranks} ranks: the same values")
        return
    raise AssertionError("a changed value was not found")


if __name__ == "__main__":
    main()
