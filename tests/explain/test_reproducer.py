"""Reproducers: complete files whose exit status follows the fault."""

import sys

import numpy as np
import pytest

from stackwars.core.judge import Expected
from stackwars.core.types import dtype
from stackwars.explain import reproducer, standalone
from stackwars.explain.reproducer import Case


def expected(right, limit=1e-6, **more):
    values = {f"output0/{number}": np.asarray(array) for number, array in enumerate(right)}
    return Expected("hand", limits=dict.fromkeys(values, limit), values=values, **more)


def case(**changes):
    arrays = [np.array([1.5, np.inf], np.float32)]
    known = {
        "doc": "A fault.", "module": "xla", "options": {"flag": ""}, "program": "module {}",
        "types": [((2,), np.dtype(np.float32))], "arguments": arrays, "expected": expected(arrays), "results": arrays,
    }  # fmt: skip
    return Case(**{**known, **changes})


def checks(right, found=None, **more):
    """Return what is checked of one result."""
    [row] = reproducer._checks(
        case(expected=expected([right], **more), results=[right if found is None else found])
    )
    return row


@pytest.mark.parametrize(
    ("values", "right", "wrong"),
    [([1.0, 2.0], [1.0, 2.0], 0), ([1.0, 2.5], [1.0, 2.0], 1), ([1.0, 2.0 + 1e-7], [1.0, 2.0], 0),
     ([np.nan, np.inf], [np.nan, np.inf], 0), ([0.0, np.inf], [np.nan, -np.inf], 2), ([1.0, 1.0], [np.inf, 1.0], 1)],
)  # fmt: skip
def test_elements_are_compared_as_values_and_integers_must_be_equal(values, right, wrong):
    assert len(standalone.wrong_elements(np.array(values), checks(np.array(right)))) == wrong
    # Unless rounding decides an integer.
    integers, other = np.array([1, 2]), np.array([1, 3])
    assert standalone.wrong_elements(integers, checks(other, limit=1.0))
    certain = {"output0/0": np.array([True, False])}
    assert not standalone.wrong_elements(integers, checks(other, certain=certain))


def test_a_large_result_is_checked_at_elements_that_were_wrong():
    right = np.zeros((100, 100), np.float32)
    found = right.copy()
    found[7, 3:] = 1
    row = checks(right, found)
    assert len(row["at"]) == reproducer.CHECKED and row["at"][0] == 703 and row["at"][-1] == 799
    assert standalone.wrong_elements(found, row)[0] == "element [7, 3]: expected 0.0, got 1.0"
    assert not standalone.wrong_elements(right, row)


def fake(path, body):
    """Replace what compiles by a function with this body."""
    text = path.read_text()
    start, end = text.index("def compile_xla"), text.index("\n\ndef wrong_elements")
    path.write_text(f"{text[:start]}def compile_xla(program, options):\n    {body}\n\n\n{text[end:]}")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("return lambda arrays: lambda: arrays", 0, "no fault"),
        ("return lambda arrays: lambda: [arrays[0] + 1]", 1, "element [0]: expected 1.5, got 2.5"),
        ("raise RuntimeError('no such operation')", 1, "no such operation"),
        ("return lambda arrays: lambda: arrays[1]", 1, "the compiler or its runtime refuses it"),
        ("import os; os.abort()", 1, "SIGABRT"),
        ("import time; time.sleep(60)", 1, "no end after 1 s"),
        ("import no_such_package", 2, "no_such_package"),
    ],
)
def test_exit_status_says_whether_the_fault_is_there(body, status, said, tmp_path):
    path = reproducer.write(case(timeout_s=1 if "sleep" in body else 60), tmp_path)
    fake(path, body)
    found, printed = reproducer.run(path, sys.executable, 30)
    assert found == status, printed
    assert said in printed


FILES = {"reproduce.py", "reduced.mlir", "case.json", "inputs.npz"}


def test_large_data_stands_beside_the_file_and_small_data_in_it(tmp_path):
    path = reproducer.write(case(), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == FILES
    assert "np.array([1.5, inf], 'float32')" in path.read_text()
    large = [np.arange(1000, dtype=np.float32)]
    program = "module {" + " " * reproducer.TEXT + "}"
    path = reproducer.write(
        case(arguments=large, expected=expected(large), results=large, program=program), tmp_path
    )
    assert {file.name for file in tmp_path.iterdir()} == FILES
    for body, status in (
        ("return lambda arrays: lambda: [arrays[0]] if len(program) > 1000 else []", 0),
        ("return lambda arrays: lambda: [arrays[0] - 1]", 1),
    ):
        fake(path, body)
        assert reproducer.run(path, sys.executable, 30)[0] == status


def test_inputs_from_a_seed_are_those_of_the_search(tmp_path):
    types = [((3, 2), np.dtype(np.float32)), ((4,), np.dtype(np.int32)), ((), np.dtype(bool))]
    right = reproducer.seeded(types)
    path = reproducer.write(
        case(types=types, arguments=None, expected=expected(right, 0.0), results=right), tmp_path
    )
    fake(path, "return lambda arrays: lambda: arrays")
    status, printed = reproducer.run(path, sys.executable, 30)
    assert status == 0, printed
    assert "seeded([((3, 2), 'float32'), ((4,), 'int32'), ((), 'bool')])" in path.read_text()


@pytest.mark.parametrize("arguments", ["few", "many", "seeded"])
def test_element_types_that_numpy_lacks_are_named(arguments, tmp_path):
    kinds = [dtype(f"tensor<{name}>") for name in ("bf16", "f8E4M3FN", "i4")]
    count = 3 if arguments == "few" else 1000
    types = [((count,), kind) for kind in kinds]
    right = reproducer.seeded(types)
    given = None if arguments == "seeded" else right
    path = reproducer.write(
        case(types=types, arguments=given, expected=expected(right, 0.0), results=right), tmp_path
    )
    fake(path, "return lambda arrays: lambda: arrays if [a.dtype.name for a in arrays] == NAMES else []")
    path.write_text(path.read_text().replace("HERE =", f"NAMES = {[kind.name for kind in kinds]}\nHERE =", 1))
    status, printed = reproducer.run(path, sys.executable, 30)
    assert status == 0, printed
