"""Read config/claims.yaml, and refuse it if it is wrong, before anything is decided or run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema
import yaml

from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Status
from stackwars.explain.answer import LAYOUT, OPERATIONS, SPREAD
from stackwars.measure import frameworks, workloads
from stackwars.setup.device import CPUS, NODES
from stackwars.study.config import CONFIG, read
from stackwars.study.keys import Config
from stackwars.study.results import causes, verdicts
from stackwars.study.results import schema as tables
from stackwars.study.results.schema import Column

PUBLISHED = "published"
TRANSFERRED = "transferred"
OURS = "ours"
"""Origins of a claim: whose it is, and what it is about."""
CLAIMS = REPOSITORY / "config" / "claims.yaml"
SCHEMA = REPOSITORY / "workflow" / "schemas" / "claims.schema.yaml"

COLUMNS: dict[str, dict[str, Column]] = {
    name: tables.TABLES[name] for name in ("comparisons", "cells", "programs", "effects", "causes")
}
"""The tables that a claim can be about, and their columns."""
DEFAULTS: dict[str, Any] = {"table": "comparisons", "where": {}}
"""Keys of a query that may be absent."""


class ClaimError(ValueError):
    """A claim that cannot be used: names the claim, the key, what was expected and what was found."""

    def __init__(self, claim: str, key: str, expected: str, got: object) -> None:
        super().__init__(
            f"claims: {claim or 'the whole file'}: {key or 'the claim'}: expected {expected}, got "
            f"{json.dumps(got, default=str)}; fix: config/claims.yaml (its keys are described in "
            "workflow/schemas/claims.schema.yaml)"
        )


@dataclass(frozen=True)
class Claim:
    """One claim of claims.yaml; its keys are described in the schema."""

    id: str
    sentence: str
    query: dict[str, Any]
    origin: str = OURS
    tolerance: float = 0.0
    responds_to: str = ""


@dataclass(frozen=True)
class Claims:
    """All claims, in the order of the file."""

    claims: list[Claim]

    def claim(self, identity: str) -> Claim:
        """Return the claim of this id.

        :raises ClaimError: naming those there are.
        """
        for claim in self.claims:
            if claim.id == identity:
                return claim
        raise ClaimError("", "id", f"one of {', '.join(c.id for c in self.claims)}", identity)


def load() -> Claims:
    """Return the claims of claims.yaml.

    :raises ConfigError: if the file cannot be read.
    :raises ClaimError: if one of them is wrong.
    """
    return parse(read(CLAIMS))


def parse(document: Any) -> Claims:
    """Return the claims of a document that was read from YAML.

    :raises ClaimError: if one of them is wrong.
    """
    _check_schema(document)
    claims = [Claim(**{**row, "query": DEFAULTS | row["query"]}) for row in document["claims"]]
    for place, claim in enumerate(claims):
        if claim.id in {other.id for other in claims[:place]}:
            raise ClaimError(claim.id, "id", "an id that no other claim has", claim.id)
        _check_columns(claim)
    return Claims(claims)


def study_of(config: Config, claim: Claim) -> str:
    """Return the study that a claim is about: the first one if its query names none."""
    return claim.query.get("study", next(iter(config.studies)))


def digest(sentence: str, query: dict[str, Any], tolerance: float = 0.0, **_: object) -> str:
    """Return the SHA-256 of a claim's sentence and rule, from its fields or from its row of the file."""
    rule = [sentence, DEFAULTS | query, float(tolerance)]
    return hashlib.sha256(json.dumps(rule, sort_keys=True).encode()).hexdigest()


def is_counted(claim: Claim) -> bool:
    """Return whether a claim is about counts of programs, which are the same in every run."""
    return claim.query["table"] == "programs" or claim.query["where"].get("quantity") in tables.EXACT


def _check_schema(document: Any) -> None:
    rules = yaml.load(SCHEMA.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    rules["$defs"] |= _vocabularies()
    errors = list(jsonschema.Draft202012Validator(rules).iter_errors(document))
    # A value of an invalid form has no known keys either: report the form alone.
    errors = [error for error in errors if error.validator != "unevaluatedProperties"] or errors
    # A misspelt key is also a missing one: say what was written.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    error = next(iter(unknown), None) or jsonschema.exceptions.best_match(errors)
    if error is None:
        return
    path, expected, got = list(error.absolute_path), _expectation(error), error.instance
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema.get("properties", {}))
        got = min(set(error.instance) - set(allowed))
        path, expected = [*path, got], f"no such key; known keys are {', '.join(allowed)}"
    elif error.validator == "required":
        missing = sorted(set(error.validator_value) - set(error.instance))
        expected, got = f"the keys {', '.join(missing)}", sorted(error.instance)
    who = ""
    if path[:1] == ["claims"] and len(path) > 1:
        row = document["claims"][path[1]]
        who = str(row.get("id", f"claim {path[1] + 1}")) if isinstance(row, dict) else str(row)
        path = path[2:]
    raise ClaimError(who, ".".join(map(str, path)), expected, got)


def _expectation(error: jsonschema.ValidationError) -> str:
    value = error.validator_value
    match error.validator:
        case "enum":
            return f"one of {', '.join(map(str, value))}"
        case "type":
            return f"a value of type {value}"
        case "minimum":
            return f"a number of at least {value}"
        case "exclusiveMaximum":
            return f"a number below {value}"
        case "minItems" | "minProperties":
            return f"at least {value} of them"
        case "uniqueItems":
            return "no entry twice"
        case "pattern":
            return f"text of the form {value}"
        case "oneOf":
            return f"one of: {'; '.join(one['description'].rstrip('.') for one in value)}"
        case "unevaluatedProperties":
            return f"no other keys ({error.message})"
    return error.schema.get("description") or f"{error.validator} {json.dumps(value)}"


def _vocabularies() -> dict[str, dict]:
    """Return the words and names that the schema allows. A misspelt verdict would vote for nothing."""
    words = {word for name, word in vars(verdicts).items() if name.isupper() and isinstance(word, str)}
    words |= {*Status, LAYOUT, OPERATIONS, SPREAD, causes.BOTH}
    return {
        "table": {"enum": list(COLUMNS)},
        "study": {"enum": list(read(CONFIG)["studies"])},
        "verdict": {"enum": sorted(words)},
    }


@cache
def _closed_values() -> dict[str, set[str]]:
    """Return columns with a closed list of values: another value selects nothing.

    A precision may stand behind a framework.
    """
    configured = read(CONFIG)
    devices = {*CPUS, *NODES, *configured["targets"]}
    return {
        "quantity": set(tables.QUANTITIES),
        "mode": {tables.NATIVE},
        "level": {tables.RAW, tables.NORMALISED, tables.OPTIMISED},
        "kind": {"basic", "model"},
        "workload": set(workloads.names()),
        "status": set(Status),
        **dict.fromkeys(("device", "target"), devices),
        "compiler": {"", *configured["compilers"]},
        **{side: set(frameworks.names()) for side in ("framework", "subject", "baseline")},
    }


def _check_columns(claim: Claim) -> None:
    """Refuse a column that the table does not have, one of another kind than its key needs, and an unknown value."""
    query = claim.query
    known = COLUMNS[query["table"]]
    columns = [(key, column) for key in ("where", "below", "unit") for column in query.get(key, ())]
    columns += [(key, query[key]) for key in ("field", "number", "show_field") if key in query]
    for key, column in columns:
        if column not in known:
            raise ClaimError(
                claim.id, f"query.{key}", f"a column of {query['table']}: {', '.join(known)}", column
            )
    if "leave_out" in query and query["table"] != "effects":
        expected = "the table effects, which has rows without each compiler and each frontend"
        raise ClaimError(claim.id, "query.leave_out", expected, query["table"])
    numbers = [name for name, column in known.items() if column.kind == "number"]
    words = [name for name in known if name not in numbers]
    for key, what, fitting in (("number", "numbers", numbers), ("field", "words", words)):
        if key in query and query[key] not in fitting:
            expected = f"a column with {what}: {', '.join(fitting)}"
            raise ClaimError(claim.id, f"query.{key}", expected, query[key])
    for key in ("where", "below"):
        for column, wanted in query.get(key, {}).items():
            allowed = _closed_values().get(column)
            for value in listed(wanted) if allowed is not None else ():
                if str(value) not in allowed:
                    expected = f"one of {', '.join(sorted(allowed))}"
                    raise ClaimError(claim.id, f"query.{key}.{column}", expected, value)


def listed(value: Any) -> list:
    return value if isinstance(value, list) else [value]
