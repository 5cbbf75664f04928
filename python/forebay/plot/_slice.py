"""Slices of variables as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Part:
    """What is shown of one dimension: element i is start + i * step of the variable."""

    start: int
    count: int
    step: int = 1
    fixed: bool = False  # one index was given: the dimension is not drawn

    def key(self, first: int = 0, count: int | None = None, step: int = 1) -> slice:
        """Elements of the part, as an index of the variable."""
        count = self.count - first if count is None else count
        begin, stride = self.start + first * self.step, self.step * step
        return slice(begin, begin + (count - 1) * stride + 1, stride)


def _refuse(part: str, why: str) -> IndexError:
    example = 'for example --slice "0, 10:50, ::2" or --slice "time=-1, lat=10:50"'
    return IndexError(f'--slice: "{part}": {why} ({example})')


def _number(text: str, part: str) -> int | None:
    if not text.strip():
        return None
    try:
        return int(text)
    except ValueError:
        raise _refuse(part, f'"{text.strip()}" is no whole number') from None


def _parse_part(part: str, name: str, length: int) -> Part:
    numbers = [_number(text, part) for text in part.split(":")]
    if len(numbers) == 1:
        index = numbers[0]
        if index is None or not -length <= index < length:
            raise _refuse(part, f"{name} has the indices 0 to {length - 1}, or -1 for the last")
        return Part(index % length, 1, 1, True)
    if len(numbers) > 3:
        raise _refuse(part, "a slice is START:END:STEP")
    if len(numbers) == 3 and numbers[2] is not None and numbers[2] < 1:
        raise _refuse(part, "steps must be positive")
    chosen = range(*slice(*numbers).indices(length))
    if not chosen:
        raise _refuse(part, f"selects nothing: {name} has {length} elements")
    return Part(chosen.start, len(chosen), chosen.step)


def parse_slice(text: str, names: Sequence[str], lengths: Sequence[int]) -> list[Part]:
    """What a slice of a variable with these dimensions shows of each.

    As NumPy writes it, one part a dimension from the first on ("3, :, 10:50:2", "..." for as many as needed), or by
    names ("time=3, lat=10:50"; the others are whole). IndexError, with what would be accepted.
    """
    parts = [Part(0, length) for length in lengths]
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    given = [part.strip() for part in text.split(",")] if text.strip() else []
    if given.count("...") > 1:
        raise _refuse("...", "only one is possible")
    at = 0
    for part in given:
        if part == "...":
            at += max(0, len(lengths) - (len(given) - 1))
            continue
        name, equals, written = part.rpartition("=")
        if equals:
            if name.strip() not in names:
                raise _refuse(part, f"the dimensions are {', '.join(names)}")
            at = list(names).index(name.strip())
        if at >= len(lengths):
            raise _refuse(part, f"there are {len(names)} dimensions: {', '.join(names)}")
        parts[at] = _parse_part(written.strip(), names[at], lengths[at])
        at += 1
    return parts
