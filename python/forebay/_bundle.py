"""Bundles: several files that are written together (docs/bundles.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from . import _forebay
from ._open import absolute
from ._writing import WritableDataset, _communicator, append, create, method_keys


class Bundle:
    """Files that are written together, the ranks divided among them; made by forebay.bundle()."""

    def __init__(self, name: str, method: str | Mapping[str, Any] | None = None, *, comm: Any = None):
        self._name, self._comm, self._files = name, comm, []
        self._method = method_keys(method)
        self._number: int | None = None
        self._ranks = 1 if comm is None else comm.size
        self._number = _forebay.begin_bundle(name, self._method, _communicator(comm))
        self._plan = "{}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def closed(self) -> bool:
        return self._number is None

    @property
    def files(self) -> tuple[WritableDataset, ...]:
        """The files that are open, in the order in which they were added."""
        return tuple(file for file in self._files if not file.closed)

    @property
    def plan(self) -> dict[str, Any]:
        """How the files were written last: the scheme and why, which ranks wrote which, and seconds."""
        return json.loads(self._plan if self._number is None else _forebay.bundle_plan(self._number))

    def create(
        self,
        path: str | os.PathLike,
        method: str | Mapping[str, Any] | None = None,
        *,
        format: str = "CDF-5",
        overwrite: bool = True,
    ) -> WritableDataset:
        """A new file, as forebay.create() makes it, whose writes wait for the others'. `method` goes before the
        bundle's own."""
        keys = self._method | method_keys(method)
        return self._add(create(path, keys, format=format, overwrite=overwrite, comm=self._comm, _bundle=self._use()))

    def open(self, path: str | os.PathLike, method: str | Mapping[str, Any] | None = None) -> WritableDataset:
        """An existing file, as forebay.open(path, "a") opens it, whose writes wait for the others'."""
        keys = self._method | method_keys(method)
        return self._add(append(absolute(path), keys, self._comm, self._use()))

    def _use(self) -> int:
        if self._number is None:
            raise ValueError(f"bundle {self._name} is closed")
        return self._number

    def _add(self, file: WritableDataset) -> WritableDataset:
        self._files = [*self.files, file]
        return file

    @contextmanager
    def batch(self):
        """Assignments to all open files within the block are queued, as WritableDataset.batch() does for one."""
        with ExitStack() as all_files:
            for file in reversed(self.files):  # the first is written first
                all_files.enter_context(file.batch())
            yield

    def flush(self) -> None:
        """Everything that waits is written to the files. Collective."""
        _forebay.flush_bundle(self._use())

    def sync(self) -> None:
        """The same, and it reaches the device. Collective."""
        _forebay.sync_bundle(self._use())

    def close(self) -> None:
        """Writes everything and closes all files. Collective. Raises the first error of a file's, with its name."""
        if self._number is None:
            return
        number = self._use()
        try:
            for file in self.files:
                file._note_end()
            self._plan = _forebay.end_bundle(number)
        finally:
            self._number = None

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, kind: Any, *exception: object) -> None:
        if kind is not None and self._ranks > 1:
            return  # closing is collective, and the other ranks are elsewhere; the error is what counts
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{len(self.files)} files open"
        return f"<forebay.Bundle {self._name!r}: {state}>"


def bundle(name: str, method: str | Mapping[str, Any] | None = None, *, comm: Any = None) -> Bundle:
    """Begins a bundle: files that are written together, in one operation, each by a group of the ranks.

        with forebay.bundle("history", comm=comm) as b:
            prog, surf = b.create("prog.nc"), b.create("surf.nc")
            ...
        b.plan

    What is assigned to its files waits in memory, copied, until the bundle is closed or flushed, there is more than
    `bundle_memory`, or a file is read. `method` has the keys that begin with `bundle_`, and those of all its files.
    Collective over `comm`, an mpi4py communicator, as all that is done to its files. One thread at a time.
    """
    return Bundle(name, method, comm=comm)
