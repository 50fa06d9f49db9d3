"""The process that calls one workload with several shapes in turn, twice, and tells what each call compiled."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from stackwars import workloads
from stackwars.measure.child import run_child, single_call
from stackwars.measure.events import Events

TURNS = 2


def measure(spec: dict, events: Events, folder: Path) -> None:
    """Run the whole process; spec: of a ProcessJob whose settings have `size` and `values`."""
    settings, sizes = spec["settings"], spec["sizes"]
    events.write("import")
    framework = import_module(f"stackwars.frameworks.{spec['framework']}")
    session = framework.Session(spec["device"], settings["matmul_precision"])
    workload = workloads.load(spec["workload"])
    build = workloads.build(spec["workload"], spec["dialect"])
    events.write("build", device_kind=session.device_kind(), versions=session.versions())
    sets = [
        workload.inputs(sizes | {settings["size"]: value}, settings["seed"]) for value in settings["values"]
    ]
    session.build(build, sizes, settings["seed"], sets)
    session.settle()
    events.write("run")
    for turn in range(TURNS):
        for which, value in enumerate(settings["values"]):
            single_call(session, events, "shape", which, turn=turn, value=value)
    events.write("end")


if __name__ == "__main__":
    run_child(measure)
