"""Components of variance, of results drawn with known ones; and each run predicted by the others."""

import math

import numpy as np
import pytest

from made_tables import accepted, summary
from stackwars.study.results import variance

TRUE = {"machine": 0.2, "run": 0.3, "round": 0.1, "process": 0.1}
WORKLOADS, ROUNDS = [f"w{n}" for n in range(80)], 6


def drawn(folder, machine: str, shifts: dict, random):
    """A run of all workloads, with these shifts of its machine; everything else is drawn."""
    rounds, ratios = [], []
    for workload in WORKLOADS:
        level = shifts[workload] + random.normal(0, TRUE["run"])
        speed = random.normal(0, TRUE["round"], ROUNDS)
        logs = {
            name: level + speed + random.normal(0, TRUE["process"], ROUNDS) for name in ("jax", "torch_xla")
        }
        names = {"quantity": "process", "workload": workload, "device": "cpu"}
        for name, own in logs.items():
            rounds += [
                # Beside the loops, blocks of runs accepted earlier do not count.
                names | {"subject": name, "round": number, "basis": basis, "subject_ms": math.exp(factor * log)}
                for number, log in enumerate(own)
                for basis, factor in (("interleaved", 1), ("all", 5))
            ]
        rounds += [row | {"compiler": "an-xla", "subject_ms": 9.0} for row in rounds[-2 * ROUNDS :]]
        ratio = logs["torch_xla"] - logs["jax"]
        error = ratio.std(ddof=1) / math.sqrt(ROUNDS)
        ratios.append(summary(workload, math.exp(ratio.mean()), error, rounds=ROUNDS))
    return accepted(folder, machine, rounds=rounds + ratios)


@pytest.fixture(scope="module")
def deviations(tmp_path_factory):
    random, folder = np.random.default_rng(3), tmp_path_factory.mktemp("runs")
    made = []
    for machine in ("a", "b", "c", "d"):
        shifts = {workload: random.normal(0, TRUE["machine"]) for workload in WORKLOADS}
        made += [drawn(folder / f"{machine}{n}", machine, shifts, random) for n in (1, 2)]
    table = variance.table(made)
    assert list(table.columns) == list(variance.COLUMNS)
    return table.set_index(["quantity", "device", "level"])["deviation"]


@pytest.mark.parametrize("level", TRUE)
def test_the_components_of_a_latency_are_found_again(deviations, level):
    assert deviations["latency", "cpu", level] == pytest.approx(TRUE[level], rel=0.15, abs=0.005)


def test_what_both_sides_have_in_common_is_not_in_a_ratio(deviations):
    assert deviations["ratio", "cpu", "round"] == pytest.approx(0.1 * math.sqrt(2), rel=0.1)
    assert deviations["ratio", "cpu", "run"] < 0.03 and deviations["ratio", "cpu", "machine"] < 0.03
    assert np.isnan(deviations["ratio", "cpu", "process"])


def test_one_run_says_nothing_above_its_rounds(tmp_path):
    one = drawn(tmp_path / "one", "a", dict.fromkeys(WORKLOADS, 0.0), np.random.default_rng(4))
    table = variance.table([one]).set_index(["quantity", "device", "level"])["deviation"]
    assert table["latency", "cpu", "round"] > 0
    assert table[["latency", "ratio"]].loc[:, "cpu", ["run", "machine"]].isna().all()
    assert table.loc[:, "cpu-1t"].isna().all()


def test_each_run_is_left_out_and_looked_for_where_its_kind_is_expected(tmp_path):
    names = [f"w{n}" for n in range(8)]
    every = []
    for place, (name, machine) in enumerate(zip("cdef", "aaaa", strict=True)):
        # Each run a few percent off the others, in another direction for every other workload.
        values = {one: math.exp(n + 0.03 * (place - 1) * (-1) ** n) for n, one in enumerate(names)}
        values |= {"w0": 100.0} if name == "e" else {}
        rows = [summary(one, value) for one, value in values.items()]
        # A ratio that only one other has is not counted, whatever it is.
        rows += [summary("rare", 2.0**place)] if place > 1 else []
        every.append(accepted(tmp_path / name, machine, rounds=rows))
    other = accepted(tmp_path / "g", "b", rounds=[summary("w1", math.e)])
    found = variance.held_out([*every, other])
    assert list(found.columns) == list(variance.HELD_OUT_COLUMNS)
    found = found.set_index("run")
    assert found["total"].to_dict() == {"c": 8, "d": 8, "e": 8, "f": 8, "g": 0}
    assert found["inside"]["e"] == 7
