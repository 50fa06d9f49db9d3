"""A workload in eager PyTorch and NumPy is checked and timed as a compiled program is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stackwars.core import check, judge
from stackwars.core.judge import Expected
from stackwars.core.outcome import Status
from stackwars.measure import workloads
from stackwars.measure.native import NativeWorker, refusals
from stackwars.setup.environments import ensure
from stackwars.study import cells, config

pytestmark = pytest.mark.env
SEED = 2025
PINS = {"torch_eager": "torch_xla", "numpy": "numpy"}
SMOKE = config.load(preset="smoke")


def worker(framework: str, workload: str) -> NativeWorker:
    python = ensure(Path(f"envs/{PINS[framework]}.txt"))
    return NativeWorker(framework, python, workload, cells.sizes(SMOKE, workload), SEED)


def expected(workload: str) -> Expected:
    outputs, state = workloads.load(workload).expected(cells.sizes(SMOKE, workload), SEED)
    values = {f"state/{name}": np.asarray(value) for name, value in state.items()}
    for which, output in enumerate(outputs):
        values |= judge.output_values(output, which)
    return Expected("NumPy", limits=dict.fromkeys(values, 1e-4), values=values)


@pytest.mark.parametrize(("framework", "workload"), [("numpy", "gemm"), ("torch_eager", "train_mlp")])
def test_a_framework_is_checked_and_timed_and_a_wrong_state_is_wrong(framework, workload):
    right = expected(workload)
    with worker(framework, workload) as native:
        found = check.check(native, native.program, right)
        assert found.outcome.status is Status.OK, found.outcome
        assert found.compile_s > 0 and found.repeat_ns > 0 and found.verdict["total"] > 1
        assert native.versions()
        timing = check.time_together(native, [native.program], 0.05)[framework]
        assert timing.ms > 0 and timing.rounds > 1
        for name in [name for name in right.values if name.startswith("state/")][:1]:
            wrong = replace(right, values={**right.values, name: right.values[name] + 1})
            assert check.check(native, native.program, wrong).outcome.status is Status.WRONG


def test_what_a_framework_raises_against_a_program_is_a_refusal():
    unsupported = type("Unsupported", (Exception,), {"__module__": "torch._dynamo.exc"})
    with pytest.raises(NotImplementedError, match="Unsupported: read back"), refusals():
        raise unsupported("read back")
    with pytest.raises(ValueError, match="of the program"), refusals():
        raise ValueError("of the program")


def test_a_workload_without_a_form_is_unsupported():
    with worker("numpy", "bert_base") as native:
        found = check.check(native, native.program, Expected(reason="none"))
    assert found.outcome.status is Status.UNSUPPORTED
