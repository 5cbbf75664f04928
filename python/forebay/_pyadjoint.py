"""pyadjoint's checkpoints on disk, for types that are no Firedrake functions."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import numpy as np

try:
    from pyadjoint.tape import TapePackageData as _TapePackageData
except ImportError as missing:
    raise ImportError("TapePackageData needs pyadjoint (pip install pyadjoint-ad)") from missing

from .checkpoints import Store

__all__ = ["TapePackageData"]


class _Kept:
    """An array in the store, for as long as somebody has this."""

    def __init__(self, store: Store, step: int, gone: deque[int]):
        self.store, self.step = store, step
        weakref.finalize(self, _drop, store, step, gone)


def _drop(store: Store, step: int, gone: deque[int]) -> None:
    gone.append(step)
    _drop_all(store, gone)


def _drop_all(store: Store, gone: deque[int]) -> None:
    """Tapes are cycles, so the collector may end them at any time, while a state is read, too: then they wait. Of a
    store that is closed nothing is to be dropped."""
    while gone and not store.closed:
        step = gone.popleft()
        try:
            if step in store:
                del store[step]
        except PermissionError:
            gone.append(step)
            return


class TapePackageData(_TapePackageData):
    """Where arrays of a tape lie while its schedule keeps checkpoints on disk.

        data = TapePackageData(store)
        tape._package_data["forebay"] = data
        tape.enable_checkpointing(SingleDiskStorageSchedule())

    A type calls keep(array) in its _ad_create_checkpoint, and value(kept) in _ad_restore_at_checkpoint: between
    continue_checkpointing and pause_checkpointing, which the tape calls, arrays go to the store, else they are copied.
    """

    def __init__(self, store: Store):
        self.store = store
        self.active = False
        self._last = max(store, default=-1)  # what is there already stays
        self._gone: deque[int] = deque()

    def keep(self, array: Any) -> Any:
        if not self.active:
            return np.array(array)
        _drop_all(self.store, self._gone)
        self._last += 1
        self.store[self._last] = {"array": array}
        return _Kept(self.store, self._last, self._gone)

    def value(self, kept: Any) -> np.ndarray:
        _drop_all(self.store, self._gone)
        return kept.store[kept.step]["array"] if isinstance(kept, _Kept) else np.array(kept)

    def clear(self) -> None:
        self.reset()

    def reset(self) -> None:
        """States go when nothing on the tape refers to them any more."""

    def checkpoint(self) -> Any:
        return None

    def restore_from_checkpoint(self, state: Any) -> None:
        pass

    def copy(self) -> TapePackageData:
        return self

    def continue_checkpointing(self) -> None:
        self.active = True

    def pause_checkpointing(self) -> None:
        self.active = False
