"""How exact each variable of a checkpoint must be, so that a gradient is: probes of a short window of the run."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _forebay
from .checkpoints import Store

__all__ = ["Calibration", "calibrate"]

_SMALL = 1024  # bytes; what is smaller is kept as it is
_COARSE, _FINE = 10, 13  # bits below the range of values: the bounds that are tried


class Calibration(NamedTuple):
    """What calibrate() found."""

    codec: dict[str, str]  #: of each floating-point variable, for Store(codec=…): XML and hints are not asked then
    bounds: dict[str, float]  #: 0: the gradient does not depend linearly on it, and it is kept exactly
    sensitivity: dict[str, float | None]  #: error of the gradient, as a part of it, for a unit of the bound
    error: float  #: of the gradient of another window, with all these bounds
    steps: tuple[int, int]  #: that window


def calibrate(
    model: Any, target: float = 1e-2, window: int = 8, *, lossless: str = "none", memory: int | str = "1GiB"
) -> Calibration:
    """Bounds of lossy codecs with which the gradient is off by at most `target`, as a part of its norm.

    `model` stands at its first step (its methods: see forebay.checkpoints.run; gradient() among them). The gradient of
    `window` steps is computed exactly, and once for each variable at two bounds, all others exact. Bounds share the
    target so that states are smallest. The next window then checks them; afterwards the model is where it was.
    `lossless` is the codec of what is kept exactly.
    """
    if window < 1 or not target > 0:
        raise ValueError("a window has steps, and a target is above 0")
    first = {name: np.array(values) for name, values in model.state().items()}
    exact = _gradient(model, first, 0, window, {}, memory)
    if not np.linalg.norm(exact) > 0:
        raise ValueError("the gradient of the window is 0: nothing is known of its error")
    names, given = [], []
    exactly: list[str] = []  # those of which the window tells nothing: at rest, or with infinities
    sensitivity: dict[str, float | None] = {}
    for name, values in first.items():
        if values.dtype.kind != "f" or values.nbytes < _SMALL:
            continue
        extent = float(np.nanmax(values) - np.nanmin(values))
        if not (math.isfinite(extent) and extent > 0):
            exactly.append(name)
            continue
        probes: list[float] = []
        for bits in (_COARSE, _FINE):
            bound = 2.0 ** (math.floor(math.log2(extent)) - bits)
            probes += [bound, _error(exact, _gradient(model, first, 0, window, {name: _zfp(bound)}, memory))]
        # A gradient that is no number tells nothing: the variable is kept exactly.
        sensitivity[name] = _forebay.sensitivity_of(*probes) if np.isfinite(probes).all() else None
        names.append(name)
        given.append((values.size, sensitivity[name], extent))
    bounds = dict(zip(names, _forebay.error_bounds(given, target), strict=True))
    codec = {name: _zfp(bound) if bound > 0 else lossless for name, bound in bounds.items()}
    codec |= dict.fromkeys(exactly, lossless)

    model.restore(0, first)
    model.forward(0, window, False)
    second = {name: np.array(values) for name, values in model.state().items()}
    wanted = _gradient(model, second, window, 2 * window, {}, memory)
    error = _error(wanted, _gradient(model, second, window, 2 * window, codec, memory))
    model.restore(0, first)
    return Calibration(codec, bounds, sensitivity, error, (window, 2 * window))


def _zfp(bound: float) -> str:
    return f"zfp:accuracy={bound!r}"


def _error(exact: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(other - exact) / np.linalg.norm(exact))


def _gradient(
    model: Any, first: Mapping[str, Any], begin: int, end: int, codec: Mapping[str, str], memory: int | str
) -> np.ndarray:
    """Of steps [begin, end) from a state, each state of which is read as it was kept."""
    model.restore(begin, first)
    every = {name: codec.get(name, "none") for name in first}
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Store(Path(folder) / "window", memory=memory, codec=every)) as store,
    ):
        for n in range(begin, end):
            store[n] = model.state()
            model.forward(n, n + 1, False)
        if hasattr(model, "turn"):
            model.turn()
        while store:
            n, state = store.pop()
            model.restore(n, state)
            model.forward(n, n + 1, True)
            model.reverse(n + 1, n)
            if hasattr(model, "clear"):
                model.clear()
    found = model.gradient()
    parts = found.values() if isinstance(found, Mapping) else [found]
    return np.concatenate([np.asarray(part, float).ravel() for part in parts])
