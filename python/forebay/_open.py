"""Opening files for reading, and for writing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from . import _forebay
from ._dataset import Dataset, absolute
from ._errors import StagedWritesWarning, UnsupportedError
from ._wings import has, need


def open(
    path: str | os.PathLike,
    mode: str = "r",
    threads: int | None = None,
    check_changes: bool = True,
    *,
    method: str | Mapping[str, Any] | None = None,
    comm: Any = None,
    recover: str | None = None,
) -> Dataset:
    """Opens a file for reading ("r"), or an existing one for writing too ("a").

    Only the header is read; values are read when variables are indexed. Large reads, and the decoding of chunks, use
    up to `threads` threads (default: one for each processor that the process may use, 8 at most).

    BP files (BP3, BP4), and netCDF-4 and other HDF5 files where this build has HDF5 (forebay.has_hdf5), are for reading
    only. One thread at a time reads them: HDF5 lets in no more.

    If the file was written to since it was opened, reads raise ChangedFileError, since what they give may be of two
    states of the file; with check_changes=False they give what is there.

    `method` and `comm` are for writing: see create().

    If a job that staged its writes ended before they reached the file, StagedWritesWarning tells how to bring them in;
    what is read is the file as it is. With recover="overlay" (or FOREBAY_HINTS="recover=overlay"), what the logs of a
    job hold is laid over what the file holds, also while the job runs; "overlay-partial" goes on without logs that
    cannot be seen from here. What is read is as new as the moment of opening at least (docs/burst.md), and
    ChangedFileError is not raised.

    Raises FileNotFoundError, PermissionError or another OSError of the system, and FormatError (an OSError and a
    ValueError) for a file that is not one of ours, cut short or damaged.
    """
    name = os.fsdecode(path)
    if mode == "r":
        if method is not None or comm is not None:
            raise ValueError("method and comm are for writing: open with mode='a', or use forebay.create()")
        if recover not in (None, "ignore", *_OVERLAYS):
            raise ValueError(f"recover={recover!r} is not known: 'ignore', {', '.join(map(repr, _OVERLAYS))}")
        overlay = _overlay_of(absolute(name), recover)
        if overlay:
            file = Dataset(name, getattr(_forebay, _OVERLAYS[overlay])(os.fsencode(absolute(name))), threads, False)
            file._recover = recover
            return file
        staged = _forebay.staged_writes(os.fsencode(name))
        if staged is not None:
            warnings.warn(staged, StagedWritesWarning, stacklevel=2)
        file = Dataset(name, reader_for(absolute(name)), threads, check_changes)
        file._recover = recover
        return file
    if recover is not None:
        raise ValueError("recover is for reading; for writing it is a key of method")
    if mode == "a":
        from ._writing import append

        return append(name, method, comm)
    raise ValueError(f"mode {mode!r} is not known: 'r' reads, 'a' also writes; forebay.create() makes new files")


_OVERLAYS = {"overlay": "OverlayReader", "overlay-partial": "PartialOverlayReader"}


def _overlay_of(path: str, recover: str | None) -> str:
    """What of _OVERLAYS is in force for a file for which a job has staged writes; else ""."""
    if not has("burst"):
        if recover in _OVERLAYS:
            need("burst", f"recover={recover}")
        return ""
    name = os.fsencode(path)
    overlay = _forebay.overlay_of(name, recover or "")
    if overlay and is_bp(name):
        raise UnsupportedError(f"{path} has staged steps, which nothing lays over a BP file: run forebay recover")
    return overlay


def open_again(path: str, threads: int, check_changes: bool, recover: str | None) -> Dataset:
    """As a pickle has it."""
    return open(path, "r", threads, check_changes, recover=recover)


def reader_for(path: str) -> Any:
    """What reads a file of this format.

    The one place that chooses: whatever it returns has describe(), attributes(), read() and close() as
    _forebay.Reader does, and the classes of this package need nothing else. What reads files with groups describes
    them too (_groups.py).
    """
    name = os.fsencode(path)
    if is_bp(name):
        return _forebay.BpReader(name)
    if _forebay.hdf5 and _is_hdf5_file(name):
        try:
            from . import _hdf5  # only now: it brings HDF5 and all that HDF5 needs
        except ImportError as error:
            raise UnsupportedError(f"{path}: an HDF5 file, but HDF5 cannot be loaded: {error}") from error
        return _hdf5.Reader(name)
    return _forebay.Reader(name)


_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_LOG_MARK = b"_forebay_file\0"  # an attribute of the first group of a log (docs/formats.md)


def _is_hdf5_file(path: bytes) -> bool:
    """Whether a file begins as HDF5 files do: at once, or after a block of the user's of 512, 1024, 2048, ... bytes."""
    return _begin_of_hdf5(path, 8) is not None


def can_open(path: str | os.PathLike) -> bool:
    """Whether a file begins as those do that open() reads; False also for what is not there."""
    name = os.fsencode(path)
    return _begin(name)[:3] == b"CDF" or is_bp(name) or (_forebay.hdf5 and _is_hdf5_file(name))


def is_bp(path: str | os.PathLike) -> bool:
    """Whether a path is a folder as adios2's engines BP4 and BP5 make them, or a file as BP3 has them."""
    return has("groups") and _forebay.is_bp(os.fsencode(path))


def is_cdf5(path: str | os.PathLike) -> bool:
    """Whether a file begins as classic netCDF files with 64-bit data do."""
    return _begin(os.fsencode(path)) == b"CDF\5"


def is_netcdf_folder(path: str | os.PathLike) -> bool:
    """Whether a path is a folder that is taken as one netCDF file; no other reader does so."""
    name = os.fsencode(path)
    return os.path.isdir(name) and _begin(name)[:3] == b"CDF"


def _begin(path: bytes) -> bytes:
    """The first four bytes of a file; fewer, or none, where there are no more.

    Of a folder that is taken as one file: of its definitions.
    """
    header = os.path.join(path, b"header.nc")
    try:
        file = os.open(header if os.path.isfile(header) else path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.pread(file, 4, 0)
    except OSError:  # a folder, a pipe
        return b""
    finally:
        os.close(file)


def holds_log(path: str | os.PathLike) -> bool:
    """Whether a file is an HDF5 file in the log layout, whose datasets other readers of HDF5 see as scalars.

    Looks at its beginning only, without HDF5; False for every other file, also for what is not there.
    """
    if not _forebay.hdf5:
        return False
    begin = _begin_of_hdf5(os.fsencode(path), 1 << 16)
    return begin is not None and _LOG_MARK in begin


def _begin_of_hdf5(path: bytes, size: int) -> bytes | None:
    """So many bytes of an HDF5 file from its signature on, or as many as there are; None: it is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        at, begin = 0, os.pread(file, 8, 0)
        # A classic file may hold an HDF5 file as its data.
        while len(begin) == 8 and begin != _SIGNATURE and not (at == 0 and begin[:3] == b"CDF"):
            at = max(512, 2 * at)
            begin = os.pread(file, 8, at)
        return os.pread(file, size, at) if begin == _SIGNATURE else None
    except OSError:  # a folder, a pipe
        return None
    finally:
        os.close(file)
