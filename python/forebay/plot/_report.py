"""Where the time went, from a report in JSON: a timeline of each rank, or bars where it does not tell when that was."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from .. import _forebay
from ._style import REST, WIDTH, colour_of_kind, figure_of, printable, remark, styled

_MOST_LANES = 48
_MOST_RANKS = 1 << 20
_COLUMNS = ("step", "begin", "end", "busy")  # those of a timeline that are drawn


@dataclass
class _Bar:
    """A rank, or the mean of several."""

    name: str
    seconds: dict[str, float] = field(default_factory=dict)  # of steps but `total`
    total: float = 0.0

    def told(self) -> float:
        return sum(self.seconds.values())


@dataclass
class _Lane:
    """Of a rank, or the mean of several: how much of each of WIDTH stretches of time every step took."""

    name: str
    end: float  # seconds until the file was closed
    shares: dict[str, np.ndarray] = field(default_factory=dict)


@styled
def report(path: str | PathLike, *, entry: int = -1) -> Figure:
    """Where the time went: a lane for each rank, with how much of every stretch of time each step took.

    `path` is a file that FOREBAY_REPORT=json:PATH made, `entry` which of the reports in it, from 0; -1 is the last.
    Beyond 48 ranks neighbours share a lane. Reports that do not tell when the steps took place give bars. A bundle's
    has a lane for each file, of the 48 largest: when its values were written, and when it became visible.

    Raises ValueError for what is no such report, IndexError for an entry that is not there.
    """
    reports = read_reports(path)
    n = len(reports)
    if not -n <= entry < n:
        raise IndexError(
            f"{path}: entry {entry} is not there (it has {n}: accepted are 0 to {n - 1}, or -1 for the last)"
        )
    chosen = reports[entry]
    if _is_bundle(chosen):
        return _draw_bundle(chosen, path, f"entry {entry % n} of {n} in " if n > 1 else "")
    ranks = chosen.get("ranks", 1)
    ranks = min(max(ranks, 1), 1 << 30) if isinstance(ranks, int) else 1
    per_rank = chosen.get("per_rank") if ranks <= _MOST_RANKS else None
    bars = _bars_of_ranks(per_rank, ranks) if isinstance(per_rank, dict) else _bars_of_statistics(chosen["steps"])
    steps = _longest_first(bars)
    longest = max(max(bar.total, bar.told()) for bar in bars)
    if longest <= 0:
        raise _refusal(path, "no step took any time")
    lanes, last = _lanes_of(chosen)
    name = chosen.get("path") if isinstance(chosen.get("path"), str) else "?"
    summary = f"{name}: {last if lanes else longest:.3g} s on {ranks:,} rank{'' if ranks == 1 else 's'}"
    rows = len(lanes or bars)
    handles = _legend(bars, steps, ranks)
    height, below = float(np.clip(rows * (40 if lanes else 28), 120, 560)) + 60, 20.0 * -(-len(handles) // 3)
    figure = figure_of(height + below + 80, f"Where the time went: {summary}", summary)
    axes, legend = figure.subplots(2, gridspec_kw={"height_ratios": (height, below)})
    remark(axes, f"entry {entry % n} of {n} in {os.fspath(path)}" if n > 1 else os.fspath(path))
    if lanes:
        _draw_lanes(axes, lanes, steps, last)
    else:
        _draw_bars(axes, bars, steps, "rank" if isinstance(per_rank, dict) else "over all ranks")
    legend.set_axis_off()
    legend.legend(handles=handles, loc="upper center", ncols=3, fontsize=9, borderaxespad=0)
    return figure


def read_reports(path: str | PathLike) -> list[dict[str, Any]]:
    """The reports in a file, one JSON object a line. ValueError for a line that is none."""
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(filter(str.strip, file), 1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
            if _is_bundle(entry):
                found.append(entry)
                continue
            if not isinstance(entry, dict) or not isinstance(entry.get("steps"), dict):
                raise _refusal(path, f"line {number} is no report")
            found.append(entry)
    if not found:
        raise _refusal(path, "there is no report in it")
    return found


def _is_bundle(entry: Any) -> bool:
    """Of several files that were written together, not of one."""
    return isinstance(entry, dict) and "bundle" in entry and "steps" not in entry


def _draw_bundle(told: dict[str, Any], path: str | PathLike, where: str) -> Figure:
    files = told.get("files")
    files = [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []
    files = sorted(files, key=lambda one: -_number(one.get("bytes")))[:_MOST_LANES]
    spans = [[_number(one.get(key)) for key in ("begin", "end", "visible")] for one in files]
    last = max((max(times) for times in spans), default=0.0)
    if last <= 0:
        raise _refusal(path, "the bundle's files do not tell when they were written")
    name = printable(str(told["bundle"]))
    summary = f"{name}: {last:.3g} s, {len(files)} files, scheme {printable(str(told.get('scheme')))}"
    height = float(np.clip(len(files) * 28, 120, 560)) + 60
    figure = figure_of(height + 110, f"When the files of a bundle were written: {summary}", summary)
    axes, legend = figure.subplots(2, gridspec_kw={"height_ratios": (height, 30)})
    remark(axes, where + os.fspath(path))
    for i, (begin, end, visible) in enumerate(spans):
        axes.barh(i, max(end - begin, 0.0), left=begin, height=0.8, color=_colour("write"))
        axes.barh(i, max(visible - end, 0.0), left=end, height=0.8, color=_colour("header"))
    _finish(axes, [_label_of(one) for one in files], last, "seconds since the bundle was written", "file and its ranks")
    legend.set_axis_off()
    kinds = (("write", "values"), ("header", "until it is visible"))
    handles = [Patch(facecolor=_colour(step), label=label) for step, label in kinds]
    legend.legend(handles=handles, loc="upper center", ncols=2, fontsize=9, borderaxespad=0)
    return figure


def _label_of(file: dict[str, Any]) -> str:
    name = printable(os.path.basename(file.get("path", "?")) if isinstance(file.get("path"), str) else "?")
    first, ranks = file.get("first_rank"), file.get("ranks")
    if not isinstance(first, int) or not isinstance(ranks, int) or ranks < 1:
        return name
    return f"{name} ({_name_of(first, first + ranks - 1)})"


def _refusal(path: str | PathLike, why: str) -> ValueError:
    return ValueError(f"{path}: {why} (make one with FOREBAY_REPORT=json:PATH)")


def _number(value: Any, otherwise: float = 0.0) -> float:
    """A number of seconds; what makes no sense is `otherwise`."""
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e300
    return float(value) if fine else otherwise


def _groups(n: int) -> list[range]:
    """Which of n ranks share a lane."""
    each = -(-n // _MOST_LANES)
    return [range(first, min(n, first + each)) for first in range(0, n, each)]


def _name_of(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


# -- sums


def _bars_of_ranks(per_rank: dict[str, Any], ranks: int) -> list[_Bar]:
    lists = {step: list(map(_number, told)) for step, told in per_rank.items() if _is_list(told, ranks)}
    bars = []
    for group in _groups(ranks):
        means = {step: sum(told[group.start : group.stop]) / len(group) for step, told in lists.items()}
        bars.append(_Bar(_name_of(group[0], group[-1]), means, means.pop("total", 0.0)))
    return bars


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _bars_of_statistics(steps: dict[str, Any]) -> list[_Bar]:
    """Reports of more ranks than are told apart: least, mean and greatest of each step."""
    bars = []
    for which in ("min", "mean", "max"):
        told = {step: _number(values.get(which)) for step, values in steps.items() if isinstance(values, dict)}
        bars.append(_Bar(which, told, told.pop("total", 0.0)))
    return bars


def _longest_first(bars: list[_Bar]) -> list[str]:
    sums: dict[str, float] = {}
    for bar in bars:
        for step, seconds in bar.seconds.items():
            sums[step] = sums.get(step, 0.0) + seconds
    return sorted((step for step, seconds in sums.items() if seconds > 0), key=lambda step: (-sums[step], step))


# -- the timeline


def _spans_of(told: Any, places: list[int]) -> list[tuple[str, float, float, float]]:
    """(step, begin, end, busy); spans that make no sense are left out."""
    spans = []
    for item in told if isinstance(told, list) else ():
        if not isinstance(item, list) or len(item) <= max(places):
            continue
        step, begin, end, busy = item[places[0]], *(_number(item[place], -1) for place in places[1:])
        if isinstance(step, str) and begin >= 0 and end >= begin and busy >= 0:
            spans.append((step, begin, end, min(busy, end - begin)))
    return spans


def _total_of(told: dict[str, Any], rank: int) -> float:
    """Seconds from opening to closing of one rank."""
    per_rank = told.get("per_rank")
    if isinstance(per_rank, dict) and "total" in per_rank:
        totals = per_rank["total"]
        return _number(totals[rank]) if isinstance(totals, list) and rank < len(totals) else 0.0
    total = told["steps"].get("total")
    return _number(total.get("max")) if isinstance(total, dict) else 0.0


def _lanes_of(told: dict[str, Any]) -> tuple[list[_Lane], float]:
    """The lanes, and the seconds from opening to the last thing that happened; no lanes if the report does not tell."""
    timeline = told.get("timeline")
    columns, ranks = (timeline.get("columns"), timeline.get("ranks")) if isinstance(timeline, dict) else (None, None)
    if not isinstance(columns, list) or not isinstance(ranks, list) or len(ranks) > _MOST_RANKS:
        return [], 0.0
    if not all(name in columns for name in _COLUMNS):
        return [], 0.0
    every = timeline.get("every", 1)
    every = min(max(every, 1), _MOST_RANKS) if isinstance(every, int) else 1
    spans = [_spans_of(one, [columns.index(name) for name in _COLUMNS]) for one in ranks]
    ends = [max([_total_of(told, i * every), *(end for _, _, end, _ in one)]) for i, one in enumerate(spans)]
    last = max(ends, default=0.0)
    if not any(spans) or last <= 0:
        return [], 0.0
    lanes = []
    for group in _groups(len(ranks)):
        lane = _Lane(_name_of(group[0] * every, group[-1] * every), max(ends[i] for i in group))
        for i in group:
            for span in spans[i]:
                _add(lane, span, last, 1 / len(group))
        lanes.append(lane)
    return lanes, last


def _add(lane: _Lane, span: tuple[str, float, float, float], last: float, weight: float) -> None:
    """Adds a span to the stretches of time that it covers, each by its part."""
    step, begin, end, busy = span
    shares = lane.shares.setdefault(step, np.zeros(WIDTH))
    start, stop = begin * WIDTH / last, end * WIDTH / last
    if stop <= start:
        return
    first, behind = int(start), min(WIDTH, math.ceil(stop))
    edges = np.arange(first, behind + 1).clip(start, stop)
    shares[first:behind] += np.diff(edges) * (busy / (end - begin)) * weight


# -- drawing


def _colour(step: str) -> str:
    """One step's colour is the same in all figures."""
    names = _forebay.step_names
    return colour_of_kind(names.index(step) if step in names else len(step))


def _draw_lanes(axes: Axes, lanes: list[_Lane], steps: list[str], last: float) -> None:
    """Within a lane the steps lie on each other in the order of `steps`, each as high as its share of the time."""
    edges = np.linspace(0, last, WIDTH + 1)
    for i, lane in enumerate(lanes):
        bottom = i + 0.45
        axes.barh(i, lane.end, height=0.9, color=REST)
        # Steps of several threads at once, or joined spans, can be more than the time there was.
        scale = 0.9 / np.maximum(sum(lane.shares.values(), np.zeros(WIDTH)), 1)
        at = np.full(WIDTH, bottom)
        for step in steps:
            if step in lane.shares:
                above = at - lane.shares[step] * scale  # ranks are counted downwards
                axes.stairs(above, edges, baseline=at, fill=True, color=_colour(step), linewidth=0)
                at = above
    _finish(axes, [lane.name for lane in lanes], last, "seconds since the file was opened", "rank")


def _draw_bars(axes: Axes, bars: list[_Bar], steps: list[str], y_name: str) -> None:
    at = np.zeros(len(bars))
    places = np.arange(len(bars))
    axes.barh(places, [max(bar.total, bar.told()) for bar in bars], height=0.85, color=REST)
    for step in steps:
        seconds = np.array([bar.seconds.get(step, 0.0) for bar in bars])
        axes.barh(places, seconds, left=at, height=0.85, color=_colour(step))
        at += seconds
    _finish(axes, [bar.name for bar in bars], max(max(bar.total, bar.told()) for bar in bars), "seconds", y_name)


def _finish(axes: Axes, names: list[str], last: float, x_name: str, y_name: str) -> None:
    axes.set_xlim(0, last)
    axes.set_ylim(len(names) - 0.5, -0.5)
    shown = range(0, len(names), 1 if len(names) <= 16 else len(names) // 12)
    axes.set_yticks(shown, [names[i] for i in shown])
    axes.xaxis.set_major_locator(MaxNLocator(10))
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)


def _legend(bars: list[_Bar], steps: list[str], ranks: int) -> list[Patch]:
    handles = []
    for step in steps:
        seconds = [bar.seconds[step] for bar in bars if step in bar.seconds]
        most, mean = max(seconds), sum(seconds) / len(bars)
        told = f"{most:.3g} s" if ranks == 1 else f"mean {mean:.2g} s, max {most:.2g} s"
        handles.append(Patch(facecolor=_colour(step), label=printable(f"{step}: {told}")))
    rest = sum(max(0.0, bar.total - bar.told()) for bar in bars) / len(bars)
    if rest > 0:
        handles.append(Patch(facecolor=REST, label=f"between the steps: mean {rest:.2g} s"))
    return handles
