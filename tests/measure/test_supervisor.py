"""Real cells of a toy framework, each ending in its own way."""

import gzip
import os
import random
import signal
import subprocess
import time
from types import SimpleNamespace

import numpy as np
import pytest

from running import wait_for
from stackwars.core.limits import alive
from stackwars.measure import supervisor
from toy_checkout import ToyCheckout


def named(result: dict) -> dict[str, dict]:
    return {event["event"]: event for event in result["events"]}


def child_pid(toy: ToyCheckout) -> int:
    """Number of the child once it sleeps in its first call."""
    path = toy.folder / "child.pid"
    return int(wait_for(lambda: path.exists() and path.read_text()))


def start(toy: ToyCheckout, **extra: str) -> subprocess.Popen:
    """Start a supervisor whose child sleeps."""
    (toy.folder / "child.pid").unlink(missing_ok=True)
    return subprocess.Popen(
        toy.command(), cwd=toy.folder, env=toy.environ("sleep", **extra), stderr=subprocess.PIPE
    )


def test_ok_keeps_every_sample_its_files_and_what_was_compiled(toy):
    # Under nine blocks: whether so short calls are steady is not asked.
    result = toy.measure("ok", block_calls=3, steady_min_blocks=5, steady_max_blocks=8)
    assert (result["status"], result["status_detail"]) == ("ok", "")
    events = named(result)
    order = "import build run first second steady dispatch timed end"
    assert list(events) == order.split()
    assert 5 <= len(events["steady"]["ns"]) <= 8
    assert events["steady"]["calls"] == 3
    assert all(ns > 0 for ns in events["steady"]["ns"])
    assert [events[name]["compiles"] for name in ("first", "second", "steady")] == [1, 0, 0]
    assert events["build"]["versions"] == {"numpy": np.__version__}
    assert events["run"]["affinity"] == sorted(os.sched_getaffinity(0))
    assert (result["log_tail"], result["environment"][:4]) == ("", "toy-")
    assert result["peak_rss_bytes"] > 2**23 and 0 < result["wall_s"] < 30
    assert "toy gemm cpu process 1: running" in result["printed"]
    assert "toy gemm cpu process 1: ok: first " in result["printed"]
    folder = toy.folder / toy.output()
    names = "events.jsonl log.txt output.npy process.json spec.json stablehlo.mlir.gz"
    assert {path.name for path in folder.iterdir()} == set(names.split()), "no cache"
    # The outputs (2, 4) of both sets of inputs.
    assert np.load(folder / "output.npy").shape == (16,)


def test_forms_are_written_where_asked_for_and_none_costs_no_result(toy):
    asked = toy.measure("ok", forms=True)
    forms = toy.folder / toy.output() / "forms"
    [file] = forms.iterdir()
    calls = len(named(asked)["steady"]["ns"]) * named(asked)["steady"]["calls"]
    after = int(gzip.decompress(file.read_bytes()).split()[1])
    assert file.name == "traced.txt.gz" and after > calls, "they come after every timed call"
    assert toy.measure("no forms", forms=True)["status"] == "ok"
    said = gzip.decompress((forms / "problem.txt.gz").read_bytes())
    assert said == b"ValueError: nothing to tell\n"


@pytest.mark.parametrize(
    ("behaviour", "status", "detail", "last"),
    [
        ("raise at build", "unsupported", "NotImplementedError", "build raised"),
        ("raise", "error", "ValueError: the second call went wrong (phase: first)", "first raised"),
        ("sigkill", "crash", "ended by SIGKILL, which this harness did not send", "run first"),
        ("nan", "invalid", "expected finite values from the first call", "first raised"),
        ("hog", "oom", "refused at build: ", "build raised"),
        ("hog shared", "oom", "killed at the cap: last phase begun or finished: run", "build run"),
    ],
)
def test_bad_end_has_its_status_and_keeps_what_was_measured(toy, behaviour, status, detail, last):
    result = toy.measure(behaviour)
    assert result["status"] == status
    assert result["status_detail"].startswith(detail)
    assert list(named(result))[-2:] == last.split()
    assert named(result).get("first", {"ns": 1})["ns"] > 0
    assert result["peak_rss_bytes"] < 2**30
    assert f"process 1: {status}: " in result["printed"]
    if behaviour == "raise":
        assert result["log_tail"].splitlines()[-1] == "ValueError: the second call went wrong"
        assert str(toy.folder) not in result["log_tail"]


def test_over_long_cell_is_a_timeout_with_its_memory_over_time(toy):
    begun = time.monotonic()
    result = toy.measure("sleep", timeout_s=1.5)
    assert time.monotonic() - begun < 12
    assert result["status"] == "timeout"
    assert result["status_detail"].endswith("last phase begun or finished: run")
    assert wait_for(lambda: not alive(child_pid(toy)))
    seconds, resident = result["memory"]["seconds"], result["memory"]["bytes"]
    assert len(seconds) == len(resident) > 3
    assert seconds == sorted(seconds) and seconds[-1] < result["wall_s"] + 0.1
    # The kernel sees what lies between two samples too, and adds up some pages late.
    assert 2**24 < max(resident) < result["peak_rss_bytes"] + 2**21


def test_rerun_replaces_the_old_folder(toy):
    toy.measure("ok")
    stale = toy.folder / toy.output() / "stale.txt"
    stale.touch()
    toy.measure("raise")
    assert not stale.exists()
    assert not (toy.folder / toy.output() / "output.npy").exists()
    assert toy.measure("ok", repetition=1)["status"] == "ok", "a round after an error is run"


def test_child_ends_with_the_workflow_and_leaves_no_output(toy):
    toy.measure("ok")
    subprocess.run(["rm", "-r", str(toy.folder / toy.output())], check=True)
    runner = subprocess.Popen(["sleep", "60"])
    supervisor = start(toy, STACKWARS_RUNNER_PID=str(runner.pid))
    child = child_pid(toy)
    runner.kill()
    runner.wait()
    _, printed = supervisor.communicate(timeout=20)
    assert supervisor.returncode == 1
    assert b"the workflow that asked for this cell is gone" in printed
    assert wait_for(lambda: not alive(child))
    assert not (toy.folder / toy.output()).exists()


def test_child_dies_with_a_killed_supervisor_and_what_is_left_does_not_look_finished(toy):
    output = toy.folder / toy.output()
    subprocess.run(["rm", "-rf", str(output)], check=True)
    supervisor = start(toy)
    child = child_pid(toy)
    assert alive(child)
    os.kill(supervisor.pid, signal.SIGKILL)
    supervisor.communicate(timeout=20)
    assert wait_for(lambda: not alive(child))
    assert not output.exists()
    assert not (output.with_name(output.name + ".part") / "process.json").exists()
    assert toy.measure("ok")["status"] == "ok"
    assert not output.with_name(output.name + ".part").exists()


def test_two_cells_are_never_measured_at_once(toy):
    first = start(toy)
    child_pid(toy)
    second = subprocess.Popen(
        toy.command(repetition=1), cwd=toy.folder, env=toy.environ("ok"), stderr=subprocess.PIPE
    )
    time.sleep(1.5)
    assert second.poll() is None
    first.kill()
    first.communicate(timeout=20)
    second.communicate(timeout=20)
    assert second.returncode == 0


def test_child_has_a_cache_of_its_own_and_random_padding(tmp_path):
    found = supervisor._environ(SimpleNamespace(device="cpu"), tmp_path, random.Random(1))
    for name in ("XDG_CACHE_HOME", "TMPDIR", "CUDA_CACHE_PATH"):
        assert found[name] == str(tmp_path)
    assert 0 < len(found["STACKWARS_PADDING"]) < supervisor.PADDING and set(found["STACKWARS_PADDING"]) == {"x"}
