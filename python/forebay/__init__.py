"""Forebay's files in Python: classic netCDF, and variables in compressed chunks, read and written with NumPy.

netCDF-4 and other HDF5 files are read too.

    import forebay

    with forebay.open("history.nc") as file:
        file                                 # what is in it
        T = file["T"]
        T[0, ::2, -1]                        # reads just that

    with forebay.create("out.nc", method="layout=chunked;codec=shuffle,zstd:3") as file:
        file.create_dimension("time", None)
        file.create_dimension("x", 100)
        T = file.create_variable("T", "f4", ("time", "x"), attributes={"units": "K"})
        T[0] = 280.0

    import xarray
    xarray.open_dataset("history.nc", engine="forebay")

docs/python.md tells the whole of it.
"""

from . import _forebay
from ._dataset import Dataset, Dimension, FoundBlock, Variable, needs_forebay
from ._errors import ChangedFileError, FormatError, LostStepsWarning, StagedWritesWarning, UnsupportedError
from ._open import open
from ._references import references, write_references

__version__: str = _forebay.version
#: Whether this build writes with many ranks (create(..., comm=...)).
has_mpi: bool = _forebay.mpi
#: Whether this build reads netCDF-4 and other HDF5 files.
has_hdf5: bool = _forebay.hdf5

__all__ = [
    "Bundle",
    "ChangedFileError",
    "Dataset",
    "Dimension",
    "FormatError",
    "FoundBlock",
    "LostStepsWarning",
    "StagedWritesWarning",
    "Step",
    "UnsupportedError",
    "Variable",
    "WritableDataset",
    "WritableVariable",
    "bundle",
    "create",
    "follow",
    "has_hdf5",
    "has_mpi",
    "needs_forebay",
    "open",
    "references",
    "to_netcdf",
    "write_references",
]

_LATER = {
    "Bundle": "_bundle",
    "bundle": "_bundle",
    "create": "_writing",
    "Step": "_follow",
    "follow": "_follow",
    "WritableDataset": "_writing",
    "WritableVariable": "_writing",
    "to_netcdf": "_to_netcdf",
}


def __getattr__(name: str):
    """What only those need who write is loaded when it is asked for."""
    if name in _LATER:
        from importlib import import_module

        value = getattr(import_module(f".{_LATER[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
