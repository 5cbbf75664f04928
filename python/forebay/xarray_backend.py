"""The engine "forebay" of xarray: every file that this package reads, lazily; CF decoding is xarray's own.

xarray finds it by the package's entry point. It offers itself only for files that no other engine understands (those
with chunked variables, which others see as scalars), and must be asked before the others for that: they say yes to
whatever begins like a netCDF file. xarray asks its own engines first, so the order is changed when this module is
loaded, which xarray does while it collects the engines.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint, CachingFileManager
from xarray.backends import plugins as _plugins
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing
from xarray.core.variable import Variable as XarrayVariable

from ._dataset import Dataset, Variable, has_chunked_variables
from ._open import open as open_file


class ForebayArray(BackendArray):
    """One variable, read when it is indexed. Pickles as the path: the file is opened once a process."""

    __slots__ = ("_manager", "_name", "dtype", "shape")

    def __init__(self, manager: CachingFileManager, variable: Variable):
        self._manager, self._name = manager, variable.name
        self.dtype, self.shape = variable.dtype, variable.shape

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.typing.ArrayLike:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple) -> np.ndarray:
        dataset: Dataset = self._manager.acquire(needs_lock=False)
        return dataset[self._name].read(key)


class ForebayStore(AbstractDataStore):
    """An open file as xarray's readers see it."""

    def __init__(self, path: str, threads: int | None):
        self._manager = CachingFileManager(open_file, path, mode="r", kwargs={"threads": threads}, lock=False)
        self._dataset: Dataset = self._manager.acquire()

    def get_variables(self) -> dict[str, XarrayVariable]:
        return {name: self._variable(variable) for name, variable in self._dataset.items()}

    def _variable(self, variable: Variable) -> XarrayVariable:
        data = indexing.LazilyIndexedArray(ForebayArray(self._manager, variable))
        encoding: dict[str, Any] = {"dtype": variable.dtype, "original_shape": variable.shape}
        encoding["source"] = self._dataset.path
        if variable.codec is not None:
            encoding["codec"] = variable.codec
        if variable.chunks:
            encoding["chunksizes"] = variable.chunks
            # A chunk may reach beyond a dimension that is shorter, which dask would not have.
            lengths = [min(c, max(n, 1)) for c, n in zip(variable.chunks, variable.shape, strict=True)]
            encoding["preferred_chunks"] = dict(zip(variable.dimensions, lengths, strict=True))
        return XarrayVariable(variable.dimensions, data, dict(variable.attributes), encoding, fastpath=True)

    def get_attrs(self) -> dict[str, Any]:
        return dict(self._dataset.attributes)

    def get_dimensions(self) -> dict[str, int]:
        return {name: dimension.size for name, dimension in self._dataset.dimensions.items()}

    def get_encoding(self) -> dict[str, Any]:
        unlimited = self._dataset.unlimited
        return {"source": self._dataset.path, "unlimited_dims": set() if unlimited is None else {unlimited}}

    def close(self, **kwargs: Any) -> None:
        self._manager.close(**kwargs)


class ForebayBackend(BackendEntrypoint):
    """Opens classic netCDF files, with chunked variables or without."""

    description = "Open Forebay's files: classic netCDF, and variables in compressed chunks"
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "threads",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """True only for local files that no other engine understands."""
        return isinstance(filename_or_obj, (str, os.PathLike)) and has_chunked_variables(filename_or_obj)

    def open_dataset(  # type: ignore[override]
        self,
        filename_or_obj: str | os.PathLike,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: Any = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        threads: int | None = None,
    ):
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            raise ValueError("the engine forebay opens files by their path")
        store = ForebayStore(os.path.abspath(os.fspath(filename_or_obj)), threads)
        try:
            return StoreBackendEntrypoint().open_dataset(
                store,
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
            )
        except BaseException:
            store.close()
            raise


def _ask_first() -> None:
    """Puts this engine before the others whenever xarray sorts them."""
    sort = getattr(_plugins, "sort_backends", None)
    if sort is None or hasattr(sort, "forebay_first"):
        return

    def sort_backends(found: dict[str, type[BackendEntrypoint]]) -> dict[str, type[BackendEntrypoint]]:
        ordered = sort(found)
        if "forebay" in ordered:
            ordered = {"forebay": ordered["forebay"], **ordered}
        return ordered

    sort_backends.forebay_first = True  # type: ignore[attr-defined]
    _plugins.sort_backends = sort_backends


_ask_first()
