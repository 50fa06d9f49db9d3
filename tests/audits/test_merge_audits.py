"""Audits of a framework that were measured separately join the others."""

import json

import pytest

from audits.made import MUTANTS, a_a, powered
from stackwars.audits import audit_entries, merge_audits, verdicts

APART = {"framework": "jax", "compiler": "iree-3.13", "apart": "2026-11-23"}


def entries() -> list[dict]:
    return [
        verdicts.mutants([MUTANTS]),
        verdicts.aa(a_a(20), [powered()]),
        verdicts.power([powered()]),
    ]


def test_a_part_joins_with_its_day():
    parts = {"mutants": [MUTANTS | APART], "power": [powered() | APART]}
    mutants, aa, power = merge_audits.add(entries(), parts)
    assert [one["verdict"] for one in (mutants, aa, power)] == ["pass"] * 3
    assert "2 of 2 mutants rejected" in mutants["detail"]
    for entry in (mutants, aa, power):
        assert entry["detail"].endswith("; measured apart, 2026-11-23: jax in iree-3.13 on cpu-1t")
    assert "interleaved depth scaling, jax in iree-3.13" in aa["figures"]["groups"]
    assert len(aa["figures"]["trials"]) == 20


def test_a_part_that_fails_makes_the_audit_fail():
    missed = MUTANTS | APART
    missed["processes"] = [row | {"rejected_by": []} for row in missed["processes"]]
    mutants, aa, power = merge_audits.add(entries(), {"mutants": [missed]})
    assert (mutants["verdict"], aa["verdict"], power["verdict"]) == ("fail", "pass", "pass")


def test_the_same_part_measured_again_replaces_it():
    once = merge_audits.add(entries(), {"mutants": [MUTANTS | APART]})
    again = merge_audits.add(once, {"mutants": [MUTANTS | APART | {"apart": "2026-11-24"}]})
    assert len(again[0]["figures"]["by_framework"]) == 2
    assert "2026-11-23" not in again[0]["detail"]


def test_nothing_is_added_to_audits_that_nobody_ran():
    with pytest.raises(ValueError, match="expected audits with mutants, got none"):
        merge_audits.add([audit_entries.not_run_entry("mutants")], {"mutants": [MUTANTS | APART]})


def test_parts_are_read_with_their_day(tmp_path):
    path = tmp_path / "audits" / "mutants" / "cpu" / "jax-iree-3.13.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(MUTANTS))
    read = merge_audits.read_parts(tmp_path)
    assert read["power"] == []
    assert read["mutants"][0]["apart"].startswith("20")
