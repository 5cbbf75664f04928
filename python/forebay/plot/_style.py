"""How all pictures look, and the words that they share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import matplotlib
import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

FAINT, NO_DATA, REST = "#6e747c", "#cdcfd2", "#e2e4e7"  # remarks; cells without data; time between steps
WIDTH = 1080  # cells across a picture, at most
DPI = 100

# Names come from files: a $ in one is no formula. Text stays text in an SVG.
STYLE = {"text.parse_math": False, "font.size": 10, "svg.fonttype": "none", "legend.frameon": False}

# Things without an order: ranks, steps. Lightness alternates, so that neighbours in a legend differ in grey too.
_KINDS = [
    "#1f77b4",
    "#ffa640",
    "#2c823c",
    "#e67882",
    "#6e46a0",
    "#bebe3c",
    "#8c462d",
    "#78c8e1",
    "#c82828",
    "#96d282",
    "#46505f",
    "#f0aad7",
    "#005f69",
    "#cdaf8c",
    "#3c3caa",
]


def colour_of_kind(i: int) -> str:
    return _KINDS[i % len(_KINDS)]


def colours() -> Colormap:
    """Lightness grows evenly, so that equal steps look equal, in grey too; grey is for what is not there."""
    return matplotlib.colormaps["viridis"].with_extremes(bad=NO_DATA)


def styled(draw: Callable) -> Callable:
    @wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> Figure:
        with rc_context(STYLE):
            return draw(*arguments, **options)

    return drawn


def figure_of(height: float, title: str, label: str) -> Figure:
    """An empty figure 12 inches wide. `label`: a sentence about it, for those who do not see it."""
    figure = Figure(figsize=(12, height / DPI), dpi=DPI, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    figure.suptitle(shortened(title, 100), fontsize=14)
    figure.set_label(label)
    return figure


def remark(axes: Axes, text: str) -> None:
    axes.set_title(shortened(text, 170), fontsize=9, color=FAINT, loc="left")


def printable(text: str) -> str:
    """Control characters as \\n, \\x1b, so that a file cannot steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int) -> str:
    text = printable(text)
    return text if len(text) <= most else text[: most - 3] + "..."


class Means:
    """The means of very many elements in a grid of few cells, added block by block. NaN: no element with data."""

    def __init__(self, shape: tuple[int, int], most: tuple[int, int]):
        self._shape = shape
        self.shape = min(shape[0], most[0]), min(shape[1], most[1])
        cells = self.shape[0] * self.shape[1]
        self._sums, self._counts = np.zeros(cells), np.zeros(cells, np.int64)

    def add(self, values: np.ndarray, row: int = 0, column: int = 0) -> None:
        """Elements from (row, column) of the whole on."""
        (height, width), (rows, columns) = self.shape, self._shape
        down = (row + np.arange(values.shape[0])) * height // rows
        across = (column + np.arange(values.shape[1])) * width // columns
        cells = down[:, None] * width + across
        known = ~np.isnan(values)
        self._sums += np.bincount(cells[known], values[known], self._sums.size)
        self._counts += np.bincount(cells[known], minlength=self._counts.size)

    def cells(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return (self._sums / self._counts).reshape(self.shape)


def bounds_of_cells(length: int, cells: int) -> np.ndarray:
    """The first element of each of the cells that Means makes of `length` elements, and `length`."""
    return -(-np.arange(cells + 1) * length // cells)
