"""The CPU is all cores in every framework; `checks` refuses a process of the one-thread device that uses more."""

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


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
@pytest.mark.parametrize("framework", ["torch_xla", "tensorflow_xla"])
def test_cpu_works_with_all_cores(framework, tmp_path):
    result = run(framework, "cpu", tmp_path)
    assert event(result, "run")["affinity"] == CORES
    assert event(result, "steady")["threads"] >= 2
    assert wanted_cores(result) > 1.4
