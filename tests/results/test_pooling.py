"""Ratios of several runs: which are pooled, what a pooled row says, and the model in worlds whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from made_tables import comparison
from stackwars.study.results import comparisons, pooling, schema
from stackwars.study.results.pooling import RunTable, RunValue

NAMES = ("gemm", "ffn", "mha", "conv", "layernorm")


def run(name: str, machine: str, *rows: dict) -> RunTable:
    return RunTable(name, machine, schema.table("comparisons", list(rows)))


def pooled(*tables: RunTable):
    return pooling.pool(tables).set_index("workload")


def test_what_holds_on_every_kind_of_machine_is_the_least():
    def of(*ratios):
        return [comparison(name, ratio) for name, ratio in zip(NAMES, ratios, strict=False)]

    tables = [
        *(run("1", "a", *of(2.0, 2.0, 2.0)), run("2", "a", *of(2.02, 2.02, 2.02))),
        *(run("3", "b", *of(0.8, 1.4, 1.0)), run("4", "b", *of(0.82, 1.42, 1.0))),
    ]
    table = comparisons.add_verdicts(pooling.pool(tables))
    assert (table["low"] < table["ratio"]).all() and set(table["verdict"]) == {"slower", "faster", "equivalent"}
    found = comparisons.over_kinds(table).set_index("workload")
    assert list(found["verdict"]) == ["opposite", "slower", "inconclusive"]
    assert list(found["machine"]) == ["b", "b", "b"], "nearest to 1"
    assert [len(kinds) for kinds in found[comparisons.EACH_KIND]] == [2, 2, 2]
    assert "slower on 1 of 2" in found["detail"]["gemm"] and found["detail"]["ffn"] == ""


def test_the_native_verdict_of_a_margin_is_that_of_every_kind_too():
    words = {"a": "equivalent", "b": "faster"}
    margin = {"quantity": "margin", "verdict": "the program"}
    rows = [
        comparison("gemm", 0.9, machine=kind, native_verdict=word, **margin) for kind, word in words.items()
    ]
    table = schema.table("comparisons", rows)
    assert list(comparisons.over_kinds(table)["native_verdict"]) == ["inconclusive"]
    alike = table.assign(native_verdict="faster")
    assert list(comparisons.over_kinds(alike)["native_verdict"]) == ["faster"]


def runs(*values: float, kinds: str = "", error: float = 1e-9, rounds: int = 3) -> list[RunValue]:
    """Runs with these values; kinds: a letter a run, each its own by default."""
    names = kinds or "abcdefgh"
    return [RunValue(kind, value, error**2, rounds) for kind, value in zip(names, values, strict=False)]


def ends(ratio):
    half = ratio.half_width()
    return ratio.log - half, ratio.log + half


def test_runs_of_one_kind_without_a_family_have_students_intervals():
    values = (0.1, 0.3, 0.2, 0.35)
    found = pooling.pool_runs(runs(*values, kinds="aaaa"), None)["a"]
    known = stats.ttest_1samp(values, 0)
    assert ends(found.mean) == pytest.approx(tuple(known.confidence_interval(0.95)))
    # One more run: Student's prediction interval.
    reach = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * math.sqrt(1 + 1 / 4)
    assert ends(found.next_run) == pytest.approx((np.mean(values) - reach, np.mean(values) + reach))


def world(random, kinds: str, members: int = 25, heterogeneity: float = 6.0):
    """Return the runs of a family, the true value of each kind of each member, and one more run of each kind.

    Kinds vary by 0.1, runs of a kind by 0.05, rounds by 0.1, with a factor of the member's own.
    """
    family, truths, more = [], [], []
    for scale in np.sqrt(heterogeneity / random.chisquare(heterogeneity, members)):
        places = {kind: random.normal(0, 0.3) + random.normal(0, 0.1) for kind in kinds}

        def measure(place, scale=scale):
            count = random.integers(3, 6)
            rounds = place + scale * (random.normal(0, 0.05) + random.normal(0, 0.1, count))
            return rounds.mean(), rounds.var(ddof=1) / count, count

        family.append([RunValue(kind, *measure(places[kind])) for kind in kinds])
        truths.append(places)
        more.append({kind: measure(place)[0] for kind, place in places.items()})
    return family, truths, more


@pytest.mark.parametrize("kinds", ["aaaa", "aabb", "aaab", "aabc"])
def test_intervals_and_predictions_of_each_kind_hold_in_95_percent(kinds):
    """With four runs on one to three kinds of machine, some of them the only run of their kind."""
    random, covered, predicted = np.random.default_rng(7), [], []
    for _ in range(60):
        family, truths, more = world(random, kinds)
        prior = pooling.fit_runs(family)
        for member, truth, new in zip(family, truths, more, strict=True):
            for kind, found in pooling.pool_runs(member, prior).items():
                low, high = ends(found.mean)
                covered.append(low <= truth[kind] <= high)
                low, high = ends(found.next_run)
                predicted.append(low <= new[kind] <= high)
    assert 0.93 <= np.mean(covered) <= 0.985
    assert 0.93 <= np.mean(predicted) <= 0.985
