"""Components of variance, of results drawn with known ones."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from stackwars.results import processes, ratios, variance
from stackwars.results.runs import Run

TRUE = {"machine": 0.2, "run": 0.2, "round": 0.1, "process": 0.03, "block": 0.02}
WORKLOADS, ROUNDS = [f"w{n}" for n in range(40)], 6


def drawn(folder, machine: str, shifts: dict, random) -> Run:
    """A run of all workloads, with these shifts of its machine; everything else is drawn."""
    folder.mkdir()
    rows, found = [], []
    for workload in WORKLOADS:
        level = shifts[workload] + random.normal(0, TRUE["run"])
        speed = random.normal(0, TRUE["round"], ROUNDS)
        times = {}
        for framework in ("jax", "torch_xla"):
            own = random.normal(0, TRUE["process"], ROUNDS)
            times[framework] = np.exp(level + speed + own)
            for r, ms in enumerate(times[framework]):
                head = {"workload": workload, "framework": framework, "device": "cpu"}
                rows.append(
                    head | {"repetition": r, "value_ms": ms, "block_deviation": TRUE["block"]}
                )
        logs = np.log(times["torch_xla"] / times["jax"])
        error = logs.std(ddof=1) / math.sqrt(ROUNDS)
        head = {"workload": workload, "framework": "torch_xla", "device": "cpu"}
        head |= {"steady_ratio": math.exp(logs.mean()), "steady_error": error}
        found.append(head | {"steady_rounds": ROUNDS})
    pd.DataFrame(rows, columns=list(processes.COLUMNS)).to_csv(folder / "processes.csv")
    pd.DataFrame(found, columns=list(ratios.COLUMNS)).to_csv(folder / "ratios.csv")
    return Run(folder.name, folder, machine)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random, folder = np.random.default_rng(3), tmp_path_factory.mktemp("runs")
    made = []
    for machine in ("a", "b", "c", "d"):
        shifts = {workload: random.normal(0, TRUE["machine"]) for workload in WORKLOADS}
        made += [drawn(folder / f"{machine}{n}", machine, shifts, random) for n in (1, 2)]
    return variance.build(made).set_index(["quantity", "device", "level"]).deviation


@pytest.mark.parametrize("level", TRUE)
def test_the_components_of_a_latency_are_found_again(table, level):
    assert table["latency", "cpu", level] == pytest.approx(TRUE[level], rel=0.15, abs=0.005)


def test_what_both_sides_have_in_common_is_not_in_a_ratio(table):
    assert table["ratio", "cpu", "round"] == pytest.approx(0.03 * math.sqrt(2), rel=0.1)
    assert table["ratio", "cpu", "machine"] < 0.01
    assert np.isnan(table["ratio", "cpu", "process"])


def test_one_run_says_nothing_above_its_rounds(tmp_path):
    shifts = dict.fromkeys(WORKLOADS, 0.0)
    one = drawn(tmp_path / "one", "a", shifts, np.random.default_rng(4))
    table = variance.build([one]).set_index(["quantity", "device", "level"]).deviation
    assert table["latency", "cpu", "round"] > 0
    assert table[["latency"]].loc[:, "cpu", ["run", "machine"]].isna().all()
    assert table.loc[:, "cpu-1t"].isna().all()
