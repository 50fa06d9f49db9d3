"""What the results say: ``python -m stackwars.findings`` writes findings.json.

A finding has an id, a verdict and the numbers behind it. Templates switch their sentences on the
verdict and print the numbers; no sentence decides anything by itself. Numbers that do not exist
are null. Verdict words are those of :mod:`stackwars.verdicts`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas

from stackwars import latency_findings as latency
from stackwars import run_findings as run
from stackwars.ir_findings import ir_findings
from stackwars.sources import read_frame, read_json, read_published, read_ratios
from stackwars.verdicts import Finding


def all_findings(
    frame: pandas.DataFrame,
    ratios: pandas.DataFrame,
    context: dict,
    facts: dict,
    there: pandas.DataFrame,
) -> list[Finding]:
    """Every finding, in the order in which the paper speaks of them."""
    first = latency.ratio_findings("first", frame, ratios)
    return [
        *run.run_findings(frame, context),
        *run.shape_findings(frame),
        *latency.ratio_findings("steady", frame, ratios),
        *first,
        latency.gemm_finding(first, there),
        *latency.stabilising_findings(frame),
        *latency.first_run_findings(frame),
        latency.bert_finding(frame, there),
        *run.memory_findings(frame, there),
        *run.agreement_findings(frame, ratios, there),
        *ir_findings(facts, frame),
    ]


def write_findings(
    frame: Path, ratios: Path, context: Path, facts_path: Path, there: Path, output: Path
) -> None:
    """Read the results and write findings.json."""
    found = all_findings(
        read_frame(frame),
        read_ratios(ratios),
        read_json(context),
        read_json(facts_path),
        read_published(there),
    )
    document = {"schema": 1, "findings": found}
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(document, indent=1, default=_plain) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """NumPy scalars as Python numbers."""
    return value.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("frame", "ratios", "context", "facts", "published", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    a = parser.parse_args()
    write_findings(a.frame, a.ratios, a.context, a.facts, a.published, a.output)


if __name__ == "__main__":
    main()
