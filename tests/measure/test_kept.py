"""What is kept of how a child went."""

import os
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import yaml

import measured
from report_fixture import HOSTILE
from stackwars.measure import cell, kept, watch
from stackwars.setup.environments import REPOSITORY

PYTHON = Path("/somewhere/else/jax-0123/bin/python")


def test_thinning_keeps_the_peak_and_the_order():
    samples = [(at / 10, 1000 + at % 7) for at in range(9000)]
    samples[4321] = (432.1, 5000)
    found = kept.thinned(samples, kept.MOST)
    assert len(found) <= kept.MOST
    assert (432.1, 5000) in found
    assert found == sorted(found)
    assert set(found) <= set(samples)


def test_few_samples_are_all_kept():
    samples = [(0.1, 3), (0.2, 2), (0.3, 1)]
    assert kept.thinned(samples, 200) == samples
    assert kept.thinned([], 200) == []


def test_memory_is_in_seconds_since_the_start_and_without_a_child_that_is_gone():
    memory = kept.Memory(time.monotonic() - 2)
    for resident in (2**20, 2**21, 0):
        memory.add(resident)
    found = memory.document()
    assert found["bytes"] == [2**20, 2**21]
    assert all(2 <= seconds < 4 for seconds in found["seconds"])


def test_the_watch_tells_every_look_at_the_memory():
    seen = []
    code = "import time; held = bytearray(2**26); time.sleep(0.5)"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    assert watch.watch(child.pid, 2**40, time.monotonic() + 20, seen.append) == (False, False)
    child.wait()
    assert max(seen) > 2**26
    # No more often than it looks for itself.
    assert len(seen) < 40


def test_the_end_of_a_log_is_text_without_the_folders_of_the_machine(tmp_path):
    log = tmp_path / "log.txt"
    lines = [
        f"{REPOSITORY}/src/stackwars/measure/child.py:1: {HOSTILE} \N{PILE OF POO} \x1b[31m",
        f"{PYTHON.parents[1]}/lib/numpy.py",
        f"{Path.home()}/.cache",
    ]
    log.write_text("\n".join(["first", *lines]), encoding="utf-8")
    found = kept.log_tail(log, PYTHON, ok=False)
    assert found.splitlines() == [
        "first",
        f"./src/stackwars/measure/child.py:1: {HOSTILE} \N{PILE OF POO} ?[31m",
        ".envs/jax-0123/lib/numpy.py",
        "~/.cache",
    ]


def test_of_a_long_log_the_end_is_kept_and_less_where_all_went_well(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("".join(f"{number} {'x' * 1000}\n" for number in range(100)))
    for ok, most in ((False, kept.CHARACTERS), (True, kept.CHARACTERS_OF_OK)):
        found = kept.log_tail(log, PYTHON, ok)
        assert len(found) == most
        assert log.read_text().strip().endswith(found)
    log.write_text("\n".join(map(str, range(100))))
    assert kept.log_tail(log, PYTHON, ok=True).split() == [str(n) for n in range(80, 100)]
    log.write_bytes(b"\xff\xfe\n")
    assert kept.log_tail(log, PYTHON, ok=True) == "\N{REPLACEMENT CHARACTER}" * 2
    log.write_text("")
    assert kept.log_tail(log, PYTHON, ok=True) == ""


def test_cells_with_and_without_what_is_kept_are_of_one_schema(tmp_path):
    schema = yaml.safe_load(cell.SCHEMA.read_text())
    more = {"memory": {"seconds": [0.1, 0.2], "bytes": [5, 7]}, "log_tail": HOSTILE}
    for place, extra in enumerate(({}, more)):
        folder = measured.process_folder(tmp_path / str(place), measured.process(**extra))
        found = cell.combine([folder])
        jsonschema.validate(found, schema)
        assert {key: found["processes"][0].get(key) for key in extra} == extra


def test_the_reference_is_of_the_schema():
    """Its cells are from before any of it was kept."""
    schema = yaml.safe_load(cell.SCHEMA.read_text())
    path = REPOSITORY / "results" / "reference" / "cpu" / "jax" / "mha" / "cell.json"
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_home_at_the_root_is_no_name_for_every_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "HOME", "/")
    (tmp_path / "log.txt").write_text("/usr/lib/x")
    assert kept.log_tail(tmp_path / "log.txt", PYTHON, ok=True) == "/usr/lib/x"
