"""The page config/README.md: every key of the configuration with its type, its default and one sentence.

`python -m stackwars.study.config_page` writes it from `stackwars.study.keys`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from stackwars.core.launch import REPOSITORY
from stackwars.study.keys import Config, Device, Model, Named, PresetSettings

PAGE = REPOSITORY / "config" / "README.md"
BEGINNING = """# Keys of config.yaml

`.venv/bin/python -m stackwars.study.config_page` writes this page from `src/stackwars/study/keys.py`.
A key without a default is required, unless it is marked optional. `<name>` stands for any key, `[]` for each entry of a
list. `--config key=value` on Snakemake's command line replaces a key for one run; an unknown key is an error.

| key | type | default | |
|---|---|---|---|
"""
SCALARS = {str: "text", bool: "true or false", int: "integer", float: "number"}
LIMITS = {Ge: ("ge", "≥"), Gt: ("gt", ">"), Le: ("le", "≤")}
NAMES = {"asked": "framework", "dividing": "framework", "batched": "workload", "gpu": "file"}
"""Printed names of the lists of `Named`; others are printed as they are."""


def page() -> str:
    return BEGINNING + "".join(f"{row}\n" for row in _rows(Config, ""))


def _rows(model: type[Model], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        key, annotation = f"{prefix}{name}", field.rebuild_annotation()
        row, place = _model_in(annotation)
        description = (field.description or "").replace("<", "\\<")
        yield f"| `{key}` | {_type_words(annotation)} | {_default(field)} | {description} |"
        if row and row is not PresetSettings:
            yield from _rows(row, f"{key}{place}.")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    value = field.get_default()
    if value is None or isinstance(value, Model):
        return "optional"
    return f"`{json.dumps(value)}`"


def _model_in(annotation: Any, place: str = "") -> tuple[type[Model] | None, str]:
    """Return the model that a key holds, and what stands between the key and the keys of the model."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation, place
    between = {list: "[]", dict: ".<name>"}.get(get_origin(annotation), "")
    for one in get_args(annotation):
        result = _model_in(one, place + between)
        if result[0]:
            return result
    return None, ""


def _type_words(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, *notes = arguments
        names = [NAMES.get(one, one) for note in notes if isinstance(note, Named) for one in note.lists]
        return " or ".join(names) or " ".join([_type_words(inner), *_limits(notes)])
    if annotation == Device:
        return "device"
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(_type_words(one) for one in arguments if one is not type(None))
    if origin is list:
        return f"list of {_type_words(arguments[0])}"
    if origin is dict:
        return f"{{{_type_words(arguments[0])}: {_type_words(arguments[1])}}}"
    return SCALARS.get(annotation, "mapping")


def _limits(notes: list[Any]) -> Iterator[str]:
    for note in (one for each in notes for one in getattr(each, "metadata", [each])):
        if type(note) in LIMITS:
            name, sign = LIMITS[type(note)]
            yield f"{sign} {getattr(note, name)}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
