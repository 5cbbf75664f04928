"""Bad files and bad requests: exceptions of the usual kinds, with a sentence that helps."""

import os
import pickle
import struct
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import xxhash

import forebay
from conftest import waves, write


def rows():
    return np.repeat(np.arange(200, dtype="f4"), 300).reshape(200, 300)


def seal(data):
    """Makes the checksums of the chunk index right again after its directory was changed (docs/formats.md)."""
    at = data.find(b"FBCHROOT")
    while at >= 0:
        shift, offset, size = struct.unpack_from(">qqq", data, at + 24)
        if offset >= 0:
            directory = bytes(data[offset + shift : offset + shift + size])
            struct.pack_into(">Q", data, at + 48, xxhash.xxh3_64_intdigest(directory))
            struct.pack_into(">Q", data, at + 88, xxhash.xxh3_64_intdigest(bytes(data[at : at + 88])))
        at = data.find(b"FBCHROOT", at + 8)
    return data


@pytest.fixture
def chunked(tmp_path):
    path = tmp_path / "chunked.nc"
    with forebay.create(path) as out:
        out.create_dimension("y", 200)
        out.create_dimension("x", 300)
        out.create_variable("T", "f4", ("y", "x"), chunks=(100, 100), codec="zstd:3")[...] = rows()
        out.create_variable("P", "f4", ("y", "x"), chunks=(200, 300), codec="zstd:3")[...] = 1
    return path


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.nc") as caught:
        forebay.open(tmp_path / "none.nc")
    assert caught.value.errno == 2


@pytest.mark.parametrize("contents", [b"", b"CDF", b"hello, world" * 100, b"\x89HDF\r\n\x1a\n" + b"\0" * 100])
def test_what_is_no_file_of_ours(tmp_path, contents):
    path = tmp_path / "other.nc"
    path.write_bytes(contents)
    with pytest.raises(forebay.FormatError, match="other.nc") as caught:
        forebay.open(path)
    assert isinstance(caught.value, OSError) and isinstance(caught.value, ValueError)


def test_a_folder(tmp_path):
    with pytest.raises(OSError, match="regular"):
        forebay.open(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path, values):
    path = write(tmp_path / "secret.nc", values)
    path.chmod(0)
    with pytest.raises(PermissionError):
        forebay.open(path)


def test_a_header_that_is_cut_short(path):
    whole = path.read_bytes()
    for length in range(4, 200, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(forebay.FormatError):
            forebay.open(path)


def test_every_damaged_byte_gives_values_or_an_error(chunked):
    whole = chunked.read_bytes()
    rng = np.random.default_rng(5)
    for at in rng.integers(0, len(whole), 300):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        chunked.write_bytes(damaged)
        try:
            with forebay.open(chunked) as file:
                for variable in file.values():
                    if variable.nbytes < 1 << 20:
                        variable[...]
        except (OSError, ValueError, IndexError, MemoryError):
            pass


def test_a_damaged_chunk_is_named(chunked):
    with forebay.open(chunked) as file:
        reference = forebay.references(file)["refs"]["T/1.2"]
    _, offset, size = reference
    data = bytearray(chunked.read_bytes())
    data[offset + size // 2] ^= 0xFF
    chunked.write_bytes(data)
    with forebay.open(chunked) as file:
        np.testing.assert_array_equal(file["T"][:100], rows()[:100])
        assert file["P"][0, 0] == 1
        with pytest.raises(forebay.FormatError, match=r"T.*100.*200"):
            file["T"][...]


def test_an_unknown_codec(chunked):
    data = chunked.read_bytes()
    assert data.count(b"zstd:3") >= 4  # in the header and in the index
    chunked.write_bytes(seal(bytearray(data.replace(b"zstd:3", b"zoom:3"))))
    with forebay.open(chunked) as file, pytest.raises(forebay.UnsupportedError, match="zoom") as caught:
        file["T"][...]
    assert isinstance(caught.value, NotImplementedError)


def test_hostile_sizes_ask_for_no_memory(tmp_path):
    """A header that claims 2^40 records of a terabyte."""
    path = tmp_path / "hostile.nc"
    with forebay.create(path) as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 1 << 40)
        out.create_variable("v", "f8", ("t", "x"), chunks=(1, 1 << 17), codec="zstd:1")
    with forebay.open(path) as file:
        assert file["v"].shape == (0, 1 << 40)
        assert file["v"][0:5].shape == (0, 1 << 40)
    data = bytearray(path.read_bytes())
    data[4:12] = struct.pack(">q", 1 << 62)
    path.write_bytes(data)
    try:
        with forebay.open(path) as file:
            file["v"][0, 0]
    except (OSError, ValueError, IndexError):
        pass


def test_a_file_that_changes_meanwhile(path, values):
    with forebay.open(path) as file, forebay.open(path, check_changes=False) as careless:
        file["T"][0]
        with forebay.open(path, "a") as out:
            out["T"][0] = 1
            out["T"][9] = 2
        os.utime(path, ns=(1, 1))
        with pytest.raises(forebay.ChangedFileError, match="open it again"):
            file["k"][0]
        assert careless["T"].shape == (7, 11, 13)
        assert careless["k"][0] == values["k"][0]
    with forebay.open(path) as file:
        assert file["T"].shape == (10, 11, 13) and file["T"][0, 0, 0] == 1


def test_a_file_that_becomes_shorter_meanwhile(path):
    with forebay.open(path) as file, forebay.open(path, check_changes=False) as careless:
        os.truncate(path, 150)
        with pytest.raises(forebay.ChangedFileError):
            file["T"][...]
        with pytest.raises(OSError, match="shorter|cut|ends"):
            careless["T"][...]


STAGING_JOB = """
import os, sys, forebay
out = forebay.create(sys.argv[1], {"stage": "burst", "nc_burst_buf_dirname": sys.argv[2]})
out.create_dimension("x", 4)
out.create_variable("v", "i4", ("x",))[:] = [1, 2, 3, 4]
os._exit(9)
"""


def test_writes_that_a_dead_job_staged_are_told(tmp_path):
    path = tmp_path / "staged.nc"
    assert subprocess.run([sys.executable, "-c", STAGING_JOB, path, tmp_path], timeout=60).returncode == 9
    with pytest.warns(forebay.StagedWritesWarning, match=r"forebay recover .*staged\.nc"), forebay.open(path) as file:
        assert "v" in file
    with pytest.raises(forebay.FormatError, match="recover"):
        forebay.open(path, "a")
    subprocess.run([Path(sys.executable).with_name("forebay"), "recover", path], check=True, capture_output=True)
    with warnings.catch_warnings(), forebay.open(path) as file:
        warnings.simplefilter("error")
        assert file["v"][:].tolist() == [1, 2, 3, 4]


@pytest.mark.skipif("burst" not in forebay._forebay.wings, reason="no wing burst")
def test_writes_that_a_dead_job_staged_are_laid_over(tmp_path, monkeypatch, recwarn):
    path = tmp_path / "staged.nc"
    assert subprocess.run([sys.executable, "-c", STAGING_JOB, path, tmp_path], timeout=60).returncode == 9
    with forebay.open(path, recover="overlay") as file:
        assert file["v"][:].tolist() == [1, 2, 3, 4]
        assert file["v"][::-2].tolist() == [4, 2]
        assert file["v"].dtype == np.int32 and file.format == "CDF-5"
        assert pickle.loads(pickle.dumps(file))["v"][1] == 2
    with forebay.open(path, recover="overlay-partial") as file:
        assert file["v"][0] == 1
    monkeypatch.setenv("FOREBAY_HINTS", "recover=overlay")
    with forebay.open(path) as file:
        assert file["v"][:].tolist() == [1, 2, 3, 4]
    assert not [w for w in recwarn.list if issubclass(w.category, forebay.StagedWritesWarning)]
    shown = subprocess.run([Path(sys.executable).with_name("forebay"), "dump", path], check=True, capture_output=True)
    assert b"v = 1, 2, 3, 4" in shown.stdout
    monkeypatch.delenv("FOREBAY_HINTS")
    for log in tmp_path.glob("*.records"):
        log.unlink()
    with pytest.raises(OSError, match="overlay-partial|recover"):
        forebay.open(path, recover="overlay")
    with pytest.raises(ValueError, match="recover"):
        forebay.open(path, recover="everything")


@pytest.mark.skipif("burst" not in forebay._forebay.wings, reason="no wing burst")
@pytest.mark.parametrize("more", [{}, {"layout": "chunked", "codec": "shuffle,zstd:1"}])
def test_writes_of_a_running_job_are_read(tmp_path, more):
    path = tmp_path / "staged.nc"
    with forebay.create(path, {"stage": "burst", "nc_burst_buf_dirname": str(tmp_path), **more}) as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 40)
        v = out.create_variable("v", "f8", ("t", "x"))
        first = None
        for step in range(7):
            v[step] = np.arange(40) + step
            v[0, 3] = -step
            with forebay.open(path, recover="overlay") as file:
                assert file["v"].shape == (step + 1, 40)
                assert file["v"][step, 5:].tolist() == list(range(5 + step, 40 + step))
                assert file["v"][0, 3] == -step
            first = first or forebay.open(path, recover="overlay")
            assert first["v"][0, 7] == 7  # whatever becomes of its snapshot
            if step % 3 == 2:
                out.sync()
        first.close()
    with forebay.open(path, recover="overlay") as file:
        assert file["v"][0, 3] == -6


def test_writes_that_are_being_staged_are_no_cause_for_alarm(tmp_path, recwarn):
    path = tmp_path / "staged.nc"
    with forebay.create(path, {"stage": "burst", "nc_burst_buf_dirname": str(tmp_path)}) as out:
        out.create_dimension("x", 4)
        out.create_variable("v", "i4", ("x",))[:] = [1, 2, 3, 4]
        forebay.open(path).close()
    assert not recwarn.list


def test_slices_out_of_range(path):
    with forebay.open(path) as file:
        variable = file["T"]
        for key in (7, -8, (0, 11), (0, 0, -14), (0, 0, 0, 0)):
            with pytest.raises(IndexError, match="T"):
                variable[key]
        assert variable[7:9].shape == (0, 11, 13)  # as in NumPy
        with pytest.raises(ValueError, match="zero"):
            variable[::0]


@pytest.mark.parametrize("key", [[1, 2], None, "x", 1.5, True, np.array([True] * 7), (..., ...)])
def test_indices_that_are_not_basic(path, key):
    with forebay.open(path) as file, pytest.raises(IndexError, match="integers, slices|ellipsis"):
        file["T"][key]


def test_names_that_are_not_there(path):
    with forebay.open(path) as file:
        with pytest.raises(KeyError, match="T, P, k, n"):
            file["wind"]
        with pytest.raises(KeyError, match="did you mean 'title'"):
            file.attributes["titel"]
        assert "wind" not in file
        with pytest.raises(KeyError, match="dimension"):
            file.dimensions["z"]


def test_closing_while_others_read(tmp_path):
    path = tmp_path / "large.nc"
    with forebay.create(path) as out:
        out.create_dimension("x", 4 << 20)
        out.create_variable("v", "f4", ("x",), codec="deflate:1")[:] = waves((4 << 20,))
    file, unexpected = forebay.open(path), []

    def work():
        try:
            while True:
                file["v"][...]
        except ValueError as error:
            if "closed" not in str(error):
                unexpected.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    file["v"][:10]
    file.close()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert not unexpected


def test_modes_that_are_not_known(path):
    with pytest.raises(ValueError, match="'r' reads"):
        forebay.open(path, "w")
    with pytest.raises(ValueError, match="for writing"):
        forebay.open(path, method="layout=chunked")
