"""Who decides whether a program fits; the refusals are what the compilers printed."""

from __future__ import annotations

import pytest

from stackwars.compilers import memory_verdict

GIB, MIB = 2**30, 2**20
NEW = """RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required \
for HLO temporaries (32.26G) exceeds available HBM (31.24G). HLO module: jit_model_function.
See https://openxla.org/xla/errors/error_1000 for more details."""
LISTED = """RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. \
Used 70.00G of 31.25G hbm. Exceeded hbm capacity by 38.75G.

Total hbm usage >= 70.25G:
    reserved        260.00M 
    program         unknown size 
    arguments        70.00G 

Output size 70.00G; shares 1.5K with arguments.

Program hbm requirement 0B:
 [type.googleapis.com/tensorflow.tpu.CompilationResultProto='\\x08\\x08']"""
ON_CHIP = (
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 130.00M of 128.00M vmem. "
    "Exceeded vmem capacity by 2.00M."
)


def test_a_refusal_for_hbm_is_told_from_others() -> None:
    assert memory_verdict.refused_for_memory(NEW)
    assert memory_verdict.refused_for_memory(LISTED)
    assert not memory_verdict.refused_for_memory(ON_CHIP)
    assert not memory_verdict.refused_for_memory("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes")
    assert not memory_verdict.refused_for_memory("INTERNAL: no HBM layout for this operation")


def test_the_figures_of_a_refusal() -> None:
    assert memory_verdict.figures(NEW) == {
        "needed": round(32.26 * GIB),
        "available": round(31.24 * GIB),
    }
    assert memory_verdict.figures(LISTED) == {
        "needed": 70 * GIB,
        "available": round(31.25 * GIB),
        "exceeded": round(38.75 * GIB),
        "reserved": 260 * MIB,
        "argument": 70 * GIB,
        "output": 70 * GIB,
        "alias": 1536,
    }
    assert memory_verdict.figures("INTERNAL: something else") == {}


def test_what_is_kept_of_a_refusal_is_text() -> None:
    kept = memory_verdict.first_lines(LISTED)
    assert kept.startswith("RESOURCE_EXHAUSTED")
    assert "googleapis" not in kept
    assert len(memory_verdict.first_lines("x" * 10_000)) == memory_verdict.MESSAGE_CHARACTERS


@pytest.mark.parametrize(
    ("refused", "hbm", "code", "usable", "decision"),
    [
        (True, None, 0, 100, ("oom", "compiler")),
        (True, 90, 0, 100, ("oom", "compiler")),  # a refusal stands, whatever the bytes
        (False, 101, 0, 100, ("oom", "bytes")),
        (False, 99, 2, 100, ("oom", "bytes")),  # code lives there too
        (False, 98, 2, 100, ("fits", "compiler")),
        (False, 98, 2, None, ("fits", "compiler")),
        (False, None, 0, 100, ("", "")),
    ],
)
def test_the_rule(refused, hbm, code, usable, decision) -> None:
    assert memory_verdict.decide(refused, hbm, code, usable) == decision


def test_a_compiler_that_never_refuses_decides_nothing() -> None:
    assert memory_verdict.decide(False, 98, 2, 100, refuses=False) == ("fits", "bytes")
    assert memory_verdict.decide(False, 98, 2, None, refuses=False) == ("", "")


def test_what_is_usable_is_the_compilers_own() -> None:
    row = {"usable_hbm_bytes": {"jaxlib-1": 5}}
    assert memory_verdict.usable_bytes(row, "jaxlib-1") == 5
    assert memory_verdict.usable_bytes(row, "jaxlib-2") is None
