"""Plan of a run: its jobs and their cost here, by the committed runs of the reference."""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from stackwars.measure import documents
from stackwars.measure.limits import GIB, cap_bytes, machine_memory_bytes
from stackwars.setup.environments import REPOSITORY, folder
from stackwars.setup.needed import sizes_gb
from stackwars.study import cells, growth, programs, run_environments, sharding
from stackwars.study.cells import Cell
from stackwars.study.config import ConfigError, load, validate
from stackwars.study.programs import ReplayCell
from stackwars.study.studies import measured_studies, of_tables

REFERENCE = REPOSITORY / "results" / "reference"
PRESET = "full"
"""The preset of the reference."""
TIMED = ("process", "replay_process")
"""The rules whose jobs are most of a run's time."""
GUESSED_S = {
    **{
        "lower": 10.0,
        "expected": 10.0,
        "check": 15.0,
        "optimised": 10.0,
        "growth_process": 15.0,
        "sharded": 20.0,
        "ahead": 20.0,
    },
    **{"largest_batch": 60.0, "audit": 120.0, "causes": 120.0},
}
"""Seconds of a job of other rules, until one of the rule has ended."""
MEASURING = (
    *("seed", "matmul_precision", "memory_cap_gib", "timeout_s", "side_by_side"),
    *("steady_min_blocks", "steady_max_blocks", "steady_seconds", "steady_repeats"),
    *("interleaved_slice_seconds", "interleaved_seconds"),
    *cells.ROUNDS,
)
"""The settings that a process depends on; a change of one of them measures every cell again."""


def priority(config: dict, cell: Cell, repetition: int) -> int:
    """Order of the processes: by device, workload and round; a higher one runs first.

    Within a round the order is random (by the seed, so that it is the same again), for whoever comes
    first finds a cooler machine.
    """
    number = list(config["frameworks"]).index(cell.framework)
    return _priority(config, cell.device, cell.workload, repetition, number)


def replay_priority(config: dict, replay: ReplayCell, repetition: int) -> int:
    """The place of a replay's process: in the round of the native processes that it is compared with."""
    number = len(config["frameworks"]) + list(config["compilers"]).index(replay.compiler)
    return _priority(config, replay.device, replay.workload, repetition, number)


def _priority(config: dict, device: str, workload: str, repetition: int, number: int) -> int:
    seed = f"{cells.settings(config)['seed']} {device} {workload} {repetition}"
    order = list(range(len(config["frameworks"]) + len(config["compilers"])))
    random.Random(seed).shuffle(order)
    place = config["devices"].index(device) * 1000 + config["workloads"].index(workload)
    return -((place * 1000 + repetition) * 100 + order[number])


def reference() -> dict[Cell, dict[str, str]]:
    """Return the row of every cell in the newest accepted run that measured it."""
    result = {}
    for path in sorted(REFERENCE.glob("runs/*/cells.csv")):
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["mode"] == "native" and row["wall_s"]]
        result |= {Cell(row["framework"], row["workload"], row["device"]): row for row in rows}
    return result


def process_s(row: dict[str, str] | None, repetition: int = 0) -> float | None:
    """Return the seconds of the process of this round by a row of the reference, or None without one.

    A round after the last one takes 0 s: its process finds out that it is not needed.
    """
    if row is None:
        return None
    rounds = float(row["rounds"])
    return float(row["wall_s"]) / rounds if repetition < rounds else 0.0


def replay_s(device: str, compiler: str, workload: str, repetition: int = 0) -> float | None:
    """Return the same of a replay."""
    path = REFERENCE / ReplayCell(device, compiler, workload).path / "replay.json"
    if not path.exists():
        return None
    processes = documents.read(path)["processes"]
    if repetition >= len(processes):
        return 0.0
    return statistics.fmean(process["wall_s"] for process in processes)


def _is_replay(output: Path) -> bool:
    return "replay" in output.parts


def _repetition(output: Path) -> int:
    return int(output.name.removeprefix("process-"))


def expected_process_s(outputs: list[str]) -> dict[str, float | None]:
    """Return {output folder of a process: its expected seconds here, None if the reference has none}."""
    rows = reference()

    def expected(path: Path) -> float | None:
        device, who, workload, _ = path.parts[-4:]
        if not _is_full(path):
            return None
        if _is_replay(path):
            return replay_s(device, who, workload, _repetition(path))
        return process_s(rows.get(Cell(who, workload, device)), _repetition(path))

    return {output: expected(Path(output)) for output in outputs}


def expected_s(jobs: dict[int, tuple[str, str]]) -> dict[int, float | None]:
    """Return {job: its expected seconds here, None if nothing is known} of {job: (rule, first output)}."""
    processes = expected_process_s([output for rule, output in jobs.values() if rule in TIMED])
    return {
        job: processes[output] if rule in TIMED else _recorded_s(output) or GUESSED_S.get(rule)
        for job, (rule, output) in jobs.items()
    }


TAKEN_OVER = ("ahead.json", "largest_batch.json")
TAKE_S = 1.0
"""Seconds of a compilation that is taken from the reference, which has nearly all."""


def _recorded_s(output: str) -> float | None:
    """Return the seconds that a compilation or process took in the reference."""
    path = Path(output)
    if len(path.parts) < 3 or not _is_full(path):
        return None
    if path.name in TAKEN_OVER and (REFERENCE / Path(*path.parts[2:])).exists():
        return TAKE_S
    known = REFERENCE / Path(*path.parts[2:])
    known = known if known.suffix else known / "process.json"
    return documents.read(known).get("wall_s") if known.suffix == ".json" and known.is_file() else None


def _is_full(output: Path) -> bool:
    """Return whether a file is of a run of the reference's preset: results/full, or results/full-stacks."""
    return output.parts[1].partition("-")[0] == PRESET


def to_run(config: dict) -> list[str]:
    """Return the outputs of the processes that `snakemake` would measure now, by asking it."""
    overrides = [f"{key}={config[key]}" for key in ("preset", "source")]
    overrides.append(f"measure=[{','.join(measured_studies(config))}]")
    snakemake = [sys.executable, "-m", "snakemake", "all", "--cores", "1", "--dry-run"]
    command = [*snakemake, "--config", *overrides, "--quiet", "host"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr or done.stdout)
    lines = (done.stdout + done.stderr).splitlines()
    result = [line.split("output:")[1].strip() for line in lines if "output:" in line]
    paths = [Path(path) for path in result if "/process-" in path]

    def order(path: Path) -> int:
        device, who, workload, _ = path.parts[-4:]
        repetition = _repetition(path)
        if _is_replay(path):
            return -replay_priority(config, ReplayCell(device, who, workload), repetition)
        return -priority(config, Cell(who, workload, device), repetition)

    return [str(path) for path in sorted(paths, key=order)]


def describe(config: dict, outputs: list[str]) -> str:
    """Return the plan as text: a line per cell, then time, memory and disk."""
    expected = expected_process_s(outputs)
    by_cell: dict[tuple[str, ...], list[float | None]] = defaultdict(list)
    for output, seconds in expected.items():
        by_cell[Path(output).parts[-4:-1]].append(seconds)
    rows = reference()
    lines = [
        f"preset {config['preset']}: {len(by_cell)} cells and replays to measure, "
        f"at most {len(outputs)} processes"
    ]
    peaks = []
    for (device, framework, workload), seconds in by_cell.items():
        row = rows.get(Cell(framework, workload, device), {})
        known = [s for s in seconds if s is not None]
        time = f"{sum(known):7.0f} s" if known else "   ? s"
        peak = float(row.get("peak_rss_bytes") or 0) / GIB if known else 0.0
        peaks.append(peak)
        memory = f"{peak:5.1f} GiB" if peak else "    ? GiB"
        lines.append(f"  {device:6} {framework:18} {workload:14} {len(seconds)} processes {time} {memory}")
    total = sum(s for s in expected.values() if s is not None)
    unknown = sum(s is None for s in expected.values())
    is_known = unknown < len(expected) or not expected
    known = f"about {total / 60:.0f} min by the reference" if is_known else "unknown"
    others = f"; no reference for {unknown} processes (another preset or a new cell)" if unknown else ""
    lines.append(f"time: {known}{others}")
    ahead = len(programs.compilations(config)) + len(programs.largest_batches(config))
    ahead += len(sharding.slices(config))
    lines.append(
        f"on top, where not done yet: {len(programs.checks(config))} checks of programs in a compiler, "
        f"{len(programs.searched(config))} searches for the causes of gaps, "
        f"{ahead} compilations and searches for absent targets, "
        f"{len(growth.asked(config))} processes of growing sizes, "
        f"{len(sharding.asked(config))} of several devices"
    )
    cap = cap_bytes(cells.settings(config)["memory_cap_gib"]) / GIB
    have = machine_memory_bytes() / GIB
    largest = max(peaks, default=0)
    used = f"at most {largest:.1f} GiB in the reference" if largest else "unknown"
    lines.append(f"memory: {used}; cap {cap:.1f} GiB of this machine's {have:.1f} GiB")
    lines.append(f"disk: {_disk(config)}")
    return "\n".join(lines)


def _disk(config: dict) -> str:
    names = run_environments.needed(config)
    absent = [name for name in names if not folder(REPOSITORY / "envs" / f"{name}.txt").exists()]
    if not absent:
        return "all environments are there; results take under 0.1 GiB"
    sizes = sizes_gb()
    total = sum(sizes.get(name, 1.0) for name in absent)
    rare = sorted(run_environments.only_if_compiled(config) & set(absent))
    but = f" ({', '.join(rare)} only if compilations are not taken from the reference)" if rare else ""
    return f"about {total:.1f} GB for the environments {', '.join(absent)}{but}; results under 0.1 GiB"


def main() -> None:
    """Run `python -m stackwars.workflow.plan`: say what `make paper` would measure now."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--preset", help="of the configuration")
    parser.add_argument(
        "--studies", nargs="*", default=[], help="added to that of the tables, as by make paper"
    )
    arguments = parser.parse_args()
    try:
        config = load()
        chosen = {"preset": arguments.preset} if arguments.preset else {}
        if arguments.studies:
            chosen["measure"] = [of_tables(config).name, *arguments.studies]
        config = validate(config | chosen)
    except ConfigError as error:
        sys.exit(str(error))
    print(describe(config, to_run(config)))


if __name__ == "__main__":
    main()
