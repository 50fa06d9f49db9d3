"""Ratios of several runs: which are pooled, what a pooled row says, and the model in worlds whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from made_tables import comparison
from stackwars.study.results import comparisons, families, pooling, schema
from stackwars.study.results.families import Prior
from stackwars.study.results.pooling import Model, RunTable, RunValue

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


NOTHING = Model(None, None)


def runs(*values: float, kinds: str = "", error: float = 1e-9, rounds: int = 3) -> list[RunValue]:
    """Runs with these values; kinds: a letter a run, each its own by default."""
    names = kinds or "abcdefgh"
    return [
        RunValue(kind, value, error**2, rounds, rounds - 1) for kind, value in zip(names, values, strict=False)
    ]


def ends(ratio):
    half = ratio.half_width()
    return ratio.log - half, ratio.log + half


def test_runs_of_one_kind_without_a_family_have_students_intervals():
    values = (0.1, 0.3, 0.2, 0.35)
    found = pooling.pool_runs(runs(*values, kinds="aaaa"), NOTHING)
    known = stats.ttest_1samp(values, 0)
    assert ends(found.mean) == pytest.approx(tuple(known.confidence_interval(0.95)))
    # One more run: Student's prediction interval.
    reach = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * math.sqrt(1 + 1 / 4)
    assert ends(found.next_run) == pytest.approx((np.mean(values) - reach, np.mean(values) + reach))


def test_the_mean_is_that_of_the_kinds_measured_and_the_next_run_is_of_any():
    values = (0.1, 0.3, 0.9, 0.7)
    found = pooling.pool_runs(runs(*values, kinds="aabb"), NOTHING)
    # Within each kind the runs stand 0.1 off their mean: 2 degrees of freedom.
    square = 4 * 0.1**2 / 2
    assert found.mean.log == pytest.approx(0.5)
    assert found.mean.error == pytest.approx(math.sqrt(square / 4)) and found.mean.freedom == pytest.approx(2)
    # A new kind varies as these: by the variance of their means less what runs add to it.
    kinds = np.var((0.2, 0.8), ddof=1) - square / 2
    assert found.next_run.error == pytest.approx(math.sqrt(1.5 * kinds + 1.25 * square))


def test_kinds_without_a_second_run_are_the_units():
    found = pooling.pool_runs(runs(0.1, 0.4, 0.2), NOTHING)
    known = stats.ttest_1samp((0.1, 0.4, 0.2), 0)
    assert ends(found.mean) == pytest.approx(tuple(known.confidence_interval(0.95)), rel=1e-4)


def test_kinds_count_equally_whatever_runs_they_have():
    found = pooling.pool_runs(runs(0.10, 0.30, 0.22, 0.18, 0.4, kinds="aaaab"), NOTHING)
    assert found.mean.log == pytest.approx(0.3)
    square = (0.1**2 + 0.1**2 + 0.02**2 + 0.02**2) / 3
    assert found.mean.error == pytest.approx(math.sqrt(square * (1 / 4 + 1) / 4))


def test_kinds_on_both_sides_are_seen():
    assert pooling.on_both_sides(runs(0.3, 0.2, -0.1, kinds="aab"))
    assert not pooling.on_both_sides(runs(0.3, -0.1, 0.1, kinds="aab")), "runs of one kind may differ"


def test_one_run_is_as_uncertain_as_its_family():
    (one,) = runs(0.5, error=0.1, rounds=4)
    assert pooling.pool_runs([one], NOTHING) is None
    # Runs of a kind vary by 3 times the variance of a round, which is 4 * 0.1^2.
    found = pooling.pool_runs([one], Model(Prior(3.0, 6.0), None))
    assert (found.mean.error, found.mean.freedom) == (pytest.approx(math.sqrt(0.12)), 6.0)
    assert found.next_run.error == pytest.approx(math.sqrt(0.24))
    # The next run is on any kind of machine; the mean of one kind is that of the kind.
    wide = pooling.pool_runs([one], Model(Prior(3.0, 6.0), Prior(1.0, 5.0)))
    assert wide.mean == found.mean and wide.next_run.error > 1
    # If no kind has two runs in the whole family, kinds and runs cannot be told apart.
    assert pooling.pool_runs([one], Model(None, Prior(1.0, 5.0))).mean.error == pytest.approx(1.0)


def test_a_run_varies_at_least_as_its_rounds():
    found = pooling.pool_runs(runs(0.2, 0.2, 0.2, kinds="aaa", error=0.1), NOTHING)
    assert found.mean.error == pytest.approx(0.1 / math.sqrt(3))


def world(random, kinds: str, members: int = 25, heterogeneity: float = 6.0):
    """Return the runs of a family, the true values that they estimate, and one more run of each.

    Kinds vary by 0.1, runs of a kind by 0.05, rounds by 0.1, each with a factor of the member's own. The true value is
    the mean of the kinds; where each has one run, and runs and kinds cannot be separated, that of all kinds.
    """
    family, truths, more = [], [], []
    scales = np.sqrt(heterogeneity / random.chisquare(heterogeneity, (members, 2)))
    for of_kinds, of_rounds in scales:
        mean = random.normal(0, 0.3)
        places = {kind: mean + of_kinds * random.normal(0, 0.1) for kind in kinds}

        def measure(place, scale=of_rounds):
            count = random.integers(3, 6)
            rounds = place + scale * (random.normal(0, 0.05) + random.normal(0, 0.1, count))
            return rounds.mean(), rounds.var(ddof=1), count

        family.append([(kind, *measure(places[kind])) for kind in kinds])
        is_one = len(places) == 1
        are_separable = len(places) < len(kinds)
        truths.append(np.mean(list(places.values())) if are_separable else mean)
        other = places[kinds[0]] if is_one else mean + of_kinds * random.normal(0, 0.1)
        more.append(measure(other)[0])
    return moderated(family), truths, more


def moderated(family):
    every = [one for member in family for one in member]
    prior = families.fit_prior([variance for _, _, variance, _ in every], [count - 1 for *_, count in every])
    result = []
    for member in family:
        result.append([])
        for kind, value, variance, count in member:
            known = families.shrink(variance, count - 1, prior)
            result[-1].append(RunValue(kind, value, known.variance / count, count, known.dof))
    return result


@pytest.mark.parametrize("kinds", ["aaaa", "aabb", "aaab", "aabc", "abcd"])
def test_pooled_and_predicted_intervals_hold_in_95_percent(kinds):
    """Of four runs on one to four kinds of machine, some of them the only run of their kind."""
    random, covered, predicted = np.random.default_rng(7), [], []
    for _ in range(60):
        family, truths, more = world(random, kinds)
        model = pooling.fit_model(family)
        for member, truth, new in zip(family, truths, more, strict=True):
            found = pooling.pool_runs(member, model)
            low, high = ends(found.mean)
            covered.append(low <= truth <= high)
            low, high = ends(found.next_run)
            predicted.append(low <= new <= high)
    assert 0.93 <= np.mean(covered) <= 0.985
    assert 0.93 <= np.mean(predicted) <= 0.985


def test_a_family_narrows_the_intervals_of_its_members():
    random = np.random.default_rng(8)
    family, _, _ = world(random, "aaaa", heterogeneity=50.0)
    model = pooling.fit_model(family)
    own, lent = (
        [pooling.pool_runs(member, one).mean.half_width() for member in family] for one in (NOTHING, model)
    )
    assert np.median(lent) < 0.8 * np.median(own)
