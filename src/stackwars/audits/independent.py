"""Our times against those of harnesses that others wrote: pyperf (JAX), torch.utils.benchmark (torch_xla).

`python -m stackwars.audits.independent`: calls of ours and of the other alternate, in fresh processes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from pathlib import Path
from typing import Any

from stackwars.audits import runner
from stackwars.measure import documents
from stackwars.measure.events import event
from stackwars.measure.supervisor import ProcessJob

AGREE = 0.05
"""The medians may be apart by this share."""
PROCESSES = 3


def measure(job: dict, pins: Path, sizes: dict[str, dict], processes: int, folder: Path) -> dict[str, Any]:
    """{workload: {"ours_ms", "third_party_ms": a median for each process, "ratios", "harness"}}.

    ratios: of each process the median, over its pairs of consecutive calls, of ours over the other's.

    Finished processes stay in `folder`.

    job: framework, dialect, device, preset and settings of a `supervisor.ProcessJob`. sizes: of each workload.
    Ours is not gated, as the other cannot be. Raises RuntimeError where a process fails.
    """
    child_module = f"stackwars.audits.third_party_in_{job['dialect']}"
    found = {}
    for workload, size in sizes.items():
        row: dict[str, Any] = {"workload": workload, "ratios": []}
        row |= {"ours_ms": [], "third_party_ms": []}
        for number in range(processes):
            wanted = ProcessJob(**job, workload=workload, repetition=number, sizes=size)
            where = folder / workload / str(number)
            result = runner.require_ok(runner.run(wanted, pins, where, child_module))
            ns = {who: event(result, who)["ns"] for who in ("ours", "third_party")}
            for who, each in ns.items():
                row[f"{who}_ms"].append(statistics.median(each) / 1e6)
            pairs = zip(ns["ours"], ns["third_party"], strict=True)
            row["ratios"].append(statistics.median(ours / other for ours, other in pairs))
            row["harness"] = event(result, "third_party")["harness"]
        found[workload] = row
    return found


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """The row with `ratio`, the median over processes of ours over the other's, and whether they agree."""
    medians = zip(row["ours_ms"], row["third_party_ms"], strict=True)
    ratio = statistics.median(ours / other for ours, other in medians)
    return {**row, "ratio": ratio, "ok": abs(ratio - 1) <= AGREE}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", required=True, type=documents.read)
    parser.add_argument("--sizes", required=True, type=documents.read, help="file of {workload: sizes}")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    for name in ("pins", "folder", "output"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    a = parser.parse_args()
    rows = measure(a.job, a.pins, a.sizes, a.processes, a.folder)
    found = {
        "framework": a.job["framework"],
        "device": a.job["device"],
        "limit": AGREE,
        "workloads": [judged(row) for row in rows.values()],
    }
    a.output.parent.mkdir(parents=True, exist_ok=True)
    a.output.write_text(json.dumps(found, indent=1))
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    main()
