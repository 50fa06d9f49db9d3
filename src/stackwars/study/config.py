"""The configuration: read, completed and refused where it is wrong, before anything runs.

``python -m stackwars.study.config`` writes config/README.md, the page of its keys, from `stackwars.study.keys`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from stackwars.core.compilers import XLA, names
from stackwars.core.launch import REPOSITORY
from stackwars.measure import frameworks, stablehlo, workloads
from stackwars.measure.stablehlo.sharded_frontends import FRONTENDS
from stackwars.measure.workloads import sized
from stackwars.setup.device import CPU
from stackwars.study import budget, cells, growth, releases, searches, sharding
from stackwars.study.cells import environments, preset_sizes
from stackwars.study.keys import Config, Device, Model, Named, PresetSettings, plain
from stackwars.study.programs import resized
from stackwars.study.studies import CELLS, PROGRAMS, comparisons, studies, with_programs

Problem = tuple[str, str, object]
"""A key, what it should have, what it has."""
CONFIG = REPOSITORY / "config" / "config.yaml"
BATCH, VARIANT = "^b[1-9][0-9]*$", "^b[1-9][0-9]*(s[1-9][0-9]*)?$"
"""Names of variants: of a workload that has a batch, and of one that has a sequence too."""
EXPECTED = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "literal_error": "one of {expected}",
    "greater_than": "a number over {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than_equal": "a number of at most {le}",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
    "string_pattern_mismatch": "text of the form {pattern}",
}
"""Expected values by pydantic's type of error."""


class ConfigError(ValueError):
    def __init__(self, key: str, expected: str, got: object) -> None:
        super().__init__(
            f"config: {key or 'the whole file'}: expected {expected}, got {json.dumps(got, default=str)}; fix: "
            "change it in config/config.yaml (keys: config/README.md) or in --config"
        )


class UnreadableError(ConfigError):
    """A file that the configuration is read from, or a workload that it names, which cannot be read."""

    def __init__(self, message: object) -> None:
        ValueError.__init__(self, str(message))


class _Loader(yaml.CSafeLoader):
    """Reads YAML and refuses a repeated key: YAML would silently take its last value."""

    def construct_mapping(self, node, deep=False):
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for place, key in enumerate(keys):
            if key.value in [other.value for other in keys[:place]]:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value} again", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


def read(path: Path) -> Any:
    """Return what a configuration file holds.

    :raises ConfigError: for a file that is no YAML, and for a repeated key.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        place, thing = (f":{mark.line + 1}", "line") if mark else ("", "file")
        got = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UnreadableError(
            f"{path}{place}: expected YAML with each key once, got {got}; fix: that {thing}"
        ) from None


def overridden(config: Any, overrides: Any) -> Any:
    """Return a value with the overrides of --config, read as YAML: Snakemake leaves nested values as text."""
    if isinstance(overrides, Mapping):
        below = config if isinstance(config, Mapping) else {}
        return {**below, **{key: overridden(below.get(key), value) for key, value in overrides.items()}}
    if isinstance(overrides, list):
        return [overridden(None, value) for value in overrides]
    try:
        return yaml.safe_load(overrides) if isinstance(overrides, str) else overrides
    except (yaml.YAMLError, ValueError):
        return overrides


def ordered(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return a configuration with the studies of a file first, because the first study has the original's tables.

    Snakemake puts the keys of --configfile before those of the file.
    """
    first, merged = read(path).get("studies"), config.get("studies")
    if not (isinstance(first, dict) and isinstance(merged, dict)):
        return config
    return {**config, "studies": {name: merged[name] for name in [*first, *merged] if name in merged}}


def load(path: Path = CONFIG, **changes: object) -> Config:
    """Return the configuration of a file, validated.

    changes: values of keys that replace those of the file, as --config does; None drops a key.

    :raises ConfigError: if it cannot be used.
    """
    document = read(path)
    if changes:
        document = {key: value for key, value in {**document, **plain(changes)}.items() if value is not None}
    return validate(document)


def validate(document: Any) -> Config:
    """Return a configuration, completed with the workloads of its studies and the sizes of program files.

    It has the rounds that fit into its minutes. document: a file's, changed by the command line.

    :raises ConfigError: for the first key or value that cannot be used.
    """
    try:
        # First any name is accepted: which there are, the document says itself.
        result = Config.model_validate(document, context=_names(Config.model_validate(document)))
    except ImportError as error:  # a half-written workload, which it names with its file
        raise UnreadableError(error) from None
    except ValidationError as error:
        raise _explained(error) from None
    _refuse(_form(result))
    result = _completed(result)
    _refuse(problem for check in CHECKS for problem in check(result))
    return _fitted(result)


def _names(config: Config) -> dict[str, list[str]]:
    """Return the names that values may have: names of this repository's modules, and of the configuration."""
    known = workloads.names()
    listed = [name for row in (*config.studies.values(), config) for name in row.workloads or ()]
    labelled = [name for name in dict.fromkeys(listed) if sized.AT in name and sized.base(name) in known]
    return {
        "workload": [*known, *labelled],
        "batched": [name for name in known if "batch" in workloads.load(name).SIZES],
        "device": list(get_args(Device)),
        "framework": frameworks.names(),
        "environment": sorted(path.stem for path in REPOSITORY.glob("envs/*.txt")),
        "gpu": sorted(path.name for path in REPOSITORY.glob("src/stackwars/measure/stablehlo/*.txtpb")),
        "module": names(),
        "frontend": list(FRONTENDS),
        "dividing": stablehlo.dividing(),
        "asked": list(config.frameworks),
        "compiler": list(config.compilers),
        "target": list(config.targets),
        "preset": list(config.presets),
        "study": list(config.studies),
    }


def _explained(error: ValidationError) -> ConfigError:
    """Return the first problem, the outermost first: what is inside a wrong mapping means nothing."""
    rows = error.errors(include_url=False)
    # A misspelt key is also a missing one: say what was written.
    first = min(rows, key=lambda row: ("key" not in row.get("ctx", {}), len(row["loc"])))
    path, got, context = list(first["loc"]), first["input"], first.get("ctx", {})
    if first["type"] == "missing":
        path = path[:-1]
        missing = sorted(
            str(row["loc"][-1]) for row in rows if row["type"] == "missing" and list(row["loc"][:-1]) == path
        )
        return ConfigError(_key(path), f"the keys {', '.join(missing)}", sorted(got))
    if path[-1:] == ["[key]"]:
        path = path[:-2]
    if "key" in context:
        path, got = [*path, context["key"]], context["got"]
    if first["type"] == "literal_error":
        context = {"expected": context["expected"].replace("'", "").replace(" or ", ", ")}
    if first["type"] in EXPECTED:
        return ConfigError(_key(path), EXPECTED[first["type"]].format(**context), got)
    return ConfigError(_key(path), context.get("expected", first["msg"]), got)


def _key(path: list[str | int]) -> str:
    return ".".join(map(str, path))


def _completed(config: Config) -> Config:
    """Return a configuration with the workloads of its studies, and the sizes that no preset gives."""
    places = {name: place for place, name in enumerate(workloads.names())}
    studied = dict.fromkeys(name for row in config.studies.values() for name in row.workloads or ())
    ordered = sorted(studied, key=lambda name: (places[sized.base(name)], name != sized.base(name)))
    defaults = {name: workloads.load(name).DEFAULTS for name in places}
    defaults = {name: sizes for name, sizes in defaults.items() if sizes is not None}
    presets = {}
    for name, row in config.presets.items():
        completed = {workload: sizes | row.sizes.get(workload, {}) for workload, sizes in defaults.items()}
        presets[name] = row.model_copy(update={"sizes": row.sizes | completed})
    return config.model_copy(update={"workloads": config.workloads or ordered, "presets": presets})


def _fitted(config: Config) -> Config:
    """Return a configuration with the rounds that fit into its minutes; the reference's do not change."""
    if not config.minutes or config.source == "reference":
        return config
    if config.preset != "full":
        raise ConfigError("minutes", "0 in a preset other than full", config.minutes)
    if unknown := budget.unknown(config):
        names = ", ".join(map(str, dict.fromkeys(one.path.parent for one in unknown)))
        raise ConfigError("minutes", f"0 in a run of {names}, which config/costs.csv lacks", config.minutes)
    result = budget.fitted(config)
    if result is None:
        raise ConfigError("minutes", f"0, or at least {budget.least_minutes(config)}", config.minutes)
    return result


def _refuse(problems: Iterable[Problem]) -> None:
    for problem in problems:
        raise ConfigError(*problem)


def _form(config: Config) -> Iterator[Problem]:
    """Yield problems that depend on the source and on the sizes of each workload."""
    if config.source == "reference" and config.preset != "full":
        yield "preset", "full, the preset of results/reference", config.preset
    for key in ("workloads", "devices"):
        if key in config.model_fields_set and not getattr(config, key):
            yield key, "at least 1 of them", []
    first = next(iter(config.aot_compilations), None)
    if first and (first.workloads is not None or first.stop_after):
        yield "aot_compilations.0", "a first row for all workloads, compiled to the end", first.document()
    chosen = config.workloads or [name for row in config.studies.values() for name in row.workloads or ()]
    for preset, row in config.presets.items():
        needed = {name for name in map(sized.base, chosen) if workloads.load(name).DEFAULTS is None}
        if missing := sorted(needed - row.sizes.keys()):
            yield f"presets.{preset}.sizes", f"the keys {', '.join(missing)}", sorted(row.sizes)
        for workload, sizes in row.sizes.items():
            is_partial = sized.AT in workload or workloads.load(workload).DEFAULTS is not None
            yield from _wrong_keys(f"presets.{preset}.sizes.{workload}", workload, sizes, is_partial)
        for workload, variants in row.variants.items():
            pattern = VARIANT if "sequence" in workloads.load(workload).SIZES else BATCH
            for place, variant in enumerate(variants):
                if not re.search(pattern, variant):
                    key = f"presets.{preset}.variants.{workload}.{place}"
                    yield key, f"text of the form {pattern}", variant


def _wrong_keys(key: str, workload: str, sizes: dict[str, int], is_partial: bool = False) -> Iterator[Problem]:
    known = workloads.load(sized.base(workload)).SIZES
    for size in sizes:
        if size not in known:
            yield f"{key}.{size}", f"no such key; known keys are {', '.join(sorted(known))}", size
    if (missing := sorted(set(known) - sizes.keys())) and not is_partial:
        yield key, f"the keys {', '.join(missing)}", sorted(sizes)


def _settings(config: Config) -> Iterator[Problem]:
    for name, chosen in config.presets.items():
        merged = cells.settings_of(config, chosen)
        least, most = merged.steady_min_blocks, merged.steady_max_blocks
        if least > most:
            yield "settings.steady_min_blocks", f"at most steady_max_blocks, {most} in preset {name}", least


def _compared(config: Config) -> Iterator[Problem]:
    for place, row in enumerate(config.comparisons):
        if row.subject == row.baseline:
            expected = f"another framework than the subject {row.subject}"
            yield f"comparisons.{place}.baseline", expected, row.baseline
        if row.subject in [other.subject for other in config.comparisons[:place]]:
            yield f"comparisons.{place}.subject", "each subject compared once", row.subject
    compared = {
        what: {side for pair in comparisons(config, what) for side in pair.sides} for what in (CELLS, PROGRAMS)
    }
    for framework in config.frameworks:
        what = CELLS if environments(config, framework) else PROGRAMS
        if framework not in compared[what]:
            yield "comparisons", f"one of the {what} of {framework}", sorted(compared[what])
    for framework in sorted(compared[CELLS]):
        if not environments(config, framework):
            expected = "environments, which a framework needs whose cells are compared"
            yield f"frameworks.{framework}", expected, config.frameworks[framework].document()


def _dialects(config: Config) -> Iterator[Problem]:
    for framework, row in config.frameworks.items():
        dialect = frameworks.load(framework).DIALECT
        for workload in config.workloads if row.workloads is None else row.workloads:
            if workload in config.workloads and not workloads.load(workload).has_form(dialect):
                yield "workloads", f"workloads with a form in {dialect}, which {framework} needs", workload


def _programs(config: Config) -> Iterator[Problem]:
    result = list(dict.fromkeys(pair.baseline for pair in comparisons(config, PROGRAMS)))
    if len(result) > 1:
        yield "comparisons", "one baseline of all programs", result
    for framework in with_programs(config):
        if framework not in stablehlo.lowering():
            expected = "frameworks with a src/stackwars/measure/stablehlo/lower_<framework>.py"
            yield "comparisons.compare", f"programs only of {expected}", framework
        row = config.frameworks[framework]
        if row.programs is None and CPU not in environments(config, framework):
            expected = f"programs or environments.{CPU}, where the compared programs are made"
            yield f"frameworks.{framework}", expected, row.document()


def _preset_sizes(config: Config) -> Iterator[Problem]:
    """Yield sizes, also of variants, that break a workload's limits (`Workload.problems`)."""
    for preset, chosen in config.presets.items():
        for workload, sizes in _sizes(config, preset):
            key, module = f"presets.{preset}.sizes.{workload}", workloads.load(workload)
            # JAX would clamp the positions, torch would raise.
            if sizes.get("sequence", 0) > sizes.get("positions", math.inf):
                yield f"{key}.sequence", f"at most the positions, {sizes['positions']}", sizes["sequence"]
            for size, expected in module.problems(sizes).items():
                yield f"{key}.{size}", expected, sizes[size]
            for place, variant in enumerate(chosen.variants.get(workload, [])):
                for size, expected in module.problems(resized(sizes, variant)).items():
                    key = f"presets.{preset}.variants.{workload}.{place}"
                    yield key, f"one with a {size} of {expected}", variant


def _sizes(config: Config, preset: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield (workload, sizes) of a preset, also for workloads that a run measures at other sizes."""
    listed = config.presets[preset].sizes
    measured = [w for one in studies(config) for w in one.workloads] if preset == config.preset else []
    for workload in dict.fromkeys([*listed, *(name for name in measured if sized.AT in name)]):
        sizes = preset_sizes(listed, workload)
        if sizes is None:
            expected = f"sizes of {workload}, whose label is no batch"
            raise ConfigError(f"presets.{preset}.sizes", expected, sorted(listed))
        yield workload, sizes


def _growth(config: Config) -> Iterator[Problem]:
    rows = {"series": config.growth.series, "shapes": config.growth.shapes} if config.growth else {}
    for place, row in ((f"{kind}.{n}", row) for kind, listed in rows.items() for n, row in enumerate(listed)):
        key, module = f"growth.{place}", workloads.load(row.workload)
        if row.size not in module.SIZES:
            yield f"{key}.size", f"one of the sizes of {row.workload}, {', '.join(module.SIZES)}", row.size
        for framework in row.frameworks or config.growth.frameworks:
            if framework in config.frameworks and CPU not in environments(config, framework):
                yield f"{key}.frameworks", f"frameworks with an environment for {CPU}", framework
        for preset, chosen in config.presets.items():
            for value in row.values if row.workload in chosen.sizes else ():
                sizes = chosen.sizes[row.workload] | {row.size: value}
                for size, expected in module.problems(sizes).items():
                    expected = f"values with which {size} is {expected}, in the preset {preset}"
                    yield f"{key}.values", expected, value


def _odd(config: Config) -> Iterator[Problem]:
    for workload, rows in (config.odd_sizes.workloads if config.odd_sizes else {}).items():
        for place, sizes in enumerate(rows):
            key = f"odd_sizes.workloads.{workload}.{place}"
            yield from _wrong_keys(key, workload, sizes)
            for size, expected in workloads.load(workload).problems(sizes).items():
                yield f"{key}.{size}", expected, sizes[size]


def _studies(config: Config) -> Iterator[Problem]:
    compared = with_programs(config)
    lists = {f"studies.{name}.programs": study.programs for name, study in config.studies.items()}
    lists["odd_sizes.programs"] = config.odd_sizes.programs if config.odd_sizes else []
    for key, listed in lists.items():
        for framework in listed:
            if framework in config.frameworks and framework not in compared:
                yield key, "frameworks that a comparison of programs has", framework
    studied = {name for row in config.studies.values() for name in (*row.frameworks, *row.programs)}
    studied |= {point.framework for point in (*growth.all_points(config), *sharding.all_points(config))}
    for framework in config.frameworks:
        if framework not in studied:
            yield "studies", f"one that has {framework}", sorted(studied)


def _compilers(config: Config) -> Iterator[Problem]:
    native = [name for name, row in config.compilers.items() if row.native]
    if len(native) > 1:
        yield "compilers", "at most one native compiler", native
    for place, row in enumerate(config.aot_compilations):
        if config.compilers[row.compiler].module != XLA:
            expected = f"a compiler whose module is {XLA}: no other compiles for an absent target"
            yield f"aot_compilations.{place}.compiler", expected, row.compiler
    for name in [*config.memory.compilers, *config.memory.targets.values()] if config.memory else []:
        if config.compilers[name].module != XLA:
            yield "memory", f"compilers whose module is {XLA}: no other assigns buffers that can be read", name


CHECKS = (
    *(_settings, _compared, _dialects, _programs, _preset_sizes, _growth, sharding.problems, releases.problems),
    *(searches.problems, _odd, _studies, _compilers),
)
"""Functions that yield what contradicts itself in a configuration."""


# The page config/README.md: every key with its type, its default and one sentence.

PAGE = REPOSITORY / "config" / "README.md"
BEGINNING = """# Keys of config.yaml

`.venv/bin/python -m stackwars.study.config` writes this page from `src/stackwars/study/keys.py`.
A key without a default is required, unless it is marked optional. `<name>` stands for any key, `[]` for each entry of a
list. `--config key=value` on Snakemake's command line replaces a key for one run; an unknown key is an error.

| key | type | default | |
|---|---|---|---|
"""
SCALARS = {str: "text", bool: "true or false", int: "integer", float: "number"}
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
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤")):
            if hasattr(note, name):
                yield f"{sign} {getattr(note, name)}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
