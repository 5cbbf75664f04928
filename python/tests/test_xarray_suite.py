"""xarray's own tests of engines, over ours and forebay.to_netcdf: round trips of all kinds, in several layouts."""

import contextlib
import inspect

import pytest
import xarray
from xarray.tests import test_backends as suite

import forebay

# Tests that cannot apply, and why.
NO_STORE = "to_netcdf writes whole datasets; there is no store to dump variables to"
NO_APPEND = "to_netcdf makes whole files; forebay.open(path, 'a') changes what is there"
REASONS = {
    "test_write_store": NO_STORE,
    "test_append_write": NO_APPEND,
    "test_append_overwrite_values": NO_APPEND,
    "test_append_with_invalid_dim_raises": NO_APPEND,
    "test_load_async": "as xarray's own engines for netCDF it loads in the thread of the caller",
    "test_byte_attrs": "text that is not UTF-8 is taken for Latin-1, and not for unknown characters",
}


# As xarray's conftest.py has them.
@pytest.fixture(params=[False, True])
def use_dask(request):
    return request.param


@pytest.fixture(params=["s", "ms", "us", "ns"])
def time_unit(request):
    return request.param


class Base(suite.NetCDFBase):
    engine = "forebay"
    method = None

    def save(self, dataset, path, **kwargs):
        return forebay.to_netcdf(dataset, path, self.method, **kwargs)

    @contextlib.contextmanager
    def open(self, path, **kwargs):
        with xarray.open_dataset(path, engine="forebay", **kwargs) as dataset:
            yield dataset

    @pytest.fixture(autouse=True)
    def applies(self, request):
        if reason := REASONS.get(request.function.__name__):
            pytest.skip(reason)


class TestClassic(Base):
    """With what netCDF-4's tests have of chunks, strings and groups that classic files have, or that we read."""


for name in [
    "test_open_group",
    "test_open_subgroup",
    "test_default_to_char_arrays",
    "test_open_encodings",
    "test_keep_chunksizes_if_no_original_shape",
    "test_preferred_chunks_is_present",
    "test_auto_chunking_is_based_on_disk_chunk_sizes",
    "test_base_chunking_uses_disk_chunk_sizes",
    "test_preferred_chunks_are_disk_chunk_sizes",
    "test_encoding_chunksizes_unlimited",
    "test_mask_and_scale",
    "test_0dimensional_variable",
    "test_read_variable_len_strings",
    "test_roundtrip_character_array",
]:
    setattr(TestClassic, name, getattr(suite.NetCDF4Base, name))
TestClassic.chunked_roundtrip = suite.NetCDF4Base.chunked_roundtrip


class TestChunked(Base):
    method = {"layout": "chunked", "codec": "shuffle,zstd:1"}


class TestDirectory(Base):
    method = {"container": "directory"}

    @pytest.mark.skip(reason="it copies a file, and this is a folder")
    def test_refresh_from_disk(self):
        pass


def test_reasons_are_of_tests():
    assert REASONS.keys() <= {name for name, _ in inspect.getmembers(Base)}
