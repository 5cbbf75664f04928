"""Opening files for reading, and for writing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _forebay
from ._dataset import Dataset


def open(
    path: str | os.PathLike,
    mode: str = "r",
    threads: int | None = None,
    check_changes: bool = True,
    *,
    method: str | Mapping[str, Any] | None = None,
    comm: Any = None,
) -> Dataset:
    """Opens a file for reading ("r"), or an existing one for writing too ("a").

    Only the header is read; values are read when variables are indexed. Large reads, and the decoding of chunks, use
    up to `threads` threads (default: one for each processor that the process may use, 8 at most).

    If the file was written to since it was opened, reads raise ChangedFileError, since what they give may be of two
    states of the file; with check_changes=False they give what is there.

    `method` and `comm` are for writing: see create().

    Raises FileNotFoundError, PermissionError or another OSError of the system, and FormatError (an OSError and a
    ValueError) for a file that is not one of ours, cut short or damaged.
    """
    name = os.fsdecode(path)
    if mode == "r":
        if method is not None or comm is not None:
            raise ValueError("method and comm are for writing: open with mode='a', or use forebay.create()")
        return Dataset(name, reader_for(name), threads, check_changes)
    if mode == "a":
        from ._writing import append

        return append(name, method, comm)
    raise ValueError(f"mode {mode!r} is not known: 'r' reads, 'a' also writes; forebay.create() makes new files")


def reader_for(path: str) -> Any:
    """What reads a file of this format.

    The one place that chooses: whatever it returns has describe(), attributes(), read() and close() as
    _forebay.Reader does, and the classes of this package need nothing else.
    """
    return _forebay.Reader(os.fsencode(path))
