"""The part of a study that fits into the key `minutes`: its rounds, and what is left out.

The minutes alone choose it, by the costs in config/costs.csv and by nothing that was measured on this machine: a number
of rounds must not depend on their results. Every part is contained in the larger ones, so that a run with more minutes
adds rounds, cells and replays to those of a run with fewer.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from stackwars.core.launch import REPOSITORY
from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.setup.device import CPUS, ONE_THREAD
from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.studies import main_comparison

COSTS = REPOSITORY / "config" / "costs.csv"
HUGE = 10**9
"""Parameters from which on a model goes first. One that is out of memory in the costs may run for an hour elsewhere."""
FEWEST = 2
"""Rounds without which a ratio has no interval."""
ONCE = ("paper", "", "", "")
"""The row of config/costs.csv for everything that every run makes once: peaks, tables, figures, paper, report."""
SHORT_S = 4.0
"""Expected seconds of a job whose rule has no row."""


class Cost(NamedTuple):
    """Seconds by which a job makes a run on a machine longer. first_s: with one round. round_s: of each further round.

    Two compilations run side by side, so each counts for half of its time.
    """

    first_s: float
    round_s: float
    machine: str

    def seconds(self, rounds: int, finished: int = 0) -> float:
        if finished:
            return max(0, rounds - finished) * self.round_s
        return self.first_s + (rounds - 1) * self.round_s if rounds else 0.0


@cache
def costs() -> dict[tuple[str, ...], Cost]:
    """Return the rows of config/costs.csv by (rule, device, framework or compiler, workload)."""
    with COSTS.open(encoding="utf-8", newline="") as file:
        return {
            (row["rule"], row["device"], row["name"], row["workload"]): Cost(
                float(row["first_s"]), float(row["round_s"] or 0), row["machine"]
            )
            for row in csv.DictReader(file)
        }


def machine() -> str:
    """Return the machine on which `minutes` is the time of a run on a fresh checkout after set-up."""
    return costs()[ONCE].machine if ONCE in costs() else ""


def cost_of(one: Cell | ReplayCell) -> Cost | None:
    """Return what a cell or a replay costs; None if config/costs.csv does not have it."""
    rule, name = ("cell", one.framework) if isinstance(one, Cell) else ("replay", one.compiler)
    return costs().get((rule, one.device, name, one.workload))


def rounds_of(config: Config, one: Cell | ReplayCell) -> int:
    names = (one.framework, one.device) if isinstance(one, Cell) else (one.compiler,)
    return cells.rounds(config, one.workload, *names)


def joint(config: Config) -> set[Cell | ReplayCell]:
    """Return the cells and replays that are measured in the rounds of another cell."""
    measured, native = cells.measured(config), programs.native_compiler(config)
    among = frozenset(measured)
    return {
        *(one for one in measured if cells.measured_with(config, one, among)),
        *(one for one in programs.measured_replays(config) if one.compiler == native),
    }


def work(config: Config) -> dict[Cell | ReplayCell, int]:
    """Return the rounds of every cell and replay on the CPU that is not measured in the rounds of another cell."""
    joined = joint(config)
    candidates = [*cells.measured(config), *programs.measured_replays(config)]
    return {one: rounds_of(config, one) for one in candidates if one.device in CPUS and one not in joined}


def result_of(path: Path) -> Cell | ReplayCell | None:
    """Return the cell or replay whose result a file is; None for any other file."""
    if path.name not in ("cell.json", "replay.json"):
        return None
    device, name, workload = path.parts[-4:-1]
    return ReplayCell(device, name, workload) if path.name == "replay.json" else Cell(name, workload, device)


def estimator(config: Config) -> Callable[[str, Path, Any], float]:
    """Return a function of a job's rule, first output and wildcards: the seconds by which it makes the run longer.

    They are those of its row, the median of the rows of its rule, or SHORT_S. The rows hold for the preset full.
    """
    joined = joint(config)

    def seconds(rule: str, output: Path, wildcards: Any) -> float:
        one = result_of(output)
        if one in joined or config.preset != "full":
            return SHORT_S
        if one and (cost := cost_of(one)):
            return cost.seconds(rounds_of(config, one))
        name = getattr(wildcards, "framework", getattr(wildcards, "compiler", ""))
        if cost := costs().get((rule, "", name, getattr(wildcards, "workload", ""))):
            return cost.first_s
        rounds = cells.settings(config).rounds if one else 1
        return statistics.median(
            [c.seconds(rounds) for row, c in costs().items() if row[0] == rule] or [SHORT_S]
        )

    return seconds


def unknown(config: Config) -> list[Cell | ReplayCell]:
    """Return the cells and replays of a run that config/costs.csv does not have."""
    return [one for one in work(config) if cost_of(one) is None]


def seconds(config: Config) -> float:
    """Return the seconds of a run on `machine()` without earlier results."""
    return once_s(config) + sum(cost_of(one).seconds(rounds) for one, rounds in work(config).items())


def once_s(config: Config) -> float:
    """Return the seconds of jobs whose cost does not depend on rounds: every program, the expected values and checks of
    measured workloads, and everything that is derived from the results.
    """
    measured = dict.fromkeys(one.workload for one in work(config))
    rows = [
        ONCE,
        *(("lower", "", program.framework, program.workload) for program in programs.base_programs(config)),
        *(("expected", "", "", workload) for workload in measured),
        *(("check", "", compiler, workload) for compiler, workload, _ in programs.checks(config)),
    ]
    return sum(costs()[row].first_s for row in rows if row in costs())


def parts(config: Config) -> Iterator[Config]:
    """Yield ever smaller parts of a run: first the full run, then each contained in the one before."""
    rounds = dict(config.chosen.rounds)
    yield config
    for step in _steps(config):
        rounds |= {name: min(count, rounds.get(name, count)) for name, count in step.items()}
        preset = config.chosen.model_copy(update={"rounds": dict(rounds)})
        yield config.model_copy(update={"presets": {**config.presets, config.preset: preset}})


def _steps(config: Config) -> Iterator[dict[str, int]]:
    """Yield the most rounds that some names may have from each part on.

    The largest models go first, because one takes as long as several others; then rounds; then what only adds to the
    original's comparison: other compilers, other frameworks, one core. Last go the other workloads, the largest first.
    """
    main, native = main_comparison(config), programs.native_compiler(config)
    names = dict.fromkeys(cell.workload for cell in cells.asked(config))
    weights = {name: workloads.load(name).parameter_count(cells.sizes(config, name)) for name in names}
    order = sorted(weights, key=lambda name: weights[name], reverse=True)
    huge = [name for name in order if weights[name] >= HUGE]
    yield dict.fromkeys(huge, 0)
    for count in range(cells.settings(config).rounds - 1, FEWEST, -1):
        yield dict.fromkeys(order, count)
    yield {name: 0 for name in config.compilers if name != native}
    yield {name: 0 for name in config.frameworks if main and name not in main.sides}
    yield {ONE_THREAD: 0}
    yield dict.fromkeys(order, FEWEST)
    for name in order[len(huge) : -1]:
        yield {name: 0}


def fitted(config: Config) -> Config | None:
    """Return the largest part of a run whose seconds fit into its minutes; None if none does."""
    return next((part for part in parts(config) if seconds(part) <= 60 * config.minutes), None)


def least_minutes(config: Config) -> int:
    """Return the fewest minutes into which a part of a run fits."""
    return math.ceil(min(map(seconds, parts(config))) / 60)


def sentence(config: Config, rounds: Iterable[int]) -> str:
    """Return which part of the study a run with `minutes` has. rounds: of its cells."""
    counts = sorted({int(count) for count in rounds}) or [0]
    spread = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    grid = [cell for cell in cells.asked(config) if cell.device in CPUS]
    measured = set(cells.measured(config)).intersection(grid)
    replays, replayed = programs.replays(config), programs.measured_replays(config)
    titles = {
        **{cell.workload: workloads.load(cell.workload).TITLE for cell in grid},
        **{cell.framework: title(cell.framework) for cell in grid},
        **{ONE_THREAD: "one core"},
        **{replay.compiler: replay.compiler for replay in replays},
    }
    without = [words for name, words in titles.items() if config.chosen.rounds.get(name) == 0]
    left_out = f"; left out are {', '.join(without)}" if without else ""
    return (
        f"Limited to {config.minutes} min, this run has {spread} rounds of {len(measured)} of {len(grid)} cells and "
        f"{len(replayed)} of {len(replays)} replays of the study{left_out}."
    )
