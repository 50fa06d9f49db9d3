"""config/claims.yaml: read and refused where it is wrong, before anything is judged or run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema
import yaml

from stackwars import frameworks
from stackwars.audits import audit_entries
from stackwars.findings import latency
from stackwars.results import compiler_verdicts, verdicts
from stackwars.setup.environments import REPOSITORY
from stackwars.study.config import WORKLOADS

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
    return parse(yaml.safe_load(path.read_text(encoding="utf-8")))


def parse(read: object) -> Claims:
    """The claims of a document that was read from YAML. Raises ClaimError."""
    _check_schema(read)
    claims = [Claim(**row) for row in read["claims"]]
    for place, claim in enumerate(claims):
        if claim.id in {other.id for other in claims[:place]}:
            raise ClaimError(claim.id, "id", "an id that no other claim has", claim.id)
        _check_words(claim)
        _check_needs(claim)
    return Claims(claims, [p for row in read["descriptive"] for p in row["findings"]])


def _check_schema(read: object) -> None:
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(read)
    )
    if error is None:
        return
    path = list(error.absolute_path)
    who = ""
    if path[:1] == ["claims"] and len(path) > 1:
        row = read["claims"][path[1]]
        who = str(row.get("id", f"claim {path[1] + 1}")) if isinstance(row, dict) else str(row)
        path = path[2:]
    expected = error.schema.get("description") or f"{error.validator} {error.validator_value}"
    raise ClaimError(who, ".".join(map(str, path)), f"{expected} ({error.message})", error.instance)


def _check_words(claim: Claim) -> None:
    """A misspelt verdict would vote for nothing."""
    both = vars(verdicts) | vars(compiler_verdicts)
    known = {word for name, word in both.items() if name.isupper() and isinstance(word, str)}
    known |= {*latency.PARTS, audit_entries.PASS, audit_entries.FAIL}
    for key in ("holds", "fails"):
        for word in claim.predicate.get(key, []):
            if word not in known:
                expected = f"a verdict of a finding, one of {', '.join(sorted(known))}"
                raise ClaimError(claim.id, f"predicate.{key}", expected, word)


def _check_needs(claim: Claim) -> None:
    there = {
        "workloads": {path.parent.name for path in WORKLOADS.glob("*/__init__.py")},
        "frameworks": set(frameworks.names()),
    }
    for key, known in there.items():
        for name in claim.needs.get(key, []):
            if name not in known:
                raise ClaimError(
                    claim.id, f"needs.{key}", f"{key} among {', '.join(sorted(known))}", name
                )
