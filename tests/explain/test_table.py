"""Which questions a table raises, and what it is made from."""

from pathlib import Path

import numpy as np

from explain_fixture import right
from stackwars.explain.outcomes import CRASH, NATIVE, REFUSED, WRONG, outcome
from stackwars.explain.plan import Plan
from stackwars.explain.table import apart, build
from stackwars.explain.workers import CompilerSpec
from stackwars.measure import documents, judge

SETTINGS = {"bound": 0.1, "compiler_gap": 1.5, "questions": 3}


def planned(root, compilers, **given) -> Plan:
    """Return a plan whose results are in a folder."""
    specs = {name: CompilerSpec(name) for name in compilers}
    return Plan("x", "X", str(root), specs, CompilerSpec("jaxlib-1"), **given)


def write_expected(folder: Path, value: float) -> None:
    document = {"judge": "NumPy in float64", "reason": "", "limits": {"output0": 1e-6}}
    judge.write(folder, {"output0": np.full((4, 3), value)}, document)


def made(tmp_path, outcomes: dict[str, dict], natives: dict[str, dict] | None = None, **changed) -> dict:
    """Return the table of these outcomes, {compiler: {program: outcome}}."""
    natives = natives or {}
    frontends = {program: "" for one in outcomes.values() for program in one}
    plan = planned(
        tmp_path, outcomes, frontends=frontends, natives=dict.fromkeys(natives, ""), settings=SETTINGS | changed
    )
    files = {name: plan.outcomes(name) for name in outcomes} | {name: plan.native(name) for name in natives}
    for name, programs in (outcomes | natives).items():
        module = "iree" if name.startswith("iree") else "xla"
        document = {"module": module, "versions": {name: "1"}, "programs": programs}
        documents.write(Path(files[name]), document)
    write_expected(Path(plan.expected("a")), 1.0)
    table = build(plan)
    assert table["settings"] == {key: plan.settings[key] for key in ("bound", "compiler_gap", "questions")}
    return table


def asked(table: dict) -> list[str]:
    return [f"{row['kind']} {row['id']}" for row in table["questions"]]


def test_ratios_are_to_the_best_of_all_and_natives_count(tmp_path):
    table = made(tmp_path, {"jaxlib-1": {"jax": right(3.0)}}, {"numpy": {"numpy": right(1.5)}})
    ratios = {(cell["program"], cell["compiler"]): cell["ratio"] for cell in table["cells"]}
    assert ratios == {("jax", "jaxlib-1"): 2.0, ("numpy", NATIVE): 1.0}
    assert table["programs"] == ["jax", "numpy"] and table["judge"] == "NumPy in float64"
    assert table["versions"] == {"jaxlib-1": {"jaxlib-1": "1"}, "numpy": {"numpy": "1"}}


def test_the_slowest_is_compared_with_the_fastest_beyond_the_bound(tmp_path):
    table = made(tmp_path, {"jaxlib-1": {"a": right(1.0), "b": right(1.05), "c": right(1.3)}})
    assert asked(table) == ["cause jaxlib-1.c.a"]


def test_a_gap_within_the_bound_raises_no_question(tmp_path):
    assert asked(made(tmp_path, {"jaxlib-1": {"a": right(1.0), "b": right(1.09)}})) == []


def test_a_wrong_program_is_not_compared(tmp_path):
    table = made(tmp_path, {"jaxlib-1": {"a": right(1.0), "b": outcome(WRONG, "x", wrong=1, total=2)}})
    assert asked(table) == ["fault jaxlib-1.b"]


def test_a_large_gap_between_compilers_is_a_question_and_the_largest_come_first(tmp_path):
    outcomes = {"jaxlib-1": {"a": right(1.0), "b": right(1.2)}, "iree-1": {"a": right(48.0), "b": right(54.0)}}
    # b has a smaller one between the same compilers.
    assert asked(made(tmp_path, outcomes)) == [
        "cause iree-1.a.jaxlib-1",
        "cause jaxlib-1.b.a",
        "cause iree-1.b.a",
    ]
    table = made(tmp_path, outcomes, questions=1)
    assert asked(table) == ["cause iree-1.a.jaxlib-1"]
    row = table["questions"][0]
    assert (row["a"], row["b"], row["compiler"], row["other"]) == ("a", None, "iree-1", "jaxlib-1")


def test_a_fault_in_a_family_of_compilers_is_one_question_about_its_newest(tmp_path):
    bad = outcome(WRONG, "x", wrong=1, total=2)
    table = made(
        tmp_path, {"jaxlib-1": {"a": bad}, "jaxlib-2": {"a": bad}, "iree-1": {"a": outcome(CRASH, "y")}}
    )
    assert asked(table) == ["fault iree-1.a", "fault jaxlib-2.a"]
    assert table["questions"][1]["detail"] == "x"


def test_a_program_that_its_frontend_does_not_emit_is_no_fault_of_a_compiler(tmp_path):
    table = made(tmp_path, {"jaxlib-1": {"a": outcome(REFUSED, "torch says no", emitted=False)}})
    assert asked(table) == []


def test_two_files_that_compute_different_things_are_named(tmp_path):
    same, other = (planned(tmp_path, (), files=dict.fromkeys(labels, "")) for labels in ("ab", "ac"))
    for label, value in (("a", 1.0), ("b", 1.0), ("c", 1.1)):
        write_expected(Path(other.expected(label)), value)
    assert apart(same) == ""
    assert apart(other).startswith("c and a compute different things: output0: 12 of 12 elements wrong")
