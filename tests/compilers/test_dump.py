"""What is read from a dump; the lines are those of both generations."""

from pathlib import Path

from stackwars.compilers import dump

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


def test_buffers_are_those_in_main_memory(tmp_path: Path) -> None:
    (tmp_path / f"module_0001.jit_f.cl_1.{ENDING}").write_text(ASSIGNMENT)
    found = dump.buffers(tmp_path)
    assert found == dump.Buffers(argument=1200, output=230, temp=7512, alias=200)
    assert found.hbm == 1000 + 200 + 30 + 512 + 7000


def test_the_program_is_the_first_module(tmp_path: Path) -> None:
    (tmp_path / f"module_0010.part.cl_1.{ENDING}").write_text(ASSIGNMENT)
    text = "allocation 0: size 8, page 0, parameter 0, shape |f32[2]| at ShapeIndex {}:\n"
    (tmp_path / f"module_0002.jit_f.cl_1.{ENDING}").write_text(text)
    assert dump.buffers(tmp_path).hbm == 8


def test_the_text_after_code_generation_is_preferred(tmp_path: Path) -> None:
    assert dump.optimised_hlo(tmp_path) == (None, "")
    (tmp_path / "module_0000.f.after_optimizations.txt").write_text("early")
    assert dump.optimised_hlo(tmp_path) == ("early", "optimised")
    (tmp_path / "module_0000.f.after_codegen.txt").write_text("late")
    assert dump.optimised_hlo(tmp_path) == ("late", "codegen")


def test_a_gpus_files_carry_its_name(tmp_path: Path) -> None:
    (tmp_path / f"module_0001.jit_f.sm_9.0a_gpu_{ENDING}").write_text(ASSIGNMENT)
    (tmp_path / "module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt").write_text("gpu")
    assert dump.buffers(tmp_path).hbm == 8742
    assert dump.optimised_hlo(tmp_path) == ("gpu", "optimised")


def test_a_part_that_is_done_first_is_not_the_program(tmp_path: Path) -> None:
    for name in (ENDING, "after_optimizations.txt"):
        (tmp_path / f"module_0002.extracted.cl_1.{name}").write_text(ASSIGNMENT)
    (tmp_path / "module_0000.jit_f.cl_1.before_optimizations.txt").write_text("")
    assert not dump.buffers_assigned(tmp_path)
    assert dump.buffers(tmp_path) is None
    assert dump.optimised_hlo(tmp_path) == (None, "")
    for name in (ENDING, "after_optimizations.txt"):
        (tmp_path / f"module_0000.jit_f.cl_1.{name}").write_text(ASSIGNMENT)
    assert dump.buffers_assigned(tmp_path)


def test_a_program_that_gets_another_number_once_optimised_is_found(tmp_path: Path) -> None:
    (tmp_path / "module_0001.f.cl_1.before_optimizations.txt").write_text("")
    (tmp_path / f"module_0003.f.cl_1.{ENDING}").write_text(ASSIGNMENT)
    (tmp_path / "module_0003.f.cl_1.after_codegen.txt").write_text("optimised")
    assert dump.optimised_hlo(tmp_path) == ("optimised", "codegen")
    assert dump.buffers(tmp_path) is not None
