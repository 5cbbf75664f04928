"""The gradient of what a model in JAX ends with, with few of its states kept."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

try:
    import jax
except ImportError as missing:
    raise ImportError("gradient needs jax (pip install jax)") from missing

from . import _forebay
from .checkpoints import Store

__all__ = ["gradient"]


_NO_ROOM = 2**62  # the size of a state that no tier takes


def _kept(store: Store, step: int, state: dict[str, Any]) -> int | None:
    """Keeps a state; where it has no room: a size that tells the schedule so."""
    try:
        store[step] = state
    except OSError as error:
        if not store or error.errno != errno.ENOSPC:
            raise
        return _NO_ROOM
    return None


def gradient(
    step: Callable[[Any], Any],
    state: Any,
    n: int,
    loss: Callable[[Any], Any],
    *,
    store: Store | None = None,
    memory: int | str = "1GiB",
    codec: str | None = None,
) -> tuple[Any, Any]:
    """The value of loss(step(…step(state)…)), `n` steps, and its gradient with respect to `state`.

    `state` is a tree of arrays, as step() takes and returns it. States are kept where the schedule says, in `store` or,
    without one, in `memory` bytes, with `codec`; the others are computed again.
    """
    if n < 1:
        raise ValueError("a run has at least one step")
    leaves, tree = jax.tree_util.tree_flatten(state)
    names = [str(number) for number in range(len(leaves))]
    forward = jax.jit(step)
    backward = jax.jit(lambda at, adjoint: jax.vjp(step, at)[1](adjoint)[0])
    here, model, left = state, 0, n
    size = None  # of the model's state, once it is known not to be kept
    seen: dict[int, int] = {}  # of states that a codec made smaller, as far as they were kept
    value = adjoint = None
    with ExitStack() as stack:
        if store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            keep = Store(Path(folder) / "states", memory=memory, codec=codec, directory_bytes=1)
            stack.callback(keep.close)  # there is nothing to go on from
            store = keep
        elif store:
            raise ValueError("the store has states already")
        while True:
            infos = [info for info in store.info() if not info.adjoint]
            stored = [(info.step, info.bytes) for info in infos]
            seen |= {info.step: info.bytes for info in infos if info.bytes < info.raw_bytes}
            what, start, end, _ = _forebay.next_action(model, left, stored, store.free(), size, seen=list(seen.items()))
            if what == "advance":
                for _ in range(start, end):
                    here = forward(here)
                model, size = end, None
            elif what == "store":
                arrays = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(here)]
                size = _kept(store, start, dict(zip(names, arrays, strict=True)))
                if size and seen:
                    seen[start] = max(store.free()) + 1  # at least
            elif what == "restore":
                kept = store[start]
                arrays = [jax.numpy.asarray(kept[name]) for name in names]
                here, model, size = jax.tree_util.tree_unflatten(tree, arrays), start, None
            elif what == "drop":
                del store[start]
                size = _NO_ROOM if start == model else None
            elif what == "turn":
                if end == n:
                    value, adjoint = jax.value_and_grad(loss)(forward(here))
                adjoint = backward(here, adjoint)
                model, left = -1, start
            else:
                return value, adjoint
