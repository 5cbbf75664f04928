"""Adjoint runs over a Store: any schedule of `checkpoint-schedules`, ours among them, and bounds for lossy codecs.

A model is an object with

    state()               the data from which it goes on: a dict of arrays, which the store copies
    restore(n, state)     it is at step n again
    forward(n0, n1, keep) runs steps n0 … n1-1; keep: what reverse() needs of them stays in the model. Returns the step
                          that it has reached, where that is not n1: then it has come to its end
    turn()                the end is reached, and the adjoint begins (may be missing)
    reverse(n1, n0)       reverses steps n1-1 … n0, of which what is needed was kept
    clear()               what was kept is not needed any more (may be missing)
    dependencies(), restore_dependencies(n, data)
                          what was kept, as a dict of arrays: for schedules that store it
    gradient()            an array or a dict of arrays, once all is reversed: for calibrate()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

try:
    from checkpoint_schedules import (
        CheckpointSchedule,
        Copy,
        EndForward,
        EndReverse,
        Forward,
        Move,
        Reverse,
        StorageType,
    )
except ImportError as missing:
    raise ImportError("schedules need the package checkpoint-schedules (pip install checkpoint-schedules)") from missing

from . import _forebay
from .checkpoints import KEPT, Store

__all__ = ["Schedule", "run"]

# A state has the model's data under their own names, so that codecs by name find them, and what reverse() needs under
# names that begin with KEPT.


def _key(n: int, storage: StorageType) -> int:
    """The store's step of what a schedule has in RAM, and of what it has on DISK, for the same n."""
    if storage not in (StorageType.RAM, StorageType.DISK):
        raise ValueError(f"nothing is stored in {storage}")
    return 2 * n + (storage == StorageType.DISK)


def _restart(data: Mapping[str, Any]) -> dict[str, Any]:
    if wrong := [name for name in data if name.startswith(KEPT)]:
        raise ValueError(f"an array of a model's state cannot have the name {wrong[0]!r}, which begins with {KEPT!r}")
    return dict(data)


def run(schedule: CheckpointSchedule, store: Store, model: Any) -> None:
    """Follows a schedule to the end of its first adjoint calculation.

    What it wants in RAM and on DISK both goes to the store, which has tiers of its own: state n in RAM is the store's
    step 2n, on DISK 2n+1. Codecs of the store are by the names that state() gives its arrays; what dependencies() gives
    has names that begin with "kept.".
    """
    for action in schedule:
        if isinstance(action, Forward):
            _forward(schedule, store, model, action)
        elif isinstance(action, Reverse):
            model.reverse(action.n1, action.n0)
            if action.clear_adj_deps and hasattr(model, "clear"):
                model.clear()
        elif isinstance(action, Copy | Move):
            _transfer(store, model, action)
        elif isinstance(action, EndForward):
            if hasattr(model, "turn"):
                model.turn()
        elif isinstance(action, EndReverse):
            return
        else:
            raise TypeError(f"an action that is not known: {action!r}")
        if schedule.is_exhausted:
            return


def _forward(schedule: CheckpointSchedule, store: Store, model: Any, action: Forward) -> None:
    stores = action.storage in (StorageType.RAM, StorageType.DISK)
    key = _key(action.n0, action.storage) if stores else None
    data = _restart(model.state()) if action.write_ics and stores else {}
    if data and not action.write_adj_deps:  # before the model changes its arrays
        store[key] = data
        data = {}
    data = {name: np.array(values) for name, values in data.items()}
    reached = model.forward(action.n0, action.n1, action.write_adj_deps)
    if reached is None:
        reached = action.n1
    if action.write_adj_deps and stores and reached > action.n0:
        data |= {KEPT + name: values for name, values in model.dependencies().items()}
        if hasattr(model, "clear"):
            model.clear()
    if data:
        store[key] = data
    if reached < action.n1:
        schedule.finalize(reached)


def _transfer(store: Store, model: Any, action: Any) -> None:
    key = _key(action.n, action.from_storage)
    if action.to_storage == StorageType.NONE:
        del store[key]
        return
    data = store[key]
    if isinstance(action, Move):
        del store[key]
    if action.to_storage != StorageType.WORK:
        store[_key(action.n, action.to_storage)] = data
        return
    restart = {name: values for name, values in data.items() if not name.startswith(KEPT)}
    kept = {name[len(KEPT) :]: values for name, values in data.items() if name.startswith(KEPT)}
    if restart:
        model.restore(action.n, restart)
    if kept:
        model.restore_dependencies(action.n, kept)


class Schedule(CheckpointSchedule):
    """Forebay's schedule, which asks anew before each action: states of the same size give the least number of steps.

    `snapshots`: so many states at a time; or `store`, whose free bytes and sizes of states tell how many fit, with
    `state`, the model's first one, for the size that comes first. The schedule's states are in RAM, for the store to
    place. `keeping`: how many steps take as long as a state is stored; where that is much, fewer are.
    """

    def __init__(
        self,
        max_n: int,
        snapshots: int | None = None,
        *,
        store: Store | None = None,
        state: Any = None,
        keeping: float = 0.0,
    ):
        super().__init__(max_n)
        if (snapshots is None) == (store is None) or (store is not None) != (state is not None):
            raise ValueError("a schedule takes snapshots, or a store and the first state")
        if snapshots is not None and snapshots < 1:
            raise ValueError("a schedule needs at least one snapshot")
        self._snapshots = snapshots
        self._keeping = keeping
        self._store = store
        self._exhausted = False
        #: Steps that ran, but for those right before they were reversed.
        self.advances = 0
        self._first: int | None = None  # bytes of the first state
        if store is not None:
            if store:
                raise ValueError("the store has states already")
            probe = _key(0, StorageType.RAM)
            store[probe] = _restart(state)
            self._first = next(info.bytes for info in store.info() if info.step == probe and not info.adjoint)
            del store[probe]

    def _sizes(self, stored: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
        """Of stored states, and of what is free."""
        if self._store is None:
            return [(n, 1) for n in stored], [self._snapshots - len(stored)]
        known = {info.step: info.bytes for info in self._store.info() if not info.adjoint}
        free = self._store.free()
        sizes: list[tuple[int, int]] = []
        for n in stored:
            size = known.get(_key(n, StorageType.RAM))
            if size is None:  # what the next action stores: as large as the last ones
                size = max((bytes for _, bytes in sizes[-3:]), default=self._first)
                free = _less(free, size)
            sizes.append((n, size))
        # An action of theirs cannot fail, and be followed by another one: all count as the largest.
        largest = max((bytes for _, bytes in sizes[-3:]), default=0)
        return [(n, largest) for n, _ in sizes], free

    def _iterator(self) -> Iterator[Any]:
        model, adjoint = 0, self._max_n
        stored: list[int] = []
        keep = False  # the state is stored by the action that goes on from it
        while True:
            sizes, free = self._sizes(stored)
            what, start, end, _ = _forebay.next_action(
                model, adjoint, sizes, free, None if stored else self._first, self._keeping
            )
            if what == "store":
                stored.append(start)
                keep = True
            elif what == "advance":
                self._n = model = end
                self.advances += end - start
                storage = StorageType.RAM if keep else StorageType.NONE
                yield Forward(start, end, keep, False, storage)
                keep = False
            elif what == "restore":
                self._n = model = start
                yield Copy(start, StorageType.RAM, StorageType.WORK)
            elif what == "drop":
                stored.remove(start)
                yield Move(start, StorageType.RAM, StorageType.NONE)
            elif what == "turn":
                self._n = end
                yield Forward(start, end, False, True, StorageType.WORK)
                if end == self._max_n:
                    yield EndForward()
                self._r = self._max_n - start
                yield Reverse(end, start, True)
                model, adjoint = -1, start
            else:
                self._exhausted = True
                yield EndReverse()
                return

    @property
    def is_exhausted(self) -> bool:
        return self._exhausted

    def uses_storage_type(self, storage_type: StorageType) -> bool:
        return storage_type in (StorageType.RAM, StorageType.WORK)


def _less(free: list[int], size: int) -> list[int]:
    """Free bytes of tiers, the quickest first, once one more state has its place."""
    for tier, room in enumerate(free):
        if room >= size:
            return [*free[:tier], room - size, *free[tier + 1 :]]
    return [0] * len(free)
