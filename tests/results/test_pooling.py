"""Ratios over several runs, against worlds whose spread is known."""

import math

import numpy as np
import pytest
from scipy import stats

from made_tables import comparison
from stackwars.results import pooling, schema
from stackwars.results.pooling import Family, RunRatio, RunTable, Units


def units(*values: float, error: float = 0.01) -> Units:
    """Units of runs with these ratios, each on a machine of its own."""
    return pooling.units([RunRatio(f"m{n}", math.log(v), error) for n, v in enumerate(values)])


def of_logs(logs, error: float = 0.0) -> Units:
    return units(*np.exp(logs), error=error)


def test_runs_of_one_kind_of_machine_are_one_unit_beside_another_kind():
    found = [RunRatio("a", 0.1, 0.01), RunRatio("a", 0.3, 0.01), RunRatio("b", 0.6, 0.03)]
    both = pooling.units(found)
    assert (both.logs, both.runs, both.machines) == (pytest.approx([0.2, 0.6]), 3, 2)
    assert both.within == pytest.approx((0.01**2 * 2 + 0.03**2) / 3)
    alone = pooling.units(found[:2])
    assert (alone.logs, alone.machines) == (pytest.approx([0.1, 0.3]), 1)


def test_without_a_family_it_is_student_s_t_over_the_units():
    values = [1.5, 1.7, 1.6]
    found = pooling.combine(units(*values), None)
    known = stats.ttest_1samp(np.log(values), 0)
    ends = tuple(np.exp(known.confidence_interval(0.95)))
    assert (found["low"], found["high"]) == pytest.approx(ends)
    # t(2) s sqrt(1 + 1/3)
    reach = stats.t.ppf(0.975, 2) * np.std(np.log(values), ddof=1) * math.sqrt(4 / 3)
    mean = np.log(values).mean()
    ends = (found["predicted_low"], found["predicted_high"])
    assert ends == pytest.approx((math.exp(mean - reach), math.exp(mean + reach)))


def test_a_family_lends_what_a_ratio_lacks():
    prior = Family(variance=0.01, dof=4.0)
    found = pooling.combine(units(2.0, 2.0001, 2.0002), prior)
    assert found["spread"] == pytest.approx(math.sqrt(4 * 0.01 / 6), rel=1e-3)
    assert found["dof"] == 6.0
    assert found["predicted_high"] / found["predicted_low"] > 1.3
    # A ratio of a single run has the family's variance alone.
    one = pooling.combine(units(2.0), prior)
    assert (one["spread"], one["dof"]) == (pytest.approx(0.1), 4.0)
    assert pooling.combine(units(2.0), None) is None


def test_a_variance_is_never_under_that_within_a_run():
    assert pooling.combine(units(1.0, 1.001, 1.002, error=0.2), None)["spread"] == pytest.approx(0.2)


def test_too_few_ratios_are_no_family():
    assert pooling.family([units(1.0, 1.1), units(2.0, 2.2), units(3.0)]) is None


def test_the_prior_of_a_family_is_found_again():
    """Variances drawn as Smyth's model has them: s0^2 d0/chi2(d0) x chi2(d)/d."""
    random = np.random.default_rng(6)
    spreads = np.sqrt(0.01 * 6 / random.chisquare(6, 2000))
    prior = pooling.family([of_logs(random.normal(0, spread, 3)) for spread in spreads])
    assert prior.variance == pytest.approx(0.01, rel=0.2)
    assert prior.dof == pytest.approx(6, rel=0.3)


def test_equal_variances_pool():
    random = np.random.default_rng(6)
    prior = pooling.family([of_logs(random.normal(0, 0.1, 3)) for _ in range(300)])
    assert prior.variance == pytest.approx(0.01, rel=0.15)
    assert prior.dof > 25


@pytest.mark.parametrize("kinds", [2, 3, 4])
def test_intervals_hold_the_true_ratio_and_prediction_intervals_one_more_run(kinds):
    """95 % of them, in families of a dozen ratios whose spread between kinds of machine varies."""
    random = np.random.default_rng(7)
    true, predicted = [], []
    for _ in range(150):
        spreads = np.sqrt(0.005 * 5 / random.chisquare(5, (12, 1)))
        truth = random.normal(0, 0.5, 12)
        values = truth[:, None] + random.normal(0, spreads, (12, kinds + 1))
        seen = values + random.normal(0, 0.01, values.shape)
        members = [of_logs(row[:-1], error=0.01) for row in seen]
        prior = pooling.family(members)
        for one, log, new in zip(members, truth, seen[:, -1], strict=True):
            found = pooling.combine(one, prior)
            true.append(found["low"] <= math.exp(log) <= found["high"])
            predicted.append(found["predicted_low"] <= math.exp(new) <= found["predicted_high"])
    assert 0.92 < np.mean(true) < 0.985
    assert 0.92 < np.mean(predicted) < 0.985


def run(name: str, machine: str, *rows: dict) -> RunTable:
    return RunTable(name, machine, schema.table("comparisons", list(rows)))


NAMES = ("gemm", "ffn", "mha", "conv", "layernorm")


def test_ratios_are_pooled_over_the_runs_that_have_each():
    older = run("1", "a", *map(comparison, NAMES[:4], (1.4, 0.93, 1.9, 1.02)))
    older.comparisons["rounds"] = 6.0
    newer = run("2", "b", *map(comparison, NAMES, (1.5, 0.9, 2.0, 1.0, 3.0)))
    found = pooling.pool([older, newer]).set_index("workload")
    assert list(found["runs"]) == list(found["machines"]) == [2, 2, 2, 2, 1]
    assert found["ratio"]["gemm"] == pytest.approx(math.sqrt(1.5 * 1.4))
    assert found["ratio"]["layernorm"] == pytest.approx(3.0)
    assert ((found["low"] < found["ratio"]) & (found["ratio"] < found["high"])).all()
    # One more run of a ratio that two have is predicted more closely than of one that one has.
    widths = np.log(found["predicted_high"] / found["predicted_low"])
    assert widths["layernorm"] > widths["gemm"]
    assert set(found["run"]) == {""}
    assert list(found["rounds"]) == [6, 6, 6, 6, 3]  # of the run with most


def test_ratios_of_two_quantities_devices_compilers_or_variants_are_no_family():
    def rows(factor):
        quantities = ("steady", "first", "replay", "form")
        return [comparison("gemm", factor, quantity=quantity) for quantity in quantities]

    found = pooling.pool([run("1", "a", *rows(1.4)), run("2", "b", *rows(1.5))])
    assert set(found["dof"]) == {1.0}
    four = [[comparison(name, factor) for name in NAMES[:4]] for factor in (1.4, 1.5)]
    lent = pooling.pool([run("1", "a", *four[0]), run("2", "b", *four[1])])
    assert (lent["dof"] > 1).all()


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
    found = pooling.pool(tables).set_index("workload")
    assert (found["ratio"]["gemm"], found["run"]["gemm"], found["runs"]["gemm"]) == (1.2, "2", 1)
    assert (found["ratio"]["ffn"], found["run"]["ffn"], found["rounds"]["ffn"]) == (3.0, "2", 1)
    # Of one run in no family: as that run has it, with its rounds.
    assert tuple(found.loc["mha", ["ratio", "error", "run", "rounds"]]) == (4.0, 0.01, "1", 6)
