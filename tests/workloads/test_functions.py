"""Workloads that are one file of functions."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from stackwars.measure import workloads
from stackwars.measure.workloads import functions, values
from stackwars.measure.workloads.base import ProgramFileError

PROGRAMS = Path(__file__).parent / "programs"
SOFTMAX = Path(__file__).parents[2] / "docs" / "examples" / "softmax.py"
GOOD = '''"""Adds, with a title."""
import numpy as np


def inputs(rows=3, width=4):
    return {"x": (rows, width), "y": (width,)}


def jax(x, y):
    return x + y


def torch(x, y):
    return x + y


def numpy(x, y):
    return x + y
'''


def written(folder: Path, text: str) -> Path:
    path = folder / "adds.py"
    path.write_text(text)
    return path


def test_a_path_is_a_workload_that_declares_nothing_more(tmp_path):
    module = workloads.load(str(written(tmp_path, GOOD)))
    assert (module.TITLE, module.TABLE, module.DEFAULTS) == (
        "Adds, with a title",
        "other",
        {"rows": 3, "width": 4},
    )
    assert list(module.SIZES) == ["rows", "width"]
    assert module.INPUTS == {"x": (3, 4), "y": (4,)}
    assert module.NO_FORM == {"tensorflow": "adds.py has no function tensorflow"}
    assert (module.items({"rows": 9, "width": 4}), module.flops({"rows": 9, "width": 4})) == (9, 0)
    given = module.inputs({"rows": 2, "width": 5}, 7)
    assert given["x"].shape == (2, 5) and given["x"].dtype == np.float32
    (first, second), _ = module.expected({"rows": 2, "width": 5}, 7)
    assert first.dtype == np.float64 and not np.array_equal(first, second)
    np.testing.assert_allclose(first, given["x"] + given["y"], rtol=1e-6)


def test_a_file_that_changes_is_read_again(tmp_path):
    path = written(tmp_path, GOOD)
    first = workloads.load(str(path))
    assert workloads.load(str(path)) is first
    path.write_text(GOOD.replace("rows=3", "rows=5"))
    os.utime(path, (1, 1))
    assert workloads.load(str(path)).DEFAULTS["rows"] == 5


def test_a_file_of_the_package_is_a_workload_under_its_name(tmp_path, monkeypatch):
    written(tmp_path, f"{GOOD}\n\nORDER = 15\n\n\ndef flops(rows, width):\n    return 2 * rows * width\n")
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(tmp_path)])
    module = workloads.load("adds")
    assert module.flops({"rows": 3, "width": 4}) == 24
    assert workloads.names()[:3] == ["gemm", "adds", "ffn"] and module.ORDER == 15
    sources = workloads.sources("adds", "torch")
    assert sources == [
        "stackwars.measure.workloads.adds",
        "stackwars.measure.workloads.functions",
        "stackwars.measure.workloads.in_torch",
    ]


def test_forms_are_built_as_of_any_workload():
    module = workloads.load(str(SOFTMAX))
    weights, function = workloads.build(module, "numpy")({"rows": 2, "width": 3}, 0, np.array)
    found = function(weights, np.zeros((2, 3), np.float32))
    np.testing.assert_allclose(found, np.full((2, 3), 1 / 3), rtol=1e-6)
    missing = workloads.load(str(PROGRAMS / "layer.py"))
    with pytest.raises(NotImplementedError, match=r"layer.py has no function numpy"):
        workloads.build(missing, "numpy")({}, 0, None)
    assert not missing.has_reference and missing.expected(missing.DEFAULTS, 0) is None


def test_inputs_have_the_types_that_the_file_says():
    module = workloads.load(str(PROGRAMS / "mixed.py"))
    given, other = (module.inputs({"rows": 300, "width": 8}, seed) for seed in (1, 2))
    types = {
        name: "bfloat16" if isinstance(one, values.BFloat16) else one.dtype.name for name, one in given.items()
    }
    assert types == {
        **{"x": "bfloat16", "index": "int32", "keep": "bool", "bits": "uint32"},
        **{"half": "float16", "scale": "float32"},
    }
    assert {*given["index"].tolist()} == {*range(8)} and {*given["keep"].ravel().tolist()} == {True, False}
    assert given["bits"].max() > 2**30
    assert all(not np.array_equal(given[name], other[name]) for name in given)
    outputs, _ = module.expected({"rows": 3, "width": 2}, 1)
    assert [one.dtype.kind for one in outputs[0]] == ["f", "i", "f", "u", "b"]


def test_values_of_bfloat16_are_rounded_to_nearest_even():
    # Halfway between two neighbours, a little more, and what has no neighbour.
    given = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -1 - 2**-8, np.inf, np.nan, 0], np.float32)
    found = values.bfloat16(given)
    np.testing.assert_array_equal(found, [1, 1 + 2**-6, 1 + 2**-7, -1, np.inf, np.nan, 0])


def test_arrays_are_taken_as_they_are_and_drawn_again_only_with_rng(tmp_path):
    module = workloads.load(str(PROGRAMS / "wide.py"))
    first, second = (module.inputs({"count": 4}, seed) for seed in (0, 1))
    assert first["whole"].tolist() == [2**40 + i for i in range(4)] == second["whole"].tolist()
    assert first["drawn"].dtype == np.int64 and not np.array_equal(first["drawn"], second["drawn"])
    assert first["x"].dtype == np.float64 and module.SETS_DIFFER
    fixed = GOOD.replace("(rows, width)", "np.ones((rows, width))").replace(
        "(width,)", "np.ones(width, np.int8)"
    )
    assert not workloads.load(str(written(tmp_path, fixed))).SETS_DIFFER


@pytest.mark.parametrize("name", ["inputs", "INPUTS"])
def test_inputs_may_be_a_file_of_arrays(tmp_path, name):
    arrays = {"x": np.ones((2, 3), np.float32), "y": np.arange(3, dtype=np.int8)}
    np.savez(tmp_path / "given.npz", **arrays)
    text = re.sub(r"def inputs.*?\n\n", f'{name} = "given.npz"\n\n', GOOD, flags=re.DOTALL)
    module = workloads.load(str(written(tmp_path, text)))
    assert module.DEFAULTS == {} and module.items({}) == 1 and module.SIZES == {}
    for key, array in module.inputs({}, 0).items():
        np.testing.assert_array_equal(array, arrays[key])


MISTAKES = {
    "no inputs": (("def inputs", "def input"), r"adds.py:1: expected a function inputs\(\), got none; fix: def"),
    "neither": (("def jax", "def jx"), None),
    "no default": (("rows=3", "rows"), r"adds.py:5: expected every parameter of .* a size with a default"),
    "no number": (("rows=3", 'rows="3"'), r"adds.py:5: expected the size rows .* a whole number, got '3'"),
    "import": (("import numpy as np", "import no_such_framework"),
               r"adds.py:2: expected a file that .* got ModuleNotFoundError: No module named 'no_such_framework'; "
               "fix: import frameworks inside"),
    "syntax": (("return x + y", "return x +"), r"adds.py:10: expected a file that .*SyntaxError"),
    "raises": (("import numpy as np", "import numpy as np\n\n1 / 0"), r"adds.py:4: .* got ZeroDivisionError"),
    "arguments": (("def torch(x, y)", "def torch(x)"),
                  r"adds.py:13: expected torch to take 2 arrays \(x, y\), those of inputs\(\), got torch\(x\); fix: "),
    "type": (("(rows, width)", '("float8", (rows, width))'),
             r"adds.py:5: expected x to have one of the types float32, .*got 'float8'; fix: inputs\(\)"),
    "shape": (("(rows, width)", '("int32", rows)'), r"adds.py:5: expected x to have a shape .*got 3"),
    "array": (("(rows, width)", 'np.array(["a"])'), r"adds.py:5: expected x to have one of the types .*got <U1"),
    "other": (("(rows, width)", '"x"'), r"adds.py:5: expected x to be a shape .*got 'x'"),
    "high": (("(rows, width)", '("int8", (rows, width), 1000)'), "integers that int8 can hold, got the limit 1000"),
    "nothing": (('{"x": (rows, width), "y": (width,)}', "None"), r'adds.py:5: expected inputs\(\) to return {"name"'),
    "inputs raise": (("(rows, width)", "(rows, width, size)"),
                     r"adds.py:6: inputs\(\) failed: NameError: name 'size' is not defined; fix: that line"),
    "no file": (('def inputs(rows=3, width=4):\n    return {"x": (rows, width), "y": (width,)}', 'inputs = "no.npz"'),
                "adds.py:1: expected inputs to be a function or the name of an .npz file, got 'no.npz'"),
    "both": (("def numpy(x, y):", "def torch_module():"), "expected either torch or torch_module, got both"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_its_place(tmp_path, mistake):
    (old, new), expected = MISTAKES[mistake]
    text = GOOD.replace(old, new, 1)
    if mistake == "neither":
        text = text.replace("def torch", "def trch")
        expected = r"adds.py:1: expected a function jax or torch \(or torch_module\), got neither"
    assert text != GOOD
    with pytest.raises(
        ProgramFileError, match=re.escape(expected) if expected.endswith("def inputs") else expected
    ) as said:
        functions.read(written(tmp_path, text))
    assert len(str(said.value).splitlines()) == 1 and "; fix: " in str(said.value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "def torch_module(width, out)",
            "def torch_module(width, oút)",
            "torch_module to take sizes of inputs",
        ),
        ('"0.bias": "b"', '"0.bias": "bias"', r"NAMES to give inputs \(x, w, b\) to parameters, got bias"),
    ],
)
def test_a_module_takes_sizes_and_its_names_are_inputs(tmp_path, old, new, expected):
    text = (PROGRAMS / "layer.py").read_text().replace(old, new)
    with pytest.raises(ProgramFileError, match=rf"adds.py:\d+: expected {expected}"):
        functions.read(written(tmp_path, text))


def test_an_exception_inside_a_function_has_the_line_of_the_file(tmp_path):
    text = GOOD.replace("def numpy(x, y):\n    return x + y", "def numpy(x, y):\n    return x.no_such()")
    module = workloads.load(str(written(tmp_path, text)))
    with pytest.raises(ProgramFileError) as said:
        module.expected(module.DEFAULTS, 0)
    message = "adds.py:18: numpy() failed: AttributeError: 'numpy.ndarray' object has no attribute 'no_such'"
    assert str(said.value) == f"{message}; fix: that line" == workloads.description(said.value)
    with pytest.raises(AttributeError) as raised:
        module.module.numpy(np.ones(2), np.ones(2))
    assert workloads.description(raised.value).startswith("adds.py:18: AttributeError: ")


def test_a_function_returns_arrays(tmp_path):
    text = GOOD.replace("def numpy(x, y):\n    return x + y", 'def numpy(x, y):\n    return {"sum": x + y}')
    module = workloads.load(str(written(tmp_path, text)))
    with pytest.raises(
        ProgramFileError, match=r"adds.py:17: expected numpy to return an array or a tuple .* got dict"
    ):
        module.expected(module.DEFAULTS, 0)
