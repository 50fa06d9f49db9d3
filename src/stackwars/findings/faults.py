"""The injected faults as findings for the sentences of the paper."""

from __future__ import annotations

from typing import Any


def fault_findings(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Findings `fault/<id>` with the entry's own fields; none where no fault was injected."""
    return [
        {**entry, "id": f"fault/{entry['id']}", "verdict": entry["outcome"]}
        for entry in document["faults"]
    ]
