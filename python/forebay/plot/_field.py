"""A slice of a variable: what a picture shows of it, as a grid of cells or as points on the sphere, and the picture."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from os import PathLike

import numpy as np
from matplotlib.figure import Figure

from .. import Dataset, Variable
from .._dataset import Dimension
from .._errors import missing
from . import _map
from ._slice import Part, parse_slice
from ._style import WIDTH, Means, styled
from ._values import (
    decode,
    degrees,
    fault_of,
    is_numeric,
    opened,
    points_down,
    says_latitude,
    says_longitude,
    says_time,
    text_attribute,
    variables_of,
)

_MOST_ROWS = 720
_MOST_POINTS = 16 << 20
_BLOCK = 1 << 20  # elements that are read at once
_ENOUGH = _MOST_ROWS  # elements along each side of a picture


@styled
def field(
    file: str | PathLike | Dataset,
    variable: str,
    *,
    select: str = "",
    level: int | None = None,
    record: int | None = None,
    coords: tuple[str, str] | None = None,
    range: tuple[float, float] | None = None,  # noqa: A002  # as the command has it
    resolution_level: int | None = None,
) -> Figure:
    """A map or section of a slice of a variable; of one dimension a line.

    `select` is a slice as NumPy writes it ("0, 10:50, ::2") or by names ("time=-1, lat=10:50"); `level` and `record`
    are indices along those dimensions, from 0 or, backwards, from -1. Of dimensions that are not chosen so the last two
    longer than 1 are drawn, and the first index of the others. `coords` names the latitudes and longitudes, which are
    found by their units or names otherwise; where they are of one dimension, every pixel takes the nearest point.
    `range` gives the values at the ends of the colours. More elements than pixels are averaged. `resolution_level` is
    the level of a variable in patches (Variable.level): the coarsest that fills the picture if it is not given and
    nothing else is chosen.

    Raises KeyError for a variable that is not there, TypeError for text, IndexError for a slice, level or record that
    is not there, ValueError for what cannot be drawn. Memory: three numbers a point (of at most 16 million), or 20 MiB.
    """
    with opened(file) as dataset:
        if resolution_level is None and not select and level is None:
            resolution_level = _level_that_fills(dataset.variables.get(variable))
        if resolution_level:
            dataset = dataset.at_level(resolution_level)
        return _map.draw(_Reader(dataset, variable, select, level, record, coords).read(), dataset.path, range)


def _level_that_fills(variable: Variable | None) -> int:
    """The coarsest level whose last two dimensions, as they are drawn, have as many elements as pixels."""
    for level in reversed(range(1, variable.levels + 1) if variable is not None else ()):
        if min(variable.level(level).shape[-2:]) >= _ENOUGH:
            return level
    return 0


@dataclass
class _Chosen:
    """An index along a dimension that is not drawn."""

    dimension: int
    index: int
    remark: str  # empty where there is no choice


class _Reader:
    def __init__(self, dataset, name, select, level, record, coords):
        self._variables = variables_of(dataset)
        self._path = dataset.path
        self._variable: Variable = self._find(dataset, name)
        if not is_numeric(self._variable):
            raise TypeError(f"{self._path}: variable {name} is text (plot takes numbers)")
        self._level, self._record, self._coords = level, record, coords
        self._given = [self._find(dataset, one) for one in coords or ()]
        self._dims: tuple[Dimension, ...] = self._variable._dims
        self._full = [d.size for d in self._dims]
        if 0 in self._full:
            raise ValueError(
                f"{self._path}: variable {name} has no data (a dimension has length 0, or no record was written)"
            )
        try:
            self._parts = parse_slice(select, [d.name for d in self._dims], self._full)
        except IndexError as error:
            raise IndexError(f"{self._path}: {name}: {error}") from None
        # From here on lengths and indices are those of the slice.
        self._shape = [part.count for part in self._parts]

    def read(self) -> _map.Field:
        found = _map.Field(title=_name_with_units(self._variable))
        if level := getattr(self._variable, "_level", 0):
            found.remarks.append(f"level {level}")
        points = self._find_points()
        if points is None or not self._read_points(found, *points):
            self._read_grid(found)
        return found

    # -- variables and dimensions

    def _find(self, dataset: Dataset, name: str) -> Variable:
        if name in self._variables:
            return self._variables[name]
        if name in dataset.left_out:
            return dataset[name]  # which says what it is
        raise missing("variable", name, list(self._variables), self._path)

    def _part_of(self, dimension: Dimension) -> Part:
        """What is shown of a dimension of any variable."""
        for own, part in zip(self._dims, self._parts, strict=True):
            if own is dimension:
                return part
        return Part(0, dimension.size)

    def _coordinate_of(self, d: int) -> Variable | None:
        """The variable that holds the coordinates of a dimension."""
        wanted = self._dims[d]
        same_name = wanted._dataset.variables.get(wanted.name)
        for one in [*self._given, same_name]:
            if one is not None and one._dims == (wanted,) and is_numeric(one) and one is not self._variable:
                return one
        return None

    def _coordinates(self, d: int) -> np.ndarray | None:
        """Values along a dimension, if they are all there and rise or fall all the way."""
        variable = self._coordinate_of(d)
        if variable is None or self._shape[d] > _BLOCK:
            return None
        try:
            values = decode(variable, variable[self._parts[d].key()])
        except (OSError, ValueError):
            return None  # the picture does without
        steps = np.diff(values)
        return values if np.all(steps > 0) or np.all(steps < 0) else None

    def _is_record_like(self, d: int) -> bool:
        coordinate = self._coordinate_of(d)
        if coordinate is not None and says_time(coordinate):
            return True
        return self._dims[d].unlimited or self._dims[d].name.lower() in ("time", "record", "t")

    # -- indices along the dimensions that are not shown

    def _choose(self, d: int, wanted: int | None, option: str) -> _Chosen:
        length, name = self._shape[d], self._dims[d].name
        index = operator.index(0 if wanted is None else wanted)
        if not -length <= index < length:
            raise IndexError(
                f"{self._path}: {option} {wanted} is not there ({name} has {length}: accepted are 0 to {length - 1}, "
                "or -1 for the last)"
            )
        index %= length
        if self._full[d] == 1:
            return _Chosen(d, index, "")
        text = f"{name} {self._parts[d].start + index * self._parts[d].step} of {self._full[d]}"
        if (values := self._coordinates(d)) is not None:
            units = text_attribute(self._coordinate_of(d), "units")
            text += f" ({values[index]:.5g}{' ' + units if units else ''})"
        return _Chosen(d, index, text)

    def _choices(self, shown: list[int]) -> Iterator[_Chosen]:
        """`record` chooses along the first record dimension, `level` along the last other one."""
        free = [d for d in range(len(self._dims)) if d not in shown]
        record = next((d for d in free if self._is_record_like(d)), None)
        others = [d for d in reversed(free) if record is None or not self._is_record_like(d)]
        for option, wanted, there in (("record", self._record, record is not None), ("level", self._level, others)):
            if wanted is not None and not there:
                raise IndexError(
                    f"{self._path}: {self._variable.name} has no {option} dimension to choose from (leave out "
                    f"--{option}; the picture shows {' × '.join(self._dims[d].name for d in shown)})"
                )
        if record is not None:
            yield self._choose(record, self._record, "record")
        for i, d in enumerate(others):
            yield self._choose(d, self._level if i == 0 else None, "level")

    def _key(self, shown: list[int], found: _map.Field) -> list[slice]:
        """An index of the variable with one element in each dimension that is not shown."""
        key = [part.key(0, 1) for part in self._parts]
        for chosen in self._choices(shown):
            key[chosen.dimension] = self._parts[chosen.dimension].key(chosen.index, 1)
            if chosen.remark:
                found.remarks.append(chosen.remark)
        return key

    # -- points: some dimensions of the variable are those of a pair of latitudes and longitudes

    def _position_of(self, coordinate: Variable) -> int | None:
        """Where the coordinate's dimensions stand in the variable, if it has them all side by side."""
        n = len(coordinate._dims)
        places = [i for i in range(len(self._dims) - n + 1) if self._dims[i : i + n] == coordinate._dims]
        return places[0] if n and places else None

    def _are_points(self, latitude: Variable, longitude: Variable) -> bool:
        return (
            latitude._dims == longitude._dims
            and self._position_of(latitude) is not None
            and self._variable not in (latitude, longitude)
        )

    def _find_points(self) -> tuple[Variable, Variable] | None:
        if self._given:
            latitude, longitude = self._given
            if self._are_points(latitude, longitude):
                return latitude, longitude
            # Coordinates of two different dimensions span a grid, which needs no points.
            if self._position_of(latitude) is None or self._position_of(longitude) is None:
                raise ValueError(
                    f"{self._path}: {' and '.join(self._coords)} are no coordinates of {self._variable.name} (their "
                    "dimensions must be among the variable's)"
                )
            return None
        along = [one for d in range(len(self._dims)) if (one := self._coordinate_of(d)) is not None]
        if any(map(says_latitude, along)) and any(map(says_longitude, along)):
            return None  # a grid, whatever two-dimensional coordinates there are besides
        everything = [one for one in self._variables.values() if is_numeric(one)]
        latitudes, longitudes = filter(says_latitude, everything), list(filter(says_longitude, everything))
        pairs = ((a, b) for a in latitudes for b in longitudes if self._are_points(a, b))
        return next(pairs, None)

    def _read_points(self, found: _map.Field, latitude: Variable, longitude: Variable) -> bool:
        """False where the coordinates cannot be used; the remarks say why."""
        first = self._position_of(latitude)
        shown = list(range(first, first + latitude.ndim))
        points = prod(self._shape[d] for d in shown)
        step = 1 + (points - 1) // _MOST_POINTS
        if step > 1 and len(shown) > 1:
            return False
        counts = [1 + (self._shape[d] - 1) // step for d in shown]
        parts = [self._part_of(d).key(0, n, step) for d, n in zip(latitude._dims, counts, strict=True)]
        lat, lon = (degrees(one, one[tuple(parts)]).ravel() for one in (latitude, longitude))
        if fault := fault_of(lat, lon):
            found.remarks.append(f"{latitude.name} and {longitude.name} {fault}: shown in file order")
            return False
        key = self._key(shown, found)
        for d, part in zip(shown, parts, strict=True):
            key[d] = part
        if step > 1:
            found.remarks.append(f"every {step}th of {points} points")
        found.points = _map.Points(lat, lon, decode(self._variable, self._variable[tuple(key)]).ravel())
        return True

    # -- grids

    def _axis(self, d: int) -> _map.Axis:
        coordinate, values = self._coordinate_of(d), self._coordinates(d)
        axis = _map.Axis(self._dims[d].name, self._shape[d], values, self._parts[d].start, self._parts[d].step)
        if coordinate is not None and values is not None:
            axis.latitude, axis.longitude = says_latitude(coordinate), says_longitude(coordinate)
            if units := text_attribute(coordinate, "units"):
                axis.name += f" [{units}]"
        axis.down = points_down(coordinate, self._dims[d].name)
        return axis

    def _shown_dims(self) -> list[int]:
        """The last two that are longer than 1, or what there is: y and x, or x alone."""
        free = [d for d in range(len(self._dims)) if not self._parts[d].fixed]
        longer = [d for d in free if self._shape[d] > 1]
        shorter = [d for d in free if self._shape[d] == 1]
        if not free:
            advice = (
                "leave a dimension of --slice open, with :" if self._dims else "plot takes variables with dimensions"
            )
            raise ValueError(f"{self._path}: {self._variable.name} is one number ({advice})")
        shown = longer[-2:]
        if not shown:
            shown = shorter[-1:]
        if len(shown) == 2 and self._lies_on_its_side(*shown):
            shown.reverse()
        return shown

    def _lies_on_its_side(self, y: int, x: int) -> bool:
        along = self._coordinate_of(y), self._coordinate_of(x)
        if all(one is not None for one in along):
            if says_longitude(along[0]) and says_latitude(along[1]):
                return True
            if says_latitude(along[0]) and says_longitude(along[1]):
                return False
        return self._shape[y] > 4 * self._shape[x]

    def _read_grid(self, found: _map.Field) -> None:
        shown = self._shown_dims()
        key = self._key(shown, found)
        x, y = shown[-1], shown[0] if len(shown) == 2 else None
        shape = 1 if y is None else self._shape[y], self._shape[x]
        means = Means(shape, (_MOST_ROWS, WIDTH))
        columns = min(shape[1], _BLOCK)
        rows = max(1, _BLOCK // columns)
        for row in range(0, shape[0], rows):
            for column in range(0, shape[1], columns):
                n = min(rows, shape[0] - row), min(columns, shape[1] - column)
                key[x] = self._parts[x].key(column, n[1])
                if y is not None:
                    key[y] = self._parts[y].key(row, n[0])
                values = decode(self._variable, self._variable[tuple(key)])
                upright = y is None or y < x
                means.add(values.reshape(n) if upright else values.reshape(n[::-1]).T, row, column)
        found.grid = _map.Grid(self._axis(x), None if y is None else self._axis(y), means.cells())


def _name_with_units(variable: Variable) -> str:
    long_name, units = text_attribute(variable, "long_name"), text_attribute(variable, "units")
    name = variable.name
    if long_name and long_name != name:
        name += f": {long_name}"
    return f"{name} [{units}]" if units else name
