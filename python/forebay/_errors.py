"""The exceptions of the package, and which one each kind of error of the library becomes.

They are the usual ones of Python; those defined here are kinds of OSError, and of a second class where callers may
look for that.
"""

import errno


class FormatError(OSError, ValueError):
    """A file that is not what it should be: not one of ours, cut short, or damaged (the message says which part)."""


class UnsupportedError(OSError, NotImplementedError):
    """Something that this build cannot read or do: a codec that it lacks, a format that it does not know."""


class ChangedFileError(OSError):
    """The file was written to, or replaced, after it was opened: open it again."""


class StagedWritesWarning(UserWarning):
    """Writes of a job that ended are in its staging logs, not in the file yet."""


class LostStepsWarning(UserWarning):
    """Steps of a BP file whose index is lost: what was searched is less than was written."""


_CLASSES = {
    "not found": FileNotFoundError,
    "exists": FileExistsError,
    "permission": PermissionError,
    "no space": OSError,
    "system": OSError,
    "memory": MemoryError,
    "format": FormatError,
    "unsupported": UnsupportedError,
    "index": IndexError,
    "key": KeyError,
    "type": TypeError,
    "overflow": OverflowError,
    "runtime": RuntimeError,
    "value": ValueError,
}

_NUMBERS = {
    "not found": errno.ENOENT,
    "exists": errno.EEXIST,
    "permission": errno.EACCES,
    "no space": errno.ENOSPC,
    "system": errno.EIO,
}


def exception(kind: str, message: str) -> Exception:
    """The exception for an error of the library. Called by the extension."""
    made = _CLASSES[kind](message)
    if kind in _NUMBERS:
        made.errno = _NUMBERS[kind]  # type: ignore[attr-defined]  # the text stays the sentence
    return made


def missing(kind: str, name: object, names: list[str], where: str) -> KeyError:
    """KeyError for a name that is not there, with the one that may have been meant."""
    import difflib

    close = difflib.get_close_matches(str(name), names, n=1)
    if close:
        hint = f"did you mean {close[0]!r}?"
    elif not names:
        hint = f"it has no {kind}s"
    else:
        hint = "it has: " + ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return KeyError(f"{where}: there is no {kind} {name!r} ({hint})")
