"""One round: several processes at once, one of which works at a time, in a random order.

All are started together, so that imports and builds overlap; none of that is a measured time. Then each takes its
steps (call 1 and call 2, an undisturbed series, ...), and at last their loops alternate (`stackwars.measure.loops`).

    subject = Participant("torch_xla", job, python, folder / "subject", steps=SUBJECT)
    partner = Participant("jax", replace(job, ...), other_python, folder / "partner")
    records = run_round([subject, partner], job.settings, random.Random(seed), expected_bytes)
    pairs = loops.pairs(loops.loops_of(records["torch_xla"]), loops.loops_of(records["jax"]))

A process of several programs has a stream for each in `streams`; each stream takes every step and has its own loops.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackwars.core import limits
from stackwars.core.client import Process
from stackwars.core.outcome import Failed
from stackwars.measure import calls
from stackwars.measure.loops import LONG_S
from stackwars.measure.supervisor import CELL, MeasuredProcess, not_measured

STEPS = (calls.SINGLES, calls.STEADY)
"""Steps before the loops of a participant that others are only compared with."""
SUBJECT_STEPS = (*STEPS, calls.DISPATCH, calls.THROUGHPUT)
INTERLEAVED, IN_TURN = "interleaved", "in turn"
"""How a round went: with alternating loops, or one process after the other."""
LONG_PAIRS = 2
"""Pairs of loops if a block takes over LONG_S."""
FAILED = -1
"""Result of a step, instead of nanoseconds, if the process has ended."""
FIRST_ROUNDS = {calls.STEADY: 2, calls.DISPATCH: 1, calls.THROUGHPUT: 1}
"""Number of first rounds that take a step; a later round warms up instead of timing the undisturbed series."""


@dataclass(frozen=True)
class Participant:
    """A process of a round.

    job: read by its child module, see `supervisor.MeasuredProcess`. python: its environment's. folder: emptied first.
    streams: the names of its programs. steps: what each stream does before the loops, in the first round.
    """

    name: str
    job: Any
    python: Path
    folder: Path
    child_module: str = CELL
    streams: tuple[str, ...] = ("",)
    steps: tuple[str, ...] = STEPS

    @property
    def steps_of_round(self) -> tuple[str, ...]:
        """The steps in its job's round. The number of the round decides them, not how many rounds follow."""
        number = self.job.repetition
        due = [step for step in self.steps if number < FIRST_ROUNDS.get(step, number + 1)]
        return tuple(due) if calls.STEADY in due else (*due, calls.WARM)


def run_round(
    participants: Sequence[Participant], settings: dict, rng: random.Random, expected_bytes: int
) -> dict[str, dict]:
    """Run one round; return {name: record of a `supervisor.MeasuredProcess`, with `order` and `basis`}.

    settings: `loop_pairs`. expected_bytes: the memory that all processes may need together; if it
    is not free, or one of several runs out of memory, the processes run one after the other, in the order given, and
    not at all if the first fails.
    `basis` is INTERLEAVED or IN_TURN; `order` has the participants' streams in the order of each step.
    """
    if len(participants) > 1 and expected_bytes <= limits.available_memory_bytes():
        result = _together(participants, settings, rng)
        if all(record["status"] != "oom" for record in result.values()):
            return result
    first, *others = participants
    result = _together([first], settings, rng)
    for one in others:
        if result[first.name]["status"] == "ok":
            result |= _together([one], settings, rng)
        else:
            result[one.name] = not_measured(one.job, "not run", f"{first.name} ended before its turn")
    return {name: {**record, "basis": IN_TURN} for name, record in result.items()} if others else result


@dataclass
class _Round:
    """The participants of a round, and their processes."""

    participants: Sequence[Participant]
    settings: dict
    rng: random.Random
    processes: dict[str, Process]
    order: dict[str, list[str]] = field(default_factory=dict)

    def conduct(self) -> None:
        """Give every process its turns, until the round is over or none runs any more."""
        for process in self.processes.values():
            process.send("build")
        running = [one for one in self.participants if self._answer(one, "build") != FAILED]
        steps = {one.name: one.steps_of_round for one in self.participants}
        for step in dict.fromkeys(step for taken in steps.values() for step in taken):
            for turn in self._drawn(step, [one for one in running if step in steps[one.name]]):
                self._turn(*turn, step)
        self._loops(running)
        for process in self.processes.values():
            if process.is_running:
                process.send("finish")

    def _answer(self, one: Participant, command: str) -> Any:
        """Return the answer to a command, FAILED if it ended the process: its record says how."""
        try:
            return self.processes[one.name].answer(command)
        except Failed:
            return FAILED

    def _drawn(self, step: str, participants: Sequence[Participant]) -> list[tuple[Participant, str]]:
        """Return the streams of participants in a random order, and record the order."""
        result = [(one, stream) for one in participants for stream in one.streams]
        self.rng.shuffle(result)
        self.order[step] = [f"{one.name} {stream}".strip() for one, stream in result]
        return result

    def _turn(self, one: Participant, stream: str, step: str) -> int:
        """Return the ns of the longest block of a step; FAILED if its process has ended."""
        process = self.processes[one.name]
        if not process.is_running:
            return FAILED
        process.send("perform", step=step, stream=stream)
        return self._answer(one, step)

    def _loops(self, participants: Sequence[Participant]) -> None:
        """Alternate loops, A B B A A B ...; a participant that has ended drops out, and the others go on."""
        order = self._drawn(calls.LOOP, participants)
        rounds, longest = 0, 0
        while order:
            for turn in list(order):
                ns = self._turn(*turn, calls.LOOP)
                longest = max(longest, ns)
                if ns == FAILED:
                    order = [other for other in order if other[0] is not turn[0]]
            rounds += 1
            order = order[::-1]
            enough = LONG_PAIRS if longest > 1e9 * LONG_S else math.inf
            if rounds >= min(enough, self.settings["loop_pairs"]):
                return


def _together(participants: Sequence[Participant], settings: dict, rng: random.Random) -> dict[str, dict]:
    """Run processes at once; return their records.

    A process waits while the others work, so the number of processes multiplies the time limit of each.
    """
    with ExitStack() as stack:
        processes = {
            one.name: stack.enter_context(
                MeasuredProcess(
                    one.job, one.python, one.folder, one.child_module,
                    seed=rng.getrandbits(32), patience=len(participants),
                )
            )
            for one in participants
        }  # fmt: skip
        this = _Round(participants, settings, rng, processes)
        this.conduct()
        records = {name: process.record() for name, process in processes.items()}
    return {name: {**record, "order": this.order, "basis": INTERLEAVED} for name, record in records.items()}
