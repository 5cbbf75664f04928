"""netCDF-4 and other HDF5 files: the same values and attributes as netCDF4, h5py and xarray's engines give."""

import pickle
import random
import subprocess
import sys
import threading

import h5py
import netCDF4
import numpy as np
import pytest
import xarray

import forebay
from conftest import TYPES, waves
from test_reading import random_key

pytestmark = pytest.mark.skipif(not forebay.has_hdf5, reason="this build has no HDF5")


@pytest.fixture
def path(tmp_path):
    """Every type, groups, strings, packed and unwritten values, two unlimited dimensions."""
    path = tmp_path / "all.nc4"
    with netCDF4.Dataset(path, "w") as out:
        out.title, out.version, out.levels = "tested", np.int64(2**60), np.array([1.5, 2.5])
        out.setncattr_string("names", ["one", "zwei é"])
        out.createDimension("t", None)
        out.createDimension("y", 11)
        out.createDimension("x", 13)
        for kind in TYPES:
            out.createVariable(f"v_{kind}", kind, ("t", "y", "x"), zlib=True, chunksizes=(2, 5, 6))[:] = waves(
                (7, 11, 13)
            )
        plain = out.createVariable("plain", "f8", ("y", "x"), fill_value=-9.0)
        plain[:5] = waves((5, 13))
        plain.units = "K"
        packed = out.createVariable("packed", "i2", ("t", "x"), zlib=True, shuffle=True, fletcher32=True)
        packed.scale_factor, packed.add_offset = 0.5, 10.0
        packed[:] = waves((7, 13)) / 2
        out.createVariable("short", "i4", ("t", "x"))[:3] = waves((3, 13))  # shorter than its dimension
        out.createVariable("text", "S1", ("y",))[:] = np.array(list("hello world"), "S1")
        out.createVariable("strings", str, ("x",))[:] = np.array([f"é{i}" * i for i in range(13)], object)
        out.createVariable("scalar", "u8")[...] = 2**63 + 1
        inner = out.createGroup("ocean").createGroup("deep")
        inner.depth = "4000 m"
        inner.createDimension("n", None)
        inner.createVariable("S", "f4", ("n", "x"))[:] = waves((4, 13))
        out["ocean"].createVariable("k", "i8", ("t",))[:] = np.arange(7) - 2**62
    return path


def raw(path):
    file = netCDF4.Dataset(path)
    file.set_auto_maskandscale(False)
    return file


def all_variables(file):
    yield from file.variables.items()
    for group in file.groups.values():
        yield from all_variables(group)


def same_attributes(ours, theirs):
    assert sorted(ours.attributes) == sorted(theirs.ncattrs())
    for name, value in ours.attributes.items():
        np.testing.assert_equal(value, theirs.getncattr(name))
        assert type(value) is type(theirs.getncattr(name))


def test_everything_is_as_netcdf4_has_it(path):
    with forebay.open(path) as ours, raw(path) as theirs:
        assert ours.format == "netCDF-4"
        pairs = [(ours, theirs)]
        seen = 0
        while pairs:
            our, their = pairs.pop()
            same_attributes(our, their)
            assert list(our.dimensions) == list(their.dimensions)
            for name, dimension in our.dimensions.items():
                assert (len(dimension), dimension.unlimited) == (
                    len(their.dimensions[name]),
                    their.dimensions[name].isunlimited(),
                )
            assert list(our.variables) == list(their.variables) and list(our.groups) == list(their.groups)
            for name, variable in our.items():
                other = their[name]
                same_attributes(variable, other)
                assert variable.dimensions == other.dimensions and variable.shape == other.shape
                assert variable.dtype == (object if other.dtype is str else other.dtype)
                np.testing.assert_array_equal(variable[...], other[...])
                seen += 1
            pairs += [(our.groups[name], their.groups[name]) for name in our.groups]
        assert seen == 18 and not ours.left_out


def test_slices_are_those_of_numpy(path):
    rng = random.Random(4)
    with forebay.open(path) as file, raw(path) as theirs:
        for name in ("v_f4", "v_i8", "short", "strings", "plain"):
            whole = theirs[name][...]
            for _ in range(80):
                key = random_key(rng, whole.shape)
                np.testing.assert_array_equal(file[name][key], whole[key], err_msg=f"{name} {key}")
        np.testing.assert_array_equal(file["v_f4"][::-2, 3, ::-1], theirs["v_f4"][::-2, 3, ::-1])
        out = np.empty((11, 13))
        assert file["plain"].read(out=out) is out
        np.testing.assert_array_equal(out, theirs["plain"][...])
        for key in (7, (0, 11), (0, 0, 0, 0)):
            with pytest.raises(IndexError):
                file["v_f4"][key]


def test_groups_are_datasets(path):
    with forebay.open(path) as file:
        deep = file.groups["ocean"].groups["deep"]
        assert deep.name == "ocean/deep" and deep.attributes["depth"] == "4000 m" and list(deep) == ["S"]
        assert list(deep.dimensions) == ["n"] and deep["S"].dimensions == ("n", "x")
        assert file["ocean/deep/S"] is deep["S"] and "ocean" not in file
        with pytest.raises(KeyError, match="did you mean 'ocean'"):
            file.groups["ocaen"]
        with pytest.raises(KeyError, match="variable"):
            file["ocean/deep/none"]
        assert "ocean" in repr(file) and "deep" in file._repr_html_() and "S (n: 4" in repr(deep)
        for copy in (pickle.loads(pickle.dumps(deep)), pickle.loads(pickle.dumps(deep["S"])).dataset):
            np.testing.assert_array_equal(copy["S"][...], waves((4, 13)))
            copy.close()
        variable = deep["S"]
    for closed in (lambda: variable[0], lambda: deep["S"][...], lambda: file["plain"][0]):
        with pytest.raises(ValueError, match="closed"):
            closed()
    assert deep.closed and "closed" in repr(deep)


def test_plain_hdf5(tmp_path):
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as out:
        out["fixed"] = np.array([b"abc", b"", b"0123456"], "S7")
        out["grid/T"] = waves((4, 6), "i8")
        out["flag"] = np.array([True, False, True])
        out["big"] = waves((5,), ">f4")
        out["compound"] = np.zeros(3, [("a", "i4"), ("b", "f8")])
        out.create_dataset("lists", (2,), h5py.vlen_dtype("i4"))
        out.create_dataset("references", (2,), h5py.ref_dtype)
        out["grid/T"].attrs["where"] = out["big"].ref
        out["grid/T"].attrs["unit"] = np.bytes_("K")
    with forebay.open(path) as file, h5py.File(path) as theirs:
        assert file.format == "HDF5"
        for name in ("fixed", "big"):
            np.testing.assert_array_equal(file[name][...], theirs[name][...])
        assert file["fixed"].dtype == "S7" and file["fixed"][::-1].tolist() == [b"0123456", b"", b"abc"]
        np.testing.assert_array_equal(file["grid/T"][::-1, ::2], theirs["grid/T"][...][::-1, ::2])
        np.testing.assert_array_equal(file["flag"][...].astype(bool), theirs["flag"][...])
        assert set(file.left_out) == {"compound", "lists", "references"}
        assert dict(file.groups["grid"].left_out) == {"T:where": "references"}
        assert dict(file["grid/T"].attributes) == {"unit": "K"}
        for name, why in {"compound": "compound", "lists": "varying length", "references": "references"}.items():
            with pytest.raises(forebay.UnsupportedError, match=why):
                file[name]
        assert "compound type" in repr(file) and "compound type" in file._repr_html_()
        assert set(file) == {"fixed", "flag", "big"}
        with pytest.raises(forebay.UnsupportedError, match="classic"):
            forebay.references(file)


@pytest.mark.parametrize("group", [None, "ocean", "/ocean/deep"])
@pytest.mark.parametrize("decode", [True, False])
def test_xarray_gives_the_same(path, group, decode):
    options = {"group": group, "decode_cf": decode}
    with (
        xarray.open_dataset(path, engine="forebay", **options) as ours,
        xarray.open_dataset(path, engine="netcdf4", **options) as theirs,
    ):
        assert ours.encoding["unlimited_dims"] == theirs.encoding["unlimited_dims"]
        for name in theirs.variables:
            assert ours[name].dtype == theirs[name].dtype
        xarray.testing.assert_identical(ours.load(), theirs.load())


def test_xarray_and_its_own_files(tmp_path):
    data = {
        "T": (("time", "x"), np.array([[1.5, np.nan], [3, 4]]), {"units": "K"}),
        "name": (("x",), np.array(["left", "right"])),
        "fixed": (("x",), np.array([b"abc", b"d"])),
        "when": (("time",), np.array(["2001-01-01", "2002-01-01"], "M8[ns]")),
        "yes": (("x",), np.array([True, False])),
    }
    dataset = xarray.Dataset(data, {"x": [1, 2]}, {"title": "t", "list": ["a", "b"]})
    for engine in ("netcdf4", "h5netcdf"):
        path = tmp_path / f"{engine}.nc"
        packed = {"T": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1, "zlib": True}}
        dataset.to_netcdf(path, engine=engine, encoding=packed, unlimited_dims=["time"])
        with xarray.open_dataset(path, engine=engine) as theirs, xarray.open_dataset(path, engine="forebay") as ours:
            xarray.testing.assert_identical(ours.load(), theirs.load())
            xarray.testing.assert_identical(pickle.loads(pickle.dumps(ours)), theirs)


def test_the_engine_does_not_claim_them(path):
    assert not xarray.backends.list_engines()["forebay"].guess_can_open(path)
    with xarray.open_dataset(path) as opened:
        assert "codec" not in opened["v_f4"].encoding
    with xarray.open_dataset(path, engine="forebay", chunks={}) as opened:
        assert opened["v_f4"].chunks == ((2, 2, 2, 1), (5, 5, 1), (6, 6, 1))
        assert opened["v_f4"].sum().compute() == waves((7, 11, 13)).sum()
    with pytest.raises(OSError, match="group"):
        xarray.open_dataset(path, engine="forebay", group="none")


def test_a_tree_of_groups(path):
    with xarray.open_datatree(path, engine="forebay") as ours, xarray.open_datatree(path, engine="netcdf4") as theirs:
        xarray.testing.assert_identical(ours.load(), theirs.load())


def test_many_threads_read_at_once(path, tmp_path):
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as out:
        out["v"] = waves((100, 100))
    wrong = []

    def work(seed):
        rng = random.Random(seed)
        try:
            for _ in range(40):
                with forebay.open(other) as opened:
                    name = rng.choice(["v_f4", "v_u8", "strings"])
                    np.testing.assert_array_equal(file[name][...], whole[name])
                    np.testing.assert_array_equal(opened["v"][::3], waves((100, 100))[::3])
                    with pytest.raises(forebay.FormatError):
                        forebay.open(broken)
        except BaseException as error:
            wrong.append(error)

    broken = tmp_path / "broken.h5"
    broken.write_bytes(other.read_bytes()[:3000])
    with forebay.open(path) as file:
        whole = {name: file[name][...] for name in ("v_f4", "v_u8", "strings")}
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not wrong


def test_closing_while_others_read(path):
    file, unexpected = forebay.open(path), []

    def work():
        try:
            while True:
                file["v_f8"][...]
        except ValueError as error:
            if "closed" not in str(error):
                unexpected.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    file["v_f8"][0]
    file.close()
    file.close()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert not unexpected


@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.99])
def test_files_that_are_cut_short(path, part):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(forebay.FormatError, match="all.nc4"):
        forebay.open(path)


def test_a_damaged_chunk_is_an_error(tmp_path, capfd):
    path = tmp_path / "damaged.h5"
    with h5py.File(path, "w") as out:
        made = out.create_dataset("T", data=waves((100, 100)), chunks=(50, 100), compression=4, fletcher32=True)
        place = made.id.get_chunk_info(1)
    data = bytearray(path.read_bytes())
    data[place.byte_offset + place.size // 2] ^= 0xFF
    path.write_bytes(data)
    with forebay.open(path) as file:
        np.testing.assert_array_equal(file["T"][:50], waves((100, 100))[:50])
        with pytest.raises(forebay.FormatError, match=r"damaged.h5: T cannot be read"):
            file["T"][...]
        np.testing.assert_array_equal(file["T"][:50], waves((100, 100))[:50])
    assert capfd.readouterr().err == ""


def test_a_file_that_changes_meanwhile(path):
    with forebay.open(path) as file, forebay.open(path, check_changes=False) as careless:
        file["plain"][0]
        path.touch()
        with pytest.raises(forebay.ChangedFileError, match="open it again"):
            file["strings"][0]
        with pytest.raises(forebay.ChangedFileError, match="open it again"):
            file["plain"][0]
        assert careless["plain"][0, 1] == 7


def test_what_is_open_for_writing_elsewhere(tmp_path):
    path = tmp_path / "locked.h5"
    with h5py.File(path, "w", locking=True), pytest.raises(OSError, match="locked"):
        forebay.open(path)
    with h5py.File(path, "w") as out:
        out.create_group("deep")
    # More than the classic model has, or a build that writes no netCDF-4 files.
    with pytest.raises(forebay.UnsupportedError, match="group deep|netcdf4"):
        forebay.open(path, "a")


def test_a_block_before_the_file(tmp_path):
    path = tmp_path / "block.h5"
    with h5py.File(path, "w", userblock_size=1024) as out:
        out["v"] = waves((5,))
    with forebay.open(path) as file:
        np.testing.assert_array_equal(file["v"][...], waves((5,)))


def test_hdf5_is_loaded_only_when_it_is_needed(path):
    code = "import sys, forebay; assert 'forebay._hdf5' not in sys.modules; forebay.open(sys.argv[1]).close()"
    code += "; assert 'forebay._hdf5' in sys.modules"
    subprocess.run([sys.executable, "-c", code, path], check=True)


def test_the_command_opens_them_too(path):
    done = subprocess.run([sys.executable, "-m", "forebay", "ls", path], capture_output=True, text=True, check=True)
    assert "v_f4" in done.stdout
