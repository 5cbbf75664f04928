"""Opens references, or a Zarr store, with zarr and xarray and compares with a classic file.

usage: check_refs.py REFERENCES_OR_STORE CLASSIC

CLASSIC holds the same values as a plain classic file, which netCDF4 reads. Prints how many
variables are equal; exit code 0 if all are, 77 if a package is missing.
"""
import os
import sys

try:
    import fsspec  # noqa: F401
    import netCDF4
    import numpy
    import xarray
    import zarr
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)


def same(a, b):
    if a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        return bool(numpy.array_equal(a, b, equal_nan=True))
    return bool(numpy.array_equal(a, b))


def options_for(path):
    """Arguments of zarr and xarray that open what is at path."""
    if os.path.isdir(path):
        return path, {}
    return "reference://", {"fo": path, "remote_protocol": "file"}


def main():
    path, classic = sys.argv[1:3]
    url, storage = options_for(path)
    expected = netCDF4.Dataset(classic)
    expected.set_auto_maskandscale(False)
    expected.set_auto_chartostring(False)
    group = zarr.open_group(url, mode="r", zarr_format=2, storage_options=storage or None)
    bad = []
    for name, var in expected.variables.items():
        values = numpy.asarray(group[name][...]) if name in group else None
        if values is None or not same(values, numpy.asarray(var[...])):
            bad.append(name)
        elif list(group[name].attrs["_ARRAY_DIMENSIONS"]) != list(var.dimensions):
            bad.append(name + " (dimensions)")
    with xarray.open_dataset(url, engine="zarr", decode_cf=False,
                             backend_kwargs={"consolidated": os.path.isdir(path),
                                             "storage_options": storage or None}) as dataset:
        for name, var in expected.variables.items():
            if name not in dataset.variables:
                bad.append(name + " (xarray)")
            elif not same(dataset[name].values, numpy.asarray(var[...])):
                bad.append(name + " (xarray values)")
            elif dataset[name].dims != var.dimensions:
                bad.append(name + " (xarray dimensions)")
    if bad:
        print("differ: " + ", ".join(bad))
        return 1
    print(f"{len(expected.variables)} variables are equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
