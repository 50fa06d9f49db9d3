"""Bundles: no name is left, a bad one is refused before anything runs, and a rerun tells what is fixed."""

import json
import shutil
import sys
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from explain.pairs import drawn_program, xla
from explain.test_fault import SQUARES, task
from explain_fixture import ANSWER, FLAW, FOUND
from running import python
from stackwars.core import documents
from stackwars.core.client import Worker
from stackwars.core.types import dtype, redrawn
from stackwars.explain import ablation, bundle, fault, page, reproducer
from stackwars.explain.answer import Interval
from stackwars.explain.assertions import assert_as_fast, assert_right
from stackwars.explain.bundle import DIFFERENT, FIXED, NOT_DECIDED, STILL, BundleError, Manifest, names_left
from stackwars.explain.files import BadInput
from stackwars.explain.reproducer import Case

WEIGHTS = [round(0.0317 * number**1.3, 5) for number in range(1, 21)]
NAMED = f"""module @jit_acme_model attributes {{mhlo.num_partitions = 1 : i32}} {{
  func.func public @main(%acme_x: tensor<20x20xf32> {{jax.arg_info = "acme_x"}}) -> (tensor<20x20xf32>
      {{jax.result_info = "acme_result"}}) {{
    %acme_w = stablehlo.constant dense<{WEIGHTS}> : tensor<20xf32> loc("/home/acme/secret_models.py":3:1)
    %0 = stablehlo.broadcast_in_dim %acme_w, dims = [1] : (tensor<20xf32>) -> tensor<20x20xf32>
    %1 = call @acme_layer(%acme_x, %0) : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    return %1 : tensor<20x20xf32>
  }}
  func.func private @acme_layer(%a: tensor<20x20xf32>, %b: tensor<20x20xf32>) -> tensor<20x20xf32> {{
BODY
    return %r : tensor<20x20xf32>
  }}
}}
"""
ADD = "    %r = stablehlo.add %a, %b : tensor<20x20xf32>"
FAST = NAMED.replace("BODY", ADD)
LOOP = """    %first = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.constant dense<2000> : tensor<i32>
    %l:2 = stablehlo.while(%i = %first, %y = %a) : tensor<i32>, tensor<20x20xf32>
     cond {
      %c = stablehlo.compare LT, %i, %s : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.minimum %y, %a : tensor<20x20xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<20x20xf32>
    }
    %r = stablehlo.add %l#1, %b : tensor<20x20xf32>"""
SLOW = NAMED.replace("BODY", LOOP)
"""The same values by a loop that changes nothing."""
ONE = """module {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = OPERATION
    return %0 : tensor<2xf32>
  }
}
"""
ONE_CALL = ONE.replace("OPERATION", "stablehlo.custom_call @acme_kernel(%x) : (tensor<2xf32>) -> tensor<2xf32>")
ONE_ADD = ONE.replace("OPERATION", "stablehlo.add %x, %x : tensor<2xf32>")


def members(path):
    """Return the text of each file of a bundle but the arrays."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name).decode() for name in file.namelist() if not name.endswith(".npz")}


def manifest(shown):
    return Manifest("jaxlib-0.9.1", {"jaxlib": "0.9.1"}, {}, {}, "", shown)


def seal(folder, path):
    """Pack a folder with a manifest by hand."""
    documents.write(folder / bundle.MANIFEST, asdict(manifest(["FAULT: wrong values"])))
    return Path(shutil.make_archive(str(path.with_suffix("")), "zip", folder))


@pytest.fixture
def files(tmp_path):
    """The files of a bundle without its manifest."""
    ones = [np.ones(300, np.float32), np.ones((), dtype("tensor<bf16>"))]
    checks = [{"at": [1, 2], "values": [1.5, float("nan")], "scale": 1.5, "limit": 1e-6}]
    types = [(one.shape, one.dtype) for one in ones]
    case = Case("A fault.", "xla", {"xla_x": True}, "module {}\n", types, ones, checks=checks, timeout_s=30.0)
    reproducer.write(case, tmp_path / "files")
    (tmp_path / "files" / bundle.ANSWER).write_text("{}")
    (tmp_path / "files" / bundle.REPORT).write_text("A report.\n")
    return tmp_path / "files"


def test_what_is_read_is_the_case_that_was_packed(files, tmp_path):
    _, case = bundle.read(seal(files, tmp_path / "b.zip"), tmp_path / "read")
    assert (case.options, case.program, case.timeout_s) == ({"xla_x": True}, "module {}\n", 30)
    assert [one.dtype.name for one in case.arguments] == ["float32", "bfloat16"]
    assert (case.arguments[0] == 1).all() and case.checks[0]["at"] == [1, 2]
    again = reproducer.write(replace(case, doc="A fault."), tmp_path / "again")
    assert again.read_text() == (files / "reproduce.py").read_text()


def edit(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


BAD = {
    "a missing file": (lambda f: (f / "case.json").unlink(), "case.json"),
    "too many bytes": (lambda f: (f / "inputs.npz").write_bytes(bytes(2 << 20)), "expected at most 1 MiB, got 2"),
    "an option with a path": (
        lambda f: edit(f / "case.json", lambda d: d["options"].update(xla_dump_to="/tmp/x")), "got /tmp/x"),
    "a folder above": (lambda f: edit(f / "case.json", lambda d: d["options"].update(xla_dump_to="..")), "got .."),
    "a callback": (lambda f: (f / "reduced.mlir").write_text("@xla_python_cpu_callback\n"), "calls back"),
    "another compiler": (lambda f: edit(f / "case.json", lambda d: d.update(module="os")), "expected xla"),
    "no case": (lambda f: edit(f / "case.json", lambda d: d.pop("types")), "types"),
    "other arrays": (lambda f: np.savez(f / "inputs.npz", a0=np.ones(3)), "into shape (300,)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_bundle_is_refused_before_anything_runs(kind, files, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducer, "run", lambda *_: pytest.fail("it ran"))
    monkeypatch.setattr(bundle, "MOST_BYTES", 1 << 20)
    change, expected = BAD[kind]
    change(files)
    with pytest.raises(BundleError) as refused:
        bundle.rerun(seal(files, tmp_path / "b.zip"))
    assert expected in str(refused.value)


def test_a_damaged_archive_and_a_file_that_is_none_are_refused(files, tmp_path):
    data = seal(files, tmp_path / "b.zip").read_bytes()
    (tmp_path / "damaged.zip").write_bytes(data[:200] + bytes(20) + data[220:])
    for path in (tmp_path / "damaged.zip", files / "case.json"):
        with pytest.raises(BundleError, match=f"{path.name}: not run: "):
            bundle.rerun(path)


def test_other_files_of_an_archive_are_not_written(files, tmp_path):
    path = seal(files, tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("../evil.py", "import os")
        file.writestr("numpy.py", "import os")
    bundle.read(path, tmp_path / "to" / "read")
    assert {one.name for one in (tmp_path / "to").rglob("*")} == {
        *("read", "manifest.json", "case.json", "inputs.npz", "reduced.mlir"),
    }


def test_code_of_an_archive_is_not_executed(files, tmp_path):
    mark = tmp_path / "executed"
    (files / "reproduce.py").write_text(f"open({str(mark)!r}, 'w')\n")
    edit(files / "case.json", lambda d: d.update(doc=f'"""\nopen({str(mark)!r}, "w")\n"""'))
    (files / "reduced.mlir").write_text(f'module {{}}\n"""\nopen({str(mark)!r}, \'w\')\n"""\n')
    # Without a compiler in this Python nothing is decided.
    word, detail = bundle.rerun(seal(files, tmp_path / "b.zip"), sys.executable)
    assert word == NOT_DECIDED and "No module named 'jax'" in detail and not mark.exists()


FAULTY = ["jaxlib 0.9.1", "result 0, element [3]: expected 1.0, got 2.0", "FAULT: wrong values"]
SLOWER = [
    "jaxlib 0.9.1",
    "ratio 2.000 (1.900 to 2.100) of 5 fresh processes",
    "FAULT: the first program is slower",
]


@pytest.mark.parametrize(
    ("shown", "status", "printed", "word"),
    [
        (FAULTY, 1, FAULTY, STILL),
        (FAULTY, 0, ["jaxlib 0.10.0", "no value is known to be wrong", "no fault"], FIXED),
        (FAULTY, 0, ["jaxlib 0.9.1", "no value is known to be wrong", "no fault"], NOT_DECIDED),
        (FAULTY, 1, ["jaxlib 0.10.0", "FAULT: SIGSEGV ended the process"], DIFFERENT),
        (FAULTY, 1, ["jaxlib 0.10.0", FAULTY[1].replace("[3]", "[4]"), FAULTY[2]], DIFFERENT),
        (FAULTY, 2, ["expected JAX or IREE, and NumPy; fix: install them"], NOT_DECIDED),
        (FAULTY, 1, ["SyntaxError: of ours"], NOT_DECIDED),
        (SLOWER, 1, [SLOWER[0], SLOWER[1].replace("2.000", "1.700"), SLOWER[2]], STILL),
        (SLOWER, 1, [SLOWER[0], SLOWER[1].replace("2.000", "1.200"), SLOWER[2]], DIFFERENT),
        ([*SLOWER[:1], "ratio 0.000 (0.000 to 0.000)", SLOWER[2]], 1, SLOWER, DIFFERENT),
        (SLOWER, 0, ["jaxlib 0.10.0", "ratio 1.010 (0.990 to 1.030) of 5 fresh processes", "no gap"], FIXED),
        (SLOWER, 2, ["jaxlib 0.10.0", "ratio 1.100 (1.000 to 1.200) of 5 fresh processes", "no"], NOT_DECIDED),
    ],
)  # fmt: skip
def test_what_a_rerun_prints_is_compared_with_what_was_recorded(shown, status, printed, word):
    found, detail = bundle.verdict(manifest(shown), status, printed)
    assert found == word and "recorded: " in detail


@pytest.mark.parametrize(
    ("file", "text", "left"),
    [
        ("report.md", "by Acme_Model", "report.md: acme_model"),
        ("report.md", "in /home/jo-doe/x", "report.md: jo-doe"),
        ("manifest.json", "acme_model_2", "manifest.json: acme_model_2"),
        ("reduced.mlir", "%v0 = stablehlo.add %v1, %other", "reduced.mlir: %other"),
        ("reduced.mlir", "call @layer(%v0)", "reduced.mlir: @layer"),
        ("reduced.mlir", '{op_name = "x"}', 'reduced.mlir: "x"'),
        ("reduced.mlir", "%v0 // mine", "reduced.mlir: // mine"),
        ("report.md", "a public operation", ""),
        ("reduced.mlir", 'call @f0(%v0) : "stablehlo.add" dense<"0xFF"> #stablehlo.x', ""),
    ],
)
def test_a_planted_name_is_found(file, text, left, tmp_path):
    (tmp_path / file).write_text(f"{text}\n")
    assert names_left(tmp_path, {"acme_model", "jo-doe", "operation"}, {"operation"}) == left


def test_arrays_of_an_archive_have_no_names(tmp_path):
    np.savez(tmp_path / "inputs.npz", acme=np.ones(2))
    assert names_left(tmp_path, set(), set()) == "inputs.npz: acme"


@pytest.mark.parametrize("kind", ["float32", "float16", "complex64", "int32", "uint8", "bool"])
def test_values_are_drawn_with_the_moments_of_others(kind):
    values = 5 + 2 * np.random.default_rng(0).standard_normal(10_000)
    values = values > 5 if kind == "bool" else values.astype(kind)
    if kind.startswith("float"):
        values[7] = -np.inf
    drawn = redrawn(values, np.random.default_rng(1))
    assert drawn.dtype == values.dtype and (drawn == values).mean() < 0.6
    if kind.startswith("float"):
        assert drawn[7] == -np.inf
        values, drawn = (np.delete(one, 7).astype(float) for one in (values, drawn))
        assert abs(drawn.std() - values.std()) < 0.1 and not np.isin(values.min(), drawn)
        assert (redrawn(np.abs(values - 5), np.random.default_rng(1)) >= 0).all()
    if kind.startswith(("float", "complex")):
        assert abs(drawn.mean() - values.mean()) < 0.1
    if "int" in kind:
        assert drawn.min() >= values.min() and drawn.max() <= values.max()


@pytest.fixture
def few_flags(monkeypatch):
    monkeypatch.setattr(ablation, "XLA_FLAGS", [(ablation.YNN, "")])


@pytest.mark.env
def test_a_fault_is_packed_without_names_and_a_rerun_tells_the_releases_that_have_it(tmp_path, few_flags):
    asked = task(SQUARES, "xla-0.10.2")
    asked = replace(asked, a=replace(asked.a, label="acme_model"))
    found = fault.find(asked, tmp_path / "faults" / "it")
    answer = replace(ANSWER, name="acme_model", title="acme_model.mlir", faults=[found], causes=[])
    page.write(tmp_path, answer)
    packed = (answer, tmp_path, [asked.a], [asked.compiler], asked.evaluator)
    assert bundle.pack(*packed, is_anonymous=True).startswith("wrote ")
    path = tmp_path / "bundle.zip"
    assert not [name for name, text in members(path).items() if "acme" in text.lower()]
    assert bundle.rerun(path, asked.compiler.python)[0] == STILL
    word, detail = bundle.rerun(path, asked.evaluator.python)
    assert word == FIXED and "jaxlib 0.7.1; recorded: " in detail and "jaxlib 0.10.2" in detail
    assert bundle.pack(*packed).startswith("wrote ")
    assert json.loads(members(path)["answer.json"])["name"] == "acme_model"


@pytest.mark.env
def test_an_anonymous_bundle_in_which_a_name_is_left_is_not_written(tmp_path):
    spec = xla("0.10.2")
    types = [((2,), np.dtype(np.float32))]
    reproducer.write(Case("", "xla", {}, ONE_CALL, types, None), tmp_path / "faults" / "it")
    found = replace(FLAW, name="it", compiler=spec.name, kind="unsupported")
    answer = replace(ANSWER, faults=[found], causes=[])
    page.write(tmp_path, answer)
    said = bundle.pack(answer, tmp_path, [], [spec], spec, is_anonymous=True)
    assert said.startswith("no ") and "got reduced.mlir: @acme_kernel; fix: rename it" in said, said
    assert not (tmp_path / "bundle.zip").exists()
    assert bundle.pack(answer, tmp_path, [], [spec], spec).startswith("wrote ")


@pytest.mark.env
def test_a_long_compilation_is_packed(tmp_path):
    spec = xla("0.10.2")
    case = Case("", "xla", {}, ONE_ADD, [((2,), np.dtype(np.float32))], None, first=ONE_ADD, seconds=0.01)
    reproducer.write(case, tmp_path / "causes" / "it")
    found = replace(FOUND, name="it", compiler=spec.name, b=None, ask="compile", script="x")
    answer = replace(ANSWER, faults=[], causes=[found])
    page.write(tmp_path, answer)
    assert bundle.pack(answer, tmp_path, [], [spec], spec, is_anonymous=True).startswith("wrote ")
    word, detail = bundle.rerun(tmp_path / "bundle.zip", spec.python)
    assert word == STILL and detail.startswith("compiled in ")


@pytest.mark.env
@pytest.mark.alone
def test_a_gap_is_packed_without_names_and_weights(tmp_path):
    spec = xla("0.10.2")
    labels = ("acme_slow", "acme_fast")
    with Worker(spec) as reader:
        pair = [drawn_program(reader, *one) for one in zip((SLOW, FAST), labels, strict=True)]
    found = replace(FOUND, name="it", compiler=spec.name, ratio=Interval(9.0, 8.0, 10.0))
    found = replace(found, a=labels[0], b=labels[1])
    answer = replace(ANSWER, name="acme", causes=[found], faults=[])
    page.write(tmp_path, answer)
    said = bundle.pack(answer, tmp_path, pair, [spec], spec, is_anonymous=True)
    assert said.startswith("wrote "), said
    texts = members(tmp_path / "bundle.zip")
    assert not [word for word in ("acme", "secret", *map(str, WEIGHTS)) if word in str(texts).lower()]
    assert json.loads(texts["answer.json"])["ratio"]["value"] == 9.0
    assert bundle.rerun(tmp_path / "bundle.zip", spec.python)[0] == STILL
    # There is no bundle of what a fresh process does not show.
    turned = replace(answer, causes=[replace(found, a=labels[1], b=labels[0])])
    said = bundle.pack(turned, tmp_path, pair, [spec], spec)
    assert said.startswith("no ") and "does not show it" in said and not (tmp_path / "bundle.zip").exists()


@pytest.mark.env
@pytest.mark.alone
def test_programs_are_asserted_to_be_as_fast(tmp_path):
    spec = xla("0.10.2")
    (tmp_path / "fast.mlir").write_text(FAST)
    assert_as_fast(tmp_path / "fast.mlir", SLOW, compiler=spec)
    with pytest.raises(AssertionError, match=r"expected at most 1\.1 times as long, got"):
        assert_as_fast(SLOW, FAST, compiler=spec)
    with pytest.raises(AssertionError, match="one computation, got others"):
        assert_as_fast(FAST.replace(ADD, ADD.replace("add", "multiply")), FAST, compiler=spec)


@pytest.mark.env
def test_a_program_is_asserted_to_be_right():
    assert_right(SQUARES, compiler=xla("0.7.1"))
    with pytest.raises(AssertionError, match="1 of 32,769 elements wrong"):
        assert_right(SQUARES, compiler=xla("0.10.2"))
    with pytest.raises(BadInput, match="arr_0: expected tensor<20x20xf32>, got float32 of shape"):
        assert_right(FAST, [np.ones(20, np.float32)], compiler=xla("0.7.1"))
    random = """    %m = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<1.0> : tensor<f32>
    %d = stablehlo.constant dense<20> : tensor<2xi64>
    %r = stablehlo.rng %m, %n, %d, distribution = UNIFORM
      : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<20x20xf32>"""
    with pytest.raises(pytest.skip.Exception, match="not decided: it draws random numbers"):
        assert_right(NAMED.replace("BODY", random), compiler=xla("0.7.1"))


def test_the_assertions_are_fixtures_of_a_plugin(tmp_path):
    file = tmp_path / "test_it.py"
    file.write_text(
        'pytest_plugins = ["stackwars.explain.assertions"]\n\n\n'
        "def test_it(assert_as_fast, assert_right):\n    assert callable(assert_as_fast) and callable(assert_right)\n"
    )
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, file, cwd=tmp_path)
    assert "1 passed" in done.stdout
