"""The audits as findings for the sentences of the paper."""

from __future__ import annotations

from typing import Any


def audit_findings(audits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings `audit/<id>` with the entry's own fields, of which `verdict` decides the sentence."""
    return [{**entry, "id": f"audit/{entry['id']}"} for entry in audits]
