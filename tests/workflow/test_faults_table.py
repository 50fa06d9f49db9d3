"""The table of wrong and crashed programs that a run ends with."""

import json
from types import SimpleNamespace

import pytest

from made_tables import OLD, check, outcome, values_of
from measured import config, process, write_cell, write_results
from stackwars.study.cells import Cell
from stackwars.workflow import faults, start
from stackwars.workflow.faults import Fault

DETAIL = "96 of 128 elements wrong (the last 12 of axis 0), largest error 1.0e+00, by NumPy in float64"
PROGRAMS = {
    "jax": outcome("wrong", DETAIL),
    "torch_xla": outcome(),
    "torchax": outcome("crash", "SIGSEGV in the first call;\nlast line: x"),
    "torch_tpu": outcome("unsupported", "torch_tpu does not lower it: StopIteration"),
    "tensorflow_xla": outcome("timeout", "no end after 60 s in the first call"),
}


def write_check(folder, programs: dict, variant: str = "base") -> None:
    path = folder / "checks" / OLD / "gemm" / variant / "check.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(check(programs, variant=variant)))


@pytest.fixture
def results(tmp_path):
    folder = write_results(tmp_path)
    for framework in ("jax", "torch_xla"):
        write_cell(folder, [process(Cell(framework, "gemm", "cpu"))])
    return folder


def test_nothing_is_printed_without_a_fault(results):
    write_check(results, {"jax": outcome(), "torch_tpu": PROGRAMS["torch_tpu"]})
    assert faults.collect(config(), results) == []
    assert faults.table([], "values.csv") == ""


def test_every_faulty_program_has_a_line_and_healthy_ones_none(results):
    write_check(results, PROGRAMS)
    write_check(results, {"jax": PROGRAMS["jax"]}, "odd1")
    found = faults.collect(config(), results)
    assert [fault[:4] for fault in found] == [
        ("jax", OLD, "gemm", "wrong"), ("torchax", OLD, "gemm", "crash"), ("tensorflow_xla", OLD, "gemm", "timeout"),
    ]  # fmt: skip
    assert found[0].detail == DETAIL and found[1].detail == "SIGSEGV in the first call; last line: x"


def test_cells_are_of_their_own_compiler(results):
    path = results / "cpu" / "jax" / "gemm" / "cell.json"
    wrong = {"status": "wrong", "status_detail": DETAIL, "values": values_of(wrong=96)}
    path.write_text(json.dumps(json.loads(path.read_text()) | wrong))
    outside = {"status": ("unsupported", "ran outside the compiler: aten::linalg_solve")}
    write_cell(results, [process(Cell("jax", "ffn", "cpu"), status=("timeout", "over the time limit"))])
    write_cell(results, [process(Cell("torch_xla", "ffn", "cpu"), **outside)])
    found = faults.collect(config(), results)
    assert [fault[:4] for fault in found] == [
        ("jax", "its own", "gemm", "wrong"), ("torch_xla", "its own", "ffn", "outside"),
    ]  # fmt: skip


def test_the_table_fits_80_columns_and_says_how_many_more_there_are():
    every = [
        Fault("torch_inductor_frozen", "jaxlib-0.10.2-no-ynn", f"mlp_postnorm_{n}", "wrong", DETAIL)
        for n in range(23)
    ]
    lines = faults.table(every, "results/full/values.csv").splitlines()
    assert len(lines) == 1 + 20 + 1 and max(map(len, lines)) <= 80
    assert lines[0].split() == ["program", "compiler", "workload", "outcome", "detail"]
    assert lines[1] == "torch_tpu_u..  jaxlib-0.10.2-no-ynn  mlp_postno..  wrong    96 of 128 elements.."
    assert lines[-1] == "and 3 more: results/full/values.csv"
    short = faults.table([Fault("jax", OLD, "gemm", "crash", "SIGSEGV")], "").splitlines()
    assert short[1] == f"jax      {OLD}  gemm      crash    SIGSEGV"


def test_a_run_prints_the_table_and_one_of_the_reference_does_not(results, capsys):
    write_check(results, PROGRAMS)
    grid = SimpleNamespace(
        config=config(), root=str(results), is_measured=True, result_paths=lambda name: [name]
    )
    start.print_faults(grid, SimpleNamespace(touch=False, dag=SimpleNamespace(jobs=[])))
    assert "SIGSEGV in the first call" in capsys.readouterr().err
    start.print_faults(grid, SimpleNamespace(touch=True))
    explained = [SimpleNamespace(rule=SimpleNamespace(name=name)) for name in ("explain",)]
    start.print_faults(grid, SimpleNamespace(touch=False, dag=SimpleNamespace(jobs=explained)))
    start.print_faults(
        SimpleNamespace(**vars(grid) | {"is_measured": False}),
        SimpleNamespace(touch=False, dag=SimpleNamespace(jobs=[])),
    )
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("preset", "is_named"), [("full", True), ("smoke", False)])
def test_a_run_names_what_it_measured_beside_other_programs_where_it_runs_alone(
    results, capsys, preset, is_named
):
    write_cell(results, [process(Cell("jax", "gemm", "cpu"), others=0.54)])
    grid = SimpleNamespace(
        config={**config(), "preset": preset}, root=str(results), is_measured=True,
        result_paths=lambda name: [name],
    )  # fmt: skip
    start.print_faults(grid, SimpleNamespace(touch=False, dag=SimpleNamespace(jobs=[])))
    said = capsys.readouterr().err
    assert ("had up to 54 % of its cores" in " ".join(said.split())) == is_named


def test_a_run_that_failed_before_it_knew_its_devices_has_its_table_too(results):
    (results / "devices.json").unlink()
    write_check(results, PROGRAMS)
    assert len(faults.collect(config(), results)) == 3
