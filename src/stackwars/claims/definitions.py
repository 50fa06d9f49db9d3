"""config/claims.yaml: read and refused where it is wrong, before anything is judged or run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from stackwars import frameworks, workloads
from stackwars.audits import audit_entries
from stackwars.findings import latency
from stackwars.results import compiler_verdicts, verdicts
from stackwars.setup.environments import REPOSITORY
from stackwars.study import schema

CLAIMS = REPOSITORY / "config" / "claims.yaml"
SCHEMA = REPOSITORY / "workflow" / "schemas" / "claims.schema.yaml"


class ClaimError(ValueError):
    """A claim that cannot be used: names the claim, the key, what was expected and what came."""

    def __init__(self, claim: str, key: str, expected: str, came: object) -> None:
        super().__init__(
            f"claims: {claim or 'the whole file'}: {key or 'the claim'}: expected {expected}; came "
            f"{json.dumps(came, default=str)}. Mend it in config/claims.yaml (keys: "
            "workflow/schemas/claims.schema.yaml)."
        )


@dataclass(frozen=True)
class Claim:
    """One claim of claims.yaml; its keys are described in the schema."""

    id: str
    origin: str
    sentence: str
    predicate: dict
    needs: dict
    tolerance: float
    human_minutes: float
    owns: list[str] = field(default_factory=list)
    answers: str = ""

    @property
    def patterns(self) -> list[str]:
        """Patterns of the ids of all findings that belong to it."""
        return [*self.predicate["findings"], *self.owns]


@dataclass(frozen=True)
class Claims:
    """The whole file: claims in its order, and findings that describe the run and claim nothing."""

    claims: list[Claim]
    descriptive: list[str]

    def claim(self, identity: str) -> Claim:
        """The claim of this id. Raises ClaimError, naming those there are."""
        for claim in self.claims:
            if claim.id == identity:
                return claim
        raise ClaimError("", "id", f"one of {', '.join(c.id for c in self.claims)}", identity)


def load(path: Path = CLAIMS) -> Claims:
    """The claims of a file. Raises ClaimError."""
    return parse(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


def parse(read: object) -> Claims:
    """The claims of a document that was read from YAML. Raises ClaimError."""
    _check_schema(read)
    claims = [Claim(**row) for row in read["claims"]]
    for place, claim in enumerate(claims):
        if claim.id in {other.id for other in claims[:place]}:
            raise ClaimError(claim.id, "id", "an id that no other claim has", claim.id)
    return Claims(claims, [p for row in read["descriptive"] for p in row["findings"]])


def _check_schema(read: object) -> None:
    found = schema.problem(SCHEMA, read, _definitions())
    if found is None:
        return
    path, who = found.path, ""
    if path[:1] == ["claims"] and len(path) > 1:
        row = read["claims"][path[1]]
        who = str(row.get("id", f"claim {path[1] + 1}")) if isinstance(row, dict) else str(row)
        path = path[2:]
    raise ClaimError(who, ".".join(map(str, path)), found.expected, found.came)


def _definitions() -> dict[str, dict]:
    """What the schema says of names. A misspelt verdict would vote for nothing."""
    both = vars(verdicts) | vars(compiler_verdicts)
    words = {word for name, word in both.items() if name.isupper() and isinstance(word, str)}
    return {
        "verdict": {
            "enum": sorted(words | {*latency.PARTS, audit_entries.PASS, audit_entries.FAIL})
        },
        "workload": {"enum": workloads.names()},
        "framework": {"enum": frameworks.names()},
    }
