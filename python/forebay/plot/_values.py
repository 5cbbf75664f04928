"""Values as pictures need them: physical, as 8-byte numbers, NaN for "no data"; and which variables are coordinates.

By the CF conventions, as far as a quick look needs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

import numpy as np

from .. import Dataset, Variable, open

# netCDF's own for what was never written; bytes have none.
_DEFAULT_FILL = {
    "i2": -32767,
    "u2": 65535,
    "i4": -2147483647,
    "u4": 4294967295,
    "i8": -9223372036854775806,
    "u8": 18446744073709551614,
    "f4": np.float32(9.9692099683868690e36),
    "f8": 9.9692099683868690e36,
}


@contextmanager
def opened(file: str | PathLike | Dataset) -> Iterator[Dataset]:
    """A dataset as it is, or that of a path while it is needed."""
    if isinstance(file, Dataset):
        yield file
        return
    with open(file) as dataset:
        yield dataset


def is_numeric(variable: Variable) -> bool:
    return variable.dtype.kind in "iuf"


def text_attribute(variable: Variable, name: str) -> str:
    value = variable.attributes.get(name)
    return value if isinstance(value, str) else ""


def _numbers(variable: Variable, name: str) -> np.ndarray:
    value = variable.attributes.get(name)
    return np.empty(0) if value is None or isinstance(value, (str, list)) else np.ravel(value)


def decode(variable: Variable, stored: np.ndarray) -> np.ndarray:
    """Stored values as physical ones."""
    stored = np.asarray(stored)
    absent = [*_numbers(variable, "_FillValue"), *_numbers(variable, "missing_value")]
    default = _DEFAULT_FILL.get(variable.dtype.str[1:])
    if "_FillValue" not in variable.attributes and default is not None:
        absent.append(default)
    values = stored.astype("f8")
    gone = ~np.isfinite(values)
    for value in absent:
        # Compared as what is stored: 1e20 as a double is no float's.
        with np.errstate(over="ignore"):
            gone |= stored == (np.array(value).astype(stored.dtype) if stored.dtype.kind == "f" else value)
    for name, apply in (("scale_factor", np.multiply), ("add_offset", np.add)):
        if (number := _numbers(variable, name)).size:
            apply(values, float(number[0]), out=values)
    values[gone] = np.nan
    return values


# -- what an axis is: by units, standard_name, axis and positive, as CF has them; by names where these say nothing

_PRESSURE = re.compile("[hk]?pa|mb|(m|milli|d|deci)?bars?|atm")
_DOWN_WORDS = {"lev", "levs", "level", "levels", "depth", "depths"}
_DOWN_WORDS |= {f"{kind}lev" for kind in "pisno"} | {f"depth{point}" for point in "tuvw"}


def _words(name: str) -> set[str]:
    """Of "nVertLevels" n, vert and levels; of "LEVITUS" that alone."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def _says(variable: Variable, what: str, direction: str, names: tuple[str, ...]) -> bool:
    units = re.fullmatch(r"degrees?_?(north|east|n|e)", text_attribute(variable, "units").strip().lower())
    if units:
        return units[1][0] == direction[0]
    if standard := text_attribute(variable, "standard_name"):
        return standard == what
    return variable.name.lower() in names and is_numeric(variable)


def says_latitude(variable: Variable) -> bool:
    return _says(variable, "latitude", "north", ("lat", "latitude", "latcell"))


def says_longitude(variable: Variable) -> bool:
    return _says(variable, "longitude", "east", ("lon", "long", "longitude", "loncell"))


def says_time(variable: Variable) -> bool:
    if axis := text_attribute(variable, "axis").upper():
        return axis == "T"
    return " since " in text_attribute(variable, "units") or text_attribute(variable, "standard_name") == "time"


def points_down(coordinate: Variable | None, dimension: str) -> bool:
    """Whether the smallest value of an axis belongs on top: of depths, pressures and levels."""
    if coordinate is not None:
        positive = text_attribute(coordinate, "positive").lower()
        if positive in ("down", "up"):
            return positive == "down"
        axis, standard = text_attribute(coordinate, "axis").upper(), text_attribute(coordinate, "standard_name")
        if axis in ("X", "Y", "T") or says_latitude(coordinate) or says_longitude(coordinate) or says_time(coordinate):
            return False
        if _PRESSURE.fullmatch(text_attribute(coordinate, "units").strip().lower()):
            return True
        if standard:
            return bool(re.search("depth|pressure|atmosphere_sigma|atmosphere_hybrid_sigma", standard))
    return bool(_words(dimension) & _DOWN_WORDS)


def degrees(variable: Variable, stored: np.ndarray) -> np.ndarray:
    """Stored values of a latitude or longitude; radians are turned, those of MPAS without units too."""
    values, units = decode(variable, stored), text_attribute(variable, "units").lower()
    if units.startswith("rad") or (not units and variable.name.lower().endswith("cell")):
        return np.degrees(values)
    return values


def range_of(values: np.ndarray) -> tuple[float, float]:
    """The least and the greatest value; two NaN where there is none."""
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)


def fault_of(latitude: np.ndarray, longitude: np.ndarray) -> str | None:
    """Why latitudes and longitudes cannot be used; None if they can."""
    known = ~np.isnan(latitude) & ~np.isnan(longitude)
    (south, north), (west, east) = range_of(latitude[known]), range_of(longitude[known])
    if not known.any():
        return "hold nothing but fill values"
    if south == north or west == east:
        return "are all the same"
    if south < -90.001 or north > 90.001 or west < -360.001 or east > 720.001:
        return "are no latitudes and longitudes in degrees"
    return None


def variables_of(dataset: Dataset, path: str = "") -> dict[str, Variable]:
    """All variables, those in groups by their paths."""
    found = {path + name: variable for name, variable in dataset.variables.items()}
    for name, group in dataset.groups.items():
        found |= variables_of(group, f"{path}{name}/")
    return found
