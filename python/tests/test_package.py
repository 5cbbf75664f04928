"""What is installed: the command, the annotations, and how long an import takes."""

import os
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import forebay

COMMAND = Path(sysconfig.get_path("scripts")) / "forebay"


def seconds(code):
    """Median of five new processes, as they measure it themselves."""
    text = f"import time, numpy; start = time.process_time(); {code}; print(time.process_time() - start)"
    runs = [subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)


def test_importing_takes_no_time_beyond_numpy():
    assert seconds("import forebay") < 0.15


def test_importing_loads_nothing_large():
    code = "import sys, forebay; print([m for m in ('xarray', 'dask', 'pandas', 'json', 'mpi4py') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", f"import numpy; {code}"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['json']")


def test_the_command_is_installed():
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert forebay.__version__ in done.stdout


def test_the_module_runs_the_command(tmp_path):
    done = subprocess.run([sys.executable, "-m", "forebay", "--version"], capture_output=True, text=True, check=True)
    assert forebay.__version__ in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "forebay", "info", tmp_path / "none"], capture_output=True, check=False
    )
    assert done.returncode != 0


def test_every_public_name_is_there_and_documented():
    for name in forebay.__all__:
        value = getattr(forebay, name)
        assert name in ("has_mpi", "has_hdf5") or value.__doc__
    assert set(forebay.__all__) <= set(dir(forebay))
    assert (Path(forebay.__file__).parent / "py.typed").exists()


def test_paths_need_not_be_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe.nc"
    with forebay.create(path) as out:
        out.create_variable("v", "f4")[...] = 1
    with forebay.open(path) as file:
        assert file["v"][()] == 1


def test_what_a_build_has_left_out_is_told(monkeypatch, tmp_path):
    with forebay.create(tmp_path / "a.nc") as file:
        pass
    with forebay.open(tmp_path / "a.nc") as file:
        monkeypatch.setattr(forebay._forebay, "wings", ())
        with pytest.raises(forebay.UnsupportedError, match="configure Forebay with groups in -DFOREBAY_WINGS"):
            file.find("T > 0")
        assert not forebay._open.is_bp(tmp_path)
