"""Small hand-made programs through the real parent and child, in both generations of XLA."""

import json
import subprocess

import handmade
import numpy as np
import pytest

from stackwars.compilers import replay, replay_cell
from stackwars.compilers.replay import ReplayJob
from stackwars.measure.documents import Events, read_events
from stackwars.measure.supervisor import supervise
from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

SETTINGS = {
    "seed": handmade.SEED, "memory_cap_gib": 4, "timeout_s": 120, "parity_rel_l2": 1e-5,
    "steady_min_blocks": 4, "steady_max_blocks": 6, "steady_seconds": 0.0, "block_calls": 3,
}  # fmt: skip


def of_generation(name: str):
    return ensure(REPOSITORY / "envs" / f"xla-{name}.txt")


@pytest.fixture(scope="module")
def python():
    return of_generation("0.10.2")


@pytest.fixture(scope="module", params=["0.7.1", "0.10.2"])
def each_python(request):
    return of_generation(request.param)


def run(python, folder, programs: dict, repetition: int = 0, **settings) -> dict:
    """One process, as the workflow runs it; process.json lies in the folder."""
    job = ReplayJob(
        "gemm", "cpu", "smoke", "some-xla", "xla", {}, repetition, "jax", handmade.SIZES,
        {**SETTINGS, **settings}, programs,
    )  # fmt: skip
    result = supervise(job, python, folder, "stackwars.compilers.replay")
    (folder / "process.json").write_text(json.dumps(result))
    return result


def of(result: dict, event: str) -> dict[str, dict]:
    """The last event of this name of each program."""
    return {row["program"]: row for row in result["events"] if row["event"] == event}


@pytest.fixture(scope="module")
def two(each_python, tmp_path_factory):
    """Two rounds of both spellings, and programs that compute something else or nothing."""
    home = tmp_path_factory.mktemp("replay")
    texts = {
        "jax": handmade.JAX,
        "torch_xla": handmade.TORCH,
        "jax+constant": handmade.OTHER_CONSTANT,
        "jax+shape": handmade.OTHER_SHAPE,
        "jax+refused": handmade.JAX.replace("stablehlo.multiply", "stablehlo.no_such_operation"),
        "jax+none": "// no program: no such model\n",
    }
    programs = {name: handmade.write(home, name, text) for name, text in texts.items()}
    programs["jax+results"] = handmade.write(home, "jax+results", handmade.JAX, steps=True)
    cells = {
        name: handmade.write_cell(home / "cells" / name, texts[name], handmade.expected())
        for name in ("jax", "torch_xla")
    }
    folders = [home / f"process-{repetition}" for repetition in (0, 1)]
    results = [run(each_python, folder, programs, r) for r, folder in enumerate(folders)]
    return results, replay_cell.combine(folders, cells)


@pytest.mark.env
def test_both_spellings_are_timed_and_agree(two):
    results, combined = two
    assert [(r["status"], r["status_detail"]) for r in results] == [("ok", "")] * 2
    assert combined["status"] == "ok"
    for name in ("jax", "torch_xla"):
        program = combined["programs"][name]
        assert program["status"] == "ok"
        assert program["parity_rel_l2"] < 1e-6
        # The native sample is NumPy's float64: weights, layouts, input and constant are right.
        assert 0 < program["native_rel_l2"] < 1e-6
        for blocks in program["steady"]:
            assert blocks["calls"] == 3
            lengths = {len(blocks[key]) for key in ("ns", "run_ns", "wait_ns", "steal_ns")}
            assert lengths == {4}
        assert len(program["first_ns"]) == len(program["compile_s"]) == 2
        assert program["optimised"]["products"] == 1, program["optimised_problem"]
    assert combined["programs"]["jax"]["parity_rel_l2"] == 0


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
def test_order_alternates_with_the_round(two):
    first, second = two[0]
    names = [list(of(result, "second")) for result in (first, second)]
    assert names == [["jax", "torch_xla"], ["torch_xla", "jax"]]


@pytest.mark.env
@pytest.mark.parametrize(
    ("name", "status", "detail"),
    [
        ("jax+constant", "invalid", "relative L2 error 5.00e-04 against the baseline, over 1e-05"),
        ("jax+shape", "invalid", "an output as the baseline's, (16, 64) float32; got (64, 16) float32"),
        ("jax+results", "invalid", "expected the 2 results"),
        ("jax+refused", "unsupported", "no_such_operation"),
        ("jax+none", "unsupported", "no such model"),
    ],
)
def test_a_program_that_is_not_the_function_shows_no_time_and_does_not_end_the_others(
    two, name, status, detail
):
    program = two[1]["programs"][name]
    assert program["status"] == status
    assert detail in program["status_detail"]
    assert program["steady"] == program["first_ns"] == program["second_ns"] == []


@pytest.mark.env
@pytest.mark.parametrize("text", [handmade.TORCH_STEP, handmade.WRONG_STEP])
def test_what_a_program_updates_is_compared_and_each_call_begins_anew(each_python, text, tmp_path):
    programs = {
        "jax": handmade.write(tmp_path, "jax", handmade.JAX_STEP, steps=True),
        "torch_xla": handmade.write(tmp_path, "torch_xla", text, steps=True),
    }
    result = run(each_python, tmp_path / "process-0", programs)
    assert (result["status"], result["status_detail"]) == ("ok", "")
    if text == handmade.TORCH_STEP:
        # Its last calls have the results of its first: no call saw the weight that another one doubled.
        assert of(result, "parity")["torch_xla"]["rel_l2"] < 1e-6
        assert list(of(result, "steady")) == ["jax", "torch_xla"]
        return
    refused = of(result, "refused")["torch_xla"]
    assert refused["status"] == "invalid"
    assert "relative L2 error 1.00e+00 against the baseline" in refused["detail"]


@pytest.mark.env
def test_another_program_than_listed_is_invalid(python, tmp_path):
    programs = {
        "jax": handmade.write(tmp_path, "jax", handmade.JAX),
        "torch_xla": handmade.write(tmp_path, "torch_xla", handmade.TORCH, listed="0" * 64),
    }
    result = run(python, tmp_path / "process-0", programs)
    assert result["status"] == "ok"
    assert "its list of arguments is for 0000" in of(result, "refused")["torch_xla"]["detail"]
    assert list(of(result, "steady")) == ["jax"]


@pytest.mark.env
def test_baseline_with_another_programs_arguments_makes_all_invalid(python, tmp_path):
    programs = {
        "torch_xla": handmade.write(tmp_path, "torch_xla", handmade.TORCH),
        "jax": handmade.write(tmp_path, "jax", handmade.JAX, listed="0" * 64),
    }
    result = run(python, tmp_path / "process-0", programs)
    assert result["status"] == "invalid"
    assert result["status_detail"].startswith("nothing to compare with: jax's program: the program's digest")
    assert not of(result, "steady")


@pytest.mark.env
def test_without_the_baseline_s_program_the_others_have_nothing_to_agree_with(python, tmp_path):
    programs = {
        "torch_xla": handmade.write(tmp_path, "torch_xla", handmade.TORCH),
        "jax": handmade.write(tmp_path, "jax", handmade.JAX.replace("dot_general", "no_such_dot")),
    }
    result = run(python, tmp_path / "process-0", programs)
    assert result["status"] == "unsupported"
    assert result["status_detail"].startswith("nothing to compare with: jax's program: the compiler")


@pytest.mark.env
def test_weight_in_another_layout_than_the_programs_is_an_error(python, tmp_path):
    programs = {"jax": handmade.write(tmp_path, "jax", handmade.JAX)}
    path = tmp_path / "jax" / "arguments.json"
    path.write_text(path.read_text().replace('"axes": [1, 0]', '"axes": [0, 1]'))
    result = run(python, tmp_path / "process-0", programs)
    assert result["status"] == "error"
    assert "expected the program's shape (32, 64), got (64, 32)" in result["status_detail"]


@pytest.mark.env
def test_options_are_those_of_jit(each_python):
    done = subprocess.run(
        [str(each_python), "-c", _OPTIONS], env=clean_environ({}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    jits, ours = done.stdout.split()
    assert ours == jits


_OPTIONS = """
from stackwars.compilers.xla import Compiler
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
    spec = {
        "programs": {"jax": {}, "torch_xla": {}}, "repetition": 0, "baseline": "jax",
        "settings": {"parity_rel_l2": 1e-5, "seed": 1},
    }  # fmt: skip
    return replay.ReplayProcess(spec, Events(tmp_path / "events.jsonl"), tmp_path)


def outputs(**values):
    """As a replay fetches them: of each program's calls the results, by name."""
    return {name: [{"output": value} for value in calls] for name, calls in values.items()}


def test_donated_memory_is_taken_back_and_nothing_else():
    donated = "%a: t {tf.aliasing_output = 0 : i32}, %b: u {jax.buffer_donor = true, x = 1}) {} = {}"
    assert replay.not_donated(donated) == "%a: t, %b: u {x = 1}) {} = {}"
    alias = "mhlo.input_output_alias = [{alias = {parameter_number = 2 : i64}, output_index = array<i64: 1>}]"
    assert (
        replay.not_donated(f"module @m attributes {{a = [], {alias}}} {{") == "module @m attributes {a = []} {"
    )


PACKED = 'dense<"0x0DFF01"> : tensor<3x6xi1>'
MASK = """
import numpy
from stackwars.compilers import replay, xla
main = 'func.func @main() -> tensor<3x6xi1> { %0 = stablehlo.constant PACKED return %0 : tensor<3x6xi1> }'
text = f'module @jit_f {{ {main} }}'
program = xla.Compiler("cpu", {}).compile(replay.readable(text))
[found] = program.fetch(program.call(0))
assert found.astype(int).tolist() == [[1, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]]
""".replace("PACKED", PACKED)


@pytest.mark.env
def test_packed_truth_values_are_read_by_every_generation(each_python):
    done = subprocess.run([each_python, "-c", MASK], env=clean_environ({}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_only_packed_truth_values_are_spelled_out():
    assert replay.readable(PACKED).startswith("dense<[[true, false, true, true, false, false], [")
    for other in ('dense<"0x01"> : tensor<4x2xi32>', 'dense<"0x0001"> : tensor<2xi1>'):
        assert replay.readable(other) == other


def test_programs_must_agree_on_every_set_of_inputs(verified, tmp_path):
    one, other = np.ones(8, np.float32), np.arange(8, dtype=np.float32)
    # A result that was kept from the first set of inputs.
    verified.verify(outputs(jax=[one, other], torch_xla=[one, one]), "last")
    parity, refused = read_events(tmp_path)[1:]
    assert parity["rel_l2"] > 0.1
    assert (refused["event"], refused["program"]) == ("refused", "torch_xla")


def test_sample_is_of_both_sets_of_inputs_and_there_is_none_of_one(verified, tmp_path):
    one, other = np.ones(8, np.float32), np.arange(8, dtype=np.float32)
    verified.verify(outputs(jax=[one], torch_xla=[one]), "first")
    assert not list(tmp_path.glob("*.npy"))
    verified.verify(outputs(jax=[one, other], torch_xla=[one, other]), "last")
    for name in ("jax", "torch_xla"):
        assert np.load(tmp_path / f"{name}.npy").tolist() == [*one, *other]


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
def test_weights_over_the_cap_are_refused_before_they_are_made(python, tmp_path):
    program = handmade.write(tmp_path, "jax", handmade.JAX)
    listed = json.loads((REPOSITORY / program["arguments"]).read_text())
    next(row for row in listed["arguments"] if row["kind"] == "weight")["shape"] = [2**20, 2**12]
    (REPOSITORY / program["arguments"]).write_text(json.dumps(listed))
    result = run(python, tmp_path / "process-0", {"jax": program})
    assert result["status"] == "oom"
    assert "they are 16.0 GiB, this process may use 4.0 GiB" in result["status_detail"]
    assert result["wall_s"] < 60


def test_results_that_are_not_finite_or_not_like_the_baseline_s_are_a_problem():
    good = {"output": np.ones(3, np.float32)}
    assert replay.results_problem(good, good) is None
    for wrong, told in (
        ({"output": np.array([1, np.nan, 1], np.float32)}, "finite"),
        ({"output": np.ones(3)}, "float64"),
        ({**good, "up.weight": np.ones(3, np.float32)}, "only one of the two has up.weight"),
    ):
        assert told in replay.results_problem(wrong, good)
