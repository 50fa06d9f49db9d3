"""Where two programs part: ports with one difference, and what tells its kind."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explain.pairs import drawn_program, xla
from lowerings import Lowerings, file_job
from stackwars.core.client import Worker
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Status
from stackwars.core.program import Program
from stackwars.explain import page
from stackwars.explain.answer import CLASSIFIED, NOT_CLASSIFIED, NOT_LOCATED, Answer
from stackwars.explain.parting import ACTIVATIONS, distance, find, term
from stackwars.explain.task import Settings
from stackwars.measure import workloads
from stackwars.measure.stablehlo.arguments import load_program
from stackwars.study.workflow import explain

FOLDER = REPOSITORY / "tests" / "explain"
KINDS = {path: workloads.load(str(path)).module.KIND for path in sorted(FOLDER.glob("ports/*.py"))}
"""The kind of each port's difference; "" if no kind is known, None without a difference."""
SEED = 2025


def explained(path: Path, folder: Path) -> Answer:
    words = ["--compilers", "jaxlib-0.10.2", "--frontends", "jax,torch_xla", "--output", str(folder)]
    options = explain.parser().parse_args([str(path), *words])
    request = explain.request(options, print)
    return explain.explain(replace(request, settings=replace(request.settings, questions=0)))


@pytest.fixture(scope="module")
def lowerings() -> Iterator[Lowerings]:
    with Lowerings() as result:
        yield result


@pytest.mark.env
@pytest.mark.parametrize(
    "path", [path for path, kind in KINDS.items() if kind is not None], ids=lambda path: path.stem
)
def test_the_difference_of_a_port_is_named_with_lines_of_both_forms(path, lowerings, worker, tmp_path):
    def program(framework: str) -> Program:
        job = file_job(framework, path, SEED)
        files = map(Path, lowerings(job, tmp_path / framework).values())
        return load_program(framework, *files, str(path), job.sizes, SEED)

    found = find((program("jax"), program("torch_xla")), worker.spec, Settings(budget_s=300), print)
    wanted = KINDS[path]
    assert (found.kind, found.verdict) == (wanted, CLASSIFIED if wanted else NOT_CLASSIFIED), found
    assert found.error > 0 and found.is_all == bool(wanted)
    assert all(re.fullmatch(r"[\w./]+\.(py|mlir):\d+", line) for line in (found.line_a, found.line_b)), found


@pytest.mark.env
@pytest.mark.parametrize("name", ["ports/layer_norm", "ports/another_form", "public/shift_rows"])
def test_an_answer_says_where_programs_part_and_nothing_of_other_forms_and_wrong_values(name, tmp_path):
    answer = explained(FOLDER / f"{name}.py", tmp_path)
    is_wrong = any(cell.status is Status.WRONG for cell in answer.table.cells)
    assert is_wrong == (name == "public/shift_rows")
    if name == "ports/layer_norm":
        assert answer.parting.kind == "epsilon" and answer.exit_status == page.NOT_RIGHT
    else:
        assert answer.parting is None and "compute different things" not in answer.headline
        assert is_wrong or answer.exit_status != page.NOT_RIGHT


LAYER = """\
func.func @main(%x: tensor<16x24xf32>, %w: tensor<24x24xf32>, %b: tensor<24xf32>) -> tensor<16x24xf32> {
  %scale = stablehlo.constant dense<0.25> : tensor<16x24xf32>
  %start = stablehlo.constant dense<0.5> : tensor<16x24xf32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<3> : tensor<i32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<16x24xf32>, tensor<24x24xf32>) -> tensor<16x24xf32>
  %wide = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<16x24xf32>
  %z = stablehlo.add %y, %wide : tensor<16x24xf32>
  %m = stablehlo.multiply %z, %scale : tensor<16x24xf32>
  %heads = stablehlo.reshape %m : (tensor<16x24xf32>) -> tensor<16x4x6xf32>
  %turned = stablehlo.transpose %heads, dims = [0, 2, 1] : (tensor<16x4x6xf32>) -> tensor<16x6x4xf32>
  %flat = stablehlo.reshape %turned : (tensor<16x6x4xf32>) -> tensor<16x24xf32>
  %p = stablehlo.dot_general %flat, %w, contracting_dims = [1] x [0]
    : (tensor<16x24xf32>, tensor<24x24xf32>) -> tensor<16x24xf32>
  %out:2 = stablehlo.while(%i = %none, %h = %start) : tensor<i32>, tensor<16x24xf32>
    cond { %c = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %c : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %s = stablehlo.add %h, %p : tensor<16x24xf32>
         %t = stablehlo.tanh %s : tensor<16x24xf32>
         stablehlo.return %j, %t : tensor<i32>, tensor<16x24xf32> }
  return %out#1 : tensor<16x24xf32>
}
"""
"""A product with a bias, a scale, a transpose of heads, another product and a recurrence."""
CHANGES = {
    "scale": ("dense<0.25>", "dense<0.125>"),
    "initialised state": ("dense<0.5>", "dense<0.0>"),
    "missing bias": (
        "stablehlo.add %y, %wide : tensor<16x24xf32>",
        "stablehlo.reshape %y : (tensor<16x24xf32>) -> tensor<16x24xf32>",
    ),
    "order of axes": (
        "stablehlo.transpose %heads, dims = [0, 2, 1] :",
        "stablehlo.reshape %heads :",
    ),
    "transposed argument": (
        "%flat, %w, contracting_dims = [1] x [0]",
        "%flat, %w, contracting_dims = [1] x [1]",
    ),
}
"""Kinds of a difference, each with what is changed in LAYER."""


@pytest.fixture(scope="module")
def worker():
    with Worker(xla("0.10.2")) as started:
        yield started


@pytest.mark.env
@pytest.mark.parametrize("name", CHANGES)
def test_a_planted_difference_is_named_whichever_program_has_it(worker, name):
    a, b = (
        drawn_program(worker, text, label, 7)
        for label, text in (("a", LAYER), ("b", LAYER.replace(*CHANGES[name])))
    )
    for pair in ((a, b), (b, a)):
        found = find(pair, worker.spec, Settings(budget_s=120), print)
        assert (found.kind, found.is_all) == (name, True), found


@pytest.mark.env
def test_equal_programs_part_nowhere(worker):
    program = drawn_program(worker, LAYER)
    assert find((program, program), worker.spec, Settings(), print).verdict == NOT_LOCATED


def test_numbers_of_any_sizes_are_compared():
    assert distance((1e-300, 1e300)) == distance((1e300, 1e-300)) == math.inf
    assert distance((0.0, 1e-30)) == 0 < distance((0.5, 1.0)) < distance((-8.0, 1.0))


def test_the_table_in_the_documentation_has_every_port_with_its_kind():
    rows = (REPOSITORY / "docs" / "explain.md").read_text()
    names = {None: "none: one computation", "": "not classified"}
    for path, kind in KINDS.items():
        assert f"| `{path.stem}` | {names.get(kind, kind)} |" in rows, path


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


def test_what_a_term_does_to_a_value_tells_its_kind():
    x = normal(64, 32)
    mask = np.arange(64)[:, None] < np.arange(32)
    dropped = np.random.default_rng(1).random(x.shape) < 0.2
    cases = {
        "missing bias": x + normal(32),
        "scale": x * 0.125,
        "epsilon": x + 1e-6,
        "constant": x + 3,
        "missing mask": np.where(mask, -np.inf, x),
        "missing term": x + normal(64, 32)[::-1],
        "dropout left on": np.where(dropped, 0, x / 0.8),
    }
    assert {name: term(y, x)[0] for name, y in cases.items()} == {name: name for name in cases}
    assert term(x + np.where(mask, -1e4, 0), x)[0] == "missing mask"
    # Zeros at a rate that their factor does not tell, and elements that are cut by their size, are neither.
    assert term(np.where(dropped, 0, x / 0.5), x)[0] != "dropout left on"
    assert term(np.minimum(x, 0.5), x)[0] == "missing term"

    for name, form in ACTIVATIONS.items():
        assert term(form(x), x) == ("activation", name)
