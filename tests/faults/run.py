"""Inject every fault into a copy of a finished smoke run: `make test-faults`.

`python -m faults.run [--jobs N] [FAULT ...]` prints the outcomes, and exits with 1 if one is not survived.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from faults import children, files, runs, surroundings
from faults.attempt import copied, inject
from faults.fault import NOT_SURVIVED, NOT_TRIED, Fault, NotTried, Outcome
from faults.scratch import PAPER, Scratch, base
from stackwars.setup.environments import REPOSITORY

CATALOGUE = (*children.FAULTS, *files.FAULTS, *runs.FAULTS, *surroundings.FAULTS)
HOME = REPOSITORY / ".faults"


def chosen(names: list[str]) -> list[Fault]:
    """Return the faults with these names, or all of them without a name.

    :raises SystemExit: for a name that is none.
    """
    known = [fault.identity for fault in CATALOGUE]
    if unknown := sorted(set(names) - set(known)):
        sys.exit(f"faults: expected some of {', '.join(known)}, got {', '.join(unknown)}")
    return [fault for fault in CATALOGUE if not names or fault.identity in names]


def attempt(fault: Fault, made: Scratch) -> Outcome:
    """Inject a fault into a copy of the finished checkout, and say what became of it."""
    try:
        with copied(fault, made, HOME) as scratch:
            outcome = inject(fault, scratch)
    except NotTried as reason:
        outcome = Outcome(fault, NOT_TRIED, why=str(reason))
    say(f"{fault.title}: {outcome.verdict} [{outcome.seconds:.0f} s]: {outcome.said or outcome.why}")
    if outcome.verdict == NOT_SURVIVED:
        say(f"    {len(outcome.lost)} lost, {len(outcome.wrong)} wrong: {outcome.why}")
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fault", nargs="*", help="only these")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    a = parser.parse_args()
    faults = chosen(a.fault)
    say(f"{len(faults)} faults to inject, into copies of one finished smoke run")
    HOME.mkdir(exist_ok=True)
    made = base(HOME / "base", PAPER)
    with ThreadPoolExecutor(a.jobs) as pool:
        counted = Counter(outcome.verdict for outcome in pool.map(lambda fault: attempt(fault, made), faults))
    say(", ".join(f"{count} {verdict}" for verdict, count in counted.items()))
    sys.exit(bool(counted[NOT_SURVIVED]))


def say(text: str) -> None:
    """Print a line at once."""
    print(f"[faults] {text}", flush=True)


if __name__ == "__main__":
    main()
