"""What a run refuses before it plans anything."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from stackwars.workflow import runlock, start


@pytest.fixture
def grid(tmp_path, monkeypatch):
    """A grid with one result, in the folder that the test runs in."""
    monkeypatch.chdir(tmp_path)
    cell = Path("results", "smoke", "cpu", "jax", "gemm", "cell.json")
    cell.parent.mkdir(parents=True)
    cell.write_text("{}")
    root = "results/smoke"
    return SimpleNamespace(root=root, out=root, measured=root, is_measured=True)


def test_whole_results_are_looked_over_in_silence(grid):
    start.look_over(grid)
    assert Path("results/smoke/cpu/jax/gemm/cell.json").exists()


def test_link_out_of_the_results_is_refused(grid, tmp_path):
    folder = Path("results/smoke/cpu/jax/gemm").rename(tmp_path / "outside")
    Path("results/smoke/cpu/jax/gemm").symlink_to(folder)
    with pytest.raises(WorkflowError, match=r"jax/gemm: expected a file or .* link to .*/outside"):
        start.look_over(grid)
    assert (folder / "cell.json").exists()


def test_results_may_be_a_link_themselves(grid, tmp_path):
    Path("results").rename(tmp_path / "elsewhere")
    Path("results").symlink_to(tmp_path / "elsewhere")
    start.look_over(grid)


def test_results_that_cannot_be_written_are_refused(grid, monkeypatch):
    def refuse() -> None:
        raise OSError(30, "Read-only file system", "results/.run.lock")

    monkeypatch.setattr(runlock, "take", refuse)
    with pytest.raises(WorkflowError, match="results: expected a folder that can be written; came"):
        start.look_over(grid)
