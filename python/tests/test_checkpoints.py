"""forebay.checkpoints: a store is what a dict is."""

import random
import subprocess
import sys

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


class Counting:
    """A store's own calls, counted by name."""

    def __init__(self, store):
        self.store, self.calls = store, {}

    def __getattr__(self, name):
        self.calls[name] = self.calls.get(name, 0) + 1
        return getattr(self.store, name)


def test_no_call_lists_all_states(tmp_path):
    with checkpoints.Store(tmp_path / "run", memory="1MiB") as store:
        store._store = counting = Counting(store._store)
        for step in range(100):
            store[step] = {"x": np.arange(3)}
            assert step in store and step + 1 not in store and len(store) == step + 1
        assert 2.5 not in store and "x" not in store and -1 not in store and 2**70 not in store and 3.0 in store
        assert store.popitem()[0] == 0
        while store:
            step, _ = store.pop()
            assert step not in store
        assert not {"list", "steps"} & counting.calls.keys()
        assert sum(counting.calls.values()) < 100 * 20


def test_a_step_that_no_number_holds_is_named(tmp_path):
    with checkpoints.Store(tmp_path / "run") as store:
        with pytest.raises(ValueError, match="a state of step 9223372036854775808"):
            store[2**63] = {"x": np.arange(3)}
        for use in (lambda: store[2**63], lambda: store.pop(2**63), lambda: store.__delitem__(2**63)):
            with pytest.raises(KeyError):
                use()
        for step in (2**63, -(2**70)):
            with pytest.raises(ValueError, match=f"a state of step {step}: steps are numbers from 0"):
                store.expect([0, step])
        with pytest.raises(ValueError, match="a state of step -"):
            store[-(2**70)] = {"x": np.arange(3)}
        store[2**63 - 1] = {"x": np.arange(3)}
        assert list(store) == [2**63 - 1]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_exception_keeps_what_there_is(tmp_path, error):
    with pytest.raises(error), checkpoints.Store(tmp_path / "run", memory="1MiB") as store:
        for step in range(3):
            store[step] = {"x": np.arange(5) + step}
        store.adjoint[3] = {"y": np.ones(2)}
        raise error
    assert store.closed
    with checkpoints.Store(tmp_path / "run", memory="1MiB") as again:
        assert list(again) == [0, 1, 2] and list(again.adjoint) == [3]
        np.testing.assert_array_equal(again[2]["x"], np.arange(5) + 2)
    assert not list(tmp_path.iterdir())


def test_what_an_exception_cannot_keep_is_said_with_it(tmp_path):
    with (
        pytest.raises(RuntimeError, match="first") as caught,
        checkpoints.Store(tmp_path / "run", memory="1MiB", directory_bytes=1) as store,
    ):
        store[1] = {"x": np.arange(500)}
        raise RuntimeError("first")
    assert "checkpoints are not all kept" in caught.value.__notes__[0]


LEFT = """
import os, sys
import numpy as np
from forebay import checkpoints

store = checkpoints.Store("run", memory="1MiB")
for step in range(3):
    store[step] = {"x": np.arange(5) + step}
way = sys.argv[1]
if way == "collected":
    del store
elif way == "fork":
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    store[0] = {"x": np.arange(5)}
elif way == "fails":
    raise RuntimeError
os.chdir("/")
"""


@pytest.mark.parametrize("way", ["exit", "collected", "fork", "fails"])
def test_a_store_that_nobody_closes_stays(tmp_path, way):
    left = subprocess.run([sys.executable, "-c", LEFT, way], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert left.returncode == (way == "fails"), left.stderr
    with checkpoints.Store(tmp_path / "run") as again:
        assert list(again) == [0, 1, 2]
        np.testing.assert_array_equal(again[2]["x"], np.arange(5) + 2)


def test_room_for_five_raw_states_holds_five(tmp_path):
    state = {"x": np.random.default_rng(0).random(1000), "wet": np.ones(1000, bool), "b": np.zeros((3, 5), bool)}
    raw = sum(array.nbytes for array in state.values())
    for options in ({"memory": 5 * raw, "directory_bytes": 1}, {"memory": 0, "directory_bytes": 5 * raw}):
        with checkpoints.Store(tmp_path / "run", **options) as store:
            for step in range(5):
                store[step] = state
            assert store.info()[4].bytes == store.info()[4].raw_bytes == raw
            assert store[4]["wet"].dtype == bool
            with pytest.raises(OSError):
                store[5] = state


def test_bools_of_earlier_files_come_back(tmp_path):
    with checkpoints.Store(tmp_path / "run") as store:
        names = np.frombuffer(b"wet\0dry", "S1")
        arrays = {"wet": np.array([1, 0], "u1"), "dry": np.array([0, 1], "u1"), ".bool": names}
        types = {"u1": checkpoints.type_number(np.dtype("u1")), "S1": checkpoints.type_number(np.dtype("S1"))}
        given = [
            (name, types["S1" if name == ".bool" else "u1"], list(array.shape), None, array)
            for name, array in arrays.items()
        ]
        store._store.put(1, False, given)
        assert store[1].keys() == {"wet", "dry"}
        np.testing.assert_array_equal(store[1]["wet"], [True, False])
        with pytest.raises(ValueError, match=r"'\.bool\.x'"):
            store[2] = {".bool.x": np.arange(3)}
