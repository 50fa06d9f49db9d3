"""An independent script finds every interval of the pooled runs again, and notices one that was changed."""

from pathlib import Path

from running import python
from stackwars.study.config import load
from stackwars.study.results import runs, schema, tables

SCRIPT = Path(__file__).with_name("recompute.py")


def test_shares_no_code_with_the_source():
    assert "stackwars" not in SCRIPT.read_text()


def test_every_interval_follows_from_the_committed_rounds_and_a_changed_one_is_found(tmp_path):
    table = tables.pooled(load(), runs.read())
    known = table.index[table["low"].notna()]
    assert len(known) > 100
    table.loc[known[7], "high"] *= 1.00001
    schema.write(table, tmp_path / "comparisons.csv")
    done = python(SCRIPT, runs.REFERENCE / runs.FOLDER, tmp_path / "comparisons.csv", check=False)
    summary, *changed = done.stdout.splitlines()
    assert (done.returncode, summary) == (1, f"{len(known)} intervals recomputed, 1 differ"), done.stderr
    assert len(changed) == 1 and table["workload"][known[7]] in changed[0]
