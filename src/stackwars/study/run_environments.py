"""Which environments the measured studies of a configuration need on a CPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from stackwars.setup.device import CPU, CPUS
from stackwars.study import cells, growth, printed, programs, releases, sharding

JAX_PINS = "envs/jax.txt"
"""Of the environment in which the CPU's peak is measured, and the forms of programs are read."""


def needed(config: dict) -> list[str]:
    """Return the names of the environments (envs/<name>.txt), in the order of the frameworks and compilers."""
    found = {Path(pins).stem for pins in _pins(config)}
    frameworks = [config["frameworks"][name] for name in config["frameworks"]]
    order = [
        name for row in frameworks for name in (*row.get("environments", {}).values(), row.get("programs"))
    ]
    return sorted(found, key=lambda name: (order.index(name) if name in order else len(order), name))


def only_if_compiled(config: dict) -> set[str]:
    """Return those that compile for one target alone, whose compilations are taken from the reference."""
    return {name for row in config["targets"].values() for name in row.get("environments", {}).values()}


def _pins(config: dict) -> Iterator[str]:
    for cell in cells.asked(config):
        if cell.device in CPUS:
            yield cells.pins(config, cell.framework, cell.device)
            yield JAX_PINS
            if programs.expected_folder(config, cell.workload):
                yield from _of_judge(config, [(cell.workload, programs.BASE)])
    for point in (*growth.asked(config), *sharding.asked(config)):
        yield cells.pins(config, point.framework, CPU)
    for replay in programs.replays(config):
        yield programs.compiler_pins(config, replay.compiler)
    checks = programs.checks(config)
    for compiler, workload, variant in checks:
        yield programs.compiler_pins(config, compiler)
        for program in programs.checked(config, workload, compiler, variant):
            yield programs.lower_pins(config, program.framework)
    yield from _of_judge(config, {(workload, variant) for _, workload, variant in checks})
    for point in releases.asked(config):
        yield programs.compiler_pins(config, programs.judge_compiler(config))
        yield programs.lower_pins(config, point.framework)
    if programs.base_programs(config):
        yield JAX_PINS
    if printed.measured(config, printed.listings(config)) and (native := programs.native_compiler(config)):
        yield programs.compiler_pins(config, native)
    if programs.searched(config):
        yield programs.compiler_pins(config, programs.evaluator(config))
    for compilation in (*programs.compilations(config), *sharding.slices(config)):
        yield programs.lower_pins(config, compilation.program.framework)
        yield programs.compiler_pins(config, compilation.compiler, compilation.target)


def _of_judge(config: dict, judged: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what computes the expected values of (workload, variant), and lowers the programs for that."""
    for workload, variant in judged:
        for program in programs.evaluated(config, workload, variant):
            yield programs.compiler_pins(config, programs.judge_compiler(config))
            yield programs.lower_pins(config, program.framework)
