"""What ranks would do, from JSON: of `forebay plan`, what each node sends, gets and writes; of `forebay bundle plan`,
how long each scheme takes with how many ranks."""

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

_BUNDLE = "forebay bundle plan --json"

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
    What `forebay bundle plan --json` printed, for one number of ranks or more, one behind the other, becomes a line
    for each scheme: predicted seconds, and the messages of the rank that gets most of one file.

    Raises ValueError for what is no such plan.
    """
    told = _read(path)
    if isinstance(told[0].get("schemes"), list):
        return _draw_bundles(path, told)
    told = told[0]
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


def _draw_bundles(path: str | PathLike, plans: list[dict[str, Any]]) -> Figure:
    seconds: dict[str, list[tuple[float, float]]] = {}
    messages: dict[str, list[tuple[float, float]]] = {}
    files = 0
    for told in plans:
        ranks = _number(path, told, "ranks")
        for one in told["schemes"]:
            costs = one.get("files") if isinstance(one, dict) else None
            if not isinstance(costs, list) or not costs or not all(isinstance(cost, dict) for cost in costs):
                raise _refusal(path, "a scheme does not tell of its files", _BUNDLE)
            name, files = str(one.get("scheme")), len(costs)
            seconds.setdefault(name, []).append((ranks, _number(path, one, "seconds")))
            most = max(_number(path, cost, "messages_in") for cost in costs)
            messages.setdefault(name, []).append((ranks, most))
    if not seconds:
        raise _refusal(path, "it tells of no scheme", _BUNDLE)
    everybody = sorted({ranks for points in seconds.values() for ranks, _ in points})
    summary = f"{files} file{'' if files == 1 else 's'}, {everybody[0]:g}"
    summary += f" to {everybody[-1]:g} ranks" if len(everybody) > 1 else " ranks"
    figure = figure_of(560, f"Files that are written together, as predicted: {summary}", summary)
    all_axes = figure.subplots(2, sharex=True)
    panels = ("seconds", seconds), ("messages in, at most", messages)
    for axes, (what, lines) in zip(all_axes, panels, strict=True):
        for i, (name, points) in enumerate(lines.items()):
            style = "-" if i % 2 == 0 else "--"  # some lie on each other
            axes.plot(
                *zip(*sorted(points), strict=True), style, marker="o", color=colour_of_kind(i), label=printable(name)
            )
        axes.set_ylabel(what)
        axes.set_ylim(bottom=0)
    remark(all_axes[0], os.fspath(path))
    all_axes[0].legend(ncols=6, fontsize=9)
    all_axes[1].set_xscale("log", base=2)
    shown = everybody[:: -(-len(everybody) // 12)]
    all_axes[1].set_xticks(shown, [f"{ranks:g}" for ranks in shown])
    all_axes[1].set_xlabel("ranks")
    return figure


def _number(path: str | PathLike, told: dict[str, Any], key: str) -> float:
    value = told.get(key)
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e300
    if not fine or (key == "ranks" and value < 1):
        raise _refusal(path, f"{key} is no number that can be", _BUNDLE)
    return float(value)


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


def _read(path: str | PathLike) -> list[dict[str, Any]]:
    """One plan of nodes, or all of bundles: objects, one behind the other."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    found: list[Any] = []
    at = len(text) - len(text.lstrip())
    while at < len(text):
        try:
            told, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            told, end = None, len(text)
        found.append(told)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    bundles = [isinstance(told, dict) and isinstance(told.get("schemes"), list) for told in found]
    if found and all(bundles):
        return found
    if len(found) != 1 or not isinstance(found[0], dict) or not isinstance(found[0].get("per_node"), dict):
        raise _refusal(path, "it is no plan with its nodes")
    return found


def _refusal(path: str | PathLike, why: str, command: str = "forebay plan --json") -> ValueError:
    return ValueError(f"{path}: {why} (make one with {command})")
