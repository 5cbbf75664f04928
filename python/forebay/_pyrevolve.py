"""A storage of pyrevolve whose checkpoints are in a Store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

try:
    from pyrevolve.profiling import Profiler
    from pyrevolve.storage import Storage as _Storage
except ImportError as missing:
    raise ImportError("Storage needs pyrevolve (pip install pyrevolve)") from missing

from .checkpoints import Store

__all__ = ["Storage"]


class Storage(_Storage):
    """For pyrevolve's revolvers: `revolver.storage_list[0] = Storage(store, checkpoint, n_checkpoints)`.

    Checkpoint k of pyrevolve is step k of `store`; `wd` and `rd` are the costs that H-Revolve plans with.
    """

    def __init__(
        self,
        store: Store,
        checkpoint: Any,
        n_checkpoints: int,
        *,
        profiler: Any = None,
        wd: float = 0,
        rd: float = 0,
        name: str = "Forebay",
    ):
        super().__init__(
            checkpoint.size, n_checkpoints, checkpoint.dtype, profiler or Profiler(), wd=wd, rd=rd, name=name
        )
        self.store = store

    def save(self, key: int, data_pointers: Iterable[np.ndarray]) -> None:
        with self.profiler.get_timer("storage", "copy_save"):
            self.store[key] = {str(number): data for number, data in enumerate(data_pointers)}

    def load(self, key: int, locations: Iterable[np.ndarray]) -> None:
        with self.profiler.get_timer("storage", "copy_load"):
            state = self.store[key]
            for number, location in enumerate(locations):
                np.copyto(location, state[str(number)])
