"""Flags and passes: which are tried, and how an outcome is told."""

import numpy as np
import pytest

from explain.faulty import PRODUCTS
from stackwars.explain import ablation
from stackwars.explain.ablation import YNN, cures, passes_of
from stackwars.explain.workers import CompilerSpec
from stackwars.setup.environments import REPOSITORY

DUMPS = [
    "module_0001.jit_f.0000.sharding-removal.after_pipeline-start.before_flatten-call-graph.txt",
    "module_0001.jit_f.0004.simplification.after_algsimp.before_simplify-sorts.txt",
    "module_0001.jit_f.0005.simplification.after_algsimp.before_pipeline-end.txt",
    "module_0001.jit_f.0020.copy-insertion.after_adding_special-case_copies.txt",
    "module_0001.jit_f.0021.HLO_passes.after_copy-insertion.before_small-while-loop-hoisting.txt",
    "module_0001.jit_f.before_optimizations.txt",
    "module_0001.jit_f.cpu_after_optimizations.txt",
    "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt",
    "module_0001.jit_f.debug_options",
]


def test_passes_are_those_that_changed_the_program_and_then_those_that_ran_next():
    changed, others = passes_of(DUMPS)
    assert changed == ["algsimp", "copy-insertion"]
    assert others == ["flatten-call-graph", "simplify-sorts", "small-while-loop-hoisting"]


def row(variant, outcome="ok"):
    return {"variant": variant, "flag": variant, "outcome": outcome}


def test_cures_start_with_the_most_particular():
    rows = [
        row("base", "wrong"),
        row(f"{YNN}="),
        row(f"{YNN}=LIBRARY_FUSION_TYPE_DOT"),
        row("a=1"),
        row("b=1", "crash"),
    ]
    rows += [row(f"{ablation.ALL_OFF}=True"), row("-fusion"), row("-dce", "wrong")]
    assert [one["flag"] for one in cures(rows)] == [f"{YNN}=", "-fusion", "a=1", f"{ablation.ALL_OFF}=True"]


@pytest.mark.parametrize(
    "said",
    [
        "INVALID_ARGUMENT: No such compile option: 'xla_x'",
        "iree-compile: Unknown command line argument '--iree-x=1'.",
        "'-x' is not a valid enum value.",
    ],
)
def test_a_flag_that_the_release_does_not_have_is_told_from_a_refusal(said):
    assert ablation.UNKNOWN_FLAG.search(said)
    assert not ablation.UNKNOWN_FLAG.search("UNIMPLEMENTED: HLO opcode `scatter` is not supported")


@pytest.mark.env
def test_every_variant_has_an_outcome_and_a_time_although_one_ends_its_process(monkeypatch):
    crash = f"{YNN}=LIBRARY_FUSION_TYPE_REDUCE"
    flags = [(YNN, "LIBRARY_FUSION_TYPE_REDUCE"), ("xla_backend_optimization_level", "0"), ("xla_no_such", "1")]
    monkeypatch.setattr(ablation, "XLA_FLAGS", flags)
    spec = CompilerSpec("it", options={YNN: ""}, pins=str(REPOSITORY / "envs" / "xla-0.10.2.txt"))
    rows = ablation.ablate(spec, PRODUCTS, [np.ones((2, 1, 2, 2, 8, 8, 8), np.float32)] * 2, seconds=0.01)
    found = {row["variant"]: row for row in rows}
    assert list(found)[:3] == ["base", crash, "xla_backend_optimization_level=0"]
    assert "xla_no_such=1" not in found
    assert found[crash]["outcome"] == "crash" and found[crash]["ratio"] is None
    assert found["base"]["ratio"] == 1.0 and not found["base"]["changed"]
    left = [row for row in rows if row["variant"] != crash]
    assert {row["outcome"] for row in left} == {"ok"}
    assert all(
        (row["ratio"] is not None) == (row["changed"] or not row["variant"].startswith("-")) for row in left
    )
    assert any(row["changed"] for row in left) and any(not row["changed"] for row in left)
