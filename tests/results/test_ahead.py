"""compile_ahead.csv and largest_batch.csv from the documents of compilations."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest

from measured import config
from stackwars.results import ahead
from stackwars.results.read_compilers import read_ahead, read_default_precision
from stackwars.study import programs

COMPILED = {
    **dict.fromkeys(ahead.OF_AHEAD, 7),
    "status": "ok",
    "verdict": "fits",
    "decided_by": "compiler",
    "message": "",
    "hlo": {"estimated_cycles": 3},
}


@pytest.fixture
def asked() -> dict:
    """The test's grid with one target, one compiler, a variant and a search for the largest batch."""
    chosen = config()
    workload = next(w for w in chosen["workloads"] if "batch" in sizes(chosen, w))
    preset = chosen["presets"][chosen["preset"]]
    preset |= {"compiled": [workload], "variants": {workload: ["b8"]}, "largest_batch": [workload]}
    chosen["targets"] = {"tpu-v6e": {"platform": "tpu", "topology": "v6e:1x1"}}
    chosen["ahead"] = [{"target": "tpu-v6e", "compiler": next(iter(chosen["compilers"]))}]
    return chosen


def sizes(chosen: dict, workload: str) -> dict:
    return programs.sizes(chosen, workload)


def write(path: Path, document: dict) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document))


def test_a_row_for_every_compilation(asked: dict, tmp_path: Path) -> None:
    base, variant, *of_the_subject = programs.compilations(asked)
    write(tmp_path / base.path / "ahead.json", COMPILED)
    table = ahead.compile_ahead(asked, tmp_path)
    assert list(table.columns) == list(ahead.AHEAD_COLUMNS)
    assert len(table) == 2 + len(of_the_subject) == 4
    first, second, *_ = table.to_dict("records")
    assert (first["variant"], first["status"], first["verdict"]) == ("base", "ok", "fits")
    assert first["batch"] == sizes(asked, base.program.workload)["batch"]
    assert (first["hbm_bytes"], first["estimated_cycles"]) == (7, 3)
    assert (second["variant"], second["batch"], second["status"]) == ("b8", 8, "not run")
    assert variant.path.name == "b8"


def test_an_edited_program_is_a_row_of_its_framework_that_names_the_edit(asked, tmp_path):
    asked["ahead"].append(asked["ahead"][0] | {"edit": "default_precision", "finish": False})
    edited = [c for c in programs.compilations(asked) if c.program.edits]
    write(tmp_path / edited[0].path / "ahead.json", COMPILED)
    ahead.compile_ahead(asked, tmp_path).to_csv(tmp_path / "ahead.csv", index=False)
    (first, second) = read_default_precision(tmp_path / "ahead.csv").to_dict("records")
    assert (first["framework"], first["edit"], first["status"]) == (
        "jax",
        "default_precision",
        "ok",
    )
    assert (second["framework"], second["status"]) == ("torch_xla", "not run")
    others = read_ahead(tmp_path / "ahead.csv")
    assert len(others) == len(programs.compilations(asked)) - 2
    assert set(others.edit) == {""}


def test_numbers_stay_whole_beside_rows_without(asked: dict, tmp_path: Path) -> None:
    base = programs.compilations(asked)[0]
    write(tmp_path / base.path / "ahead.json", {**COMPILED, "hbm_bytes": 2**40 + 1})
    table = ahead.compile_ahead(asked, tmp_path)
    assert f",{2**40 + 1}," in table.to_csv()


def test_a_compilation_without_optimised_hlo(asked: dict, tmp_path: Path) -> None:
    base = programs.compilations(asked)[0]
    write(tmp_path / base.path / "ahead.json", {**COMPILED, "status": "timeout", "hlo": None})
    row = ahead.compile_ahead(asked, tmp_path).iloc[0]
    assert row.status == "timeout"
    assert pandas.isna(row.estimated_cycles)


def test_a_row_for_every_frontier_that_was_searched(asked: dict, tmp_path: Path) -> None:
    compilation = programs.largest_batches(asked)[0]
    assert ahead.largest_batches(asked, tmp_path).empty
    found = {"sequence": None, "fits_batch": 99, "oom_batch": None}
    write(tmp_path / compilation.largest_batch_path, found)
    table = ahead.largest_batches(asked, tmp_path)
    assert list(table.columns) == list(ahead.LARGEST_BATCH_COLUMNS)
    (row,) = table.to_dict("records")
    assert row["fits_batch"] == 99
    assert pandas.isna(row["oom_batch"])
