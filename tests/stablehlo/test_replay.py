"""Small hand-made programs through the real parent and child; test_replay_cell.py has the other generation of XLA."""

import json
import random
from pathlib import Path

import handmade
import numpy as np
import pytest

from made_tables import outcome
from running import check_programs, run
from stackwars.core import judge
from stackwars.core.documents import Events, read_events
from stackwars.core.launch import REPOSITORY
from stackwars.measure.conduct import Participant, run_round
from stackwars.measure.stablehlo import replay, replay_cell
from stackwars.measure.stablehlo.check import EXECUTABLES
from stackwars.measure.stablehlo.replay import ReplayJob
from stackwars.setup.environments import ensure

SETTINGS = {
    "seed": handmade.SEED, "memory_cap_gib": 4, "timeout_s": 120,
    "steady_min_blocks": 4, "steady_max_blocks": 6, "steady_seconds": 0.0, "block_calls": 3,
    "loop_pairs": 2,
}  # fmt: skip
PINS = "envs/xla-0.10.2.txt"
CRASHED = outcome("crash", "SIGSEGV in the first call")


@pytest.fixture(scope="module")
def python():
    return ensure(REPOSITORY / PINS)


def replayed(python, folder, programs: dict, repetition: int = 0, steps: bool = False, **bad: dict) -> dict:
    """One process, as a round runs it. bad: outcomes of the check."""
    folder.parent.mkdir(exist_ok=True)
    check = handmade.write_check(folder.parent / "check.json", programs, **bad)
    return replay_once(python, folder, programs, check, repetition, steps)


def replay_once(python, folder, programs: dict, check, repetition: int, steps: bool = False) -> dict:
    """One process after this check."""
    expected = handmade.write_expected(folder.parent / "expected", steps)
    job = ReplayJob(
        "gemm", "cpu", "smoke", "some-xla", "xla", {}, repetition, "jax", handmade.SIZES, SETTINGS, programs,
        str(check), expected,
    )  # fmt: skip
    one = Participant("replay", job, python, folder, replay_cell.REPLAYING, tuple(programs))
    return run_round([one], SETTINGS, random.Random(1), 0)["replay"]


def combined(results: list[dict], cells: dict[str, Path], check: dict) -> dict:
    """The result of these processes."""
    return replay_cell.combine([{"replay": one} for one in results], cells, check)


def of(result: dict, event: str) -> dict[str, dict]:
    """The last event of this name of each program."""
    return {row["program"]: row for row in result["events"] if row["event"] == event}


@pytest.fixture(scope="module")
def two(python, tmp_path_factory):
    """Two rounds of both spellings, and programs that compute something else or nothing."""
    home = tmp_path_factory.mktemp("replay")
    texts = {
        "jax": handmade.JAX,
        "torch_xla": handmade.TORCH,
        "jax+constant": handmade.OTHER_CONSTANT,
        "jax+shape": handmade.OTHER_SHAPE,
        "jax+refused": handmade.JAX.replace("stablehlo.multiply", "stablehlo.no_such_operation"),
        "jax+none": "// no program: no such model\n",
        "torch_xla+crashed": handmade.TORCH,
    }
    bad = {"jax+none": outcome("unsupported", "no such model"), "torch_xla+crashed": CRASHED}
    programs = {name: handmade.write(home, name, text) for name, text in texts.items()}
    programs["jax+results"] = handmade.write(home, "jax+results", handmade.JAX, steps=True)
    programs["jax+listed"] = handmade.write(home, "jax+listed", handmade.JAX, listed="0" * 64)
    cells = {name: handmade.write_cell(home / "cells" / name, texts[name]) for name in ("jax", "torch_xla")}
    results = [replayed(python, home / f"process-{r}", programs, r, **bad) for r in (0, 1)]
    return results, combined(results, cells, handmade.checked(programs, **bad))


@pytest.mark.env
def test_both_spellings_are_timed_and_agree(two):
    results, found = two
    assert [(r["status"], r["status_detail"]) for r in results] == [("ok", "")] * 2
    assert found["status"] == "ok"
    for name in ("jax", "torch_xla"):
        program = found["programs"][name]
        assert program["status"] == "ok"
        # The expected values are NumPy's float64: weights, layouts, input and constant are right.
        values = program["values"]
        assert (values["judge"], values["wrong"], values["total"]) == ("NumPy in float64", 0, 16 * 64)
        assert 1e-9 < values["l2"] < 1e-6 and values["largest"] < 1e-6
        assert program["struck_ns"] is None
        for blocks in program["steady"]:
            assert blocks["calls"] == 3
            lengths = {len(blocks[key]) for key in ("ns", "run_ns", "wait_ns", "steal_ns")}
            assert lengths == {4}
        assert [len(loops) for loops in program["loops"]] == [2, 2]
        for loop in (one for loops in program["loops"] for one in loops):
            assert 0 < loop["dropped"] < len(loop["ns"]) and loop["run_ns"] > 0
            assert sum(loop["ns"][loop["dropped"] :]) >= 1e8
        assert len(program["first_ns"]) == len(program["compile_s"]) == 2
        made = program["optimised"]
        assert (made["products"], made["ynn"]) == (1, results[0]["environment"].startswith("xla-0.10.2"))


@pytest.mark.env
def test_first_process_profiles_its_programs_after_all_timed_calls(two):
    first, second = two[0]
    profiled = of(first, "profiled")
    assert list(profiled) == ["jax", "torch_xla"]
    for found in profiled.values():
        whole = sum(operation["seconds"] for operation in found["operations"].values())
        assert 0 < whole <= found["wall_s"]
        assert "products" in {operation["class"] for operation in found["operations"].values()}
    names = [event["event"] for event in first["events"]]
    assert names.index("timed") < names.index("profiled")
    assert not of(second, "profiled")
    assert not of(first, "not profiled")


@pytest.mark.env
def test_the_loops_of_all_programs_that_run_alternate_and_others_are_not_even_compiled(two):
    for result in two[0]:
        compiled = set(of(result, "compiled"))
        assert {"jax", "torch_xla", "jax+constant"} <= compiled
        assert not {"jax+none", "torch_xla+crashed"} & compiled
        order = [event["program"] for event in result["events"] if event["event"] == "loop"]
        runs = len(order) // 2
        assert order[:runs] == order[runs:][::-1]
        assert {"jax", "torch_xla"} <= set(order) <= compiled


@pytest.mark.env
@pytest.mark.parametrize(
    ("name", "status", "detail"),
    [
        ("jax+constant", "wrong", "of 1,024 elements wrong"),
        ("jax+shape", "wrong", "1,024 of 1,024 elements wrong (expected the shape (16, 64), got (64, 16))"),
        ("jax+results", "invalid", "expected the 2 results"),
        ("jax+listed", "invalid", "its list of arguments is for 0000"),
        ("jax+refused", "unsupported", "no_such_operation"),
        ("jax+none", "unsupported", "no such model"),
        ("torch_xla+crashed", "crash", "SIGSEGV in the first call"),
    ],
)
def test_a_program_that_is_not_the_function_shows_no_time_and_does_not_end_the_others(
    two, name, status, detail
):
    program = two[1]["programs"][name]
    assert program["status"] == status
    assert detail in program["status_detail"]
    assert program["steady"] == program["loops"] == program["first_ns"] == program["second_ns"] == []
    assert program["struck_ns"] == (70 if status == "wrong" else None)


@pytest.mark.env
def test_what_a_program_updates_is_compared_and_each_call_begins_anew(python, tmp_path):
    programs = {
        "jax": handmade.write(tmp_path, "jax", handmade.JAX_STEP, steps=True),
        "torch_xla": handmade.write(tmp_path, "torch_xla", handmade.TORCH_STEP, steps=True),
    }
    result = replayed(python, tmp_path / "process-0", programs, steps=True)
    assert (result["status"], result["status_detail"]) == ("ok", "")
    verdict = of(result, "values")["torch_xla"]["verdict"]
    # Its last calls have the results of its first: no call saw the weight that another one doubled.
    assert verdict["l2"] < 1e-6 and not verdict["wrong"]
    assert set(of(result, "steady")) == {"jax", "torch_xla"}


@pytest.mark.env
def test_without_any_program_that_is_ok_nothing_is_called_and_a_weight_in_another_layout_is_an_error(
    python, tmp_path
):
    programs = {"jax": handmade.write(tmp_path, "jax", handmade.JAX)}
    result = replayed(python, tmp_path / "process-0", programs, jax=CRASHED)
    assert (result["status"], of(result, "first"), of(result, "steady")) == ("ok", {}, {})
    found = combined([result], {}, handmade.checked(programs, jax=CRASHED))
    assert (found["status"], found["programs"]["jax"]["status"]) == ("ok", "crash")
    path = tmp_path / "jax" / "arguments.json"
    path.write_text(path.read_text().replace('"axes": [1, 0]', '"axes": [0, 1]'))
    result = replayed(python, tmp_path / "process-1", programs)
    assert result["status"] == "error"
    assert "expected the program's shape (32, 64), got (64, 32)" in result["status_detail"]


@pytest.mark.env
@pytest.mark.parametrize("release", ["0.7.1", "0.10.2"])
def test_options_are_those_of_jit(release):
    jits, ours = run(ensure(REPOSITORY / f"envs/xla-{release}.txt"), "-c", _OPTIONS).stdout.split()
    assert ours == jits


_OPTIONS = """
from stackwars.core.compilers.xla import Compiler
compiler_ = Compiler("cpu", {})
import jax, numpy
from jax._src import compiler
def spy(backend, module, devices, options, callbacks):
    seen.append((options, module))
    return real(backend, module, devices, options, callbacks)
seen, real = [], compiler.backend_compile_and_load
compiler.backend_compile_and_load = spy
matrix = jax.device_put(numpy.ones((3, 3), numpy.float32))
jax.jit(lambda a, b: a @ b + 1)(matrix, matrix)
[(options, module)] = seen
print(options.SerializeAsString().hex(), compiler_.compile_options(module, 2, 1).SerializeAsString().hex())
"""


@pytest.fixture
def verified(tmp_path):
    """A replay of two programs whose outputs a test makes up."""
    expected = {"output0": np.ones(8), "output1": np.arange(8.0)}
    np.savez(tmp_path / judge.ARRAYS, **expected)
    limits = dict.fromkeys(expected, 1e-5)
    (tmp_path / judge.DOCUMENT).write_text(json.dumps({"judge": "NumPy", "reason": "", "limits": limits}))
    spec = {
        "programs": {"jax": {}, "torch_xla": {}}, "repetition": 0, "baseline": "jax", "expected": str(tmp_path),
        "settings": {"seed": 1},
    }  # fmt: skip
    return replay.ReplayProcess(spec, Events(tmp_path / "events.jsonl"))


def test_programs_must_be_right_with_every_set_of_inputs_and_the_baseline_is_judged_as_any_other(
    verified, tmp_path
):
    one, other = np.ones(8, np.float32), np.arange(8, dtype=np.float32)
    # A result that was kept from the first set of inputs.
    calls = {"jax": [one, one], "torch_xla": [one, other]}
    verified.verify({name: [{"output": value} for value in each] for name, each in calls.items()})
    values, refused, healthy = read_events(tmp_path)
    assert (refused["event"], refused["program"], refused["status"]) == ("refused", "jax", "wrong")
    assert refused["detail"].startswith("7 of 8 elements wrong")
    assert values["verdict"]["wrong"] == 7
    assert (healthy["program"], healthy["verdict"]["wrong"]) == ("torch_xla", 0)


def test_a_profile_that_fails_is_told_and_costs_no_time(verified, tmp_path, monkeypatch):
    verified.spec["settings"]["block_calls"] = 3
    verified.programs = {"jax": object()}
    monkeypatch.setattr(replay.profile, "record", lambda calls, block: {"jax": []})
    verified.profile()
    monkeypatch.setattr(replay.profile, "record", lambda calls, block: 1 / 0)
    verified.profile()
    one, everything = read_events(tmp_path)
    assert (one["event"], one["program"]) == ("not profiled", "jax")
    assert "optimised_hlo" in one["detail"]
    assert (everything["event"], everything["detail"]) == ("not profiled", "division by zero")
    assert "jax" in verified.programs


@pytest.mark.env
def test_processes_run_what_the_check_compiled(python, tmp_path):
    texts = {"jax": handmade.JAX, "torch_xla": handmade.TORCH}
    programs = {name: handmade.write(tmp_path, name, text) for name, text in texts.items()}
    job = {
        "workload": "gemm", "compiler": "some-xla", "sizes": handmade.SIZES, "programs": programs,
        "settings": {**SETTINGS, "check_timeout_s": 60}, "expected": handmade.write_expected(tmp_path / "expected"),
    }  # fmt: skip
    seconds = check_programs(PINS, job, tmp_path / "check")["programs"]["jax"]["compile_s"]
    check = tmp_path / "check" / "check.json"

    def replayed(repetition: int) -> dict:
        return replay_once(python, tmp_path / f"process-{repetition}", programs, check, repetition)

    first = replayed(0)
    assert not of(first, "refused") and set(of(first, "steady")) == {"jax", "torch_xla"}
    assert of(first, "compiled")["jax"]["compile_s"] == seconds
    # The check compiled it once, whatever loads it later.
    assert "compile_s" not in of(replayed(1), "compiled")["jax"]
    # Another program in the place of the compiled one is what a process runs.
    job["programs"] = {"jax": handmade.write(tmp_path / "other", "jax", handmade.OTHER_CONSTANT)}
    job["expected"] = handmade.write_expected(tmp_path / "other", reason="none")
    check_programs(PINS, job, tmp_path / "other" / "check")
    (tmp_path / "other" / "check" / EXECUTABLES / "jax").rename(tmp_path / "check" / EXECUTABLES / "jax")
    assert list(of(replayed(0), "refused")) == ["jax"]
    # A machine with other instructions compiles its own.
    document = json.loads(check.read_text())
    check.write_text(json.dumps(document | {"machine": {**document["machine"], "cpu_model": "another"}}))
    assert not of(replayed(0), "refused")
