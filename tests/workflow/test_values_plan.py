"""What a run plans so that values can be judged: programs, expected values and checks come before what is measured."""

import re

import pytest

import study
from checkout import copy_checkout

pytestmark = pytest.mark.slow
SMOKE = ("--config", "preset=smoke")
CELL = "results/smoke/cpu/jax/gemm/cell.json"
REPLAY = "results/smoke/replay/cpu/jaxlib-0.10.2/gemm/replay.json"


def test_a_cell_waits_for_the_baseline_s_program_and_its_expected_values(checkout):
    planned, text = checkout.plan(CELL, *SMOKE)
    # It is measured in the rounds of torch_xla's cell, in which a replay of both programs takes part.
    assert planned == {"lower": 2, "expected": 1, "check": 1, "cell": 2, "total": 6}
    assert "programs/jax/gemm/base/program.mlir.gz" in text
    assert re.search(r"rule cell:\n +input: .*results/smoke/expected/gemm/base/expected.json", text)


def test_a_replay_waits_for_the_check_of_its_programs(checkout):
    planned, text = checkout.plan(REPLAY, *SMOKE)
    wanted = {"lower": 2, "expected": 1, "check": 2, "replay": 1}
    assert {rule: planned[rule] for rule in wanted} == wanted
    path = "results/smoke/checks/jaxlib-0.10.2/gemm/base/check.json"
    assert re.search(rf"rule replay:\n +input: .*{path}", text)
    # A check is of both frontends, and reads the expected values.
    read = re.search(r"rule check:\n +input: (.*)", text)[1]
    assert {"jax", "torch_xla"} == set(re.findall(r"programs/(\w+)/gemm/base/program.mlir.gz", read))
    assert "results/smoke/expected/gemm/base/expected.npz" in read


def test_an_odd_size_plans_its_own_programs_and_no_measurement(checkout):
    target = "results/full-values/checks/iree-3.13/gemm/odd1/check.json"
    planned, text = checkout.plan(target, "--config", "measure=[values]")
    assert planned == {"lower": 6, "expected": 1, "check": 1, "total": 8}
    assert set(re.findall(r"programs/\w+/gemm/(\w+)/program", text)) == {"odd1"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A checkout in which files stand for everything that a replay needs, recorded as a run records its results."""
    made = study.Study(copy_checkout(tmp_path_factory.mktemp("finished")))
    for line in re.findall(r"output: (.*)", made.plan(REPLAY, *SMOKE)[1]):
        for path in line.split(", "):
            file = made.folder / re.sub(r" \(.*", "", path)
            (file.parent if "." in file.name else file).mkdir(parents=True, exist_ok=True)
            if "." in file.name:
                file.write_text("{}")
    made.run(REPLAY, "--touch", "--forceall", *SMOKE)
    assert made.plan(REPLAY, *SMOKE)[0] == {}
    return made


def test_an_edit_of_prose_titles_and_colours_measures_nothing_again(finished):
    package = finished.folder / "src" / "stackwars"
    for name in (
        "workloads/gemm",
        "workloads/base",
        "workloads/adamw",
        "frameworks/__init__",
        "frameworks/jax",
    ):
        text = (package / f"{name}.py").read_text()
        (package / f"{name}.py").write_text(text.replace('"""', '"""Another word. ', 1) + "# A remark.\n")
    for name, old, new in (
        ("frameworks/jax", 'COLOUR = "#14213d"', 'COLOUR = "#14213e"'),
        ("frameworks/torch_xla", "TITLE = ", 'TITLE = "Another " + '),
        ("workloads/gemm", '"GEMM", "I", 10', '"Product", "II", 11'),
    ):
        text = (package / f"{name}.py").read_text()
        assert text.count(old) == 1
        (package / f"{name}.py").write_text(text.replace(old, new))
    assert finished.plan(REPLAY, *SMOKE)[0] == {}


def test_an_edit_of_an_expression_measures_again_what_uses_it_alone(finished):
    package = finished.folder / "src" / "stackwars"
    # Of a GEMM, AdamW trains nothing.
    study.write(package / "workloads" / "adamw.py", "\nEDITED = True\n")
    assert finished.plan(REPLAY, *SMOKE)[0] == {}
    study.write(package / "compilers" / "lower_torch_xla.py", "\nEDITED = True\n")
    planned, _ = finished.plan(REPLAY, *SMOKE)
    assert planned["lower"] == planned["replay"] == 1
    # The program is replayed in the rounds of the cells, too.
    assert planned["check"] == planned["cell"] == 2
    # The expected values are of the baseline's program, which is as it was.
    assert not {"expected", "process", "peak"} & set(planned)
