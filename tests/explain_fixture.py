"""A table, a cause and a fault by hand, as the searches write them, and the report of them."""

import json
from copy import deepcopy
from pathlib import Path

from stackwars.explain.outcomes import CRASH, NATIVE, REFUSED, RIGHT, WRONG, outcome
from stackwars.explain.plan import Plan
from stackwars.explain.workers import CompilerSpec

COMPILERS = ["jaxlib-0.7.1", "jaxlib-0.10.2", "iree-3.13"]
MACHINE = {
    "cpu_model": "AMD EPYC",
    "cores": 2,
    "memory_bytes": 24 * 2**30,
    "kernel": "6.1",
    "os": "Debian",
    "python": "3.11.2",
}
SOURCE = {"git_revision": "0123456789ab", "git_dirty": False}
VERSIONS = {"numpy": "2.3.2", "jax": "0.7.1", "jaxlib": "0.7.1"}
WRONG_DETAIL = "3 of 98,304 elements wrong (the last 1 of axis 0), largest error 1.0e+00, by NumPy in float64"
CRASH_DETAIL = "SIGSEGV in run; last line: a buffer at 0x0"


def right(ms: float) -> dict:
    return outcome(
        RIGHT, ms=ms, low_ms=0.98 * ms, high_ms=1.02 * ms, rounds=40, wrong=0, total=98304, compile_s=0.1
    )


def cell(program: str, compiler: str, found: dict, ratio: float | None = None) -> dict:
    return {"program": program, "compiler": compiler, **found, "ratio": ratio}


CELLS = [
    cell("torch_xla", "jaxlib-0.7.1", right(8.81), 1.6),
    cell("jax", "jaxlib-0.7.1", right(5.82), 1.06),
    cell(
        "torch_xla",
        "jaxlib-0.10.2",
        outcome(WRONG, WRONG_DETAIL, wrong=3, total=98304, where="the last 1 of axis 0"),
    ),
    cell("jax", "jaxlib-0.10.2", outcome(CRASH, CRASH_DETAIL)),
    cell(
        "torch_xla",
        "iree-3.13",
        outcome(REFUSED, "failed to legalize 'stablehlo.fft'", operation="stablehlo.fft"),
    ),
    cell("jax", "iree-3.13", right(7.0), 1.27),
    cell("torch_eager", NATIVE, right(5.5), 1.0),
]
CAUSE_ROW = {"kind": "cause", "id": "jaxlib-0.7.1.torch_xla.jax", "compiler": "jaxlib-0.7.1", "a": "torch_xla",
             "b": "jax", "other": None, "gap": 1.51}  # fmt: skip
FAULT_ROW = {"kind": "fault", "id": "jaxlib-0.10.2.torch_xla", "compiler": "jaxlib-0.10.2", "program": "torch_xla",
             "status": WRONG, "detail": WRONG_DETAIL}  # fmt: skip
TABLE = {
    "schema": 1, "name": "mha", "title": "Multi-head attention", "programs": ["torch_xla", "jax", "torch_eager"],
    "compilers": COMPILERS, "judge": "NumPy in float64", "judge_reason": "", "apart": "", "cells": CELLS,
    "questions": [CAUSE_ROW, FAULT_ROW], "not_tried": {"frontends": ["torchax"], "compilers": []},
    "settings": {"bound": 0.1, "compiler_gap": 1.5, "questions": 3},
    "versions": {"jaxlib-0.7.1": VERSIONS, "iree-3.13": {"iree-base-compiler": "3.13.0"}}, "machine": MACHINE,
    "source": SOURCE,
}  # fmt: skip
SIDE = {"cores": 1.3, "gflops": 32.0, "of_peak": 0.18}
REGION = {
    "count": 1, "what": "argument layout", "share": 0.97, "line_a": "mha.py:41", "line_b": "mha.py:12",
    "a": ["argument : tensor<2304x768xf32>",
          '"stablehlo.dot_general"(%0, %1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], '
          "rhs_contracting_dimensions = [1]>}> : (tensor<128x768xf32>, tensor<2304x768xf32>) -> tensor<128x2304xf32>"],
    "b": ["argument : tensor<768x2304xf32>",
          '"stablehlo.dot_general"(%0, %1) : (tensor<128x768xf32>, tensor<768x2304xf32>) -> tensor<128x2304xf32>'],
    "a_ms": 4.1, "b_ms": 1.2,
    "reason": {"a": SIDE, "b": SIDE | {"cores": 1.8, "of_peak": 0.6},
               "sentence": "a product takes 4.1 ms on 1.3 of 2 cores at 18 % of peak; in the other layout 1.2 ms"},
}  # fmt: skip
CAUSE = {
    "schema": 1, "name": CAUSE_ROW["id"], "a": "torch_xla", "b": "jax", "compiler": "jaxlib-0.7.1", "other": None,
    "verdict": "cause", "detail": "97 % of the gap of 3 ms", "a_ms": 8.81, "b_ms": 5.82,
    "ratio": {"value": 1.51, "low": 1.48, "high": 1.55}, "closed": {"share": 0.97, "low": 0.91, "high": 1.04},
    "left_ms": 0.09, "regions": [REGION],
    "tried": {"operations": [39, 28], "classes": 20, "kinds": 20, "curve": {"1": 0.97}}, "seconds": 41.0,
}  # fmt: skip
BETWEEN = {
    **CAUSE, "a": "jax in jaxlib-0.7.1", "b": "jax in jaxlib-0.10.2", "other": "jaxlib-0.10.2",
    "regions": [{**REGION, "count": 2, "what": "operations", "a": REGION["b"][1:], "b": REGION["b"][1:]}],
    "options": [{"flag": "xla_x=", "compiler": "jaxlib-0.7.1", "ratio": 0.66, "share": 0.96}],
}  # fmt: skip
"""Of a gap between two compilers."""
FAULT = {
    "schema": 1, "name": FAULT_ROW["id"], "program": "torch_xla", "compiler": "jaxlib-0.10.2", "kind": WRONG,
    "verdict": "reduced", "detail": "", "operations": [13, 2],
    "region": ["stablehlo.dot_general : (tensor<3x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>",
               "stablehlo.reduce : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>"],
    "lines": ["mha.py:44"], "shapes": {"rows": 3}, "error": "1 of 3 elements wrong",
    "judge": "jaxlib 0.10.2, each operation alone in float64",
    "cures": [{"flag": "xla_disable_hlo_passes=algsimp", "outcome": "right"}],
    "ablation": [{"variant": "-algsimp", "outcome": "ok", "ratio": None, "compile_s": 0.03},
                 {"variant": "-fusion", "outcome": "wrong", "ratio": None, "compile_s": 0.03}],
    "reproduced": True, "versions": {},
}  # fmt: skip
REDUCED = """module {
  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    return %arg0 : tensor<3xf32>
  }
}
"""
SCRIPT = '"""Shows the fault."""\nimport sys\n\nsys.exit(1)\n'
PLAN = Plan(
    name="mha", title="Multi-head attention", root="explain/mha", compilers={},
    evaluator=CompilerSpec("jaxlib-0.7.1"), frontends={"torch_xla": "envs/torch_xla.txt"}, workload="mha",
    sizes={"batch": 2, "sequence": 64}, seed=2025, inputs="", command="make explain PROGRAM=mha",
)  # fmt: skip


def table(**changed) -> dict:
    """Return a copy of the table with some keys changed."""
    return {**deepcopy(TABLE), **changed}


def write_answers(folder: Path, cause: dict = CAUSE, fault: dict = FAULT) -> list[Path]:
    """Write a cause, and a fault with its files; return the documents' paths."""
    paths = []
    for kind, found in (("cause", cause), ("fault", fault)):
        path = folder / f"{kind}s" / found["name"] / f"{kind}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(found))
        paths.append(path)
    (paths[1].parent / "reduced.mlir").write_text(REDUCED)
    (paths[1].parent / "reproduce.py").write_text(SCRIPT)
    return paths
