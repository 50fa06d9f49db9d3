"""Which part of a study fits into some minutes."""

from itertools import pairwise

import pytest

from stackwars.setup.device import CPUS
from stackwars.study import budget, cells, programs
from stackwars.study.config import ConfigError, load
from stackwars.study.keys import Config

WHOLE = load()
LEAST = budget.least_minutes(WHOLE)
MINUTES = [LEAST, 15, 20, 30, 40, 60, 90, 600]


def rounds(config: Config) -> dict:
    """Return the rounds of every cell and replay that is measured."""
    of_cells = {
        c: cells.rounds(config, c.framework, c.workload, c.device)
        for c in cells.measured(config)
        if c.device in CPUS
    }
    replays = programs.measured_replays(config)
    return of_cells | {one: cells.rounds(config, one.workload, one.compiler) for one in replays}


@pytest.fixture(scope="module")
def parts() -> dict[int, Config]:
    return {minutes: load(minutes=minutes) for minutes in MINUTES}


def test_every_cell_and_replay_of_a_run_has_a_cost():
    assert budget.unknown(WHOLE) == [] and budget.seconds(WHOLE) > 0
    known = {("cell", one.device, one.framework, one.workload) for one in cells.asked(WHOLE)}
    known |= {("replay", one.device, one.compiler, one.workload) for one in programs.replays(WHOLE)}
    known |= {("lower", "", one.framework, one.workload) for one in programs.base_programs(WHOLE)}
    known |= {("check", "", compiler, workload) for compiler, workload, _ in programs.checks(WHOLE)}
    known |= {budget.ONCE, *((rule, "", "", "") for rule in ("ahead", "largest_batch", "memory"))} | {
        ("expected", "", "", workload) for workload in WHOLE.workloads
    }
    assert set(budget.costs()) <= known, "a row of something that no run has"


def test_what_is_chosen_fits_and_the_next_larger_part_does_not(parts):
    every = [budget.seconds(part) for part in budget.parts(WHOLE)]
    assert every == sorted(every, reverse=True)
    for minutes, part in parts.items():
        chosen = budget.seconds(part)
        assert chosen <= 60 * minutes
        assert not [one for one in every if chosen < one <= 60 * minutes]


def test_more_minutes_measure_everything_that_fewer_do_in_as_many_rounds_or_more(parts):
    every = [rounds(parts[minutes]) for minutes in MINUTES]
    for fewer, more in pairwise(every):
        assert fewer.keys() <= more.keys()
        assert all(more[one] >= count for one, count in fewer.items())
    assert len(every[0]) < len(every[-1])
    assert every[-1] == rounds(WHOLE), "enough minutes have the whole study"


def test_a_ratio_that_is_measured_has_an_interval(parts):
    alone = {row.subject for row in WHOLE.comparisons} & {
        name for name, count in WHOLE.chosen.rounds.items() if count == 1
    }
    for part in parts.values():
        few = {one for one, count in rounds(part).items() if count < budget.FEWEST}
        assert {one.framework for one in few} <= alone


def test_every_program_is_made_and_every_cell_has_a_row(parts):
    for part in parts.values():
        assert programs.base_programs(part) == programs.base_programs(WHOLE)
        assert cells.asked(part) == cells.asked(WHOLE)
        assert len(programs.checks(part)) == len(programs.measured_replays(part))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"minutes": LEAST - 1}, f"expected 0, or at least {LEAST}, got {LEAST - 1}"),
        ({"minutes": -1}, "expected a number of at least 0, got -1"),
        ({"minutes": 1.5}, "expected an integer, got 1.5"),
        ({"minutes": 15, "preset": "smoke"}, "expected 0 in a preset other than full, got 15"),
        (
            {"minutes": 15, "measure": ["tables", "stacks"]},
            "expected 0 in a run of .*cpu/torchax.* lacks, got 15",
        ),
    ],
)
def test_minutes_that_fit_nothing_are_refused(changes, expected):
    with pytest.raises(ConfigError, match=f"config: minutes: {expected}"):
        load(**changes)


def test_the_reference_has_what_it_has():
    assert load(minutes=15, source="reference").presets == WHOLE.presets


def test_the_sentence_counts_cells_and_names_what_is_left_out():
    part = load(minutes=15)
    text = budget.sentence(part, [3.0, 2.0, 3.0])
    measured = [one for one in cells.measured(part) if one.device in CPUS]
    asked = [one for one in cells.asked(part) if one.device in CPUS]
    assert f"Limited to 15 min, this run has 2 to 3 rounds of {len(measured)} of {len(asked)} cells" in text
    left_out = text.partition("; left out are ")[2]
    assert (
        "GPT-Neo" in left_out
        and "jaxlib-0.10.2" in left_out
        and "iree" not in left_out
        and "GEMM" not in left_out
    )
    whole = budget.sentence(load(minutes=600), [5])
    assert "has 5 rounds of" in whole and "left out" not in whole
