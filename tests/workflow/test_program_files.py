"""A program file is executed in a child first, and nothing that it does ends or blocks the command."""

from pathlib import Path

import pytest

from running import python
from stackwars.explain.files import BadInput
from stackwars.study.workflow import program_files

FILE = '''"""Twice."""
def inputs(rows=8):
    return {"x": (rows, 4)}
def jax(x):
    return 2 * x
'''


def load(folder: Path, text: str, name: str = "twice.py"):
    """Write a program file and load it."""
    path = folder / name
    path.write_text(text)
    return program_files.load(str(path), 2025, timeout_s=3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("while True: pass", "twice.py:6: expected a file that loads within 3 s, got no end"),
        ("import sys; sys.exit(3)", "twice.py:6: expected a file that loads and draws its inputs, got SystemExit: 3"),
        ("import os; os._exit(0)", "twice.py:1: expected a file that loads and draws its inputs, got a process that"),
        ("input()", "twice.py:6: expected a file that can be imported with NumPy and the standard library alone, "
                    "got EOFError"),
        ("import numpy; numpy.ones(20_000_000_000)", "got MemoryError: Unable to allocate 149"),
        ("raise KeyboardInterrupt", "twice.py:6: expected a file that loads and draws its inputs, got KeyboardInterr"),
        ("import ctypes; ctypes.string_at(0)", "twice.py:6: expected a file that loads and draws its inputs, got"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_load_is_one_line(tmp_path, text, expected):
    with pytest.raises(BadInput) as refused:
        load(tmp_path, f"{FILE}{text}\n")
    assert expected in str(refused.value) and "; fix: " in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("while True: pass", "twice.py:3: expected a file that loads within 3 s, got no end"),
        ("raise SystemExit", "twice.py:3: inputs() failed: SystemExit"),
        ('return {"x": (200_000, 200_000)}', "Unable to allocate 149"),
        ('return {"x": __import__("numpy").zeros(3, complex)}', "expected x to have one of the types"),
    ],
)
def test_inputs_that_cannot_be_drawn_are_one_line(tmp_path, body, expected):
    with pytest.raises(BadInput, match=r"^twice.py:\d+: ") as refused:
        load(tmp_path, FILE.replace('return {"x": (rows, 4)}', body))
    assert expected in str(refused.value) and "\n" not in str(refused.value)


def test_what_a_file_prints_is_not_in_the_output(tmp_path):
    (tmp_path / "x.py").write_text(f"{FILE.replace('    return {', '    print(1); return {')}print(2)\n")
    code = (
        "from stackwars.study.workflow import program_files\n"
        f"loaded = program_files.load({str(tmp_path / 'x.py')!r}, 0)\n"
        "print(loaded.inputs({'rows': 2}, 0)['x'].shape)"
    )
    done = python("-c", code)
    assert (done.stdout, done.stderr) == ("(2, 4)\n", "")


@pytest.mark.env
@pytest.mark.slow
def test_what_functions_do_is_an_outcome(tmp_path):
    text = FILE.replace("    return 2 * x", "    print(1); raise SystemExit(0)")
    (tmp_path / "wild.py").write_text(f"{text}def numpy(x):\n    input()\n")
    chosen = ("--compilers", "jaxlib-0.10.2", "--frontends", "jax,numpy")
    done = python("-m", "stackwars.study.workflow.explain", "wild.py", *chosen, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    shown = " ".join(done.stdout.split())
    assert "no program: jax: jax does not lower it: wild.py:5: SystemExit: 0" in shown
    assert "error: numpy: EOFError" in shown and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ['it\'s "a" b.py', "{x},y.z.py", "größe.py", "$HOME.py"])
def test_names_of_files_are_free(tmp_path, name):
    assert load(tmp_path, FILE, name).TITLE == "Twice"
