"""Reading: every way to index, against NumPy; files of other writers; threads, closing, pickling, showing."""

import pickle
import random
import threading
import time

import netCDF4
import numpy as np
import pytest
import scipy.io

import forebay
from conftest import TYPES, waves, write


def random_key(rng, shape):
    """Integers and slices of all signs, with an ellipsis now and then."""
    key = []
    for length in shape:
        kind = rng.randrange(4)
        if kind == 0:
            key.append(rng.randrange(-length, length))
        elif kind == 1:
            key.append(slice(None, None, rng.choice([1, 2, 5, -1, -3])))
        else:
            ends = [rng.choice([None, rng.randrange(-2 * length, 2 * length)]) for _ in range(2)]
            key.append(slice(*ends, rng.choice([None, 1, 2, 3, -1, -2, 20])))
    if rng.random() < 0.3:
        at = rng.randrange(len(shape) + 1)
        until = rng.randrange(at, len(shape) + 1)
        key[at:until] = [...]
    return tuple(key)


def test_indexing_is_that_of_numpy(path, values):
    rng = random.Random(20260)
    with forebay.open(path) as file:
        for _ in range(400):
            name = rng.choice(["T", "P", "k"])
            key = random_key(rng, values[name].shape)
            expected = values[name][key]
            got = file[name][key]
            assert np.shape(got) == np.shape(expected), key
            np.testing.assert_array_equal(got, expected, err_msg=str(key))
            assert got.dtype == values[name].dtype


def test_a_file_has_its_names_shapes_and_attributes(path):
    with forebay.open(path) as file:
        assert list(file) == ["T", "P", "k", "n"] == list(file.variables)
        assert {n: d.size for n, d in file.dimensions.items()} == {"t": 7, "y": 11, "x": 13}
        assert file.dimensions["t"].unlimited and file.unlimited == "t"
        assert file["T"].dimensions == ("t", "y", "x")
        assert (file["T"].shape, file["T"].ndim, len(file["T"]), file["T"].size) == ((7, 11, 13), 3, 7, 1001)
        assert file["T"].nbytes == 4004
        assert dict(file.attributes) == {"title": "field"}
        assert dict(file["T"].attributes) == {"units": "K"}
        assert file.format == "CDF-5"
        assert len(file.groups) == 0


def test_a_scalar_is_a_number(path):
    with forebay.open(path) as file:
        assert file["n"][()] == 9 and file["n"][...].shape == ()
        with pytest.raises(TypeError, match="scalar"):
            len(file["n"])


def test_arrays_of_numpy_are_made_of_variables(path, values):
    with forebay.open(path) as file:
        np.testing.assert_array_equal(np.asarray(file["T"]), values["T"])
        assert np.asarray(file["T"], dtype="f8").dtype == np.float64
        assert [row.tolist() for row in file["P"]] == values["P"].tolist()
        with pytest.raises(ValueError, match="copy"):
            np.array(file["T"], copy=False)


def test_memory_can_be_given(path, values):
    with forebay.open(path) as file:
        out = np.zeros((11, 13), "f4")
        assert file["T"].read((3,), out=out) is out
        np.testing.assert_array_equal(out, values["T"][3])
        file["T"].read((3, slice(None, None, -1)), out=out)
        np.testing.assert_array_equal(out, values["T"][3, ::-1])
        with pytest.raises(ValueError, match="C-contiguous"):
            file["T"].read((3,), out=np.zeros((11, 13), "f8"))


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_scipy_are_read(tmp_path, version):
    path = tmp_path / "scipy.nc"
    with scipy.io.netcdf_file(path, "w", version=version) as out:
        out.createDimension("t", None)
        out.createDimension("x", 5)
        for dtype in TYPES[:5]:
            out.createVariable(dtype, np.dtype(dtype), ("t", "x"))[:3] = waves((3, 5), dtype)
        out.history = "by scipy"
        out.variables["f4"].valid_range = np.array([1, 2], "i2")
    with forebay.open(path) as file:
        assert file.format == f"CDF-{version}"
        for dtype in TYPES[:5]:
            np.testing.assert_array_equal(file[dtype][::-1, 1::2], waves((3, 5), dtype)[::-1, 1::2])
        assert file.attributes["history"] == "by scipy"
        assert file["f4"].attributes["valid_range"].tolist() == [1, 2]


def test_files_of_netcdf4_are_read_in_every_type(tmp_path):
    path = tmp_path / "netcdf.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as out:
        out.createDimension("x", 6)
        for dtype in TYPES:
            variable = out.createVariable(dtype, dtype, ("x",))
            variable[:] = waves((6,), dtype)
            variable.setncattr("one", np.dtype(dtype).type(3))
        out.createVariable("c", "S1", ("x",))[:] = np.frombuffer(b"abc\0ef", "S1")
    with forebay.open(path) as file:
        for dtype in TYPES:
            assert file[dtype].dtype == dtype
            np.testing.assert_array_equal(file[dtype][:], waves((6,), dtype))
            assert file[dtype].attributes["one"] == 3 and file[dtype].attributes["one"].dtype == dtype
        assert file["c"].dtype == "S1" and file["c"][:].tobytes() == b"abc\0ef"


def test_attributes_that_are_no_utf8_are_read(tmp_path):
    path = tmp_path / "latin.nc"
    with scipy.io.netcdf_file(path, "w") as out:
        out.units = "°C".encode("latin-1")
    with forebay.open(path) as file:
        assert file.attributes["units"] == "°C"


def test_only_what_is_asked_for_is_read(tmp_path, values):
    """A file that is cut short can be read up to there."""
    path = write(tmp_path / "field.nc", values)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 100])
    with forebay.open(path) as file:
        np.testing.assert_array_equal(file["T"][0], values["T"][0])
        with pytest.raises(forebay.FormatError, match="ends"):
            file["T"][-1]


def test_several_threads_read_at_once(path, values):
    with forebay.open(path) as file:
        wrong = []

        def work(seed):
            rng = random.Random(seed)
            for _ in range(100):
                key = random_key(rng, (7, 11, 13))
                if not np.array_equal(file["T"][key], values["T"][key]):
                    wrong.append(key)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_many_threads_decode_one_read(tmp_path):
    path = tmp_path / "large.nc"
    values = np.random.default_rng(3).integers(0, 50, (16, 256, 256)).astype("f4")
    with forebay.create(path) as out:
        for name, length in zip("tyx", values.shape, strict=True):
            out.create_dimension(name, length)
        out.create_variable("v", "f4", tuple("tyx"), chunks=(1, 100, 256), codec="shuffle,zstd:1")[...] = values
    for threads in (1, 2, 5):
        with forebay.open(path, threads=threads) as file:
            np.testing.assert_array_equal(file["v"][...], values)
            np.testing.assert_array_equal(file["v"][::3, 5:, ::-2], values[::3, 5:, ::-2])


def test_the_interpreter_runs_on_while_a_thread_reads(tmp_path):
    path = tmp_path / "slow.nc"
    with forebay.create(path) as out:
        out.create_dimension("x", 24 << 20)
        noise = np.random.default_rng(1).integers(0, 1000, 24 << 20).astype("f4")
        out.create_variable("v", "f4", ("x",), codec="deflate:1")[:] = noise
    span = []
    with forebay.open(path, threads=1) as file:

        def read():
            start = time.perf_counter()
            file["v"][...]
            span.extend([start, time.perf_counter()])

        thread = threading.Thread(target=read)
        thread.start()
        stamps = []
        while thread.is_alive():
            stamps.append(time.perf_counter())
            time.sleep(0.001)
        thread.join()
    first, last = span
    quarter = (last - first) / 4
    assert any(first + quarter < stamp < last - quarter for stamp in stamps)


def test_a_closed_file_says_so(path):
    with forebay.open(path) as file:
        variable = file["T"]
    assert file.closed
    for use in (lambda: variable[0], lambda: variable[0:0], lambda: file.attributes):
        with pytest.raises(ValueError, match="closed"):
            use()
    file.close()
    assert "closed" in repr(file) and "closed" in repr(variable)


def test_datasets_and_variables_pickle(path, values):
    with forebay.open(path, threads=1) as file:
        with pickle.loads(pickle.dumps(file)) as copy:
            assert copy.threads == 1
            np.testing.assert_array_equal(copy["P"][...], values["P"])
        variable = pickle.loads(pickle.dumps(file["T"]))
        np.testing.assert_array_equal(variable[2:, 0], values["T"][2:, 0])
        variable.dataset.close()


def test_they_show_what_they_are(path):
    with forebay.open(path) as file:
        for text in (repr(file), file._repr_html_()):
            for word in ("field.nc", "CDF-5", "unlimited", "float32", "title"):
                assert word in text
        for text in (repr(file["T"]), file["T"]._repr_html_()):
            for word in ("T", "y", "11", "float32", "3.91 KiB", "units"):
                assert word in text
        if file["T"].codec:
            assert "zstd" in repr(file["T"]) or "deflate" in repr(file["T"])


def test_html_is_escaped(tmp_path):
    path = tmp_path / "script.nc"
    with forebay.create(path) as out:
        out.attributes["title"] = "<script>alert(1)</script>"
        out.create_variable("v", "f4", attributes={"units": "<b>"})[...] = 1
    with forebay.open(path) as file:
        assert "<script>" not in file._repr_html_() and "<b>&" not in file["v"]._repr_html_()


def test_many_variables_are_shown_in_part(tmp_path):
    path = tmp_path / "many.nc"
    with forebay.create(path) as out:
        for i in range(200):
            out.create_variable(f"v{i}", "i4")
    with forebay.open(path) as file:
        assert "140 more" in repr(file) and repr(file).count("\n") < 80
        assert "140 more" in file._repr_html_()


@pytest.mark.parametrize(
    "method",
    ["", "layout=chunked;subfiling=node", "layout=decomposed", "container=directory;layout=chunked"],
)
def test_a_relative_path_is_where_the_file_was_opened(tmp_path, monkeypatch, method):
    values = {"T": waves((7, 11, 13)), "P": waves((11, 13), "f8"), "k": waves((7,), "i2"), "n": np.int32(9)}
    others = {name: value + 1 for name, value in values.items()}
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "two")
    write("field.nc", others, method)
    monkeypatch.chdir(tmp_path / "one")
    with forebay.create("field.nc", method) as out:
        monkeypatch.chdir(tmp_path / "two")
        out.create_dimension("t", None)
        out.create_dimension("y", 11)
        out.create_dimension("x", 13)
        for name, dims in (("T", "tyx"), ("P", "yx"), ("k", "t"), ("n", "")):
            out.create_variable(name, values[name].dtype, tuple(dims))[...] = values[name]
        np.testing.assert_array_equal(out["T"][...], values["T"])
    monkeypatch.chdir(tmp_path / "one")
    with forebay.open("field.nc") as file:
        monkeypatch.chdir(tmp_path / "two")
        copy = pickle.loads(pickle.dumps(file))
        for opened in (file, copy):
            for name, value in values.items():
                np.testing.assert_array_equal(opened[name][...], value)
        copy.close()
    with forebay.open("field.nc") as file:
        np.testing.assert_array_equal(file["T"][...], others["T"])
