"""What forebay.plot draws: the values, places and colours of the pictures, and the command line."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import h5py
import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Rectangle, StepPatch

import forebay
import forebay.plot
from forebay.plot import _nearest
from forebay.plot.__main__ import main, parser
from forebay.plot._slice import parse_slice
from forebay.plot._style import NO_DATA, REST, Means, colour_of_kind

COMMAND = Path(sysconfig.get_path("scripts")) / "forebay"
STEPS = forebay._forebay.step_names


def image_of(figure, axes=0):
    """The cells of a picture, those without data as NaN."""
    (image,) = figure.axes[axes].images
    return np.ma.filled(image.get_array().astype(float), np.nan)


def pixels_of(figure):
    """The colour at a place of the first axes."""
    file = io.BytesIO()
    figure.savefig(file, format="rgba")
    width, height = (round(n) for n in figure.bbox.size)
    pixels = np.frombuffer(file.getvalue(), np.uint8).reshape(height, width, 4)

    def at(x, y):
        column, row = figure.axes[0].transData.transform((x, y))
        return to_hex(pixels[height - 1 - round(row), round(column)] / 255)

    return at


def value_of(image, pixel):
    """The value that has about the colour of a pixel."""
    place = np.linspace(0, 1, 256)
    nearest = np.abs(image.cmap(place) - to_rgba(pixel)).sum(axis=1).argmin()
    return image.norm.inverse(place[nearest])


def texts_of(figure):
    axes = [text for one in figure.axes for text in (one.get_title("left"), one.get_xlabel(), one.get_ylabel())]
    return " / ".join([figure._suptitle.get_text(), *axes])


@pytest.fixture
def grid(tmp_path):
    """T(t, y, x) = 1000 t + 100 y + x, where the second record's first half was never written."""

    def write(method=None, **options):
        path = tmp_path / "a.nc"
        with forebay.create(path, method, overwrite=True) as out:
            out.create_dimension("t", None)
            out.create_dimension("y", 8)
            out.create_dimension("x", 10)
            T = out.create_variable("T", "f4", ("t", "y", "x"), **options)
            values = 100 * np.arange(8)[:, None] + np.arange(10)
            T[0] = values
            T[1, 4:] = 1000 + values[4:]
            out.create_variable("k", "f4", ())
        return path

    return write


@pytest.fixture
def chunked(grid):
    return grid("layout=chunked;codec=none", chunks=(1, 4, 5))


@pytest.fixture
def saved(tmp_path):
    def save(*entries):
        path = tmp_path / "r.json"
        path.write_text("".join(f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in entries))
        return path

    return save


# -- slices


def test_slices_are_read_as_numpy_reads_them():
    def parse(text):
        return parse_slice(text, ["t", "y", "x"], [4, 20, 30])

    t, y, x = parse("[-1, 2:10:3]")
    assert (t.fixed, t.start) == (True, 3) and (y.start, y.count, y.step) == (2, 3, 3) and x.count == 30
    t, y, x = parse("..., 5")
    assert t.count == 4 and x.fixed and x.start == 5
    t, y, x = parse("x=-5:, t=1")
    assert (x.start, x.count, t.start) == (25, 5, 1)
    assert parse("::100")[0].count == 1 and parse(":99")[0].count == 4
    for wrong in ("4", "-5", "a", "1,2,3,4", "z=1", "2:2", "::0", "::-1", "1:2:3:4", ",", "...,..."):
        with pytest.raises(IndexError, match="for example"):
            parse(wrong)


@pytest.mark.parametrize("text", ["0", "0, 2:4, ::3", "0, :, 5", "..., 4", "t=0, x=2:9:2"])
def test_a_slice_shows_its_elements_alone(grid, text):
    path = grid()
    with forebay.open(path) as file:
        key = eval(f"np.s_[{text}]") if "=" not in text else np.s_[0, :, 2:9:2]
        expected = file["T"][key]
    figure = forebay.plot.field(path, "T", select=text)
    if expected.ndim == 1:
        np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), expected)
    else:
        cells = image_of(figure)
        np.testing.assert_array_equal(cells if cells.shape == expected.shape else cells.T, expected)


def test_axes_without_coordinates_count_elements_of_the_variable(grid):
    axes = forebay.plot.field(grid(), "T", select="0, 2:4, ::3").axes[0]
    assert axes.get_xlim() == (-1.5, 10.5) and axes.get_ylim() == (1.5, 3.5)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")


def test_the_last_two_dimensions_longer_than_one_are_drawn(grid):
    path = grid()
    assert "t 0 of 2" in texts_of(forebay.plot.field(path, "T"))
    assert "y 3 of 8" in texts_of(forebay.plot.field(path, "T", select=":, 3"))
    last = forebay.plot.field(path, "T", record=-1)
    assert image_of(last)[4, 0] == 1400 and "t 1 of 2" in texts_of(last)
    np.testing.assert_array_equal(forebay.plot.field(path, "T", select=":, 3, 5").axes[0].lines[0].get_ydata()[0], 305)


def test_what_is_not_there_is_refused(grid):
    path = grid()
    for options, error, says in [
        ({"level": 3, "select": "0"}, IndexError, "T has no level dimension"),
        ({"record": 2}, IndexError, "accepted are 0 to 1"),
        ({"record": -3}, IndexError, "record -3"),
        ({"select": "0, 2, 3"}, ValueError, "one number"),
        ({"coords": ("k", "k")}, ValueError, "are no coordinates"),
    ]:
        with pytest.raises(error, match=says):
            forebay.plot.field(path, "T", **options)
    with pytest.raises(KeyError, match="did you mean 'T'"):
        forebay.plot.field(path, "Tt")
    with pytest.raises(FileNotFoundError):
        forebay.plot.field(path.with_name("none.nc"), "T")


# -- values


def test_fill_values_are_grey_and_packed_values_unpacked(tmp_path):
    with forebay.create(tmp_path / "v.nc") as out:
        out.create_dimension("x", 3)
        out.create_dimension("y", 2)
        v = out.create_variable(
            "v", "i2", ("y", "x"), fill_value=-1, attributes={"scale_factor": 0.5, "add_offset": 1.0}
        )
        v[...] = [[10, 20, -1], [30, -32767, 0]]
        text = out.create_variable("text", "S1", ("x",))
        text[...] = b"a"
        out.create_variable("never", "f4", ("y", "x"))
    figure = forebay.plot.field(tmp_path / "v.nc", "v", range=(0, 20))
    np.testing.assert_array_equal(image_of(figure), [[6, 11, np.nan], [16, -16382.5, 1]])
    (image,) = figure.axes[0].images
    assert image.get_clim() == (0, 20)
    assert to_hex(image.cmap(np.ma.masked_all(1))[0]) == NO_DATA
    assert "grey: no data" in figure.axes[1].get_xlabel()
    assert figure.get_label() == "v, -16382.5 to 16"
    with pytest.raises(TypeError, match="text is text"):
        forebay.plot.field(tmp_path / "v.nc", "text")


def test_what_stands_for_no_data_is_known_in_its_type(tmp_path):
    with forebay.create(tmp_path / "v.nc") as out:
        out.create_dimension("x", 4)
        v = out.create_variable("v", "f4", ("x",), attributes={"missing_value": np.float64(1e20)})
        v[...] = np.array([1e20, 9.9692099683868690e36, np.inf, 2], "f4")
        w = out.create_variable("w", "i4", ("x",), attributes={"missing_value": "none"})
        w[...] = [-2147483647, -32767, 0, 1]
    line = forebay.plot.field(tmp_path / "v.nc", "v").axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), [np.nan, np.nan, np.nan, 2])
    line = forebay.plot.field(tmp_path / "v.nc", "w").axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), [np.nan, -32767, 0, 1])


def test_colours_grow_lighter_evenly(grid):
    (image,) = forebay.plot.field(grid(), "T").axes[0].images
    light = image.cmap(np.linspace(0, 1, 101))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert light[0] < 0.2 and light[-1] > 0.75 and np.all(np.diff(light) >= 0) and np.diff(light).max() < 0.03


def test_a_variable_of_nothing_but_fill_values_says_so(tmp_path):
    with forebay.create(tmp_path / "v.nc", "layout=chunked") as out:
        out.create_dimension("x", 30)
        out.create_dimension("y", 20)
        out.create_variable("v", "f4", ("y", "x"), fill_value=3.0)[...] = 3
    figure = forebay.plot.field(tmp_path / "v.nc", "v")
    assert np.isnan(image_of(figure)).all() and "no data" in figure.get_label()
    figure.savefig(io.BytesIO())


def test_more_elements_than_pixels_are_averaged(tmp_path, monkeypatch):
    monkeypatch.setattr("forebay.plot._field._BLOCK", 1000)
    values = np.random.default_rng(1).normal(size=(1440, 2160))
    values[:2, :2], values[2, 2] = np.nan, np.nan
    with forebay.create(tmp_path / "v.nc") as out:
        out.create_dimension("x", 2160)
        out.create_dimension("y", 1440)
        out.create_variable("v", "f8", ("y", "x"))[...] = values
    cells = image_of(forebay.plot.field(tmp_path / "v.nc", "v"))
    parts = values.reshape(720, 2, 1080, 2)
    with np.errstate(invalid="ignore"):
        expected = np.nansum(parts, axis=(1, 3)) / np.sum(~np.isnan(parts), axis=(1, 3))
    np.testing.assert_allclose(cells, expected)
    assert np.isnan(cells[0, 0]) and not np.isnan(cells[1, 1])


def test_means_are_those_of_all_blocks():
    values = np.arange(77.0).reshape(7, 11)
    whole, parts = Means((7, 11), (3, 4)), Means((7, 11), (3, 4))
    whole.add(values)
    for row in range(7):
        parts.add(values[row : row + 1, :5], row)
        parts.add(values[row : row + 1, 5:], row, 5)
    np.testing.assert_array_equal(parts.cells(), whole.cells())
    assert whole.cells()[0, 0] == values[:3, :3].mean()


# -- coordinates


@pytest.fixture
def globe(tmp_path):
    """T(time, lev, lat, lon), from north to south; uneven levels."""
    lat, lon, lev = np.linspace(90, -90, 19), np.arange(36) * 10.0, np.array([10.0, 100, 500, 1000])
    T = lat[:, None] + 0.001 * lon + 0.1 * np.arange(4)[:, None, None]
    with forebay.create(tmp_path / "globe.nc") as out:
        out.create_dimension("time", None)
        for name, values, units in (("lev", lev, "hPa"), ("lat", lat, "degrees_north"), ("lon", lon, "degrees_east")):
            out.create_dimension(name, len(values))
            out.create_variable(name, "f8", (name,), attributes={"units": units})[...] = values
        variable = out.create_variable("T", "f8", ("time", "lev", "lat", "lon"))
        variable.attributes["units"], variable.attributes["long_name"] = "K", "a $ and a _ and \x1b[2J"
        variable[0] = T
    return tmp_path / "globe.nc", T


def test_a_map_has_north_above_and_degrees_at_its_axes(globe):
    path, T = globe
    figure = forebay.plot.field(path, "T", level=-1)
    axes, (image,) = figure.axes[0], figure.axes[0].images
    assert axes.get_ylim() == (-90, 90) and axes.get_xlim() == (-5, 355)
    np.testing.assert_array_equal(image_of(figure), T[3][::-1])
    at = pixels_of(figure)
    for latitude in (80, 40, -20, -60):
        assert value_of(image, at(104, latitude)) == pytest.approx(T[3, 9 - latitude // 10, 10], abs=2)
    labels = [label.get_text() for label in axes.get_xticklabels() + axes.get_yticklabels()]
    assert {"30°E", "90°W", "30°S", "90°N", "0°"} <= set(labels)
    assert "lev 3 of 4 (1000 hPa)" in texts_of(figure)


def axis_of(path, name, **attributes):
    """The axes of a picture of rows along a dimension called `name`, with these attributes of its coordinate."""
    with forebay.create(path) as out:
        out.create_dimension(name, 5)
        out.create_dimension("x", 4)
        if attributes:
            out.create_variable(name, "f8", (name,), attributes=attributes)[...] = np.arange(5.0)
        out.create_variable("T", "f8", (name, "x"))[...] = np.arange(20.0).reshape(5, 4)
    return forebay.plot.field(path, "T").axes[0]


@pytest.mark.parametrize(
    ("name", "attributes", "down"),
    [
        ("YAXLEVITR", {"units": "degrees_north"}, False),  # "lev" is part of a word
        ("YAXLEVITR", {}, False),
        ("relevance", {}, False),
        ("lev", {"units": "degrees_north"}, False),
        ("lev", {"axis": "Y"}, False),
        ("lev", {"positive": "up", "units": "hPa"}, False),
        ("lev", {"standard_name": "height", "units": "m"}, False),
        ("lev", {"units": "days since 2000-01-01"}, False),
        ("z", {"positive": "down"}, True),
        ("p", {"units": "millibar"}, True),
        ("z", {"standard_name": "depth", "units": "m"}, True),
        ("sigma", {"standard_name": "atmosphere_hybrid_sigma_pressure_coordinate"}, True),
        ("lev", {"units": "1"}, True),
        ("nVertLevels", {}, True),
        ("deptht", {}, True),
        ("lev_2", {}, True),
    ],
)
def test_axes_are_told_by_their_attributes_first(tmp_path, name, attributes, down):
    low, high = axis_of(tmp_path / "a.nc", name, **attributes).get_ylim()
    assert (low > high) == down


def test_latitudes_stand_upright_in_whatever_order_they_are_stored(tmp_path):
    with forebay.create(tmp_path / "a.nc") as out:
        for name, n, units in (("X1", 6, "degreesE"), ("Y1", 4, "degrees_N")):
            out.create_dimension(name, n)
            out.create_variable(name, "f8", (name,), attributes={"units": units})[...] = 10.0 * np.arange(n)
        out.create_variable("T", "f8", ("X1", "Y1"))[...] = np.arange(24.0).reshape(6, 4)
    axes = forebay.plot.field(tmp_path / "a.nc", "T").axes[0]
    assert axes.get_ylim() == (-5, 35) and axes.get_xlim() == (-5, 55)
    assert "30°N" in [label.get_text() for label in axes.get_yticklabels()]


def test_levels_run_down_and_stand_where_their_coordinates_are(globe):
    path, T = globe
    figure = forebay.plot.field(path, "T", select="lon=7")
    axes, (image,) = figure.axes[0], figure.axes[0].images
    low, high = axes.get_ylim()
    assert low > high
    np.testing.assert_allclose(sorted(image._Ay), [-35, 55, 300, 750, 1250])
    assert axes.get_ylabel() == "lev [hPa]"
    at = pixels_of(figure)
    for row, level in enumerate((20, 200, 500, 1000)):
        assert value_of(image, at(-40, level)) == pytest.approx(T[row, 13, 7], abs=2)
    assert value_of(image, at(80, 500)) == pytest.approx(T[2, 1, 7], abs=2)


def points_file(path, lat, lon, value, units="degrees"):
    with forebay.create(path) as out:
        out.create_dimension("n", len(lat))
        for name, values in (("a", lat), ("b", lon), ("T", value)):
            out.create_variable(name, "f8", ("n",))[...] = values
        out["a"].attributes["units"], out["b"].attributes["units"] = f"{units}_north", f"{units}_east"
    return path


@pytest.mark.parametrize("scipy", [True, False])
def test_points_give_each_pixel_the_nearest_ones_value(tmp_path, monkeypatch, scipy):
    if not scipy:
        monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    lat, lon = (axis.ravel() for axis in np.meshgrid(np.arange(-85.0, 90, 10), np.arange(5.0, 360, 10), indexing="ij"))
    path = points_file(tmp_path / "p.nc", lat, lon, lat)
    figure = forebay.plot.field(path, "T")
    cells = image_of(figure)
    assert cells.shape == (540, 1080)
    south = 90 - (np.arange(540) + 0.5) / 3
    np.testing.assert_array_equal(cells[90:450, 4], (np.floor(south / 10) * 10 + 5)[90:450])
    assert cells[0, 0] == 85 and cells[-1, -1] == -85
    assert figure.axes[0].get_xlim() == (0, 360) and figure.axes[0].get_ylim() == (-90, 90)
    assert "coarse" not in texts_of(figure)
    chosen = forebay.plot.field(path, "T", coords=("a", "b"))
    np.testing.assert_array_equal(image_of(chosen), cells)


def test_pixels_far_from_all_points_have_no_data(tmp_path):
    lat, lon = (axis.ravel() for axis in np.meshgrid(np.arange(-80.0, 81, 4), np.arange(-180.0, 180, 4), indexing="ij"))
    kept = (np.abs(lat) > 24) | (np.abs(lon) > 24)
    cells = image_of(forebay.plot.field(points_file(tmp_path / "p.nc", lat[kept], lon[kept], lat[kept]), "T"))
    assert np.isnan(cells[270, 540]) and not np.isnan(cells[270, 200]) and not np.isnan(cells[30, 540])


def test_random_points_have_no_holes_between_them(tmp_path):
    random = np.random.default_rng(7)
    lat, lon = np.degrees(np.arcsin(random.uniform(-1, 1, 20000))), random.uniform(-180, 180, 20000)
    cells = image_of(forebay.plot.field(points_file(tmp_path / "p.nc", lat, lon, lat), "T"))
    assert not np.isnan(cells).any()


def test_points_at_one_place_do_not_make_holes(tmp_path):
    lat, lon = (axis.ravel() for axis in np.meshgrid(np.linspace(-90, 90, 37), np.arange(0.0, 360, 5), indexing="ij"))
    cells = image_of(forebay.plot.field(points_file(tmp_path / "p.nc", lat, lon, lat), "T"))
    assert not np.isnan(cells).any() and cells[0, 500] == 90


def test_all_points_compared_are_what_the_tree_finds(monkeypatch):
    random = np.random.default_rng(3)
    lat, lon = random.uniform(-90, 90, 500), random.uniform(-180, 360, 500)
    lat[7] = np.nan
    monkeypatch.setattr(_nearest, "_BLOCK", 1000)
    tree = _nearest.Nearest(lat, lon)
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    compared = _nearest.Nearest(lat, lon)
    assert isinstance(compared._tree, _nearest._Comparison) and not isinstance(tree._tree, _nearest._Comparison)
    axes = np.linspace(80, -80, 60), np.linspace(0, 359, 90)
    np.testing.assert_array_equal(compared.values(np.arange(500), *axes), tree.values(np.arange(500), *axes))


def test_without_scipy_maps_of_very_many_points_are_coarse_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(_nearest, "_COMPARISONS", 500 * 200)
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    lat, lon = np.degrees(np.arcsin(np.linspace(-0.99, 0.99, 500))), np.arange(500) * 137.5 % 360
    figure = forebay.plot.field(points_file(tmp_path / "p.nc", lat, lon, lat), "T")
    assert image_of(figure).shape == (10, 20) and "finer with scipy" in texts_of(figure)
    assert image_of(figure)[0, 0] > 60


def test_radians_and_coordinates_that_cannot_be_used(tmp_path):
    lat, lon = np.radians(np.linspace(-80, 80, 50)), np.radians(np.linspace(0, 350, 50))
    path = points_file(tmp_path / "p.nc", lat, lon, lat)
    with forebay.open(path, "a") as out:
        for name in "ab":
            out[name].attributes["units"] = "radians"
    figure = forebay.plot.field(path, "T", coords=("a", "b"))
    assert figure.axes[0].get_ylim()[0] < -79
    with forebay.open(path, "a") as out:
        out["a"][...] = 12.0
    figure = forebay.plot.field(path, "T", coords=("a", "b"))
    assert "a and b are all the same: shown in file order" in figure.get_label() and figure.axes[0].lines


def test_groups_of_netcdf4_files_are_drawn(tmp_path):
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["deep/south/T"] = np.arange(12.0).reshape(3, 4)
        file["deep/names"] = "text"
    figure = forebay.plot.field(tmp_path / "g.h5", "deep/south/T")
    np.testing.assert_array_equal(image_of(figure), np.arange(12).reshape(3, 4))


# -- chunks


def test_a_chunk_map_tells_absent_chunks_and_owners(chunked, saved):
    owners = saved({"path": "a.nc", "ranks": 2, "steps": {}, "chunk_owners": {"T": [0, 1, 1, 0, -1, -1, 0, 1]}})
    figure = forebay.plot.chunks(chunked, "T", report=owners)
    assert figure.get_label() == "T: 6 of 8 chunks stored, 480 B in 480 B, ratio 1"
    np.testing.assert_array_equal(image_of(figure), [[80, 80], [80, 80], [np.nan] * 2, [80, 80]])
    lower = figure.axes[1]
    np.testing.assert_array_equal(image_of(figure, 1), [[0, 1], [1, 0], [np.nan] * 2, [0, 1]])
    (image,) = lower.images
    assert to_hex(image.cmap(image.norm(1))) == colour_of_kind(1)
    assert [text.get_text() for text in lower.get_legend().get_texts()] == ["rank 0", "rank 1"]
    assert "never written" in texts_of(figure) and "chunks along t × y" in texts_of(figure)
    for told in (
        {"steps": {}},
        {"steps": {}, "chunk_owners": {"U": [1]}},
        {"steps": {}, "chunk_owners": {"T": [0] * 9}},
    ):
        with pytest.raises(ValueError, match="no entry tells"):
            forebay.plot.chunks(chunked, "T", report=saved(told))
    many = saved({"steps": {}, "chunk_owners": {"T": [0, 100, 1, 0, -1, -1, 0, 1 << 99]}})
    assert image_of(forebay.plot.chunks(chunked, "T", report=many), 1)[0, 1] == 100


def test_chunks_without_a_report_show_their_places(chunked):
    figure = forebay.plot.chunks(chunked, "T")
    with forebay.open(chunked) as file:
        stored = file["T"].stored_chunks()
    places = image_of(figure, 1)
    assert sorted(1024 * places[~np.isnan(places)]) == sorted(stored.place)
    assert figure.axes[3].get_ylabel() == "KiB"
    assert stored.place.min() > 0 and stored.place.max() + 80 <= chunked.stat().st_size
    figure.savefig(io.BytesIO())


def test_chunks_are_told_as_they_lie_in_the_file(tmp_path):
    values = np.arange(24, dtype="f4").reshape(4, 6)
    with forebay.create(tmp_path / "c.nc", "layout=chunked;codec=none") as out:
        out.create_dimension("y", 4)
        out.create_dimension("x", 6)
        out.create_variable("v", "f4", ("y", "x"), chunks=(2, 4))[...] = values
        out.create_variable("plain", "f4", ())
        with pytest.raises(forebay.UnsupportedError, match="reading only"):
            out["v"].stored_chunks()
    data = (tmp_path / "c.nc").read_bytes()
    with forebay.open(tmp_path / "c.nc") as file:
        stored = file["v"].stored_chunks()
        assert stored.raw_nbytes == stored.nbytes.sum() and len(stored.at) == 4
        for at, nbytes, place in zip(stored.at, stored.nbytes, stored.place, strict=True):
            box = values[2 * at[0] : 2 * at[0] + 2, 4 * at[1] : 4 * at[1] + 4]
            found = {np.frombuffer(data[place : place + nbytes], order).tobytes() for order in ("<f4", ">f4")}
            assert {box.astype("<f4").tobytes(), box.astype(">f4").tobytes()} & found
        with pytest.raises(ValueError, match="has no chunks"):
            file["plain"].stored_chunks()


def test_variables_without_chunks_are_refused(grid):
    with pytest.raises(ValueError, match="has no chunks"):
        forebay.plot.chunks(grid(), "T")
    with pytest.raises(KeyError, match="did you mean 'T'"):
        forebay.plot.chunks(grid(), "Tt")


@pytest.mark.skipif(not forebay.has_hdf5, reason="this build has no HDF5")
def test_chunks_in_data_files_are_drawn_by_file(tmp_path, monkeypatch):
    path = str(tmp_path / "p.nc")
    with forebay.create(path, method="layout=patches;codec=shuffle,zstd:1;patch_edge=8;subfiling=ranks") as file:
        file.create_dimension("y", 16)
        file.create_dimension("x", 24)
        file.create_variable("v", "f4", ("y", "x"))[:] = np.arange(384.0, dtype="f4").reshape(16, 24) ** 2 % 97
    with forebay.open(path) as file:
        stored = file["v"].stored_chunks()
        assert list(stored.file) == [0] * 6 and list(stored.place) == [-1] * 6
    figure = forebay.plot.chunks(path, "v")
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == ["file 0"]
    # A file of one rank has one data file: those of several are said to be so.
    several = stored._replace(file=np.array([0, 0, 1, 2, 2, 1]))
    monkeypatch.setattr(forebay.Variable, "stored_chunks", lambda variable: several)
    figure = forebay.plot.chunks(path, "v")
    order = np.ravel_multi_index(tuple(several.at.T), (2, 3))
    expected = np.empty(6)
    expected[order] = several.file
    np.testing.assert_array_equal(image_of(figure, 1), expected.reshape(2, 3))
    assert len(figure.axes[1].get_legend().get_texts()) == 3


def test_chunks_of_hdf5_files_have_sizes_and_places_but_no_owners(tmp_path, saved):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        T = file.create_dataset("T", (8, 20), "f4", chunks=(4, 8), compression="gzip", shuffle=True)
        T[:4] = 1
        T.id.write_direct_chunk((0, 8), b"\1" * 128, 3)
        file["plain"] = np.zeros(5)
    figure = forebay.plot.chunks(path, "T")
    with forebay.open(path) as file:
        stored = file["T"].stored_chunks()
        assert stored.filtered.tolist() == [at.tolist() != [0, 1] for at in stored.at]
        assert stored.raw_nbytes == 3 * 128 and np.all(stored.place > 0)
    assert figure.get_label().startswith(f"T: 3 of 6 chunks stored, 384 B in {stored.nbytes.sum()} B, ratio ")
    assert figure.get_label().endswith(", 1 without some of the filters")
    with pytest.raises(ValueError, match="have no owners"):
        forebay.plot.chunks(path, "T", report=saved({"steps": {}}))
    with pytest.raises(ValueError, match="has no chunks"):
        forebay.plot.chunks(path, "plain")


def test_more_chunks_than_pixels_show_means(tmp_path):
    with forebay.create(tmp_path / "c.nc", "layout=chunked;codec=none") as out:
        out.create_dimension("x", 4320)
        out.create_variable("v", "i1", ("x",), chunks=(1,))[:4000] = 1
    figure = forebay.plot.chunks(tmp_path / "c.nc", "v")
    cells = image_of(figure)
    assert cells.shape == (1, 1080) and cells[0, 0] == 1 and np.isnan(cells[0, -1])


# -- reports


def bars_of(axes):
    """(colour, left, width, row) of the bars."""
    boxes = [p for p in axes.patches if isinstance(p, Rectangle)]
    return {(to_hex(b.get_facecolor()), b.get_x(), b.get_width(), round(b.get_y() + b.get_height() / 2)) for b in boxes}


def colour(step):
    return colour_of_kind(STEPS.index(step))


def test_a_report_draws_each_rank_to_scale(saved):
    path = saved(
        {
            "path": "o.nc",
            "ranks": 2,
            "steps": {},
            "per_rank": {"write": [1.0, 3.0], "encode": [1.0, 0.5], "total": [4, 4]},
        }
    )
    figure = forebay.plot.report(path)
    assert figure.get_label() == "o.nc: 4 s on 2 ranks"
    write, encode = colour("write"), colour("encode")
    assert bars_of(figure.axes[0]) == {
        *((REST, 0, 4, rank) for rank in (0, 1)),
        *((write, 0, 1, 0), (write, 0, 3, 1), (encode, 1, 1, 0), (encode, 3, 0.5, 1)),
    }
    told = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert told == ["write: mean 2 s, max 3 s", "encode: mean 0.75 s, max 1 s", "between the steps: mean 1.2 s"]


def test_a_report_of_many_ranks_has_48_lanes_and_one_of_statistics_three(saved):
    per_rank = {"write": list(range(96)), "total": [100] * 96}
    figure = forebay.plot.report(saved({"ranks": 96, "steps": {}, "per_rank": per_rank}))
    assert (colour("write"), 0, 94.5, 47) in bars_of(figure.axes[0]) and figure.axes[0].get_ylim() == (47.5, -0.5)
    statistics = {"write": {"min": 1, "mean": 2, "max": 3}}
    figure = forebay.plot.report(saved({"ranks": 9999, "steps": statistics}))
    assert bars_of(figure.axes[0]) >= {(colour("write"), 0, n + 1, n) for n in range(3)}
    assert figure.get_label() == "?: 3 s on 9,999 ranks"


# Rank 0 writes, then encodes; rank 1 encodes half of the time and writes at the end.
TIMELINE = {
    "path": "o.nc",
    "ranks": 2,
    "steps": {},
    "per_rank": {"write": [1, 1], "encode": [2, 1], "total": [4, 4]},
    "timeline": {
        "columns": ["step", "begin", "end", "busy", "bytes", "times"],
        "every": 1,
        "ranks": [
            [["write", 0, 1, 1, 9, 1], ["encode", 1, 3, 2, 0, 1]],
            [["encode", 0, 2, 1, 0, 7], ["write", 3, 4, 1, 9, 1]],
        ],
    },
}


def test_a_timeline_draws_when_each_rank_did_what(saved):
    figure = forebay.plot.report(saved(TIMELINE))
    assert figure.get_label() == "o.nc: 4 s on 2 ranks"
    axes = figure.axes[0]
    steps = [p for p in axes.patches if isinstance(p, StepPatch)]

    def shown(second, rank):
        """{step: share of the lane} at a time."""
        found = {}
        for patch in steps:
            above, edges, below = patch.get_data()
            i = int(np.searchsorted(edges, second)) - 1
            low, high = sorted((above[i], below[i]))
            if high - low > 1e-9 and rank - 0.5 < (low + high) / 2 < rank + 0.5:
                found[next(s for s in STEPS if to_rgba(colour(s)) == patch.get_facecolor())] = (high - low) / 0.9
        return {step: round(share, 6) for step, share in found.items()}

    assert shown(0.5, 0) == {"write": 1} and shown(1.5, 0) == shown(2.9, 0) == {"encode": 1} and shown(3.5, 0) == {}
    assert shown(1, 1) == {"encode": 0.5} and shown(2.5, 1) == {} and shown(3.5, 1) == {"write": 1}
    assert axes.get_xlim() == (0, 4) and axes.get_xlabel() == "seconds since the file was opened"


def test_a_picture_of_a_timeline_has_those_colours(saved):
    figure = forebay.plot.report(saved(TIMELINE))
    at = pixels_of(figure)
    for down in (-0.4, 0.4):
        assert at(0.5, down) == colour("write") and at(2.9, down) == colour("encode") and at(3.5, down) == REST
        assert at(2.5, 1 + down) == REST and at(3.5, 1 + down) == colour("write")
    assert {at(1, 0.6), at(1, 1.4)} == {colour("encode"), REST}


@pytest.mark.parametrize(
    "timeline",
    [
        3,
        {},
        {"columns": ["step"], "ranks": [[["write"]]]},
        {"columns": ["step", "begin", "end", "busy"], "ranks": {}},
        {"columns": ["step", "begin", "end", "busy"], "ranks": [[["write", 2, 1, 1]], 7, [[]]], "every": "x"},
        {"columns": ["step", "begin", "end", "busy"], "ranks": [[["write", 0, "1", 1], [1, 0, 1, 1]]]},
        {"columns": ["step", "begin", "end", "busy"], "ranks": [[["write", 0, 10**400, float("nan")]]]},
    ],
)
def test_a_timeline_that_makes_no_sense_is_left_out(saved, timeline):
    told = {"steps": {"write": {"min": 1, "mean": 2, "max": 3}}, "ranks": 2, "timeline": timeline}
    figure = forebay.plot.report(saved(told), entry=0)
    assert figure.get_label() == "?: 3 s on 2 ranks" and bars_of(figure.axes[0])


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{}", '{"steps":{}}', "not json", '{"steps":{"write":{"max":"x"}},"ranks":3,"per_rank":{"write":[1]}}'],
)
def test_what_is_no_report_is_refused(saved, text):
    with pytest.raises(ValueError, match="FOREBAY_REPORT"):
        forebay.plot.report(saved(text))


def test_the_entry_of_a_report_is_chosen(saved, tmp_path):
    path = saved(*({"path": f"{i}.nc", "steps": {"write": {"max": i + 1}}} for i in range(3)))
    assert forebay.plot.report(path).get_label() == "2.nc: 3 s on 1 rank"
    assert forebay.plot.report(path, entry=1).get_label() == "1.nc: 2 s on 1 rank"
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="0 to 2"):
            forebay.plot.report(path, entry=wrong)
    with pytest.raises(FileNotFoundError):
        forebay.plot.report(tmp_path / "none.json")


PLAN = {
    "workload": "strided",
    "op": "write",
    "ranks": 8,
    "per_node": {"messages_out": [3, 2], "messages_in": [2, 3], "windows": [4, 1], "stored": [400, 100]},
    "predicted_seconds": {"total": 0.25},
}


def test_a_plan_draws_each_node(saved):
    figure = forebay.plot.plan(saved(PLAN))
    assert figure.get_label() == "strided, write: 8 ranks, 0.25 s predicted"
    messages, windows, stored = figure.axes
    sent, received = messages.patches
    assert list(sent.get_data().values) == [3, 2] and list(received.get_data().values) == [2, 3]
    assert list(windows.patches[0].get_data().values) == [4, 1]
    assert list(stored.patches[0].get_data().edges) == [0, 1, 2]


def test_a_plan_of_many_nodes_has_means_of_neighbours(saved):
    figure = forebay.plot.plan(saved({"per_node": {"windows": [1, 3] * 1080}}))
    assert list(figure.axes[0].patches[0].get_data().values) == [2] * 1080


def bundle_plan(ranks, **seconds):
    costs = [{"messages_in": 4 * ranks}, {"messages_in": 3}]
    schemes = [{"scheme": name, "seconds": s, "files": costs} for name, s in seconds.items()]
    return json.dumps({"ranks": ranks, "schemes": schemes}, indent=2) + "\n"


def test_plans_of_bundles_have_a_line_for_each_scheme(tmp_path):
    path = tmp_path / "plans.json"
    path.write_text(bundle_plan(512, bps=8, ips=2.5) + bundle_plan(32, bps=1, ips=3))
    figure = forebay.plot.plan(path)
    assert figure.get_label() == "2 files, 32 to 512 ranks"
    seconds, messages = figure.axes
    drawn = {line.get_label(): [list(xy) for xy in line.get_xydata()] for line in seconds.lines}
    assert drawn == {"bps": [[32, 1], [512, 8]], "ips": [[32, 3], [512, 2.5]]}
    assert [list(line.get_ydata()) for line in messages.lines] == [[128, 2048]] * 2
    path.write_text(bundle_plan(4, off=0))
    assert forebay.plot.plan(path).get_label() == "2 files, 4 ranks"


@pytest.mark.parametrize(
    "text",
    [
        '{"ranks":4,"schemes":[]}',
        '{"ranks":4,"schemes":[7]}',
        '{"ranks":0,"schemes":[{"scheme":"bps","seconds":1,"files":[{"messages_in":1}]}]}',
        '{"ranks":4,"schemes":[{"scheme":"bps","seconds":"x","files":[{"messages_in":1}]}]}',
        '{"ranks":4,"schemes":[{"scheme":"bps","seconds":1,"files":[]}]}',
        '{"ranks":4,"schemes":[{"scheme":"bps","seconds":1,"files":[{}]}]}',
    ],
)
def test_plans_of_bundles_that_make_no_sense_are_refused(tmp_path, text):
    path = tmp_path / "plans.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="forebay bundle plan --json"):
        forebay.plot.plan(path)
    path.write_text(text + bundle_plan(4, off=0) + " {")
    with pytest.raises(ValueError, match="forebay plan --json"):
        forebay.plot.plan(path)


@pytest.mark.parametrize("told", [{}] + [{"per_node": n} for n in ({}, {"windows": ["x"]}, {"windows": []})])
def test_what_is_no_plan_is_refused(saved, told):
    with pytest.raises(ValueError, match="forebay plan --json"):
        forebay.plot.plan(saved(told))


BUNDLE = {
    "bundle": "history",
    "scheme": "bps",
    "files": [
        {"path": "d/surf.nc", "bytes": 10, "first_rank": 3, "ranks": 1, "begin": 0.5, "end": 1, "visible": 1.5},
        {"path": "d/prog.nc", "bytes": 90, "first_rank": 0, "ranks": 3, "begin": 0.25, "end": 2, "visible": 2.5},
    ],
}


def test_a_bundle_has_a_lane_for_each_file(saved):
    path = saved({"path": "1.nc", "ranks": 1, "steps": {"write": {"max": 2}}}, BUNDLE)
    assert forebay.plot.report(path, entry=0).get_label() == "1.nc: 2 s on 1 rank"
    figure = forebay.plot.report(path)
    assert figure.get_label() == "history: 2.5 s, 2 files, scheme bps"
    lanes = figure.axes[0]
    assert [text.get_text() for text in lanes.get_yticklabels()] == ["prog.nc (0-2)", "surf.nc (3)"]
    bars = [(bar.get_y() + 0.4, bar.get_x(), bar.get_x() + bar.get_width()) for bar in lanes.patches]
    assert bars == [(0, 0.25, 2), (0, 2, 2.5), (1, 0.5, 1), (1, 1, 1.5)]


@pytest.mark.parametrize("files", [[], None, [7], [{"path": 1, "bytes": "x", "begin": -1, "ranks": "y"}]])
def test_a_bundle_that_does_not_tell_when_is_refused(saved, files):
    with pytest.raises(ValueError, match="when they were written"):
        forebay.plot.report(saved({"bundle": "history", "files": files}))


def test_a_report_that_a_run_made_is_drawn(tmp_path):
    code = "import forebay, sys\nwith forebay.create(sys.argv[1]) as f:\n  f.create_variable('v', 'f8')[...] = 1"
    report = tmp_path / "run.json"
    subprocess.run(
        [sys.executable, "-c", code, tmp_path / "v.nc"],
        env=os.environ | {"FOREBAY_REPORT": f"json:{report}"},
        check=True,
    )
    figure = forebay.plot.report(report)
    assert re.fullmatch(r".*v\.nc: \S+ s on 1 rank", figure.get_label())
    assert any(isinstance(patch, StepPatch) for patch in figure.axes[0].patches)


# -- the command line


def run(*arguments):
    """(exit code, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("name", "begin"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF"), ("picture", b"\x89PNG")]
)
def test_the_suffix_chooses_the_format(globe, tmp_path, name, begin):
    path, _ = globe
    code, out, err = run(path, "T", "-o", tmp_path / name)
    assert (code, err) == (0, "")
    assert out.startswith(f"{tmp_path / name}: T: a $ and a _ and \\x1b[2J [K], -90 to 90.35, ")
    picture = (tmp_path / name).read_bytes()
    assert picture.startswith(begin)
    if name.endswith(".svg"):
        assert b"T: a $ and a _ and \\x1b[2J [K]" in picture and b"60\xc2\xb0N" in picture


def test_all_kinds_of_pictures_are_drawn(chunked, saved, tmp_path):
    report, png = saved(TIMELINE | {"chunk_owners": {"T": [0, 1]}}), tmp_path / "p.png"
    for arguments in (
        [chunked, "T", "-s", "0", "--range=-5,1e3"],
        [chunked, "T", "--record", "-1"],
        [chunked, "T", "--chunks"],
        [chunked, "T", "--chunks", "--report", report],
        ["--report", report, "--entry", "0"],
    ):
        png.unlink(missing_ok=True)
        code, out, err = run(*arguments, "-o", png)
        assert (code, err) == (0, "") and out.startswith(f"{png}: ") and png.stat().st_size > 1000


def test_failures_are_told_in_a_sentence(grid, tmp_path):
    path, png = grid(), tmp_path / "p.png"
    for code, says, *arguments in [
        (1, "there is no variable 'w' (it has: T, k)", path, "w"),
        (1, "No such file", tmp_path / "none.nc", "T"),
        (1, "--slice", path, "T", "-s", "9"),
        (1, "has no chunks", path, "T", "--chunks"),
        (2, "not clear what to draw", path),
        (2, "not clear what to draw", path, "--chunks"),
        (2, "LOW,HIGH", path, "T", "--range", "1"),
        (2, "LAT,LON", path, "T", "--coords", "lat"),
        (2, "invalid int", path, "T", "--level", "high"),
    ]:
        got, out, err = run(*arguments, "-o", png)
        assert (got, out) == (code, "") and says in err and "Traceback" not in err
        assert code == 2 or err.startswith("forebay: ")
    assert not png.exists()
    code, _, err = run(path, "T", "-o", tmp_path / "p.xyz")
    assert code == 2 and ".png" in err
    code, _, err = run(path, "T", "-o", tmp_path / "none" / "p.png")
    assert code == 1 and "none" in err
    assert run(path, "T")[0] == 2


def test_the_command_has_the_same_options(tmp_path):
    told = subprocess.run([COMMAND, "plot", "--help"], capture_output=True, text=True, check=True).stdout
    ours = {name for action in parser()._actions for name in action.option_strings}
    assert set(re.findall(r"(?<![\w-])(-\w|--\w[\w-]*)(?=[ ,\n])", told.split("-h,--help")[0] + "-h,--help ")) <= ours
    named = set(re.findall(r"^ +(?:(-\w),)?(--\w[\w-]*)", told, re.MULTILINE))
    assert {name for names in named for name in names if name} == ours


def test_the_command_draws(globe, tmp_path):
    path, _ = globe
    environment = {name: value for name, value in os.environ.items() if name != "FOREBAY_PYTHON"}
    done = subprocess.run(
        [COMMAND, "plot", path, "T", "-l", "-1", "--range", "-5,5", "-o", "my picture.svg"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("my picture.svg: T: ") and b"<svg" in (tmp_path / "my picture.svg").read_bytes()
    done = subprocess.run(
        [COMMAND, "plot", path, "w", "-o", "p.png"], cwd=tmp_path, env=environment, capture_output=True
    )
    assert done.returncode == 1 and b"there is no variable 'w'" in done.stderr


def test_without_matplotlib_it_says_how_to_get_it(globe, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('No module named matplotlib')")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "FOREBAY_PYTHON": sys.executable}
    done = subprocess.run(
        [COMMAND, "plot", globe[0], "T", "-o", tmp_path / "p.png"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1 and 'pip install "forebay[plot]"' in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.startswith("forebay: plot: ") and not (tmp_path / "p.png").exists()


def test_nothing_of_the_callers_style_is_changed(grid):
    before = dict(matplotlib.rcParams)
    forebay.plot.field(grid(), "T")
    assert dict(matplotlib.rcParams) == before
