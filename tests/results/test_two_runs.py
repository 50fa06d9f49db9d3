"""Two runs side by side: whose verdicts are the same, and how far their ratios lie apart."""

import pandas as pd
import pytest

from paper_fixture import write
from stackwars.results import two_runs


def ratios(**columns: list) -> pd.DataFrame:
    count = len(columns["steady_ratio"])
    names = {"workload": [f"w{n}" for n in range(count)], "device": "cpu", "framework": "torch_xla"}
    return pd.DataFrame({**names, **columns})


EARLIER = ratios(
    steady_ratio=[2.0, 1.05, 0.8, 1.08],
    steady_verdict=["slower", "unresolved", "faster", "slower"],
)
LATER = ratios(
    steady_ratio=[1.9, 1.05, 0.84, 1.12],
    steady_verdict=["slower", "no difference found", "faster", "unresolved"],
)


def test_verdicts_and_ratios_are_paired():
    found = two_runs.compare(EARLIER, LATER.iloc[::-1])
    assert list(found.columns) == list(two_runs.COLUMNS)
    assert list(found["same_verdict"]) == [True, False, True, False]
    assert list(found["moved"]) == pytest.approx([2 / 1.9 - 1, 0, 0.05, 1.12 / 1.08 - 1])


def test_ratio_is_clear_that_is_far_from_one_in_either_run():
    assert list(two_runs.compare(EARLIER, LATER)["clear"]) == [True, False, True, True]


def test_row_without_a_ratio_in_both_is_left_out():
    without = LATER.assign(steady_ratio=[1.9, None, 0.84, 1.12]).iloc[:3]
    assert list(two_runs.compare(EARLIER, without)["workload"]) == ["w0", "w2"]


def test_summary_counts():
    assert two_runs.summary(two_runs.compare(EARLIER, LATER)) == (
        "2 of 4 verdicts are the same in both runs, and 2 of the 3 of ratios beyond 1.1; the steady ratios "
        "moved by 4.4 % in the median, 5 % at most"
    )


def test_command_writes_the_table(tmp_path, monkeypatch, capsys):
    write(tmp_path)
    table = tmp_path / "two_runs.csv"
    monkeypatch.setattr("sys.argv", ["", str(tmp_path), str(tmp_path), "--output", str(table)])
    two_runs.main()
    found = pd.read_csv(table)
    assert found["same_verdict"].all() and len(found) > 10
    assert f"{len(found)} of {len(found)} verdicts are the same" in capsys.readouterr().out


def test_folder_without_a_run_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["", str(tmp_path), str(tmp_path)])
    with pytest.raises(SystemExit, match=r"expected the ratios.csv of a run in .*make paper"):
        two_runs.main()
