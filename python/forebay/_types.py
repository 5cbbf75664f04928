"""Types and attributes: what netCDF calls them, what NumPy calls them, how they lie in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

CHAR = 2
STRING = 12  # of any length; in HDF5 files only

# By netCDF's number; text is one byte an element.
DTYPES: dict[int, np.dtype] = {
    1: np.dtype("i1"),
    CHAR: np.dtype("S1"),
    3: np.dtype("i2"),
    4: np.dtype("i4"),
    5: np.dtype("f4"),
    6: np.dtype("f8"),
    7: np.dtype("u1"),
    8: np.dtype("u2"),
    9: np.dtype("u4"),
    10: np.dtype("i8"),
    11: np.dtype("u8"),
}
_EXTERNAL = {number: dtype.newbyteorder(">") for number, dtype in DTYPES.items()}
_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
NAMES = {
    1: "byte",
    CHAR: "char",
    3: "short",
    4: "int",
    5: "float",
    6: "double",
    7: "ubyte",
    8: "ushort",
    9: "uint",
    10: "int64",
    11: "uint64",
}


def type_number(dtype: Any) -> int:
    """netCDF's number of a type, given as what NumPy makes a dtype of, or "char" for text."""
    if isinstance(dtype, str) and dtype == "char":
        return CHAR
    wanted = np.dtype(dtype).newbyteorder("=")
    if wanted == np.bool_:
        wanted = np.dtype("i1")
    if wanted not in _NUMBERS:
        raise TypeError(
            f"a netCDF variable cannot be of type {wanted} (integers and floating numbers of up to 8 bytes, and S1)"
        )
    return _NUMBERS[wanted]


def dtype_of(number: int, width: int | None = None) -> np.dtype:
    """What an array of a type is made of. `width`: bytes of a string; 0: strings of any length, objects of type str."""
    if number != CHAR or width is None or width == 1:
        return DTYPES[number]
    return np.dtype(object) if width == 0 else np.dtype(f"S{width}")


def decode_attribute(number: int, value: str | bytes | list[str]) -> Any:
    """An attribute as Python has it: text; one number; an array of several; a list of texts."""
    if isinstance(value, (str, list)):
        return value
    array = np.frombuffer(value, _EXTERNAL[number])
    if array.size == 1:
        return DTYPES[number].type(array[0])
    return array.astype(DTYPES[number])


def encode_attribute(name: str, value: Any) -> tuple[int, int, bytes]:
    """(type, number of elements, big-endian bytes) of an attribute."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return CHAR, len(value), value
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "US":
        if array.ndim == 0 and array.dtype.kind in "US":
            return encode_attribute(name, array.item())
        raise TypeError(f"attribute {name!r}: {type(value).__name__} is neither text nor numbers")
    if array.ndim > 1:
        raise ValueError(f"attribute {name!r} has {array.ndim} dimensions; one is the most that a file can hold")
    try:
        number = type_number(array.dtype)
    except TypeError as error:
        raise TypeError(f"attribute {name!r}: {error}") from None
    return number, array.size, array.astype(_EXTERNAL[number]).tobytes()
