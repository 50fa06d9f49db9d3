"""A cell's result from its processes."""

import gzip
import json

import jsonschema
import numpy as np
import pytest
import yaml

from measured import PROGRAM, process, process_folder, run_main, stopped, write_cell
from report_fixture import HOSTILE
from stackwars.measure.cell import SCHEMA, combine
from stackwars.setup.environments import REPOSITORY
from stackwars.study.cells import Cell


def combined(tmp_path, *processes: dict) -> dict:
    folders = [process_folder(tmp_path / str(n), result) for n, result in enumerate(processes)]
    return combine(folders)


OOM = ("oom", "refused at build: no memory")


def test_ok_where_every_process_is(tmp_path):
    cell = combined(tmp_path, process(), process(repetition=1))
    assert (cell["status"], cell["status_detail"]) == ("ok", "")
    assert [p["repetition"] for p in cell["processes"]] == [0, 1]
    assert cell["versions"]["jax"] == "0.7.1"
    assert cell["wall_s"] == 20.0
    assert cell["peak_rss_bytes"] == 2**28 + 1
    assert cell["stopped"] == "rounds", "all of them ran"


def test_first_bad_process_gives_the_status(tmp_path):
    bad = process(repetition=1, status=OOM)
    worse = process(repetition=2, status=("error", "ended by SIGKILL"))
    cell = combined(tmp_path, process(), bad, worse)
    assert (cell["status"], cell["status_detail"]) == OOM
    assert cell["ir"] is cell["output_sha256"] is None
    # The samples of the good process are still there.
    assert any(event["event"] == "steady" for event in cell["processes"][0]["events"])


@pytest.mark.parametrize("reason", ["decided", "budget"])
def test_process_that_was_not_needed_is_left_out(tmp_path, reason):
    rest = [stopped(repetition=n, reason=reason) for n in (2, 3)]
    cell = combined(tmp_path, process(), process(repetition=1), *rest)
    assert (cell["status"], cell["stopped"]) == ("ok", reason)
    assert [p["repetition"] for p in cell["processes"]] == [0, 1]
    assert cell["wall_s"] == 20.0


def test_program_is_read_back(tmp_path):
    ir = combined(tmp_path, process(), process(repetition=1))["ir"]
    assert (ir["precision"], ir["dtype"], ir["same_in_every_process"]) == ("HIGHEST", "f32", True)


def test_programs_that_differ_are_noted(tmp_path):
    folders = [process_folder(tmp_path / str(n), process(repetition=n)) for n in (0, 1)]
    other = PROGRAM.replace("HIGHEST", "DEFAULT").encode()
    (folders[1] / "stablehlo.mlir.gz").write_bytes(gzip.compress(other))
    assert combine(folders)["ir"]["same_in_every_process"] is False


@pytest.mark.parametrize("changes", [{"status": ("lost", "")}, {"sizes": {"m": "16"}}, {"wall_s": "long"}])
def test_result_outside_the_schema_is_refused(tmp_path, changes):
    with pytest.raises((jsonschema.ValidationError, TypeError)):
        combined(tmp_path, process(**changes))


def test_schema_knows_every_field_of_a_process_and_an_event(tmp_path):
    unknown = process(speed=1.0)
    with pytest.raises(jsonschema.ValidationError, match="speed"):
        combined(tmp_path / "process", unknown)
    unknown = process()
    unknown["events"][5]["warmth"] = 1.0
    with pytest.raises(jsonschema.ValidationError, match="warmth"):
        combined(tmp_path / "event", unknown)


def test_ok_cell_has_its_program_and_output(tmp_path):
    output = np.arange(4, dtype=np.float32)
    folder = write_cell(tmp_path, [process(), process(repetition=1)], output)
    assert gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode() == PROGRAM
    assert np.array_equal(np.load(folder / "output.npy"), output)
    assert json.loads((folder / "cell.json").read_text())["status"] == "ok"


def test_cell_has_the_forms_of_its_first_process(tmp_path):
    folders = [process_folder(tmp_path / str(n), process(repetition=n)) for n in (0, 1)]
    (folders[0] / "forms").mkdir()
    (folders[0] / "forms" / "jaxpr.txt.gz").write_bytes(gzip.compress(b"{ lambda }"))
    run_main(folders, tmp_path / "cell")
    kept = (tmp_path / "cell" / "forms" / "jaxpr.txt.gz").read_bytes()
    assert gzip.decompress(kept) == b"{ lambda }"
    assert not list((write_cell(tmp_path / "other", [process()]) / "forms").iterdir())


def test_bad_cell_says_that_there_is_no_program(tmp_path):
    cell = Cell("torch_xla", "gemm", "cpu")
    folder = write_cell(tmp_path, [process(cell, status=("error", "first line\nsecond line"))])
    program = gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode()
    assert program == "// no program: error: first line\n"
    assert (folder / "output.npy").read_bytes() == b""


def test_the_reference_is_of_the_schema():
    """Its cells are from before memory and log were kept."""
    schema = yaml.safe_load(SCHEMA.read_text())
    path = REPOSITORY / "results" / "reference" / "cpu" / "jax" / "mha" / "cell.json"
    jsonschema.validate(json.loads(path.read_text()), schema)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"status": ("not run", "no driver")}, "not run"),
        ({"status": ("error", "no log"), "events": []}, "error"),
        ({"status": OOM, "memory": {"seconds": [0.1], "bytes": [5]}, "log_tail": HOSTILE}, "oom"),
    ],
)
def test_cell_of_a_process_that_was_not_run_or_ended_early_is_complete(tmp_path, changes, status):
    cell = combined(tmp_path, process(**changes), stopped(repetition=1))
    assert (cell["status"], cell["stopped"]) == (status, "")
    assert "events" not in changes or (cell["versions"], cell["device_kind"]) == ({}, None)
