"""Plan of a run: its jobs and their cost, by config/costs.csv and the committed runs of the reference."""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

from stackwars.core import documents
from stackwars.core.launch import REPOSITORY
from stackwars.core.limits import GIB, cap_bytes, machine_memory_bytes
from stackwars.core.lines import fold
from stackwars.measure import workloads
from stackwars.measure.rounds import finished
from stackwars.setup import needed
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
WIDTH = 80


def reference() -> dict[Cell, dict[str, str]]:
    """Return the row of every cell in the newest accepted run that measured it."""
    result = {}
    for path in sorted(REFERENCE.glob("runs/*/cells.csv")):
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["mode"] == "native" and row["wall_s"]]
        result |= {Cell(row["framework"], row["workload"], row["device"]): row for row in rows}
    return result


def replay_s(device: str, compiler: str, workload: str) -> float | None:
    """Return the seconds of a replay by the reference, or None without one."""
    path = REFERENCE / ReplayCell(device, compiler, workload).path / "replay.json"
    if not path.exists():
        return None
    return sum(one.get("round_s", one["wall_s"]) for one in documents.read(path)["processes"])


def _named(output: str) -> tuple[str, str, str]:
    """Return (device, framework or compiler, workload) of a file of a cell or a replay."""
    device, who, workload, _ = Path(output).parts[-4:]
    return device, who, workload


def _is_replay(output: str) -> bool:
    return "replay" in Path(output).parts


def timed_s(config: Config, outputs: list[str]) -> dict[str, float | None]:
    """Return {file of a cell or a replay: its expected seconds on `budget.MACHINE`, None if nothing is known of it}."""
    rows, selected = reference(), frozenset(cells.measured(config))

    def expected(output: str) -> float | None:
        device, who, workload = _named(output)
        if not _is_full(Path(output)):
            return None
        is_replay = _is_replay(output)
        one = ReplayCell(device, who, workload) if is_replay else Cell(who, workload, device)
        if not is_replay and (other := cells.measured_with(config, one, selected)) and budget.cost_of(other):
            return 0.0
        if cost := budget.cost_of(one):
            rounds = cells.rounds(config, workload, who, *([] if is_replay else [device]))
            return cost.seconds(rounds, finished(Path(output).parent))
        if is_replay:
            known = replay_s(device, who, workload)
        else:
            row = rows.get(one)
            known = row and float(row["wall_s"])
        return known and known / budget.REFERENCE_SHARE

    return {output: expected(output) for output in outputs}


def _is_full(output: Path) -> bool:
    """Return whether a file is of a run of the reference's preset: results/full, or results/full-stacks."""
    return output.parts[1].partition("-")[0] == PRESET


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
    result = [path for path in outputs if Path(path).name in ("cell.json", "replay.json")]

    def order(output: str) -> tuple[int, int, bool]:
        device, _, workload = _named(output)
        return config.devices.index(device), config.workloads.index(workload), _is_replay(output)

    return sorted(result, key=order)


def describe(config: Config, outputs: list[str]) -> str:
    """Return the plan as text: a line per cell or replay, then time, memory and disk."""
    expected, rows, peaks = timed_s(config, outputs), reference(), []
    lines = [f"preset {config.preset}: {len(outputs)} cells and replays to measure"]
    for output, seconds in expected.items():
        device, who, workload = _named(output)
        time = f"{seconds:7.0f} s" if seconds is not None else "   ? s"
        row = rows.get(Cell(who, workload, device), {}) if seconds is not None else {}
        peaks.append(float(row.get("peak_rss_bytes") or 0) / GIB)
        memory = f"{peaks[-1]:5.1f} GiB" if peaks[-1] else "    ? GiB"
        lines.append(f"  {device:6} {who:18} {workload:14} {time} {memory}")
    total = sum(s for s in expected.values() if s is not None)
    unknown = sum(s is None for s in expected.values())
    is_known = unknown < len(expected) or not expected
    once = budget.once_s(config) if outputs else 0
    known = span(total + once) if is_known else "unknown"
    others = f"; nothing known of {unknown} (another preset or a new cell)" if unknown else ""
    lines.append(f"time: {known}{others}")
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
    cap = cap_bytes(cells.settings(config).memory_cap_gib) / GIB
    have = machine_memory_bytes() / GIB
    largest = max(peaks, default=0)
    used = f"at most {largest:.1f} GiB in the reference" if largest else "unknown"
    lines.append(f"memory: {used}; cap {cap:.1f} GiB of this machine's {have:.1f} GiB")
    lines.append(f"disk: {_disk(measured_studies(config))}")
    return "\n".join(lines)


def span(seconds: float) -> str:
    """Return the minutes that something takes, on the machines of the reference and on the slowest one.

    How fast this machine is shows in its first cells, not in its rate of products.
    """
    fast, slow = (max(1, share * seconds / 60) if seconds else 0 for share in (budget.REFERENCE_SHARE, 1))
    return f"about {fast:.0f} min on the machines of the reference, {slow:.0f} on {budget.MACHINE}"


def announce(config: Config) -> None:
    """Print which part of the study a run with minutes has, and its time."""
    for line in (*bought(config), f"time, where nothing is there yet: {span(budget.seconds(config))}"):
        print(textwrap.fill(line, WIDTH, break_on_hyphens=False), file=sys.stderr, flush=True)


def bought(config: Config) -> list[str]:
    """Return which part of the study a run with minutes has, and what its tables and claims lack."""
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


def _disk(studies: list[str]) -> str:
    sizes = needed.missing_gb(studies)
    if not sizes:
        return "all environments are there; results take under 0.1 GiB"
    return f"about {sum(sizes.values()):.1f} GB for the environments {', '.join(sizes)}; results under 0.1 GiB"


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
