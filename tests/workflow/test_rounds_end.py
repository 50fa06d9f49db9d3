"""Rounds as the workflow runs them: whole, one after the other, and no more than are needed."""

from __future__ import annotations

import json
import re

import pytest

import study


def ran(output: str) -> list[tuple[str, int, str]]:
    """(workload, round from 1, framework) of every process that was run, in that order."""
    begun = re.findall(r"output: results/full/cpu/(\w+)/(\w+)/process-(\d+)", output)
    return [(workload, int(number) + 1, framework) for framework, workload, number in begun]


@pytest.mark.slow
@pytest.mark.env
def test_rounds_run_whole_and_end_once_the_time_is_spent(tmp_path, jax_python):
    made = study.make(tmp_path, rounds_max=3, round_budget_s=0.01)
    done = made.snakemake(study.CELLS)
    assert done.returncode == 0, done.stdout[-5000:]
    # Two workloads of two frameworks: two rounds are run, the others find out that they need not be.
    assert study.jobs(done.stdout)["process"] == 12
    order = [place for place in ran(done.stdout) if place[1] < 3]
    rounds = [("gemm", 1), ("gemm", 2), ("layernorm", 1), ("layernorm", 2)]
    assert [place[:2] for place in order] == [place for place in rounds for _ in range(2)]
    for place in rounds:
        assert {who for *where, who in order if tuple(where) == place} == {"ours", "theirs"}
    frame = made.frame()
    assert set(frame["rounds"]) == {2}
    assert set(frame["stop_reason"]) == {"budget"}
    cell = json.loads((made.cell("ours", "gemm") / "cell.json").read_text())
    assert (cell["stopped"], len(cell["processes"])) == ("budget", 2)
