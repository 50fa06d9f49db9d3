"""The rounds of a job: each is measured once, and a job that runs again goes on after those that had finished."""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackwars.core import machine
from stackwars.measure.rounds import Rounds, finished


@dataclass(frozen=True)
class Job:
    calls: int = 3


class Measured:
    """Counts the rounds that are measured, and draws a number in each."""

    def __init__(self) -> None:
        self.rounds = 0

    def __call__(self, folder: Path, rng: random.Random) -> dict:
        self.rounds += 1
        assert list(folder.iterdir()) == []
        (folder / "output").write_text("x")
        return {"drawn": rng.random()}


@pytest.fixture
def pins(tmp_path) -> Path:
    path = tmp_path / "pins.txt"
    path.write_text("numpy==1")
    return path


def test_finished_rounds_of_the_same_job_are_not_measured_again(tmp_path, pins):
    measure = Measured()
    rounds = Rounds(tmp_path / "cell", Job(), [pins])
    first = [rounds.run(number, measure) for number in (0, 1)]
    again = Rounds(tmp_path / "cell", Job(), [pins])
    assert again.seed == rounds.seed
    assert [again.run(number, measure) for number in (0, 1)] == first and measure.rounds == 2
    assert (again.place(1) / "output").exists()
    # What the third round draws does not depend on whether the first two were measured now.
    third = again.run(2, measure)
    assert third["drawn"] == random.Random(f"{rounds.seed} 2").random()


def test_more_rounds_are_added_to_those_that_are_there_and_fewer_drop_none(tmp_path, pins):
    measure = Measured()

    def ran(count: int) -> list[dict]:
        rounds = Rounds(tmp_path / "cell", Job(), [pins])
        return [rounds.run(number, measure) for number in rounds.numbers(count)]

    first, more, fewer = ran(2), ran(5), ran(3)
    assert more[:2] == first and fewer == more and measure.rounds == 5
    assert finished(tmp_path / "cell") == 5 and finished(tmp_path) == 0


def test_a_round_that_was_cut_off_is_measured_again(tmp_path, pins):
    rounds = Rounds(tmp_path / "cell", Job(), [pins])

    def die(folder: Path, rng: random.Random) -> dict:
        (folder / "left").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rounds.run(0, die)
    assert not rounds.place(0).exists()
    assert "drawn" in rounds.run(0, Measured())
    (rounds.place(0) / "round.json").write_text('{"drawn": 0.')
    assert "drawn" in Rounds(tmp_path / "cell", Job(), [pins]).run(0, Measured())


@pytest.mark.parametrize("changed", ["job", "pins", "machine"])
def test_rounds_of_another_job_pins_or_machine_are_measured_anew_from_another_seed(
    tmp_path, pins, monkeypatch, changed
):
    measure = Measured()
    rounds = Rounds(tmp_path / "cell", Job(), [pins])
    rounds.run(0, measure)
    if changed == "pins":
        pins.write_text("numpy==2")
    if changed == "machine":
        monkeypatch.setattr(machine, "record", lambda: {"node": "n2"})
    other = Rounds(tmp_path / "cell", Job(calls=5) if changed == "job" else Job(), [pins])
    other.run(0, measure)
    assert measure.rounds == 2 and other.seed != rounds.seed


def test_the_seed_differs_by_run(tmp_path, pins):
    assert len({Rounds(tmp_path / str(run), Job(), [pins]).seed for run in range(5)}) == 5
