"""Opens references to a file with decomposed variables, scatters what is gathered, and compares with a classic file.

usage: check_gathered.py REFERENCES CLASSIC

CLASSIC holds the same values as a plain classic file, which netCDF4 reads. Exit code 0 if all variables are equal, 77
if a package is missing.
"""
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


def scattered(parts, dataset, like):
    """The array of which each part has some elements, as CF's gathering tells."""
    fill = netCDF4.default_fillvals[like.dtype.str[1:]]
    whole = numpy.full(like.shape, fill, like.dtype)
    for part in parts:
        gathered = part.dims[-1]
        assert dataset[gathered].attrs["compress"].split() == list(like.dimensions[part.ndim - 1:])
        flat = whole.reshape(whole.shape[:part.ndim - 1] + (-1,))
        places = dataset[gathered].values
        flat[..., places] = numpy.where(part.values != like.dtype.type(fill), part.values, flat[..., places])
    return whole


def main():
    references, classic = sys.argv[1:3]
    storage = {"fo": references, "remote_protocol": "file"}
    expected = netCDF4.Dataset(classic)
    expected.set_auto_maskandscale(False)
    expected.set_auto_chartostring(False)
    zarr.open_group("reference://", mode="r", zarr_format=2, storage_options=storage)
    bad, gathered = [], 0
    with xarray.open_dataset("reference://", engine="zarr", decode_cf=False,
                             backend_kwargs={"consolidated": False, "storage_options": storage}) as dataset:
        for name, var in expected.variables.items():
            if name in dataset.variables:
                values = dataset[name].values
            else:
                parts = [p for p in dataset.variables.values() if p.attrs.get("gathered_of") == name]
                gathered += len(parts)
                values = scattered(parts, dataset, var)
            if not numpy.array_equal(values, numpy.asarray(var[...]), equal_nan=values.dtype.kind == "f"):
                bad.append(name)
    if bad or gathered == 0:
        print(f"{gathered} are gathered; differ: " + ", ".join(bad))
        return 1
    print(f"{len(expected.variables)} variables are equal, of {gathered} gathered arrays")
    return 0


if __name__ == "__main__":
    sys.exit(main())
