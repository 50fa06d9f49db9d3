"""A study in few minutes, then in more, then in few: no finished round is measured twice, and none is dropped."""

import json

import pytest

import study

COSTS = """rule,device,name,workload,first_s,round_s,machine
paper,,,,20,,a slow one
cell,cpu,theirs,gemm,20,10,a slow one
cell,cpu,theirs,layernorm,20,10,a slow one
"""


def began(made: study.Study) -> dict[str, list[float]]:
    """Return when the processes of each cell of `theirs` started."""
    paths = made.folder.glob("results/full/cpu/theirs/*/cell.json")
    cells = {path.parent.name: json.loads(path.read_text()) for path in paths}
    return {name: [process["started_s"] for process in cell["processes"]] for name, cell in cells.items()}


@pytest.mark.slow
@pytest.mark.env
def test_more_minutes_add_rounds_and_cells_to_those_that_are_there(tmp_path, jax_python):
    made = study.make(tmp_path, rounds=3)
    (tmp_path / "config" / "costs.csv").write_text(COSTS)
    few = made.snakemake(study.CELLS, "--config", "minutes=1")
    assert few.returncode == 0, few.stdout[-5000:]
    text = " ".join(few.stdout.split())
    assert "Limited to 1 min, this run has 2 rounds of 2 of 4 cells" in text
    assert "about 50 s on a slow one" in text
    [(workload, first)] = began(made).items()
    assert len(first) == 2
    left_out = made.frame().query("workload != @workload")
    assert set(left_out["status"]) == {"not run"} and set(left_out["rounds"]) == {0}

    made.run(study.CELLS)
    whole = began(made)
    assert whole[workload][:2] == first
    assert {len(processes) for processes in whole.values()} == {3} and len(whole) == 2
    assert set(made.frame()["rounds"]) == {3} and made.is_measured().all()

    made.run(study.CELLS, "--config", "minutes=1")
    assert began(made) == whole
    assert set(made.frame().query("workload == @workload")["rounds"]) == {3}
