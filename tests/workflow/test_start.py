"""What a run refuses before it plans anything."""

import contextlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError

from made_tables import cell
from measured import config, process, write_cell, write_results
from stackwars.core.launch import clean_environ
from stackwars.setup import device, environments, preflight
from stackwars.study.cells import Cell
from stackwars.study.results import runs, schema
from stackwars.study.workflow import job_files, start


@pytest.fixture
def grid(tmp_path, monkeypatch):
    """A grid with one result, in the folder that the test runs in."""
    monkeypatch.chdir(tmp_path)
    cell = Path("results", "smoke", "cpu", "jax", "gemm", "cell.json")
    cell.parent.mkdir(parents=True)
    cell.write_text("{}")
    root = "results/smoke"
    chosen = SimpleNamespace(minutes=0)
    return SimpleNamespace(root=root, out=root, measured=root, is_measured=True, config=chosen)


def test_a_run_is_refused_beside_another_one_on_damaged_results_and_without_tex(grid, monkeypatch):
    monkeypatch.setattr(start, "_held", [])
    monkeypatch.setattr(job_files, "write_planned", lambda: None)
    monkeypatch.setattr(environments, "ensure_all", lambda pins: None)
    missing = preflight.Missing("TeX and Graphviz: latexmk", ("latexmk",))
    monkeypatch.setattr(preflight, "check_tex", lambda typeset, draw: missing if typeset else None)
    planned = SimpleNamespace(needrun_jobs=lambda: [job("typeset", output="paper.pdf")])
    workflow = SimpleNamespace(touch=False, dag=planned, scheduler=SimpleNamespace(), local_exec=True)

    def refusal() -> str:
        with pytest.raises(WorkflowError) as refused:
            start.prepare(grid, workflow)
        while start._held:
            start._held.pop().close()
        return str(refused.value)

    other = start.take_lock()
    assert refusal() == start.TAKEN
    other.close()
    said = refusal()
    assert "TeX and Graphviz: latexmk" in said and "apt-get install" in said
    Path("results/smoke/cpu/jax/gemm/cell.json").write_text("{")
    assert "gemm/cell.json: expected a whole result" in refusal()


HOLD = """
import subprocess
from stackwars.study.workflow import start
held = start.take_lock()
print(subprocess.Popen(["sleep", "30"]).pid, flush=True)
input()
"""


def test_a_child_that_outlives_its_killed_run_does_not_hold_the_lock(grid):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD], env=clean_environ({}), text=True, **pipes) as run:
        child = run.stdout.readline().strip()
        assert start.take_lock() is None
        run.kill()
        run.wait()
        held = start.take_lock()
        subprocess.run(["kill", child], check=True)
    assert held is not None
    held.close()


def test_damaged_result_is_refused_unless_this_run_makes_it_again(grid):
    cell = Path("results/smoke/cpu/jax/gemm/cell.json")
    start.check_results(grid, set())
    cell.write_text("{")
    with pytest.raises(
        WorkflowError, match=rf"^{cell}: expected .* fix: move its folder to results/smoke/damaged"
    ):
        start.check_results(grid, set())
    for planned in (cell, cell.parent):
        start.check_results(grid, {planned})
    assert cell.read_text() == "{"


def test_link_out_of_the_results_is_refused(grid, tmp_path):
    folder = Path("results/smoke/cpu/jax/gemm").rename(tmp_path / "outside")
    Path("results/smoke/cpu/jax/gemm").symlink_to(folder)
    with pytest.raises(WorkflowError, match=r"jax/gemm: expected .* link to .*/outside"):
        start.check_results(grid, set())


def test_results_that_cannot_be_written_are_refused(grid, monkeypatch):
    def refuse(dir: str) -> None:
        if dir == "results/smoke":
            raise OSError(30, "Read-only file system", dir)
        return contextlib.nullcontext()

    monkeypatch.setattr(start.tempfile, "TemporaryFile", refuse)
    with pytest.raises(WorkflowError, match="a folder that can be written, got results/smoke: Read-only"):
        start.prepare(grid, SimpleNamespace(touch=False))
    assert start.prepare(grid, SimpleNamespace(touch=True)) is None, "--touch makes nothing"


def job(rule: str, *files: str, output: str = "", **wildcards: str) -> SimpleNamespace:
    named = {"rule": SimpleNamespace(name=rule), "wildcards": SimpleNamespace(**wildcards)}
    return SimpleNamespace(name=rule, input=files, output=[output], **named)


def test_what_jobs_run_in_is_built_before_the_first_of_them_but_for_devices(monkeypatch):
    built = []
    monkeypatch.setattr(environments, "ensure_all", built.extend)
    jobs = [
        job("cell", "src/x.py", "envs/torch_xla.txt", "envs/jax.txt"), job("lower", "envs/jax.txt"),
        job("ahead", "envs/xla-cuda.txt"), job("device", "envs/jax-cuda.txt"), job("paper", "envs/setup.sh"),
    ]  # fmt: skip
    start.build_environments(jobs)
    assert built == [Path("envs/jax.txt"), Path("envs/torch_xla.txt"), Path("envs/xla-cuda.txt")]


def test_an_environment_that_cannot_be_built_ends_the_run_before_it_measures(monkeypatch):
    def fail(pins):
        raise environments.BuildError("the index did not answer")

    monkeypatch.setattr(environments, "ensure_all", fail)
    with pytest.raises(WorkflowError, match="the index did not answer"):
        start.build_environments([job("cell", "envs/jax.txt")])


def test_a_cell_of_a_device_that_is_not_here_is_refused_before_an_environment_is_built(monkeypatch):
    monkeypatch.setattr(device, "NODES", {"cuda": ("/gone",), "tpu": ("/",)})
    here = [
        job("device", device="cuda"),
        job("tables"),
        job("cell", device="cpu-1t"),
        job("cell", device="tpu"),
    ]
    start.check_devices(here)
    path = "results/full/cuda/jax/gemm/cell.json"
    with pytest.raises(
        WorkflowError, match=rf"^{path}: expected .* cuda, got no driver: none of /gone exists; fix"
    ):
        start.check_devices([*here, job("cell", output=path, device="cuda")])


def test_a_damaged_accepted_run_is_named_and_refused(grid):
    folder = Path("results/reference/runs/2026-01-02T0304")
    for name in schema.TABLES:
        schema.write(schema.empty(name), folder / f"{name}.csv")
    (folder / "context.json").write_text('{"protocol": 0}')
    runs.write_manifest(folder)
    start.check_results(grid, set())
    (folder / "comparisons.csv").write_text("")
    with pytest.raises(WorkflowError, match=rf"^{folder}/.*; fix: git checkout {folder}$"):
        start.check_results(grid, set())


@pytest.mark.parametrize(("preset", "is_named"), [("full", True), ("smoke", False)])
def test_a_run_ends_with_its_faults_and_what_was_measured_beside_other_programs(
    tmp_path, capsys, preset, is_named
):
    results = write_results(tmp_path)
    write_cell(results, [process(Cell("jax", "gemm", "cpu"), others=0.54)])
    rows = [cell("jax", status="wrong", status_detail="96 of 128 elements"), cell("torch_xla")]
    schema.write(schema.table("cells", rows), results / "cells.csv")
    grid = SimpleNamespace(
        config=config(preset=preset), root=str(results), is_measured=True,
        result_paths=lambda *names: [str(results / f"{name}.csv") for name in names],
    )  # fmt: skip
    start.print_faults(grid, SimpleNamespace(touch=False, dag=SimpleNamespace(jobs=[])))
    output = " ".join(capsys.readouterr().err.split())
    assert "1 wrong" in output and "cells.csv" in output
    assert ("had up to 54 % of its cores" in output) == is_named
    start.print_faults(grid, SimpleNamespace(touch=True))
    compared = [SimpleNamespace(rule=SimpleNamespace(name="radar"))]
    start.print_faults(grid, SimpleNamespace(touch=False, dag=SimpleNamespace(jobs=compared)))
    assert capsys.readouterr().err == ""


def test_a_run_ends_with_the_claims_and_with_what_it_wrote(tmp_path, capsys):
    (tmp_path / "reproduction.txt").write_text(
        "Of 3 claims: 2 supported, 1 not decided.\n" + "long words " * 20
    )
    names = {"reproduction_text": "reproduction.txt", "comparisons": "comparisons.csv"}
    grid = SimpleNamespace(root="results/full", result_paths=lambda name: [str(tmp_path / names[name])])

    def said(*rules: str, touch: bool = False) -> str:
        jobs = [SimpleNamespace(name=rule) for rule in rules]
        start.print_summary(grid, SimpleNamespace(touch=touch, dag=SimpleNamespace(finished_jobs=jobs)))
        return capsys.readouterr().err

    lines = said("typeset", "report", "all").splitlines()
    assert lines[:2] == ["", "Of 3 claims: 2 supported, 1 not decided."] and max(map(len, lines)) <= 80
    last = [line for line in lines if line.startswith("wrote ")]
    assert [line.split()[1] for line in last] == ["paper.pdf", "report.html"]
    assert "wrote results/full/audits.json" in said("audit_report")
    assert said("cell") == said("typeset", touch=True) == ""
