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


def _compiled(levels: np.ndarray, calls: int = 1) -> np.ndarray:
    """The series with its first calls many times slower."""
    levels[:calls] *= 10.0
    return levels


def _flat(random: np.random.Generator) -> np.ndarray:
    return _compiled(np.ones(POINTS))


def _two_run(random: np.random.Generator) -> np.ndarray:
    return _compiled(np.ones(POINTS), 2)


def _warming(random: np.random.Generator) -> np.ndarray:
    """A fifth slower for the first sixth to third of the series."""
    levels = np.ones(POINTS)
    levels[: random.integers(POINTS // 6, POINTS // 3)] = 1.2
    return _compiled(levels)


def _drift(random: np.random.Generator) -> np.ndarray:
    return _compiled(np.linspace(1.0, 1.2, POINTS))


def _throttled(random: np.random.Generator) -> np.ndarray:
    """A fifth slower from somewhere in the middle half of the series on."""
    levels = np.ones(POINTS)
    levels[random.integers(POINTS // 4, 3 * POINTS // 4) :] = 1.2
    return _compiled(levels)


def _bimodal(random: np.random.Generator) -> np.ndarray:
    """Each point in one of two modes, the slower by a seventh; 3 to 7 of 10 in the slower."""
    slower = random.random(POINTS) < random.uniform(0.3, 0.7)
    return _compiled(np.where(slower, 1.15, 1.0))


def _spike(random: np.random.Generator) -> np.ndarray:
    """One point three times slower; not call 2, which would be two-run stabilising."""
    levels = np.ones(POINTS)
    levels[random.integers(2, POINTS)] = 3.0
    return _compiled(levels)


def _burst(random: np.random.Generator) -> np.ndarray:
    """A neighbour that slows a run of 5 of the points by a half."""
    levels = np.ones(POINTS)
    begin = random.integers(5, POINTS - 5)
    levels[begin : begin + 5] = 1.5
    return _compiled(levels)


def _wandering(random: np.random.Generator) -> np.ndarray:
    """Four levels, the last neither the first of its height nor higher than all before."""
    return _compiled(np.repeat([1.0, 1.25, 1.0, 1.25], POINTS // 4))


def _falling(random: np.random.Generator) -> np.ndarray:
    """Still getting faster when the series ends."""
    return _compiled(np.linspace(1.4, 1.0, POINTS))


def _short_flat(random: np.random.Generator) -> np.ndarray:
    return _compiled(np.ones(SHORT))


def _short_two_run(random: np.random.Generator) -> np.ndarray:
    levels = _compiled(np.ones(SHORT), 2)
    levels[1] = 2.0
    return levels


SERIES: dict[str, tuple[str, Callable[[np.random.Generator], np.ndarray]]] = {
    "steady at once": (AT_ONCE, _flat),
    "bimodal noise": (AT_ONCE, _bimodal),
    "lone spike": (AT_ONCE, _spike),
    "burst": (AT_ONCE, _burst),
    "two-run stabilising": (WARM_UP, _two_run),
    "long warm-up": (WARM_UP, _warming),
    "drift": (SLOWING, _drift),
    "throttled": (SLOWING, _throttled),
    "wandering": (NONE, _wandering),
    "falling to the end": (NONE, _falling),
    "steady at once, short": (AT_ONCE, _short_flat),
    "two-run stabilising, short": (WARM_UP, _short_two_run),
}


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
    struck = random.random(len(levels)) < spikes
    struck[:2] = False
    return np.where(struck, series * random.uniform(1.3, 3.0, len(levels)), series)


def main() -> None:
    """`python tests/measure/steady_rates.py`: print the rates by condition and series as JSON."""
    found = {name: rates(400, **condition, seed=1) for name, condition in CONDITIONS.items()}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
