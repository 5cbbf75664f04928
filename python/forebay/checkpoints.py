"""Checkpoints of adjoint computations: states of a model by their steps, compressed, in memory and files.

    from forebay import checkpoints

    with checkpoints.Store("run", memory="1GiB", codec={"theta": "zfp:accuracy=1e-3"}) as store:
        for i in range(n):
            store[i] = {"theta": theta, "mask": mask}    # the arrays may change from here on
            step()
        while store:
            i, state = store.pop()
            adjoint_step(state["theta"], state["mask"])

run, Schedule, calibrate, gradient (jax), Storage (pyrevolve) and TapePackageData (pyadjoint) are adapters, imported
when they are asked for, with the package that each needs. docs/checkpoints.md tells the whole of it.
"""

from __future__ import annotations

import atexit
import operator
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from . import _forebay
from ._types import DTYPES, type_number
from ._wings import need
from ._writing import _communicator, method_keys

need("checkpoints", "checkpoints")

__all__ = ["StateInfo", "Store"]

_ADAPTERS = {
    "Calibration": "_calibrate",
    "calibrate": "_calibrate",
    "Schedule": "_adjoint",
    "run": "_adjoint",
    "gradient": "_jax",
    "Storage": "_pyrevolve",
    "TapePackageData": "_pyadjoint",
}


def __getattr__(name: str) -> Any:
    if name not in _ADAPTERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ADAPTERS[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_ADAPTERS])


# Stores that the program may end without closing: what they have stays.
_OPEN: weakref.WeakSet = weakref.WeakSet()


@atexit.register
def _leave_all() -> None:
    for store in list(_OPEN):
        store.leave()
    _join_ends()


# Stores of several ranks that an exception has left on this one, in their order.
_LEFT: list = []


def _join_ends() -> None:
    """The other ranks, which wait in close(), learn that this one has left."""
    while _LEFT:
        _LEFT.pop(0).join_end()


class StateInfo(NamedTuple):
    """Where a state is, and how large."""

    step: int
    adjoint: bool
    tier: str
    bytes: int
    raw_bytes: int


# Files know arrays of bool as numbers of one byte: each has an array without values beside it, of its name behind this
# one, so that a state takes no more than its arrays do. Earlier files name them in one text instead.
_BOOL = ".bool"

_STEPS = 2**63  # more than any step

# Names of what run() stores of a step for the adjoint begin so; those of the model's state do not.
KEPT = "kept."


def _is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")


def _checked_step(number: int) -> int:
    if not -_STEPS <= number < _STEPS:
        raise ValueError(f"a state of step {number}: steps are numbers from 0 to 2**63 - 1")
    return number


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"


class _States(MutableMapping):
    """The states of one kind: dicts of arrays by step. Iteration goes from the first step to the last."""

    def __init__(self, store: _forebay.Checkpoints, codec: Any, adjoint: bool):
        self._store = store
        self._codec = codec
        self._adjoint = adjoint
        # Names that the first state of the model must have. Of states that were found again it is not there any more.
        self._expected = []
        if not adjoint and isinstance(codec, Mapping) and not self:
            self._expected = [name for name in codec if not _is_pattern(name)]

    def __setitem__(self, step: int, state: Mapping[str, Any]) -> None:
        given = []
        arrays = {name: np.asarray(values) for name, values in state.items()}
        bools = [name for name, array in arrays.items() if array.dtype == np.bool_]
        if wrong := [name for name in arrays if name == _BOOL or name.startswith(f"{_BOOL}.")]:
            raise ValueError(f"an array cannot have the name {wrong[0]!r}")
        # What run() keeps for the adjoint alone is no state of the model.
        first = not arrays or not all(name.startswith(KEPT) for name in arrays)
        unknown = [name for name in self._expected if first and name not in arrays]
        if unknown:
            raise ValueError(
                f"codec names {_quoted(unknown)}, and the first state has {_quoted(arrays)}: "
                "where only later states, or those of the adjoint, have such an array, write a pattern, 'name*'"
            )
        arrays |= {f"{_BOOL}.{name}": np.empty(0, "S1") for name in bools}
        for name, array in arrays.items():
            # An array of its own where it is not contiguous, or in another byte order.
            array = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
            number = type_number(array.dtype)
            given.append((name, number, list(array.shape), self._codec_of(name), array.view(DTYPES[number])))
        self._store.put(_checked_step(operator.index(step)), self._adjoint, given)
        if first:
            self._expected = []

    def _codec_of(self, name: str) -> str | None:
        if not isinstance(self._codec, Mapping):
            return self._codec
        if name in self._codec:
            return self._codec[name]
        return next((words for match, words in self._codec.items() if fnmatchcase(name, match)), None)

    def __getitem__(self, step: int) -> dict[str, np.ndarray]:
        if step not in self:
            raise KeyError(step)
        state = {}
        parts = self._store.begin(int(step), self._adjoint)
        try:
            for name, number, shape in parts:
                state[name] = np.empty(shape, DTYPES.get(number, np.dtype("u1")))
                self._store.get(name, state[name])
        except BaseException:
            self._store.abandon()
            raise
        self._store.end()
        bools = [name[len(_BOOL) + 1 :] for name in state if name.startswith(f"{_BOOL}.")]
        if _BOOL in state:
            bools += state[_BOOL].tobytes().decode().split("\0")
        for name in bools:
            state.pop(f"{_BOOL}.{name}", None)
            state[name] = state[name].view(np.bool_)
        state.pop(_BOOL, None)
        return state

    def __delitem__(self, step: int) -> None:
        if step not in self:
            raise KeyError(step)
        self._store.drop(int(step), self._adjoint)

    def __contains__(self, step: object) -> bool:
        try:
            number = int(step)  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            return False
        return bool(number == step) and 0 <= number < _STEPS and self._store.has(number, self._adjoint)

    def __iter__(self) -> Iterator[int]:
        return iter(self._store.steps(self._adjoint))

    def __len__(self) -> int:
        return self._store.count(self._adjoint)

    def popitem(self) -> tuple[int, dict[str, np.ndarray]]:
        """The first step and its state, which is dropped."""
        step = self._store.first(self._adjoint)
        if step is None:
            raise KeyError("there is no state to pop")
        return step, MutableMapping.pop(self, step)


class Store(_States):
    """The checkpoints `name`, the path of their files, by step: dicts of arrays. What is there already is found again.

    `memory`, `fast`, `fast_bytes`, `directory`, `directory_bytes`: the tiers (checkpoint_memory, checkpoint_fast, …).
    `codec`: of all arrays, or of each by its name, or by a pattern ("kept.*") for arrays that not all states have. A
    name that the model's first state lacks is an error. What XML and FOREBAY_HINTS say of codecs goes before it.
    `comm`: an mpi4py communicator of ranks that open and close together, and have the same steps afterwards.

    Leaving a `with` removes the files; close(keep=True) leaves them. An exception that leaves it, KeyboardInterrupt
    too, keeps all states in files, and so does a program that ends without closing: the same name finds them again.
    """

    def __init__(
        self,
        name: str | os.PathLike,
        *,
        memory: int | str | None = None,
        fast: str | os.PathLike | None = None,
        fast_bytes: int | str | None = None,
        directory: str | os.PathLike | None = None,
        directory_bytes: int | str | None = None,
        codec: str | Mapping[str, str] | None = None,
        comm: Any = None,
    ):
        given = {
            "memory": memory,
            "fast": fast,
            "fast_bytes": fast_bytes,
            "dir": directory,
            "dir_bytes": directory_bytes,
        }
        keys = method_keys({f"checkpoint_{key}": value for key, value in given.items() if value is not None})
        for words in codec.values() if isinstance(codec, Mapping) else [codec]:
            if words is not None:
                _forebay.check_codec(words)
        handle = None if comm is None else _communicator(comm)
        if handle is not None:
            _join_ends()
        store = _forebay.Checkpoints(os.fsencode(name), keys, handle)
        _OPEN.add(store)
        self._shared = handle is not None
        super().__init__(store, codec, False)
        #: The states of the adjoint, beside those of the model, for a job that is killed on its way back.
        self.adjoint: MutableMapping = _States(self._store, codec, True)

    def pop(self, *step: int) -> Any:
        """(step, state) of the latest step, which is dropped; with a step, and perhaps a default, as of a dict."""
        if step:
            return super().pop(*step)
        last = self._store.last()
        if last is None:
            raise KeyError("there is no state to pop")
        return last, super().pop(last)

    def expect(self, steps: Iterable[int]) -> None:
        """The steps that are read next, in their order: they are decoded ahead."""
        self._store.expect([_checked_step(int(step)) for step in steps])

    def info(self) -> list[StateInfo]:
        """What there is, and where."""
        return [StateInfo(*state) for state in self._store.list()]

    def free(self) -> list[int]:
        """Free bytes of each tier, the quickest first."""
        return self._store.free()

    def sync(self) -> None:
        """All states are on the device when it returns."""
        self._store.sync()

    @property
    def closed(self) -> bool:
        return self._store.closed

    def close(self, keep: bool = False) -> None:
        """Keeps the states in files, or removes them."""
        self._store.close(keep)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if kind is None:
            self.close()
            return
        # Without the other ranks, of which nobody knows what they do: they are told when this one ends.
        if self._shared:
            _LEFT.append(self._store)
        try:
            self._store.leave()
        except Exception as failed:
            if error is not None:
                error.add_note(f"Its checkpoints are not all kept: {failed}")
