"""Basic indexing as NumPy defines it, turned into the start, count and stride of a netCDF access."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Selection:
    """What a key selects of an array: always read forward, then flipped where a step was negative."""

    start: list[int]
    count: list[int]
    stride: list[int]
    flip: tuple[slice, ...] | None  # what reverses the axes that were given backwards
    shape: tuple[int, ...]  # of the result: without the axes that an integer selects

    @property
    def strides(self) -> list[int]:
        """For the library: empty where all are 1."""
        return self.stride if any(s != 1 for s in self.stride) else []

    def arrange(self, array: np.ndarray) -> np.ndarray:
        """An array of `count` elements, in the order and the shape that the key asks for."""
        if self.flip is not None:
            array = array[self.flip]
        return array.reshape(self.shape)


def _expand(key: Any, ndim: int, name: str) -> list[Any]:
    """One entry for each dimension."""
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError(f"{name}: an index can have only one ellipsis (...)")
    given = len(keys) - len(dots)
    if given > ndim:
        raise IndexError(f"{name} has {ndim} dimensions, but {given} were indexed")
    at = dots[0] if dots else len(keys)
    return keys[:at] + [slice(None)] * (ndim - given) + keys[at + len(dots) :]


def _index(key: Any, name: str) -> int:
    kind = "None" if key is None else type(key).__name__
    try:
        if isinstance(key, (bool, np.bool_)):
            raise TypeError
        return operator.index(key)
    except TypeError:
        raise IndexError(
            f"{name}: only integers, slices and ... select from a file, not {kind}; for more, read first: "
            f"{name}[...][key]"
        ) from None


def select(key: Any, shape: tuple[int, ...], name: str, *, grows: int | None = None) -> Selection:
    """What `key` selects of an array of this shape.

    `grows`: for writing, the first dimension is unlimited: integers and slices may lie beyond its end, and an open
    slice ends after that many elements (or, if that is less, at the present end).
    """
    keys = _expand(key, len(shape), name)
    if all(type(k) is slice and k == slice(None) for k in keys) and grows is None:
        return Selection([0] * len(shape), list(shape), [1] * len(shape), None, shape)
    start, count, stride, flips, result = [], [], [], [], []
    for axis, (k, length) in enumerate(zip(keys, shape, strict=True)):
        if isinstance(k, slice):
            if axis == 0 and grows is not None:
                length = _length_for(k, length, grows)
            first, stop, step = k.indices(length)
            n = len(range(first, stop, step))
            if step < 0 and n > 0:
                first += (n - 1) * step  # the last one is the first in the file
            flips.append(slice(None, None, -1) if step < 0 else slice(None))
            start.append(first if n > 0 else 0)
            count.append(n)
            stride.append(abs(step) if n > 1 else 1)
            result.append(n)
        else:
            i = _index(k, name)
            beyond = i >= length and not (axis == 0 and grows is not None)
            if beyond or i < -length:
                raise IndexError(f"{name}: index {i} is out of range for dimension {axis} of length {length}")
            start.append(i + length if i < 0 else i)
            count.append(1)
            stride.append(1)
            flips.append(slice(None))
    flip = tuple(flips) if any(f.step == -1 for f in flips) else None
    return Selection(start, count, stride, flip, tuple(result))


def _length_for(key: slice, length: int, grows: int) -> int:
    """How long an unlimited dimension is taken to be, so that a slice means what is written."""
    step = 1 if key.step is None else operator.index(key.step)
    if step < 0:
        return length
    if key.stop is not None:
        stop = operator.index(key.stop)
        return max(length, stop)
    first = 0 if key.start is None else operator.index(key.start)
    first = first + length if first < 0 else first
    return max(length, first + (grows - 1) * step + 1 if grows > 0 else length)
