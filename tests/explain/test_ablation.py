"""Flags and passes: which are tried, and how an outcome is told."""

from dataclasses import replace

import numpy as np
import pytest

from explain.faulty import PRODUCTS
from explain.pairs import xla
from stackwars.core.judge import Expected
from stackwars.explain import ablation
from stackwars.explain.ablation import YNN, cures, passes_of
from stackwars.explain.answer import Variant

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
    return Variant(variant, variant, outcome, None, None, True)


def test_cures_start_with_the_most_particular():
    rows = [
        row("base", "wrong"),
        row(f"{YNN}="),
        row(f"{YNN}=LIBRARY_FUSION_TYPE_DOT"),
        row("a=1"),
        row("b=1", "crash"),
    ]
    rows += [row(f"{ablation.ALL_OFF}=True"), row("-fusion"), row("-dce", "wrong")]
    # A flag that allows other values is no cure.
    rows += [row("xla_cpu_enable_fast_math=True")]
    assert cures(rows) == [f"{YNN}=", "-fusion", "a=1", f"{ablation.ALL_OFF}=True"]


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
    spec = replace(xla("0.10.2"), options={YNN: ""})
    rows = ablation.ablate(spec, PRODUCTS, [np.ones((2, 1, 2, 2, 8, 8, 8), np.float32)] * 2, seconds=0.01)
    found = {row.variant: row for row in rows}
    assert list(found)[:3] == ["base", crash, "xla_backend_optimization_level=0"]
    assert "xla_no_such=1" not in found
    assert found[crash].outcome == "crash" and found[crash].ratio is None
    assert found["base"].ratio == 1.0 and not found["base"].changed
    others = [row for row in rows if row.variant != crash]
    assert {row.outcome for row in others} == {"ok"}
    assert all((row.ratio is not None) == (row.changed or not row.variant.startswith("-")) for row in others)
    assert any(row.changed for row in others) and any(not row.changed for row in others)


@pytest.mark.env
def test_values_are_judged_by_the_expected_ones_or_by_those_without_a_flag(monkeypatch):
    monkeypatch.setattr(ablation, "XLA_FLAGS", [(YNN, "")])
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}"
    values, spec = np.ones(4, np.float32), xla("0.10.2")
    wrong = Expected("hand", limits={"output0": 1e-6}, values={"output0": values + 1})
    for expected, outcome in ((None, "ok"), (wrong, "wrong"), (Expected(reason="unknown"), "not judged")):
        rows = ablation.ablate(spec, text, [values], expected, seconds=0)
        assert {row.outcome for row in rows} == {outcome}
