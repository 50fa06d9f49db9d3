"""Real cells of a toy framework, each ending in its own way."""

import gzip
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from running import wait_for
from stackwars.measure.checks import relative_l2
from stackwars.measure.limits import alive
from stackwars.study.config import load
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
    assert (result["status"], result["status_detail"], result["exit_code"]) == ("ok", "", 0)
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


def test_memory_over_time_is_kept_and_its_peak_is_in_it(toy):
    result = toy.measure("sleep", timeout_s=1.5)
    seconds, resident = result["memory"]["seconds"], result["memory"]["bytes"]
    assert len(seconds) == len(resident) > 3
    assert seconds == sorted(seconds) and seconds[-1] < result["wall_s"] + 0.1
    # The kernel sees what lies between two samples too, and adds up some pages late.
    assert 2**24 < max(resident) < result["peak_rss_bytes"] + 2**21


@pytest.mark.parametrize(
    ("behaviour", "status", "detail", "last"),
    [
        ("raise at build", "unsupported", "NotImplementedError", "build raised"),
        ("raise", "error", "ValueError: the second call went wrong (phase: first)", "first raised"),
        ("sigkill", "crash", "ended by SIGKILL, which this harness did not send", "run first"),
        ("exit0", "error", "ended with exit code 0 before its work was done", "run first"),
        ("abort", "oom", "refused at run: terminate called after throwing", "run first"),
        ("nan", "invalid", "expected finite values from the first call", "first raised"),
        ("oom at fetch", "oom", "refused at run: RuntimeError: RESOURCE_EXHAUSTED", "first raised"),
        ("hog", "oom", "refused at build: ", "build raised"),
        ("hog at run", "oom", "refused at run: ", "run raised"),
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


def test_over_long_cell_is_a_timeout(toy):
    begun = time.monotonic()
    result = toy.measure("sleep", timeout_s=1.5)
    assert time.monotonic() - begun < 12
    assert result["status"] == "timeout"
    assert result["status_detail"].endswith("last phase begun or finished: run")
    assert wait_for(lambda: not alive(child_pid(toy)))


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


def test_child_sees_none_of_the_users_settings(toy):
    # An XLA flag of the user's would change what is measured; so would a shared cache.
    code = (
        "import os, random; from stackwars.measure import supervisor as s; from pathlib import Path;"
        "from types import SimpleNamespace as Job;"
        "job = Job(device='cpu', settings={'memory_cap_gib': 1, 'timeout_s': 20});"
        "environ = s._environ(job, Path('spawned/cache').resolve(), None, random.Random(1));"
        "fake, log = Path(os.environ['FAKE_PYTHON']), Path('spawned/log.txt');"
        "s.launch.run_child(fake, [], environ, 2**30, 20, log=log)"
    )
    fake = toy.folder / "print_environment"
    fake.write_text("#!/bin/sh\nenv\n")
    fake.chmod(0o755)
    (toy.folder / "spawned").mkdir()
    hostile = {"XLA_FLAGS": "--xla_dump_to=x", "JAX_ENABLE_X64": "1", "OMP_NUM_THREADS": "1",
               "PYTHONDONTWRITEBYTECODE": "1", "FAKE_PYTHON": str(fake)}  # fmt: skip
    subprocess.run([sys.executable, "-c", code], cwd=toy.folder, env=toy.environ("ok", **hostile), check=True)
    log = (toy.folder / "spawned" / "log.txt").read_text()
    seen = dict(line.partition("=")[::2] for line in log.splitlines())
    assert not seen.keys() & (hostile.keys() - {"FAKE_PYTHON"})
    assert seen["PYTHONPATH"] == str(toy.folder / "src")
    for name in ("XDG_CACHE_HOME", "TMPDIR", "CUDA_CACHE_PATH"):
        assert seen[name] == str(toy.folder / "spawned" / "cache")
    assert set(seen["STACKWARS_PADDING"]) <= {"x"}


def test_result_that_is_kept_from_call_to_call_is_found_out(toy):
    toy.measure("ok")
    honest = np.load(toy.folder / toy.output() / "output.npy")
    toy.measure("cached")
    kept = np.load(toy.folder / toy.output() / "output.npy")
    assert np.array_equal(kept[:8], kept[8:])
    assert not np.array_equal(honest[:8], honest[8:])
    assert relative_l2(kept, honest) > load()["settings"]["parity_rel_l2"]


@pytest.mark.alone
def test_one_thread_device_is_one_core_and_one_thread(toy):
    result = toy.measure("ok", device="cpu-1t", block_calls=1000)
    assert result["status"] == "ok"
    for name in ("run", "timed"):
        assert named(result)[name]["affinity"] == [max(os.sched_getaffinity(0))]
    assert named(result)["steady"]["threads"] == 1
