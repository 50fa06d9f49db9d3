"""Is a difference found that is not there? A framework against itself (A/A), interleaved.

`python -m stackwars.audits.aa_interleaved`, for a framework other than that of
`stackwars.audits.power`, which has such rounds among its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackwars.audits import power
from stackwars.audits.trials import false_claims, groups


def audit_aa_interleaved(job: dict, pins: Path, rounds: int, folder: Path) -> dict[str, Any]:
    """Measure and judge; what the report reads. job, folder and errors: as of `power.measure`."""
    results = power.measure(job, pins, rounds, folder, [power.AGAIN])[power.AGAIN]
    values = power.interleaved_values(results)
    parts = [groups(one, power.GROUP) for one in (values, power.ones(rounds))]
    return {
        "framework": job["framework"],
        "device": job["device"],
        "rounds": rounds,
        "group": power.GROUP,
        "wall_s": sum(process["wall_s"] for process in results),
        "ratios": [value.all_ms for value in values.values()],
        "aa": false_claims(power.trials(job["device"], power.AGAIN, *parts)),
    }


if __name__ == "__main__":
    power.command(audit_aa_interleaved, __doc__)
