"""The picture of a slice of a variable."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as PlotAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ._nearest import Nearest
from ._style import FAINT, WIDTH, bounds_of_cells, colours, figure_of, remark
from ._values import range_of


@dataclass
class Axis:
    """One direction of a grid."""

    name: str  # with units
    length: int  # elements of the slice
    values: np.ndarray | None  # coordinates of the elements, monotonic; None: their indices
    first: int  # index in the variable of the first element, and to the next
    step: int
    latitude: bool = False
    longitude: bool = False
    down: bool = False  # the smallest on top: depths, pressures

    def places(self) -> np.ndarray:
        """Where the elements are along the axis."""
        return self.first + self.step * np.arange(self.length) if self.values is None else self.values

    def edges(self, cells: int) -> np.ndarray:
        """Where the cells of the grid begin, and the last one ends: half way between elements."""
        places = self.places().astype("f8")
        if places.size == 1:
            return places[0] + np.array([-0.5, 0.5])
        between = (places[1:] + places[:-1]) / 2
        ends = 2 * places[0] - between[0], 2 * places[-1] - between[-1]
        edges = np.concatenate([ends[:1], between, ends[1:]])
        if self.latitude:
            edges = edges.clip(-90, 90)
        return edges[bounds_of_cells(self.length, cells)]

    def extent(self) -> float:
        return 0.0 if self.values is None or self.length < 2 else abs(float(self.values[-1] - self.values[0]))


@dataclass
class Grid:
    """Cells, NaN where there is no data; without y they are a line."""

    x: Axis
    y: Axis | None
    cells: np.ndarray


@dataclass
class Points:
    """Points on the sphere, in degrees; value NaN: no data."""

    latitude: np.ndarray
    longitude: np.ndarray
    value: np.ndarray


@dataclass
class Field:
    title: str  # the variable's long name, and units
    remarks: list[str] = field(default_factory=list)  # the indices chosen, how the picture is to be read
    points: Points | None = None  # what is plotted, if set; otherwise `grid`
    grid: Grid | None = None

    def values(self) -> np.ndarray:
        return self.grid.cells if self.points is None else self.points.value


def draw(shown: Field, path: str, limits: tuple[float, float] | None) -> Figure:
    low, high = range_of(shown.values())
    found = "no data" if np.isnan(low) else f"{low:.6g} to {high:.6g}"
    label = ", ".join([shown.title, found, *shown.remarks])
    figure = figure_of(_height(shown), shown.title, label)
    axes = figure.add_subplot()
    remarks = [os.path.basename(path), *shown.remarks]
    remark(axes, "  |  ".join(remarks))
    if shown.points is None and shown.grid.y is None:
        _draw_line(axes, shown.grid, limits)
        return figure
    # NaN has no place on a scale; one value alone is its middle.
    ends = limits or ((0, 1) if np.isnan(low) else (low, high) if low < high else (low - 0.5, low + 0.5))
    if shown.points is None:
        image, cells = _draw_grid(axes, shown.grid, ends), shown.grid.cells
    else:
        image, cells = _draw_points(axes, shown.points, ends)
        if cells.shape[1] < WIDTH:
            remark(axes, "  |  ".join([*remarks, "coarse: finer with scipy (pip install scipy)"]))
    cut = (low < ends[0], high > ends[1])
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(cut, "neither")
    bar = figure.colorbar(image, ax=axes, orientation="horizontal", shrink=0.6, aspect=40, extend=extend)
    text = "no data: nothing but fill values" if np.isnan(low) else f"min {low:.5g}, max {high:.5g}"
    if np.isnan(cells).any() and not np.isnan(low):
        text += "; grey: no data"
    bar.set_label(text, color=FAINT)
    return figure


def _height(shown: Field) -> float:
    """As the data is tall, within limits; a globe is twice as wide as tall."""
    if shown.points is not None:
        west, east, south, north = frame_of(shown.points)
        ratio = (north - south) / (east - west)
    elif shown.grid.y is None:
        return 420
    else:
        x, y = shown.grid.x, shown.grid.y
        on_globe = x.longitude and y.latitude and x.extent() > 0 and y.extent() > 0
        ratio = y.extent() / x.extent() if on_globe else y.length / x.length
    return 200 + float(np.clip(WIDTH * ratio, 320, 720))


def _draw_line(axes: Axes, grid: Grid, limits: tuple[float, float] | None) -> None:
    places, n = grid.x.places(), grid.cells.size
    if n < places.size:
        edges = grid.x.edges(n)
        places = (edges[1:] + edges[:-1]) / 2
    axes.plot(places, grid.cells[0], marker="." if n <= 100 else "")
    axes.set_ylim(limits)
    axes.grid(alpha=0.3)
    _name_axis(axes.xaxis, grid.x)


def _draw_grid(axes: Axes, grid: Grid, ends: tuple[float, float]):
    cells = grid.cells
    x, y = grid.x.edges(cells.shape[1]), grid.y.edges(cells.shape[0])
    if x[0] > x[-1]:
        x, cells = x[::-1], cells[:, ::-1]
    if y[0] > y[-1]:
        y, cells = y[::-1], cells[::-1]
    low, high = ends
    image = axes.pcolorfast(x, y, np.ma.masked_invalid(cells), cmap=colours(), vmin=low, vmax=high)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(*((y[-1], y[0]) if grid.y.down else (y[0], y[-1])))
    axes.set_aspect("auto")
    _name_axis(axes.xaxis, grid.x)
    _name_axis(axes.yaxis, grid.y)
    return image


# -- points


def frame_of(points: Points) -> tuple[float, float, float, float]:
    """West, east, south, north: the whole globe, unless all points lie in a smaller part of it."""
    known = ~np.isnan(points.latitude) & ~np.isnan(points.longitude)
    (south, north), (west, east) = range_of(points.latitude[known]), range_of(points.longitude[known])
    frame = [-180.0, 180.0, -90.0, 90.0] if west < 0 else [0.0, 360.0, -90.0, 90.0]
    if east - west < 240:
        margin = 0.02 * (east - west)
        frame[:2] = west - margin, east + margin
    if north - south < 120:
        margin = 0.02 * (north - south)
        frame[2:] = max(-90.0, south - margin), min(90.0, north + margin)
    return tuple(frame)


def _draw_points(axes: Axes, points: Points, ends: tuple[float, float]):
    west, east, south, north = frame = frame_of(points)
    nearest = Nearest(points.latitude, points.longitude)
    width, height = nearest.raster(WIDTH, int(np.clip(WIDTH * (north - south) / (east - west), 320, 720)))
    longitude = west + (np.arange(width) + 0.5) * (east - west) / width
    latitude = north - (np.arange(height) + 0.5) * (north - south) / height
    cells = nearest.values(points.value, latitude, longitude)
    image = axes.imshow(
        np.ma.masked_invalid(cells),
        extent=frame,
        aspect="auto",
        interpolation="nearest",
        cmap=colours(),
        vmin=ends[0],
        vmax=ends[1],
    )
    _name_degrees(axes.xaxis, east - west, _longitude_label)
    _name_degrees(axes.yaxis, north - south, _latitude_label)
    return image, cells


# -- axes


def _name_axis(axis: PlotAxis, of: Axis) -> None:
    if of.latitude or of.longitude:
        _name_degrees(axis, of.extent(), _latitude_label if of.latitude else _longitude_label)
        return
    axis.set_label_text(of.name, color=FAINT)
    if of.values is None:
        axis.set_major_locator(MaxNLocator(10, integer=True))


def _name_degrees(axis: PlotAxis, extent: float, label) -> None:
    steps = (
        [1, 1.5, 3, 4.5, 6, 9, 10] if extent >= 20 else None
    )  # degrees divide into other round steps than numbers do
    axis.set_major_locator(MaxNLocator(8 if label is _latitude_label else 13, steps=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))


def _latitude_label(value: float) -> str:
    return "0°" if value == 0 else f"{abs(value):g}°{'N' if value > 0 else 'S'}"


def _longitude_label(value: float) -> str:
    turned = value - 360 if value > 180 else value
    if turned == 0 or abs(turned) == 180:
        return f"{abs(turned):g}°"
    return f"{abs(turned):g}°{'E' if turned > 0 else 'W'}"
