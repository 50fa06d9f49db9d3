"""The section of the injected faults says what came of them, or that there were none."""

import pytest

from stackwars.audits import fault_entries
from stackwars.audits.fault_entries import NOT_SURVIVED, NOT_TRIED, SURVIVED, entry
from stackwars.findings.faults import fault_findings
from stackwars.paper.render import Findings, environment
from stackwars.paper.tables.faults import MOST, ROWS, faults_table
from stackwars.setup.environments import REPOSITORY

KILLED = entry(
    "child-killed",
    "Timed process killed",
    SURVIVED,
    told="[stackwars]   error: 50 % of {x}",
    seconds=31.4,
)
FULL = entry("full-tex", "Disk full in TeX", NOT_TRIED, why="a small disk could not be mounted")
LOST = entry("link", "Symbolic link", NOT_SURVIVED, lost=2, wrong=1, why="cpu/jax/gemm/process-0")


def document(*faults: dict) -> dict:
    machine = {"cpu_model": "A CPU", "cores": 2, "memory_bytes": 2**34}
    return {"schema": 1, "revision": "0123", "machine": machine, "faults": list(faults)}


def section(*faults: dict) -> str:
    """The rendered section, with single spaces."""
    findings = Findings({"findings": fault_findings(document(*faults))})
    template = environment(REPOSITORY / "paper").get_template("appendix/faults.tex.j2")
    return " ".join(template.render({"group": findings.group}).split())


def test_none_injected_is_said_plainly(tmp_path):
    assert fault_entries.read(tmp_path / "none.json")["faults"] == []
    assert "No fault was injected for this build" in section()
    assert r"\input" not in section() and "no fault was injected" in faults_table(document())


def test_all_survived():
    text = section(KILLED, FULL)
    assert "1 fault was injected into a finished smoke run" in text
    assert "All were survived, with no number lost and no wrong one shown" in text
    assert "Not tried on that machine: Disk full in TeX." in text
    assert r"\input{tables/faults}" in text


def test_what_was_not_survived_is_named():
    text = section(KILLED, LOST)
    assert "All were survived" not in text
    assert "Not survived: Symbolic link. In all, 2 numbers were lost and 1 wrong one shown" in text


def test_table_has_a_row_for_each_with_what_was_told():
    text = faults_table(document(KILLED, FULL, LOST))
    assert r"Timed process killed & survived & 0 & 0 & error: 50 \% of \{x\} & 31 \\" in text
    assert r"not tried & --- & --- & a small disk could not be mounted & --- \\" in text
    assert r"not survived & 2 & 1 & cpu/jax/gemm/process-0" in text
    assert "revision 0123 on A CPU, 2 cores, 16 GiB" in text


def test_long_table_goes_on_and_long_words_are_cut():
    many = [entry(f"f{n}", f"Fault {n}", SURVIVED, told="x" * 400) for n in range(ROWS + 1)]
    text = faults_table(document(*many))
    assert text.count(r"\begin{table*}") == 2 and "(Continued)" in text
    assert "x" * (MOST - 3) + "..." in text and "x" * (MOST - 2) not in text


def test_file_is_read_as_written_and_another_schema_refused(tmp_path):
    path = tmp_path / "results" / "faults.json"
    fault_entries.write(document(KILLED), path)
    assert fault_entries.read(path) == document(KILLED)
    fault_entries.write(document() | {"schema": 0}, path)
    with pytest.raises(ValueError, match=r"expected faults of schema 1, came 0. .*make faults"):
        fault_entries.read(path)
