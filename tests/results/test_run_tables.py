"""From a folder of measurements to the tables of a run, and what its context says of the run as a whole."""

import json

import numpy as np
import pytest

from made_tables import OLD, measured_replay
from measured import config, process, with_partner, write_cell, write_results
from stackwars.study.cells import Cell
from stackwars.study.results import raw, schema, tables
from stackwars.study.results.folder import Folder

JAX, TORCH = Cell("jax", "gemm", "cpu"), Cell("torch_xla", "gemm", "cpu")


@pytest.fixture
def empty(tmp_path):
    """A folder of results with devices and peak, and no cell yet."""
    return write_results(tmp_path / "results")


@pytest.fixture
def results(empty):
    """A folder with both GEMM cells, and a replay of both programs."""
    bases = [process(JAX, n, steady_ms=(1.0,) * 3) for n in (0, 1)]
    subjects = [process(TORCH, n, steady_ms=(2.0,) * 3) for n in (0, 1)]
    write_cell(empty, bases)
    write_cell(empty, [with_partner(*pair) for pair in zip(subjects, bases, strict=True)])
    path = empty / "replay" / "cpu" / OLD / "gemm" / "replay.json"
    path.parent.mkdir(parents=True)
    times, natives = {"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0)}, {"jax": (1.0, 1.0), "torch_xla": (3.0, 3.0)}
    path.write_text(json.dumps(measured_replay(times, natives=natives)))
    return empty


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


def built(empty, **changes) -> dict:
    asked = config(**changes)
    return tables.context(asked, raw.read(asked, empty))


def test_a_run_of_programs_alone_is_dated_by_its_last_compilation(empty):
    for name, minute in (("b", 1), ("a", 2)):
        folder = empty / "ahead" / "tpu-v6e" / name
        folder.mkdir(parents=True)
        one = process(started_utc=f"2025-11-20T10:0{minute}:00+00:00")
        (folder / "ahead.json").write_text(json.dumps(one))
    found = built(empty)
    assert found["date_utc"] == "2025-11-20T10:02:00+00:00"
    assert (found["machine"]["cpu_model"], found["git_revision"]) == ("A CPU", "0123456789ab")
    # Beside cells they are not what a run's date is about.
    write_cell(empty, [process()])
    assert built(empty)["date_utc"] == "2025-11-20T10:00:00+00:00"


def test_date_is_of_the_last_process_and_every_revision_is_named(empty):
    for cell, second, day, revision in ((JAX, 9000.0, 22, "bbb"), (TORCH, 100.0, 21, "aaa")):
        source = {"git_revision": revision, "git_dirty": cell == TORCH}
        utc = f"2025-11-{day}T00:00:00+00:00"
        write_cell(empty, [process(cell, started_s=second, started_utc=utc, source=source)])
    found = built(empty)
    assert found["date_utc"].startswith("2025-11-22")
    assert (found["git_revision"], found["git_dirty"]) == ("aaa bbb", True)


def test_versions_that_differ_say_whose_they_are(empty):
    known = {
        JAX: {"jax": "0.7.1", "numpy": "2.4.6"},
        TORCH: {"torch": "2.9.0", "jax": "0.7.1", "numpy": "1.26.4"},
    }
    for cell, versions in known.items():
        result = process(cell)
        result["events"][1]["versions"] = versions
        write_cell(empty, [result])
    assert built(empty)["versions"] == {
        **{"python": "3.11.7", "jax": "0.7.1", "torch": "2.9.0", "numpy": "2.4.6"},
        "numpy (torch_xla)": "1.26.4",
    }


def test_a_run_without_a_result_has_no_date(empty):
    found = built(empty)
    assert (found["date_utc"], found["git_revision"]) == ("never", "unknown")


def test_device_is_present_if_any_framework_finds_it(empty):
    found = built(empty)["devices"]
    assert found["cpu"]["present"] and not found["tpu"]["present"]
    assert found["tpu"]["reason"] == "no driver: none of /dev/accel0 exists"
