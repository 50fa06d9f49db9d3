"""Two runs in one report."""

import shutil

import pandas as pd
import pytest

from stackwars.report import compare
from stackwars.results.folder import ACCEPTED, REFERENCE, Folder


@pytest.fixture
def run():
    """The newest accepted run that compared anything: it has its tables alone."""
    every = sorted(ACCEPTED.iterdir(), reverse=True)
    return next(one for one in every if len(pd.read_csv(one / "ratios.csv")))


def test_ratios_of_the_other_run_stand_beside_those_of_the_first(run, tmp_path):
    """A run beside the same with its ratios doubled."""
    other = tmp_path / "other"
    shutil.copytree(run, other)
    table = pd.read_csv(other / "ratios.csv")
    table["steady_ratio"] *= 2
    table.to_csv(other / "ratios.csv", index=False)
    found = compare.compared(Folder(run), Folder(other))
    assert len(found["ratios"]) == len(found["other"]["ratios"]) > 0
    for here, there in zip(found["ratios"], found["other"]["ratios"], strict=True):
        if here["steady_ratio"] is not None:
            assert there["steady_ratio"] == pytest.approx(2 * here["steady_ratio"])
    assert found["other"]["name"].startswith("other of 20")
    # What is not among its tables is not in the document.
    assert found["programs"] == found["graphs"] == [] and found["details"] == {}
    assert all(claim["votes"] == [] for claim in found["claims"])


def test_the_reference_is_what_a_run_is_compared_with(run, tmp_path, monkeypatch, capsys):
    output = tmp_path / "compare.html"
    monkeypatch.setattr("sys.argv", ["compare", str(run), "--output", str(output)])
    compare.main()
    assert str(output) in capsys.readouterr().out
    assert f'"other":{{"name":"{REFERENCE.name} of ' in output.read_text()
