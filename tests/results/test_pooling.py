"""Which ratios of several runs are pooled, and what a pooled row says."""

import math

import numpy as np
import pytest

from made_tables import comparison
from stackwars.study.results import comparisons, pooling, schema
from stackwars.study.results.pooling import RunTable

NAMES = ("gemm", "ffn", "mha", "conv", "layernorm")


def run(name: str, machine: str, *rows: dict) -> RunTable:
    return RunTable(name, machine, schema.table("comparisons", list(rows)))


def pooled(*tables: RunTable):
    return pooling.pool(tables).set_index("workload")


def test_ratios_are_pooled_over_the_runs_that_have_each():
    older = run("1", "a", *map(comparison, NAMES[:4], (1.4, 0.93, 1.9, 1.02)))
    found = pooled(older, run("2", "a", *map(comparison, NAMES, (1.5, 0.9, 2.0, 1.0, 3.0))))
    assert list(found["runs"]) == [2, 2, 2, 2, 1] and set(found["machines"]) == {1}
    assert found["ratio"]["gemm"] == pytest.approx(math.sqrt(1.5 * 1.4))
    assert found["ratio"]["layernorm"] == pytest.approx(3.0)
    # One more run of a ratio that two have is predicted more closely than of one that one has.
    widths = np.log(found["predicted_high"] / found["predicted_low"])
    assert widths["layernorm"] > widths["gemm"]
    assert list(found["rounds"]) == [6, 6, 6, 6, 3]  # of all runs


def test_a_family_has_its_own_variance_between_runs_and_a_small_one_that_of_all():
    def rows(quantity, factor, names=NAMES[:4]):
        return [comparison(name, factor, quantity=quantity) for name in names]

    def errors(found):
        return found.set_index(["quantity", "workload"])["error"]

    quiet, loud = (
        [rows(name, ratio) for ratio in ratios]
        for name, ratios in (("steady", (1.4, 1.5)), ("first", (1.4, 2.8)))
    )
    alone = errors(pooling.pool([run(str(n), "a", *one) for n, one in enumerate(quiet)]))
    beside = [run(str(n), "a", *one, *other) for n, (one, other) in enumerate(zip(quiet, loud, strict=True))]
    assert errors(pooling.pool(beside))["steady"].tolist() == alone["steady"].tolist()
    # One replay, on each of two kinds of machine: its interval holds the variance between runs, and not that of kinds.
    more = [run("8", "a", *rows("replay", 1.5, ["mha"])), run("9", "b", *rows("replay", 3.0, ["mha"]))]
    replay = errors(pooling.pool([*beside, *more]))["replay"]["mha"]
    assert 0.01 / math.sqrt(2) < replay < math.log(3.0 / 1.5) / 2
    assert errors(pooling.pool(more))["replay"]["mha"] == pytest.approx(math.log(2) / 2, rel=0.01), (
        "nothing is repeated"
    )


def test_interleaved_ratios_are_not_pooled_with_others():
    def steady(ratio, interleaved):
        return comparison("gemm", ratio, interleaved=interleaved)

    ratios = ((1.2, True), (1.3, True), (3.0, False))
    found = pooled(*(run(str(n), "a", steady(*one)) for n, one in enumerate(ratios)))
    assert found["ratio"]["gemm"] == pytest.approx(math.sqrt(1.2 * 1.3))
    assert found["interleaved"]["gemm"] is True
    apart = pooled(*(run(str(n), "a", steady(ratio, False)) for n, ratio in enumerate((2.0, 3.0))))
    assert apart["ratio"]["gemm"] == pytest.approx(math.sqrt(6)) and apart["interleaved"]["gemm"] is False


def test_nothing_of_one_run_stands_beside_a_pooled_ratio():
    """Neither what its own rounds say nor words about it."""
    columns = {"detail": "1 of 3 rounds left out", "share": 0.7, "contended": False}
    rows = [comparison("gemm", ratio, **columns, interleaved=True) for ratio in (1.2, 1.3)]
    rows[1]["contended"] = True
    found = pooled(run("1", "a", rows[0]), run("2", "b", rows[1])).loc["gemm"]
    assert (found["detail"], found["run"]) == ("", "") and math.isnan(found["share"])
    assert found["contended"] is True


def test_what_cannot_be_pooled_is_of_the_newest_run_that_has_it():
    def bytes_of(ratio):
        return comparison("gemm", ratio, None, quantity="hbm")

    def of_one_round(ratio):
        return comparison("ffn", ratio, None, rounds=1)

    missing = {"error": None, "rounds": None, "verdict": "no data"}
    tables = [
        run("1", "a", bytes_of(1.1), of_one_round(2.0), comparison("mha", 4.0, rounds=6)),
        run("2", "b", bytes_of(1.2), of_one_round(3.0)),
        run("3", "b", *(comparison(name, 1.0, **missing) | {"ratio": None} for name in ("ffn", "mha"))),
    ]
    found = pooled(*tables)
    assert (found["ratio"]["gemm"], found["run"]["gemm"], found["runs"]["gemm"]) == (1.2, "2", 1)
    assert (found["ratio"]["ffn"], found["run"]["ffn"], found["rounds"]["ffn"]) == (3.0, "2", 1)
    # Of one run in no family: as that run has it, with its rounds.
    assert tuple(found.loc["mha", ["ratio", "error", "run", "rounds"]]) == (4.0, 0.01, "1", 6)


def test_kinds_of_machine_on_either_side_of_1_have_no_direction():
    def of(gemm, ffn):
        return [comparison("gemm", gemm), comparison("ffn", ffn)]

    tables = [run("1", "a", *of(2.0, 2.0)), run("2", "a", *of(2.02, 2.02)), run("3", "b", *of(0.8, 1.4))]
    found = comparisons.add_verdicts(pooling.pool(tables)).set_index("workload")
    assert list(found["opposite"]) == [True, False]
    assert (found["low"] > 1).all(), "both intervals exclude 1"
    assert list(found["verdict"]) == ["inconclusive", "slower"]
    assert list(found["detail"]) == ["kinds of machine differ in sign", ""]
