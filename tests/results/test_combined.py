"""Ratios over several runs, against worlds whose spread is known."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from stackwars.results import combined, held_out, ratios, split
from stackwars.results.combined import Family, RunRatio
from stackwars.results.runs import Run


def logs(*values, machine=None, error=0.01) -> combined.Units:
    """Units of runs with these ratios, each on a machine of its own unless one is named."""
    found = [RunRatio(machine or f"m{n}", math.log(v), error) for n, v in enumerate(values)]
    return combined.units(found)


def test_runs_of_one_kind_of_machine_are_one_unit_beside_another_kind():
    found = [RunRatio("a", 0.1, 0.01), RunRatio("a", 0.3, 0.01), RunRatio("b", 0.6, 0.03)]
    both = combined.units(found)
    assert (both.logs, both.runs, both.machines) == (pytest.approx([0.2, 0.6]), 3, 2)
    assert both.within == pytest.approx((0.01**2 * 2 + 0.03**2) / 3)
    alone = combined.units(found[:2])
    assert (alone.logs, alone.machines) == (pytest.approx([0.1, 0.3]), 1)


def test_leads_of_several_runs_point_in_one_direction(tmp_path):
    """Of two runs that find a native ratio on either side of 1, both leads are of the ratio of all."""
    key = {"workload": "conv", "device": "cpu", "framework": "torch_xla", "baseline": "jax"}
    found = []
    for name, native, lead in (("a", 1.05, 1.04**2 / 1.05), ("b", 0.99, 0.99 / 1.04**2)):
        (tmp_path / name).mkdir()
        row = {**key, "compiler": "an-xla", "native_ratio": native, "lead_ratio": lead}
        table = pd.DataFrame([row | {"lead_error": 0.01}], columns=list(split.COLUMNS))
        table.to_csv(tmp_path / name / "split.csv", index=False)
        found.append(Run(name, tmp_path / name, "m"))
    steady = pd.DataFrame([{**key, "steady_ratio": 1.02}], columns=list(ratios.COLUMNS))
    made = split.combined(table, found, steady)
    assert made["lead_ratio"][0] == pytest.approx(1.04**2 / math.sqrt(1.05 * 0.99))


def test_without_a_family_it_is_student_s_t_over_the_units():
    values = [1.5, 1.7, 1.6]
    found = combined.combine(logs(*values), None)
    known = stats.ttest_1samp(np.log(values), 0)
    assert found.ratio.estimate()[1:] == pytest.approx(
        tuple(np.exp(known.confidence_interval(0.95)))
    )
    # t(2) s sqrt(1 + 1/3)
    reach = stats.t.ppf(0.975, 2) * np.std(np.log(values), ddof=1) * math.sqrt(4 / 3)
    mean = np.log(values).mean()
    ends = (found.predicted_low, found.predicted_high)
    assert ends == pytest.approx((math.exp(mean - reach), math.exp(mean + reach)))


def test_a_family_lends_what_a_ratio_lacks():
    lucky = logs(2.0, 2.0001, 2.0002)
    prior = Family(variance=0.01, freedom=4.0)
    found = combined.combine(lucky, prior)
    assert found.spread == pytest.approx(math.sqrt(4 * 0.01 / 6), rel=1e-3)
    assert found.ratio.freedom == 6.0
    assert found.predicted_high / found.predicted_low > 1.3
    # A ratio of a single run has the family's variance alone.
    one = combined.combine(logs(2.0), prior)
    assert (one.spread, one.ratio.freedom) == (pytest.approx(0.1), 4.0)
    assert combined.combine(logs(2.0), None) is None


def test_rounds_that_know_little_count():
    """A variance is never under that within a run."""
    found = combined.combine(logs(1.0, 1.001, 1.002, error=0.2), None)
    assert found.spread == pytest.approx(0.2)


def test_too_few_ratios_are_no_family():
    assert combined.family([logs(1.0, 1.1), logs(2.0, 2.2), logs(3.0)]) is None


def test_the_prior_of_a_family_is_found_again():
    """Variances drawn as Smyth's model has them: s0^2 d0/chi2(d0) x chi2(d)/d."""
    random = np.random.default_rng(6)
    true = 0.01 * 6 / random.chisquare(6, 2000)
    members = [
        combined.units(
            [RunRatio(f"m{n}", value, 0.0) for n, value in enumerate(random.normal(0, s, 3))]
        )
        for s in np.sqrt(true)
    ]
    prior = combined.family(members)
    assert prior.variance == pytest.approx(0.01, rel=0.2)
    assert prior.freedom == pytest.approx(6, rel=0.3)


def test_equal_variances_pool():
    random = np.random.default_rng(6)
    members = [
        combined.units([RunRatio(f"m{n}", v, 0.0) for n, v in enumerate(random.normal(0, 0.1, 3))])
        for _ in range(300)
    ]
    prior = combined.family(members)
    assert prior.variance == pytest.approx(0.01, rel=0.15)
    assert prior.freedom > 25


@pytest.mark.parametrize("kinds", [2, 3])
def test_a_run_that_was_not_among_them_falls_inside(kinds):
    """95 % prediction intervals hold 95 % of further runs, in families of a dozen ratios."""
    random = np.random.default_rng(7)
    inside = []
    for _ in range(150):
        spreads = np.sqrt(0.005 * 5 / random.chisquare(5, 12))
        values = random.normal(0, spreads[:, None], (12, kinds + 1))
        seen = values + random.normal(0, 0.01, values.shape)
        members = [
            combined.units([RunRatio(f"m{n}", v, 0.01) for n, v in enumerate(row[:-1])])
            for row in seen
        ]
        prior = combined.family(members)
        for one, new in zip(members, seen[:, -1], strict=True):
            found = combined.combine(one, prior)
            inside.append(found.predicted_low <= math.exp(new) <= found.predicted_high)
    assert 0.92 < np.mean(inside) < 0.985


def run(folder, machine: str, values: dict[str, float]) -> Run:
    """A run whose ratios.csv has these steady ratios."""
    folder.mkdir()
    rows = []
    for workload, value in values.items():
        head = {"workload": workload, "device": "cpu", "framework": "torch_xla", "baseline": "jax"}
        head |= {"rounds": 3, "steady_rounds": 3, "steady_p": 0.01}
        ratio = combined.LogRatio(math.log(value), 0.01, 2.0)
        rows.append(head | combined.of_one_run("steady", ratio))
    table = pd.DataFrame(rows, columns=list(ratios.COLUMNS))
    table.to_csv(folder / "ratios.csv", index=False)
    return Run(folder.name, folder, machine)


def test_a_table_is_combined_over_the_runs_that_have_each_ratio(tmp_path):
    names = ("gemm", "ffn", "mha", "conv", "new")
    newest = dict(zip(names, (1.5, 0.9, 2.0, 1.0, 3.0), strict=True))
    older = dict(zip(names[:4], (1.4, 0.93, 1.9, 1.02), strict=True))
    accepted = [run(tmp_path / "one", "a", older), run(tmp_path / "two", "b", newest)]
    frame = pd.DataFrame({"workload": names, "table": "I"})
    found = ratios.combined(accepted[1].table("ratios.csv"), frame, accepted).set_index("workload")
    assert list(found.steady_runs) == [2, 2, 2, 2, 1]
    assert found.steady_ratio["gemm"] == pytest.approx(math.sqrt(1.5 * 1.4))
    assert found.steady_ratio["new"] == pytest.approx(3.0)
    # One more run of a ratio that two have is predicted more closely than of one that one has.
    widths = np.log(found.steady_predicted_high / found.steady_predicted_low)
    assert widths["new"] > widths["gemm"]
    assert found.steady_verdict["mha"] == "slower"
    assert found.steady_verdict["conv"] != "slower"
    assert found.first_verdict["mha"] == "no data"


def test_each_run_is_left_out_and_looked_for(tmp_path):
    names = [f"w{n}" for n in range(8)]
    accepted = []
    for place, machine in enumerate(("a", "b", "c")):
        # Each machine a few percent off the others, in another direction for every other workload.
        values = {
            name: math.exp(n + 0.03 * (place - 1) * (-1) ** n) for n, name in enumerate(names)
        }
        values |= {"w0": 100.0} if machine == "c" else {}
        accepted.append(run(tmp_path / machine, machine, values))
        split.decided(pd.DataFrame(columns=list(split.COLUMNS))).to_csv(
            accepted[-1].folder / "split.csv", index=False
        )
    found = held_out.build(accepted).set_index(["run", "ratio"])
    assert set(found.total.xs("steady", level="ratio")) == {8}
    assert found.inside["c", "steady"] == 7
    assert found.total["c", "ir"] == found.total["c", "first"] == 0
    assert not found.known.any()
    assert held_out.build(accepted[:2]).empty


def test_columns_read_back_are_the_ratio():
    row = pd.Series(combined.of_one_run("ir", combined.LogRatio(0.3, 0.02, 3.0)))
    assert combined.log_ratio(row, "ir") == combined.LogRatio(pytest.approx(0.3), 0.02, 3.0)


def test_the_native_ratio_is_the_combined_steady_ratio(tmp_path):
    """One quantity has one value, however many tables it stands in."""
    accepted = [run(tmp_path / name, name, {"gemm": v}) for name, v in (("a", 1.5), ("b", 1.3))]
    for one in accepted:
        head = {"workload": "gemm", "framework": "torch_xla", "baseline": "jax", "device": "cpu"}
        row = head | {"compiler": "jaxlib-0.7.1"}
        for name in ("native", "ir"):
            row |= combined.of_one_run(name, combined.LogRatio(0.3, 0.01, 2.0))
        pd.DataFrame([row], columns=list(split.COLUMNS)).to_csv(one.folder / "split.csv")
    frame = pd.DataFrame({"workload": ["gemm"], "table": ["I"]})
    steady = ratios.combined(accepted[0].table("ratios.csv"), frame, accepted)
    found = split.combined(accepted[0].table("split.csv"), accepted, steady).iloc[0]
    for end in ("ratio", "ratio_low", "ratio_high", "runs"):
        assert found[f"native_{end}"] == steady.iloc[0][f"steady_{end}"]
    assert found["ir_ratio"] == pytest.approx(math.exp(0.3))
