"""What the paper says of the run as a whole."""

import json

import pytest

from measured import PEAK, config, process, write_cell, write_results
from stackwars.measure import PROTOCOL
from stackwars.study.cells import Cell
from stackwars.study.results import raw
from stackwars.study.results.tables import context

JAX, TORCH = Cell("jax", "gemm", "cpu"), Cell("torch_xla", "gemm", "cpu")


@pytest.fixture
def results(tmp_path):
    """A folder of results with devices and peak, and no cell yet."""
    return write_results(tmp_path)


def built(results, **changes) -> dict:
    asked = config(**changes)
    return context(asked, raw.read(asked, results))


def test_run_is_described(results):
    write_cell(results, [process()])
    found = built(results)
    assert (found["preset"], found["protocol"], found["studies"]) == ("smoke", PROTOCOL, ["tables"])
    assert found["machine"]["cpu_model"] == "A CPU"
    assert found["date_utc"] == "2025-11-20T10:00:00+00:00"
    assert (found["git_revision"], found["git_dirty"]) == ("0123456789ab", False)
    assert found["peak"] == PEAK
    assert found["sizes"]["gemm"] == {"m": 16, "k": 32, "n": 64}
    assert found["settings"]["memory_cap_bytes"] == 2**30
    assert found["settings"]["rounds"] == 1
    json.dumps(found)


def test_a_run_of_programs_alone_is_dated_by_its_last_compilation(results):
    for name, minute in (("b", 1), ("a", 2)):
        folder = results / "ahead" / "tpu-v6e" / name
        folder.mkdir(parents=True)
        one = process(started_utc=f"2025-11-20T10:0{minute}:00+00:00")
        (folder / "ahead.json").write_text(json.dumps(one))
    found = built(results)
    assert found["date_utc"] == "2025-11-20T10:02:00+00:00"
    assert (found["machine"]["cpu_model"], found["git_revision"]) == ("A CPU", "0123456789ab")
    # Beside cells they are not what a run's date is about.
    write_cell(results, [process()])
    assert built(results)["date_utc"] == "2025-11-20T10:00:00+00:00"


def test_date_is_of_the_last_process_and_every_revision_is_named(results):
    for cell, second, day, revision in ((JAX, 9000.0, 22, "bbb"), (TORCH, 100.0, 21, "aaa")):
        source = {"git_revision": revision, "git_dirty": cell == TORCH}
        utc = f"2025-11-{day}T00:00:00+00:00"
        write_cell(results, [process(cell, started_s=second, started_utc=utc, source=source)])
    found = built(results)
    assert found["date_utc"].startswith("2025-11-22")
    assert (found["git_revision"], found["git_dirty"]) == ("aaa bbb", True)


def test_versions_that_differ_say_whose_they_are(results):
    known = {
        JAX: {"jax": "0.7.1", "numpy": "2.4.6"},
        TORCH: {"torch": "2.9.0", "jax": "0.7.1", "numpy": "1.26.4"},
    }
    for cell, versions in known.items():
        result = process(cell)
        result["events"][1]["versions"] = versions
        write_cell(results, [result])
    assert built(results)["versions"] == {
        **{"python": "3.11.7", "jax": "0.7.1", "torch": "2.9.0", "numpy": "2.4.6"},
        "numpy (torch_xla)": "1.26.4",
    }


def test_a_run_without_a_result_has_no_date(results):
    found = built(results)
    assert (found["date_utc"], found["git_revision"]) == ("never", "unknown")


def test_device_is_present_if_any_framework_finds_it(results):
    found = built(results)["devices"]
    assert found["cpu"]["present"] and not found["tpu"]["present"]
    assert found["tpu"]["reason"] == "no driver: none of /dev/accel0 exists"
