"""A fault: what is broken, how, and by which words the user must know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from faults.scratch import TABLES, Ran, Scratch

SURVIVED, NOT_SURVIVED, NOT_TRIED = "survived", "not survived", "not tried"


class NotTried(RuntimeError):
    """A fault that cannot be injected on this machine, and why."""


def nothing(scratch: Scratch) -> None:
    """No step of a fault."""


@dataclass(frozen=True)
class Fault:
    """One fault, for a scratch checkout with a finished run.

    prepare: before the run that meets the fault, with what must be left to do in it. run: that run, and the
    fault where it is injected meanwhile. says: a regular expression of the line by which the user knows, in
    what the runs print or in the status of a cell. recover: what the user then does, before giving the same
    command, of the targets `again`, once more. spends: beginnings of the names of results that the user
    deletes in this, or that were spoilt by the fault itself. extra: further problems that it could have
    caused. disk_mb: room of a disk of its own; 0 for none.
    """

    identity: str
    title: str
    run: Callable[[Scratch], Ran]
    says: str
    prepare: Callable[[Scratch], None] = nothing
    recover: Callable[[Scratch], None] = nothing
    again: tuple[str, ...] = (TABLES,)
    spends: tuple[str, ...] = ()
    extra: Callable[[Scratch], list[str]] = lambda scratch: []
    disk_mb: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a run with a fault.

    lost: finished numbers that are gone; wrong: numbers that are shown and are not on disk, or not valid;
    said: the line by which the user knows; why: why it was not survived or not tried.
    """

    fault: Fault
    verdict: str
    lost: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    said: str = ""
    why: str = ""
    seconds: float = 0.0
