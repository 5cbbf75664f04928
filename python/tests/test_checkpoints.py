"""forebay.checkpoints: a store is what a dict is."""

import random

import numpy as np
import pytest

from conftest import TYPES, waves
from forebay import checkpoints


def test_states_come_back_in_every_type(tmp_path):
    state = {dtype: waves((3, 5), dtype) for dtype in TYPES}
    state["scalar"] = np.float64(2.5)
    state["swapped"] = waves((4,), ">f8")
    state["strided"] = waves((6, 4))[::2, 1:3]
    state["none"] = np.zeros((0, 3))
    with checkpoints.Store(tmp_path / "run") as store:
        store[7] = state
        got = store[7]
        assert list(got) == list(state)
        for name, values in state.items():
            np.testing.assert_array_equal(got[name], values)
            assert got[name].shape == np.shape(values)
    assert not list(tmp_path.iterdir())


def test_the_latest_is_popped_and_codecs_keep_their_bounds(tmp_path):
    field = np.sin(np.arange(20000) / 50)
    with checkpoints.Store(tmp_path / "run", memory="200KiB", codec={"T": "zfp:accuracy=1e-4"}) as store:
        for step in range(10):
            store[step] = {"T": field + step, "k": np.arange(10)}
        assert all(info.bytes < info.raw_bytes / 2 for info in store.info())
        for step in reversed(range(10)):
            popped, state = store.pop()
            assert popped == step
            assert np.abs(state["T"] - field - step).max() <= 1e-4
            np.testing.assert_array_equal(state["k"], np.arange(10))
        assert not store
        with pytest.raises(KeyError):
            store.pop()


def test_what_is_kept_is_found_again(tmp_path):
    store = checkpoints.Store("run", directory=tmp_path)
    store[3] = {"x": np.arange(5)}
    store.adjoint[3] = {"x": np.arange(5) * 2}
    store.close(keep=True)
    for use in (lambda: store.update({3: {}}), lambda: store[3], lambda: list(store), store.pop, store.info):
        with pytest.raises(ValueError, match="closed"):
            use()
    with checkpoints.Store("run", directory=tmp_path) as again:
        assert list(again) == [3]
        np.testing.assert_array_equal(again[3]["x"], np.arange(5))
        np.testing.assert_array_equal(again.adjoint[3]["x"], np.arange(5) * 2)


def test_a_codec_of_what_the_first_state_does_not_have_is_refused(tmp_path):
    state = {"T": np.zeros(20000), "S": np.ones(3)}
    with checkpoints.Store(tmp_path / "run", codec={"T": "none", "tmep": "deflate", "s": "none"}) as store:
        for _ in range(2):
            with pytest.raises(ValueError, match=r"'tmep', 's', and the first state has 'T', 'S'"):
                store[0] = state
        assert not store
    codec = {"T": "none", "adjoint_*": "zfp:accuracy=1e-2", "T*": "deflate"}
    with checkpoints.Store(tmp_path / "run", codec=codec) as store:
        store.adjoint[1] = {"adjoint_T": np.sin(np.arange(20000) / 50)}
        store[0] = state
        store[1] = {"later": np.ones(3), "T2": state["T"]}
        sizes = {(info.step, info.adjoint): info.bytes for info in store.info()}
        assert sizes[1, True] < 40000  # by the pattern
        assert sizes[0, False] > 160000  # the name itself, not the pattern
        assert sizes[1, False] < 1000


def test_a_job_that_goes_on_has_its_first_state_behind_it(tmp_path):
    codec = {"T": "none", "bathymetry": "deflate"}
    with checkpoints.Store("run", directory=tmp_path, codec=codec) as store:
        store[0] = {"T": np.zeros(5), "bathymetry": np.ones(5)}
        store[1] = {"T": np.zeros(5)}
        store.close(keep=True)
    with checkpoints.Store("run", directory=tmp_path, codec=codec) as again:
        again[2] = {"T": np.arange(5.0)}
        assert list(again) == [0, 1, 2]


def test_what_makes_no_sense_is_refused(tmp_path):
    for codec in ("zip", {"T": "zfp:accuracy=1e-3", "S": "zfp:accurate=1"}):
        with pytest.raises(ValueError):
            checkpoints.Store(tmp_path / "run", codec=codec)
    with checkpoints.Store(tmp_path / "run") as store:
        with pytest.raises(KeyError):
            store[1]
        with pytest.raises(KeyError):
            del store[1]
        with pytest.raises(TypeError):
            store[1] = {"x": np.array([1j])}
        with pytest.raises(ValueError, match="negative"):
            store[-1] = {"x": np.arange(3)}
        assert not store
    with pytest.raises(ValueError, match="checkpoint_memory"):
        checkpoints.Store(tmp_path / "run", memory="much")


@pytest.mark.parametrize("seed", range(6))
def test_a_store_is_what_a_dict_is(tmp_path, seed):
    choose = random.Random(seed)
    (tmp_path / "fast").mkdir()
    options = dict(
        memory=choose.choice([0, "8KiB", "1MiB"]),
        fast=choose.choice([None, tmp_path / "fast"]),
        fast_bytes="10KiB",
        codec=choose.choice([None, "shuffle,zstd:1"]),
    )
    store, model = checkpoints.Store(tmp_path / "run", **options), {}
    for call in range(300):
        step, kind = choose.randrange(12), choose.randrange(6)
        if kind < 2:
            state = {"x": np.full(choose.randrange(400), call), "y": np.float32(step)}
            store[step] = model[step] = state
        elif kind == 2 and model:
            latest, state = store.pop()
            assert latest == max(model)
            np.testing.assert_array_equal(state["x"], model.pop(latest)["x"])
        elif kind == 3 and step in model:
            np.testing.assert_array_equal(store[step]["x"], model[step]["x"])
        elif kind == 4 and step in model:
            del store[step], model[step]
        elif choose.random() < 0.1:
            store.close(keep=True)
            store = checkpoints.Store(tmp_path / "run", **options)
        assert list(store) == sorted(model)
    store.close()


def test_bools_come_back_as_bools(tmp_path):
    wet = np.array([[True, False, True], [False, True, True]])
    state = {"wet": wet, "dry": ~wet, "k": np.arange(3, dtype="i1"), "on": np.bool_(True)}
    with checkpoints.Store(tmp_path / "run") as store:
        store[1] = state
        got = store[1]
        assert list(got) == list(state)
        for name, values in state.items():
            assert got[name].dtype == values.dtype
            np.testing.assert_array_equal(got[name], values)
        # Numbers would choose other elements.
        np.testing.assert_array_equal(np.arange(6).reshape(2, 3)[got["wet"]], [0, 2, 4, 5])
        with pytest.raises(TypeError):
            store[1.5] = state
