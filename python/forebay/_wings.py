"""What of the library a build has left out."""

from __future__ import annotations

from . import _forebay
from ._errors import UnsupportedError


def has(wing: str) -> bool:
    return wing in _forebay.wings


def need(wing: str, what: str) -> None:
    """Raises UnsupportedError where the wing, which has what is asked for, was left out."""
    if not has(wing):
        raise UnsupportedError(f"this build has no {what}: configure Forebay with {wing} in -DFOREBAY_WINGS")
