"""The configuration: read, completed and refused where it is wrong, before anything runs."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import jsonschema
import yaml

from stackwars.frameworks import load as load_framework
from stackwars.frameworks import names
from stackwars.setup.environments import REPOSITORY
from stackwars.study.comparisons import CELLS, PROGRAMS, comparisons, with_programs

SCHEMA = REPOSITORY / "workflow" / "schemas" / "config.schema.yaml"
PINS = REPOSITORY / "envs"
WORKLOADS = REPOSITORY / "src" / "stackwars" / "workloads"
COMPILERS = REPOSITORY / "src" / "stackwars" / "compilers"


class ConfigError(ValueError):
    """A value of the configuration that cannot be used: names the key, the expected and the given."""

    def __init__(self, key: str, expected: str, came: object) -> None:
        super().__init__(
            f"config: {key or 'the whole file'}: expected {expected}; came {json.dumps(came, default=str)}. "
            "Mend it in config/config.yaml (keys: workflow/schemas/config.schema.yaml) or in --config."
        )


def load(path: Path = REPOSITORY / "config" / "config.yaml") -> dict:
    """The configuration of a file, validated. Raises ConfigError."""
    return validate(yaml.safe_load(path.read_text()))


def validate(config: dict) -> dict:
    """Return the configuration unchanged if every key and value can be used; else raise ConfigError."""
    _check_schema(config)
    _check_names(config)
    _check_comparisons(config)
    _check_sizes(config)
    _check_compilers(config)
    return config


def _check_schema(config: dict) -> None:
    schema = yaml.safe_load(SCHEMA.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    errors = list(validator.iter_errors(config))
    # A misspelt key is also a missing one: say what was written.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    error = next(iter(unknown), None) or jsonschema.exceptions.best_match(errors)
    if error is None:
        return
    key = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(allowed))
        where = ".".join(filter(None, [key, unknown[0]]))
        raise ConfigError(where, f"no such key; known keys are {', '.join(allowed)}", unknown[0])
    if error.validator == "required":
        missing = sorted(set(error.validator_value) - set(error.instance))
        raise ConfigError(key, f"the keys {', '.join(missing)}", sorted(error.instance))
    if error.validator == "propertyNames":
        raise ConfigError(
            key, f"a key like {error.schema.get('pattern', error.schema)}", error.instance
        )
    raise ConfigError(key, _expectation(error), error.instance)


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
        case "anyOf":
            return f"one of {json.dumps(value)}"
    return f"{error.validator} {json.dumps(value)}"


def _known_workloads() -> list[str]:
    return sorted(path.parent.name for path in WORKLOADS.glob("*/__init__.py"))


def _check_names(config: dict) -> None:
    known = _known_workloads()
    for workload in config["workloads"]:
        if workload not in known:
            raise ConfigError("workloads", f"workloads among {', '.join(known)}", workload)
    frameworks = names()
    for framework, wanted in config["frameworks"].items():
        if framework not in frameworks:
            raise ConfigError("frameworks", f"frameworks among {', '.join(frameworks)}", framework)
        for device, environment in wanted["environments"].items():
            if not (PINS / f"{environment}.txt").is_file():
                key = f"frameworks.{framework}.environments.{device}"
                raise ConfigError(key, "the name of a pins file envs/<name>.txt", environment)
        for workload in wanted.get("workloads", []):
            if workload not in known:
                key = f"frameworks.{framework}.workloads"
                raise ConfigError(key, f"workloads among {', '.join(known)}", workload)
    lists = {"device_workloads": config["device_workloads"]} | {
        f"presets.{name}.device_workloads": chosen.get("device_workloads", {})
        for name, chosen in config["presets"].items()
    }
    for key, devices in lists.items():
        for device, workloads in devices.items():
            for workload in workloads:
                if workload not in known:
                    raise ConfigError(
                        f"{key}.{device}", f"workloads among {', '.join(known)}", workload
                    )
    for name, chosen in config["presets"].items():
        settings = {**config["settings"], **chosen.get("settings", {})}
        for what in ("steady_{}_blocks", "rounds_{}"):
            least, most = (what.format(end) for end in ("min", "max"))
            if settings[least] > settings[most]:
                expected = f"at most {most}, {settings[most]} in preset {name}"
                raise ConfigError(f"settings.{least}", expected, settings[least])
    if config["preset"] not in config["presets"]:
        raise ConfigError("preset", f"one of {', '.join(config['presets'])}", config["preset"])
    if config["results"] == "reference" and config["preset"] != "full":
        raise ConfigError("preset", "full, the preset of results/reference", config["preset"])


def _check_comparisons(config: dict) -> None:
    asked, pairs = config["frameworks"], comparisons(config, CELLS)
    for place, row in enumerate(config["comparisons"]):
        for side in ("subject", "baseline"):
            if row[side] not in asked:
                key = f"comparisons.{place}.{side}"
                raise ConfigError(key, f"one of the frameworks {', '.join(asked)}", row[side])
        if row["subject"] == row["baseline"]:
            expected = f"another framework than the subject {row['subject']}"
            raise ConfigError(f"comparisons.{place}.baseline", expected, row["baseline"])
        if row["subject"] in [other["subject"] for other in config["comparisons"][:place]]:
            raise ConfigError(
                f"comparisons.{place}.subject", "each subject compared once", row["subject"]
            )
    compared = {side for pair in pairs for side in pair.sides}
    for framework in asked:
        if framework not in compared:
            raise ConfigError("comparisons", f"one of the cells of {framework}", sorted(compared))
    _check_dialects(config)
    _check_programs(config)


def _check_dialects(config: dict) -> None:
    for framework, wanted in config["frameworks"].items():
        form = f"in_{load_framework(framework).DIALECT}.py"
        for workload in wanted.get("workloads", config["workloads"]):
            if workload in config["workloads"] and not (WORKLOADS / workload / form).is_file():
                expected = f"workloads that have {form}, which {framework} needs"
                raise ConfigError("workloads", expected, workload)


def _check_programs(config: dict) -> None:
    if len({pair.baseline for pair in comparisons(config, PROGRAMS)}) > 1:
        found = [pair.baseline for pair in comparisons(config, PROGRAMS)]
        raise ConfigError("comparisons", "one baseline of all programs", found)
    for framework in with_programs(config):
        if not (COMPILERS / f"lower_{framework}.py").is_file():
            expected = "frameworks with a src/stackwars/compilers/lower_<framework>.py"
            raise ConfigError("comparisons.of", f"programs only of {expected}", framework)


def _check_sizes(config: dict) -> None:
    known = _known_workloads()
    for preset, chosen in config["presets"].items():
        for workload in chosen["sizes"]:
            if workload not in known:
                key = f"presets.{preset}.sizes.{workload}"
                raise ConfigError(key, f"workloads among {', '.join(known)}", workload)
        for workload in config["workloads"]:
            key = f"presets.{preset}.sizes.{workload}"
            wanted = import_module(f"stackwars.workloads.{workload}").SIZES
            given = chosen["sizes"].get(workload)
            if given is None:
                raise ConfigError(key, f"sizes {', '.join(wanted)}", given)
            for name in sorted(set(given) ^ set(wanted)):
                came = given.get(name, "nothing")
                raise ConfigError(f"{key}.{name}", f"exactly the sizes {', '.join(wanted)}", came)
            # JAX would clamp the positions beyond its table and go on, torch would raise.
            if given.get("sequence", 0) > given.get("positions", given.get("sequence", 0)):
                expected = f"at most the positions, {given['positions']}"
                raise ConfigError(f"{key}.sequence", expected, given["sequence"])


def _check_compilers(config: dict) -> None:
    def known(key: str, name: str, among: object) -> None:
        if name not in among:
            raise ConfigError(key, f"one of {', '.join(among)}", name)

    for compiler, row in config["compilers"].items():
        if not (PINS / f"{row['environment']}.txt").is_file():
            key = f"compilers.{compiler}.environment"
            raise ConfigError(key, "the name of a pins file envs/<name>.txt", row["environment"])
        for workload in row.get("workloads", []):
            known(f"compilers.{compiler}.workloads", workload, _known_workloads())
    for workload, edited in config["edits"].items():
        known("edits", workload, _known_workloads())
        for name in edited:
            framework, *edits = name.split("+")
            known(f"edits.{workload}", framework, config["frameworks"])
            for edit in edits:
                known(f"edits.{workload}", edit, import_module("stackwars.compilers.edits").EDITS)
    native = [name for name, row in config["compilers"].items() if row.get("native")]
    if len(native) > 1:
        raise ConfigError("compilers", "at most one native compiler", native)
    for target, row in config["targets"].items():
        for compiler, environment in row.get("environments", {}).items():
            known(f"targets.{target}.environments", compiler, config["compilers"])
            if not (PINS / f"{environment}.txt").is_file():
                key = f"targets.{target}.environments.{compiler}"
                raise ConfigError(key, "the name of a pins file envs/<name>.txt", environment)
        if row["platform"] == "cuda" and not (COMPILERS / row.get("description", "")).is_file():
            expected = "the name of a file in src/stackwars/compilers that describes the GPU"
            raise ConfigError(f"targets.{target}.description", expected, row.get("description"))
    if config["ahead"] and not config["ahead"][0].get("finish", True):
        raise ConfigError("ahead.0.finish", "a first row that is compiled to the end", False)
    if config["ahead"] and "workloads" in config["ahead"][0]:
        expected = "a first row for all workloads"
        raise ConfigError("ahead.0.workloads", expected, config["ahead"][0]["workloads"])
    for place, row in enumerate(config["ahead"]):
        known(f"ahead.{place}.target", row["target"], config["targets"])
        known(f"ahead.{place}.compiler", row["compiler"], config["compilers"])
        for workload in row.get("workloads", []):
            known(f"ahead.{place}.workloads", workload, _known_workloads())
    for preset, chosen in config["presets"].items():
        for key in ("compiled", "variants", "frontier", "block_calls"):
            for workload in chosen.get(key, []):
                known(f"presets.{preset}.{key}", workload, _known_workloads())
        asked = set(config["workloads"])
        for workload, variants in chosen.get("variants", {}).items():
            given = chosen["sizes"].get(workload, {})
            if workload not in asked:
                continue
            for variant in variants:
                needed = ["batch", *(["sequence"] if "s" in variant else [])]
                if not set(needed) <= set(given):
                    expected = f"variants of sizes that {workload} has: {', '.join(given)}"
                    raise ConfigError(f"presets.{preset}.variants.{workload}", expected, variant)
        for workload in chosen.get("frontier", []):
            if workload in asked and "batch" not in chosen["sizes"][workload]:
                expected = "workloads that have a batch"
                raise ConfigError(f"presets.{preset}.frontier", expected, workload)
