"""forebay.to_netcdf on datasets as people have them: encodings, strings, old formats, and what is there already."""

import os
import signal
import stat
import subprocess
import sys

import netCDF4
import numpy as np
import pandas
import pytest
import scipy.io
import xarray

import forebay
from conftest import waves

CHUNKED = {"layout": "chunked", "codec": "shuffle,zstd:3"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.nc"


def field(shape=(6, 8, 10), dims="tyx", **attributes):
    return xarray.Dataset({"T": (tuple(dims), waves(shape), attributes)})


def stored(path, name="T"):
    with forebay.open(path) as file:
        return file[name].chunks, file[name].codec


# -- what is written


@pytest.mark.parametrize("value", [3, np.int64(-7), [1, 2], np.array([2**31 - 1]), np.uint8(200), True])
def test_attributes_of_integers_do_not_ask_for_a_newer_format(path, value):
    dataset = field(version=value).assign_attrs(run=value)
    forebay.to_netcdf(dataset, path)
    with forebay.open(path) as file:
        assert file.format == "CDF-2"
        np.testing.assert_array_equal(file["T"].attributes["version"], value)
    with scipy.io.netcdf_file(path, mmap=False) as file:
        np.testing.assert_array_equal(file.run, value)


def test_attributes_of_64_bits_make_a_newer_format(path):
    forebay.to_netcdf(field(stamp=2**40), path)
    with forebay.open(path) as file:
        assert file.format == "CDF-5" and file["T"].attributes["stamp"] == 2**40
    with pytest.raises(OverflowError, match=r"variable 'T': attribute 'stamp': 1099511627776 does not fit int32"):
        forebay.to_netcdf(field(stamp=2**40), path, format="CDF-2")


def test_attributes_that_no_file_holds_are_named(path):
    with pytest.raises(TypeError, match="variable 'T': attribute 'odd'"):
        forebay.to_netcdf(field(odd={"a": 1}), path)
    with pytest.raises(TypeError, match="^attribute 'odd'"):
        forebay.to_netcdf(field().assign_attrs(odd=None), path)


def test_strings_of_pandas_are_written(path):
    frame = pandas.DataFrame({"name": ["a", None, "ccc"], "T": [1.0, 2.0, 3.0]}, index=pandas.Index(["x", "yy", "z"]))
    dataset = frame.to_xarray()
    forebay.to_netcdf(dataset, path)
    with xarray.open_dataset(path, engine="forebay") as ours, xarray.open_dataset(path, engine="netcdf4") as theirs:
        assert ours["name"].values.tolist() == ["a", "", "ccc"] and ours["index"].values.tolist() == ["x", "yy", "z"]
        xarray.testing.assert_identical(ours.load(), theirs.load())


def test_dates_fit_cdf2_where_they_are_exact(path):
    days = pandas.date_range("1999-01-01", periods=4)
    forebay.to_netcdf(xarray.Dataset({"T": ("time", np.arange(4.0))}, {"time": days}), path, format="CDF-2")
    with forebay.open(path) as file, xarray.open_dataset(path, engine="scipy") as opened:
        assert file["time"].dtype == "i4" and (opened["time"].values == days.values).all()


@pytest.mark.parametrize("chunks", [None, 2])
@pytest.mark.parametrize("format", [None, "CDF-2"])
def test_dates_that_are_missing_stay_missing(path, format, chunks):
    dataset = xarray.Dataset({"when": ("x", np.array(["NaT", "2020-01-01", "2020-03-01"], "M8[ns]"))})
    forebay.to_netcdf(dataset if chunks is None else dataset.chunk(chunks), path, format=format)
    with xarray.open_dataset(path, engine="forebay") as opened:
        assert pandas.isnull(opened["when"].values).tolist() == [True, False, False]
        np.testing.assert_array_equal(opened["when"].values[1:], dataset["when"].values[1:])


@pytest.mark.parametrize("chunks", [None, 2])
def test_dates_that_do_not_fit_cdf2_are_named(path, chunks):
    fine = np.array(["1970-01-01T00:00:00.000000001", "2020-01-01"], "M8[ns]")
    dataset = xarray.Dataset({"when": ("x", fine)})
    with pytest.raises(OverflowError, match="variable 'when': values of int64 do not fit int32"):
        forebay.to_netcdf(dataset if chunks is None else dataset.chunk(chunks), path, format="CDF-2")
    assert not path.exists()


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i8", "u8"])
def test_integers_without_a_type_in_cdf2_are_int32(path, dtype):
    values = np.array([0, 1, min(np.iinfo(dtype).max, 2**31 - 1)], dtype)
    forebay.to_netcdf(xarray.Dataset({"v": ("x", values, {"_FillValue": values[1]})}), path, format="CDF-1")
    with scipy.io.netcdf_file(path, mmap=False) as file:
        np.testing.assert_array_equal(file.variables["v"][:], values)


def test_values_that_no_file_holds_are_named(path):
    with pytest.raises(TypeError, match=r"'c'.*complex"):
        forebay.to_netcdf(xarray.Dataset({"c": ("x", np.zeros(3, "c16"))}), path)


# -- dimensions


def test_unlimited_dims_that_are_not_there_are_refused(path):
    with pytest.raises(ValueError, match="typo.*not part of the dataset's dimensions"):
        forebay.to_netcdf(field(), path, unlimited_dims=["typo"])
    with pytest.raises(ValueError, match="one unlimited dimension"):
        forebay.to_netcdf(field(), path, unlimited_dims=["t", "x"])
    with pytest.raises(ValueError, match="only the first dimension of T"):
        forebay.to_netcdf(field(), path, unlimited_dims="x")
    assert not path.exists()


def test_of_two_dimensions_that_were_unlimited_one_stays(tmp_path, path):
    dataset = field().assign(S=("x", np.arange(10.0)))
    dataset.to_netcdf(tmp_path / "four.nc", engine="netcdf4", unlimited_dims=["t", "x"])
    with xarray.open_dataset(tmp_path / "four.nc", engine="netcdf4") as opened:
        forebay.to_netcdf(opened, path)
    with forebay.open(path) as file:
        assert file.unlimited == "t" and file.dimensions["x"].size == 10


def test_a_dimension_of_length_zero_is_the_unlimited_one(path):
    dataset = field((0, 8, 10)).assign(S=("x", np.arange(10.0)))
    forebay.to_netcdf(dataset, path)
    with xarray.open_dataset(path, engine="netcdf4") as opened:
        assert opened["T"].shape == (0, 8, 10) and opened["S"].sum() == 45
    for shape, unlimited in (((6, 0, 10), None), ((0, 8, 0), None), ((6, 8, 0), "t")):
        with pytest.raises(ValueError, match="has length 0"):
            forebay.to_netcdf(field(shape), path, unlimited_dims=unlimited)


# -- encodings


@pytest.mark.parametrize(
    ("encoding", "chunks", "codec"),
    [
        ({"zlib": True}, ..., "shuffle,deflate:4"),
        ({"zlib": True, "complevel": 7, "shuffle": False, "chunksizes": (2, 4, 10)}, (2, 4, 10), "deflate:7"),
        ({"compression": "zstd", "complevel": 3, "chunksizes": (6, 8, 10)}, (6, 8, 10), "shuffle,zstd:3"),
        ({"compression": "gzip", "compression_opts": 1, "chunksizes": (6, 8, 10)}, (6, 8, 10), "shuffle,deflate:1"),
        ({"chunksizes": (1, 8, 10)}, (1, 8, 10), "none"),
        ({"chunksizes": (1, 8, 10), "fletcher32": True}, (1, 8, 10), "none"),
        ({"fletcher32": True}, ..., "none"),
        ({"codec": "zstd:2", "chunks": (3, 8, 5)}, (3, 8, 5), "zstd:2"),
        ({"zlib": False, "complevel": 4, "shuffle": True, "contiguous": True, "chunksizes": None}, None, None),
        ({"compression": "zlib", "complevel": 0}, None, None),
    ],
)
def test_encodings_are_those_of_xarray(path, encoding, chunks, codec):
    dataset = field()
    forebay.to_netcdf(dataset, path, encoding={"T": encoding})
    found = stored(path)
    assert found[1] == codec and (chunks is ... or found[0] == chunks)
    with xarray.open_dataset(path, engine="forebay") as opened:
        xarray.testing.assert_identical(opened.load(), dataset)


@pytest.mark.parametrize(
    ("encoding", "match"),
    [
        ({"zlip": True}, "unexpected encoding 'zlip' of 'T' .*did you mean 'zlib'"),
        ({"chunksize": (1, 8, 10)}, "did you mean 'chunksizes'"),
        ({"banana": 1}, "unexpected encoding 'banana' of 'T' .*accepted are"),
        ({"compression": "szip"}, "szip is not supported"),
        ({"blosc": True}, "blosc is not supported"),
        ({"significant_digits": 3, "quantize_mode": "Round"}, "quantize_mode 'Round' is not known"),
        ({"szip_coding": "nn"}, "szip_coding is not supported"),
        ({"endian": "little"}, "big-endian"),
        ({"zlib": True, "codec": "zstd"}, "cannot both be"),
        ({"zlib": True, "contiguous": True}, "cannot both be"),
        ({"chunksizes": (1, 8)}, "T"),
        ({"codec": "zoom"}, "zoom"),
    ],
)
def test_encodings_that_cannot_be_are_refused(path, encoding, match):
    with pytest.raises(ValueError, match=match):
        forebay.to_netcdf(field(), path, encoding={"T": encoding})
    assert not path.exists()


def test_scalars_and_strings_take_the_encodings_of_fields(path):
    dataset = field().assign(n=3.5, s=("t", ["a", "bb", "c", "d", "e", "ffff"]))
    every = {"zlib": True, "complevel": 1}
    encoding = {name: dict(every) for name in dataset}
    encoding["s"]["chunksizes"] = (3,)
    forebay.to_netcdf(dataset, path, encoding=encoding)
    assert stored(path, "n") == (None, None) and stored(path, "s") == ((3, 4), "deflate:1")
    with xarray.open_dataset(path, engine="forebay") as opened:
        xarray.testing.assert_identical(opened.load(), dataset)


def test_least_significant_digit_rounds_as_netcdf4_does(tmp_path, path):
    dataset = xarray.Dataset({"T": ("x", np.array([1.23456, -7.77777, np.nan, 1e20]))})
    encoding = {"T": {"least_significant_digit": 2, "zlib": True, "_FillValue": 1e20}}
    forebay.to_netcdf(dataset, path, encoding=encoding)
    dataset.to_netcdf(tmp_path / "four.nc", engine="netcdf4", encoding=encoding)
    with forebay.open(path) as file, netCDF4.Dataset(tmp_path / "four.nc") as theirs:
        theirs.set_auto_maskandscale(False)
        np.testing.assert_array_equal(file["T"][:], theirs["T"][:])
        assert file["T"].attributes["least_significant_digit"] == 2


def test_an_encoding_replaces_what_a_variable_brought_along(path):
    dataset = field()
    dataset["T"].encoding = {"dtype": "i2", "scale_factor": 4.0, "codec": "zstd:1"}
    forebay.to_netcdf(dataset, path, encoding={"T": {"zlib": True}})
    with forebay.open(path) as file:
        assert file["T"].dtype == "f4" and file["T"].codec == "shuffle,deflate:4"


@pytest.mark.parametrize("engine", ["forebay", "netcdf4", "h5netcdf"])
def test_a_file_that_is_written_again_keeps_its_chunks_and_codec(tmp_path, path, engine):
    dataset, first = field(), tmp_path / "first.nc"
    if engine == "forebay":
        forebay.to_netcdf(dataset, first, encoding={"T": {"codec": "shuffle,zstd:3", "chunks": (2, 4, 10)}})
        codec = "shuffle,zstd:3"
    else:
        encoding = {"zlib": True, "complevel": 2, "chunksizes": (2, 4, 10)}
        dataset.to_netcdf(first, engine="netcdf4", encoding={"T": encoding})
        codec = "shuffle,deflate:2"
    with xarray.open_dataset(first, engine=engine) as opened:
        forebay.to_netcdf(opened, path)
        assert stored(path) == ((2, 4, 10), codec)
        forebay.to_netcdf(opened.isel(x=slice(3)), path)  # chunks of another shape are not for it
        assert stored(path)[1] == codec
        forebay.to_netcdf(opened, path, {"layout": "canonical"})
        assert stored(path) == (None, None)
        forebay.to_netcdf(opened, path, {"layout": "chunked", "codec": "zstd:9"})
        assert stored(path)[1] == "zstd:9"
        forebay.to_netcdf(opened.astype("i4"), path)
        forebay.to_netcdf(opened, path, encoding={"T": opened["T"].encoding})
        assert stored(path) == ((2, 4, 10), codec)


def test_records_of_netcdf4_files_do_not_become_chunks(tmp_path, path):
    field().to_netcdf(tmp_path / "four.nc", engine="netcdf4", unlimited_dims="t")
    for engine in ["netcdf4"] + ["forebay"] * forebay.has_hdf5:
        with xarray.open_dataset(tmp_path / "four.nc", engine=engine) as opened:
            forebay.to_netcdf(opened, path)
        assert stored(path) == (None, None)


def test_contiguous_that_the_method_overrules_is_told(path):
    with pytest.warns(UserWarning, match="T: contiguous=True was asked for"):
        forebay.to_netcdf(field(), path, CHUNKED, encoding={"T": {"contiguous": True}})


# -- what is there already


class Fails(Exception):
    pass


def failing():
    import dask.array

    def fail(block):
        raise Fails

    lazy = dask.array.zeros((6, 10), chunks=(3, 10)).map_blocks(fail, dtype="f8", meta=np.empty((0, 0)))
    return xarray.Dataset({"T": (("y", "x"), lazy)})


METHODS = [None, CHUNKED, {"layout": "decomposed"}, {"container": "directory"}]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("before", METHODS)
def test_what_was_there_stays_where_writing_fails(tmp_path, path, before, method):
    dataset = field()
    forebay.to_netcdf(dataset, path, before)
    names = sorted(os.listdir(tmp_path))
    with pytest.raises(Fails):
        forebay.to_netcdf(failing(), path, method)
    assert sorted(os.listdir(tmp_path)) == names
    with xarray.open_dataset(path, engine="forebay") as opened:
        xarray.testing.assert_identical(opened.load(), dataset)
    forebay.to_netcdf(dataset + 1, path, method)
    with xarray.open_dataset(path, engine="forebay") as opened:
        xarray.testing.assert_identical(opened.load(), dataset + 1)
    extra = ["out.nc.subfiles"] if method == {"layout": "decomposed"} else []
    assert sorted(os.listdir(tmp_path)) == ["out.nc", *extra]


# It is killed while it writes, and what it wrote is not there: only the next one can remove the folder.
def test_what_a_killed_process_left_goes_with_the_next_file(tmp_path, path):
    program = """
import os, signal, sys
from forebay._beside import beside
with beside(sys.argv[1]) as made:
    open(made, "w").close()
    print(os.path.dirname(made), flush=True)
    os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == "dies" else sys.stdin.read()
"""

    def start(how):
        return subprocess.Popen(
            [sys.executable, "-c", program, path, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    with start("dies") as dead, start("lives") as alive:
        left, writing = (process.stdout.readline().strip() for process in (dead, alive))
        assert dead.wait() == -signal.SIGKILL and os.path.isdir(left)
        # Of another machine, or not of to_netcdf: nobody knows whether somebody writes there.
        others = [left.replace(".forebay-", ".forebay-x"), str(tmp_path / ".forebay-abc"), str(tmp_path / ".forebay-")]
        for other in others:
            os.mkdir(other)
        forebay.to_netcdf(field(), tmp_path / "another.nc")
        assert not os.path.exists(left)
        assert os.path.isdir(writing) and all(map(os.path.isdir, others))
        alive.stdin.close()
        assert alive.wait() == 0
    assert path.exists() and not os.path.exists(writing)


# What was at the target had stepped aside, or its data files had gone ahead: values are nowhere else.
@pytest.mark.parametrize("aside", [True, False])
def test_what_a_process_left_that_was_killed_between_renames_stays(tmp_path, path, aside):
    program = """
import os, signal, sys
from forebay._beside import beside
with beside(sys.argv[1]) as made:
    open(made, "w").close()
    if sys.argv[2] == "True":
        os.rename(sys.argv[1], made + "-old")
    else:
        os.mkdir(sys.argv[1] + ".subfiles")
    print(os.path.dirname(made), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    if aside:
        forebay.to_netcdf(field(), path)
    run = subprocess.run([sys.executable, "-c", program, path, str(aside)], capture_output=True, text=True, check=False)
    left = run.stdout.strip()
    assert run.returncode == -signal.SIGKILL and os.path.isdir(left)
    names = sorted(os.listdir(left))
    with pytest.warns(RuntimeWarning, match="by hand"):
        forebay.to_netcdf(field(), tmp_path / "another.nc")
    assert sorted(os.listdir(left)) == names


def test_a_dataset_can_replace_the_file_that_it_is_read_from(path):
    forebay.to_netcdf(field(), path, CHUNKED)
    with xarray.open_dataset(path, engine="forebay") as opened:
        forebay.to_netcdf(opened + 1, path)
    with xarray.open_dataset(path, engine="forebay") as opened:
        np.testing.assert_array_equal(opened["T"], field()["T"] + 1)


def test_links_lead_to_what_is_replaced(tmp_path, path):
    (tmp_path / "disk").mkdir()
    path.symlink_to("disk/first.nc")  # whose target is not there yet
    for value in (1, 2):
        forebay.to_netcdf(field() + value, path)
        assert os.readlink(path) == "disk/first.nc" and os.listdir(tmp_path / "disk") == ["first.nc"]
        with xarray.open_dataset(tmp_path / "disk/first.nc", engine="scipy") as opened:
            np.testing.assert_array_equal(opened["T"], field()["T"] + value)


def test_permissions_of_what_is_replaced_stay(path):
    forebay.to_netcdf(field(), path)
    path.chmod(0o640)
    forebay.to_netcdf(field(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_folders_and_places_that_are_not_there_are_refused(tmp_path, path):
    path.mkdir()
    (path / "other").write_text("data")
    with pytest.raises(FileExistsError, match="folder with other things"):
        forebay.to_netcdf(field(), path)
    with pytest.raises(FileNotFoundError, match="there is no folder .*absent"):
        forebay.to_netcdf(field(), tmp_path / "absent" / "out.nc")
    assert (path / "other").read_text() == "data"


@pytest.mark.parametrize("pattern", ["out.nc", "{folder}/out.nc"])
def test_rules_of_the_configuration_know_the_file_by_its_name(path, monkeypatch, pattern):
    config = path.with_name("config.xml")
    match = pattern.format(folder=path.parent)
    rule = '<variable match="T" layout="chunked" codec="zstd:5"/>'
    config.write_text(f'<forebay><file match="{match}">{rule}</file></forebay>')
    monkeypatch.setenv("FOREBAY_CONFIG", str(config))
    forebay.to_netcdf(field(), path)
    assert stored(path)[1] == "zstd:5"
