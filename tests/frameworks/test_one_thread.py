"""The one-thread device is one core and one thread at a time in every framework; the CPU is all of them."""

import os

import pytest

from frameworks.probed import pins
from stackwars.core.documents import event
from stackwars.measure import frameworks
from stackwars.measure.supervisor import ProcessJob, supervise
from stackwars.setup.environments import ensure
from stackwars.study import cells
from stackwars.study.config import load

pytestmark = [pytest.mark.env, pytest.mark.alone]
CORES = sorted(os.sched_getaffinity(0))
# Products that a thread pool would divide among all cores.
SIZES = {"batch": 32, "sequence": 64, "features": 256, "hidden": 1024}


def run(framework: str, device: str, folder) -> dict:
    """A process of the FFN as the workflow runs it, supervised."""
    config = load()
    settings = {
        **cells.settings(config).document(),
        **{"block_calls": 1, "steady_min_blocks": 8, "steady_seconds": 0.3},
    }
    dialect = frameworks.load(framework).DIALECT
    job = ProcessJob(framework, dialect, "ffn", device, "smoke", 0, SIZES, settings)
    result = supervise(job, ensure(pins(framework)), folder / "process-0")
    assert (result["status"], result["status_detail"]) == ("ok", "")
    return result


def wanted_cores(result: dict) -> float:
    """How many threads wanted a core, whether they had it or waited: mean over the steady blocks."""
    steady = event(result, "steady")
    return (sum(steady["run_ns"]) + sum(steady["wait_ns"])) / sum(steady["ns"])


# Of two pools of threads; the smoke run has a cell of each framework on one core.
@pytest.mark.parametrize("framework", ["torch_inductor", "tensorflow_xla"])
def test_one_thread_device_works_with_one_thread_at_a_time_on_one_core(framework, tmp_path):
    result = run(framework, "cpu-1t", tmp_path)
    for name in ("run", "timed"):
        assert event(result, name)["affinity"] == CORES[-1:]
    assert event(result, "build")["device_kind"].lower() == "cpu"
    # Of the threads one works at a time: together they want no more than one core. What is over it is
    # the hand-over from the thread that asks to the one that works, and the reading of the meter. What a host
    # takes away from the machine is in neither sum, so the sum may be well below the time that passed.
    assert 0.6 < wanted_cores(result) < 1.25


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
@pytest.mark.parametrize("framework", ["jax", "torch_xla", "tensorflow_xla"])
def test_cpu_works_with_all_cores(framework, tmp_path):
    result = run(framework, "cpu", tmp_path)
    assert event(result, "run")["affinity"] == CORES
    assert event(result, "steady")["threads"] >= 2
    assert wanted_cores(result) > 1.4
