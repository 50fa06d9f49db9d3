"""How far two full runs of one machine agree: `python -m stackwars.results.two_runs EARLIER LATER`.

Each is a folder with the ratios.csv of a run. Writes one row for each steady ratio that both have.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import pandas as pd

from stackwars.results.read_cells import read_ratios

KEYS = ["workload", "device", "framework"]
CLEAR = 1.1
"""A ratio beyond this, or below its inverse, in either run should have its direction in both."""
COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "device": "where",
    "framework": "whose steady state is the numerator; the baseline's is the denominator",
    "earlier_ratio": "steady ratio of the earlier run",
    "earlier_verdict": "its verdict in that run",
    "later_ratio": "the same of the later run",
    "later_verdict": "its verdict in that run",
    "moved": "how far the ratio moved, as a share of the smaller of the two",
    "clear": "whether either ratio is beyond 1.1 or below its inverse",
    "same_verdict": "whether both runs have the same verdict",
}


def compare(earlier: pd.DataFrame, later: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS, one row for each steady ratio that both tables have a number of."""
    both = earlier.merge(later, on=KEYS, suffixes=("_earlier", "_later"))
    found = both[KEYS].copy()
    for run in ("earlier", "later"):
        found[f"{run}_ratio"] = both[f"steady_ratio_{run}"]
        found[f"{run}_verdict"] = both[f"steady_verdict_{run}"]
    found = found.dropna(subset=["earlier_ratio", "later_ratio"]).reset_index(drop=True)
    logs = [found[f"{run}_ratio"].map(math.log) for run in ("earlier", "later")]
    found["moved"] = (logs[1] - logs[0]).abs().map(math.expm1)
    found["clear"] = pd.concat([log.abs() for log in logs], axis=1).max(axis=1) > math.log(CLEAR)
    found["same_verdict"] = found["earlier_verdict"] == found["later_verdict"]
    return found[list(COLUMNS)]


def summary(table: pd.DataFrame) -> str:
    """How many verdicts are the same, of all and of the clear ratios, and how far ratios moved."""
    clear, moved = table[table["clear"]], 100 * table["moved"]
    return (
        f"{table['same_verdict'].sum()} of {len(table)} verdicts are the same in both runs, and "
        f"{clear['same_verdict'].sum()} of the {len(clear)} of ratios beyond {CLEAR}; the steady ratios "
        f"moved by {moved.median():.1f} % in the median, {moved.max():.0f} % at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("earlier", type=Path)
    parser.add_argument("later", type=Path)
    parser.add_argument("--output", type=Path, help="the table, as a file to write")
    a = parser.parse_args()
    lacking = [folder for folder in (a.earlier, a.later) if not (folder / "ratios.csv").exists()]
    if lacking:
        sys.exit(f"expected the ratios.csv of a run in {lacking[0]}; make it with: make paper")
    table = compare(*(read_ratios(folder / "ratios.csv") for folder in (a.earlier, a.later)))
    if table.empty:
        sys.exit("expected runs with a steady ratio in common; these have none")
    if a.output:
        table.to_csv(a.output, index=False)
    print(table.to_string(index=False))
    print(summary(table))


if __name__ == "__main__":
    main()
