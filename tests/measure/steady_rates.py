"""How often the classes of `stackwars.measure.steady` are found, on series whose class is known."""

import json
from collections.abc import Callable

import numpy as np

from stackwars.measure.steady import AT_ONCE, NONE, SLOWING, WARM_UP, classify

POINTS = 60  # call 1, call 2 and blocks; a "short" series is of a model whose calls take seconds
SHORT = 7
CONDITIONS = {
    "noise 2 %": {"noise": 0.02, "spikes": 0.0},
    "noise 5 %, spikes 3 %": {"noise": 0.05, "spikes": 0.03},
}


def _step(begin: int, end: int, level: float, points: int = POINTS) -> np.ndarray:
    """A steady series but for the points between two places."""
    levels = np.ones(points)
    levels[begin:end] = level
    return levels


def _bimodal(random: np.random.Generator) -> np.ndarray:
    """Each point in one of two modes, the slower by a seventh; 3 to 7 of 10 in the slower."""
    return np.where(random.random(POINTS) < random.uniform(0.3, 0.7), 1.15, 1.0)


SERIES: dict[str, tuple[str, Callable[[np.random.Generator], np.ndarray]]] = {
    "steady at once": (AT_ONCE, lambda random: np.ones(POINTS)),
    "bimodal noise": (AT_ONCE, _bimodal),
    # Not call 2, which would be two-run stabilising.
    "lone spike": (AT_ONCE, lambda random: _step(at := random.integers(2, POINTS), at + 1, 3.0)),
    # A neighbour slows a run of points by a half.
    "burst": (AT_ONCE, lambda random: _step(at := random.integers(5, POINTS - 5), at + 5, 1.5)),
    "two-run stabilising": (WARM_UP, lambda random: _step(1, 2, 10.0)),
    # A fifth slower for the first sixth to third of the series.
    "long warm-up": (WARM_UP, lambda random: _step(0, random.integers(POINTS // 6, POINTS // 3), 1.2)),
    "drift": (SLOWING, lambda random: np.linspace(1.0, 1.2, POINTS)),
    # A fifth slower from somewhere in the middle half on.
    "throttled": (SLOWING, lambda random: _step(random.integers(POINTS // 4, 3 * POINTS // 4), POINTS, 1.2)),
    # The last of four levels is neither the first of its height nor higher than all before.
    "wandering": (NONE, lambda random: np.repeat([1.0, 1.25, 1.0, 1.25], POINTS // 4)),
    "falling to the end": (NONE, lambda random: np.linspace(1.4, 1.0, POINTS)),
    "steady at once, short": (AT_ONCE, lambda random: np.ones(SHORT)),
    "two-run stabilising, short": (WARM_UP, lambda random: _step(1, 2, 20.0, SHORT)),
}
"""{name: (class, levels of a series)}; the first call, which compiles, takes ten times its level."""


def rates(trials: int, noise: float, spikes: float, seed: int) -> dict[str, float]:
    """Fraction of trials in which each of SERIES is put into its class.

    noise is the standard deviation of a point's logarithm; spikes the probability that a point is
    1.3 to 3 times slower. Call 1 and call 2 have noise and no spikes: a slow second call is what
    two-run stabilising is, whatever made it slow.
    """
    random = np.random.default_rng(seed)
    return {
        name: sum(classify(_noisy(levels(random), noise, spikes, random)).kind == kind for _ in range(trials))
        / trials
        for name, (kind, levels) in SERIES.items()
    }


def _noisy(levels: np.ndarray, noise: float, spikes: float, random: np.random.Generator):
    series = levels * np.exp(random.normal(0, noise, len(levels)))
    series[0] *= 10
    struck = random.random(len(levels)) < spikes
    struck[:2] = False
    return np.where(struck, series * random.uniform(1.3, 3.0, len(levels)), series)


def main() -> None:
    """`python tests/measure/steady_rates.py`: print the rates by condition and series as JSON."""
    found = {name: rates(400, **condition, seed=1) for name, condition in CONDITIONS.items()}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
