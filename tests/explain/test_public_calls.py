"""Public reports of recompilation: each framework's calls, and the cause of every compilation after the first."""

from pathlib import Path

import pytest

from stackwars.core.outcome import Status
from stackwars.explain import page
from stackwars.explain.answer import FIRST_VALUE, FOLDED, SHAPE, SHARED, VALUES, WEAK_TYPE
from stackwars.study.workflow import explain

pytestmark = [pytest.mark.slow, pytest.mark.env]
FOLDER = Path(__file__).parent / "calls"
ONCE = ["", "", ""]


@pytest.mark.parametrize(
    ("program", "framework", "compiled", "causes"),
    [
        ("scalars", "jax", [1, 0, 0, 0, 0], ["", "", "", "", ""]),
        ("scalars", "torch_xla", [1, 0, 1, 0, 1], ["", "", SHARED, "", FOLDED]),
        ("scalars", "torch_inductor", [1, 1, 0, 0, 0], ["", FIRST_VALUE, "", "", ""]),
        ("exponent", "jax", [1, 0, 0], ONCE),
        ("exponent", "torch_xla", [1, 1, 1], ["", FOLDED, FOLDED]),
        ("python_float", "torch_xla", [1, 0, 0], ONCE),
        ("python_float", "torch_inductor", [1, 1, 0], ["", FIRST_VALUE, ""]),
        ("first_integer", "jax", [1, 1, 0], ["", WEAK_TYPE, ""]),
        ("growing", "jax", [1, 1, 1, 0], ["", SHAPE, SHAPE, ""]),
        ("growing", "torch_xla", [1, 1, 1, 0], ["", SHAPE, SHAPE, ""]),
        ("growing", "torch_inductor", [1, 1, 0, 0], ["", SHAPE, "", ""]),
        ("read_back", "torch_xla", [2, 0, 1, 0], ["", "", VALUES, ""]),
        ("control", "jax", [1, 0, 0], ONCE),
        ("control", "torch_xla", [1, 0, 0], ONCE),
        ("control", "torch_inductor", [1, 0, 0], ONCE),
    ],
)
def test_the_cause_of_each_compilation_is_named(tmp_path, program, framework, compiled, causes):
    command = [str(FOLDER / f"{program}.py"), "--frontends", framework, "--output", str(tmp_path)]
    answer = explain.explain(explain.request(explain.parser().parse_args(command), print))
    [sequence] = answer.sequences
    assert [call.status for call in sequence.calls] == [Status.OK] * len(compiled)
    assert [call.compiled for call in sequence.calls] == compiled
    assert [call.cause for call in sequence.calls] == causes
    assert answer.exit_status == (page.SLOWER if any(compiled[1:]) else page.OK)
    if program == "read_back":
        assert all(call.splits and call.programs == 2 for call in sequence.calls)
