"""Whose audits the first page tells of, and which failed."""

from made_tables import write_tables
from stackwars.publish.paper.tables import audits
from stackwars.study.audits import audit_entries
from stackwars.study.audits.audit_entries import Audits
from stackwars.study.config import load
from stackwars.study.results.dataset import Dataset, Sources

RUN = "2026-01-02T0304"


def sources(folder, own: str | None, accepted: str | None, newest: str = "2026-01-01T0000") -> Sources:
    """Return this run and a reference whose newest run is named; with failed audits of the named runs, if any."""
    contexts = {"run": {"date_utc": f"{RUN[:13]}:{RUN[13:]}:05+00:00"}, "reference": {"run": newest}}
    for (name, context), run in zip(contexts.items(), (own, accepted), strict=True):
        write_tables(folder / name, context)
        if run:
            found = Audits([audit_entries.entry("aa", "fail", {}, "x")], run, ("abc",), "A CPU")
            audit_entries.write(found, folder / name / "audits.json")
    config = load()
    run, reference = (Dataset(config, folder / name, name == "reference") for name in contexts)
    return Sources(run, reference, [])


def test_the_audits_of_a_run_are_its_own(tmp_path):
    found = sources(tmp_path, own=RUN, accepted="2026-01-01T0000")
    assert audits.state(found) == "1 of 1 audits of this run failed: A/A."


def test_without_its_own_those_of_the_reference_are_named(tmp_path):
    said = "The harness was not audited with this run; 1 of 1 audits of the run 2026-01-01T0000 failed: A/A."
    assert audits.state(sources(tmp_path, own=None, accepted="2026-01-01T0000")) == said
    assert audits.state(sources(tmp_path / "none", None, None)) == "The harness was not audited with this run."


def test_audits_of_an_earlier_run_than_the_newest_accepted_one_are_of_another(tmp_path):
    both = sources(tmp_path, own=None, accepted="2026-01-01T0000", newest="2026-01-01T0000")
    reference = Sources(both.reference, both.reference, [])
    assert audits.state(reference) == "1 of 1 audits of the newest accepted run failed: A/A."
    both = sources(tmp_path / "later", own=None, accepted="2026-01-01T0000", newest="2026-01-03T0000")
    reference = Sources(both.reference, both.reference, [])
    assert "was not audited with the newest accepted run; 1 of 1" in audits.state(reference)
