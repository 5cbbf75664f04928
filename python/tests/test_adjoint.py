"""Adjoint runs over a store: schedules, other libraries' storages, bounds of lossy codecs; against the packages."""

import gc
import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from forebay import _forebay, checkpoints

CELLS = 300


class Burgers:
    """Burgers' equation, periodic, and its adjoint by hand; a second field follows the first one."""

    def __init__(self, steps):
        self.steps = steps
        x = 2 * np.pi * np.arange(CELLS) / CELLS
        self.first = {"u": 1 + 0.5 * np.sin(x), "w": np.cos(3 * x), "mask": np.ones(CELLS, np.int32)}
        self.fields = {name: values.copy() for name, values in self.first.items()}
        self.n = 0
        self.tape = {}
        self.adjoint = None
        self.ran = 0

    @staticmethod
    def step(u, w):
        right, left = np.roll(u, -1), np.roll(u, 1)
        after = u - 0.05 * u * (right - left) + 0.05 * (left - 2 * u + right)
        return after, w + 0.1 * u * w

    def state(self):
        return self.fields

    def restore(self, n, state):
        self.n = n
        self.fields = {name: np.array(values) for name, values in state.items()}

    def forward(self, n0, n1, keep):
        assert n0 == self.n
        while self.n < min(n1, self.steps):
            if keep:
                self.tape[self.n] = (self.fields["u"].copy(), self.fields["w"].copy())
            self.fields["u"], self.fields["w"] = self.step(self.fields["u"], self.fields["w"])
            self.n += 1
            self.ran += 1
        return self.n

    def turn(self):
        self.adjoint = (self.fields["u"].copy(), self.fields["w"].copy())  # of (u² + w²) / 2

    def reverse(self, n1, n0):
        for n in range(n1 - 1, n0 - 1, -1):
            u, w = self.tape[n]
            au, aw = self.adjoint
            right, left = np.roll(u, -1), np.roll(u, 1)
            to_u = au * (1 - 0.05 * (right - left) - 0.1)
            to_u += np.roll(au * (0.05 - 0.05 * u), 1) + np.roll(au * (0.05 + 0.05 * u), -1)
            self.adjoint = (to_u + 0.1 * w * aw, aw * (1 + 0.1 * u))

    def clear(self):
        self.tape.clear()

    def dependencies(self):
        return {f"{name}{n}": field for n, both in self.tape.items() for name, field in zip("uw", both, strict=True)}

    def restore_dependencies(self, n, data):
        self.tape = {int(name[1:]): (data[name], data["w" + name[1:]]) for name in data if name[0] == "u"}

    def gradient(self):
        return {"u": self.adjoint[0], "w": self.adjoint[1]}


def exact(steps):
    model = Burgers(steps)
    model.forward(0, steps, True)
    model.turn()
    model.reverse(steps, 0)
    return model.adjoint


def test_the_gradient_is_that_of_finite_differences():
    def outcome(much):
        model = Burgers(20)
        model.fields["u"][7] += much
        model.fields["w"][9] += 2 * much
        model.forward(0, 20, False)
        return sum(0.5 * (model.fields[name] ** 2).sum() for name in "uw")

    gradient = exact(20)
    wanted = (outcome(1e-5) - outcome(-1e-5)) / 2e-5
    assert math.isclose(gradient[0][7] + 2 * gradient[1][9], wanted, rel_tol=1e-7)


def schedules():
    pytest.importorskip("checkpoint_schedules")
    import checkpoint_schedules as cs

    yield "multistage", cs.MultistageCheckpointSchedule(30, 2, 2)
    yield "revolve", cs.Revolve(30, 4)
    yield "hrevolve", cs.HRevolve(30, 2, 3)
    yield "disk revolve", cs.DiskRevolve(30, 3)
    yield "periodic", cs.PeriodicDiskRevolve(30, 3)
    yield "mixed", cs.MixedCheckpointSchedule(30, 5, storage=cs.StorageType.DISK)
    yield "two levels", cs.TwoLevelCheckpointSchedule(7, 2)
    yield "memory", cs.SingleMemoryStorageSchedule()
    yield "disk", cs.SingleDiskStorageSchedule()
    yield "disk, moved", cs.SingleDiskStorageSchedule(move_data=True)
    yield "ours", checkpoints.Schedule(30, 4)


class InPlace(Burgers):
    """Its arrays stay where they are."""

    def forward(self, n0, n1, keep):
        held = dict(self.fields)
        reached = super().forward(n0, n1, keep)
        for name, values in self.fields.items():
            held[name][...] = values
        self.fields = held
        return reached


@pytest.mark.parametrize("model_of", [Burgers, InPlace])
@pytest.mark.parametrize("number", range(11))
def test_any_schedule_gives_the_gradient(tmp_path, number, model_of):
    pytest.importorskip("checkpoint_schedules")
    name, schedule = list(schedules())[number]
    model = model_of(30)
    with checkpoints.Store(tmp_path / "run", memory="20KiB") as store:
        checkpoints.run(schedule, store, model)
        if name in ("multistage", "revolve", "mixed", "ours"):  # others leave what is on disk
            assert not store
    for got, wanted in zip(model.adjoint, exact(30), strict=True):
        np.testing.assert_array_equal(got, wanted, err_msg=name)


@pytest.mark.parametrize("steps, snapshots, advances", [(10, 3, 15), (100, 3, 490), (100, 9, 234), (1, 1, 0)])
def test_our_schedule_has_revolves_number_of_advances(tmp_path, steps, snapshots, advances):
    cs = pytest.importorskip("checkpoint_schedules")
    schedule, model = checkpoints.Schedule(steps, snapshots), Burgers(steps)
    with checkpoints.Store(tmp_path / "run") as store:
        checkpoints.run(schedule, store, model)
        assert not store
    assert schedule.advances == advances
    assert model.ran == advances + steps
    assert not schedule.uses_storage_type(cs.StorageType.DISK)
    # The other judge: theirs runs as often.
    other = Burgers(steps)
    with checkpoints.Store(tmp_path / "other") as store:
        checkpoints.run(cs.MultistageCheckpointSchedule(steps, snapshots, 0), store, other)
    assert model.ran == other.ran


def test_our_schedule_goes_by_bytes(tmp_path):
    pytest.importorskip("checkpoint_schedules")
    steps, raw = 60, CELLS * (8 + 8 + 4)
    ran = {}
    for codec in (None, {"u": "zfp:accuracy=1e-6", "w": "zfp:accuracy=1e-6"}):
        model = Burgers(steps)
        with checkpoints.Store(tmp_path / "run", memory=4 * raw, directory_bytes=1, codec=codec) as store:
            schedule = checkpoints.Schedule(steps, store=store, state=model.state())
            checkpoints.run(schedule, store, model)
        ran[codec is None] = schedule.advances
        for got, wanted in zip(model.adjoint, exact(steps), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=0 if codec is None else 1e-5)
    assert ran[False] < ran[True] == revolve(steps, 4)


def test_codecs_are_found_by_the_models_own_names(tmp_path):
    pytest.importorskip("checkpoint_schedules")
    sizes = []

    class Watched(Burgers):
        def forward(self, n0, n1, keep):
            sizes.extend(info.bytes for info in store.info())
            return super().forward(n0, n1, keep)

    for codec in (None, {"u": "zfp:accuracy=1e-2", "w": "zfp:accuracy=1e-2"}):
        sizes.append(0)
        with checkpoints.Store(tmp_path / "run", codec=codec) as store:
            checkpoints.run(checkpoints.Schedule(20, 3), store, Watched(20))
    raw = sizes.index(0, 1)
    assert max(sizes[raw:]) < max(sizes[:raw]) / 2
    model = Burgers(3)
    model.fields["kept.u"] = np.ones(3)
    with checkpoints.Store(tmp_path / "run") as store, pytest.raises(ValueError, match=r"kept\.u"):
        checkpoints.run(checkpoints.Schedule(3, 1), store, model)


def test_a_schedule_that_stores_no_states_takes_codecs_of_them(tmp_path):
    cs = pytest.importorskip("checkpoint_schedules")
    model, bound = Burgers(10), "zfp:accuracy=1e-6"
    with checkpoints.Store(tmp_path / "run", codec={"u": bound, "kept.w": "deflate"}) as store:
        checkpoints.run(cs.SingleDiskStorageSchedule(), store, model)
        with pytest.raises(ValueError, match="'u', 'kept.w', and the first state has 'w'"):
            store[1000] = {"w": model.fields["w"]}
    for got, wanted in zip(model.adjoint, exact(10), strict=True):
        np.testing.assert_array_equal(got, wanted)


def revolve(steps, states):
    """Least number of advances (Griewank and Walther 2000)."""
    repeats = next(r for r in range(1000) if math.comb(states + r, states) >= steps)
    return steps * repeats - math.comb(states + repeats, repeats - 1)


def test_what_makes_no_sense_is_refused(tmp_path):
    pytest.importorskip("checkpoint_schedules")
    with pytest.raises(ValueError, match="snapshots"):
        checkpoints.Schedule(5)
    with pytest.raises(ValueError, match="at least one"):
        checkpoints.Schedule(5, 0)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = checkpoints.nothing_like_it


def test_a_schedule_leaves_states_that_are_there_alone(tmp_path):
    pytest.importorskip("checkpoint_schedules")
    with checkpoints.Store(tmp_path / "run") as store:
        store[0] = {"x": np.arange(5)}
        with pytest.raises(ValueError, match="states already"):
            checkpoints.Schedule(5, store=store, state={"x": np.zeros(5)})
        np.testing.assert_array_equal(store[0]["x"], np.arange(5))


def test_pyrevolve_keeps_its_checkpoints_here(tmp_path):
    pyrevolve = pytest.importorskip("pyrevolve")

    class Live:
        """Its checkpoint: all of the model's fields in one array."""

        dtype, size = np.float64, 2 * CELLS

        def __init__(self, model):
            self.model = model
            self.live = np.zeros((2, CELLS))

        def get_data(self, timestep):
            self.live[:] = self.model.fields["u"], self.model.fields["w"]
            return [self.live]

        def get_data_location(self, timestep):
            self.model.n = timestep
            self.model.fields["u"], self.model.fields["w"] = self.live
            return [self.live]

        nbytes = size * 8

    class Forward(pyrevolve.Operator):
        def apply(self, t_start, t_end):
            model.fields = {name: np.array(values) for name, values in model.fields.items()}
            model.n = t_start
            model.forward(t_start, t_end, True)
            if t_end == model.steps and model.adjoint is None:
                model.turn()

    class Backward(pyrevolve.Operator):
        def apply(self, t_start, t_end):
            model.reverse(t_end, t_start)

    model = Burgers(20)
    live = Live(model)
    with checkpoints.Store(tmp_path / "run", memory="1KiB", codec="shuffle,zstd:1") as store:
        revolver = pyrevolve.SingleLevelRevolver(live, Forward(), Backward(), 3, 20)
        revolver.storage_list[0] = checkpoints.Storage(store, live, 3)
        revolver.apply_forward()
        assert 0 < len(store) <= 3
        revolver.apply_reverse()
    for got, wanted in zip(model.adjoint, exact(20), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_pyadjoint_keeps_its_checkpoints_here(tmp_path):
    pyadjoint = pytest.importorskip("pyadjoint")
    cs = pytest.importorskip("checkpoint_schedules")

    store = checkpoints.Store(tmp_path / "run", memory=0)
    data = checkpoints.TapePackageData(store)
    most = 0

    class Vector(pyadjoint.OverloadedType):
        """An array that tapes know."""

        def __init__(self, values):
            super().__init__()
            self.values = np.array(values, float)

        def _ad_create_checkpoint(self):
            nonlocal most
            kept = data.keep(self.values)
            most = max(most, len(store))
            return kept

        def _ad_restore_at_checkpoint(self, checkpoint):
            return Vector(data.value(checkpoint))

        def _ad_init_zero(self, dual=False):
            return Vector(np.zeros_like(self.values))

        def _ad_convert_type(self, value, options=None):
            return Vector(value)

        def _ad_convert_riesz(self, value, riesz_map=None):
            return Vector(value)

        def _ad_init_object(self, obj):
            return Vector(obj)

    class Step(pyadjoint.Block):
        def __init__(self, x):
            super().__init__()
            self.add_dependency(x)

        def evaluate_adj_component(self, inputs, adj_inputs, block_variable, idx, prepared=None):
            return adj_inputs[0] * np.cos(inputs[0].values)

        def recompute_component(self, inputs, block_variable, idx, prepared):
            return Vector(np.sin(inputs[0].values))

    class Square(pyadjoint.Block):
        def __init__(self, x):
            super().__init__()
            self.add_dependency(x)

        def evaluate_adj_component(self, inputs, adj_inputs, block_variable, idx, prepared=None):
            return 2 * adj_inputs[0] * inputs[0].values

        def recompute_component(self, inputs, block_variable, idx, prepared):
            return pyadjoint.AdjFloat((inputs[0].values ** 2).sum())

    def apply(block, x, result):
        made = block(x)
        pyadjoint.get_working_tape().add_block(made)
        made.add_output(result.create_block_variable())
        return result

    tape = pyadjoint.Tape()
    pyadjoint.set_working_tape(tape)
    tape._package_data["forebay"] = data
    tape.enable_checkpointing(cs.SingleDiskStorageSchedule())
    pyadjoint.continue_annotation()
    first = np.linspace(0.1, 1, 50)
    x = start = Vector(first)
    control = pyadjoint.Control(start)
    for _ in tape.timestepper(iter(range(6))):
        x = apply(Step, x, Vector(np.sin(x.values)))
    loss = apply(Square, x, pyadjoint.AdjFloat((x.values**2).sum()))
    pyadjoint.pause_annotation()
    gradient = pyadjoint.ReducedFunctional(loss, control).derivative()
    values, slope = first, np.ones_like(first)
    for _ in range(6):
        slope, values = slope * np.cos(values), np.sin(values)
    np.testing.assert_allclose(gradient.values, 2 * values * slope, rtol=1e-12)
    assert most > 3
    tape.clear_tape()
    store.close()


def test_what_the_collector_ends_while_a_state_is_read_goes_afterwards(tmp_path, monkeypatch):
    pytest.importorskip("pyadjoint")
    with checkpoints.Store(tmp_path / "run") as store:
        store[0] = {"x": np.arange(5)}
        data = checkpoints.TapePackageData(store)
        data.active = True
        tape = [data.keep(np.arange(3.0))]
        tape.append(tape)
        other = data.keep(np.arange(4.0))
        assert len(store) == 3
        empty = np.empty

        def collecting(*arguments):  # in the middle of reading
            gc.collect()
            return empty(*arguments)

        monkeypatch.setattr(np, "empty", collecting)
        del tape
        np.testing.assert_array_equal(data.value(other), np.arange(4.0))
        monkeypatch.undo()
        data.value(other)
        assert len(store) == 2
        del other
        assert list(store) == [0]  # which was there before


def test_what_ends_once_the_store_is_closed_ends_in_peace(tmp_path, monkeypatch):
    pytest.importorskip("pyadjoint")
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: raised.append(what.exc_value))
    with checkpoints.Store(tmp_path / "run") as store:
        data = checkpoints.TapePackageData(store)
        data.active = True
        kept = data.keep(np.arange(3.0))
    del kept
    gc.collect()
    assert not raised


def test_jax_computes_gradients_with_few_states(tmp_path):
    jax = pytest.importorskip("jax")

    def step(state):
        u = state["u"]
        left, right = jax.numpy.roll(u, 1), jax.numpy.roll(u, -1)
        return {"u": u - 0.05 * u * (right - left) + 0.05 * (left - 2 * u + right), "w": state["w"] * 0.9 + u}

    def loss(state):
        return (state["u"] ** 2).sum() + state["w"].sum()

    def whole(state):
        for _ in range(25):
            state = step(state)
        return loss(state)

    x = jax.numpy.linspace(0, 6, 200)
    state = {"u": 1 + jax.numpy.sin(x) / 2, "w": x}
    wanted = jax.grad(whole)(state)
    for options in ({}, {"memory": 5000}):
        value, gradient = checkpoints.gradient(step, state, 25, loss, **options)
        np.testing.assert_allclose(value, whole(state), rtol=1e-5)
        for name in state:
            np.testing.assert_allclose(gradient[name], wanted[name], rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="at least one"):
        checkpoints.gradient(step, state, 0, loss)


def test_jax_keeps_states_that_get_smaller_behind_a_large_one(tmp_path, monkeypatch):
    jax = pytest.importorskip("jax")
    _jax = pytest.importorskip("forebay._jax")
    n, size = 24, 4000
    advances = []

    class Told:
        def __getattr__(self, name):
            return getattr(_forebay, name)

        def next_action(self, *args, **options):
            action = _forebay.next_action(*args, **options)
            advances.append(action[2] - action[1] if action[0] == "advance" else 0)
            return action

    def step(state):
        k, x = state
        rough = jax.numpy.arange(size) < size * (1 - 0.9 * (k + 1) / n)
        return k + 1, jax.numpy.where(rough, x, 0.25)

    monkeypatch.setattr(_jax, "_forebay", Told())
    x = jax.numpy.asarray(np.random.default_rng(0).random(size), "f4")
    loss = lambda state: (state[1] ** 2).sum()  # noqa: E731
    _, (_, slope) = checkpoints.gradient(step, (jax.numpy.float32(0), x), n, loss, memory=28000, codec="zstd:1")
    np.testing.assert_allclose(slope, np.where(np.arange(size) < size * 0.1, 2 * x, 0), rtol=1e-6)
    assert sum(advances) < n * (n - 1) / 2 / 2


def test_bounds_are_found_that_keep_a_gradient():
    model = Burgers(40)
    before = model.first
    found = checkpoints.calibrate(model, target=1e-3, window=6)
    assert set(found.codec) == {"u", "w"}
    assert found.steps == (6, 12)
    assert found.error <= 1e-3
    lossy = [name for name, bound in found.bounds.items() if bound > 0]
    assert lossy
    for name in lossy:
        assert found.codec[name].startswith("zfp:accuracy=")
    # Ten times the error is ten times the bound.
    wider = checkpoints.calibrate(model, target=1e-2, window=6)
    for name in lossy:
        assert math.isclose(wider.bounds[name], 10 * found.bounds[name], rel_tol=1e-6)
    for name, values in before.items():
        np.testing.assert_array_equal(model.state()[name], values)
    with pytest.raises(ValueError, match="window"):
        checkpoints.calibrate(model, window=0)


def test_what_calibration_knows_nothing_of_is_kept_exactly():
    class Resting(Burgers):
        """With a field that is 0, and one that makes the gradient infinite as soon as it is not what it was."""

        def __init__(self, steps):
            super().__init__(steps)
            self.fields |= {"rest": np.zeros(CELLS), "seed": np.random.default_rng(1).random(CELLS)}
            self.seed = self.fields["seed"].copy()

        def turn(self):
            super().turn()
            self.off = False

        def reverse(self, n1, n0):
            super().reverse(n1, n0)
            self.off |= not np.array_equal(self.fields["seed"], self.seed)

        def gradient(self):
            return {"u": self.adjoint[0] * (np.inf if self.off else 1), "w": self.adjoint[1]}

    found = checkpoints.calibrate(Resting(40), target=1e-3, window=4, lossless="shuffle,zstd:1")
    assert found.codec["rest"] == found.codec["seed"] == "shuffle,zstd:1"
    assert found.bounds["seed"] == 0 and found.error <= 1e-3


def test_the_study_draws_what_was_run(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    driver = Path(__file__).parents[2] / "bench/driver"
    monkeypatch.syspath_prepend(str(driver))
    spec = importlib.util.spec_from_file_location("adjoint_study", driver / "adjoint.py")
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    run = {"codec": "zfp:accuracy=1e-3", "store": 1.0, "restore": 2.0, "bytes": [100, 200]}
    error = {"codec": "float32", "checkpoints": 1, "sampled": 1e-3}
    speed = {"memcpy": {"write": 1e-3, "read": 2e-3}}
    parts = {
        "a": {"runs": [run, run]},
        "b": {"runs": [run, run]},
        "errors a": [error],
        "errors b": [error],
        "speed": speed,
    }
    for left_out in (set(), {"a"}, {"a", "b"}, {"errors a", "errors b"}, parts.keys() - {"speed"}, {"speed"}):
        path = tmp_path / "study.png"
        study.draw({name: part for name, part in parts.items() if name not in left_out}, path)
        assert path.read_bytes().startswith(b"\x89PNG")
        path.unlink()
    monkeypatch.setattr(sys, "argv", ["adjoint.py", "--only", "c"])
    with pytest.raises(study.Failure, match="--only"):
        study.main()
