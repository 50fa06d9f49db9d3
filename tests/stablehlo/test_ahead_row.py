"""From how a compilation ended to its row, and to whether the program fits; the refusals are real ones."""

import re
from pathlib import Path

import pytest

from stablehlo import hlo_texts
from stackwars.core.launch import ExitReport
from stackwars.measure.stablehlo import ahead_supervisor
from stackwars.measure.stablehlo.ahead_supervisor import CompilationEnd, row

ASSIGNMENT = """\
BufferAssignment:
allocation 0: size 512, page 0, thread-local:
 value: <5 reduce.1 @0> (size=4,offset=0): f32[]
allocation 1: size 1000, page 0, parameter 4, shape |f32[250]| at ShapeIndex {}:
 value: <1 Arg_4.1 @0> (size=1000,offset=0): f32[250]
allocation 2: size 200, page 0, parameter 0, shape |f32[50]| at ShapeIndex {}, maybe-live-out:
allocation 3: size 30, page 0, output shape is |f32[7]|, maybe-live-out:
allocation 4: size 512, page 0, constant:
allocation 5: size 7000, page 0, preallocated-temp:
allocation 6: size 40000, color 1, page 0, preallocated-temp:
allocation 7: size 76, color 2, preallocated-temp:

Total bytes used: 49330 (48.2KiB)
"""
ENDING = "after_optimizations-buffer-assignment.txt"
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
    bytes_ = {name: found[f"{name}_bytes"] for name in ("argument", "output", "temp", "alias", "hbm")}
    assert bytes_ == {"argument": 1200, "output": 230, "temp": 7512, "alias": 200, "hbm": 8742}
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
    assert found["message"].startswith("RESOURCE_EXHAUSTED") and "googleapis" not in found["message"]
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


def test_without_the_usable_bytes_the_compiler_decides_unless_it_never_refuses() -> None:
    assert ahead_supervisor.decide(False, 98, 2, None) == ("fits", "compiler")
    assert ahead_supervisor.decide(False, 98, 2, 100, refuses=False) == ("fits", "bytes")
    assert ahead_supervisor.decide(False, 98, 2, None, refuses=False) == ("", "")


EIGHT = "allocation 0: size 8, page 0, parameter 0, shape |f32[2]| at ShapeIndex {}:\n"
FILES = {
    "none": ({}, None, (None, "")),
    "first module": ({f"0010.part.cl_1.{ENDING}": ASSIGNMENT, f"0002.jit_f.cl_1.{ENDING}": EIGHT}, 8, (None, "")),
    "before code generation": ({"0000.f.after_optimizations.txt": "early"}, None, ("early", "optimised")),
    "after code generation": (
        {"0000.f.after_optimizations.txt": "early", "0000.f.after_codegen.txt": "late"}, None, ("late", "codegen")),
    "of a GPU": (
        {f"0001.jit_f.sm_9.0a_gpu_{ENDING}": ASSIGNMENT, "0001.jit_f.sm_9.0a_gpu_after_optimizations.txt": "gpu"},
        8742, ("gpu", "optimised")),
    "of a part that is done first": (
        {f"0002.extracted.cl_1.{ENDING}": ASSIGNMENT, "0002.extracted.cl_1.after_optimizations.txt": "part",
         "0000.jit_f.cl_1.before_optimizations.txt": ""}, None, (None, "")),
    "of another number once optimised": (
        {"0001.f.cl_1.before_optimizations.txt": "", f"0003.f.cl_1.{ENDING}": ASSIGNMENT,
         "0003.f.cl_1.after_codegen.txt": "optimised"}, 8742, ("optimised", "codegen")),
}  # fmt: skip
"""{case: (files by name without `module_`, bytes of the program's buffers, text and moment)}."""


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_dump_are_those_of_the_program(tmp_path: Path, name: str) -> None:
    files, size, text = FILES[name]
    for file, content in files.items():
        (tmp_path / f"module_{file}").write_text(content)
    found = ahead_supervisor.buffers(tmp_path)
    assert (found and found.hbm, ahead_supervisor.optimised_hlo(tmp_path)) == (size, text)
    assert ahead_supervisor.buffers_assigned(tmp_path) == (name == "of a GPU")
