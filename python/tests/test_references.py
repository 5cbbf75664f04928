"""References: zarr and xarray read chunked files with no Forebay, through fsspec."""

import json
import os

import fsspec
import numpy as np
import pytest
import xarray
import zarr

import forebay
from conftest import waves, write


@pytest.mark.parametrize("codec", [None, "none", "zstd:3", "deflate:6", "shuffle,zstd:1", "shuffle,deflate:2"])
def test_zarr_reads_references(tmp_path, codec, values):
    method = None if codec is None else {"layout": "chunked", "codec": codec, "chunk_bytes": 4096}
    path, out = write(tmp_path / "field.nc", values, method), tmp_path / "refs.json"
    forebay.write_references(path, out)
    group = zarr.open_group("reference://", mode="r", zarr_format=2, storage_options={"fo": str(out)})
    for name, expected in values.items():
        np.testing.assert_array_equal(group[name][...], expected)
        assert group[name].attrs["units"] == "K"
    with xarray.open_dataset(
        "reference://",
        engine="zarr",
        decode_cf=False,
        backend_kwargs={"consolidated": False, "storage_options": {"fo": str(out)}},
    ) as dataset:
        np.testing.assert_array_equal(dataset["T"].values, values["T"])
        assert dataset["T"].dims == ("t", "y", "x") and dataset.attrs["title"] == "field"


def test_references_of_an_open_file_are_those_of_its_path(path):
    with forebay.open(path) as file:
        made = forebay.references(file)
    assert made == forebay.references(path)
    assert made["version"] == 1 and "T/.zarray" in made["refs"]
    store = fsspec.filesystem("reference", fo=made)
    assert json.loads(store.cat("T/.zarray"))["shape"] == [7, 11, 13]


def test_another_address_can_stand_for_the_file(path):
    made = forebay.references(path, url="s3://bucket/field.nc", inline_limit=1 << 20)
    assert {r[0] for r in made["refs"].values() if isinstance(r, list)} <= {"s3://bucket/field.nc"}


def test_what_zarr_cannot_decode_is_named(tmp_path):
    path = tmp_path / "zfp.nc"
    with forebay.create(path) as out:
        out.create_dimension("x", 4000)
        out.create_variable("T", "f4", ("x",), codec="zfp:accuracy=1e-3")[:] = waves((4000,))
        out.create_variable("P", "f4", ("x",), codec="zstd:3")[:] = waves((4000,))
    with pytest.raises(forebay.UnsupportedError, match="zfp"):
        forebay.references(path)
    with pytest.raises(forebay.UnsupportedError):
        forebay.write_references(path, tmp_path / "refs.json")
    assert not (tmp_path / "refs.json").exists()
    with pytest.warns(UserWarning, match="T"):
        made = forebay.references(path, skip=True)
    assert "P/.zarray" in made["refs"] and "T/.zarray" not in made["refs"]


def test_a_file_that_is_cut_short_is_named(tmp_path, values):
    path = write(tmp_path / "cut.nc", values, "layout=chunked;codec=zstd:1")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(forebay.FormatError, match=r"cut\.nc.*index"):
        forebay.references(path)


@pytest.mark.parametrize("codec", ["none", "shuffle,deflate:2", "zstd:1"])
def test_what_was_never_written_has_the_types_and_values_that_the_engine_gives(tmp_path, codec):
    path, out = tmp_path / "sparse.nc", tmp_path / "refs.json"
    with forebay.create(path, {"layout": "chunked", "codec": codec}) as made:
        made.create_dimension("y", 9)
        made.create_dimension("x", 8)
        for name, dtype, fill in (("i", "i4", None), ("f", "f4", None), ("s", "i2", -1)):
            variable = made.create_variable(name, dtype, ("y", "x"), chunks=(3, 4), fill_value=fill)
            variable[4, 5] = 7
    forebay.write_references(path, out)
    options = {"consolidated": False, "storage_options": {"fo": str(out)}}
    with (
        xarray.open_dataset("reference://", engine="zarr", backend_kwargs=options) as theirs,
        xarray.open_dataset(path, engine="forebay") as ours,
    ):
        for name in ours:
            assert theirs[name].dtype == ours[name].dtype, name
            np.testing.assert_array_equal(theirs[name], ours[name])
        assert ours["i"].dtype == "i4" and int(ours["i"].min()) < 0
    if codec == "none":  # of the others chunks that were written are put in, too
        with pytest.raises(forebay.UnsupportedError, match="never written.*_FillValue"):
            forebay.references(path, inline_limit=20)


def test_records_that_were_never_written_have_their_type(tmp_path):
    path, out = tmp_path / "maps.nc", tmp_path / "refs.json"
    with forebay.create(path, {"layout": "decomposed"}) as made:
        made.create_dimension("t", None)
        made.create_dimension("x", 512)
        variable = made.create_variable("i", "i4", ("t", "x"))
        variable[0] = waves((512,), "i4")
        variable[2] = waves((512,), "i4")
    forebay.write_references(path, out)
    options = {"consolidated": False, "storage_options": {"fo": str(out)}}
    with xarray.open_dataset("reference://", engine="zarr", backend_kwargs=options) as theirs:
        (name,) = [name for name in theirs if str(name).startswith("i.")]
        assert theirs[name].dtype == "i4" and theirs[name].shape == (3, 512)
        np.testing.assert_array_equal(theirs[name][0], waves((512,), "i4"))
        with forebay.open(path) as file:
            np.testing.assert_array_equal(theirs[name][1], file["i"][1])
