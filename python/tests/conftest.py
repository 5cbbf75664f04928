"""What the tests share: files that Forebay wrote, and files that others wrote."""

import tempfile

import numpy as np
import pytest

import forebay

TYPES = ["i1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8"]
METHODS = {
    "canonical": None,
    "chunked": "layout=chunked;codec=shuffle,zstd:3;chunk_bytes=4096",
    "deflate": {"layout": "chunked", "codec": "deflate:4"},
    "memory": {"stage": "memory"},
    "burst": {"stage": "burst", "nc_burst_buf_dirname": tempfile.gettempdir()},
    "chunked burst": {
        "stage": "burst",
        "nc_burst_buf_dirname": tempfile.gettempdir(),
        "layout": "chunked",
        "codec": "shuffle,zstd:1",
    },
}


def waves(shape, dtype="f4"):
    """Values that differ from element to element and fit every type."""
    return (np.arange(np.prod(shape, dtype=int)) * 7 % 120).reshape(shape).astype(dtype)


@pytest.fixture(params=list(METHODS))
def method(request):
    return METHODS[request.param]


@pytest.fixture
def values():
    return {"T": waves((7, 11, 13)), "P": waves((11, 13), "f8"), "k": waves((7,), "i2"), "n": np.int32(9)}


@pytest.fixture
def path(tmp_path, method, values):
    """A file of four variables, in every layout."""
    return write(tmp_path / "field.nc", values, method)


def write(path, values, method=None):
    with forebay.create(path, method) as out:
        out.create_dimension("t", None)
        out.create_dimension("y", 11)
        out.create_dimension("x", 13)
        out.attributes["title"] = "field"
        for name, dims in (("T", "tyx"), ("P", "yx"), ("k", "t"), ("n", "")):
            variable = out.create_variable(name, values[name].dtype, tuple(dims))
            variable.attributes["units"] = "K"
            variable[...] = values[name]
    return path
