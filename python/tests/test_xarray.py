"""The engine of xarray: chosen by itself where it must be, lazy, with chunks for dask, pickled to workers."""

import pickle
import subprocess
import sys

import dask
import numpy as np
import pandas
import pytest
import xarray

import forebay
from conftest import waves


@pytest.fixture
def dataset():
    data = {
        "T": (("time", "y", "x"), waves((6, 8, 10)) / 4, {"units": "K"}),
        "count": (("y", "x"), np.arange(80).reshape(8, 10)),
        "station": (("y",), np.array(["a", "bcd", "ef", "é", "", "x", "yy", "z"])),
        "scalar": ((), 2.5),
        "flag": (("x",), np.arange(10) % 2 == 0),
    }
    coords = {"time": pandas.date_range("2001-02-03", periods=6, freq="6h"), "x": np.linspace(0, 1, 10)}
    dataset = xarray.Dataset(data, coords=coords, attrs={"title": "tested", "version": 3})
    dataset["T"][0, 0, 0] = np.nan
    return dataset


CHUNKED = {"layout": "chunked", "codec": "shuffle,zstd:3"}


@pytest.fixture
def chunked(tmp_path, dataset):
    path = tmp_path / "chunked.nc"
    forebay.to_netcdf(dataset, path, CHUNKED, unlimited_dims="time", encoding={"T": {"chunks": (2, 3, 10)}})
    return path


def test_the_engine_is_installed():
    assert "forebay" in xarray.backends.list_engines()


@pytest.mark.parametrize("container", ["classic", "directory"])
def test_xarray_chooses_the_engine_for_decomposed_files(tmp_path, dataset, container):
    path = tmp_path / "decomposed.nc"
    for _ in range(2):  # the second one in place of the first
        forebay.to_netcdf(dataset, path, {"layout": "decomposed", "container": container}, unlimited_dims="time")
    assert path.is_dir() == (container == "directory")
    assert (tmp_path / "decomposed.nc.subfiles" / "state").exists() == (container == "classic")
    with xarray.open_dataset(path) as opened:
        xarray.testing.assert_identical(opened["T"].load(), dataset["T"].drop_encoding())
        assert opened.sizes["time"] == 6
    with forebay.open(path) as opened:
        assert opened["count"][3, 4] == 34


def test_xarray_chooses_the_engine_for_folders(tmp_path, dataset):
    path = tmp_path / "plain.nc"
    forebay.to_netcdf(dataset, path, {"container": "directory"})
    assert path.is_dir() and not forebay.needs_forebay(path)
    with xarray.open_dataset(path) as opened:
        xarray.testing.assert_identical(opened.load(), dataset)


def test_xarray_chooses_the_engine_for_chunked_files(chunked, dataset):
    with xarray.open_dataset(chunked) as opened:
        assert opened.encoding["source"] == str(chunked) and "codec" in opened["T"].encoding
        xarray.testing.assert_identical(opened.load(), dataset)


def test_xarray_keeps_its_own_engines_for_other_files(tmp_path, dataset):
    path = tmp_path / "classic.nc"
    forebay.to_netcdf(dataset, path)
    backend = xarray.backends.list_engines()["forebay"]
    assert not backend.guess_can_open(path)
    assert not backend.guess_can_open(tmp_path / "none.nc")
    assert not backend.guess_can_open(b"CDF\5")
    with xarray.open_dataset(path, engine="netcdf4") as opened:
        xarray.testing.assert_identical(opened.load(), dataset)
    with xarray.open_dataset(path) as opened:
        assert "codec" not in opened["T"].encoding


WITHOUT = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None  # as if it were not installed
import xarray
with xarray.open_dataset({path!r}) as opened:
    assert float(opened["T"][1, 2, 3]) == {value!r}
    print(opened._close.__self__.__module__)
"""


def engine_of(path, dataset, hidden):
    """The module of the store that xarray opens a file with, where some libraries are not installed."""
    code = WITHOUT.format(hidden=hidden, path=str(path), value=float(dataset["T"][1, 2, 3]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("format", ["CDF-1", "CDF-2", "CDF-5"])
def test_xarray_chooses_the_engine_where_no_other_can_open_a_file(tmp_path, dataset, format):
    path = tmp_path / "classic.nc"
    plain = dataset[["T"]].drop_vars("time").drop_attrs(deep=False)  # no 64-bit integers, which CDF-1 does not have
    forebay.to_netcdf(plain, path, format=format)
    ours = "forebay.xarray_backend"
    assert engine_of(path, dataset, ["netCDF4", "scipy", "h5netcdf"]) == ours
    assert engine_of(path, dataset, ["netCDF4", "scipy"]) == ours  # h5netcdf reads no classic files
    scipy = engine_of(path, dataset, ["netCDF4"])
    assert scipy == (ours if format == "CDF-5" else "xarray.backends.scipy_")
    assert engine_of(path, dataset, []) == "xarray.backends.netCDF4_"


def test_xarray_chooses_the_engine_for_netcdf4_where_it_is_alone(tmp_path, dataset):
    path = tmp_path / "four.nc"
    dataset[["T"]].to_netcdf(path, engine="netcdf4")
    backend = xarray.backends.list_engines()["forebay"]
    assert not backend.guess_can_open(path)
    if forebay.has_hdf5:
        assert engine_of(path, dataset, ["netCDF4", "scipy", "h5netcdf"]) == "forebay.xarray_backend"


def test_calendars_of_models_are_decoded(tmp_path):
    """By cftime, which the extra "xarray" brings."""
    path = tmp_path / "noleap.nc"
    units = {"units": "days since 2001-02-28", "calendar": "noleap"}
    forebay.to_netcdf(xarray.Dataset(coords={"time": ("time", [0.0, 1.0], units)}), path)
    with xarray.open_dataset(path, engine="forebay") as opened:
        assert str(opened["time"].values[1]) == "2001-03-01 00:00:00"


@pytest.mark.parametrize("method", [None, CHUNKED])
@pytest.mark.parametrize("chunks", [None, {"time": 4, "x": 5}])
def test_a_dataset_comes_back(tmp_path, dataset, method, chunks):
    path = tmp_path / "out.nc"
    source = dataset if chunks is None else dataset.chunk(chunks)
    encoding = {"T": {"dtype": "i2", "scale_factor": 0.25, "add_offset": 10.0, "_FillValue": -999}}
    forebay.to_netcdf(source, path, method, unlimited_dims=["time"], encoding=encoding)
    with xarray.open_dataset(path, engine="forebay") as opened:
        xarray.testing.assert_identical(opened.load(), dataset)
        assert opened.encoding["unlimited_dims"] == {"time"}
    with forebay.open(path) as file:
        assert file["T"].dtype == "i2" and file["T"][0, 0, 0] == -999


def test_files_of_xarray_are_read(tmp_path, dataset):
    path = tmp_path / "scipy.nc"
    dataset.to_netcdf(path, engine="scipy")
    with xarray.open_dataset(path, engine="forebay") as ours, xarray.open_dataset(path, engine="scipy") as theirs:
        xarray.testing.assert_identical(ours.load(), theirs.load())


@pytest.mark.parametrize("fill", [b"b", b"\0", b"\xe9"])
@pytest.mark.parametrize("strings", [True, False])
def test_a_fill_value_of_text_is_missing_as_others_have_it(tmp_path, fill, strings):
    path = tmp_path / "text.nc"
    with forebay.create(path, format="CDF-2") as out:
        out.create_dimension("n", 4)
        out.create_dimension("string1", 1)
        variable = out.create_variable("c", "char", ("n", "string1") if strings else ("n",), fill_value=fill)
        variable[...] = np.array([b"a", fill, b"c", b""], "S1").reshape(variable.shape)
    found = {}
    for engine in ("forebay", "netcdf4", "scipy"):
        with xarray.open_dataset(path, engine=engine, concat_characters=strings) as opened:
            found[engine] = [str(value) for value in opened["c"].values]
            assert opened["c"].shape == (4,)
    assert found["forebay"] == found["netcdf4"] == found["scipy"]


def test_every_kind_of_selection(chunked, dataset):
    with xarray.open_dataset(chunked) as opened:
        T = opened["T"]
        for selected in (
            lambda a: a[2],
            lambda a: a[::-2, 3:1:-1, ::3],
            lambda a: a.isel(time=[4, 0, 0], x=[1, 9]),
            lambda a: a.isel(y=xarray.DataArray([1, 2, 3], dims="p"), x=xarray.DataArray([0, 5, 9], dims="p")),
            lambda a: a.sel(time="2001-02-03"),
            lambda a: a.isel(x=np.arange(10) > 6),
            lambda a: a.isel(time=slice(0, 0)),
        ):
            xarray.testing.assert_identical(selected(T).load(), selected(dataset["T"]))


def test_opening_is_lazy(tmp_path):
    """Values that are damaged are no matter until they are read."""
    path = tmp_path / "damaged.nc"
    forebay.to_netcdf(xarray.Dataset({"T": (("y", "x"), waves((200, 300)))}), path, CHUNKED)
    _, offset, size = forebay.references(path)["refs"]["T/0.0"]
    data = bytearray(path.read_bytes())
    data[offset + size // 2] ^= 0xFF
    path.write_bytes(data)
    with xarray.open_dataset(path) as opened:
        assert opened["T"].shape == (200, 300)
        with pytest.raises(OSError, match="T"):
            opened["T"].load()


def test_chunks_of_dask_are_those_of_the_file(chunked, dataset):
    with xarray.open_dataset(chunked, chunks={}) as opened:
        assert opened["T"].chunks == ((2, 2, 2), (3, 3, 2), (10,))
        assert opened["T"].encoding["preferred_chunks"] == {"time": 2, "y": 3, "x": 10}
        np.testing.assert_array_equal(opened["T"].mean("time").compute(), dataset["T"].mean("time"))


def test_workers_of_dask_open_the_file_themselves(chunked, dataset):
    with xarray.open_dataset(chunked, chunks={"time": 2}) as opened:
        total = opened["T"].sum()
        with dask.config.set(scheduler="processes", num_workers=2):
            assert total.compute().item() == dataset["T"].sum().item()
        copy = pickle.loads(pickle.dumps(opened))
    xarray.testing.assert_identical(copy.load(), dataset)
    copy.close()


def test_many_files_are_one_dataset(tmp_path, dataset):
    for i in range(3):
        part = dataset.isel(time=slice(2 * i, 2 * i + 2))
        forebay.to_netcdf(part, tmp_path / f"part{i}.nc", CHUNKED, unlimited_dims="time")
    with xarray.open_mfdataset(str(tmp_path / "part*.nc"), data_vars="minimal", compat="no_conflicts") as opened:
        xarray.testing.assert_identical(opened["T"].load(), dataset["T"])


def test_many_variables_open_quickly(tmp_path):
    """The benchmark has the figures; here only that nothing is quadratic or read."""
    import time

    path = tmp_path / "many.nc"
    data = {f"v{i}": (("time", "x"), np.zeros((100, 4), "f4"), {"units": "K"}) for i in range(1000)}
    forebay.to_netcdf(xarray.Dataset(data), path, CHUNKED, unlimited_dims="time")
    times = []
    for _ in range(3):
        start = time.process_time()
        xarray.open_dataset(path).close()
        times.append(time.process_time() - start)
    assert min(times) < 0.5


def test_decoding_can_be_switched_off(chunked):
    with xarray.open_dataset(chunked, decode_cf=False, threads=1) as opened:
        assert opened["time"].dtype.kind in "if" and "units" in opened["time"].attrs
        assert "_FillValue" in opened["T"].attrs
    with xarray.open_dataset(chunked, drop_variables=["T"]) as opened:
        assert "T" not in opened


def test_dataarrays_are_written_too(tmp_path, dataset):
    forebay.to_netcdf(dataset["T"], tmp_path / "out.nc")
    with xarray.open_dataarray(tmp_path / "out.nc", engine="forebay") as opened:
        xarray.testing.assert_identical(opened.load(), dataset["T"])


def test_what_cannot_be_written_leaves_no_file(tmp_path, dataset):
    path = tmp_path / "out.nc"
    with pytest.raises(TypeError, match="complex"):
        forebay.to_netcdf(dataset.assign(c=("x", np.zeros(10, "c16"))), path)
    assert not path.exists()
    with pytest.raises(ValueError, match="zoom"):
        forebay.to_netcdf(dataset, path, encoding={"T": {"codec": "zoom"}})
    assert not path.exists()
    with pytest.raises(KeyError):
        forebay.to_netcdf(dataset, path, encoding={"wind": {}})


def test_only_paths_are_opened(chunked):
    with open(chunked, "rb") as file, pytest.raises(ValueError, match="path"):
        xarray.open_dataset(file, engine="forebay")
