"""Fill in what a configuration leaves out: its workloads, and the sizes that program files have themselves."""

from __future__ import annotations

from typing import Any

from stackwars.measure import workloads
from stackwars.measure.workloads import sized


def chosen_workloads(config: Any) -> list[str]:
    """Return the workloads that a configuration names, or else those of its studies, in the order of the tables.

    config: as read, and not yet checked.
    """
    named = config.get("workloads") if isinstance(config, dict) else []
    if named is not None:
        return _names(named)
    places = {name: place for place, name in enumerate(workloads.names())}
    known = (name for name in studied(config) if sized.base(name) in places)
    return sorted(known, key=lambda name: (places[sized.base(name)], name != sized.base(name)))


def studied(config: Any) -> list[str]:
    """Return the workloads that the studies of a configuration name, in the order in which they do."""
    studies = config.get("studies") if isinstance(config, dict) else None
    rows = studies.values() if isinstance(studies, dict) else []
    return list(
        dict.fromkeys(name for row in rows if isinstance(row, dict) for name in _names(row.get("workloads")))
    )


def named(config: Any) -> list[str]:
    """Return every workload that a configuration names, in its studies or by itself."""
    own = _names(config.get("workloads")) if isinstance(config, dict) else []
    return list(dict.fromkeys([*studied(config), *own]))


def complete(config: dict) -> None:
    """Fill in the workloads of a checked configuration, and the sizes that no preset gives."""
    config["workloads"] = chosen_workloads(config)
    for preset in config["presets"].values():
        for name in workloads.names():
            defaults = workloads.load(name).DEFAULTS
            if defaults is not None:
                preset["sizes"][name] = defaults | preset["sizes"].get(name, {})


def _names(listed: Any) -> list[str]:
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
