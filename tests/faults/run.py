"""`make faults`: every fault, injected into a copy of a finished smoke run, and results/faults.json.

`python -m faults.run [--again] [--jobs N] [FAULT ...]`. A fault that was decided at this revision is not
injected again, unless it is named or --again is given. Exits with 1 where one is not survived.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from faults import children, files, runs, surroundings
from faults.attempt import copied, inject
from faults.fault import Fault, NotTried
from faults.scratch import PAPER, Scratch, base
from stackwars.audits import fault_entries
from stackwars.audits.fault_entries import NOT_SURVIVED, NOT_TRIED, entry
from stackwars.measure import machine
from stackwars.results.folder import FAULTS
from stackwars.setup.environments import REPOSITORY

CATALOGUE = (*children.FAULTS, *files.FAULTS, *runs.FAULTS, *surroundings.FAULTS)
HOME = REPOSITORY / ".faults"
OUTPUT = REPOSITORY / "results" / FAULTS


def document(path: Path) -> dict[str, Any]:
    """What was decided at this revision so far, or an empty document of it."""
    revision = machine.revision()
    name = revision["git_revision"] + (" with changes" if revision["git_dirty"] else "")
    found = fault_entries.read(path)
    if found["revision"] == name:
        return found
    return found | {"revision": name, "machine": machine.record(), "faults": []}


def left(found: dict[str, Any], named: list[str], again: bool) -> list[Fault]:
    """The faults that are to be injected. Raises SystemExit for a name that is none."""
    known = [fault.identity for fault in CATALOGUE]
    if unknown := sorted(set(named) - set(known)):
        sys.exit(f"faults: expected some of {', '.join(known)}; came {', '.join(unknown)}")
    decided = set() if again else {one["id"] for one in found["faults"]}
    return [f for f in CATALOGUE if (f.identity in named if named else f.identity not in decided)]


def put(found: dict[str, Any], one: dict[str, Any]) -> None:
    """Put an entry into the document, in the order of the catalogue."""
    kept = {old["id"]: old for old in found["faults"]} | {one["id"]: one}
    found["faults"] = [kept[fault.identity] for fault in CATALOGUE if fault.identity in kept]


def attempt(fault: Fault, made: Scratch) -> dict[str, Any]:
    """The entry of one fault, in a copy of the finished checkout."""
    try:
        with copied(fault, made, HOME) as scratch:
            return inject(fault, scratch)
    except NotTried as reason:
        return entry(fault.identity, fault.title, NOT_TRIED, why=str(reason))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fault", nargs="*", help="only these, whatever was decided")
    parser.add_argument("--again", action="store_true", help="also what was decided")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    a = parser.parse_args()
    found = document(OUTPUT)
    wanted = left(found, a.fault, a.again)
    HOME.mkdir(exist_ok=True)
    if wanted:
        _say(f"{len(wanted)} faults to inject, into copies of one finished smoke run")
        made = base(HOME / "base", PAPER)
    writing = threading.Lock()

    def decide(fault: Fault) -> None:
        one = attempt(fault, made)
        with writing:
            put(found, one)
            fault_entries.write(found, OUTPUT)
            told = one["told"] or one["why"]
            _say(f"{one['title']}: {one['outcome']} [{one['seconds']:.0f} s]: {told}")
            if one["outcome"] == NOT_SURVIVED:
                _say(f"    {one['lost']} lost, {one['wrong']} wrong: {one['why']}")

    with ThreadPoolExecutor(a.jobs) as pool:
        list(pool.map(decide, wanted))
    fallen = [one["id"] for one in found["faults"] if one["outcome"] == NOT_SURVIVED]
    _say(
        f"{len(found['faults'])} faults, {len(fallen)} not survived: {OUTPUT.relative_to(REPOSITORY)}"
    )
    sys.exit(bool(fallen))


def _say(text: str) -> None:
    print(f"[faults] {text}", flush=True)


if __name__ == "__main__":
    main()
