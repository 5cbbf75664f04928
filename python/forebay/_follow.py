"""Following a BP file step by step, also while another program writes it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from . import _forebay
from ._errors import missing
from ._types import decode_attribute
from ._wings import need

_LONGEST_PAUSE = 0.2  # seconds between two looks


class Step(Mapping):
    """One step of a BP file: a mapping from names, as they are in the file, to values.

    `step["T"]` reads all of an array, a number, or a str; `step.read("T", start, count)` reads a box. Elements that no
    rank wrote have netCDF's fill value. It can be read as long as it is kept, also behind later steps.
    """

    def __init__(self, file: Any, path: str, number: int):
        self._file, self._path = file, path
        #: Its number in the file, from 0.
        self.number: int = number
        self._variables, left_out = file.variables(number)
        #: What cannot be read, and why.
        self.left_out: Mapping[str, str] = MappingProxyType(dict(left_out))

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:
        return f"<forebay.Step {self.number} of {self._path}: {', '.join(self._variables)}>"

    def _variable(self, name: str) -> tuple:
        try:
            return self._variables[name]
        except KeyError:
            raise missing("variable", name, list(self._variables), f"step {self.number} of {self._path}") from None

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a variable in this step; () for one value."""
        return self._variable(name)[3]

    def dtype(self, name: str) -> np.dtype:
        """The type of a variable; object for a string."""
        _, width, kind, _ = self._variable(name)
        return np.dtype(object) if kind == "U" else np.dtype(f"{kind}{width}")

    def read(self, name: str, start: Sequence[int] | None = None, count: Sequence[int] | None = None) -> Any:
        """The elements of a box, in C's order; without `start` and `count` all of them."""
        number, _, kind, shape = self._variable(name)
        if kind == "U":
            return self._file.text(number, self.number)
        if (start is None) != (count is None):
            raise ValueError("a start without a count, or the other way round: give both, or none for all of it")
        first = [0] * len(shape) if start is None else [int(n) for n in start]
        extent = list(shape) if count is None else [int(n) for n in count]
        values = np.empty(extent, self.dtype(name))
        self._file.read(number, self.number, first, extent, values)
        return values if shape else values[()]

    def __getitem__(self, name: str) -> Any:
        return self.read(name)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the file so far, by their names in it: "T/units"."""
        listed = self._file.attributes()
        return MappingProxyType({name: decode_attribute(number, value) for name, number, value in listed})


def follow(path: str | os.PathLike, *, timeout: float = 60.0) -> Iterator[Step]:
    """The steps of a BP file, one after another, also while another program writes it.

    Waits for the file, and for each step, at most `timeout` seconds; then TimeoutError is raised, as after the program
    that writes was killed. Ends when that program has closed the file. It has to mark the file (`follow=enable`,
    docs/groups.md; adios2 always does); a file without a mark ends behind the steps that it has.

        for step in forebay.follow("run.bp"):
            print(step.number, step["T"].mean())
    """
    need("groups", "reader of BP files")
    if not timeout >= 0:
        raise ValueError(f"timeout is {timeout}: give seconds, 0 or more")
    return _steps(os.fspath(path), timeout)


def _steps(path: str, timeout: float) -> Iterator[Step]:
    name = os.fsencode(path)
    end = time.monotonic() + timeout
    while not _forebay.bp_has_begun(name):
        if time.monotonic() >= end:
            raise TimeoutError(f"{path}: not there within {timeout} s, or not begun")
        time.sleep(min(0.05, timeout))
    file = _forebay.BpFollower(name)
    while True:
        end = time.monotonic() + timeout
        pause = 0.001
        while True:
            left = max(0.0, end - time.monotonic())
            found, ended, number = file.begin_step(0)  # other threads may read while this one waits
            if found or ended:
                break
            if left == 0:
                raise TimeoutError(f"{path}: no further step within {timeout} s, and its writer has not closed it")
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        if ended:
            return
        yield Step(file, os.fsdecode(path), number)
