"""From how a compilation ended to its row, and to whether the program fits; the refusals are real ones."""

import re
from pathlib import Path

import pytest

from compilers import hlo_texts
from compilers.test_dump import ASSIGNMENT, ENDING
from stackwars.compilers import ahead_reference, ahead_supervisor
from stackwars.compilers.ahead_supervisor import CompilationEnd, row
from stackwars.core.launch import ExitReport

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
VERSIONS = {"jax": "1", "jaxlib": "1", "libtpu": "0"}
OPENED = [{"event": "import"}, {"event": "open", "device_kind": "TPU", "versions": VERSIONS}]
COMPILED = [*OPENED, {"event": "compile"}, {"event": "compile_end", "seconds": 1.23456}]
ACCEPTED = {"event": "accepted", "at_s": 0, "code_bytes": 50}


def came(
    tmp_path: Path, events: list[dict], usable: int = 10**6, assumed_code: int | None = None, **report
) -> dict:
    ended = ExitReport(**{"exit_code": 0, **report})
    return row(CompilationEnd(ended, events, tmp_path, assumed_code), usable)


def dumped(tmp_path: Path, text: str = hlo_texts.KNOWN) -> None:
    (tmp_path / f"module_0000.f.cl_1.{ENDING}").write_text(ASSIGNMENT)
    (tmp_path / "module_0000.f.cl_1.after_codegen.txt").write_text(text)


@pytest.mark.parametrize("end", [0, -6])
def test_a_program_that_compiled_fits_even_if_the_compiler_crashes_afterwards(tmp_path: Path, end: int) -> None:
    dumped(tmp_path)
    found = came(tmp_path, [*COMPILED, ACCEPTED], exit_code=end, usable=8742 + 50)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("ok", "fits", "compiler")
    assert found["hbm_bytes"] == 1200 + 230 + 7512 - 200
    assert found["code_bytes"] == 50
    assert found["compile_s"] == 1.235
    assert found["versions"] == VERSIONS
    assert (found["hlo"]["moment"], found["hlo"]["estimated_cycles"]) == ("codegen", 8954)


def test_bytes_decide_where_the_compiler_accepts_too_much(tmp_path: Path) -> None:
    dumped(tmp_path)
    found = came(tmp_path, [*COMPILED, ACCEPTED], usable=8742 + 49)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("ok", "oom", "bytes")


def test_a_refusal_keeps_its_message_and_what_the_dump_tells(tmp_path: Path) -> None:
    (tmp_path / f"module_0000.f.cl_1.{ENDING}").write_text(ASSIGNMENT)
    (tmp_path / "module_0000.f.cl_1.after_optimizations.txt").write_text(hlo_texts.LOOP)
    raised = {"event": "raised", "type": "JaxRuntimeError", "message": NEW}
    found = came(tmp_path, [*COMPILED, raised], exit_code=1)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("ok", "oom", "compiler")
    assert found["message"] == NEW
    assert found["hbm_bytes"] == 8742
    assert found["code_bytes"] is None
    # Before code generation the text's cycles are no estimate of anything.
    assert found["hlo"]["estimated_cycles"] is None
    assert found["hlo"]["operations_by_kind"]["fusion"] == 1


def test_a_refusal_without_a_dump_has_a_verdict_and_no_bytes(tmp_path: Path) -> None:
    raised = {"event": "raised", "type": "JaxRuntimeError", "message": LISTED}
    found = came(tmp_path, [*COMPILED, raised], exit_code=1)
    assert (found["verdict"], found["decided_by"]) == ("oom", "compiler")
    assert found["hbm_bytes"] is found["argument_bytes"] is found["hlo"] is None
    assert "no optimised HLO" in found["hlo_problem"]


@pytest.mark.parametrize(
    "message",
    [
        ON_CHIP,
        "RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes",
        "INTERNAL: no HBM layout for this operation",
    ],
)
def test_a_refusal_for_another_reason_is_an_error(tmp_path: Path, message: str) -> None:
    raised = {"event": "raised", "type": "JaxRuntimeError", "message": message}
    found = came(tmp_path, [*COMPILED, raised], exit_code=1)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("error", "", "")
    assert message in found["message"]


@pytest.mark.parametrize(
    ("report", "status", "told"),
    [
        ({"exit_code": -11, "log_tail": "F0000 stack overflow"}, "error", "-11.*stack overflow"),
        ({"exit_code": None, "not_started": "no such file"}, "error", "^no such file$"),
        ({"exit_code": -9, "timed_out": True}, "timeout", "."),
        ({"exit_code": -9, "over_cap": True}, "error", "."),
    ],
)
def test_a_compiler_that_died_has_no_verdict(tmp_path: Path, report: dict, status: str, told: str) -> None:
    found = came(tmp_path, OPENED, **report)
    assert (found["status"], found["verdict"], found["hbm_bytes"]) == (status, "", None)
    assert re.search(told, found["message"], re.DOTALL)


def test_buffers_that_do_not_fit_decide_though_the_compiler_never_finished(tmp_path: Path) -> None:
    dumped(tmp_path)
    how = {"exit_code": -9, "timed_out": True}
    found = came(tmp_path, [*OPENED, {"event": "compile"}], **how, usable=8741)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("timeout", "oom", "bytes")
    found = came(tmp_path, [*OPENED, {"event": "compile"}], **how, usable=8742)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("timeout", "", "")


def test_a_compilation_that_was_stopped_is_decided_by_its_buffers(tmp_path: Path) -> None:
    dumped(tmp_path)
    events = [*OPENED, {"event": "compile"}]
    found = came(tmp_path, events, exit_code=-9, assumed_code=10, usable=8752)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("ok", "fits", "bytes")
    assert found["code_bytes"] == 10
    found = came(tmp_path, events, exit_code=-9, assumed_code=10, usable=8751)
    assert (found["status"], found["verdict"], found["decided_by"]) == ("ok", "oom", "bytes")


def test_a_text_of_unknown_form_costs_its_counts_only(tmp_path: Path) -> None:
    dumped(tmp_path, "ENTRY %main () -> f32[] {\n  %x = nonsense\n}\n")
    found = came(tmp_path, [*COMPILED, ACCEPTED])
    assert found["verdict"] == "fits"
    assert found["hlo"] is None
    assert "not understood" in found["hlo_problem"]


def test_what_is_kept_of_a_refusal_is_text() -> None:
    kept = ahead_supervisor.first_lines(LISTED)
    assert kept.startswith("RESOURCE_EXHAUSTED")
    assert "googleapis" not in kept
    assert len(ahead_supervisor.first_lines("x" * 10_000)) == ahead_supervisor.MESSAGE_CHARACTERS


def test_without_the_usable_bytes_the_compiler_decides_unless_it_never_refuses() -> None:
    assert ahead_supervisor.decide(False, 98, 2, None) == ("fits", "compiler")
    assert ahead_supervisor.decide(False, 98, 2, 100, refuses=False) == ("fits", "bytes")
    assert ahead_supervisor.decide(False, 98, 2, None, refuses=False) == ("", "")


def test_what_is_usable_is_the_compilers_own() -> None:
    row = {"usable_hbm_bytes": {"jaxlib-1": 5}}
    assert ahead_reference.usable_bytes(row, "jaxlib-1") == 5
    assert ahead_reference.usable_bytes(row, "jaxlib-2") is None
