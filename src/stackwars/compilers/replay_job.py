"""The parent of one process of a replay: the same as a cell's, with another child."""

from __future__ import annotations

from dataclasses import dataclass, field

from stackwars.measure import supervisor


@dataclass(frozen=True)
class ReplayJob:
    """One process of the replay of a workload's programs in one compiler.

    module, options: the compiler's file in this folder, and what its constructor is told.
    programs: {framework, or framework+edit: {"program": path of program.mlir.gz, "arguments": path
    of its arguments.json}}, paths relative to the repository; an edited program has the arguments of
    the one that was edited. baseline: the program that the others' outputs must agree with.
    settings: those of a cell's job, and parity_rel_l2. repetition: the round that it belongs to. peers: what
    is measured in the same rounds, as of `rounds.stop_reason`.
    """

    workload: str
    device: str
    preset: str
    compiler: str
    module: str
    options: dict[str, str]
    repetition: int
    baseline: str
    sizes: dict[str, int]
    settings: dict
    programs: dict[str, dict[str, str]]
    peers: dict = field(default_factory=dict, kw_only=True)


if __name__ == "__main__":
    supervisor.command(ReplayJob, "stackwars.compilers.replay")
