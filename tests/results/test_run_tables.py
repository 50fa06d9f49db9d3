"""From a folder of measurements to all tables of a run."""

import json

import numpy as np
import pytest

from made_tables import OLD, measured_replay, only
from measured import config, process, with_partner, write_cell, write_results
from stackwars.study.cells import Cell, asked
from stackwars.study.results import schema, tables
from stackwars.study.results.folder import Folder

MADE = [*(f"{name}.csv" for name in schema.TABLES if name != "claims"), "context.json"]


@pytest.fixture
def results(tmp_path):
    """A folder with both GEMM cells, and a replay of both programs."""
    folder = write_results(tmp_path / "results")
    jax, torch = Cell("jax", "gemm", "cpu"), Cell("torch_xla", "gemm", "cpu")
    bases = [process(jax, n, steady_ms=(1.0,) * 3) for n in (0, 1)]
    subjects = [process(torch, n, steady_ms=(2.0,) * 3) for n in (0, 1)]
    write_cell(folder, bases)
    write_cell(folder, [with_partner(*pair) for pair in zip(subjects, bases, strict=True)])
    path = folder / "replay" / "cpu" / OLD / "gemm" / "replay.json"
    path.parent.mkdir(parents=True)
    times, natives = {"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0)}, {"jax": (1.0, 1.0), "torch_xla": (3.0, 3.0)}
    path.write_text(json.dumps(measured_replay(times, natives=natives)))
    return folder


def test_every_table_is_made_from_the_measurements(results, tmp_path):
    out = Folder(tmp_path / "out", results)
    tables.write(config(), out)
    assert sorted(path.name for path in out.results.iterdir()) == sorted(MADE)
    made = {name: schema.read(out[name]) for name in schema.TABLES if name != "claims"}
    native = made["cells"].query("mode == 'native'")
    assert len(native) == len(asked(config())) and list(native["status"]).count("ok") == 2
    compared = made["comparisons"].query("workload == 'gemm' and compiler in ('', @OLD)")
    ratios = compared[compared["subject"] == "torch_xla"].set_index("quantity")["ratio"]
    wanted = {"steady": 2.0, "native": 3.0, "replay": 2.0, "everything else": 1.5, "control": 1.5}
    assert ratios[list(wanted)].to_dict() == pytest.approx(wanted)
    jax = only(compared, quantity="control", subject="jax")
    assert tuple(jax[["subject_ms", "baseline_ms", "ratio"]]) == (1.0, 1.0, 1.0)
    assert only(compared, quantity="steady")["rounds"] == 2
    assert made["programs"].query("target == 'cpu'")["status"].tolist() == ["ok", "ok"]
    assert json.loads(out["context"].read_text())["preset"] == "smoke"


def test_a_cell_that_is_refused_gives_no_number_to_any_table(results, tmp_path):
    for framework in ("jax", "torch_xla"):
        # The outputs for two sets of inputs are the same.
        np.save(results / Cell(framework, "gemm", "cpu").path / "output.npy", np.ones(4, np.float32))
    out = Folder(tmp_path / "out", results)
    tables.write(config(), out)
    native = schema.read(out["cells"]).query("mode == 'native' and workload == 'gemm' and device == 'cpu'")
    assert list(native["status"]) == ["invalid", "invalid"]
    rounds = schema.read(out["rounds"])
    assert set(rounds["quantity"]) == {"replay", "process"} and set(rounds["compiler"]) == {OLD}
    words = schema.read(out["comparisons"]).set_index("quantity")["verdict"]
    assert set(words[["first", "second", "steady", "everything else", "control"]]) == {"no data"}
