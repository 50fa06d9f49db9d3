"""causes.csv and profile.csv, from made-up searches and profiles, and what they say of a gap."""

import math
from dataclasses import asdict, replace

import pytest

from explain_fixture import FOUND, REGION
from made_tables import NEW, OLD, class_times, comparison, measured_replay
from stackwars.core.hlo import ELEMENTWISE, PRODUCTS, TRANSPOSES
from stackwars.explain.answer import OPERATIONS, Tried
from stackwars.study.config import load
from stackwars.study.programs import ReplayCell
from stackwars.study.results import causes, schema
from stackwars.study.results.causes import carried, explained
from stackwars.study.results.raw import Raw

_TEXTS = ['"stablehlo.transpose"(%1) : tensor<3x2xf32>', "chlo.erf %2 : tensor<3x2xf32>"]
REGIONS = [
    replace(REGION, count=3, line_b=""),
    replace(REGION, what=OPERATIONS, count=2, line_a="", line_b="", a=_TEXTS, b=[]),
]
ANSWER = asdict(replace(FOUND, regions=REGIONS, tried=Tried([39, 28], 20, 19, {"1": 0.84, "2": 1.04})))
PAIR = {"workload": "mha", "title": "MHA", "compiler": OLD, "device": "cpu"}
PAIR |= {"subject": "torch_xla", "baseline": "jax"}


def document(*gaps: dict, workload: str = "mha", compiler: str = OLD, **changes: object) -> dict:
    known = {"workload": workload, "compiler": compiler, "device": "cpu", "status": "ok", "status_detail": ""}
    return known | {"gaps": list(gaps)} | changes


def gap(cause: dict | None, is_gap: bool = True, **changes: object) -> dict:
    ratio = {"value": 1.5, "low": 1.4, "high": 1.6}
    names = {"subject": "torch_xla", "baseline": "jax"}
    return {**names, "ratio": ratio, "is_gap": is_gap, "cause": cause, **changes}


def built(*documents: dict):
    return causes.build_causes(Raw(causes=list(documents)))


def test_an_answer_is_a_row():
    [row] = built(document(gap(ANSWER))).to_dict("records")
    known = {
        "title": "MHA", "compiler": OLD, "subject": "torch_xla", "baseline": "jax", "ratio": 1.5, "low": 1.4,
        "high": 1.6, "verdict": "cause", "kinds": 2, "count": 5, "closed": 0.97, "closed_high": 1.04,
        "what": "argument layout and operations", "lines": "mha.py:41; ", "reason": REGION.reason.sentence,
        "subject_operations": "argument 2304x768xf32; transpose, erf 3x2xf32",
        "baseline_operations": "argument 768x2304xf32; none",
        "subject_ms": 8.81, "baseline_ms": 5.82, "left_ms": 0.09, "seconds": 41.0,
    }  # fmt: skip
    assert {key: row[key] for key in known} == known
    assert row["tried"].startswith("39 and 28 operations, 20 classes") and row["tried"].endswith("2: 104 %")


def test_what_has_no_gap_has_no_row_and_what_could_not_be_asked_says_why():
    table = built(
        document(gap(None, is_gap=False)),
        document(gap(None), compiler=NEW, status="unsupported", status_detail="no such Python"),
    )
    assert list(zip(table["compiler"], table["verdict"], table["detail"], strict=True)) == [
        (NEW, "unsupported", "no such Python")
    ]


def test_a_failed_search_has_only_what_it_knows():
    [row] = built(document(gap({"verdict": "failed", "detail": "it crashed", "seconds": 2.0}))).to_dict(
        "records"
    )
    assert (row["verdict"], row["detail"], row["what"], row["tried"]) == ("failed", "it crashed", "", "")
    assert math.isnan(row["closed"]) and math.isnan(row["kinds"])


@pytest.mark.parametrize(
    ("low", "high", "is_gap"), [(1.11, 1.5, True), (1.09, 1.5, False), (0.5, 0.9, True), (None, None, True)]
)
def test_a_gap_that_was_not_searched_is_one_whose_interval_excludes_the_bound(low, high, is_gap):
    ratio = 1.3 if high is None or high > 1 else 0.7
    replays = schema.table("comparisons", [PAIR | {"ratio": ratio, "low": low, "high": high}])
    found = explained(replays, schema.empty("causes"), 0.1)
    assert [row["verdict"] for row in found] == [""] * is_gap
    if is_gap:
        assert found[0]["ratio"] == max(ratio, 1 / ratio)
        assert found[0]["subject"] == ("torch_xla" if ratio > 1 else "jax")


def profiled(classes: dict[str, float], workload="gemm", wall_ms=10.0) -> dict:
    """A profile.json of JAX's program, with one operation of each class that takes these ms."""
    operations = {f"{kind}.1": {"class": kind, "seconds": ms / 1e3} for kind, ms in classes.items()}
    program = {"calls": 5, "wall_s": wall_ms / 1e3, "operations": operations}
    where = {"workload": workload, "compiler": OLD, "device": "cpu", "repetition": 0}
    return {**where, "programs": {"jax": program}}


def replayed(ms: float) -> Raw:
    """A replay of JAX's program whose loops take so long."""
    return Raw(replays={ReplayCell("cpu", OLD, "gemm"): measured_replay({"jax": (ms,)})})


def profile_table(*profiles: dict, raw: Raw | None = None):
    return causes.build_profile(load(), list(profiles), raw or Raw())


@pytest.mark.parametrize(("timed", "consistent"), [(9.2, True), (8.9, False), (11.2, False), (None, False)])
def test_a_profile_far_from_the_timed_call_is_not_consistent(timed, consistent):
    found = profile_table(profiled({"products": 9.0}), raw=timed and replayed(timed)).iloc[0]
    assert found.profile_consistent is consistent and math.isnan(found.call_ms) == (timed is None)


def carried_by(ratio: float, profiles: list[dict]) -> dict:
    return carried(comparison("gemm", ratio, compiler=OLD), schema.table("profile", profiles))


def test_a_gap_without_a_profile_of_both_has_no_class():
    others = class_times("torch_xla", {PRODUCTS: 3.0})
    for profiles in (class_times("jax", {PRODUCTS: 2.0}), [row | {"compiler": "another"} for row in others]):
        found = carried_by(1.5, profiles)
        assert (found["op_class"], found["profile_consistent"]) == ("", False) and math.isnan(found["gap_ms"])


@pytest.mark.parametrize("consistent", [True, False])
def test_the_class_with_the_largest_difference_carries_the_gap(consistent):
    profiles = class_times("jax", {PRODUCTS: 2.0, ELEMENTWISE: 2.0})
    others = {PRODUCTS: 4.0, TRANSPOSES: 3.0, ELEMENTWISE: 1.0}
    profiles += class_times("torch_xla", others, profile_consistent=consistent)
    found = {"gap_ms": 4.0, "profile_consistent": consistent, "op_class": TRANSPOSES, "share": 0.75}
    assert carried_by(1.9, profiles) == found


def test_profiles_that_differ_the_other_way_or_hardly_show_no_class():
    base = class_times("jax", {PRODUCTS: 4.0})
    for ms in (2.0, 4.2):
        found = carried_by(1.5, base + class_times("torch_xla", {PRODUCTS: ms}))
        assert found["op_class"] == "" and math.isnan(found["share"])
        assert found["gap_ms"] == ms - 4.0
    assert carried_by(0.5, base + class_times("torch_xla", {PRODUCTS: 2.0}))["op_class"] == PRODUCTS


def test_a_gap_that_was_searched_stands_once_whichever_program_is_slower():
    known = built(document(gap(ANSWER, subject="jax", baseline="torch_xla")))
    found = explained(schema.table("comparisons", [PAIR | {"ratio": 0.5}]), known, 0.1)
    assert [(row["subject"], row["verdict"]) for row in found] == [("jax", "cause")]
