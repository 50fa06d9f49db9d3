"""Is a difference found that is not there? A framework's ladder against itself, in turns.

`python -m stackwars.audits.itself`, for a framework other than that of `stackwars.audits.power`, which has
such rounds among its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from stackwars.audits import power
from stackwars.audits.trials import false_claims, groups


def audit(job: dict, pins: Path, rounds: int, folder: Path) -> dict[str, Any]:
    """Measure and judge; what the report reads. job, folder and errors: as of `power.measure`."""
    results = power.measure(job, pins, rounds, folder, [power.AGAIN])[power.AGAIN]
    values = power.in_turns(results)
    parts = [groups(one, power.GROUP) for one in (values, power.ones(rounds))]
    return {
        "framework": job["framework"],
        "device": job["device"],
        "rounds": rounds,
        "group": power.GROUP,
        "wall_s": sum(process["wall_s"] for process in results),
        "ratios": [value.all_ms for value in values.values()],
        "same": false_claims(power.trials(job["device"], power.AGAIN, *parts)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", required=True, type=json.loads)
    parser.add_argument("--rounds", required=True, type=int)
    for name in ("pins", "folder", "output"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    a = parser.parse_args()
    found = audit(a.job, a.pins, a.rounds, a.folder)
    a.output.parent.mkdir(parents=True, exist_ok=True)
    a.output.write_text(json.dumps(found, indent=1))
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    main()
