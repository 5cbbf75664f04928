"""The engine "forebay" of xarray: every file that this package reads, lazily; CF decoding is xarray's own.

xarray finds it by the package's entry point. It offers itself for files that no other engine understands (those with
variables of any layout but the canonical one, and HDF5 files in the log layout, all of which others see as scalars, and
folders that are a netCDF file), and for all others where no engine is installed that would open them. It must be asked
before the others for that: they say yes to whatever begins like a netCDF file. xarray asks its own engines first, so
the order is changed when this module is loaded, which xarray does while it collects the engines.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint, CachingFileManager
from xarray.backends import plugins as _plugins
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing
from xarray.core.variable import Variable as XarrayVariable

from ._dataset import Dataset, LevelDataset, Variable, needs_forebay
from ._groups import group_of
from ._open import absolute, can_open, holds_log, is_cdf5, is_netcdf_folder
from ._open import open as open_file


class ForebayArray(BackendArray):
    """One variable, read when it is indexed. Pickles as the path: the file is opened once a process."""

    __slots__ = ("_manager", "_group", "_level", "_name", "dtype", "shape")

    def __init__(self, manager: CachingFileManager, group: str, level: int, variable: Variable):
        self._manager, self._group, self._level, self._name = manager, group, level, variable.name
        self.dtype, self.shape = variable.dtype, variable.shape
        if self.dtype.hasobject:  # as xarray marks strings of any length
            self.dtype = np.dtype("O", metadata={"element_type": str})

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.typing.ArrayLike:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple) -> np.ndarray:
        dataset: Dataset = group_of(self._manager.acquire(needs_lock=False), self._group)
        return (dataset.at_level(self._level) if self._level else dataset)[self._name].read(key)


class ForebayStore(AbstractDataStore):
    """An open file as xarray's readers see it."""

    def __init__(self, path: str, threads: int | None, group: str, level: int = 0):
        self._manager = CachingFileManager(open_file, path, mode="r", kwargs={"threads": threads}, lock=False)
        self._group = group
        try:
            self._dataset: Dataset = group_of(self._manager.acquire(), group)
        except KeyError as error:
            self._manager.close()
            raise OSError(*error.args) from None  # what netCDF4's engine raises
        self._level = level
        self._shown: Dataset | LevelDataset = self._dataset
        if level:
            try:
                self._shown = self._dataset.at_level(level)
            except IndexError as error:
                self._manager.close()
                raise ValueError(*error.args) from None

    def get_variables(self) -> dict[str, XarrayVariable]:
        return {name: self._variable(variable) for name, variable in self._shown.items()}

    def _variable(self, variable: Variable) -> XarrayVariable:
        array = ForebayArray(self._manager, self._group, self._level, variable)
        data = indexing.LazilyIndexedArray(array)
        dtype = str if variable.dtype.hasobject else variable.dtype
        encoding: dict[str, Any] = {"dtype": dtype, "original_shape": variable.shape}
        encoding["source"] = self._dataset.path
        # Chunks of HDF5 files without a codec are how all that grows is stored there.
        if variable.codec is not None and not (variable.codec == "none" and self._dataset.format[:3] != "CDF"):
            encoding["codec"] = variable.codec
        if variable.chunks:
            encoding["chunksizes"] = variable.chunks
            # A chunk may reach beyond a dimension that is shorter, which dask would not have.
            lengths = [min(c, max(n, 1)) for c, n in zip(variable.chunks, variable.shape, strict=True)]
            encoding["preferred_chunks"] = dict(zip(variable.dimensions, lengths, strict=True))
        attributes = dict(variable.attributes)
        fill = attributes.get("_FillValue")
        if variable.dtype.kind == "S" and isinstance(fill, str):  # as the characters that are compared with it
            attributes["_FillValue"] = np.bytes_(fill.encode("latin-1" if len(fill) == 1 else "utf-8"))
        return XarrayVariable(variable.dimensions, data, attributes, encoding, fastpath=True)

    def get_attrs(self) -> dict[str, Any]:
        return dict(self._dataset.attributes)

    def get_dimensions(self) -> dict[str, int]:
        return {name: dimension.size for name, dimension in self._shown.dimensions.items()}

    def get_encoding(self) -> dict[str, Any]:
        unlimited = {name for name, dimension in self._dataset.dimensions.items() if dimension.unlimited}
        return {"source": self._dataset.path, "unlimited_dims": unlimited}

    def close(self, **kwargs: Any) -> None:
        self._manager.close(**kwargs)


class ForebayBackend(BackendEntrypoint):
    """Opens classic netCDF files, with chunked variables or without, and netCDF-4 and other HDF5 files."""

    description = "Open Forebay's files: classic netCDF, variables in compressed chunks, netCDF-4"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "group",
        "threads",
        "level",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """True for local files that no other engine understands, or none that is installed."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        # Others go by the name of a folder, and then cannot open it.
        if needs_forebay(filename_or_obj) or holds_log(filename_or_obj) or is_netcdf_folder(filename_or_obj):
            return True
        return can_open(filename_or_obj) and not _another_can_open(filename_or_obj)

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
        group: str | None = None,
        threads: int | None = None,
        level: int = 0,
    ):
        """`level`: variables in patches at that coarser level (or their coarsest one, thinned out to it), and every
        2^level-th element of all others along their dimensions.
        """
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            raise ValueError("the engine forebay opens files by their path")
        store = ForebayStore(absolute(filename_or_obj), threads, group or "", level)
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

    def open_groups_as_dict(
        self, filename_or_obj: Any, *, group: str | None = None, levels: bool = False, **options: Any
    ) -> dict[str, Any]:
        """Every group of a file as a dataset, by its path from `group` on; with `levels`, every level of the group's
        variables in patches, by its number.
        """
        if levels:
            return self._open_levels(filename_or_obj, group=group, **options)
        with open_file(filename_or_obj) as file:
            try:
                paths = list(_paths(group_of(file, group or "")))
            except KeyError as error:
                raise OSError(*error.args) from None
        made: dict[str, Any] = {}
        try:
            for path in paths:
                made[path] = self.open_dataset(filename_or_obj, group=f"{group or ''}/{path}", **options)
        except BaseException:
            for dataset in made.values():
                dataset.close()
            raise
        return made

    def _open_levels(self, filename_or_obj: Any, group: str | None, **options: Any) -> dict[str, Any]:
        with open_file(filename_or_obj) as file:
            most = max((variable.levels for variable in group_of(file, group or "").values()), default=0)
        made: dict[str, Any] = {}
        try:
            for level in range(most + 1):
                made[f"/{level}"] = self.open_dataset(filename_or_obj, group=group, level=level, **options)
        except BaseException:
            for dataset in made.values():
                dataset.close()
            raise
        return made

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> Any:
        from xarray import DataTree

        made = self.open_groups_as_dict(filename_or_obj, **options)
        tree = DataTree.from_dict(made)
        for path, dataset in made.items():
            tree[path].set_close(dataset._close)
        return tree


def _paths(dataset: Dataset, path: str = "/") -> Iterator[str]:
    yield path
    for name, group in dataset.groups.items():
        yield from _paths(group, f"{path.rstrip('/')}/{name}")


def _another_can_open(path: str | os.PathLike) -> bool:
    """Whether an engine that is installed reads this file. scipy's says so of CDF-5, too, and then fails."""
    for name, engine in _plugins.list_engines().items():
        if name == "forebay" or (name == "scipy" and is_cdf5(path)):
            continue
        with contextlib.suppress(Exception):  # what is wrong with it is for it to say when it is asked
            if engine.guess_can_open(path):
                return True
    return False


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
