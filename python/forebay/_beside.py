"""Writing a file beside the one that it replaces, which stays what it is until the new one is complete."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from . import _forebay
from ._open import is_netcdf_folder


def _machine() -> str | None:
    """The machine, since when it runs, and where on it numbers of processes are those of this one (not in a container).

    None where the system does not tell: machines of one name cannot be told apart then.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{socket.gethostname()},{boot.read(8)},{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _may_be_needed(folder: str) -> bool:
    """Whether a process was killed while what it had written took its place: values may be here and nowhere else."""
    parent = os.path.dirname(folder)
    for name in os.listdir(folder):
        file = os.path.join(parent, name)
        if name.endswith("-old") or (os.path.lexists(f"{file}.subfiles") and not os.path.lexists(file)):
            return True
    return False


def _remove_left(parent: str) -> None:
    """Removes folders in `parent` that processes of this machine have left, which were killed while they wrote."""
    machine = _machine()
    if machine is None:
        return
    names = re.compile(re.escape(f".forebay-{machine},") + "([1-9][0-9]{0,8}),.+")
    with suppress(OSError):
        for name in os.listdir(parent):
            found = names.fullmatch(name)
            if not found or _is_alive(int(found[1])):
                continue
            folder = os.path.join(parent, name)
            if _may_be_needed(folder):
                warnings.warn(
                    f"{folder} is from a program that was killed while a file took its place; move what is whole in it"
                    " by hand, then remove it",
                    RuntimeWarning,
                    stacklevel=4,
                )
            else:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def beside(path: str | os.PathLike) -> Iterator[str]:
    """Yields where to write what is to be at `path`; at the end that takes its place, with what lies beside it.

    Where the block fails what was written goes, and what was there stays. A link stays a link: what it leads to is
    replaced. What is no file (a device, a pipe) is written to as it is, and so is a file in a folder that nothing new
    can be made in.
    """
    target = os.path.realpath(os.fsdecode(path))
    try:
        before = os.stat(target)
    except FileNotFoundError:
        before = None
    if before is not None and stat.S_ISDIR(before.st_mode) and not is_netcdf_folder(target) and os.listdir(target):
        raise FileExistsError(f"{target} is a folder with other things in it; give the file another name")
    if before is not None and not stat.S_ISREG(before.st_mode) and not stat.S_ISDIR(before.st_mode):
        yield target
        return
    parent, name = os.path.split(target)
    try:
        # A folder of its own, for what may lie beside the file.
        _remove_left(parent)
        folder = tempfile.mkdtemp(prefix=f".forebay-{_machine() or socket.gethostname()},{os.getpid()},", dir=parent)
    except PermissionError:
        if before is None:
            raise PermissionError(f"{target} cannot be created: nothing can be made in {parent}") from None
        yield target
        return
    except FileNotFoundError:
        raise FileNotFoundError(f"{target} cannot be created: there is no folder {parent}") from None
    made = os.path.join(folder, name)
    try:
        yield made
        if before is not None and stat.S_ISREG(before.st_mode):
            with suppress(OSError):  # another's file
                os.chmod(made, stat.S_IMODE(before.st_mode))
        _forebay.rename_file(os.fsencode(made), os.fsencode(target))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
