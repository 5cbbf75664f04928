"""xarray's datasets into files: its encoders, our writer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _forebay
from ._beside import beside
from ._open import absolute
from ._storage import Storage
from ._types import encode_attribute
from ._writing import WritableDataset, create, is_netcdf4_format, method_keys

if TYPE_CHECKING:
    import xarray

_PIECE = 64 << 20  # bytes that are loaded and written at once
_TIMES = {"days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"}
# Integers that CDF-1 and CDF-2 have no type for, as one that holds them: all of them, or those that fit.
_WIDE = ("CDF-5", "NETCDF4")  # formats that have types for all of them
_NARROWED = {"u1": "i2", "u2": "i4", "u4": "i4", "i8": "i4", "u8": "i4"}


def to_netcdf(
    dataset: xarray.Dataset | xarray.DataArray,
    path: str | os.PathLike,
    method: str | Mapping[str, Any] | None = None,
    *,
    encoding: Mapping[Hashable, Mapping[str, Any]] | None = None,
    unlimited_dims: str | Iterable[str] | None = None,
    format: str | None = None,
) -> None:
    """Writes an xarray dataset, with the method that is given (see create()).

    Encoded as xarray encodes for netCDF (CF: times, missing values, packing, coordinates). `encoding` says for each
    variable what xarray's own to_netcdf takes (dtype, _FillValue, scale_factor, zlib, complevel, shuffle, chunksizes,
    ...), and also `chunks` and `codec` (see create_variable()); other keys are a ValueError. A variable without one is
    encoded as in the file that it was read from, its codec and chunks among it, unless `method` says layout or codec.
    Variables of dask are computed and written chunk by chunk, others in parts of 64 MiB.

    `format` is by default the oldest one that holds the types and sizes, or NETCDF4 where the method says
    container=netcdf4. In CDF-1, CDF-2 and NETCDF4_CLASSIC integers of 64 bits, and unsigned ones, become int32 where
    all values fit, and are an OverflowError else. A file has one unlimited dimension, and no other of length 0: of
    several that are unlimited in the file that was read the first stays so.

    A file that is at `path` is replaced when the new one is complete, and stays what it is where writing fails.
    """
    dataset = _as_dataset(dataset)
    encoding = encoding or {}
    for name in encoding:
        dataset[name]  # KeyError for a name that is not there
    keys = method_keys(method)
    if is_netcdf4_format(format):
        keys.setdefault("container", "netcdf4")
    netcdf4 = _forebay.container_of(os.fsencode(absolute(path)), keys) == "netcdf4"
    keep = not keys.keys() & {"layout", "codec"}
    variables, attributes, storages = _encoded(dataset, encoding, keep, netcdf4)
    unlimited = _unlimited(dataset, variables, unlimited_dims)
    version = format or ("NETCDF4" if netcdf4 else _format_for(variables, attributes))
    if version not in _WIDE:
        variables = {name: _without_int64_nat(variable) for name, variable in variables.items()}
    with beside(path) as made, create(made, keys, format=version, _rules_of=path) as out:
        _define(out, version, variables, attributes, unlimited, storages)
        _write(out, variables, storages)
        for name in variables:
            if storages[name].contiguous and out._handle.variable(out[name]._number)[4] is not None:
                warnings.warn(
                    f"{name}: contiguous=True was asked for, but the method stores it in chunks", stacklevel=2
                )


def _as_dataset(given: xarray.Dataset | xarray.DataArray) -> xarray.Dataset:
    import xarray

    if not isinstance(given, xarray.DataArray):
        return given
    # As xarray's own to_netcdf names what has no name, or a coordinate's, so that open_dataarray() undoes it.
    if given.name is None or (given.name not in given.coords and given.name not in given.dims):
        return given.to_dataset(name="__xarray_dataarray_variable__" if given.name is None else given.name)
    dataset = given.to_dataset(name="__xarray_dataarray_variable__")
    dataset.attrs["__xarray_dataarray_name__"] = given.name
    return dataset


# -- encoding


def _encoded(
    dataset: xarray.Dataset, encoding: Mapping[Hashable, Mapping[str, Any]], keep: bool, netcdf4: bool
) -> tuple[dict[str, Any], dict, dict[str, Storage]]:
    """Variables and attributes as the classic model can hold them, and how each variable is stored. `keep`: what a
    variable brought along of that counts."""
    from xarray import conventions
    from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder

    try:
        from xarray.backends.common import ensure_dtype_not_object
    except ImportError:  # before 2025
        from xarray.conventions import ensure_dtype_not_object

    variables, attributes = conventions.encode_dataset_coordinates(dataset)
    for name, its in encoding.items():
        variables[name].encoding = its
    own = {key: (variable.ndim, variable.encoding.get("dtype")) for key, variable in variables.items()}
    variables, attributes = conventions.cf_encoder(variables, attributes)
    strings = (EncodedStringCoder(allows_unicode=False), CharacterArrayCoder())
    encoded: dict[str, Any] = {}
    storages: dict[str, Storage] = {}
    for key, variable in variables.items():
        name = _name_of(key)
        variable = ensure_dtype_not_object(variable, name=name)
        for coder in strings:
            variable = coder.encode(variable, name=name)
        (ndim, dtype), given = own[key], key in encoding
        stays = given or (keep and _same_type(dtype, variable.dtype))
        storages[name] = Storage(
            name, variable.encoding if stays else {}, variable.shape, variable.dtype, ndim, given, netcdf4
        )
        encoded[name] = variable
    return encoded, attributes, storages


def _name_of(key: Hashable) -> str:
    if key is None:
        return "__values__"  # as xarray has it
    if not isinstance(key, str):
        raise TypeError(f"a variable is called {key!r}: a name in a file is a string or None")
    if not key:
        raise ValueError(f"a variable is called {key!r}: the string must be length 1 or longer")
    return key


def _same_type(before: Any, now: np.dtype) -> bool:
    """Whether a codec of the file that a variable was read from is for values such as it has now."""
    return before is None or before is str or np.dtype(before).newbyteorder("=") == now.newbyteorder("=")


def _unlimited(dataset: xarray.Dataset, variables: Mapping[str, Any], asked: str | Iterable[str] | None) -> str | None:
    """The dimension that is to be unlimited: the one that is asked for, else one that was in the file read, or is
    empty."""
    sizes: dict[str, int] = {}
    first: dict[str, bool] = {}  # whether it is the first dimension of all variables that have it
    for variable in variables.values():
        for i, (name, size) in enumerate(zip(variable.dims, variable.shape, strict=True)):
            sizes[name], first[name] = size, first.get(name, True) and i == 0
    wanted = _listed(asked)
    if absent := sorted(wanted - set(dataset.sizes)):
        raise ValueError(
            f"Unlimited dimension(s) {absent} declared in 'unlimited_dims-kwarg', but not part of the dataset's "
            f"dimensions ({', '.join(sizes)})"
        )
    if len(wanted) > 1:
        raise ValueError(f"unlimited_dims: a file has one unlimited dimension, not {len(wanted)}")
    empty = [name for name, size in sizes.items() if size == 0]
    if asked is None:
        before = _listed(dataset.encoding.get("unlimited_dims"))
        if absent := sorted(before - set(dataset.sizes)):
            warnings.warn(
                f"Unlimited dimension(s) {absent} declared in 'dataset.encoding', but not part of the dataset's "
                "dimensions",
                stacklevel=3,
            )
        wanted = set([name for name in sizes if name in before and first[name] and not empty][:1])
    wanted = wanted or set([name for name in empty if first[name]][:1])
    if refused := [name for name in empty if name not in wanted]:
        raise ValueError(
            f"dimension {refused[0]!r} has length 0, which in a file the unlimited dimension alone can have: "
            "one, and the first of its variables. Drop what is empty, or transpose it"
        )
    return next(iter(wanted), None)


def _listed(names: str | Iterable[str] | None) -> set[str]:
    return {names} if isinstance(names, str) else set(names or ())


def _format_for(variables: Mapping[str, Any], attributes: Mapping) -> str:
    """The oldest format; attributes of integers that fit int32 are no reason for a newer one."""
    small = all(v.nbytes < 1 << 31 for v in variables.values())
    classic = all(_is_classic(v.dtype) for v in variables.values())
    its = [a for v in variables.values() for n, a in v.attrs.items() if n != "_FillValue"]
    narrow = all(_is_classic(np.asarray(a).dtype) or _narrowed(a) is not None for a in [*attributes.values(), *its])
    return "CDF-2" if small and classic and narrow else "CDF-5"


def _is_classic(dtype: np.dtype) -> bool:
    """Whether CDF-2 holds it, or no format does, which is told when it is defined."""
    return dtype.kind in "USO" or dtype.str[1:] not in _NARROWED


def _narrowed(value: Any) -> np.ndarray | None:
    """Integers as a type that CDF-2 has, if they fit."""
    array = np.asarray(value)
    narrow = array.astype(_NARROWED[array.dtype.str[1:]])
    return narrow if np.array_equal(narrow, array) else None


def _without_int64_nat(variable: Any) -> Any:
    """Times of which some are missing, which xarray has as the least of int64, as numbers of which these are NaN."""
    units = variable.attrs.get("units", "")
    times = isinstance(units, str) and (" since " in units or units in _TIMES)
    if not times or variable.dtype != "i8" or "_FillValue" in variable.attrs:
        return variable
    missing = variable.data == np.iinfo("i8").min
    if not missing.any():
        return variable
    values = variable.data.astype("f8")
    values[missing] = np.nan
    return type(variable)(variable.dims, values, {**variable.attrs, "_FillValue": np.nan})


# -- the file


def _define(
    out: WritableDataset,
    version: str,
    variables: Mapping[str, Any],
    attributes: Mapping,
    unlimited: str | None,
    storages: Mapping[str, Storage],
) -> None:
    sizes: dict[str, int] = {}
    for variable in variables.values():
        sizes.update(zip(variable.dims, variable.shape, strict=True))
    for name, size in sizes.items():
        out.create_dimension(name, None if name == unlimited else size)
    for name, variable in variables.items():
        storage, own = storages[name], dict(variable.attrs)
        dtype, fill = variable.dtype, own.pop("_FillValue", None)
        if version not in _WIDE and dtype.str[1:] in _NARROWED:
            dtype = np.dtype(_NARROWED[dtype.str[1:]])
        if storage.least_significant_digit is not None:
            own["least_significant_digit"] = storage.least_significant_digit
        made = out.create_variable(
            name, dtype, variable.dims, fill_value=fill, chunks=storage.chunks, codec=storage.codec
        )
        _put_attributes(made.attributes, own, version, f"variable {name!r}: ")
    _put_attributes(out.attributes, attributes, version, "")


def _put_attributes(into: Any, attributes: Mapping, format: str, where: str) -> None:
    for key, value in attributes.items():
        if not isinstance(key, str):
            raise TypeError(f"{where}an attribute is called {key!r}: names in a file are text")
        try:
            if format not in _WIDE and not _is_classic(np.asarray(value).dtype):
                narrow = _narrowed(value)
                if narrow is None:
                    raise OverflowError(
                        f"attribute {key!r}: {value!r} does not fit int32, the widest integer of {format}"
                    )
                value = narrow
            encode_attribute(key, value)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"{where}{error}") from None
        into[key] = value


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


def _write(out: WritableDataset, variables: Mapping[str, Any], storages: Mapping[str, Storage]) -> None:
    """Everything, many small parts together."""
    parts = ((name, v, key) for name, v in variables.items() if v.size > 0 for key in _parts(v))
    part = next(parts, None)
    while part is not None:
        held = 0
        with out.batch():
            while part is not None and held < _PIECE:
                name, variable, key = part
                values = storages[name].quantised(np.asarray(variable[key].data if key else variable.data))
                try:
                    out[name][key or ...] = values
                except OverflowError:
                    raise OverflowError(
                        f"variable {name!r}: values of {values.dtype} do not fit {out[name].dtype}, the type that "
                        f"{out.format} has for them (CDF-5 has {values.dtype}; times fit by encoding units and dtype)"
                    ) from None
                held += values.nbytes
                part = next(parts, None)
