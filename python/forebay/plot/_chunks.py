"""The map of a variable's chunks: sizes in the file, and owners or places.

The grid of chunks is drawn flat: the last dimension that has several chunks runs to the right, all others, row-major,
run down. Where there are more chunks than pixels, pixels show means of sizes and the first chunk's owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from os import PathLike

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from .. import Dataset, Variable
from .._repr import size_text
from ._report import read_reports
from ._style import (
    NO_DATA,
    WIDTH,
    Means,
    bounds_of_cells,
    colour_of_kind,
    colours,
    figure_of,
    printable,
    remark,
    styled,
)
from ._values import opened, range_of, variables_of

_MOST_CHUNKS = 64 << 20
_MOST_ROWS = 300
_FEW_RANKS = 12  # that have colours of their own


@dataclass
class _ChunkMap:
    """Of each chunk, flat: rows × columns of them; NaN: never written, or not known."""

    bytes: np.ndarray
    place: np.ndarray  # in the file, in bytes from its beginning
    x_name: str
    y_name: str
    summary: str
    file: np.ndarray | None = None
    owner: np.ndarray | None = None


@styled
def chunks(file: str | PathLike | Dataset, variable: str, *, report: str | PathLike | None = None) -> Figure:
    """How many bytes each chunk of a variable takes in the file, and which rank encoded it, or which data file it lies
    in, or where in the file it is.

    `report` is a file that FOREBAY_REPORT=json:PATH made in the run that wrote the variable: files do not record who
    encoded a chunk, its last entry that tells of the variable does. HDF5 (netCDF-4) files have no owners.

    Raises KeyError for a variable that is not there, ValueError for one without chunks or for a report that does not
    tell of them.
    """
    with opened(file) as dataset:
        found = variables_of(dataset).get(variable)
        found = dataset[variable] if found is None else found  # which raises
        shown, in_hdf5 = _read(found, variable, dataset.path), not dataset.format.startswith("CDF")
        if report is not None:
            if in_hdf5:
                raise ValueError(
                    f"{dataset.path}: chunks of an HDF5 file have no owners to be drawn (leave out --report)"
                )
            shown.owner = _owners(report, variable, shown.bytes.shape)
        codec, shape = found.codec, " × ".join(f"{n:,}" for n in found.chunks)
        remarks = [dataset.path, f"chunks of {shape}", codec]
        if in_hdf5:
            remarks.append("HDF5 does not know who wrote a chunk")
    return _draw(shown, "  |  ".join(remarks))


def _read(variable: Variable, name: str, path: str) -> _ChunkMap:
    stored = variable.stored_chunks()
    if not variable.chunks:
        raise ValueError(f"{path}: variable {name} has no data yet: its chunks have no shape")
    grid = [-(-n // length) for n, length in zip(variable.shape, variable.chunks, strict=True)]
    count = prod(grid)
    if not 1 <= count <= _MOST_CHUNKS:
        raise ValueError(f"{path}: variable {name} has {count:,} chunks (between 1 and 64 million can be drawn)")
    inside = np.all(stored.at < grid, axis=1)
    numbers = np.ravel_multi_index(tuple(stored.at[inside].T), grid)
    sizes, places = np.full(count, np.nan), np.full(count, np.nan)
    sizes[numbers] = stored.nbytes[inside]
    known = stored.place[inside] >= 0
    places[numbers[known]] = stored.place[inside][known]
    files = np.full(count, np.nan)
    files[numbers] = np.where(stored.file[inside] >= 0, stored.file[inside], np.nan)
    present, bytes_stored = int(inside.sum()), int(stored.nbytes[inside].sum())
    summary = (
        f"{name}: {present:,} of {count:,} chunks stored, {size_text(stored.raw_nbytes)} in {size_text(bytes_stored)}, "
        f"ratio {stored.raw_nbytes / bytes_stored if bytes_stored else 0:.3g}"
    )
    if unfiltered := int((~stored.filtered[inside]).sum()):
        summary += f", {unfiltered:,} without some of the filters"
    # Dimensions behind x have one chunk, so that chunks in row-major order run along x fastest.
    x = max((d for d, n in enumerate(grid) if n > 1), default=len(grid) - 1)
    down = [variable.dimensions[d] for d in range(x) if grid[d] > 1]
    return _ChunkMap(
        sizes.reshape(-1, grid[x]),
        places.reshape(-1, grid[x]),
        f"chunks along {variable.dimensions[x]}",
        "chunks along " + " × ".join(down) if down else "",
        summary,
        None if np.isnan(files).all() else files.reshape(-1, grid[x]),
    )


def _owners(path: str | PathLike, variable: str, shape: tuple[int, int]) -> np.ndarray:
    """From the last entry of a report that tells of this variable with no more chunks than there are."""
    owner = None
    for entry in read_reports(path):
        told = entry.get("chunk_owners")
        ranks = told.get(variable) if isinstance(told, dict) else None
        if not isinstance(ranks, list) or len(ranks) > prod(shape):
            continue
        owner = np.full(prod(shape), np.nan)
        owner[: len(ranks)] = [rank if isinstance(rank, int) and 0 <= rank < 1 << 31 else np.nan for rank in ranks]
    if owner is None:
        raise ValueError(
            f"{path}: no entry tells who encoded the chunks of {variable} (make it with FOREBAY_REPORT=json:PATH in "
            "the run that writes the file)"
        )
    return owner.reshape(shape)


def _draw(shown: _ChunkMap, remarks: str) -> Figure:
    rows, columns = shown.bytes.shape
    height = 90 if rows == 1 else int(np.clip(24 * rows, 120, 300))
    figure = figure_of(2 * height + 330, shown.summary, shown.summary)
    upper, lower = figure.subplots(2)
    remark(upper, remarks + ("  |  grey: never written" if np.isnan(shown.bytes).any() else ""))
    _draw_values(upper, shown, shown.bytes, "stored size of each chunk")
    if shown.owner is not None:
        _draw_numbers(lower, shown, shown.owner, "rank that encoded the chunk", "rank")
    elif shown.file is not None:
        _draw_numbers(lower, shown, shown.file, "data file that the chunk lies in", "file")
    else:
        known = not np.isnan(shown.place).all() or np.isnan(shown.bytes).all()
        _draw_values(lower, shown, shown.place, "place in the file" if known else "place: not known of so many chunks")
    return figure


def _draw_cells(axes: Axes, shown: _ChunkMap, cells: np.ndarray, **colouring):
    rows, columns = shown.bytes.shape
    image = axes.imshow(
        np.ma.masked_invalid(cells),
        extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
        **colouring,
    )
    axes.set_xlabel(printable(shown.x_name))
    axes.set_ylabel(printable(shown.y_name))
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    if rows == 1:
        axes.set_yticks([])
    if columns <= WIDTH // 6 and rows <= _MOST_ROWS // 6:  # lines between chunks, where there is room for them
        axes.set_xticks(np.arange(0.5, columns - 1), minor=True)
        axes.set_yticks(np.arange(0.5, rows - 1), minor=True)
        axes.grid(which="minor", color="white")
        axes.tick_params(which="minor", length=0)
    return image


def _means(values: np.ndarray) -> np.ndarray:
    means = Means(values.shape, (_MOST_ROWS, WIDTH))
    rows = max(1, (1 << 20) // values.shape[1])
    for row in range(0, values.shape[0], rows):
        means.add(values[row : row + rows], row)
    return means.cells()


def _draw_values(axes: Axes, shown: _ChunkMap, values: np.ndarray, what: str) -> None:
    high = range_of(values)[1]
    unit, name = 1, "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):  # units that keep labels short
        if not high / unit >= 4096:
            break
        unit, name = unit * 1024, larger
    image = _draw_cells(axes, shown, _means(values) / unit, cmap=colours())
    if not np.isnan(high):
        axes.figure.colorbar(image, ax=axes, label=name)
    axes.annotate(what, (1, 1), xycoords="axes fraction", ha="right", va="bottom", fontsize=9)


def _draw_numbers(axes: Axes, shown: _ChunkMap, values: np.ndarray, what: str, word: str) -> None:
    """Of ranks or files."""
    shape = min(values.shape[0], _MOST_ROWS), min(values.shape[1], WIDTH)
    first = [bounds_of_cells(n, cells)[:-1] for n, cells in zip(values.shape, shape, strict=True)]
    cells = values[np.ix_(*first)]
    axes.annotate(what, (1, 1), xycoords="axes fraction", ha="right", va="bottom", fontsize=9)
    ranks = np.unique(values[~np.isnan(values)]).astype(int)
    if ranks.size == 0 or ranks.max() >= _FEW_RANKS:
        image = _draw_cells(axes, shown, cells, cmap=colours())
        if ranks.size:
            axes.figure.colorbar(image, ax=axes, label=word)
        return
    kinds = ListedColormap([colour_of_kind(rank) for rank in range(_FEW_RANKS)]).with_extremes(bad=NO_DATA)
    norm = BoundaryNorm(np.arange(_FEW_RANKS + 1) - 0.5, _FEW_RANKS)
    _draw_cells(axes, shown, cells, cmap=kinds, norm=norm)
    handles = [Patch(facecolor=colour_of_kind(rank), label=f"{word} {rank}") for rank in ranks]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1))
