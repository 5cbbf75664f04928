"""References for Zarr: where in a file the chunks of each variable are, in kerchunk's format."""

from __future__ import annotations

import builtins
import json
import os
import warnings
from typing import Any

from ._dataset import Dataset
from ._errors import UnsupportedError


def _make(source: str | os.PathLike | Dataset, url: str | None, skip: bool, inline_limit: int) -> str:
    from ._open import open

    if not isinstance(source, Dataset):
        with open(source) as dataset:
            return _make(dataset, url, skip, inline_limit)
    if not hasattr(source._handle_for_use(), "references"):
        raise UnsupportedError(
            f"{source.path}: references are made of classic files; of HDF5 files kerchunk makes them"
        )
    address = os.path.abspath(source._place) if url is None else url
    text, *_, left_out = source._handle_for_use().references(address, inline_limit, skip)
    for reason in left_out:
        warnings.warn(f"not in the references: {reason}", stacklevel=4)
    return text


def references(
    source: str | os.PathLike | Dataset, *, url: str | None = None, skip: bool = False, inline_limit: int = 64 << 20
) -> dict[str, Any]:
    """References to a file, with which zarr and xarray read it without Forebay, through fsspec's "reference" files.

    Chunks whose codecs Zarr knows are referenced where they are; those that Zarr wants in another form (cut off at the
    edge, or stored as they are among encoded ones) are put in, as base64, up to `inline_limit` bytes. `url` stands for
    the file in the references (default: its absolute path). A variable that cannot be referenced raises
    UnsupportedError with the reason, or with skip=True is left out with a warning.
    """
    return json.loads(_make(source, url, skip, inline_limit))


def write_references(
    source: str | os.PathLike | Dataset,
    out: str | os.PathLike,
    *,
    url: str | None = None,
    skip: bool = False,
    inline_limit: int = 64 << 20,
) -> None:
    """Writes references() to the file `out`, which appears whole or not at all."""
    text = _make(source, url, skip, inline_limit)
    temporary = f"{os.fspath(out)}.{os.getpid()}.part"
    try:
        with builtins.open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, out)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
