"""Compare our times with those of harnesses that others wrote: pyperf (JAX), torch.utils.benchmark (torch_xla).

`python -m stackwars.study.audits.independent`: calls of ours and of the other alternate, in fresh processes.
"""

from __future__ import annotations

import statistics
from typing import Any

from stackwars.core import documents
from stackwars.core.documents import event
from stackwars.study.audits import subjects
from stackwars.study.audits.subjects import CellSubject

AGREE = 0.05
"""The medians may differ by this share."""
PROCESSES = 3
CHILD = "stackwars.study.audits.third_party"


def audit_independent(subject: CellSubject, sizes: dict[str, dict], processes: int) -> dict[str, Any]:
    """Measure and judge; return what the report reads. sizes: of each workload."""
    rows = measure(subject, sizes, processes)
    return {**subject.labels, "workloads": [judged(row) for row in rows]}


def measure(subject: CellSubject, sizes: dict[str, dict], processes: int) -> list[dict[str, Any]]:
    """Return for each workload the harness, "ours_ms" and "third_party_ms" (a median for each process).

    Ours is not gated, because the other cannot be.
    """
    rows = []
    for workload, size in sizes.items():
        row: dict[str, Any] = {"workload": workload, "ours_ms": [], "third_party_ms": []}
        for number in range(processes):
            result = subject.run(
                f"{workload}/{number}", CHILD, workload=workload, repetition=number, sizes=size
            )
            for who in ("ours", "third_party"):
                row[f"{who}_ms"].append(statistics.median(event(result, who)["ns"]) / 1e6)
            row["harness"] = event(result, "third_party")["harness"]
        rows.append(row)
    return rows


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with `ratio`, the median over processes of ours over the other's, and whether they agree."""
    medians = zip(row["ours_ms"], row["third_party_ms"], strict=True)
    ratio = statistics.median(ours / other for ours, other in medians)
    return {**row, "ratio": ratio, "ok": abs(ratio - 1) <= AGREE}


if __name__ == "__main__":
    subjects.command(
        audit_independent,
        __doc__,
        sizes={"type": documents.read, "required": True, "help": "file of {workload: sizes}"},
        processes={"type": int, "default": PROCESSES},
    )
