"""How far float32 lets two trainings' losses part: `python -m stackwars.workloads.rounding WORKLOAD SIZES`.

A training in float64 that is disturbed in every step by as much as float32 rounds, beside one that is not: the
logits, the sums of the softmax, the gradients, what is stored, and the constants from which AdamW corrects its
moments, since 1 - 0.999^t loses three digits, the same in every step. By drawing and not by a derivative: AdamW
divides a gradient by the root of its mean square, so a component near 0 moves its weight by a whole step in a
direction that rounding decides.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field

import numpy as np

from stackwars import workloads
from stackwars.workloads import adamw, losses, values


@dataclass
class Rounding:
    """Disturbances of the size of float32's rounding. longest: terms of the longest sum in a step."""

    longest: int
    seed: int
    _random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    @property
    def of_sum(self) -> float:
        """Error of a sum over its terms: UNIT sqrt(n) for independent roundings (Higham and Mary, 2019)."""
        return losses.UNIT * math.sqrt(self.longest)

    def constant(self, value: float) -> float:
        """A constant near 1 as float32 has it."""
        return value * (1 + losses.UNIT * self._random.choice([-1, 1]))

    def sums(self, array: np.ndarray) -> None:
        """Change results of sums in place: by an error relative to the array's root mean square and not to each
        of them, since terms larger than their sum cancel. One that is 0 is a sum of zeros, which is exact."""
        there = array != 0
        size = self.of_sum * math.sqrt(np.square(array).sum() / max(1, there.sum()))
        array += size * self._random.standard_normal(array.shape, np.float32) * there

    def kept(self, array: np.ndarray) -> None:
        """Change what a step stores in place: it is rounded once more."""
        array *= 1 + losses.UNIT * (2 * self._random.random(array.shape, np.float32) - 1)


def apart(module: adamw.Training, sizes: dict[str, int], draws: int, seed: int) -> list[float]:
    """Of each draw the largest relative difference of a step's loss to that of the undisturbed training."""
    sets = [module.inputs(sizes, seed), module.inputs(sizes, seed + 1)]
    batches = [sets[step % 2] for step in range(losses.STEPS)]
    heads = [sizes["heads"]] if "heads" in sizes else []
    shapes = module.parameters(sizes).items()
    weights = {name: values.leaf(name, shape, seed) for name, shape in shapes}

    def trained(rounding: Rounding | None) -> np.ndarray:
        return np.array(module.reference(weights, batches, *heads, rounding=rounding)[0])

    plain, longest = trained(None), module.longest(sizes)
    disturbed = (trained(Rounding(longest, draw)) for draw in range(draws))
    return [float(np.abs(one / plain - 1).max()) for one in disturbed]


def main() -> None:
    """Print what each draw gives at these sizes, and the bound that the workload states."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("workload", help="train_mlp or train_transformer")
    parser.add_argument("sizes", nargs="+", metavar="SIZE=VALUE", help="as in config.yaml")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=2025, help="of weights and inputs")
    a = parser.parse_args()
    sizes = {name: int(value) for name, value in (one.split("=") for one in a.sizes)}
    module = workloads.load(a.workload)
    for value in apart(module, sizes, a.draws, a.seed):
        print(f"{value:.2e}", flush=True)
    print(f"bound: {module.losses_rel(sizes):.2e}")


if __name__ == "__main__":
    main()
