"""The audits as findings for the sentences of the paper."""

from __future__ import annotations

from collections import Counter
from typing import Any


def audit_findings(audits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings `audit/<id>` with the entry's own fields, of which `verdict` decides the sentence.

    Of groups of trials that are of one device the group of all devices is left out: it says the same again.
    """
    return [{**entry, **_told_once(entry), "id": f"audit/{entry['id']}"} for entry in audits]


def _told_once(entry: dict[str, Any]) -> dict[str, Any]:
    figures = entry["figures"]
    if "groups" not in figures:
        return {}
    kinds = Counter(name.partition(", ")[0] for name in figures["groups"])
    again = {f"{kind}, all" for kind, number in kinds.items() if number == 2}
    groups = {name: one for name, one in figures["groups"].items() if name not in again}
    return {"figures": {**figures, "groups": groups}}
