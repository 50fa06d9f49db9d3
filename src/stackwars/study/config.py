"""The configuration: read, completed and refused where it is wrong, before anything runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackwars.core.compilers import XLA, names
from stackwars.core.launch import REPOSITORY
from stackwars.measure import frameworks, stablehlo, workloads
from stackwars.measure.workloads import sized
from stackwars.setup.device import CPU
from stackwars.study import defaults, growth, odd, releases, schema, sharding
from stackwars.study.cells import environments, preset_sizes
from stackwars.study.comparisons import CELLS, PROGRAMS, comparisons, with_programs
from stackwars.study.programs import resized
from stackwars.study.studies import studies

CONFIG = REPOSITORY / "config" / "config.yaml"
SCHEMA = REPOSITORY / "workflow" / "schemas" / "config.schema.yaml"
PINS = REPOSITORY / "envs"
COMPILERS = REPOSITORY / "src" / "stackwars" / "measure" / "stablehlo"
BATCH, VARIANT = "^b[1-9][0-9]*$", "^b[1-9][0-9]*(s[1-9][0-9]*)?$"
"""Names of variants: of a workload that has a batch, and of one that has a sequence too."""


class ConfigError(ValueError):
    """A value of the configuration that cannot be used."""

    def __init__(self, key: str, expected: str, got: object) -> None:
        super().__init__(
            f"config: {key or 'the whole file'}: expected {expected}, got {json.dumps(got, default=str)}; fix: "
            "change it in config/config.yaml (keys: workflow/schemas/config.schema.yaml) or in --config"
        )


class UnreadableError(ConfigError):
    """A file that the configuration is read from, or a workload that it names, which cannot be read."""

    def __init__(self, error: Exception) -> None:
        ValueError.__init__(self, str(error))


def read(path: Path) -> Any:
    """Return what a configuration file holds.

    :raises ConfigError: for a key that is given twice.
    """
    try:
        return schema.read_yaml(path)
    except schema.DuplicateKeyError as error:
        raise UnreadableError(error) from None


def load(path: Path = CONFIG) -> dict:
    """Return the configuration of a file, validated.

    :raises ConfigError: if it cannot be used.
    """
    return validate(read(path))


def validate(config: dict) -> dict:
    """Return the configuration, with what it leaves out filled in (`defaults`).

    :raises ConfigError: for the first key or value that cannot be used.
    """
    try:
        definitions = _definitions(config)
    except ImportError as error:  # a half-written workload, which it names with its file
        raise UnreadableError(error) from None
    if result := schema.problem(SCHEMA, config, definitions):
        raise ConfigError(".".join(map(str, result.path)), result.expected, result.got)
    defaults.complete(config)
    _check_settings(config)
    _check_comparisons(config)
    _check_positions(config)
    _check_sizes(config)
    _check_growth(config)
    _check_sharding_and_releases(config)
    _check_odd(config)
    _check_studies(config)
    _check_compilers(config)
    return config


def _definitions(config: dict) -> dict[str, dict]:
    """Return the names of the schema: of this repository's modules, and those that the configuration gives."""

    def own(key: str) -> list[str]:
        result = config.get(key) if isinstance(config, dict) else None
        rows = result if isinstance(result, dict | list) else []
        return [row for row in rows if isinstance(row, str)]

    known = {name: list(workloads.load(name).SIZES) for name in workloads.names()}
    complete = {name for name in known if workloads.load(name).DEFAULTS is not None}
    batched = [name for name, sizes in known.items() if "batch" in sizes]
    keys = {
        name: {"required": sizes, "properties": dict.fromkeys(sizes, True), "additionalProperties": False}
        for name, sizes in known.items()
    }
    given = {name: {**row, "required": []} if name in complete else row for name, row in keys.items()}
    labelled = [name for name in defaults.named(config) if sized.AT in name and sized.base(name) in known]
    given |= {name: {**keys[sized.base(name)], "required": []} for name in labelled}
    return {
        "workload": {"enum": [*known, *labelled]},
        "batched": {"enum": batched},
        "framework": {"enum": frameworks.names()},
        "environment": {"enum": sorted(path.stem for path in PINS.glob("*.txt"))},
        "gpu": {"enum": sorted(path.name for path in COMPILERS.glob("*.txtpb"))},
        "asked": {"enum": own("frameworks")},
        "compiler": {"enum": own("compilers")},
        "module": {"enum": names()},
        "frontend": {"enum": stablehlo.frontends()},
        "divides": {"enum": stablehlo.dividing()},
        "target": {"enum": own("targets")},
        "preset": {"enum": own("presets")},
        "studied": {"enum": own("studies")},
        "sizes": {
            "required": list({sized.base(name) for name in defaults.chosen_workloads(config)} - complete),
            "properties": given,
        },
        "odd": {"properties": {name: {"items": one} for name, one in keys.items()}},
        "variants": {
            "properties": {
                name: {"items": {"pattern": VARIANT if "sequence" in known[name] else BATCH}}
                for name in batched
            }
        },
    }


def _check_settings(config: dict) -> None:
    for name, chosen in config["presets"].items():
        settings = {**config["settings"], **chosen.get("settings", {})}
        least, most = (f"steady_{end}_blocks" for end in ("min", "max"))
        if settings[least] > settings[most]:
            expected = f"at most {most}, {settings[most]} in preset {name}"
            raise ConfigError(f"settings.{least}", expected, settings[least])


def _check_comparisons(config: dict) -> None:
    for place, row in enumerate(config["comparisons"]):
        if row["subject"] == row["baseline"]:
            expected = f"another framework than the subject {row['subject']}"
            raise ConfigError(f"comparisons.{place}.baseline", expected, row["baseline"])
        if row["subject"] in [other["subject"] for other in config["comparisons"][:place]]:
            raise ConfigError(f"comparisons.{place}.subject", "each subject compared once", row["subject"])
    compared = {
        what: {side for pair in comparisons(config, what) for side in pair.sides} for what in (CELLS, PROGRAMS)
    }
    for framework in config["frameworks"]:
        what = CELLS if environments(config, framework) else PROGRAMS
        if framework not in compared[what]:
            raise ConfigError("comparisons", f"one of the {what} of {framework}", sorted(compared[what]))
    for framework in sorted(compared[CELLS]):
        if not environments(config, framework):
            expected = "environments, which a framework needs whose cells are compared"
            raise ConfigError(f"frameworks.{framework}", expected, config["frameworks"][framework])
    _check_dialects(config)
    _check_programs(config)


def _check_studies(config: dict) -> None:
    compared = with_programs(config)
    for name, study in config["studies"].items():
        for framework in study.get("programs", []):
            if framework not in compared:
                expected = "frameworks that a comparison of programs has"
                raise ConfigError(f"studies.{name}.programs", expected, framework)
    rows = config["studies"].values()
    studied = {name for row in rows for key in ("frameworks", "programs") for name in row.get(key, [])}
    studied |= {point.framework for point in (*growth.all_points(config), *sharding.all_points(config))}
    for framework in config["frameworks"]:
        if framework not in studied:
            raise ConfigError("studies", f"one that has {framework}", sorted(studied))


def _check_dialects(config: dict) -> None:
    for framework, wanted in config["frameworks"].items():
        dialect = frameworks.load(framework).DIALECT
        for workload in wanted.get("workloads", config["workloads"]):
            if workload in config["workloads"] and not workloads.load(workload).has_form(dialect):
                expected = f"workloads with a form in {dialect}, which {framework} needs"
                raise ConfigError("workloads", expected, workload)


def _check_programs(config: dict) -> None:
    result = list(dict.fromkeys(pair.baseline for pair in comparisons(config, PROGRAMS)))
    if len(result) > 1:
        raise ConfigError("comparisons", "one baseline of all programs", result)
    for framework in with_programs(config):
        if not (COMPILERS / f"lower_{framework}.py").is_file():
            expected = "frameworks with a src/stackwars/measure/stablehlo/lower_<framework>.py"
            raise ConfigError("comparisons.compare", f"programs only of {expected}", framework)
        row = config["frameworks"][framework]
        if "programs" not in row and CPU not in environments(config, framework):
            expected = f"programs or environments.{CPU}, where the compared programs are made"
            raise ConfigError(f"frameworks.{framework}", expected, row)


def _check_positions(config: dict) -> None:
    """Refuse a sequence longer than its positions: JAX would clamp the positions, torch would raise."""
    for preset in config["presets"]:
        for workload, given in _sizes(config, preset):
            if given.get("sequence", 0) > given.get("positions", math.inf):
                key = f"presets.{preset}.sizes.{workload}.sequence"
                expected = f"at most the positions, {given['positions']}"
                raise ConfigError(key, expected, given["sequence"])


def _sizes(config: dict, preset: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield (workload, sizes) of a preset, those that a run measures at other sizes than it gives among them."""
    given = config["presets"][preset]["sizes"]
    measured = [w for one in studies(config) for w in one.workloads] if preset == config["preset"] else []
    for workload in dict.fromkeys([*given, *(name for name in measured if sized.AT in name)]):
        found = preset_sizes(given, workload)
        if found is None:
            expected = f"sizes of {workload}, whose label is no batch"
            raise ConfigError(f"presets.{preset}.sizes", expected, sorted(given))
        yield workload, found


def _check_growth(config: dict) -> None:
    rows = config.get("growth", {})
    for kind in ("series", "shapes") if rows else ():
        for place, row in enumerate(rows[kind]):
            key, module = f"growth.{kind}.{place}", workloads.load(row["workload"])
            if row["size"] not in module.SIZES:
                expected = f"one of the sizes of {row['workload']}, {', '.join(module.SIZES)}"
                raise ConfigError(f"{key}.size", expected, row["size"])
            for framework in row.get("frameworks", rows["frameworks"]):
                asked = framework in config["frameworks"]
                if asked and CPU not in environments(config, framework):
                    expected = f"frameworks with an environment for {CPU}"
                    raise ConfigError(f"{key}.frameworks", expected, framework)
            for preset, chosen in config["presets"].items():
                for value in row["values"] if row["workload"] in chosen["sizes"] else ():
                    given = chosen["sizes"][row["workload"]] | {row["size"]: value}
                    for size, expected in module.problems(given).items():
                        expected = f"values with which {size} is {expected}, in the preset {preset}"
                        raise ConfigError(f"{key}.values", expected, value)


def _check_sharding_and_releases(config: dict) -> None:
    presets = config["presets"] if "sharding" in config else ()
    for problem in (*(sharding.problem(config, preset) for preset in presets), releases.problem(config)):
        if problem:
            raise ConfigError(*problem)


def _check_odd(config: dict) -> None:
    for framework in config.get("odd_sizes", {}).get("programs", ()):
        if framework in config["frameworks"] and framework not in odd.programs(config):
            expected = "frameworks that a comparison of programs has"
            raise ConfigError("odd_sizes.programs", expected, framework)
    for workload, rows in config.get("odd_sizes", {}).get("workloads", {}).items():
        for place, given in enumerate(rows):
            for size, expected in workloads.load(workload).problems(given).items():
                key = f"odd_sizes.workloads.{workload}.{place}.{size}"
                raise ConfigError(key, expected, given[size])


def _check_sizes(config: dict) -> None:
    """Refuse sizes, those of variants too, that break a workload's own limits (`Workload.problems`)."""
    for preset, chosen in config["presets"].items():
        for workload, given in _sizes(config, preset):
            module = workloads.load(workload)
            for size, expected in module.problems(given).items():
                raise ConfigError(f"presets.{preset}.sizes.{workload}.{size}", expected, given[size])
            variants = chosen.get("variants", {}).get(workload, [])
            for place, variant in enumerate(variants):
                for size, expected in module.problems(resized(given, variant)).items():
                    key = f"presets.{preset}.variants.{workload}.{place}"
                    raise ConfigError(key, f"one with a {size} of {expected}", variant)


def _check_compilers(config: dict) -> None:
    native = [name for name, row in config["compilers"].items() if row.get("native")]
    if len(native) > 1:
        raise ConfigError("compilers", "at most one native compiler", native)
    others = [n for n, row in config["compilers"].items() if row.get("module", XLA) != XLA]
    for place, row in enumerate(config["aot_compilations"]):
        if row["compiler"] in others:
            expected = f"a compiler whose module is {XLA}: no other compiles for an absent target"
            raise ConfigError(f"aot_compilations.{place}.compiler", expected, row["compiler"])
