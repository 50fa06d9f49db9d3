"""Public reports of recompilation, one of each cause, in the framework that has it."""

from pathlib import Path

import pytest

from stackwars.core.outcome import Status
from stackwars.explain import page
from stackwars.explain.answer import FIRST_VALUE, FOLDED, SHAPE, SHARED, VALUES, WEAK_TYPE
from stackwars.study.workflow import explain

pytestmark = [pytest.mark.slow, pytest.mark.env]
FOLDER = Path(__file__).parent / "calls"


@pytest.mark.parametrize(
    ("program", "framework", "compiled", "causes"),
    [
        ("scalars", "torch_xla", [1, 0, 1, 0, 1], ["", "", SHARED, "", FOLDED]),
        ("python_float", "torch_inductor", [1, 1, 0], ["", FIRST_VALUE, ""]),
        ("first_integer", "jax", [1, 1, 0], ["", WEAK_TYPE, ""]),
        ("growing", "jax", [1, 1, 1, 0], ["", SHAPE, SHAPE, ""]),
        ("read_back", "torch_xla", [2, 0, 1, 0], ["", "", VALUES, ""]),
    ],
)
def test_the_cause_of_each_compilation_is_named(tmp_path, program, framework, compiled, causes):
    command = [str(FOLDER / f"{program}.py"), "--frontends", framework, "--output", str(tmp_path)]
    answer = explain.explain(explain.request(explain.parser().parse_args(command), print))
    [sequence] = answer.sequences
    assert [call.status for call in sequence.calls] == [Status.OK] * len(compiled)
    assert [call.compiled for call in sequence.calls] == compiled
    assert [call.cause for call in sequence.calls] == causes
    assert answer.exit_status == page.SLOWER
    if program == "read_back":
        assert all(call.splits and call.programs == 2 for call in sequence.calls)
