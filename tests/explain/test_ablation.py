"""Flags and passes: which are tried, and how an outcome is told."""

import pytest

from stackwars.explain import ablation
from stackwars.explain.ablation import YNN, cures, passes_of

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
