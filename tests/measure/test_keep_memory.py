"""The C library keeps memory in workloads that update a state, in a cell and in the replay of its program alike."""

import pytest

from running import python
from stackwars.core.documents import Events
from stackwars.measure import child, workloads
from stackwars.measure.stablehlo import replay

FAULTS = """
import resource, sys
import numpy as np
from stackwars.measure.child import keep_memory
keep_memory(sys.argv[1])
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
np.ones(2**24, np.uint8)
before = faults()
for _ in range(20):
    np.ones(2**24, np.uint8)
print(faults() - before)
"""


def faults(workload: str) -> int:
    """Page faults of allocating 16 MiB twenty times after the first."""
    return int(python("-c", FAULTS, workload).stdout)


def test_memory_that_a_step_freed_is_there_in_the_next_step():
    assert workloads.load("train_mlp").STATE and not workloads.load("gemm").STATE
    assert faults("train_mlp") < 100 < faults("gemm")


@pytest.mark.parametrize("module", [child, replay], ids=["cell", "replay"])
def test_a_cell_and_the_replay_of_its_program_have_the_same_allocator(module, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "keep_memory", asked.append)
    spec = {"workload": "train_mlp", "sizes": {}, "settings": {"seed": 1}}
    with pytest.raises(KeyError):  # it has neither a framework nor a compiler
        next(module.measure(spec, Events(tmp_path / "events.jsonl"), tmp_path))
    assert asked == ["train_mlp"]
