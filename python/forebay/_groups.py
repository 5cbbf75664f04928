"""Files with groups: which group each dimension, variable and attribute of a file belongs to.

A reader of such files describes them flat, with paths as names ("group/inner/T"); here they become a tree of datasets
that share the file.
"""

from __future__ import annotations

from typing import Any

from ._dataset import GLOBAL, Dataset, Dimension


class Group(Dataset):
    """A group of an open file: a dataset within a dataset. Closing it closes the file."""

    def __init__(self, parent: Dataset, name: str, full_name: str, own: int):
        self.parent = parent
        #: The path of the group in the file, without a slash at its beginning.
        self.name: str = full_name
        self._root: Dataset = getattr(parent, "_root", parent)
        self._own = own
        self._path = f"{parent._path}/{name}" if parent is not self._root else f"{parent._path}: /{name}"
        self._place = parent._place
        self.format, self.threads = parent.format, parent.threads
        self._attribute_cache = self._root._attribute_cache
        self._handle, self._check_changes = parent._handle, parent._check_changes
        self._all_dims = parent._all_dims
        self._dims: list[Dimension] = []
        self._vars = {}
        self._groups = {}
        self._left_out = {}

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._root.path

    @property
    def _closed(self) -> bool:  # type: ignore[override]
        return self._root._closed

    def close(self) -> None:
        self._root.close()

    def __reduce__(self) -> tuple:
        return _group_of, (self._root, self.name)


def group_of(root: Dataset, path: str) -> Dataset:
    """The group at a path; the root for "" and "/". KeyError where there is none."""
    group = root
    for name in filter(None, path.split("/")):
        group = group.groups[name]
    return group


_group_of = group_of


def distribute(
    root: Dataset, dims: list[tuple], variables: list[tuple], groups: list[str], left_out: list[tuple[str, str]]
) -> None:
    """Fills the root, and the groups in it, with what a reader described."""
    root._all_dims, root._dims, root._vars = [], [], {}
    of_path = {"": root}
    for i, path in enumerate(groups):
        above, _, name = path.rpartition("/")
        of_path[path] = of_path[above]._groups[name] = Group(of_path[above], name, path, GLOBAL - 1 - i)
    for full_name, size, unlimited in dims:
        above, _, name = full_name.rpartition("/")
        group = of_path[above]
        dimension = Dimension(name, size, unlimited, group)
        group._dims.append(dimension)
        root._all_dims.append(dimension)
    for i, (full_name, *rest) in enumerate(variables):
        above, _, name = full_name.rpartition("/")
        group = of_path[above]
        group._vars[name] = root._variable_class(group, i, (name, *rest))
    for full_name, why in left_out:
        variable, colon, attribute = full_name.partition(":")
        above, _, name = variable.rpartition("/")
        of_path.get(above, root)._left_out[name + colon + attribute] = why


__all__: list[Any] = ["Group", "distribute", "group_of"]
