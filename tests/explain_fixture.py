"""A table, a cause and a fault by hand, as the searches return them, and the answer with them."""

from dataclasses import replace

from stackwars.core.check import Checked, Timing
from stackwars.core.outcome import Outcome, Status
from stackwars.explain.answer import (
    CAUSE,
    CLASSIFIED,
    LAYOUT,
    NATIVE,
    OPERATIONS,
    REDUCED,
    Answer,
    Cause,
    Cell,
    Fault,
    Interval,
    Option,
    Parting,
    Question,
    Rate,
    Reason,
    Region,
    Share,
    Table,
    Tried,
    Variant,
)
from stackwars.explain.table import cell as cell_of

COMPILERS = ["jaxlib-0.7.1", "jaxlib-0.10.2", "iree-3.13"]
OLD, NEW, IREE = COMPILERS
MACHINE = {
    "cpu_model": "AMD EPYC",
    "cores": 2,
    "memory_bytes": 24 * 2**30,
    "kernel": "6.1",
    "os": "Debian",
    "python": "3.11.2",
}
VERSIONS = {"numpy": "2.3.2", "jax": "0.7.1", "jaxlib": "0.7.1"}


def right(ms: float, others_share: float = 0.0) -> Checked:
    """Return the outcome of a right program with this time."""
    verdict = {"wrong": 0, "total": 98304}
    timing = Timing(ms, 0.98 * ms, 1.02 * ms, 40, others_share)
    return Checked(Outcome(Status.OK), verdict=verdict, compile_s=0.1, timing=timing)


def ended(status: Status, detail: str = "x", **numbers) -> Checked:
    """Return the outcome of a program without a time."""
    return Checked(Outcome(status, detail), **numbers)


def cell(program: str, compiler: str, checked: Checked, ratio: float | None = None) -> Cell:
    return replace(cell_of(program, compiler, checked), ratio=ratio)


WRONG = ended(
    Status.WRONG,
    "3 of 98,304 elements wrong (the last 1 of axis 0), largest error 1.0e+00, by NumPy in float64",
    verdict={"wrong": 3, "total": 98304, "where": "the last 1 of axis 0"},
)
REFUSED = ended(Status.UNSUPPORTED, "failed to legalize 'stablehlo.fft'", operation="stablehlo.fft")
CELLS = [
    cell("torch_xla", OLD, right(8.81), 1.6),
    cell("jax", OLD, right(5.82), 1.06),
    cell("torch_xla", NEW, WRONG),
    cell("jax", NEW, ended(Status.CRASH, "SIGSEGV in call; last line: a buffer at 0x0")),
    cell("torch_xla", IREE, REFUSED),
    cell("jax", IREE, right(7.0), 1.27),
    cell("torch_eager", NATIVE, right(5.5), 1.0),
]
GAP = Question("cause", f"{OLD}.torch_xla.jax", OLD, "torch_xla", "jax", gap=1.51)
WRONG_VALUE = Question("fault", f"{NEW}.torch_xla", NEW, "torch_xla", status=Status.WRONG)
TABLE = Table(
    name="mha", title="Multi-head attention", programs=["torch_xla", "jax", "torch_eager"], compilers=COMPILERS,
    judge="NumPy in float64", judge_reason="", differ="", cells=CELLS, questions=[GAP, WRONG_VALUE],
    not_tried={"frontends": ["torchax"], "compilers": []}, bound=0.1,
    versions={OLD: VERSIONS, IREE: {"iree-base-compiler": "3.13.0"}}, machine=MACHINE,
    source={"git_revision": "0123456789ab", "git_dirty": False},
)  # fmt: skip
_DOT = (
    '"stablehlo.dot_general"(%0, %1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], '
    "rhs_contracting_dimensions = [1]>}> : (tensor<128x768xf32>, tensor<2304x768xf32>) -> tensor<128x2304xf32>"
)
REGION = Region(
    1, LAYOUT, 0.97, "mha.py:41", "mha.py:12",
    ["argument : tensor<2304x768xf32>", _DOT], ["argument : tensor<768x2304xf32>", _DOT], 4.1, 1.2,
    Reason(
        Rate(4.1, 1.3, 32.0, 1.0, 0.18), Rate(1.2, 1.8, 90.0, 3.0, 0.6),
        "a product takes 4.1 ms on 1.3 of 2 cores at 18 % of peak; in the other layout 1.2 ms",
    ),
)  # fmt: skip
FOUND = Cause(
    GAP.id, OLD, "torch_xla", "jax", None, CAUSE, "97 % of the gap of 3 ms", 8.81, 5.82, Interval(1.51, 1.48, 1.55),
    closed=Share(0.97, 0.91, 1.04), left_ms=0.09, regions=[REGION], tried=Tried([39, 28], 20, 20, {"1": 0.97}),
    seconds=41.0,
)  # fmt: skip
BETWEEN = replace(
    FOUND, a=f"jax in {OLD}", b=f"jax in {NEW}", other=NEW,
    regions=[replace(REGION, count=2, what=OPERATIONS, a=[_DOT], b=[_DOT])],
    options=[Option(OLD, "xla_x=", 0.66, 0.96)],
)  # fmt: skip
"""A gap between two compilers."""
PROGRAM = """module {
  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    return %arg0 : tensor<3xf32>
  }
}
"""
SCRIPT = '"""Shows the fault."""\nimport sys\n\nsys.exit(1)\n'
FLAW = Fault(
    WRONG_VALUE.id, "torch_xla", NEW, Status.WRONG, REDUCED, "", [13, 2],
    ["stablehlo.dot_general : (tensor<3x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>",
     "stablehlo.reduce : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>"],
    ["mha.py:44"], {"rows": 3}, "1 of 3 elements wrong", "jaxlib 0.10.2, operation by operation in float64",
    cures=["xla_disable_hlo_passes=algsimp"],
    ablation=[Variant("-algsimp", "xla_disable_hlo_passes=algsimp", "ok", None, 0.03, True),
              Variant("-fusion", "xla_disable_hlo_passes=fusion", "wrong", None, 0.03, False)],
    reproduced=True, reduced=PROGRAM, script=SCRIPT,
)  # fmt: skip
PARTED = Parting(
    "jax", "torch_xla", CLASSIFIED, "1e-06 in jax against 1e-05 in torch_xla", "epsilon",
    "stablehlo.add : tensor<64x1xf32>", "stablehlo.batch_norm_training : tensor<1x64x96xf32>",
    "linen/normalization.py:242", "ports/layer_norm.py:19", error=0.09, matched=7, is_all=True, seconds=2.1,
)  # fmt: skip
"""Two programs that do not compute one thing."""
ANSWER = Answer(
    "mha", "Multi-head attention", "make explain PROGRAM=mha", "mha", {"batch": 2, "sequence": 64}, 2025, "",
    {"torch_xla": "explain/mha/programs/torch_xla/program.mlir.gz"},
    "torch_xla's program is wrong in jaxlib-0.10.2.", 1,
    TABLE, [FOUND], [FLAW],
)  # fmt: skip
