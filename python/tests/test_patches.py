"""Variables in patches: levels, errors, refining, xarray; against the transform as NumPy does it."""

import pickle

import numpy as np
import pytest
import xarray

import forebay

SHAPE = (21, 45, 50)
EXACT = "layout=patches;patch_edge=8;codec=shuffle,zstd:1"
BOUNDED = "layout=patches;patch_edge=8;codec=zfp:accuracy=0.01"


def halved(values, axis):
    x = np.moveaxis(values.astype("f8"), axis, 0)
    even, odd = x[::2], x[1::2]
    if not len(odd):
        return np.moveaxis(even, 0, axis)
    right = np.concatenate([even[1:], even[-1:]])[: len(odd)]
    d = odd - (even[: len(odd)] + right) / 2
    left = np.concatenate([d[:1], d])[: len(even)]
    after = np.concatenate([d, d[-1:]])[: len(even)]
    return np.moveaxis(even + (left + after) / 4, 0, axis)


def coarse(values, edge=8):
    """Level 1: every patch for itself."""
    out = np.empty([-(-n // 2) for n in values.shape])
    for at in np.ndindex(*[-(-n // edge) for n in values.shape]):
        patch = values[tuple(slice(a * edge, (a + 1) * edge) for a in at)]
        for axis in (2, 1, 0):
            patch = halved(patch, axis)
        first = [a * edge // 2 for a in at]
        out[tuple(slice(f, f + n) for f, n in zip(first, patch.shape, strict=True))] = patch
    return out


def field():
    z, y, x = np.meshgrid(*[np.arange(n) for n in SHAPE], indexing="ij")
    return (np.sin(0.3 * x) * np.cos(0.2 * y) + 0.05 * z + 0.1 * np.sin(z * y)).astype("f4")


def write(path, method, values=None):
    values = field() if values is None else values
    with forebay.create(path, method) as out:
        for name, n in zip("zyx", SHAPE, strict=True):
            out.create_dimension(name, n)
            out.create_variable(name, "f8", (name,))[...] = np.arange(n) * 10.0
        rho = out.create_variable("rho", "f4", tuple("zyx"), fill_value=-99.0)
        rho[...] = values
        out.create_variable("mask", "i4", ("y", "x"))[...] = np.arange(45 * 50).reshape(45, 50)
    return path


def test_levels_are_what_the_transform_makes(tmp_path):
    values = field()
    for method, bound in ((EXACT, 0.0), (BOUNDED, 0.01)):
        with forebay.open(write(tmp_path / "rho.nc", method)) as file:
            rho = file["rho"]
            assert (rho.levels, file["mask"].levels, file["z"].levels) == (1, 0, 0)
            assert np.abs(rho[:] - values).max() <= bound
            level = rho.level(1)
            assert (level.shape, level.steps, level.dimensions) == ((11, 23, 25), (2, 2, 2), ("z", "y", "x"))
            wanted = coarse(values)
            assert np.abs(level[:] - wanted).max() <= max(bound, level.error) + 1e-5
            assert level.error <= max(bound, 1e-2) and rho.level(0).error <= bound
            assert level.resolution_error > level.error
            np.testing.assert_array_equal(level[3, ::-2, 4:9], level[:][3, ::-2, 4:9])
            with pytest.raises(IndexError, match="0 to 1"):
                rho.level(2)
            # A small integer of NumPy's has no room for powers of two, and a fraction is no level.
            np.testing.assert_array_equal(rho.level(np.int8(1))[:], level[:])
            assert type(rho.level(np.int8(1)).steps[0]) is int
            for shown in (rho.level, file.at_level):
                with pytest.raises(TypeError):
                    shown(0.5)
            with pytest.raises(IndexError):
                file["mask"].level(1)


def test_a_level_goes_through_pickle(tmp_path):
    with forebay.open(write(tmp_path / "rho.nc", EXACT)) as file:
        level = file["rho"].level(1)
        again = pickle.loads(pickle.dumps(level))
        assert again.shape == (11, 23, 25)
        np.testing.assert_array_equal(again[:], level[:])
        again.dataset.close()


def test_missing_values_stay_missing(tmp_path):
    values = field()
    values[:8, :16, :8] = -99
    values[12, 30, 40] = np.nan
    for method in (EXACT, BOUNDED):
        with forebay.open(write(tmp_path / "rho.nc", method, values)) as file:
            got, level = file["rho"][:], file["rho"].level(1)[:]
            np.testing.assert_array_equal(got == -99, values == -99)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(values))
            wanted = np.zeros((11, 23, 25), bool)
            wanted[:4, :8, :4] = True
            np.testing.assert_array_equal(level == -99, wanted)
            assert np.isfinite(level).all()


def test_refining_ends_when_it_is_good_enough(tmp_path):
    with forebay.open(write(tmp_path / "rho.nc", BOUNDED)) as file:
        rho = file["rho"]
        steps = list(rho.refine(np.s_[3:13, :, 10:31]))
        assert [level for level, _ in steps] == [1, 0]
        np.testing.assert_array_equal(steps[1][1], rho[3:13, :, 10:31])
        np.testing.assert_array_equal(steps[0][1], rho.level(1)[2:7, :, 5:16])
        enough = rho.level(1).resolution_error
        assert [level for level, _ in rho.refine(error=enough)] == [1]
        with pytest.raises(ValueError, match="without steps"):
            next(rho.refine(np.s_[::2]))
        for error in (float("nan"), -1):
            with pytest.raises(ValueError, match="an error of 0 or more"):
                rho.refine(error=error)


def test_levels_pickle_and_show_their_own_shapes(tmp_path):
    path = write(tmp_path / "rho.nc", EXACT)
    with forebay.open(path) as file:
        level, shown = file["rho"].level(1), file.at_level(1)
        assert "(z: 11, y: 23, x: 25)" in repr(level) and "(z: 21, y: 45, x: 50)" in repr(file["rho"])
        assert repr(shown).startswith("<forebay.LevelDataset, level 1 of ")
        again = pickle.loads(pickle.dumps(shown))
        np.testing.assert_array_equal(again["rho"][:], level[:])
        assert again.dimensions["x"].size == 25
    for chunks in (None, {}):
        with xarray.open_dataset(path, level=1, chunks=chunks) as opened:
            copy = pickle.loads(pickle.dumps(opened))
            np.testing.assert_array_equal(copy["rho"].values, opened["rho"].values)
            copy.close()


def test_all_but_the_parts_takes_two_hundredths_at_most(tmp_path):
    n, path = 128, tmp_path / "field.nc"
    z, y, x = np.meshgrid(*(np.arange(n),) * 3, indexing="ij", sparse=True)
    noise = np.random.default_rng(18).normal(0, 0.01, (n, n, n))
    with forebay.create(path, "layout=patches;codec=zfp:relative=1e-2") as out:
        for name in "zyx":
            out.create_dimension(name, n)
        values = np.sin(z / 9) * np.cos(y / 7) * np.sin(x / 11) + noise
        out.create_variable("v", "f4", tuple("zyx"))[:] = values.astype("f4")
    with forebay.open(path) as file:
        steps = file["v"].refine()
        assert [level for level, _ in steps] == [4, 3, 2, 1, 0]
    assert 0 < path.stat().st_size - steps.bytes_read < 0.02 * path.stat().st_size


def test_refining_goes_on_after_an_error(tmp_path, monkeypatch):
    with forebay.open(write(tmp_path / "rho.nc", BOUNDED)) as file:
        wanted = list(file["rho"].refine())
        for failing in range(len(wanted)):
            ask = file["rho"].refine()
            got = [next(ask) for _ in range(failing)]
            with monkeypatch.context() as patch:
                patch.setattr(np, "empty", no_memory)
                with pytest.raises(MemoryError):
                    next(ask)
            got += ask
            assert [level for level, _ in got] == [level for level, _ in wanted]
            for (_, array), (_, its) in zip(got, wanted, strict=True):
                np.testing.assert_array_equal(array, its)


def no_memory(*_, **__):
    raise MemoryError


def full_resolution(array, level, shape, edge):
    """A level taken back patch by patch, by the inverse of PyWavelets' kind of steps without details."""

    def lines(x, n):
        fine = np.repeat(x, 2, axis=0)[:n].astype(float)
        right = np.concatenate([x[1:], x[-1:]])
        odd = (x + right) / 2
        fine[1::2] = odd[: n // 2]
        return fine

    out = np.empty(shape)
    for at in np.ndindex(*[-(-n // edge) for n in shape]):
        first = [i * edge for i in at]
        sizes = [min(edge, n - f) for f, n in zip(first, shape, strict=True)]
        part = array[
            tuple(slice(f >> level, (f >> level) + -(-s // 2**level)) for f, s in zip(first, sizes, strict=True))
        ]
        for k in range(level - 1, -1, -1):
            for axis, s in enumerate(sizes):
                n = -(-s // 2**k)
                part = np.moveaxis(lines(np.moveaxis(part, axis, 0), n), 0, axis)
        out[tuple(slice(f, f + s) for f, s in zip(first, sizes, strict=True))] = part
    return out


def test_refining_reads_what_is_missing_and_keeps_its_word(tmp_path):
    rng = np.random.default_rng(3)
    values = field()
    values[:16] += 40  # a step at a seam
    values[:8, :8, :8] += rng.normal(0, 5, (8, 8, 8)).astype("f4")  # one patch that is rough
    for method in (EXACT, BOUNDED):
        path = write(tmp_path / "rho.nc", method + ";patch_edge=8;patch_levels=1", values)
        with forebay.open(path) as file:
            rho = file["rho"]
            whole = rho.stored_chunks().nbytes.sum()
            ask = rho.refine()
            for level, array in ask:
                back = full_resolution(array.astype(float), level, values.shape, 8)
                assert np.abs(back - values).max() <= ask.error + 1e-4
            assert ask.bytes_read == whole
            np.testing.assert_array_equal(array, rho[:])
            # Only the rough patch, and those that are not good enough, are read further.
            for error in (20.0, 1.0, 0.3):
                ask = rho.refine(error=error)
                for level, array in ask:
                    back = full_resolution(array.astype(float), level, values.shape, 8)
                    assert np.abs(back - values).max() <= ask.error + 1e-4
                assert ask.error <= error
                assert ask.bytes_read < whole or error < 1
                assert error < 20 or ask.bytes_read < 0.7 * whole
            # A few elements of few patches.
            ask = rho.refine(np.s_[9:12, 9:12, 7])
            assert [array.shape for _, array in ask] == [(1, 1, 1), (3, 3, 1)] or [a for a, _ in ask] == []
            assert ask.bytes_read < whole / 8


def test_refining_does_not_lose_what_is_missing(tmp_path):
    values = field()
    values[:8, :16, :8] = -99  # patches of land
    values[8:16, :8, :8] = 3
    values[11, 4, 5] = -99  # and a hole where all else is good enough
    values[16:, 40:, 40:] += np.random.default_rng(3).normal(0, 5, (5, 5, 10)).astype("f4")
    for method in (EXACT, BOUNDED):
        with forebay.open(write(tmp_path / "rho.nc", method, values)) as file:
            rho = file["rho"]
            for level, array in rho.refine(error=0.5):
                np.testing.assert_array_equal(array == -99, rho.level(level)[:] == -99)
            assert level == 0 and array[11, 4, 5] == -99
            mask = list(file["mask"].refine())
            assert len(mask) == 1 and mask[0][0] == 0
            np.testing.assert_array_equal(mask[0][1], file["mask"][:])


def test_a_dataset_at_a_level(tmp_path):
    with forebay.open(write(tmp_path / "rho.nc", EXACT)) as file:
        coarser = file.at_level(1)
        assert {name: d.size for name, d in coarser.dimensions.items()} == {"z": 11, "y": 23, "x": 25}
        assert list(coarser) == list(file) and coarser["mask"].shape == (23, 25)
        np.testing.assert_array_equal(coarser["mask"][2:20:3, ::-1], file["mask"][::2, ::2][2:20:3, ::-1])
        np.testing.assert_array_equal(coarser["rho"][:], file["rho"].level(1)[:])
        again = pickle.loads(pickle.dumps(coarser["mask"]))
        np.testing.assert_array_equal(again[:], file["mask"][::2, ::2])
        again.dataset.close()
        with pytest.raises(IndexError, match="no variable has a level 3"):
            file.at_level(3)


def test_a_dataset_at_a_level_that_some_variables_do_not_have(tmp_path):
    path = tmp_path / "two.nc"
    values = np.random.default_rng(1).normal(size=(64, 64, 64)).astype("f4")
    with forebay.create(path, "layout=patches;codec=shuffle,zstd:1;patch_edge=64") as out:
        for name, n in (("z", 64), ("y", 64), ("x", 64), ("thin", 8)):
            out.create_dimension(name, n)
        out.create_variable("rho", "f4", ("z", "y", "x"))[...] = values
        out.create_variable("flat", "f4", ("thin", "y", "x"))[...] = values[:8]
    with forebay.open(path) as file:
        rho, flat = file["rho"], file["flat"]
        assert rho.levels > flat.levels > 0
        level, fewer = rho.levels, flat.levels
        coarse = file.at_level(level)
        assert coarse["rho"].shape == tuple(64 >> level for _ in "zyx")
        assert coarse["flat"].shape == (8, *coarse["rho"].shape[1:])  # no variable with that level has its first one
        np.testing.assert_array_equal(coarse["flat"][:], flat[:, :: 2**level, :: 2**level])
        between = file.at_level(fewer)
        np.testing.assert_array_equal(between["flat"][:], flat.level(fewer)[:])


def test_pictures_of_a_level(tmp_path):
    pytest.importorskip("matplotlib")
    from forebay import plot
    from forebay.plot import _field

    path = write(tmp_path / "rho.nc", EXACT)
    assert plot.field(path, "rho", resolution_level=1, level=2) is not None
    with pytest.raises(IndexError):
        plot.field(path, "rho", resolution_level=2)
    with forebay.open(path) as file:
        assert _field._level_that_fills(file["rho"]) == 0
        enough, _field._ENOUGH = _field._ENOUGH, 20
        try:
            assert _field._level_that_fills(file["rho"]) == 1
            assert _field._level_that_fills(file["mask"]) == 0
        finally:
            _field._ENOUGH = enough


def test_xarray_opens_a_level(tmp_path):
    path = write(tmp_path / "rho.nc", BOUNDED)
    with xarray.open_dataset(path, engine="forebay", level=1) as coarser, forebay.open(path) as file:
        assert dict(coarser.sizes) == {"z": 11, "y": 23, "x": 25}
        np.testing.assert_array_equal(coarser["x"], np.arange(0, 50, 2) * 10.0)
        np.testing.assert_array_equal(coarser["mask"], file["mask"][::2, ::2])
        np.testing.assert_array_equal(coarser["mask"][3:9:2, ::-1][1], file["mask"][::2, ::2][3:9:2, ::-1][1])
        some = coarser["mask"].isel(y=-1, x=slice(20, 2, -3))
        np.testing.assert_array_equal(some, file["mask"][::2, ::2][-1, 20:2:-3])
        np.testing.assert_array_equal(coarser["rho"], file["rho"].level(1)[:])
        np.testing.assert_array_equal(coarser["rho"].sel(z=40.0, x=slice(100, 200)), file["rho"].level(1)[2, :, 5:11])
    with pytest.raises(ValueError, match="no variable has a level 5"):
        xarray.open_dataset(path, engine="forebay", level=5)
    with xarray.open_datatree(path, engine="forebay", levels=True) as tree:
        assert [tree[f"{k}"].sizes["x"] for k in (0, 1)] == [50, 25]


@pytest.mark.parametrize("layout", ["chunked", "patches"])
@pytest.mark.parametrize(
    "attributes, mark",
    [
        ({"missing_value": np.float64(-1e10)}, -1e10),
        ({"missing_value": np.array([1e20, -1e10], "f4")}, -1e10),
        ({"valid_range": np.array([-10, 60], "i2")}, 9999),
        ({"valid_min": np.float32(-10)}, -999),
        ({}, 1e20),
    ],
)
def test_what_any_attribute_calls_missing_is_no_value_to_a_lossy_codec(tmp_path, layout, attributes, mark):
    y, x = np.meshgrid(np.arange(120), np.arange(160), indexing="ij")
    values = (14 + 16 * np.sin(x / 25) * np.cos(y / 30)).astype("f4")
    land = (x + y) % 160 < 40
    values[land] = mark
    with forebay.create(tmp_path / "sst.nc", f"layout={layout};codec=zfp:relative=1e-3") as out:
        out.create_dimension("y", 120)
        out.create_dimension("x", 160)
        out.create_variable("sst", "f4", ("y", "x"), attributes=attributes)[...] = values
    with forebay.open(tmp_path / "sst.nc") as file:
        got = file["sst"][:]
    assert got[land].tobytes() == values[land].tobytes()
    assert np.abs(got[~land] - values[~land]).max() <= 0.0321
    assert (tmp_path / "sst.nc").stat().st_size < values.nbytes / 3
