"""An open file and its variables, for reading."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from . import _forebay, _repr
from ._errors import ChangedFileError, FormatError, LostStepsWarning, UnsupportedError, missing
from ._indexing import Selection, select
from ._types import decode_attribute, dtype_of
from ._wings import need

GLOBAL = -1  # the owner of a file's own attributes
_FORMATS = {1: "CDF-1", 2: "CDF-2", 3: "netCDF-4", 4: "netCDF-4", 5: "CDF-5"}  # by the library's number
_LARGE = 1 << 16  # bytes from which an array is worth more than one thread


def default_threads() -> int:
    """As many threads as this process may use processors, 8 at most."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(8, len(affinity(0)) if affinity else os.cpu_count() or 1)


class Names(Mapping):
    """Things by name, in the order of the file. A wrong name gets a KeyError with the one that may have been meant."""

    def __init__(self, kind: str, where: str, items: dict[str, Any]):
        self._kind, self._where, self._items = kind, where, items

    def __getitem__(self, name: str) -> Any:
        try:
            return self._items[name]
        except (KeyError, TypeError):
            raise missing(self._kind, name, list(self._items), self._where) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {item!r}' for name, item in self._items.items())}}}"


class Dimension:
    """A named axis: `name`, `size` (the present one, where it is `unlimited`). len() and int() give the size."""

    __slots__ = ("name", "_size", "unlimited", "_dataset")

    def __init__(self, name: str, size: int, unlimited: bool, dataset: Dataset):
        self.name, self._size, self.unlimited, self._dataset = name, size, unlimited, dataset

    @property
    def size(self) -> int:
        return self._dataset._records(self._size) if self.unlimited else self._size

    def __len__(self) -> int:
        return self.size

    def __index__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<forebay.Dimension {self.name!r}: {self.size}{' (unlimited)' if self.unlimited else ''}>"


class StoredChunks(NamedTuple):
    """The chunks of a variable that are in the file, in any order: arrays with an item for each."""

    at: np.ndarray  # its place in the grid of chunks, an index in each dimension
    nbytes: np.ndarray  # in the file
    place: np.ndarray  # in bytes from the beginning of the file; -1: not known
    filtered: np.ndarray  # False: stored without some of the variable's filters or codecs
    file: np.ndarray  # the number of the data file beside this one that it lies in; -1: in none
    raw_nbytes: int  # of all of them, decoded


class FoundBlock(NamedTuple):
    """A block of a BP file that a condition is true of, or may be."""

    step: int  # from 0
    block: int  # in the order of ranks, from 0
    start: tuple[int, ...]  # in its array; () where it is no global array
    count: tuple[int, ...]
    least: float | None  # of its finite values; None: the index does not tell
    greatest: float | None
    certain: bool  # it has such a value; False: it may
    matches: int | None  # how many; None: they were not read


class Variable:
    """An array in a file. Indexing reads just what is selected, as a NumPy array in the machine's byte order.

    Integers, slices with any step, and ... select, as in NumPy. Values are those in the file: missing values and
    packing (scale_factor, add_offset) are left to xarray. Several threads may read at once.
    """

    def __init__(self, dataset: Dataset, number: int, description: tuple):
        name, type_number, dims, chunks, codec, *width = description
        self._dataset, self._number, self._type = dataset, number, type_number
        self.name: str = name
        self.dtype: np.dtype = dtype_of(type_number, *width)
        self._dims = tuple(dataset._all_dims[d] for d in dims)
        self._fixed_shape = None if any(d.unlimited for d in self._dims) else tuple(d.size for d in self._dims)
        self._chunks: tuple[int, ...] | None = chunks
        #: How chunks are encoded, as hints say it ("shuffle,zstd:3"); None: not chunked.
        self.codec: str | None = codec

    @property
    def dataset(self) -> Dataset:
        return self._dataset

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions, slowest first."""
        return tuple(d.name for d in self._dims)

    dims = dimensions

    @property
    def shape(self) -> tuple[int, ...]:
        return self._fixed_shape if self._fixed_shape is not None else tuple(d.size for d in self._dims)

    @property
    def ndim(self) -> int:
        return len(self._dims)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object)) if self._dims else 1

    @property
    def nbytes(self) -> int:
        """Bytes of all values in memory; in the file, encoded ones are fewer."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Elements of a chunk in each dimension; None: stored in one piece, or by records."""
        return self._chunks or None

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes by name: str, NumPy numbers, or arrays of them."""
        return self._dataset._attributes_of(self._number, self.name)

    attrs = attributes

    def __len__(self) -> int:
        if not self._dims:
            raise TypeError(f"{self.name} is a scalar: it has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __getitem__(self, key: Any) -> Any:
        selection = select(key, self.shape, self.name)
        array = selection.arrange(self._read(selection, None, None))
        return array[()] if array.ndim == 0 and key is not Ellipsis else array

    def read(self, key: Any = ..., *, out: np.ndarray | None = None, threads: int | None = None) -> np.ndarray:
        """Reads what `key` selects, always as an array, on up to `threads` threads (default: the dataset's).

        `out` is filled and returned: a C-contiguous array of the variable's dtype and of the shape that is selected.
        """
        selection = select(key, self.shape, self.name)
        if out is None:
            return selection.arrange(self._read(selection, None, threads))
        if out.dtype != self.dtype or out.shape != selection.shape or not out.flags.c_contiguous:
            raise ValueError(
                f"{self.name}: out must be a C-contiguous array of {self.dtype} and shape {selection.shape}, not "
                f"{out.dtype} and {out.shape}"
            )
        target = None if selection.flip else out
        array = self._read(selection, target, threads)
        if target is None:
            out[...] = selection.arrange(array)
        return out

    def _read(self, selection: Selection, out: np.ndarray | None, threads: int | None) -> np.ndarray:
        """An array of shape `count` in the order of the file; `out`, where it is given, has its memory."""
        array = np.empty(selection.count, self.dtype) if out is None else out
        if array.size == 0:
            self._dataset._handle_for_use()
            return array
        self._dataset._read(self._number, selection, array, threads)
        return array

    def stored_chunks(self) -> StoredChunks:
        """The chunks that are in the file. ValueError for a variable without chunks."""
        handle = self._dataset._handle_for_use()
        if not hasattr(handle, "stored_chunks"):
            raise UnsupportedError(f"{self._dataset.path}: chunks are told of files that are open for reading only")
        rows, raw_nbytes = handle.stored_chunks(self._number)
        table = np.frombuffer(rows, np.int64).reshape(-1, self.ndim + 4)
        n = self.ndim
        filtered = table[:, n + 2] != 0
        return StoredChunks(table[:, :n], table[:, n], table[:, n + 1], filtered, table[:, n + 3], raw_nbytes)

    @property
    def levels(self) -> int:
        """How many coarser levels there are: of variables in patches (layout=patches); else 0."""
        return len(self._level_shapes()) - 1

    def level(self, level: int) -> Level:
        """The variable at a coarser level: every dimension that is cut has ⌈n / 2^level⌉ elements, of which element i
        stands where element i · 2^level of the variable does. IndexError for a level that there is not.
        """
        level = operator.index(level)
        if not 0 <= level <= self.levels:
            raise IndexError(f"{self.name} has no level {level}: its levels are 0 to {self.levels}")
        return Level(self, level)

    def refine(self, key: Any = ..., *, error: float = 0.0) -> Refinement:
        """Yields (level, array) of what `key` selects, coarse to fine: previews that become sharper.

        `key` has slices without steps, of the variable itself (an integer keeps its dimension); each level yields its
        elements that stand there. Ends at level 0, or as soon as each patch, taken back to full resolution, is within
        `error` of the variable, where that is not missing. Each step reads the details of one more level, of those
        patches alone that are not, or where elements are missing: those that are, are so at that level.
        """
        box = select(key, self.shape, self.name)
        if any(s not in (None, 1) for s in box.strides or ()) or any(box.flip or ()):
            raise ValueError(f"{self.name}: refine() takes slices without steps")
        if not error >= 0:
            raise ValueError(f"{self.name}: refine() takes an error of 0 or more, not {error}")
        return Refinement(self, box, error)

    def _level_shapes(self) -> list[tuple[int, ...]]:
        handle = self._dataset._handle_for_use()
        if not hasattr(handle, "levels"):
            return [self.shape]
        return [tuple(shape) for shape in handle.levels(self._number)[1]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"{self.name} lies in a file: an array of it is always a copy")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __reduce__(self) -> tuple:
        return _variable_of, (self._dataset, self.name)

    def __repr__(self) -> str:
        return _repr.variable(self)

    def _repr_html_(self) -> str:
        return _repr.variable_html(self)


class Refinement(Iterator):
    """A part of a variable that becomes finer with each step (Variable.refine)."""

    def __init__(self, variable: Variable, box: Selection, error: float):
        self._variable, self._box, self._wanted = variable, box, float(error)
        self._its: Any = None
        self._ended = False
        #: The level of the last array; None before the first one.
        self.level: int | None = None
        #: How far what was yielded last, taken back to full resolution patch by patch, can be from the variable.
        self.error: float = np.inf
        #: Bytes of the file that were read for all steps so far.
        self.bytes_read: int = 0

    def __next__(self) -> tuple[int, np.ndarray]:
        while not self._ended:
            array = self._all() if self._variable.levels == 0 else self._finer()
            # A coarse level may have no element in a small box.
            if array.size or self._ended:
                return self.level or 0, array
        raise StopIteration

    def _finer(self) -> np.ndarray:
        variable = self._variable
        if self._its is None:
            dataset = variable._dataset
            start, count = list(self._box.start), list(self._box.count)
            need("patches", "levels")
            self._its = dataset._handle_for_use().refining(variable._number, start, count, dataset.threads)
        elif self._its.level == self.level:  # else it is finer than what was yielded: there was an error behind it
            self._its.refine(self._wanted)
        array = np.empty(tuple(self._its.count), variable.dtype)
        if array.size:
            self._its.values(array)
        self.level, self.error, self.bytes_read = self._its.level, self._its.error, self._its.bytes_read
        self._ended = self.level == 0 or (self.error <= self._wanted and array.size > 0)
        return array

    def _all(self) -> np.ndarray:
        """Of a variable that has level 0 alone."""
        array = np.empty(tuple(self._box.count), self._variable.dtype)
        if array.size:
            self._variable._dataset._read(self._variable._number, self._box, array, None)
        self.level, self.error, self.bytes_read, self._ended = 0, 0.0, array.nbytes, True
        return array


class Level(Variable):
    """A variable at a coarser level (Variable.level), which is indexed and read as a variable is."""

    def __init__(self, variable: Variable, level: int, steps: Sequence[int] | None = None):
        """`steps`: multiples of those of the level, for those of its elements alone."""
        self.__dict__.update(variable.__dict__)
        self._level = level
        cut = [c > 1 for c in variable.chunks or [1] * variable.ndim]
        own = [2**level if c and not d.unlimited else 1 for c, d in zip(cut, variable._dims, strict=True)]
        #: How far apart, in elements of the variable, those of the level are, in each dimension.
        self.steps: tuple[int, ...] = tuple(own if steps is None else steps)
        self._stride = [s // o for s, o in zip(self.steps, own, strict=True)]
        # A dimension has ⌈n / step⌉ elements either way.
        self._fixed_shape = tuple(-(-n // s) for n, s in zip(variable.shape, self.steps, strict=True))
        if self._chunks:
            self._chunks = tuple(-(-c // s) for c, s in zip(self._chunks, self.steps, strict=True))

    @property
    def error(self) -> float:
        """How far an element can be from what the transform makes of the exact variable at this level."""
        return self._errors()[0]

    @property
    def resolution_error(self) -> float:
        """How far the level, taken back to full resolution patch by patch, can be from the variable."""
        return self._errors()[1]

    def _errors(self) -> tuple[float, float]:
        handle = self._dataset._handle_for_use()
        if not hasattr(handle, "level_errors"):
            return 0.0, 0.0
        return handle.level_errors(self._number)[self._level]

    def level(self, level: int) -> Level:
        return self._dataset[self.name].level(level)

    def stored_chunks(self) -> StoredChunks:
        return self._dataset[self.name].stored_chunks()

    def _read(self, selection: Selection, out: np.ndarray | None, threads: int | None) -> np.ndarray:
        array = np.empty(selection.count, self.dtype) if out is None else out
        if array.size:
            start = [a * s for a, s in zip(selection.start, self._stride, strict=True)]
            stride = [a * s for a, s in zip(selection.stride, self._stride, strict=True)]
            box = Selection(start, selection.count, stride, None, selection.shape)
            self._dataset._read(self._number, box, array, threads, self._level)
        return array

    def __reduce__(self) -> tuple:
        return _level_of, (self._dataset, self.name, self._level, self.steps)


class LevelDataset(Mapping):
    """A dataset at a coarser level (Dataset.at_level): variables in patches at that level, or at the coarsest that they
    have, of which every so-many-th element counts then; and of all others every 2^level-th element along the same
    dimensions.
    """

    def __init__(self, dataset: Dataset, level: int):
        self._dataset = dataset
        self.level = level
        self.path, self.groups, self.left_out = dataset.path, {}, dataset.left_out
        if not 0 <= level <= max((variable.levels for variable in dataset.values()), default=0):
            raise IndexError(f"{dataset.path}: no variable has a level {level}")
        handle = dataset._handle_for_use()
        if level:
            need("patches", "levels")
        its = handle.at_level(level) if level else None  # (its own level, steps) of each variable
        coarse: dict[int, Dimension] = {}  # by the other's id
        self.variables: dict[str, Level] = {}
        for name, variable in dataset.items():
            shown = Level(variable, *its[variable._number]) if its else Level(variable, 0)
            for d, n in zip(variable._dims, shown._fixed_shape, strict=True):
                coarse.setdefault(id(d), Dimension(d.name, n, d.unlimited, self))
            shown._dims = tuple(coarse[id(d)] for d in variable._dims)
            self.variables[name] = shown
        for d in dataset.dimensions.values():  # those of no variable
            coarse.setdefault(id(d), Dimension(d.name, d.size, d.unlimited, self))
        self.dimensions = {name: coarse[id(d)] for name, d in dataset.dimensions.items()}

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self._dataset.attributes

    def _records(self, size: int) -> int:
        return self._dataset._records(size)

    def __getitem__(self, name: str) -> Variable:
        return self.variables[name] if name in self.variables else self._dataset[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __reduce__(self) -> tuple:
        return LevelDataset, (self._dataset, self.level)

    def __repr__(self) -> str:
        return f"<forebay.LevelDataset, level {self.level} of {self.path!r}: {', '.join(self)}>"


def _level_of(dataset: Dataset, name: str, level: int, steps: tuple[int, ...]) -> Level:
    return Level(dataset[name], level, steps)


def _variable_of(dataset: Dataset, name: str) -> Variable:
    return dataset[name]


class Dataset(Mapping):
    """A file that is open for reading; a mapping of its variables.

    Made by forebay.open(). A context manager; close() is safe to call twice. Pickles as its path: the copy opens the
    file again.
    """

    _own = GLOBAL  # the owner of its attributes
    _recover: str | None = None  # as open() was told

    def __init__(self, path: str, handle: Any, threads: int | None, check_changes: bool = True):
        self._handle, self._closed = handle, False
        self._path, self._place = path, absolute(path)
        #: How many threads large reads use at most.
        self.threads: int = default_threads() if threads is None else max(1, int(threads))
        self._check_changes = check_changes
        self._attribute_cache: dict[int, Mapping[str, Any]] = {}
        version, self._numrecs, dims, variables, *inner = handle.describe()
        #: "CDF-1", "CDF-2" or "CDF-5"; "netCDF-4" or "HDF5".
        self.format: str = version if isinstance(version, str) else _FORMATS[version]
        self._groups: dict[str, Dataset] = {}
        self._left_out: dict[str, str] = {}
        if inner:
            from ._groups import distribute

            distribute(self, dims, variables, *inner)
            return
        self._dims = [Dimension(name, size, unlimited, self) for name, size, unlimited in dims]
        self._all_dims = self._dims
        self._vars = {v[0]: self._variable_class(self, i, v) for i, v in enumerate(variables)}

    _variable_class: type[Variable] = Variable

    # -- what it holds

    @property
    def path(self) -> str:
        return self._path

    @property
    def dimensions(self) -> Mapping[str, Dimension]:
        return Names("dimension", self._path, {d.name: d for d in self._dims})

    @property
    def variables(self) -> Mapping[str, Variable]:
        return Names("variable", self._path, self._vars)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The file's own attributes: str, NumPy numbers, or arrays of them."""
        return self._attributes_of(self._own)

    attrs = attributes

    @property
    def groups(self) -> Mapping[str, Dataset]:
        """Groups within this one, each a dataset. Classic files have none: their variables are all in the root."""
        return Names("group", self._path, self._groups)

    @property
    def left_out(self) -> Mapping[str, str]:
        """What an HDF5 file has here that cannot be read, with the reason; an attribute as "variable:attribute"."""
        return MappingProxyType(self._left_out)

    def find(self, condition: str, *, values: bool = False) -> list[FoundBlock]:
        """The blocks of a BP file with values such as "T > 300" or "a/b >= 1 and a/b < 5" asks for.

        Found by the least and greatest value of each block that the index has: the data files are not read, and need
        not be there. With `values` they are read, and blocks without such a value left out. Names are those in it.
        Raises UnsupportedError for files of other formats, ValueError for what is no condition. LostStepsWarning tells
        of steps that the index has lost.
        """
        need("groups", "search of BP files")
        if not isinstance(self._handle_for_use(), _forebay.BpReader):
            raise UnsupportedError(f"{self._path} has no index of values: only BP files (BP3, BP4) are searched")
        found, unread = _forebay.find_in_bp(os.fsencode(self._place), condition, values)
        if unread > 0:
            what = f"{self._path}: {unread} steps were not searched, as md.0 lacks their index (`forebay recover`)"
            warnings.warn(what, LostStepsWarning, stacklevel=2)
        return [FoundBlock(*block) for block in found]

    @property
    def unlimited(self) -> str | None:
        """The name of the unlimited (record) dimension, the first of several; None if there is none."""
        return next((d.name for d in self._dims if d.unlimited), None)

    def at_level(self, level: int) -> LevelDataset:
        """All of it as it is at a coarser level. IndexError for one that no variable has."""
        level = operator.index(level)
        made: dict[int, LevelDataset] = self.__dict__.setdefault("_at_level", {})
        if level not in made:
            made[level] = LevelDataset(self, level)
        return made[level]

    def __getitem__(self, name: str) -> Variable:
        try:
            return self._vars[name]
        except (KeyError, TypeError):
            pass
        if isinstance(name, str):
            if name in self._left_out:
                why = self._left_out[name]
                raise UnsupportedError(f"{self._path}: {name} cannot be read here: it is {why}")
            group, slash, rest = name.strip("/").partition("/")
            if slash and group in self._groups:
                return self._groups[group][rest]
        raise missing("variable", name, list(self._vars), self._path)

    def __contains__(self, name: object) -> bool:
        return name in self._vars

    def __iter__(self) -> Iterator[str]:
        return iter(self._vars)

    def __len__(self) -> int:
        return len(self._vars)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    # -- life

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Closes the file. Reads that other threads have begun end first; later ones fail."""
        if not self._closed:
            self._closed = True
            self._handle.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> tuple:
        from ._open import open_again

        return open_again, (self._place, self.threads, self._check_changes, self._recover)

    def __repr__(self) -> str:
        return _repr.dataset(self)

    def _repr_html_(self) -> str:
        return _repr.dataset_html(self)

    # -- for variables

    def _handle_for_use(self) -> Any:
        if self._closed:
            raise ValueError(f"{self._path}: the file is closed; open it again with forebay.open()")
        return self._handle

    def _records(self, size: int) -> int:
        """The length of an unlimited dimension, which was `size` when it was opened."""
        return size

    def _attributes_of(self, owner: int, where: str | None = None) -> Mapping[str, Any]:
        found = self._attribute_cache.get(owner)
        if found is None:
            listed = self._handle_for_use().attributes(owner)
            values = {name: decode_attribute(number, value) for name, number, value in listed}
            found = Names("attribute", where or self._path, values)
            self._attribute_cache[owner] = found
        return found

    def _read(self, number: int, selection: Selection, out: np.ndarray, threads: int | None, level: int = 0) -> None:
        handle = self._handle_for_use()
        if threads is None:
            threads = self.threads if out.nbytes >= _LARGE else 1
        box = selection.start, selection.count, selection.strides
        try:
            if out.dtype.hasobject:
                changed, values = handle.read_strings(number, *box, self._check_changes)
                if not changed:
                    out.flat = values
            else:
                coarse = (level,) if level else ()
                changed = handle.read(number, *box, out, threads, self._check_changes, *coarse)
        except ValueError as error:
            # Another thread may have closed it since. Damage is a ValueError too, and stays what it is.
            if self._closed and not isinstance(error, FormatError):
                self._handle_for_use()
            raise
        if changed:
            raise ChangedFileError(
                f"{self._path}: the file was written to after it was opened, so that values may be of two states; "
                "open it again, or open it with check_changes=False to read what is there"
            )


def absolute(path: str | os.PathLike) -> str:
    """A path that stands for one place, whatever folder the program goes to; links and dots in it stay."""
    name = os.fsdecode(path)
    return name if os.path.isabs(name) else os.path.join(os.getcwd(), name)


def needs_forebay(path: str | os.PathLike) -> bool:
    """Whether a netCDF file, or a folder that is one, has variables that other readers show as scalars.

    These are variables of any layout but the canonical one (chunked, patches, decomposed), also of one that this
    build lacks. Reads the header only. False for every other file, also for what is not there.
    """
    return _forebay.shows_anchors(os.fsencode(path))
