"""Writing: read back by us and by others; methods, growth, conversion, and what is refused."""

import gc
import pickle
import subprocess
import sys
import warnings

import netCDF4
import numpy as np
import pytest
import scipy.io

import forebay
from conftest import TYPES, waves, write


def read_netcdf4(path, name):
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return file[name][...]


def test_scipy_reads_what_is_written(tmp_path):
    path = tmp_path / "out.nc"
    with forebay.create(path, format="CDF-2") as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 4)
        for dtype in TYPES[:5]:
            out.create_variable(dtype, dtype, ("t", "x"), attributes={"units": "m", "pair": [1.5, 2.5]})[:] = waves(
                (3, 4)
            )
        out.attributes["history"] = "tested"
    with scipy.io.netcdf_file(path, mmap=False) as file:
        for dtype in TYPES[:5]:
            np.testing.assert_array_equal(file.variables[dtype][:], waves((3, 4), dtype))
            assert file.variables[dtype].units == b"m" and file.variables[dtype].pair.tolist() == [1.5, 2.5]
        assert file.history == b"tested"


def test_netcdf4_reads_every_type(tmp_path):
    path = tmp_path / "out.nc"
    with forebay.create(path) as out:
        out.create_dimension("x", 6)
        for dtype in TYPES:
            variable = out.create_variable(dtype, dtype, ("x",))
            variable.attributes["one"] = np.dtype(dtype).type(1)
            variable[:] = waves((6,), dtype)
        out.create_variable("c", "char", ("x",))[:] = "héé"
    for dtype in TYPES:
        got = read_netcdf4(path, dtype)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, waves((6,), dtype))
    assert read_netcdf4(path, "c").tobytes() == "héé".encode() + b"\0"


def test_slices_are_assigned_as_in_numpy(tmp_path, method):
    path = tmp_path / "out.nc"
    model = np.zeros((5, 6, 7), "f4")
    with forebay.create(path, method) as out:
        for name, length in zip("tyx", model.shape, strict=True):
            out.create_dimension(name, length)
        variable = out.create_variable("v", "f4", tuple("tyx"), fill_value=0)
        for key, value in [
            (..., 1),
            (2, np.arange(42).reshape(6, 7)),
            ((slice(None), 3), np.arange(7)),
            ((slice(None, None, 2), slice(1, 5, 3), slice(None, None, -2)), np.arange(24).reshape(3, 2, 4)),
            ((slice(None, None, -1), -1, -1), np.arange(5)),
            ((0, 0), np.float64(2.5)),
            ((slice(0, 0),), np.zeros((0, 6, 7))),
            ((1, 1), np.full((1, 7), 5)),
        ]:
            variable[key] = value
            model[key] = value
        np.testing.assert_array_equal(variable[...], model)
        np.testing.assert_array_equal(variable[1::2, ::-1, 3], model[1::2, ::-1, 3])
    with forebay.open(path) as file:
        np.testing.assert_array_equal(file["v"][...], model)


def test_an_unlimited_dimension_grows(tmp_path, method):
    path = tmp_path / "out.nc"
    with forebay.create(path, method) as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 3)
        v = out.create_variable("v", "f4", ("t", "x"))
        w = out.create_variable("w", "i4", ("t",))
        assert v.shape == (0, 3)
        v[0] = 1
        v[1:3] = [[2, 2, 2], [3, 3, 3]]
        v[len(v)] = [4, 4, 4]
        assert v.shape == (4, 3) and w.shape == (4,) and out.dimensions["t"].size == 4
        w[:] = np.arange(6)
        v[4:] = np.full((2, 3), 5)
        v[-1] = 6
        assert v.shape == (6, 3)
    with forebay.open(path) as file:
        assert file["v"][:, 0].tolist() == [1, 2, 3, 4, 5, 6]
        assert file["w"][:].tolist() == [0, 1, 2, 3, 4, 5]


def test_what_was_never_written_reads_as_the_fill_value(tmp_path, method):
    path = tmp_path / "out.nc"
    with forebay.create(path, method) as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 3)
        a = out.create_variable("a", "f4", ("t", "x"), fill_value=-9)
        out.create_variable("b", "i2", ("t",), fill_value=7)
        out.create_variable("c", "i2", ("x",), fill_value=5)
        a[2, 1] = 1
        a[3] = 2
    with forebay.open(path) as file:
        assert file["a"][...].tolist() == [[-9, -9, -9], [-9, -9, -9], [-9, 1, -9], [2, 2, 2]]
        assert file["b"][:].tolist() == [7, 7, 7, 7]
        assert file["c"][:].tolist() == [5, 5, 5]
        assert file["a"].attributes["_FillValue"] == -9


def test_a_batch_writes_all_at_its_end(tmp_path, method, values):
    path = tmp_path / "out.nc"
    with forebay.create(path, method) as out:
        out.create_dimension("x", 1000)
        variables = [out.create_variable(f"v{i}", "f8", ("x",)) for i in range(20)]
        with out.batch():
            for i, variable in enumerate(variables):
                variable[:500] = np.full(500, i)
                variable[500:] = i + 100.5
    with forebay.open(path) as file:
        for i in range(20):
            assert file[f"v{i}"][::499].tolist() == [i, i, i + 100.5]


def test_a_file_can_be_added_to(tmp_path, method, values):
    path = write(tmp_path / "out.nc", values, method)
    with forebay.open(path, "a") as out:
        out["T"][7] = 5
        out["P"][0, ::2] = -1
        out["k"].attributes["units"] = "a longer unit than before"
        del out["T"].attributes["units"]
        out.create_dimension("z", 2)
        out.create_variable("new", "f8", ("z",))[:] = [1, 2]
        np.testing.assert_array_equal(out["T"][:7], values["T"])
    with forebay.open(path) as file:
        np.testing.assert_array_equal(file["T"][:7], values["T"])
        assert (file["T"][7] == 5).all() and file["P"][0, 2] == -1 and file["new"][:].tolist() == [1, 2]
        assert dict(file["k"].attributes) == {"units": "a longer unit than before"}
        assert dict(file["T"].attributes) == {}


def test_the_method_is_followed(tmp_path):
    path = tmp_path / "out.nc"
    with forebay.create(path, {"layout": "chunked", "codec": ["shuffle", "zstd:1"], "nc_in_place_swap": False}) as out:
        out.create_dimension("y", 100)
        out.create_dimension("x", 200)
        out.create_variable("a", "f4", ("y", "x"))[...] = 0
        out.create_variable("b", "f8", ("y", "x"), chunks=(10, 200), codec="zfp:accuracy=0.001")[...] = waves(
            (100, 200)
        )
        out.create_variable("c", "f8", ("y", "x"), chunks=True)[...] = 1
        assert out.method["layout"] == "chunked"
    with forebay.open(path) as file:
        assert file["a"].codec == "shuffle,zstd:1" and file["a"].chunks == (100, 200)
        assert file["b"].codec.startswith("zfp") and file["b"].chunks == (10, 200)
        np.testing.assert_allclose(file["b"][...], waves((100, 200)), atol=0.001)
        assert file["c"].chunks and file["c"].codec == "shuffle,zstd:1"


@pytest.mark.parametrize("bad", ["layout=chunkd", "layuot=chunked", "chunked", {"codec": "zoom"}, {"chunk_bytes": -1}])
def test_a_method_that_makes_no_sense_is_refused(tmp_path, bad):
    with pytest.raises(ValueError, match="method|codec"):
        forebay.create(tmp_path / "out.nc", bad)
    assert not (tmp_path / "out.nc").exists()


def test_values_are_converted_and_checked(tmp_path):
    path = tmp_path / "out.nc"
    with forebay.create(path) as out:
        out.create_dimension("x", 3)
        v = out.create_variable("v", "i1", ("x",), fill_value=-1)
        v[:] = np.array([1.7, -2.2, 3], "f8")
        assert v[:].tolist() == [1, -2, 3]
        with pytest.raises(OverflowError, match="fit"):
            v[:] = [1, 300, 2]
        assert v[:].tolist() == [1, -1, 2]
        v[:] = np.array([1, 2, 3], ">i4")
        v[:] = np.arange(6, dtype="i8")[::2]
        assert v[:].tolist() == [0, 2, 4]
        v[:] = [True, False, True]


def test_what_does_not_fit_is_refused(tmp_path):
    with forebay.create(tmp_path / "out.nc") as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 3)
        v = out.create_variable("v", "f4", ("t", "x"))
        c = out.create_variable("c", "char", ("x",))
        for key, value, kind in [
            (0, [1, 2], ValueError),
            ((0, 3), 1, IndexError),
            (-1, 1, IndexError),
            (0, "abc", TypeError),
            (0, [object()] * 3, (TypeError, ValueError)),
            (0, 1j, TypeError),
        ]:
            with pytest.raises(kind):
                v[key] = value
        with pytest.raises(ValueError, match="text"):
            c[:] = "too long"
        with pytest.raises(TypeError):
            c[:] = 5
        v[0] = 1
    with forebay.open(tmp_path / "out.nc") as file:
        assert file["v"].shape == (1, 3)


def test_definitions_that_make_no_sense_are_refused(tmp_path):
    with forebay.create(tmp_path / "out.nc", format="CDF-2") as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 3)
        for work, kind, text in [
            (lambda: out.create_dimension("x", 3), ValueError, "in use"),
            (lambda: out.create_dimension("u", None), ValueError, "unlimited"),
            (lambda: out.create_dimension("u", 0), ValueError, "empty"),
            (lambda: out.create_dimension("a/b", 3), ValueError, "a/b"),
            (lambda: out.create_variable("v", "f4", ("x", "t")), ValueError, "first"),
            (lambda: out.create_variable("v", "f4", ("z",)), KeyError, "dimension"),
            (lambda: out.create_variable("v", "i8", ("x",)), TypeError, "CDF-5"),
            (lambda: out.create_variable("v", "c16", ("x",)), TypeError, "complex"),
            (lambda: out.create_variable("v", "f4", ("x",), codec="zoom"), ValueError, "zoom"),
            (lambda: out.attributes.__setitem__("a", object()), TypeError, "neither"),
            (lambda: out.attributes.__setitem__("a", [[1, 2], [3, 4]]), ValueError, "dimensions"),
        ]:
            with pytest.raises(kind, match=text):
                work()
    with forebay.open(tmp_path / "out.nc") as file:
        assert list(file.dimensions) == ["t", "x"]


def test_files_are_overwritten_only_where_that_is_wanted(tmp_path):
    path = tmp_path / "out.nc"
    forebay.create(path).close()
    with pytest.raises(FileExistsError):
        forebay.create(path, overwrite=False)
    forebay.create(path).close()
    with pytest.raises(FileNotFoundError):
        forebay.create(tmp_path / "no" / "folder.nc")
    with pytest.raises(ValueError, match="CDF-1, CDF-2, CDF-5"):
        forebay.create(path, format="netCDF-9")


def test_a_file_that_is_not_closed_is_closed_with_a_warning(tmp_path):
    path = tmp_path / "out.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = forebay.create(path)
        out.create_dimension("x", 2)
        out.create_variable("v", "f4", ("x",))[:] = 3
        del out
        gc.collect()
    with forebay.open(path) as file:
        assert file["v"][:].tolist() == [3, 3]


def test_a_closed_file_cannot_be_written(tmp_path, values):
    with forebay.create(tmp_path / "out.nc") as out:
        v = out.create_variable("v", "f4")
    with pytest.raises(ValueError, match="closed"):
        v[...] = 1
    with pytest.raises(ValueError, match="closed"):
        out.attributes["a"] = 1
    out.close()
    with forebay.open(write(tmp_path / "more.nc", values), "a") as out:
        v = out["T"]
        v[7] = 0
    assert v.shape == (8, 11, 13) and "closed" in repr(v) and "closed" in repr(out)


def test_without_mpi_a_communicator_is_refused(tmp_path):
    if forebay.has_mpi:
        pytest.skip("this build has MPI")
    with pytest.raises(forebay.UnsupportedError, match="FOREBAY_MPI=ON"):
        forebay.create(tmp_path / "out.nc", comm=object())


def test_files_of_a_bundle_wait_for_each_other(tmp_path):
    names = [tmp_path / f"{name}.nc" for name in ("prog", "surf")]
    with forebay.bundle("history", {"layout": "canonical"}) as b:
        for number, name in enumerate(names):
            file = b.create(name)
            file.create_dimension("t", None)
            file.create_variable("v", "i4", ("t",))[:3] = [number, 1, 2]
        assert [name.stat().st_size for name in names] == [0, 0]
        assert b.files[0]["v"][0] == 0  # reading writes what waits
        assert names[1].stat().st_size > 0
        assert repr(b) == "<forebay.Bundle 'history': 2 files open>"
        with b.batch():
            for file in b.files:
                file["v"][3] = 3
    assert b.closed and b.files == ()
    assert b.plan["bundle"] == "history"
    for number, name in enumerate(names):
        with forebay.open(name) as file:
            assert file["v"][:].tolist() == [number, 1, 2, 3]


def test_what_a_bundle_refuses(tmp_path):
    with pytest.raises(ValueError, match="bundle_scheme"):
        forebay.bundle("history", "bundle_scheme=nonsense")
    with forebay.bundle("history") as b:
        with pytest.raises(ValueError, match="is open"):
            forebay.bundle("history")
        with pytest.raises(ValueError, match="the name is empty"):
            forebay.bundle("")
        with pytest.raises(FileExistsError):
            (tmp_path / "there.nc").touch()
            b.create(tmp_path / "there.nc", overwrite=False)
        with pytest.raises(FileNotFoundError):
            b.open(tmp_path / "none.nc")
        first = b.create(tmp_path / "a.nc")
        first.close()
    with pytest.raises(ValueError, match="is closed"):
        b.create(tmp_path / "b.nc")
    assert (tmp_path / "a.nc").stat().st_size > 0
    b.close()  # again: nothing


def test_a_bundle_that_nobody_closed_is_written_at_exit(tmp_path):
    program = f"""
import forebay
b = forebay.bundle("history")
file = b.create({str(tmp_path / "a.nc")!r})
file.create_dimension("x", 3)
file.create_variable("v", "i4", ("x",))[:] = [1, 2, 3]
file.close()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    with forebay.open(tmp_path / "a.nc") as file:
        assert file["v"][:].tolist() == [1, 2, 3]


def program(text, folder):
    return subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)


LEFT_OPEN = """
import os, sys, forebay
out = forebay.create("out.nc", {method!r})
out.create_dimension("t", None)
v = out.create_variable("v", "f8", ("t",))
out.keeps = v  # a circle
os.mkdir("elsewhere")
os.chdir("elsewhere")
with out.batch():
    v[:] = [1.0, 2.0, 3.0]
{end}
"""


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError", "if os.fork(): os.wait()"])
def test_what_a_program_leaves_open_is_closed_when_it_ends(tmp_path, method, end):
    done = program(LEFT_OPEN.format(method=method, end=end), tmp_path)
    assert "was not closed" not in done.stderr
    assert sorted(name.name for name in tmp_path.iterdir()) == ["elsewhere", "out.nc"]
    with forebay.open(tmp_path / "out.nc") as file:
        assert file["v"][:].tolist() == [1, 2, 3]


def test_bundles_that_are_left_open_are_written_when_the_program_ends(tmp_path):
    text = """
import forebay
b = forebay.bundle("two")
for name in ("a.nc", "b.nc"):
    out = b.create(name)
    out.create_dimension("x", 3)
    out.create_variable("v", "f8", ("x",))[:] = [1, 2, 3]
"""
    done = program(text, tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("a.nc", "b.nc"):
        with forebay.open(tmp_path / name) as file:
            assert file["v"][:].tolist() == [1, 2, 3]


def test_files_are_those_that_were_opened_wherever_the_program_goes(tmp_path, monkeypatch, method):
    """Two folders with files of one name, one current after the other."""
    files = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        out = forebay.create("out.nc", method)
        out.create_dimension("t", None)
        out.create_variable("v", "f8", ("t",))
        files.append(out)
    for i, out in enumerate(files):
        out["v"][:] = np.arange(5.0) + i
        out.close()
    monkeypatch.chdir(tmp_path / "a")
    opened = forebay.open("out.nc")
    again = forebay.open("out.nc", "a", method=method)
    monkeypatch.chdir(tmp_path / "b")
    again["v"][5] = 9
    again.close()
    opened = pickle.loads(pickle.dumps(opened))
    assert opened["v"][:].tolist() == [0, 1, 2, 3, 4, 9]
    opened.close()
    with forebay.open("out.nc") as file:
        assert file["v"][:].tolist() == [1, 2, 3, 4, 5]
