"""SYNTHETIC worlds for reading the paper: its prose where the data falls otherwise. Nothing was measured.

    PYTHONPATH=src:tests python tests/paper_worlds.py FOLDER [WORLD ...]

typesets the whole paper of each world as FOLDER/<world>.pdf.
"""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas

import claims_fixture
import compiler_fixture
import drawn
import paper_fixture
import studies_fixture
from stackwars.paper.render import build
from stackwars.paper.tables.write import write_tables
from stackwars.results import beyond, matrix, matrix_subsets, split
from stackwars.results.folder import Folder
from stackwars.results.whole_study import Source
from stackwars.study.config import load
from stackwars.study.studies import Study

Change = Callable[[Path], None]
STAGES = ("first", "second", "steady")
FAILED = {"status": "error", "status_detail": "RuntimeError: it failed", "message": "it failed"}


def everywhere(ratio: float, half: float) -> Change:
    """Every other framework takes so many times as long as the baseline, on every workload and in every study.

    half: the half-width of the logarithm's interval.
    """

    def change(folder: Path) -> None:
        frame = pandas.read_csv(folder / "frame.csv")
        base = frame[frame.framework == "jax"].set_index(["workload", "device"])
        for at in frame.index[frame.steady_ms.notna() & (frame.framework != "jax")]:
            for stage in STAGES:
                ms = ratio * base[f"{stage}_ms"][frame.workload[at], frame.device[at]]
                ends = (ms, ms * math.exp(-half), ms * math.exp(half))
                frame.loc[at, [f"{stage}_ms", f"{stage}_low_ms", f"{stage}_high_ms"]] = ends
        _write(folder, frame=frame)
        paper_fixture.rewrite_series(folder)
        table = pandas.read_csv(folder / "ratios.csv")
        for stage in STAGES:
            for name, value in paper_fixture.stage_columns(stage, ratio, half).items():
                table[name] = value
        table["steady_boot_low"], table["steady_boot_high"] = ratio * 0.98, ratio * 1.02
        _write(folder, ratios=table)
        _split_everywhere(folder, ratio, half)
        _beyond_everywhere(folder, ratio, half)

    return change


def _split_everywhere(folder: Path, ratio: float, half: float) -> None:
    """The program makes all of every ratio, and the runtime none."""
    table = pandas.read_csv(folder / "split.csv")
    made = {"native": ratio, "ir": ratio, "runtime": 1.001, "lead": max(ratio, 1 / ratio)}
    for name, value in made.items():
        known = table[f"{name}_ratio"].notna()
        for column, number in compiler_fixture.ratio_columns(name, value, half).items():
            table.loc[known, column] = number
    _write(folder, split=split.decided(table))


def _beyond_everywhere(folder: Path, ratio: float, half: float) -> None:
    table = pandas.read_csv(folder / "beyond.csv")
    base = table[table.framework == "jax"].set_index("workload").steady_ms
    own = table.steady_ms.notna() & (table.framework == "torch_xla")
    for name, value in studies_fixture.ratio(ratio, half / 3.18).items():
        table.loc[own, name] = value
    table.loc[own, "steady_ms"] = ratio * table.workload[own].map(base)
    _write(folder, beyond=beyond.forms(_over_best(table)))


def _over_best(table: pandas.DataFrame) -> pandas.DataFrame:
    """The table without its forms, every time once more over the best of its workload."""
    made = table[[name for name in table if not name.startswith("form_")]].copy()
    of = {"steady": "steady_ms", "first": "first_ms", "memory": "peak_rss_bytes"}
    # Where the baseline failed there is nothing to divide by.
    based = made.workload.isin(made.workload[(made.framework == "jax") & made.steady_ms.notna()])
    ratios = [name for name in made if name.startswith("steady_") and not name.endswith("ms")]
    made.loc[~based, ratios] = None
    for name, column in of.items():
        value = made[column].astype(float)
        made[f"{name}_over_best"] = value / value.groupby(made.workload).transform("min")
    return made


def half_failed(folder: Path) -> None:
    """Half of the cells, replays, programs and compilations ended in an error."""
    lost = _lose(folder, "frame", ["workload", "framework", "device"])
    for name in ("ratios", "calls", "processes"):
        table = pandas.read_csv(folder / f"{name}.csv")
        keys = list(zip(table.workload, table.framework, table.device, strict=True))
        gone = [(w, f, d) in lost or (w, "jax", d) in lost for w, f, d in keys]
        if name != "ratios":
            gone = [key in lost for key in keys]
        _write(folder, **{name: table[[not one for one in gone]]})
    replays = _lose(folder, "replay", ["workload", "framework", "compiler"])
    for name in ("op_times", "replayed"):
        table = pandas.read_csv(folder / f"{name}.csv")
        keys = zip(table.workload, table.framework, table.compiler, strict=True)
        _write(folder, **{name: table[[key not in replays for key in keys]]})
    _lose_split(folder, lost, replays)
    for name, keys in {
        "compile_ahead": ["workload", "framework", "compiler", "target", "edit", "variant"],
        "ir_metrics": ["workload", "framework", "level"],
        "stacks": ["workload", "framework"],
        "beyond": ["workload", "framework"],
        "sharding": ["workload", "frontend", "way", "devices"],
    }.items():
        _lose(folder, name, keys)
    beside, other = (
        _over_best(pandas.read_csv(folder / f"{name}.csv")) for name in ("stacks", "beyond")
    )
    _write(folder, stacks=beside, beyond=beyond.forms(other))
    structure = pandas.read_csv(folder / "structure.csv")
    structure.loc[_half(len(structure)), "verdict"] = "no program"
    _write(folder, structure=structure)
    own = folder / "matrix"
    keys = _lose(own, "replay", ["workload", "framework", "compiler"])
    rounds = pandas.read_csv(own / "replayed.csv")
    there = zip(rounds.workload, rounds.framework, rounds.compiler, strict=True)
    rounds[[key not in keys for key in there]].to_csv(own / "replayed.csv", index=False)
    names = [tuple(rounds[name].unique()) for name in ("framework", "compiler", "workload")]
    study = Study("matrix", names[0], names[0], names[1], (), ("cpu",), names[2])
    cells = matrix.build(study, [Source("", own)])
    found = [Source("", own)]
    parts = matrix_subsets.build(load(), cells, found)
    _write(folder, matrix=cells, matrix_effects=matrix.effects(cells, found), matrix_subsets=parts)


def _lose(folder: Path, name: str, keys: list[str]) -> set[tuple]:
    """Half of a table's results become errors; their keys."""
    table = pandas.read_csv(folder / f"{name}.csv")
    ok = table.index[table.status == "ok"]
    lost = ok[_half(len(ok))]
    numbers = table.select_dtypes(include=["number", "bool"]).columns.difference(
        [*keys, "batch", "sequence", "rounds", "flops", "parameter_bytes", "repetition"]
    )
    told = [column for column in ("verdict", "decided_by") if column in table]
    for column in [*numbers, *told]:
        table[column] = table[column].astype(object)
        table.loc[lost, column] = None
    for column, value in FAILED.items():
        if column in table:
            table[column] = table[column].astype(object)
            table.loc[lost, column] = value
    _write(folder, **{name: table})
    return {tuple(row) for row in table.loc[lost, keys].itertuples(index=False)}


def _lose_split(folder: Path, cells: set[tuple], replays: set[tuple]) -> None:
    table = pandas.read_csv(folder / "split.csv")
    for at, row in table.iterrows():
        pair = (row.framework, row.baseline)
        gone = {
            "native": any((row.workload, one, row.device) in cells for one in pair),
            "ir": any((row.workload, one, row.compiler) in replays for one in pair),
        }
        gone["runtime"] = gone["lead"] = gone["control"] = gone["native"] or gone["ir"]
        for name in (name for name, one in gone.items() if one):
            columns = [c for c in table if c.startswith(f"{name}_") and c != f"{name}_verdict"]
            table.loc[at, columns] = math.nan
    _write(folder, split=split.decided(table))


def _half(length: int) -> list[bool]:
    """The same half every time, in no pattern of the grid."""
    chosen = set(random.Random(length).sample(range(length), length // 2))
    return [n in chosen for n in range(length)]


def _write(folder: Path, **tables: pandas.DataFrame) -> None:
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)


def no_search(folder: Path) -> None:
    """No largest batch but those of the reference, as in a quick run."""
    batches = pandas.read_csv(folder / "largest_batch.csv")
    own = batches.framework.isin(compiler_fixture.SUCCESSOR["programs"])
    _write(folder, largest_batch=batches[own])


WORLDS: dict[str, tuple[str, Change]] = {
    **{variant: (variant, lambda folder: None) for variant in paper_fixture.VARIANTS},
    "all slower": ("full", everywhere(1.7, 0.03)),
    "all faster": ("full", everywhere(0.6, 0.03)),
    "nothing decided": ("full", everywhere(1.02, 0.2)),
    "half failed": ("full", half_failed),
    "no search": ("full", no_search),
}
"""Of each, the variant of paper_fixture that it begins with, and what is changed in it."""


def write(folder: Path, world: str) -> Path:
    """The results of a world; returns the folder."""
    variant, change = WORLDS[world]
    change(paper_fixture.write(folder, variant))
    return folder


def with_tables(folder: Path, draw: Callable[[dict, Folder], object]) -> None:
    """Make the text of the paper and its tables of a folder of results, and what `draw` draws."""
    config, files = claims_fixture.config(), Folder(folder)
    write_tables(files)
    claims_fixture.decide(folder)
    draw(config, files)
    claims_fixture.with_experiments(folder)
    build(config, files)


def typeset(folder: Path) -> str:
    """Make latex/main.pdf of a folder of results; returns latexmk's log."""
    files = Folder(folder)
    with_tables(folder, drawn.draw)
    command = ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    made = subprocess.run(
        command,
        cwd=files["latex"],
        env=os.environ | {"SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert made.returncode == 0, made.stdout[-3000:]
    return (files["latex"] / "main.log").read_text(errors="replace")


def main() -> None:
    to, *chosen = sys.argv[1:]
    for world in chosen or WORLDS:
        folder = Path(to) / re.sub(r"\W", "_", world)
        folder.mkdir(parents=True, exist_ok=True)
        typeset(write(folder, world))
        (folder / "latex" / "main.pdf").rename(f"{folder}.pdf")


if __name__ == "__main__":
    main()
