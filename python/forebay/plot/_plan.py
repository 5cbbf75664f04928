"""What ranks would do, from the JSON of `forebay plan`: what each node sends, gets and writes."""

from __future__ import annotations

import json
import math
import os
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._style import WIDTH, bounds_of_cells, colour_of_kind, figure_of, printable, remark, styled

# A picture each: what it shows, and the lists of `per_node` with what they are called.
_PANELS = [
    ("messages", {"messages_out": "sent", "messages_in": "received"}),
    ("bytes of messages", {"bytes_out": "sent", "bytes_in": "received"}),
    ("windows at home", {"windows": ""}),
    ("bytes stored", {"stored": ""}),
]


@styled
def plan(path: str | PathLike) -> Figure:
    """What each node would send, get and write: messages, their bytes, windows and bytes stored, node by node.

    `path` is a file with what `forebay plan --json` printed. Beyond 1080 nodes neighbours share a step of the mean.

    Raises ValueError for what is no such plan.
    """
    told = _read(path)
    lists = told["per_node"]
    panels = [(what, {k: n for k, n in names.items() if k in lists}) for what, names in _PANELS]
    panels = [(what, names) for what, names in panels if names]
    if not panels:
        raise _refusal(path, "it tells nothing of its nodes")
    seconds = told.get("predicted_seconds")
    total = seconds.get("total") if isinstance(seconds, dict) else None
    summary = f"{told.get('workload', '?')}, {told.get('op', '?')}: {told.get('ranks', '?')} ranks"
    if isinstance(total, (int, float)) and math.isfinite(total):
        summary += f", {total:.3g} s predicted"
    figure = figure_of(80 + 170 * len(panels), f"What nodes do: {summary}", printable(summary))
    all_axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for axes, (what, names) in zip(all_axes, panels, strict=True):
        _draw(axes, what, {name: _values(path, lists, key) for key, name in names.items()})
    remark(all_axes[0], os.fspath(path))
    all_axes[-1].set_xlabel("node")
    return figure


def _draw(axes: Axes, what: str, lines: dict[str, np.ndarray]) -> None:
    for i, (name, values) in enumerate(lines.items()):
        bounds = bounds_of_cells(values.size, min(values.size, WIDTH))
        means = np.add.reduceat(values, bounds[:-1]) / np.diff(bounds)
        axes.stairs(means, bounds, color=colour_of_kind(i), linestyle="-" if i == 0 else "--", label=name or None)
    axes.set_ylabel(what)
    most = max(float(values.max()) for values in lines.values())
    axes.set_ylim(0, 1.3 * most if most > 0 else 1)
    if len(lines) > 1:
        axes.legend(loc="upper right", ncols=len(lines), fontsize=9)


def _values(path: str | PathLike, lists: dict[str, Any], key: str) -> np.ndarray:
    values = lists[key]
    numbers = isinstance(values, list) and all(isinstance(v, (int, float)) and math.isfinite(v) for v in values)
    if not numbers or not values:
        raise _refusal(path, f"{key} is no list of numbers")
    return np.asarray(values, float)


def _read(path: str | PathLike) -> dict[str, Any]:
    with open(path, encoding="utf-8", errors="replace") as file:
        try:
            told = json.load(file)
        except (ValueError, RecursionError):
            told = None
    if not isinstance(told, dict) or not isinstance(told.get("per_node"), dict):
        raise _refusal(path, "it is no plan with its nodes")
    return told


def _refusal(path: str | PathLike, why: str) -> ValueError:
    return ValueError(f"{path}: {why} (make one with forebay plan --json)")
