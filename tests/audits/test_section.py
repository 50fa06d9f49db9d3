"""The section of the appendix follows the audits' verdicts."""

import copy

import pytest

from audits import made
from stackwars.audits import audit_entries, run_verdicts, verdicts, whole_run
from stackwars.findings.audits import audit_findings
from stackwars.paper.render import Findings, environment
from stackwars.setup.environments import REPOSITORY


def section(audits: list[dict]) -> str:
    """The rendered section, with single spaces."""
    findings = Findings({"findings": audit_findings(audits)})
    names = {"finding": findings, "group": findings.group}
    templates = environment(REPOSITORY / "paper")
    return " ".join(templates.get_template("appendix/audits.tex.j2").render(names).split())


@pytest.fixture
def passed() -> list[dict]:
    """All audits passed."""
    processes = [made.process()]
    table = made.frame().assign(floor_ms=4.0, workload="gemm", device="cpu-1t")
    return [
        verdicts.fences([made.FENCES]),
        run_verdicts.floor(whole_run.floors(processes, table)),
        verdicts.mutants([made.MUTANTS]),
        run_verdicts.clock(whole_run.clocks(processes)),
        verdicts.aa(made.a_a(60), [made.powered()]),
        verdicts.power([made.powered()]),
        run_verdicts.agreement(whole_run.agreement(table, made.LIMITS, "highest")),
        verdicts.independent([made.INDEPENDENT]),
        run_verdicts.first_run(whole_run.first_runs(processes)),
    ]


def test_all_passed(passed):
    text = section(passed)
    assert "this harness: 9 audits, all of which passed." in text
    assert r"\input{tables/audits}" in text
    assert "rejected all mutants, and no unmodified process" in text
    assert "Both aims are met." in text
    assert "no trial's estimate is" in text
    assert "Not run" not in text
    assert "nan" not in text.lower().replace("nand", "")


def test_a_replay_is_told_from_a_framework(passed):
    replayed = {**made.powered(), "compiler": "iree-3.13"}
    both = verdicts.power([made.powered(), replayed])
    text = section([both if entry["id"] == "power" else entry for entry in passed])
    assert (
        "A stack of 100 layers is compared with deeper ones in JAX, in trials of 4 rounds" in text
    )
    assert "deeper ones in a replay of JAX's programs by IREE 3.13, in trials of 4 rounds" in text


def test_failures_are_said(passed):
    missed = copy.deepcopy(made.MUTANTS)
    missed["processes"][1] |= {"rejected_by": [], "problems": []}
    apart = copy.deepcopy(made.INDEPENDENT)
    apart["workloads"][0]["ok"] = False
    wrong = {
        "mutants": verdicts.mutants([missed]),
        "aa": verdicts.aa(made.a_a(5, claimed=15), []),
        "power": verdicts.power([made.powered(noise=0.15)]),
        "independent": verdicts.independent([apart]),
    }
    text = section([wrong.get(entry["id"], entry) for entry in passed])
    assert "Of 9 audits, 4 failed: Mutants, A/A, Power and Independent harness." in text
    assert "did not separate the mutants from the unmodified processes" in text
    assert "More differences are claimed than the aim" in text
    assert "The table says which aim was missed" in text
    assert "The medians do not all agree" in text


def test_what_was_not_run_is_said(passed):
    short = verdicts.power([made.powered(count=3)])
    text = section([short if entry["id"] == "power" else entry for entry in passed])
    assert "8 audits, all of which passed. Not run: Power." in text
    assert r"\textit{Power.}" not in text


def test_nothing_run_is_one_sentence(tmp_path):
    text = section(audit_entries.read(tmp_path / "none.json"))
    assert "a separate run, which was not made for this build" in text
    assert r"\input" not in text
