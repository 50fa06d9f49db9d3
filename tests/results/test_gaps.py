"""Gaps between two programs: what carries them, and which edit closes them."""

from __future__ import annotations

import math

import pandas as pd

from stackwars.compilers.op_classes import CLASSES, ELEMENTWISE, PRODUCTS, TRANSPOSES
from stackwars.results import schema
from stackwars.results.profile import GAP_COLUMNS, gaps
from stackwars.results.verdicts import CLOSES_MOST, CLOSES_PART, INCONCLUSIVE, NO_DATA, SLOWER

PLACE = {"workload": "mha", "title": "MHA", "device": "cpu", "compiler": "jaxlib-0.7.1"}
EDITED = "torch_xla+pretransposed_weights"


def replay(ratio: float, **columns: object) -> dict:
    names = {"quantity": "replay", "subject": "torch_xla", "baseline": "jax", "verdict": SLOWER}
    return PLACE | names | {"ratio": ratio, **columns}


def edit(subject: str, verdict: str, share: float, other: str = "jax") -> dict:
    names = {"quantity": "edit", "subject": subject, "baseline": subject.partition("+")[0]}
    return PLACE | names | {"detail": other, "verdict": verdict, "share": share, "ratio": 0.6}


def profile(framework: str, is_consistent: bool = True, **times: float) -> list[dict]:
    head = PLACE | {"framework": framework, "profile_consistent": is_consistent}
    return [head | {"class": name, "ms": times.get(name, 0.0)} for name in CLASSES]


def found(comparisons: list[dict], profiles: list[dict] = ()) -> pd.DataFrame:
    return gaps(schema.table("comparisons", comparisons), schema.table("profile", list(profiles)))


def test_a_small_difference_is_no_gap():
    made = found([replay(1.09), replay(1 / 1.09), replay(math.nan)])
    assert made.empty
    assert list(made) == list(GAP_COLUMNS)


def test_a_gap_without_a_profile_has_one_row_and_no_class():
    made = found([replay(1.5)], profile("jax", products=2.0))
    assert len(made) == 1
    row = made.iloc[0]
    assert (row["class"], row["op_class"], row["profile_consistent"]) == ("", "", False)
    assert (row["title"], row["ratio"], row["verdict"]) == ("MHA", 1.5, SLOWER)


def test_the_class_with_the_largest_difference_carries_the_gap():
    profiles = profile("jax", **{PRODUCTS: 2.0, ELEMENTWISE: 2.0})
    profiles += profile("torch_xla", **{PRODUCTS: 4.0, TRANSPOSES: 3.0, ELEMENTWISE: 1.0})
    made = found([replay(1.9)], profiles).set_index("class")
    assert list(made.index) == list(CLASSES)
    assert set(made["op_class"]) == {TRANSPOSES}
    assert set(made["gap_ms"]) == {4.0}
    assert (
        made["share"].to_dict() | {PRODUCTS: 0.5, TRANSPOSES: 0.75, ELEMENTWISE: -0.25}
        == made["share"].to_dict()
    )
    assert made["profile_consistent"].all()


def test_profiles_that_differ_the_other_way_or_hardly_show_no_class():
    base = profile("jax", **{PRODUCTS: 4.0})
    for ms in (2.0, 4.2):
        made = found([replay(1.5)], base + profile("torch_xla", **{PRODUCTS: ms}))
        assert set(made["op_class"]) == {""}
        assert made["share"].isna().all()
        assert made["gap_ms"].iloc[0] == ms - 4.0
    faster = found([replay(0.5)], base + profile("torch_xla", **{PRODUCTS: 2.0}))
    assert set(faster["op_class"]) == {PRODUCTS}


def test_one_profile_that_misses_its_call_is_enough_to_doubt_the_gap():
    profiles = profile("jax", products=2.0)
    profiles += profile("torch_xla", is_consistent=False, products=4.0)
    assert not found([replay(2.0)], profiles)["profile_consistent"].any()


def test_the_cause_is_the_simplest_edit_that_closes_most():
    more = f"{EDITED}+explicit_layernorm"
    rows = [edit(more, CLOSES_MOST, 1.0), edit(EDITED, CLOSES_MOST, 0.8)]
    row = found([replay(1.5), *rows]).iloc[0]
    assert (row["cause"], row["best_edit"], row["share_closed"]) == (EDITED, more, 1.0)


def test_an_edit_that_closes_a_part_or_is_inconclusive_is_no_cause():
    rows = [edit(EDITED, CLOSES_PART, 0.3), edit("jax+transposed_weights", INCONCLUSIVE, 0.9, "torch_xla")]
    row = found([replay(1.5), *rows]).iloc[0]
    assert (row["cause"], row["best_edit"]) == ("", "jax+transposed_weights")


def test_edits_of_another_pair_compiler_or_without_data_do_not_count():
    rows = [
        edit("torchax+pretransposed_weights", CLOSES_MOST, 1.0),
        edit(EDITED, CLOSES_MOST, 1.0) | {"compiler": "jaxlib-0.10.2"},
        edit(EDITED, NO_DATA, math.nan),
    ]
    row = found([replay(1.5), *rows]).iloc[0]
    assert (row["cause"], row["best_edit"]) == ("", "")
    assert math.isnan(row["share_closed"])
