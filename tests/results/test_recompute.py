"""An independent script finds every interval of the reference again, and notices one that was changed."""

from pathlib import Path

import pytest

from running import python
from stackwars.study.config import load
from stackwars.study.results import reference, runs, schema

SCRIPT = Path(__file__).with_name("recompute.py")


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "comparisons.csv"
    schema.write(reference.pooled(load(), runs.read()), path)
    return path


def recompute(comparisons):
    return python(SCRIPT, runs.REFERENCE / runs.FOLDER, comparisons, check=False)


def test_shares_no_code_with_the_source():
    assert "stackwars" not in SCRIPT.read_text()


def test_every_interval_follows_from_the_committed_rounds(comparisons):
    done = recompute(comparisons)
    count = schema.read(comparisons)["low"].notna().sum()
    assert (done.returncode, done.stdout.strip()) == (0, f"{count} intervals recomputed, 0 differ"), done.stderr
    assert count > 100


def test_one_changed_interval_is_found(comparisons, tmp_path):
    table = schema.read(comparisons)
    place = table.index[table["low"].notna()][7]
    table.loc[place, "high"] *= 1.00001
    changed = tmp_path / "comparisons.csv"
    schema.write(table, changed)
    done = recompute(changed)
    assert done.returncode == 1 and ", 1 differ" in done.stdout
    assert table["workload"][place] in done.stdout
