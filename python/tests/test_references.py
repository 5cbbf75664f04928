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
