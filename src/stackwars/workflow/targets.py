"""What the name of a target may contain, by the configuration."""

from __future__ import annotations

from typing import Any

from stackwars.study import cells


class UnknownTarget(ValueError):
    """A target's path names something that the configuration does not have."""

    def __init__(self, what: str, expected: object, came: str) -> None:
        super().__init__(
            f"target: {what}: expected one of {', '.join(expected)}, got {came}; fix: change the path, "
            "or add it to config/config.yaml"
        )


def check(config: dict, wildcards: Any) -> None:
    """Raise UnknownTarget for the first wildcard of a target's path that the configuration lacks.

    wildcards: has them as attributes. A framework may have edits, `torch_xla+pretransposed_weights`; it must
    have an environment for the device, if the path names one.
    """
    among = {
        "device": config["devices"],
        "framework": config["frameworks"],
        "workload": config["workloads"],
        "target": config["targets"],
        "compiler": config["compilers"],
    }
    for what, names in among.items():
        came = getattr(wildcards, what, None)
        if came is not None and came.split("+")[0] not in names:
            raise UnknownTarget(what, names, came)
    framework, device = (getattr(wildcards, what, None) for what in ("framework", "device"))
    if framework and device:
        devices = cells.environments(config, framework)
        if device not in devices:
            raise UnknownTarget(f"device of {framework}", devices, device)
