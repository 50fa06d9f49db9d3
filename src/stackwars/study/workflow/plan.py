"""Plan of a run: its jobs and their cost, by config/costs.csv and the committed runs of the reference."""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

from stackwars.core import documents, numbers
from stackwars.core.launch import REPOSITORY
from stackwars.core.limits import cap_bytes, machine_memory_bytes
from stackwars.core.lines import fold
from stackwars.measure import workloads
from stackwars.measure.rounds import finished
from stackwars.setup import environments
from stackwars.setup.device import CPUS
from stackwars.study import budget, cells, growth, programs, sharding
from stackwars.study.cells import Cell
from stackwars.study.claims import definitions, needs
from stackwars.study.claims.definitions import Claim
from stackwars.study.config import ConfigError, load
from stackwars.study.keys import Config
from stackwars.study.programs import ReplayCell
from stackwars.study.results.folder import REFERENCE
from stackwars.study.studies import measured_studies, of_tables

PRESET = "full"
"""The preset of the reference."""
ALL, SOME, NONE = "all", "some", "none"


def reference() -> dict[Cell, dict[str, str]]:
    """Return the row of every cell in the newest accepted run that measured it, and the machine of that run."""
    result = {}
    for path in sorted(REFERENCE.glob("runs/*/cells.csv")):
        machine = _name(documents.read(path.with_name("context.json"))["machine"])
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["mode"] == "native" and row["wall_s"]]
        result |= {
            Cell(row["framework"], row["workload"], row["device"]): row | {"machine": machine} for row in rows
        }
    return result


def _name(machine: dict) -> str:
    return f"{machine.get('cores', '?')} cores of {machine.get('cpu_model', 'an unknown processor')}"


def timed_s(config: Config, outputs: list[str]) -> dict[str, tuple[float, str] | None]:
    """Return {file of a cell or a replay: its expected seconds and their machine, None if unknown}.

    The seconds are those of config/costs.csv, or else of the newest accepted run.
    """
    rows, joint = reference(), budget.joint(config)

    def expected(path: Path) -> tuple[float, str] | None:
        if path.parts[1].partition("-")[0] != PRESET:  # results/full, or results/full-stacks
            return None
        one = budget.result_of(path)
        if one in joint:
            return 0.0, budget.machine()
        if cost := budget.cost_of(one):
            return cost.seconds(budget.rounds_of(config, one), finished(path.parent)), cost.machine
        if isinstance(one, Cell):
            return (float(rows[one]["wall_s"]), rows[one]["machine"]) if one in rows else None
        replay = REFERENCE / one.path / "replay.json"
        if not replay.exists():
            return None
        processes = documents.read(replay)["processes"]
        seconds = sum(process.get("round_s", process["wall_s"]) for process in processes)
        return seconds, _name(processes[0]["machine"])

    return {output: expected(Path(output)) for output in outputs}


def to_run(config: Config) -> list[str]:
    """Return the results of the cells and replays that `snakemake` would measure now, by asking it."""
    overrides = [f"preset={config.preset}", f"source={config.source}"]
    overrides += [f"measure=[{','.join(measured_studies(config))}]", f"minutes={config.minutes}"]
    snakemake = [sys.executable, "-m", "snakemake", "all", "--cores", "1", "--dry-run"]
    command = [*snakemake, "--config", *overrides, "--quiet", "host"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr or done.stdout)
    lines = (done.stdout + done.stderr).splitlines()
    outputs = [line.split("output:")[1].split(",")[0].strip() for line in lines if "output:" in line]

    def order(output: str) -> tuple[int, int, bool]:
        one = budget.result_of(Path(output))
        places = config.devices.index(one.device), config.workloads.index(one.workload)
        return *places, isinstance(one, ReplayCell)

    return sorted((path for path in outputs if budget.result_of(Path(path))), key=order)


def describe(config: Config, outputs: list[str]) -> str:
    """Return the plan as text: a line per cell or replay, then time, memory and disk."""
    rows, peaks = reference(), [0]
    total = Counter({budget.machine(): budget.once_s(config)} if outputs else {})
    unknown = 0
    lines = [f"preset {config.preset}: {len(outputs)} cells and replays to measure"]
    for output, known in timed_s(config, outputs).items():
        one, time, memory = budget.result_of(Path(output)), "   ? s", ""
        if known:
            seconds, machine = known
            total[machine] += seconds
            time = f"{seconds:7.0f} s"
            memory = rows.get(one, {}).get("peak_rss_bytes")
        else:
            unknown += 1
        peaks.append(float(memory or 0))
        size = numbers.size(int(peaks[-1])) if peaks[-1] else "? GiB"
        name = one.framework if isinstance(one, Cell) else one.compiler
        lines.append(f"  {one.device:6} {name:18} {one.workload:14} {time} {size:>9}")
    others = f"; nothing known of {unknown} (another preset or a new cell)" if unknown else ""
    time = spans(total) if unknown < len(outputs) else "unknown" if outputs else "none"
    lines.append(f"time: {time}{others}")
    if config.minutes:
        lines += bought(config)
    ahead = [*programs.compilations(config), *sharding.slices(config), *programs.largest_batches(config)]
    lines.append(
        f"on top, where not done yet: {len(programs.checks(config))} checks of programs in a compiler, "
        f"{len(programs.searched(config))} searches for the causes of gaps, "
        f"{len(ahead)} compilations and searches for absent targets, "
        f"{len(growth.asked(config))} processes of growing sizes, "
        f"{len(sharding.asked(config))} of several devices"
    )
    used = f"at most {numbers.size(int(max(peaks)))} in the reference" if max(peaks) else "unknown"
    cap, have = cap_bytes(cells.settings(config).memory_cap_gib), machine_memory_bytes()
    lines.append(f"memory: {used}; cap {numbers.size(cap)} of this machine's {numbers.size(have)}")
    sizes = environments.missing_gb(measured_studies(config))
    built = f"about {sum(sizes.values()):.1f} GB for the environments {', '.join(sizes)}"
    lines.append(f"disk: {built if sizes else 'all environments are there'}; results take under 0.1 GB")
    return "\n".join(lines)


def spans(seconds: dict[str, float]) -> str:
    """Return the time that something takes on each machine that its parts were timed on.

    How fast this machine is shows in its first cells, not in its rate of products.
    """
    parts = [f"{numbers.duration(part)} on {machine}" for machine, part in seconds.items() if part]
    return f"about {', '.join(parts)}"


def announce(config: Config) -> None:
    """Print which part of the study a run with minutes has, and its time."""
    time = spans({budget.machine(): budget.seconds(config)})
    lines = [*bought(config), f"time, where nothing is there yet: {time}"]
    print(fold("\n".join(lines), indent=""), file=sys.stderr, flush=True)


def bought(config: Config) -> list[str]:
    """Return which part of the study a run with minutes has, and what is missing in its tables and claims."""
    measured = {*cells.measured(config), *programs.measured_replays(config)}
    missing = [one for one in (*cells.asked(config), *programs.replays(config)) if one not in measured]
    tables = sorted({workloads.load(one.workload).TABLE for one in missing if one.device in CPUS})
    studied = measured_studies(config)
    claims = [one for one in definitions.load().claims if definitions.study_of(config, one) in studied]
    counts = Counter(_share(config, claim, measured) for claim in claims)
    return [
        budget.sentence(config, budget.work(config).values()),
        f"tables with cells that are not run: {', '.join(tables) or 'none'}",
        f"claims about it: {counts[ALL]} of {len(claims)} can be decided as by the whole study; {counts[SOME]} lack "
        f"some of their cells and may stay open; {counts[NONE]} have none",
    ]


def _share(config: Config, claim: Claim, measured: set[Cell | ReplayCell]) -> str:
    """Return how much of what a claim needs a run measures: ALL, SOME or NONE."""
    wanted: set[Cell | ReplayCell] = {one for one in needs.needed_cells(config, claim) if one.device in CPUS}
    if needs.REPLAYS in needs.stages(config, claim):
        wanted.update(programs.replays(needs.restricted(config, claim)))
    have = wanted & measured
    return ALL if have == wanted else SOME if have else NONE


def main() -> None:
    """Run `python -m stackwars.study.workflow.plan`: say what `make paper` would measure now."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--preset", help="of the configuration")
    parser.add_argument("--minutes", type=int, default=0, help="time limit; 0 for everything")
    parser.add_argument(
        "--studies", nargs="*", default=[], help="added to that of the tables, as by make paper"
    )
    arguments = parser.parse_args()
    try:
        chosen: dict[str, object] = {"minutes": arguments.minutes}
        chosen |= {"preset": arguments.preset} if arguments.preset else {}
        if arguments.studies:
            chosen["measure"] = list(dict.fromkeys([of_tables(load()).name, *arguments.studies]))
        config = load(**chosen)
    except ConfigError as error:
        sys.exit(fold(str(error)))
    print(fold(describe(config, to_run(config))))


if __name__ == "__main__":
    main()
