"""BP4 directories and BP3 files, which adios2 writes here."""

import numpy as np
import pytest

import forebay

adios2 = pytest.importorskip("adios2")


@pytest.fixture(params=["BP4", "BP3"])
def path(request, tmp_path):
    return written(tmp_path, request.param)


@pytest.fixture
def bp4(tmp_path):
    return written(tmp_path, "BP4")


@pytest.fixture
def bp3(tmp_path):
    return written(tmp_path, "BP3")


def written(tmp_path, engine_name):
    adios = adios2.Adios()
    io = adios.declare_io("all")
    io.set_engine(engine_name)
    temperature = io.define_variable("T", np.zeros(1), [4, 3], [0, 0], [2, 3])
    wave = io.define_variable("in/wave", np.zeros(1, "c16"), [2], [0], [2])
    text = io.define_variable("text")
    grows = io.define_variable("grows", np.zeros(1, "i4"), [1], [0], [1])
    io.define_attribute("T/units", "K")
    io.define_attribute("words", ["a", "ccc"])
    name = tmp_path / "a.bp"
    engine = io.open(str(name), adios2.bindings.Mode.Write)
    for step in range(3):
        engine.begin_step()
        for half in range(2):
            temperature.set_selection([[2 * half, 0], [2, 3]])
            engine.put(temperature, temperatures(step)[2 * half : 2 * half + 2].copy(), adios2.bindings.Mode.Sync)
        engine.put(wave, np.array([1 + 2j, step]), adios2.bindings.Mode.Sync)
        engine.put(text, "step" * step)
        grows.set_shape([step + 1])
        grows.set_selection([[0], [step + 1]])
        engine.put(grows, np.arange(step + 1, dtype="i4"), adios2.bindings.Mode.Sync)
        engine.end_step()
    engine.close()
    return name


def temperatures(step):
    return np.arange(12.0).reshape(4, 3) + 100 * step


def test_steps_are_records(path):
    with forebay.open(path) as file:
        assert file["T"].dimensions == ("step", "dim_4", "dim_3")
        assert file["T"].attributes["units"] == "K"
        assert np.array_equal(file["T"][:], np.stack([temperatures(s) for s in range(3)]))
        assert np.array_equal(file["T"][1, ::2, 1:], temperatures(1)[::2, 1:])
        assert np.array_equal(file["in.wave"][2], [[1, 2], [2, 0]])
        assert np.array_equal(file["in.wave"][:, 0, 1], [2, 2, 2])
        assert list(file["text"][:]) == ["", "step", "stepstep"]
        assert np.array_equal(file["grows"][:], [0, 0, 1, 0, 1, 2])
        assert np.array_equal(file["grows"][1::2], [0, 0, 2])
        assert np.array_equal(file["grows_count"][:], [1, 2, 3])
        assert list(file.attributes["words"]) == ["a", "ccc"]


def test_xarray(path):
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(path, engine="forebay") as data:
        assert dict(data["T"].sizes) == {"step": 3, "dim_4": 4, "dim_3": 3}
        assert float(data["T"].isel(step=2).mean()) == temperatures(2).mean()


def test_what_adios2_reads(path):
    with forebay.open(path) as file, adios2.FileReader(str(path)) as theirs:
        for step in range(3):
            values = theirs.read("T", start=[0, 0], count=[4, 3], step_selection=[step, 1])
            assert np.array_equal(file["T"][step], np.reshape(values, (4, 3)))


def test_files_that_end_like_none_are_refused(bp3):
    data = bp3.read_bytes()
    bp3.write_bytes(data[:-1])
    with pytest.raises(forebay.FormatError):
        forebay.open(bp3)


def test_damaged_bp3_is_an_error_of_the_file(bp3):
    data = bytearray(bp3.read_bytes())
    data[90:150] = b"\xff" * 60
    bp3.write_bytes(data)
    with pytest.raises(forebay.FormatError):
        forebay.open(bp3)


def test_bp3_that_is_written_anew_is_noticed(bp3):
    with forebay.open(bp3) as file:
        bp3.write_bytes(bytes(8) + bp3.read_bytes())
        with pytest.raises(forebay.ChangedFileError):
            file["T"][:]


def test_bp5_is_refused(bp4):
    (bp4 / "mmd.0").touch()
    with pytest.raises(forebay.UnsupportedError, match="BP5"):
        forebay.open(bp4)


def test_a_damaged_index_is_an_error_of_the_file(bp4):
    with open(bp4 / "md.0", "r+b") as file:
        file.seek(70)
        file.write(b"\xff" * 60)
    with pytest.raises(forebay.FormatError):
        forebay.open(bp4)


def test_blocks_are_found_by_their_values(path, tmp_path):
    with forebay.open(path) as file:
        found = file.find("T >= 206 and T < 208")
        assert [(f.step, f.start, f.count, f.certain, f.matches) for f in found] == [(2, (2, 0), (2, 3), True, None)]
        assert (found[0].least, found[0].greatest) == (206, 211)
        assert [f.matches for f in file.find("T >= 206 and T < 208", values=True)] == [2]
        assert file.find("T > 1e9") == []
        with pytest.raises(ValueError, match="no condition"):
            file.find("T")
        with pytest.raises(KeyError):
            file.find("t > 1")
    with forebay.create(tmp_path / "a.nc") as file:
        file.create_dimension("x", 3)
        file.create_variable("T", "f4", ("x",))
    with forebay.open(tmp_path / "a.nc") as file, pytest.raises(forebay.UnsupportedError, match="BP4"):
        file.find("T > 1")


def test_steps_that_could_not_be_searched_are_told(bp4):
    index = bp4 / "md.0"
    index.write_bytes(index.read_bytes()[:-1])
    with forebay.open(bp4) as file, pytest.warns(forebay.LostStepsWarning, match="1 steps were not searched"):
        steps = {found.step for found in file.find("T > 0")}
    assert steps and 2 not in steps


def test_a_file_that_is_written_anew_is_noticed(bp4):
    with forebay.open(bp4) as file:
        index = bp4 / "md.idx"
        index.write_bytes(index.read_bytes() + bytes(64))
        with pytest.raises(forebay.ChangedFileError):
            file["T"][:]


def test_following_a_file_that_was_written_ends_behind_its_steps(bp4):
    seen = []
    for step in forebay.follow(bp4, timeout=5):
        assert step.number == len(seen)
        assert list(step) == ["T", "in/wave", "text", "grows"] if step.number else "T" in step
        assert np.array_equal(step["T"], temperatures(step.number))
        assert np.array_equal(step.read("T", [1, 2], [2, 1]), temperatures(step.number)[1:3, 2:])
        assert np.array_equal(step["in/wave"], [1 + 2j, step.number])
        assert np.array_equal(step["grows"], np.arange(step.number + 1))
        assert step.shape("grows") == (step.number + 1,) and step.dtype("grows") == "i4"
        assert step.attributes["T/units"] == "K"
        with pytest.raises(KeyError, match="T"):
            step["t"]
        seen.append(step)
    assert len(seen) == 3
    assert np.array_equal(seen[0]["T"], temperatures(0))  # also behind later steps


def test_following_adios2_while_it_writes(tmp_path):
    io = adios2.Adios().declare_io("all")
    io.set_engine("BP4")
    x = io.define_variable("x", np.zeros(1), [4], [0], [4])
    name = tmp_path / "grows.bp"
    engine = io.open(str(name), adios2.bindings.Mode.Write)
    steps = None
    for step in range(6):
        engine.begin_step()
        engine.put(x, np.arange(4.0) + step, adios2.bindings.Mode.Sync)
        engine.end_step()
        steps = steps or forebay.follow(name, timeout=5)
        found = next(steps)
        assert found.number == step and np.array_equal(found["x"], np.arange(4.0) + step)
    with pytest.raises(TimeoutError, match="no further step"):
        next(forebay_from(name, 6))
    engine.close()
    assert list(steps) == []


def forebay_from(name, skipped):
    """What follows behind so many steps, of a writer that has not ended."""
    steps = forebay.follow(name, timeout=0.3)
    for _ in range(skipped):
        next(steps)
    return steps


def test_following_waits_for_the_file_no_longer_than_it_is_told(tmp_path):
    with pytest.raises(TimeoutError, match="not there"):
        next(forebay.follow(tmp_path / "none.bp", timeout=0.1))
    with pytest.raises(ValueError, match="timeout"):
        forebay.follow(tmp_path / "none.bp", timeout=-1)
