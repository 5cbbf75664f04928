"""xarray's datasets into files: its encoders, our writer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ._types import type_number
from ._writing import WritableDataset, create

if TYPE_CHECKING:
    import xarray

_PIECE = 64 << 20  # bytes that are loaded and written at once
_CLASSIC_TYPES = range(1, 7)
_OURS = ("chunks", "codec")


def to_netcdf(
    dataset: xarray.Dataset | xarray.DataArray,
    path: str | os.PathLike,
    method: str | Mapping[str, Any] | None = None,
    *,
    encoding: Mapping[str, Mapping[str, Any]] | None = None,
    unlimited_dims: str | Iterable[str] | None = None,
    format: str | None = None,
) -> None:
    """Writes an xarray dataset, with the method that is given (see create()).

    Encoded as xarray encodes for netCDF (CF: times, missing values, packing, coordinates). `encoding` tells for each
    variable what xarray's own to_netcdf would be told, and also `chunks` and `codec` (see create_variable()). Variables
    of dask are computed and written chunk by chunk, others in parts of 64 MiB. `format` is by default the oldest one
    that holds the types and sizes. A file that cannot be written completely is removed.
    """
    import xarray

    if isinstance(dataset, xarray.DataArray):
        dataset = dataset.to_dataset(name=dataset.name or "__xarray_dataarray_variable__")
    ours = {name: {k: v for k, v in keys.items() if k in _OURS} for name, keys in (encoding or {}).items()}
    theirs = {name: {k: v for k, v in keys.items() if k not in _OURS} for name, keys in (encoding or {}).items()}
    for name in ours:
        dataset[name]  # KeyError for a name that is not there
    variables, attributes = _encoded(dataset, theirs)
    unlimited = dataset.encoding.get("unlimited_dims", ()) if unlimited_dims is None else unlimited_dims
    unlimited = {unlimited} if isinstance(unlimited, str) else set(unlimited)
    with create(path, method, format=format or _format_for(variables)) as out:
        try:
            _define(out, variables, attributes, unlimited & set(dataset.sizes), ours)
            _write(out, variables)
        except BaseException:
            out.close()
            os.unlink(path)
            raise


def _encoded(dataset: xarray.Dataset, encoding: Mapping[str, Mapping[str, Any]]) -> tuple[dict, dict]:
    """Variables and attributes as a classic file can hold them."""
    from xarray import conventions
    from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder

    variables, attributes = conventions.encode_dataset_coordinates(dataset)
    for name, keys in encoding.items():
        variables[name].encoding = {**variables[name].encoding, **keys}
    variables, attributes = conventions.cf_encoder(variables, attributes)
    strings = (EncodedStringCoder(allows_unicode=False), CharacterArrayCoder())
    for name, variable in variables.items():
        for coder in strings:
            variable = coder.encode(variable, name=name)
        variables[name] = variable
    return variables, attributes


def _format_for(variables: Mapping[str, Any]) -> str:
    small = all(v.nbytes < 1 << 31 for v in variables.values())
    return "CDF-2" if small and all(type_number(v.dtype) in _CLASSIC_TYPES for v in variables.values()) else "CDF-5"


def _define(
    out: WritableDataset, variables: Mapping[str, Any], attributes: Mapping, unlimited: set, ours: Mapping[str, Mapping]
) -> None:
    sizes: dict[str, int] = {}
    for variable in variables.values():
        sizes.update(zip(variable.dims, variable.shape, strict=True))
    for name, size in sizes.items():
        out.create_dimension(name, None if name in unlimited else size)
    for name, variable in variables.items():
        own = dict(variable.attrs)
        fill = own.pop("_FillValue", None)
        out.create_variable(name, variable.dtype, variable.dims, fill_value=fill, attributes=own, **ours.get(name, {}))
    for name, value in attributes.items():
        out.attributes[name] = value


def _parts(variable: Any) -> Iterator[tuple[slice, ...]]:
    """What is loaded at once: dask's chunks, or rows of about _PIECE bytes."""
    if variable.chunks is not None:
        edges = [np.concatenate([[0], np.cumsum(c)]) for c in variable.chunks]
        yield from product(*([slice(int(a), int(b)) for a, b in zip(e, e[1:], strict=False)] for e in edges))
        return
    if not variable.shape:
        yield ()
        return
    rows = max(1, _PIECE * variable.shape[0] // max(variable.nbytes, 1))
    for first in range(0, variable.shape[0], rows):
        yield (slice(first, min(first + rows, variable.shape[0])),)


def _write(out: WritableDataset, variables: Mapping[str, Any]) -> None:
    """Everything, many small parts together."""
    parts = ((name, v, key) for name, v in variables.items() if v.size > 0 for key in _parts(v))
    part = next(parts, None)
    while part is not None:
        held = 0
        with out.batch():
            while part is not None and held < _PIECE:
                name, variable, key = part
                values = np.asarray(variable[key].data if key else variable.data)
                out[name][key or ...] = values
                held += values.nbytes
                part = next(parts, None)
