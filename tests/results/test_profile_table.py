"""Classes of made-up profiles."""

import math

import pytest

from stackwars.compilers.op_classes import CLASSES
from stackwars.results import profile, schema
from stackwars.results.raw import Raw
from stackwars.study.config import load
from stackwars.study.programs import ReplayCell

XLA = "jaxlib-0.7.1"


def profiled(classes: dict[str, float], workload="gemm", wall_ms=10.0) -> dict:
    """A profile.json of JAX's program, with one operation of each class that takes these ms."""
    operations = {f"{kind}.1": {"class": kind, "seconds": ms / 1e3} for kind, ms in classes.items()}
    program = {"calls": 5, "wall_s": wall_ms / 1e3, "operations": operations}
    where = {"workload": workload, "compiler": XLA, "device": "cpu", "repetition": 0}
    return {**where, "programs": {"jax": program}}


def replayed(ms: float, wait: float = 0.0, blocks: int = 4) -> Raw:
    """A replay whose program's steady blocks take so long; their threads wait this share of the time."""
    ns = [round(1e6 * ms)] * blocks
    steady = {
        "ns": ns,
        "calls": 1,
        "run_ns": [round((1 - wait) * n) for n in ns],
        "wait_ns": [round(wait * n) for n in ns],
        "steal_ns": [0] * blocks,
        "other_processes_share": 0.0,
    }
    one = {"status": "ok", "first_ns": [ns[0]], "second_ns": [ns[0]], "steady": [steady]}
    result = {"processes": [{"repetition": 0}], "programs": {"jax": one}}
    return Raw(replays={ReplayCell("cpu", XLA, "gemm"): result})


def table(*profiles: dict, raw: Raw | None = None):
    return profile.build(load(), list(profiles), raw or Raw())


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


def test_a_process_without_uncontended_blocks_is_compared_by_all_of_them():
    assert table(profiled({"products": 9.0}), raw=replayed(10.0, blocks=2)).call_ms[0] == pytest.approx(10)


def test_a_program_without_a_timed_call_is_not_consistent():
    found = table(profiled({"products": 9.0})).iloc[0]
    assert math.isnan(found.call_ms) and found.profile_consistent is False


def test_workloads_are_in_the_order_of_the_configuration_and_no_profile_is_an_empty_table():
    found = table(profiled({}, "mha"), profiled({}, "gemm"))
    assert list(found.workload.drop_duplicates()) == ["gemm", "mha"]
    assert table().empty and list(table()) == list(schema.PROFILE)
