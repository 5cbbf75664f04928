"""Writing: a dataset and its variables over the library's own, by one process or by all ranks of a communicator."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import warnings
import weakref
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from . import _forebay
from ._dataset import GLOBAL, Dataset, Dimension, Variable
from ._errors import missing
from ._indexing import Selection, select
from ._open import absolute
from ._types import CHAR, DTYPES, encode_attribute, type_number

_VERSIONS = {"CDF-1": 1, "CDF-2": 2, "CDF-5": 5, "NETCDF4": 3, "NETCDF4_CLASSIC": 4}
_unclosed: weakref.WeakSet[WritableDataset] = weakref.WeakSet()
_numbers = itertools.count()


@atexit.register
def close_all() -> None:
    """Closes what a program leaves open when it ends. Ranks have the same files then, and close them in one order."""
    for file in sorted(_unclosed, key=lambda one: one._number):
        if file._process != os.getpid():  # a fork's parent has it
            continue
        try:
            file.close()
        except Exception as error:
            print(f"forebay: {file._path} was not closed before the program ended: {error}", file=sys.stderr)


def method_keys(method: str | Mapping[str, Any] | None) -> dict[str, str]:
    """A method as keys and values: from a string as in FOREBAY_HINTS ("layout=chunked;codec=zstd:3"), or a mapping."""
    if method is None:
        return {}
    if isinstance(method, str):
        parts = [part.strip() for part in method.split(";") if part.strip()]
        pairs = [part.split("=", 1) for part in parts]
        for pair in pairs:
            if len(pair) != 2:
                raise ValueError(f"method {method!r}: {pair[0]!r} has no value; write key=value;key=value")
        return {key.strip(): value.strip() for key, value in pairs}
    return {str(key): _hint(value) for key, value in method.items()}


def is_netcdf4_format(format: str | None) -> bool:
    return format is not None and format.startswith("NETCDF4")


def _hint(value: Any) -> str:
    if isinstance(value, bool):
        return "enable" if value else "disable"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)


def _communicator(comm: Any) -> int | None:
    """The handle of an mpi4py communicator; of this process alone where none is given and the build has MPI."""
    if comm is None and not _forebay.mpi:
        return None
    if not _forebay.mpi:
        from ._errors import UnsupportedError

        raise UnsupportedError(
            "comm was given, but this build of the package has no MPI (install it with: "
            "pip install . --config-settings cmake.define.FOREBAY_MPI=ON)"
        )
    try:
        from mpi4py import MPI  # starts MPI
    except ImportError as error:
        raise ImportError(
            "this build of the package writes through MPI and needs mpi4py (pip install mpi4py)"
        ) from error
    return (MPI.COMM_SELF if comm is None else comm).py2f()


def create(
    path: str | os.PathLike,
    method: str | Mapping[str, Any] | None = None,
    *,
    format: str = "CDF-5",
    overwrite: bool = True,
    comm: Any = None,
    _bundle: int = 0,
    _rules_of: str | os.PathLike = "",
) -> WritableDataset:
    """Creates a file, in the place of one of that name unless overwrite=False (FileExistsError).

    `method` chooses how the file is written (docs/methods.md lists the keys): a string as in FOREBAY_HINTS
    ("layout=chunked;codec=shuffle,zstd:3"), or a dict (layout="chunked", codec="shuffle,zstd:3"). What the
    environment says (FOREBAY_HINTS, before that FOREBAY_CONFIG) beats what is said here, and in chunks= and codec=.

    `format` is "CDF-1", "CDF-2" or "CDF-5", the default; all types and sizes are possible in CDF-5 only, older programs
    read the others. "NETCDF4" and "NETCDF4_CLASSIC" are what the method says by container=netcdf4: the file is HDF5,
    and "NETCDF4" has all types.

    `comm`, an mpi4py communicator, writes with all its ranks (needs a build with MPI). Then create(), close(),
    definitions and assignments are collective: every rank makes them, in the same order; a rank without data assigns
    to an empty selection.
    """
    if format not in _VERSIONS:
        raise ValueError(f"format {format!r} is not known: it is one of {', '.join(_VERSIONS)}")
    name = absolute(path)
    rules_of = os.fsencode(absolute(_rules_of)) if _rules_of else b""
    keys = method_keys(method)
    if is_netcdf4_format(format) and keys.setdefault("container", "netcdf4") != "netcdf4":
        raise ValueError(f"format {format!r}, and container={keys['container']}, cannot both be")
    handle = _forebay.Writer(
        os.fsencode(name), _VERSIONS[format], overwrite, keys, _communicator(comm), _bundle, rules_of
    )
    return WritableDataset(name, handle)


def append(path: str, method: str | Mapping[str, Any] | None, comm: Any, bundle: int = 0) -> WritableDataset:
    """An existing file for reading and writing: forebay.open(path, "a")."""
    handle = _forebay.Writer.append(os.fsencode(path), method_keys(method), _communicator(comm), bundle)
    return WritableDataset(path, handle)


class Attributes(MutableMapping):
    """Attributes of a dataset or a variable that is open for writing: text, numbers, sequences of numbers."""

    def __init__(self, dataset: WritableDataset, owner: int):
        self._dataset, self._owner = dataset, owner

    def _now(self) -> Mapping[str, Any]:
        return Dataset._attributes_of(self._dataset, self._owner)

    def __getitem__(self, name: str) -> Any:
        now = self._now()
        if name not in now:
            raise missing("attribute", name, list(now), self._dataset.path)
        return now[name]

    def __setitem__(self, name: str, value: Any) -> None:
        number, count, external = encode_attribute(name, value)
        self._dataset._handle_for_use().put_attribute(self._owner, name, number, count, external)
        self._dataset._attribute_cache.pop(self._owner, None)

    def __delitem__(self, name: str) -> None:
        self[name]
        self._dataset._handle_for_use().delete_attribute(self._owner, name)
        self._dataset._attribute_cache.pop(self._owner, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __repr__(self) -> str:
        return repr(dict(self._now()))


class WritableVariable(Variable):
    """A variable whose elements can be assigned, selected as for reading; values are broadcast and converted.

    Assigning beyond the end of an unlimited dimension makes it longer. Values that the variable's type cannot hold
    raise OverflowError; all others have been written then.
    """

    _dataset: WritableDataset

    @property
    def attributes(self) -> Attributes:  # type: ignore[override]
        return Attributes(self._dataset, self._number)

    attrs = attributes

    @property
    def chunks(self) -> tuple[int, ...] | None:
        if self.codec is not None and not self._chunks:  # chosen at the first write
            self._chunks = self._dataset._handle_for_use().variable(self._number)[3]
        return self._chunks or None

    def __setitem__(self, key: Any, values: Any) -> None:
        dataset = self._dataset
        handle = dataset._handle_for_use()
        try:
            selection, array, number = self._prepare(key, values)
        except Exception:
            if not dataset._queue_active and handle.ranks > 1:
                handle.take_part()  # the other ranks are there already
            raise
        if dataset._queue_active:
            dataset._queue.append(array)  # its memory must stay until the queue is written
        handle.write(
            self._number, selection.start, selection.count, selection.strides, array, number, dataset._queue_active
        )

    def _prepare(self, key: Any, values: Any) -> tuple[Selection, np.ndarray, int]:
        """The selection, the values in the order of the file, and their type."""
        if self._type == CHAR:
            values = self._text(values)
        else:
            values = np.asarray(values)
        number = type_number(self.dtype if values.dtype == object else values.dtype)
        shape = self.shape
        grows = None
        if self._dims and self._dims[0].unlimited:
            grows = values.shape[0] if values.ndim == len(shape) else shape[0]
        selection = select(key, shape, self.name, grows=grows)
        array = self._spread(values, selection.shape)
        if selection.flip is not None:
            array = array.reshape(selection.count)[selection.flip]
        return selection, np.ascontiguousarray(array, DTYPES[number]), number

    def _spread(self, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Values broadcast to a selection; as NumPy's assignment does, leading axes of length 1 are dropped."""
        surplus = values.ndim - len(shape)
        if surplus > 0 and values.shape[:surplus] == (1,) * surplus:
            values = values.reshape(values.shape[surplus:])
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            raise ValueError(
                f"{self.name}: values of shape {values.shape} do not fit the selection of shape {shape}"
            ) from None

    def _text(self, values: Any) -> np.ndarray:
        """Characters as S1: a str or bytes is padded with NUL to the last dimension."""
        if isinstance(values, str):
            values = values.encode()
        if isinstance(values, bytes) and self._dims:
            length = self._dims[-1].size
            if len(values) > length and not self._dims[-1].unlimited:
                raise ValueError(f"{self.name}: a text of {len(values)} bytes does not fit the dimension of {length}")
            values = values.ljust(length, b"\0")
            return np.frombuffer(values, "S1")
        array = np.asarray(values)
        if array.dtype.kind == "U":
            array = np.char.encode(array, "utf-8")
        if array.dtype.kind != "S" or array.dtype.itemsize > 1:
            raise TypeError(f"{self.name} holds characters: assign a str, bytes, or an array of S1")
        return array.astype("S1")

    def __reduce__(self) -> tuple:
        raise TypeError("a file that is open for writing cannot be pickled")


class WritableDataset(Dataset):
    """A file that is open for writing; made by forebay.create() and forebay.open(path, "a").

    Definitions and assignments may come in any order, but defining after data has been written may move that data.
    Close it, or use `with`: only then is the file complete.
    """

    _variable_class = WritableVariable

    def __init__(self, path: str, handle: Any):
        super().__init__(path, handle, None)
        self._queue: list[np.ndarray] = []
        self._queue_active = False
        self._number, self._process = next(_numbers), os.getpid()
        _unclosed.add(self)

    @property
    def attributes(self) -> Attributes:  # type: ignore[override]
        return Attributes(self, GLOBAL)

    attrs = attributes

    @property
    def method(self) -> Mapping[str, str]:
        """The method in force: hint keys and values."""
        return MappingProxyType(self._handle_for_use().method())

    def create_dimension(self, name: str, size: int | None) -> Dimension:
        """Defines a dimension; size None is the unlimited one, of which a file has at most one."""
        length = 0 if size is None else int(size)
        if size is not None and length < 1:
            raise ValueError(
                f"dimension {name!r} cannot have the size {length}: no dimension of a file is empty, but for the "
                "unlimited one (None)"
            )
        self._handle_for_use().define_dimension(name, length)
        dimension = Dimension(name, length, length == 0, self)
        self._dims.append(dimension)
        return dimension

    def create_variable(
        self,
        name: str,
        dtype: Any,
        dimensions: Sequence[str] = (),
        *,
        fill_value: Any = None,
        chunks: Sequence[int] | bool | None = None,
        codec: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> WritableVariable:
        """Defines a variable over dimensions, slowest first; only the first may be unlimited.

        `fill_value` becomes the attribute _FillValue, and what was never written reads as that (else as zeros, or in
        chunked variables as netCDF's default for the type). `chunks` stores the variable in chunks of that shape (True:
        of a shape that is chosen at the first write), `codec` encodes them ("shuffle,zstd:3"); without either the
        file's method decides. What chunks and codecs there are: docs/chunked.md, docs/methods.md.
        """
        if isinstance(dimensions, str):
            dimensions = (dimensions,)
        numbers = {d.name: i for i, d in enumerate(self._dims)}
        for dimension in dimensions:
            if dimension not in numbers:
                raise missing("dimension", dimension, list(numbers), self.path)
        try:
            number = type_number(dtype)
        except TypeError as error:
            raise TypeError(f"variable {name!r}: {error}") from None
        fill = None
        if fill_value is not None:
            fill = np.asarray(fill_value, DTYPES[number]).reshape(()).tobytes()
        shape = [] if chunks is True else None if chunks in (None, False) else [int(n) for n in chunks]
        handle = self._handle_for_use()
        at = handle.define_variable(name, number, [numbers[d] for d in dimensions], fill, shape, codec)
        variable = WritableVariable(self, at, handle.variable(at))
        self._vars[variable.name] = variable
        for key, value in (attributes or {}).items():
            variable.attributes[key] = value
        return variable

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Assignments within the block are queued, and written together at its end.

        The library orders, exchanges and encodes them all at once, which is quicker than one after another where they
        are many or small, or chunked. Collective at its end; ranks may assign different numbers of times.
        """
        if self._queue_active:
            yield
            return
        self._queue_active = True
        try:
            yield
        finally:
            self._queue_active = False
            try:
                self._handle_for_use().flush()
            finally:
                self._queue.clear()

    @contextmanager
    def independent(self) -> Iterator[None]:
        """Within the block each rank assigns on its own, at its own pace. Collective at its beginning and end."""
        handle = self._handle_for_use()
        handle.begin_independent()
        try:
            yield
        finally:
            handle.end_independent()

    def sync(self) -> None:
        """Everything written so far reaches the device. Collective."""
        self._handle_for_use().sync()

    def close(self) -> None:
        """Completes and closes the file. Collective."""
        if not self._closed:
            self._note_end()
            self._handle.close(False)

    def _note_end(self) -> None:
        self._numrecs = self._handle.records
        self._closed = True
        _unclosed.discard(self)

    def __enter__(self) -> WritableDataset:
        return self

    def __exit__(self, kind: Any, *exception: object) -> None:
        if kind is not None and not self._closed and self._handle.ranks > 1:
            return  # closing is collective, and the other ranks are elsewhere; the error is what counts
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and getattr(self, "_process", None) == os.getpid():
            warnings.warn(f"{self._path}: a file was not closed", ResourceWarning, source=self, stacklevel=2)
            if self._handle.ranks == 1:
                self.close()

    def __reduce__(self) -> tuple:
        raise TypeError("a file that is open for writing cannot be pickled")

    def _records(self, size: int = 0) -> int:
        return self._numrecs if self._closed else self._handle.records

    def _read(self, number: int, selection: Selection, out: np.ndarray, threads: int | None) -> None:
        self._handle_for_use().read(number, selection.start, selection.count, selection.strides, out)
