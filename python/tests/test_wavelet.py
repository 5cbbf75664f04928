"""Levels of patches against PyWavelets: bior2.2 is CDF 5/3 with its smooth parts √2 times as large per axis, its
details by √2 smaller, and their sign turned. Its mode "reflect" mirrors at borders as patches do."""

import itertools

import numpy as np
import pytest

import forebay

pywt = pytest.importorskip("pywt")


def halved(values):
    """Smooth part, and the sum over all kinds of details of the largest one."""
    parts = pywt.dwtn(values, "bior2.2", mode="reflect")
    details = 0.0
    for kind in itertools.product("ad", repeat=values.ndim):
        # The first element of each axis is centred before the array's first one.
        inside = tuple(slice(1, 1 + (n + (which == "a")) // 2) for which, n in zip(kind, values.shape, strict=True))
        scale = np.prod([2**-0.5 if which == "a" else -(2**0.5) for which in kind])
        part = parts["".join(kind)][inside] * scale
        if "d" not in kind:
            smooth = part
        elif part.size:
            details += np.abs(part).max()
    return smooth, details


@pytest.mark.parametrize("shape", [(32, 32, 32), (29, 32, 21), (64, 64), (37, 50)])
def test_levels_are_those_of_pywavelets(tmp_path, shape):
    values = np.random.default_rng(7).standard_normal(shape).cumsum(axis=-1)
    with forebay.create(tmp_path / "a.nc", "layout=patches;patch_edge=64;codec=zfp:accuracy=1e-9") as out:
        for d, n in enumerate(shape):
            out.create_dimension(f"d{d}", n)
        out.create_variable("v", "f8", tuple(f"d{d}" for d in range(len(shape))))[...] = values
    with forebay.open(tmp_path / "a.nc") as file:
        levels = file["v"].levels
        assert levels >= 2
        details = 0.0
        for level in range(1, levels + 1):
            values, more = halved(values)
            details += more
            its = file["v"].level(level)
            assert its.shape == values.shape and its.error <= 1e-9
            np.testing.assert_allclose(its[...], values, rtol=0, atol=its.error + 1e-13 * np.abs(values).max())
            assert its.resolution_error == pytest.approx(details, rel=1e-3)
