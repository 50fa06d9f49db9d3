"""What a run plans so that values can be judged: programs, expected values and checks come before what is measured."""

import re

import pytest

import study
from checkout import copy_checkout

pytestmark = pytest.mark.slow
SMOKE = ("--config", "preset=smoke")
CELL = "results/smoke/cpu/jax/gemm/cell.json"
REPLAY = "results/smoke/replay/cpu/jaxlib-0.10.2/gemm/replay.json"


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
    package = finished.folder / "src" / "stackwars" / "measure"
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
    package = finished.folder / "src" / "stackwars" / "measure"
    # Of a GEMM, AdamW trains nothing.
    study.write(package / "workloads" / "adamw.py", "\nEDITED = True\n")
    assert finished.plan(REPLAY, *SMOKE)[0] == {}
    study.write(package / "stablehlo" / "lower_torch_xla.py", "\nEDITED = True\n")
    planned, _ = finished.plan(REPLAY, *SMOKE)
    assert planned["lower"] == planned["replay"] == 1
    # The program is replayed in the rounds of the cells, too.
    assert planned["check"] == planned["cell"] == 2
    # The expected values are of the baseline's program, which is as it was.
    assert not {"expected", "process", "peak"} & set(planned)
