"""Audits of a replay: what is broken in it, and how programs that take turns are compared."""

import json
from pathlib import Path

import pytest

from stackwars.audits import power, replay_power, replays, verdicts
from stackwars.audits.replay_child import unused

JOB = {"framework": "jax", "compiler": "iree-3.13", "device": "cpu"}
PROGRAM = """module @jit_function {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    %0:2 = stablehlo.while(%iterArg = %arg0, %i = %c) : tensor<2x3xf32>, tensor<i32>
    return %0#0 : tensor<2x3xf32>
  }
  func.func private @closed_call(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    return %arg0 : tensor<2xf32>
  }
}
"""


def test_dead_output_is_that_of_the_main_function():
    lines = unused(PROGRAM).splitlines()
    place = lines.index("    return %zeros : tensor<2x3xf32>")
    assert lines[place - 1] == "    %zeros = stablehlo.constant dense<0.0> : tensor<2x3xf32>"
    assert "    return %arg0 : tensor<2xf32>" in lines, "a called function stays"
    with pytest.raises(ValueError, match="expected a line `return"):
        unused("module {}")


@pytest.fixture
def replayed(monkeypatch):
    """Processes whose blocks take as long as their layers, in rounds that are slower and slower."""

    def lowered(job, workload, sizes, folder):
        return {name: {"layers": one["layers"]} for name, one in sizes.items()}

    def run(job, pins, folder, programs, **own):
        number = own["repetition"]
        steady = [
            {
                "event": "steady", "program": name, "calls": 1,
                "ns": [one["layers"] * (1000 + 100 * number + 7 * k * (-1) ** place) for k in range(9)],
            }
            for place, (name, one) in enumerate(programs.items())
        ]  # fmt: skip
        return {"repetition": number, "wall_s": 2.0, "events": steady}

    monkeypatch.setattr(replays, "lowered", lowered)
    monkeypatch.setattr(replays, "run", run)


def test_programs_of_one_process_are_compared_by_their_work(replayed):
    found = replay_power.audit_power(JOB, Path("pins"), 8, Path("folder"))
    assert (found["rounds"], found["wall_s"]) == (8, 16.0)
    assert [round(one["ratio"], 2) for one in found["sizes"]] == [
        pytest.approx(1 + percent / 100, abs=0.06) for percent in power.MORE
    ]
    # Every second program is a little slower than the base from block to block, and the same in all rounds.
    assert found["ratios"][power.BASE] == [1.0] * 8
    assert json.loads(json.dumps(found)) == found


def test_a_replay_is_named_with_its_compiler(replayed):
    found = replay_power.audit_power(JOB, Path("pins"), 8, Path("folder"))
    assert verdicts.power([found])["detail"].startswith("jax in iree-3.13 on cpu: 2 % is found in ")
    groups = verdicts.aa([], [found])["figures"]["groups"]
    assert "interleaved depth scaling, jax in iree-3.13" in groups
