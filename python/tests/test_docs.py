"""The tutorials, as pages and as notebooks, do what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "notebook.py"
PAGE, NOTEBOOK = ROOT / "docs" / "tutorial.md", ROOT / "docs" / "tutorial.ipynb"
GRADIENT, CHECKPOINTS = ROOT / "docs" / "checkpoints_tutorial.md", ROOT / "docs" / "checkpoints.ipynb"


def script(*arguments, folder=None):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(SCRIPT), *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg", "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("page", [PAGE, NOTEBOOK], ids=["page", "notebook"])
def test_the_tutorial_runs(tmp_path, page):
    done = script("--run", page, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shuffle,zstd:3" in done.stdout
    for name in ("temperature.png", "T.png", "jet.png", "plain.nc", "run.json"):
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize("page", [GRADIENT, CHECKPOINTS], ids=["page", "notebook"])
def test_the_tutorial_of_gradients_runs(tmp_path, page):
    pytest.importorskip("checkpoint_schedules")
    done = script("--run", page, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "836 steps run besides the 300" in done.stdout
    assert list(tmp_path.iterdir()) == []  # the stores' files are gone


@pytest.mark.parametrize(("page", "notebook"), [(PAGE, NOTEBOOK), (GRADIENT, CHECKPOINTS)])
def test_the_notebook_is_that_of_the_page(page, notebook):
    done = script("--check", page, notebook)
    assert done.returncode == 0, done.stdout


def test_a_cell_that_fails_fails_the_run(tmp_path):
    page = tmp_path / "page.md"
    for cell in ("```python\nassert False\n```\n", "```sh\nfalse\n```\n"):
        page.write_text(cell)
        assert script("--run", page, folder=tmp_path).returncode != 0
