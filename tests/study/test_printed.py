"""Whose programs are printed: the compared frameworks' in the paper, every one's in the report."""

from pathlib import Path

from measured import config
from stackwars.study import printed
from stackwars.study.config import load
from stackwars.study.programs import Program

BOTH = ["jax", "torch_xla"]
PAPER = load().paper.changed(listings=["layernorm", "newton"], graphs=["gemm"], forms=["gemm"])
WORKLOADS = ["gemm", "layernorm", "newton"]


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_programs_of_the_compared_frameworks_are_listed_and_drawn():
    chosen = config(paper=PAPER, workloads=WORKLOADS)
    listings = printed.listings(chosen)
    assert {workload: [cell.framework for cell in row] for workload, row in listings.items()} == {
        "layernorm": BOTH,
        "newton": BOTH,
    }
    assert list(printed.measured(chosen, listings)) == ["layernorm"], (
        "Newton-Schulz is of a study that this run does not measure"
    )
    assert printed.graphs(chosen) == {"gemm": [Program(name, "gemm") for name in BOTH]}


def test_nothing_is_listed_without_two_frameworks_to_compare():
    alone = {"jax": load().frameworks["jax"]}
    assert printed.listings(config(paper=PAPER, workloads=WORKLOADS, frameworks=alone)) == {}
    cells_alone = [row.changed(compare=["cells"]) for row in config().comparisons]
    assert printed.listings(config(paper=PAPER, workloads=WORKLOADS, comparisons=cells_alone)) == {}


def test_forms_are_measured_with_the_study_of_their_frameworks():
    every = {"paper": PAPER, "workloads": WORKLOADS, "frameworks": load().frameworks}
    tables, stacks = (config(**every, measure=[name]) for name in ("tables", "stacks"))
    forms = printed.forms(stacks)
    assert printed.forms(tables) == forms == printed.measured(stacks, forms)
    assert [cell.framework for cell in forms["gemm"]] == ["jax", "torch_inductor"]
    assert printed.measured(tables, forms) == {}


def test_the_report_shows_what_a_run_emits_for_its_cells_and_its_compilers():
    found = printed.emitted(config(), Path("here"), Path("accepted"))
    assert found["gemm"]["jax"] == [
        Path("here/cpu/jax/gemm/stablehlo.mlir.gz"),
        Path("here/programs/jax/gemm/base/program.mlir.gz"),
    ]
    assert list(found["gemm"]) == BOTH


def test_the_reference_also_has_the_programs_of_its_runs_the_newest_first(tmp_path):
    write(tmp_path, "cpu/jax/gemm/stablehlo.mlir.gz")
    for run in ("2026-01", "2026-02"):
        write(
            tmp_path,
            f"runs/{run}/cpu/torch_xla/gemm/stablehlo.mlir.gz",
            f"runs/{run}/cpu/jax/ffn/stablehlo.mlir.gz",
        )
    found = printed.emitted(config(source="reference"), tmp_path, tmp_path / "runs")
    assert list(found) == ["gemm"], "of FFN one program alone"
    runs = [path.relative_to(tmp_path / "runs").parts[0] for path in found["gemm"]["torch_xla"]]
    assert runs == ["2026-02", "2026-01"]
    assert found["gemm"]["jax"] == [tmp_path / "cpu/jax/gemm/stablehlo.mlir.gz"]
