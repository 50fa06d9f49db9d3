"""The sets of inputs between which calls alternate, so that no result can be kept from one call to the next."""

from __future__ import annotations

import numpy as np

from stackwars.workloads.base import Workload

INPUT_SETS = 2


def input_sets(workload: Workload, sizes: dict[str, int], seed: int) -> list[dict[str, np.ndarray]]:
    """INPUT_SETS times the workload's inputs, of the seed and the seeds that follow it."""
    return [workload.inputs(sizes, seed + number) for number in range(INPUT_SETS)]
