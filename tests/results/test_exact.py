"""Rows of comparisons.csv of what is counted, not timed."""

import json

import pytest

from made_tables import cell, compared, only, program, word
from stackwars.core.hlo import COLLECTIVES

PAIRS = [{"subject": name, "baseline": "jax", "compare": ["programs"]} for name in ("torch_xla", "torch_tpu")]


def both(one: dict, base: dict, **columns) -> list[dict]:
    """The programs of both frameworks, with what each has and what both have."""
    return [program("jax", **columns, **base), program("torch_xla", **columns, **one)]


@pytest.mark.parametrize(("form", "jax", "torch", "verdict"), [
    ("flattening", "preserved", "flattened", "as claimed"),
    ("flattening", "flattened", "preserved", "not as claimed"),
    ("layernorm", "fine-grained", "both", "not as claimed"),
    ("qkv", "combined", "separate", "as claimed"),  # nothing is claimed of PyTorch
    ("contraction", "explicit", "prepared", "as claimed"),
    ("contraction", "explicit", "not applicable", None),
    ("contraction", "no program", "prepared", None),
])  # fmt: skip
def test_structure_is_judged_by_what_the_original_says_of_both_frameworks(form, jax, torch, verdict):
    table = compared(programs=both({form: torch}, {form: jax}))
    assert word(table, "structure", variant=form) == verdict
    assert verdict is None or only(table, quantity="structure")["detail"] == f"{jax}; {torch}"


@pytest.mark.parametrize(("form", "jax", "torch", "third", "verdict"), [
    ("flattening", "preserved", "flattened", "flattened", "as the subject's"),
    ("flattening", "preserved", "flattened", "preserved", "as the baseline's"),
    ("flattening", "preserved", "flattened", "both", "as neither's"),
    ("flattening", "both", "both", "both", None),  # products tell the two apart, or nothing
    ("layernorm", "fine-grained", "fine-grained", "fine-grained", "as both"),
    ("layernorm", "not applicable", "high-level", "high-level", None),
])  # fmt: skip
def test_a_third_program_is_like_one_of_the_first_two(form, jax, torch, third, verdict):
    programs = [*both({form: torch}, {form: jax}), program("torch_tpu", **{form: third})]
    assert word(compared(programs=programs, comparisons=PAIRS), "likeness") == verdict


def collectives(**counts: int) -> str:
    return json.dumps({**dict.fromkeys(COLLECTIVES, 0), "bytes": 8, **counts})


@pytest.mark.parametrize(("count", "verdict"), [(1, "same"), (3, "different")])
def test_programs_divided_among_devices_are_compared_by_the_collectives_of_each_kind(count, verdict):
    texts = {
        name: {"collectives": collectives(all_reduce=n, bytes=64 * n)}
        for name, n in {"jax": 1, "jax_shard_map": 7, "torch_xla": count}.items()
    }
    cells = [cell(name, mode="sharded", size="tensor", value=4, **one) for name, one in texts.items()]
    found = only(compared(cells), quantity="collectives")
    assert (found["verdict"], found["ratio"], found["detail"]) == (verdict, count, f"{count} and 1")
    assert tuple(found[["subject", "device", "variant"]]) == ("torch_xla", "cpu", "tensor4")
    # Another kind, as often: not the same.
    cells[2] |= {"collectives": collectives(all_gather=1)}
    assert word(compared(cells), "collectives") == "different"
    # Likewise among the chips of a slice.
    sides = both(texts["torch_xla"], texts["jax"], target="tpu-v6e-4", variant="tensor4", devices=4)
    found = only(compared(programs=sides))
    assert tuple(found[["quantity", "device", "variant"]]) == ("collectives", "tpu-v6e-4", "tensor4")
    assert found["verdict"] == verdict
    for none in ({"devices": 1}, {"collectives": ""}):
        assert compared(programs=[side | none for side in sides]).empty
