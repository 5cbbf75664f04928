"""Opens a Zarr store of all levels with zarr and xarray and compares each with a classic file.

usage: check_levels.py STORE LEVEL0 LEVEL1 ...

The files hold the levels, each converted alone. Prints how many arrays are equal; exit code 0 if
all are and the metadata is OME-NGFF's (0.4), 77 if a package is missing.
"""

import sys

try:
    import netCDF4
    import numpy
    import xarray
    import zarr
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)


def wrong_arrays(store, levels):
    """Names that differ, and how many are equal. Coarser groups have what is shorter there."""
    wrong, equal = [], 0
    for level, path in enumerate(levels):
        group = store[str(level)]
        file = netCDF4.Dataset(path)
        file.set_auto_mask(False)
        file.set_auto_chartostring(False)
        there = set(group.array_keys())
        if not there <= set(file.variables) or (level == 0 and there != set(file.variables)):
            wrong.append(f"{level}: {sorted(there)}")
        for name in there:
            values = numpy.asarray(file[name][...])
            same = numpy.array_equal(group[name][...], values, equal_nan=values.dtype.kind == "f")
            if same and list(group[name].attrs["_ARRAY_DIMENSIONS"]) == list(file[name].dimensions):
                equal += 1
            else:
                wrong.append(f"{level}/{name}")
        with xarray.open_dataset(store.store.root, engine="zarr", group=str(level)) as shown:
            if set(shown.variables) != there:
                wrong.append(f"{level} in xarray: {sorted(shown.variables)}")
    return wrong, equal


def wrong_metadata(store):
    """By the text of OME-NGFF 0.4, "multiscales"."""
    order = {"time": 0, "channel": 1, "space": 2}
    for image in store.attrs["multiscales"]:
        kinds = [axis["type"] for axis in image["axes"]]
        yield image["version"] != "0.4" and "version"
        yield not 2 <= len(kinds) <= 5 and "number of axes"
        yield not 2 <= kinds.count("space") <= 3 and "axes of space"
        yield kinds != sorted(kinds, key=order.get) and "order of axes"
        for level, dataset in enumerate(image["datasets"]):
            array = store[dataset["path"]]
            scale, translation = dataset["coordinateTransformations"]
            yield array.ndim != len(kinds) and "dimensions"
            yield array.metadata.dimension_separator != "/" and "separator"
            yield (scale["type"], translation["type"]) != ("scale", "translation") and "types"
            wanted = [2.0**level if kind == "space" else 1.0 for kind in kinds]
            yield scale["scale"] != wanted and "scale"
            yield any(translation["translation"]) and "translation"
    yield not store.attrs["multiscales"] and "nothing there"


def main():
    path, *levels = sys.argv[1:]
    store = zarr.open_group(path, mode="r", zarr_format=2)
    wrong, equal = wrong_arrays(store, levels)
    wrong += [what for what in wrong_metadata(store) if what]
    print(f"{path}: {equal} arrays of {len(levels)} levels are equal")
    if wrong:
        print("wrong:", *wrong)
    return 1 if wrong or equal == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
