"""Files that people write, against their schema in workflow/schemas: what is wrong, in plain words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import yaml


class YamlError(ValueError):
    """A YAML file that cannot be read: names the file, the line and what is wrong."""


class _Loader(yaml.CSafeLoader):
    """Reads YAML and refuses a repeated key: YAML would silently take its last value."""

    def construct_mapping(self, node, deep=False):
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for place, key in enumerate(keys):
            if key.value in [other.value for other in keys[:place]]:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value} again", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds.

    :raises YamlError: for a file that is no YAML, and for a repeated key.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        place, thing = (f":{mark.line + 1}", "line") if mark else ("", "file")
        got = " ".join(str(getattr(error, "problem", None) or error).split())
        raise YamlError(
            f"{path}{place}: expected YAML with each key once, got {got}; fix: that {thing}"
        ) from None


class Problem(NamedTuple):
    """The keys that lead to a value, what was expected there, and what it is."""

    path: list[str | int]
    expected: str
    got: Any


def problem(schema: Path, document: Any, definitions: Mapping[str, dict]) -> Problem | None:
    """Return what is wrong with a document; None if nothing is.

    definitions: what the schema has under $defs for names alone, such as the workloads that there are.
    """
    rules = yaml.load(schema.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    rules["$defs"] |= definitions
    errors = list(jsonschema.Draft202012Validator(rules).iter_errors(document))
    # A value of an invalid form has no known keys either: report the form alone.
    errors = [error for error in errors if error.validator != "unevaluatedProperties"] or errors
    # A misspelt key is also a missing one: say what was written.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    error = next(iter(unknown), None) or jsonschema.exceptions.best_match(errors)
    if error is None:
        return None
    path = list(error.absolute_path)
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema.get("properties", {}))
        key = min(set(error.instance) - set(allowed))
        return Problem([*path, key], f"no such key; known keys are {', '.join(allowed)}", key)
    if error.validator == "required":
        missing = sorted(set(error.validator_value) - set(error.instance))
        return Problem(path, f"the keys {', '.join(missing)}", sorted(error.instance))
    return Problem(path, _expectation(error), error.instance)


def _expectation(error: jsonschema.ValidationError) -> str:
    value = error.validator_value
    match error.validator:
        case "enum":
            return f"one of {', '.join(map(str, value))}"
        case "type":
            return f"a value of type {value}"
        case "minimum":
            return f"a number of at least {value}"
        case "maximum":
            return f"a number of at most {value}"
        case "exclusiveMinimum":
            return f"a number over {value}"
        case "minItems" | "minProperties":
            return f"at least {value} of them"
        case "uniqueItems":
            return "no entry twice"
        case "pattern":
            return f"text of the form {value}"
        case "anyOf" | "oneOf":
            forms = (one.get("description", json.dumps(one)).rstrip(".") for one in value)
            return f"one of: {'; '.join(forms)}"
        case "unevaluatedProperties":
            return f"no other keys ({error.message})"
    return error.schema.get("description") or f"{error.validator} {json.dumps(value)}"
