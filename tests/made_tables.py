"""Rows of a run's tables with numbers that a test chooses, and what follows from them."""

import json
import math
import random
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

import measured
from stackwars.core.check import Checked
from stackwars.core.hlo import CLASSES
from stackwars.core.outcome import Outcome, Status
from stackwars.core.ratio import LogRatio
from stackwars.measure import PROTOCOL
from stackwars.measure.stablehlo import check as compilers_check
from stackwars.study.cells import Cell
from stackwars.study.results import comparisons, runs, schema
from stackwars.study.results.rounds import summaries

OLD, NEW = "jaxlib-0.7.1", "jaxlib-0.10.2"
"""The compiler of the frameworks' own environments, and a newer generation."""


def cell(framework: str, workload: str = "gemm", **columns: object) -> dict:
    """Return an ok row of cells.csv: a native cell on the CPU beside JAX's."""
    baseline = "" if framework == "jax" else "jax"
    names = {"mode": "native", "workload": workload, "framework": framework, "device": "cpu"}
    return {**names, "baseline": baseline, "status": "ok", "rounds": 3, **columns}


def replay(program: str, compiler: str = OLD, workload: str = "gemm", **columns: object) -> dict:
    """Return an ok row of cells.csv: a program replayed by a compiler."""
    return cell(program, workload, **{"mode": "replay", "compiler": compiler, **columns})


def program(framework: str, workload: str = "gemm", **columns: object) -> dict:
    """Return an ok row of programs.csv: as emitted and normalised, unless a target is given."""
    level = "optimised" if "target" in columns else "normalised"
    names = {"workload": workload, "framework": framework, "level": level, "variant": "base"}
    return {**names, "status": "ok", **columns}


def checked(framework: str = "jax", status: str = "ok", **columns: object) -> dict:
    """Return a row of values.csv: a program of GEMM, compared with its expected values in a compiler."""
    names = {
        "workload": "gemm",
        "title": "GEMM",
        "variant": "base",
        "sizes": "m=16 k=32",
        "framework": framework,
    }
    return {**names, "compiler": OLD, "status": status, "status_detail": "", **columns}


def class_times(framework: str, ms: dict[str, float], workload: str = "gemm", **columns: object) -> list[dict]:
    """Return rows of profile.csv: one a class, 0 ms of classes that are not given."""
    names = {"workload": workload, "framework": framework, "compiler": OLD, "device": "cpu"}
    names |= {"profile_consistent": True, **columns}
    return [{**names, "class": name, "ms": ms.get(name, 0.0)} for name in CLASSES]


def rounds(quantity: str, subject: str, ratios: tuple, baseline: str = "jax", **columns) -> list[dict]:
    """Return rows of rounds.csv: one a ratio."""
    names = {"quantity": quantity, "workload": "gemm", "device": "cpu", "basis": "interleaved"}
    names |= {"subject": subject, "baseline": baseline, "rounds": 1, **columns}
    return [{**names, "round": number, "ratio": ratio} for number, ratio in enumerate(ratios)]


def measured_cell(framework: str, medians: tuple, waits: tuple = (), workload: str = "gemm") -> dict:
    """Return the result of an ok cell whose processes have these medians and, of each, this share of waiting."""
    processes = [
        measured.process(
            Cell(framework, workload, "cpu"),
            number,
            steady_ms=(ms / 2, ms, 9 * ms),
            wait=waits[number] if waits else 0.0,
        )
        for number, ms in enumerate(medians)
    ]
    names = {key: processes[0][key] for key in ("framework", "workload", "device", "sizes")}
    return {"status": "ok", **names, "processes": processes}


def values_of(**changes: object) -> dict:
    """Return the outcome of comparing the outputs of a cell or of a replayed program with the expected values."""
    known = {"judge": "NumPy in float64", "wrong": 0, "total": 128, "l2": 1e-7, "largest": 2e-7, "where": ""}
    return {**known, "flaky": False, "limit": 1e-5, **changes}


def outcome(status: str = "ok", detail: str = "", **verdict: object) -> dict:
    """Return a program's outcome as a check writes it. verdict: on its values, which one that did not run lacks."""
    judged = values_of(**verdict) if status in ("ok", "wrong") else None
    result = Outcome(Status(status), detail)
    return compilers_check.outcome(Checked(result, "", True, judged, compile_s=0.1, first_ns=100, repeat_ns=70))


def check(programs: dict[str, dict] | Iterable[str], **changes: object) -> dict:
    """Return a check.json of GEMM with these outcomes, or with these programs, all ok."""
    known = {"workload": "gemm", "compiler": OLD, "variant": "base", "device": "cpu", "preset": "smoke"}
    known |= {"sizes": {"m": 16, "k": 32, "n": 64}, "judge": "NumPy in float64", "schema": 1}
    outcomes = programs if isinstance(programs, dict) else {name: outcome() for name in programs}
    return {**known, "programs": outcomes, **changes}


def uncounted_loops(ms: float, calls: int = 1) -> list[dict]:
    """Return three loops with this time of a call and no CPU time."""
    return [loop | {"run_ns": 0} for loop in measured.loops((ms,) * 3, calls)]


def measured_replay(
    medians: dict[str, tuple], status: str = "ok", calls: int = 1, natives: dict[str, tuple] | None = None
) -> dict:
    """Return the result of a replay whose programs have these times in its rounds, and natives theirs."""
    count = len(next(iter(medians.values()))) if status == "ok" else 0
    known = {"status": status, "status_detail": "" if status == "ok" else "why"}
    known |= {"values": values_of(l2=3e-7), "struck_ns": None}
    known |= {"first_ns": [100_000_000] * count, "second_ns": [2_000_000] * count}
    programs = {
        name: known
        | {"steady": [measured.blocks((ms / 2, ms, 9 * ms), calls=calls) for ms in values[:count]]}
        | {"loops": [uncounted_loops(ms, calls) for ms in values[:count]]}
        for name, values in medians.items()
    }
    where = {"workload": "gemm", "device": "cpu"}
    times = {"started_s": 1000.0, "wall_s": 10.0}
    processes = [
        {"repetition": number, "machine": {}, "basis": "interleaved", **times} for number in range(count)
    ]
    return {
        **where,
        "programs": programs,
        "processes": processes,
        "natives": {name: native(values) for name, values in (natives or {}).items()},
    }


def native(medians: tuple) -> list[dict]:
    """Return the native processes of a replay's rounds; one without a time was not run."""
    return [
        {
            "repetition": number,
            "status": "not run" if ms is None else "ok",
            "status_detail": "too little memory" if ms is None else "",
            "events": [] if ms is None else uncounted_loops(ms),
        }
        for number, ms in enumerate(medians)
    ]


def compared(
    cells: list[dict] = (), paired: list[dict] = (), programs: list[dict] = (), **changes: object
) -> pd.DataFrame:
    """Return comparisons.csv of these rows of the other tables. changes: of the configuration."""
    measured_cells = schema.table("cells", list(cells))
    observed = schema.table("rounds", [*paired, *summaries(measured_cells)])
    emitted = schema.table("programs", list(programs))
    return comparisons.build(measured.config(**changes), observed, measured_cells, emitted)


def having(table: pd.DataFrame, **where: object) -> pd.DataFrame:
    """Return the rows with these values."""
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def only(table: pd.DataFrame, **where: object) -> pd.Series:
    """Return the only row with these values."""
    found = having(table, **where)
    assert len(found) == 1, f"expected one row with {where}, got {len(found)}"
    return found.iloc[0]


def word(table: pd.DataFrame, quantity: str, **where: object) -> str | None:
    """Return the verdict of the only row of a quantity with these values; None if there is none."""
    there = quantity in set(table["quantity"])
    return only(table, quantity=quantity, **where)["verdict"] if there else None


def comparison(workload: str, ratio: float, error: float | None = 0.01, **columns: object) -> dict:
    """Return a row of comparisons.csv: torch_xla's steady time over JAX's, of three rounds.

    error: of its logarithm; None of a ratio that has no interval.
    """
    names = {"quantity": "steady", "workload": workload, "device": "cpu", "baseline": "jax"}
    names |= {"subject": "torch_xla", "rounds": 3, "runs": 1, "machines": 1, "verdict": "slower"}
    known = LogRatio(math.log(ratio), error, None if error is None else 2.0)
    numbers = dict(zip(("ratio", "low", "high"), known.estimate(), strict=True))
    return {**names, **numbers, "ratio": ratio, "error": error, "dof": known.freedom, **columns}


def write_tables(folder: Path, context: dict, **tables: list[dict]) -> Path:
    """Write a folder of results with these rows of its tables, the others empty."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in schema.TABLES.items():
        path = folder / f"{name}.csv"
        if rows := tables.get(name):
            schema.write(schema.table(name, rows), path)
        else:
            path.write_text(f"{','.join(columns)}\n")  # the file of an empty table, without pandas
    (folder / "context.json").write_text(json.dumps(context))
    return folder


def accepted(
    folder: Path,
    machine: str = "a",
    studies: tuple = ("tables",),
    protocol: int = PROTOCOL,
    **tables: list[dict],
) -> runs.Run:
    """Write an accepted run of these studies with these rows of its tables.

    machine: the processor of its kind of machine.
    """
    date = f"{folder.name}T00:00:00+00:00"
    facts = {"protocol": protocol, "machine": {"cpu_model": machine}, "date_utc": date, "studies": studies}
    facts["devices"] = {"cpu": {"present": True}}
    write_tables(folder, facts, **tables)
    runs.write_manifest(folder)
    return runs.Run(folder.name, folder, machine)


def pair(
    kind: str = "same",
    workload: str = "gemm",
    trials: int = 3,
    ratio: float = 1.0,
    noise: float = 0.01,
    subject: str = "jax",
    baseline: str = "",
    **changes: object,
) -> dict:
    """Return a result of `paired.measure` whose rounds lie around a ratio, each off by a normal share."""
    labels = {"kind": kind, "workload": workload, "device": "cpu", "trials": trials, "rounds": 5}
    sides = {"subject": subject, "baseline": baseline or subject}
    name = f"{subject}-{baseline}-{workload}"
    draw = random.Random(f"{name} {changes.pop('seed', 0)}")
    ratios = [ratio * math.exp(draw.gauss(0, noise)) for _ in range(trials * 5)]
    undisturbed = [one * math.exp(draw.gauss(0, noise)) for one in ratios]
    machine = {"cpu_model": "A CPU", "cores": 2, "memory_bytes": 2**34}
    return {
        **labels, **sides, "name": name, "ratios": ratios, "undisturbed": undisturbed,
        "machine": machine, "revisions": ["abc"], "wall_s": 1.0, **changes,
    }  # fmt: skip


def pairs(noise: float = 0.01, ratio: float = 1.0, seed: int = 0) -> list[dict]:
    """Return twelve pairs of two frameworks against themselves."""
    return [
        pair(workload=workload, subject=subject, noise=noise, ratio=ratio, seed=seed)
        for subject in ("jax", "torch_xla")
        for workload in ("gemm", "ffn", "mha", "layernorm", "conv", "bert_base")
    ]
