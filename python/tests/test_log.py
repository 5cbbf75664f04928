"""HDF5 files in the log layout: what a program wrote through the connector reads as what it writes without.

The program (src/wings/hdf5/tests/connector/log_program.c) and the connector are those of the build with MPI, which
FOREBAY_RELEASE_BUILD names, or build/release.
"""

import os
import pickle
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray

import forebay

BUILD = Path(os.environ.get("FOREBAY_RELEASE_BUILD") or Path(__file__).resolve().parents[2] / "build" / "release")
PROGRAM, PLUGINS = BUILD / "src/wings/hdf5/tests/connector/forebay_vol_log_program", BUILD / "lib"

pytestmark = [
    pytest.mark.skipif(not forebay.has_hdf5, reason="this build has no HDF5"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="there is no build with MPI and a parallel HDF5 to write with"),
]

HINTS = {"one file": "layout=log", "subfiles": "layout=log;subfiling=ranks;subfile_ranks=2"}


def write(path, hints=None, ranks=3):
    environment = dict(os.environ)
    if hints:
        environment["HDF5_PLUGIN_PATH"] = str(PLUGINS)
        environment["HDF5_VOL_CONNECTOR"] = f"forebay under_vol=0;under_info={{}};hints={{{hints}}}"
    launch = ["mpiexec", "--oversubscribe", "-n", str(ranks)]
    done = subprocess.run([*launch, PROGRAM, path], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return write(tmp_path_factory.mktemp("native") / "native.h5")


@pytest.fixture(scope="module", params=list(HINTS))
def written(request, tmp_path_factory):
    return write(tmp_path_factory.mktemp("log") / "log.h5", HINTS[request.param])


def names_of(group, path=""):
    for name, item in group.items():
        where = f"{path}{name}"
        if isinstance(item, h5py.Group):
            yield from names_of(item, f"{where}/")
        elif item.dtype.names is None:
            yield where


def test_values_are_those_that_were_written(native, written):
    with h5py.File(native) as theirs, forebay.open(written) as file:
        assert file.format == "HDF5, layout log"
        names = sorted(names_of(theirs))
        assert names == ["g/big_endian", "grows", "nothing", "scalar", "some"]
        assert sorted([*file, *(f"g/{name}" for name in file.groups["g"])]) == names
        assert list(file.left_out) == ["pairs"]
        for name in names:
            variable, dataset = file[name], theirs[name]
            assert variable.shape == dataset.shape and variable.dtype == dataset.dtype.newbyteorder("=")
            np.testing.assert_array_equal(variable[...], dataset[...])
            assert dict(variable.attributes) == dict(dataset.attrs)
        assert "_forebay" not in repr(file)


def test_slices_are_those_of_numpy(native, written):
    with h5py.File(native) as theirs, forebay.open(written) as file:
        for name in ("g/big_endian", "grows", "some"):
            whole = theirs[name][...]
            for key in (3, (slice(None, None, 7), -1), (slice(90, 5, -4), slice(2, 500, 9)), (..., slice(-3, None))):
                np.testing.assert_array_equal(file[name][key], whole[key])
            with pytest.raises(IndexError, match=name.split("/")[-1]):
                file[name][len(whole)]


def test_xarray_chooses_the_engine(native, written):
    assert xarray.backends.list_engines()["forebay"].guess_can_open(written)
    assert not xarray.backends.list_engines()["forebay"].guess_can_open(native)
    with h5py.File(native) as theirs, xarray.open_dataset(written) as dataset:
        for name in ("grows", "some", "nothing", "scalar"):
            np.testing.assert_array_equal(dataset[name], theirs[name])
    with h5py.File(native) as theirs, xarray.open_dataset(written, engine="forebay", group="g", chunks={}) as group:
        np.testing.assert_array_equal(group["big_endian"].compute(), theirs["g/big_endian"])
        copy = pickle.loads(pickle.dumps(group))
        assert float(copy["big_endian"].sum()) == float(group["big_endian"].sum())


def test_damaged_data_and_a_missing_subfile_are_told(native, tmp_path):
    path = write(tmp_path / "log.h5", HINTS["subfiles"])
    subfile = Path(f"{path}.subfiles/0")
    data = bytearray(subfile.read_bytes())
    data[5000] ^= 0xFF
    subfile.write_bytes(data)
    with forebay.open(path) as file, pytest.raises(forebay.FormatError, match=r"log\.h5: .*checksum"):
        for name in ("g/big_endian", "grows", "some"):
            file[name][...]
    shutil.rmtree(subfile.parent)
    with forebay.open(path) as file:
        with pytest.raises(FileNotFoundError, match="subfile 0"):
            file["g/big_endian"][...]
        with h5py.File(native) as theirs:  # nobody wrote any of it
            np.testing.assert_array_equal(file["nothing"][...], theirs["nothing"][...])


def test_a_log_that_is_cut_short_is_told(tmp_path):
    path = write(tmp_path / "log.h5", HINTS["one file"])
    os.truncate(path, path.stat().st_size * 2 // 3)
    with pytest.raises(forebay.FormatError, match=r"log\.h5"), forebay.open(path) as file:
        for name in ("g/big_endian", "grows", "some"):
            file[name][...]


def test_a_file_that_changes_meanwhile(tmp_path):
    path = write(tmp_path / "log.h5", HINTS["one file"], ranks=1)
    with forebay.open(path) as file:
        write(path, HINTS["one file"], ranks=2)
        os.utime(path, ns=(1, 1))
        with pytest.raises(forebay.ChangedFileError, match="open it again"):
            file["some"][...]
