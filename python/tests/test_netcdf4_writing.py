"""Files that are written as netCDF-4: netCDF4, h5netcdf and h5py read them, and xarray's encodings mean what they mean
to its own engines."""

import subprocess
import sys
import threading

import h5py
import netCDF4
import numpy as np
import pytest
import xarray

import forebay
from conftest import TYPES, waves

METHOD = "container=netcdf4"


def is_built() -> bool:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        try:
            forebay.create(folder + "/a.nc", METHOD).close()
        except forebay.UnsupportedError as error:
            assert "netcdf4" in str(error)  # it says what is missing
            return False
    return True


pytestmark = pytest.mark.skipif(not is_built(), reason="this build writes no netCDF-4 files")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.nc"


def field(shape=(6, 8, 10), dims="tyx", dtype="f4", **attributes):
    return xarray.Dataset({"T": (tuple(dims), waves(shape, dtype), attributes)})


def noise(shape=(6, 80, 100), dtype="f4"):
    return np.random.default_rng(5).normal(280, 10, shape).astype(dtype)


# -- create()


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC", None])
def test_a_file_is_what_the_format_says(path, format):
    made = forebay.create(path, format=format) if format else forebay.create(path, METHOD)
    with made as out:
        assert out.format == "netCDF-4" and out.method["container"] == "netcdf4"
    with netCDF4.Dataset(path) as file:
        assert file.data_model == (format or "NETCDF4")


def test_a_format_and_a_container_that_contradict_each_other_are_refused(path):
    with pytest.raises(ValueError, match="cannot both be"):
        forebay.create(path, "container=classic", format="NETCDF4")
    assert not path.exists()


@pytest.mark.parametrize("codec", [None, "shuffle,deflate:4", "fletcher32", "shuffle,deflate:1,fletcher32"])
def test_others_read_what_was_written(path, codec):
    with forebay.create(path, METHOD) as out:
        out.create_dimension("t", None)
        out.create_dimension("y", 11)
        out.create_dimension("x", 13)
        out.attributes["title"] = "field"
        for kind in TYPES:
            v = out.create_variable(f"v_{kind}", kind, tuple("tyx"), chunks=(2, 5, 6) if codec else None, codec=codec)
            v[0:7] = waves((7, 11, 13), kind)
        out.create_variable("plain", "f8", tuple("yx"), fill_value=-9.0)[:5] = waves((5, 13), "f8")
        out.create_variable("word", "S1", "x")[...] = "text"
        out.create_variable("one", "i4")[...] = 9
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        for kind in TYPES:
            assert file[f"v_{kind}"].dtype == kind
            np.testing.assert_array_equal(file[f"v_{kind}"][:], waves((7, 11, 13), kind))
        filters = file["v_f4"].filters()
        assert filters["zlib"] == ("deflate" in (codec or "")) and filters["fletcher32"] == (
            "fletcher" in (codec or "")
        )
        if codec:
            assert file["v_f4"].chunking() == [2, 5, 6]
        assert file["plain"].chunking() == "contiguous"
        np.testing.assert_array_equal(file["plain"][:], np.vstack([waves((5, 13)), np.full((6, 13), -9.0)]))
        assert file["word"][:4].tobytes() == b"text" and file["one"][...] == 9 and file.title == "field"
    with h5py.File(path) as file:
        assert file["v_i2"].dims[0][0].name == "/t" and file["v_i2"].maxshape[0] is None
    with forebay.open(path) as file:
        np.testing.assert_array_equal(file["v_f8"][:], waves((7, 11, 13)))


@pytest.mark.parametrize("codec", [None, "shuffle,deflate:2"])
def test_a_file_grows_where_it_was_opened_again(path, codec):
    with forebay.create(path, METHOD) as out:
        out.create_dimension("t", None)
        out.create_dimension("x", 5)
        out.create_variable("v", "f4", tuple("tx"), codec=codec, fill_value=-1)[0:2] = waves((2, 5))
        out.create_variable("u", "i4", "t", fill_value=-3)[0] = 1
    with forebay.open(path, "a") as out:
        out["v"][4] = 7
        out.create_variable("new", "f8", "x")[:] = np.arange(5)
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        assert file["v"].shape == (5, 5) and (file["v"][4] == 7).all() and (file["v"][2:4] == -1).all()
        np.testing.assert_array_equal(file["v"][:2], waves((2, 5)))
        assert file["u"][:].tolist() == [1, -3, -3, -3, -3] and file["new"][3] == 3


def test_a_file_of_netcdf4_is_added_to(path):
    with netCDF4.Dataset(path, "w") as out:
        out.createDimension("t", None)
        out.createDimension("x", 5)
        out.createVariable("v", "f4", ("t", "x"), zlib=True)[:] = waves((2, 5))
    with forebay.open(path, "a") as out:
        out["v"][2] = 3
    with netCDF4.Dataset(path) as file:
        np.testing.assert_array_equal(file["v"][:], np.vstack([waves((2, 5)), np.full((1, 5), 3)]))


def test_a_file_is_whole_after_each_sync(path):
    with forebay.create(path, METHOD) as out:
        out.create_dimension("t", None)
        v = out.create_variable("v", "i4", "t")
        for n in range(3):
            v[n] = n
            out.sync()
            with netCDF4.Dataset(path) as file:
                assert file["v"][:].tolist() == list(range(n + 1))


def test_threads_write_files_of_their_own(tmp_path):
    def write(n):
        for i in range(5):
            with forebay.create(tmp_path / f"{n}-{i}.nc", METHOD) as out:
                out.create_dimension("x", 100)
                out.create_variable("v", "i4", "x", codec="deflate:1")[:] = n + i

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        for i in range(5):
            with netCDF4.Dataset(tmp_path / f"{n}-{i}.nc") as file:
                assert (file["v"][:] == n + i).all()


def test_other_libraries_of_hdf5_are_in_the_same_process(path, tmp_path):
    """netCDF4, h5py and the reader of netCDF-4 files have an HDF5 each, and the plug-in may have another."""
    netCDF4.Dataset(tmp_path / "theirs.nc", "w").close()
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["a"] = [1, 2]
        forebay.to_netcdf(field(), path, METHOD)
        file["b"] = [3]
    with forebay.open(tmp_path / "theirs.h5") as file:
        assert file["b"][:].tolist() == [3]
    with netCDF4.Dataset(path) as file:
        np.testing.assert_array_equal(file["T"][:], waves((6, 8, 10)))


# -- to_netcdf()


def test_a_dataset_comes_back_the_same(path):
    dataset = field(units="K").assign_coords(x=np.arange(10.0), t=np.arange("2020-01-01", "2020-01-07", dtype="M8[D]"))
    dataset = dataset.assign(
        name=("y", list("abcdefgh")), big=("x", np.arange(10) + 2**40), u=("x", np.arange(10, dtype="u4"))
    )
    forebay.to_netcdf(dataset, path, "container=netcdf4;codec=shuffle,deflate:4", unlimited_dims="t")
    for engine in ("netcdf4", "h5netcdf", "forebay"):
        with xarray.open_dataset(path, engine=engine) as opened:
            xarray.testing.assert_equal(opened.load(), dataset)
            assert opened["big"].dtype == "i8" and opened["u"].dtype == "u4"
    with netCDF4.Dataset(path) as file:
        assert file["T"].filters()["complevel"] == 4 and file.dimensions["t"].isunlimited()


def theirs(dataset, path, encoding):
    dataset.to_netcdf(path, engine="netcdf4", encoding=encoding)
    with netCDF4.Dataset(path) as file:
        v = file["T"]
        return v.filters(), v.chunking(), v.dtype, dict(v.__dict__), v[:]


@pytest.mark.parametrize(
    "encoding",
    [
        {"zlib": True},
        {"zlib": True, "complevel": 7, "shuffle": False},
        {"zlib": True, "chunksizes": (2, 4, 5), "fletcher32": True},
        {"fletcher32": True, "chunksizes": (3, 8, 10)},
        {"dtype": "i2", "scale_factor": 0.5, "add_offset": 3.0, "_FillValue": -99, "zlib": True},
        {"dtype": "f8", "_FillValue": -1.0, "contiguous": True},
        {"compression": "zlib", "complevel": 2},
        {"chunksizes": (6, 8, 10)},
    ],
)
def test_encodings_mean_what_they_mean_to_netcdf4(path, tmp_path, encoding):
    dataset = field(units="K")
    forebay.to_netcdf(dataset, path, METHOD, encoding={"T": encoding})
    with netCDF4.Dataset(path) as file:
        v = file["T"]
        ours = v.filters(), v.chunking(), v.dtype, dict(v.__dict__), v[:]
    expected = theirs(dataset, tmp_path / "theirs.nc", {"T": encoding})
    if "chunksizes" not in encoding and "contiguous" not in encoding:
        ours, expected = (each[:1] + each[2:] for each in (ours, expected))  # each chooses a shape of its own
    np.testing.assert_equal(ours, expected)


def test_what_was_in_the_file_that_was_read_stays(path, tmp_path):
    how = {"zlib": True, "complevel": 3, "shuffle": True, "fletcher32": True, "chunksizes": (2, 4, 5)}
    field().to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", encoding={"T": how}, unlimited_dims="t")
    for engine in ("netcdf4", "h5netcdf", "forebay"):
        with xarray.open_dataset(tmp_path / "theirs.nc", engine=engine) as opened:
            forebay.to_netcdf(opened, path, METHOD)
        with netCDF4.Dataset(path) as file:
            filters = file["T"].filters()
            assert file["T"].chunking() == [2, 4, 5] and filters["complevel"] == 3 and filters["shuffle"]
            assert file.dimensions["t"].isunlimited()
            assert filters["fletcher32"] or engine == "forebay"  # codecs of files that were read are those of values


def test_codecs_that_netcdf4_lacks_are_refused_or_left_behind(path, tmp_path):
    forebay.to_netcdf(field(), tmp_path / "ours.nc", "layout=chunked;codec=bitshuffle,zstd:3")
    with xarray.open_dataset(tmp_path / "ours.nc", engine="forebay") as opened:
        forebay.to_netcdf(opened, path, METHOD)  # nobody asked for it here
        with pytest.raises(forebay.UnsupportedError, match="T: codec zfp:relative=0.001: HDF5's filter for zfp"):
            forebay.to_netcdf(opened, path, METHOD, encoding={"T": {"codec": "zfp:relative=1e-3"}})
    with netCDF4.Dataset(path) as file:
        np.testing.assert_array_equal(file["T"][:], waves((6, 8, 10)))


def test_zstd_is_the_filter_that_others_call_zstd(path):
    forebay.to_netcdf(field(), path, METHOD, encoding={"T": {"zstd": True, "complevel": 5}})
    with h5py.File(path) as file:
        filters = file["T"].id.get_create_plist()
        assert [filters.get_filter(i)[0] for i in range(filters.get_nfilters())] == [2, 32015]
    with forebay.open(path) as file:
        np.testing.assert_array_equal(file["T"][:], waves((6, 8, 10)))


def test_values_are_little_endian(path):
    with pytest.raises(ValueError, match="netCDF-4 files are little-endian"):
        forebay.to_netcdf(field(), path, METHOD, encoding={"T": {"endian": "big"}})


def test_old_types_are_enough_for_the_classic_model(path):
    dataset = field(dtype="i8", version=np.int64(3))
    forebay.to_netcdf(dataset, path, format="NETCDF4_CLASSIC")
    with netCDF4.Dataset(path) as file:
        assert file.data_model == "NETCDF4_CLASSIC" and file["T"].dtype == "i4"
    with pytest.raises(OverflowError, match="do not fit int32"):
        forebay.to_netcdf(dataset + 2**40, path, format="NETCDF4_CLASSIC")


def test_the_environment_chooses_the_container(path):
    program = f"""
import numpy as np, xarray, forebay
data = xarray.Dataset({{"T": ("x", np.arange(5) + 2**40)}})
forebay.to_netcdf(data, {str(path)!r}, encoding={{"T": {{"zlib": True, "fletcher32": True}}}})
"""
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**__import__("os").environ, "FOREBAY_HINTS": METHOD}
    )
    with netCDF4.Dataset(path) as file:
        assert file.data_model == "NETCDF4" and file["T"].filters()["fletcher32"] and file["T"][4] == 4 + 2**40


# -- quantising


MODES = {
    "BitGroom": ("bitgroom:digits=3", "_QuantizeBitGroomNumberOfSignificantDigits"),
    "GranularBitRound": ("granularbr:digits=3", "_QuantizeGranularBitRoundNumberOfSignificantDigits"),
    "BitRound": ("bitround:bits=3", "_QuantizeBitRoundNumberOfSignificantBits"),
}


@pytest.mark.parametrize("mode", MODES)
def test_significant_digits_are_a_codec_of_chunked_variables(path, mode):
    data = xarray.Dataset({"T": (tuple("tyx"), noise())})
    codec, attribute = MODES[mode]
    how = {"zlib": True, "significant_digits": 3, "quantize_mode": mode}
    forebay.to_netcdf(data, path, "layout=chunked", encoding={"T": how})
    with forebay.open(path) as file:
        assert file["T"].codec == codec + ",shuffle,deflate:4" and file["T"].attributes[attribute] == 3
        quantised = file["T"][:]
    assert 0 < abs(quantised - data["T"].values).max() < 32
    assert len(np.unique(quantised)) < 20000 < data["T"].size


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("zlib", [False, True])
def test_significant_digits_are_those_of_netcdf4(path, tmp_path, mode, zlib):
    data = xarray.Dataset({"T": (tuple("tyx"), noise())})
    # BitGroom takes values by their place in what is written, so chunks are whole.
    how = {"zlib": zlib, "significant_digits": 3, "quantize_mode": mode, "chunksizes": (6, 80, 100)}
    forebay.to_netcdf(data, path, METHOD, encoding={"T": how})
    with netCDF4.Dataset(path) as file:
        ours, attributes = file["T"][:], dict(file["T"].__dict__)
    with netCDF4.Dataset(tmp_path / "theirs.nc", "w") as out:
        for name, size in data.sizes.items():
            out.createDimension(name, size)
        out.createVariable("T", "f4", tuple("tyx"), fill_value=np.nan, **how)[:] = data["T"].values
        expected = out["T"].__dict__
    with netCDF4.Dataset(tmp_path / "theirs.nc") as file:
        np.testing.assert_array_equal(ours, file["T"][:])
        for name in expected:
            if "Quantize" in name:
                assert attributes[name] == expected[name]


def test_significant_digits_that_make_no_sense_are_named(path):
    for how, said in (
        ({"significant_digits": 3, "quantize_mode": "Round"}, "quantize_mode 'Round' is not known.*BitGroom"),
        ({"significant_digits": 3, "dtype": "i2", "_FillValue": -1}, "for floating-point values, not for int16"),
        ({"significant_digits": 99}, "digits"),
    ):
        with pytest.raises(ValueError, match=said):
            forebay.to_netcdf(field(), path, "layout=chunked", encoding={"T": how})
    assert not path.exists()
