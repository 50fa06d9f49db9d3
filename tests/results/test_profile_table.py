"""Classes of made-up profiles, and which of them carries the gap between two programs."""

import math

import pytest

from made_tables import OLD, class_times, comparison, measured_replay
from stackwars.core.hlo import CLASSES, ELEMENTWISE, PRODUCTS, TRANSPOSES
from stackwars.study.config import load
from stackwars.study.programs import ReplayCell
from stackwars.study.results import causes, schema
from stackwars.study.results.causes import carried
from stackwars.study.results.raw import Raw


def profiled(classes: dict[str, float], workload="gemm", wall_ms=10.0) -> dict:
    """A profile.json of JAX's program, with one operation of each class that takes these ms."""
    operations = {f"{kind}.1": {"class": kind, "seconds": ms / 1e3} for kind, ms in classes.items()}
    program = {"calls": 5, "wall_s": wall_ms / 1e3, "operations": operations}
    where = {"workload": workload, "compiler": OLD, "device": "cpu", "repetition": 0}
    return {**where, "programs": {"jax": program}}


def replayed(ms: float) -> Raw:
    """A replay of JAX's program whose loops take so long."""
    return Raw(replays={ReplayCell("cpu", OLD, "gemm"): measured_replay({"jax": (ms,)})})


def table(*profiles: dict, raw: Raw | None = None):
    return causes.build_profile(load(), list(profiles), raw or Raw())


def test_classes_and_dispatch_make_up_the_profiled_call():
    one = profiled({"products": 6.0, "transposes": 1.0})
    one["programs"]["jax"]["operations"]["dot.7"] = {"class": "products", "seconds": 2.0e-3}
    found = table(one, raw=replayed(10.5))
    assert list(found) == list(schema.PROFILE)
    assert set(found.framework) == {"jax"} and set(found.title) == {"GEMM"}
    found = found.set_index("class")
    assert list(found.index) == list(CLASSES)
    expected = dict.fromkeys(CLASSES, 0.0) | {"products": 8.0, "transposes": 1.0, "dispatch": 1.0}
    assert found.ms.to_dict() == pytest.approx(expected)
    assert found.share.sum() == pytest.approx(1)
    assert found.operations["products"] == 2 and found.operations["dispatch"] == 0
    assert set(found.profiled_ms) == {10.0} and set(found.call_ms) == {10.5}


@pytest.mark.parametrize(("timed", "consistent"), [(9.2, True), (8.9, False), (11.2, False)])
def test_a_profile_far_from_the_timed_call_is_not_consistent(timed, consistent):
    found = table(profiled({"products": 9.0}), raw=replayed(timed)).iloc[0]
    assert found.profile_consistent == consistent


def test_a_program_without_a_timed_call_is_not_consistent():
    found = table(profiled({"products": 9.0})).iloc[0]
    assert math.isnan(found.call_ms) and found.profile_consistent is False


def test_workloads_are_in_the_order_of_the_configuration_and_no_profile_is_an_empty_table():
    found = table(profiled({}, "mha"), profiled({}, "gemm"))
    assert list(found.workload.drop_duplicates()) == ["gemm", "mha"]
    assert table().empty and list(table()) == list(schema.PROFILE)


def carried_by(ratio: float, profiles: list[dict]) -> dict:
    return carried(comparison("gemm", ratio, compiler=OLD), schema.table("profile", profiles))


def test_a_gap_without_a_profile_of_both_has_no_class():
    others = class_times("torch_xla", {PRODUCTS: 3.0})
    for profiles in (class_times("jax", {PRODUCTS: 2.0}), [row | {"compiler": "another"} for row in others]):
        found = carried_by(1.5, profiles)
        assert (found["op_class"], found["profile_consistent"]) == ("", False) and math.isnan(found["gap_ms"])


def test_the_class_with_the_largest_difference_carries_the_gap():
    profiles = class_times("jax", {PRODUCTS: 2.0, ELEMENTWISE: 2.0})
    profiles += class_times("torch_xla", {PRODUCTS: 4.0, TRANSPOSES: 3.0, ELEMENTWISE: 1.0})
    found = {"gap_ms": 4.0, "profile_consistent": True, "op_class": TRANSPOSES, "share": 0.75}
    assert carried_by(1.9, profiles) == found


def test_profiles_that_differ_the_other_way_or_hardly_show_no_class():
    base = class_times("jax", {PRODUCTS: 4.0})
    for ms in (2.0, 4.2):
        found = carried_by(1.5, base + class_times("torch_xla", {PRODUCTS: ms}))
        assert found["op_class"] == "" and math.isnan(found["share"])
        assert found["gap_ms"] == ms - 4.0
    assert carried_by(0.5, base + class_times("torch_xla", {PRODUCTS: 2.0}))["op_class"] == PRODUCTS


def test_one_profile_that_misses_its_call_is_enough_to_doubt_the_gap():
    profiles = class_times("jax", {PRODUCTS: 2.0})
    profiles += class_times("torch_xla", {PRODUCTS: 4.0}, profile_consistent=False)
    assert not carried_by(2.0, profiles)["profile_consistent"]
