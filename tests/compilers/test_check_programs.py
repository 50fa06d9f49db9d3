"""Checks of programs by real processes: each program has an outcome of its own."""

import handmade
import pytest

from explain.faulty import PRODUCTS
from running import check_programs
from stackwars.compilers.check import EXECUTABLES

COMPILERS = {
    "xla": ("xla-0.10.2", "xla", {}),
    "iree": ("iree", "iree", {}),
}
"""{name: (environment, module, options)}."""
LOOP = """module @jit_f {
  func.func public @main(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<16x64xf32> {
    %start = stablehlo.constant dense<0> : tensor<i64>
    %zero = stablehlo.constant dense<0.0> : tensor<16x64xf32>
    %end:2 = stablehlo.while(%k = %start, %all = %zero) : tensor<i64>, tensor<16x64xf32>
      cond {
        %many = stablehlo.constant dense<1000000000000> : tensor<i64>
        %more = stablehlo.compare LT, %k, %many : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i64>
        %next = stablehlo.add %k, %one : tensor<i64>
        %again = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
          : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
        %sum = stablehlo.add %all, %again : tensor<16x64xf32>
        stablehlo.return %next, %sum : tensor<i64>, tensor<16x64xf32>
      }
    return %end#1 : tensor<16x64xf32>
  }
}
"""
OPERANDS = [
    {"kind": "input", "name": "left"},
    {"kind": "weight", "name": "up.weight", "shape": [64, 32], "axes": [1, 0]},
]


class Checks:
    """Checks by one compiler."""

    def __init__(self, folder, name: str) -> None:
        environment, self.module, self.options = COMPILERS[name]
        self.folder, self.pins = folder, f"envs/{environment}.txt"

    def run(self, programs: dict, timeout_s=120, steps=False, **changes) -> dict:
        """Return check.json of programs, as the workflow runs it.

        changes: as of `handmade.write_expected`.
        """
        job = {
            "workload": "gemm", "module": self.module, "options": self.options, "sizes": handmade.SIZES,
            "programs": programs, "expected": handmade.write_expected(self.folder / "expected", steps, **changes),
            "settings": {"seed": handmade.SEED, "memory_cap_gib": 4, "check_timeout_s": timeout_s},
        }  # fmt: skip
        return check_programs(self.pins, job, self.folder / "check")

    def write(self, name: str, text: str, **more) -> dict:
        return {name: handmade.write(self.folder, name, text, **more)}

    @property
    def healthy(self) -> dict:
        return self.write("jax", handmade.JAX)


@pytest.fixture
def xla(tmp_path):
    return Checks(tmp_path, "xla")


@pytest.fixture(params=COMPILERS)
def checks(tmp_path, request):
    return Checks(tmp_path, request.param)


NUMBERS = ("wrong", "total", "l2", "largest", "where", "limit", "flaky")


@pytest.mark.env
def test_without_expected_values_programs_that_compute_different_things_are_invalid(xla):
    found = xla.run(xla.healthy, reason="the programs differ", disputed=True)["programs"]["jax"]
    assert (found["status"], found["status_detail"]) == ("invalid", "the programs differ")
    assert found["wrong"] is None


@pytest.mark.env
def test_right_wrong_refused_and_missing_programs_each_have_their_outcome(checks):
    programs = {
        **checks.healthy,
        **checks.write("torch_xla", handmade.TORCH),
        **checks.write("jax+constant", handmade.OTHER_CONSTANT),
        **checks.write(
            "jax+refused", handmade.JAX.replace("stablehlo.multiply", "stablehlo.no_such_operation")
        ),
        **checks.write("jax+none", "// no program: StopIteration: no such model\n"),
    }
    document = checks.run(programs)
    assert (document["judge"], document["judge_reason"]) == ("NumPy in float64", "")
    assert (document["compiler"], document["variant"], document["sizes"]) == ("some", "base", handmade.SIZES)
    # Only what is right is kept for the replay.
    assert {path.name for path in (checks.folder / "check" / EXECUTABLES).iterdir()} == {"jax", "torch_xla"}
    found = document["programs"]
    assert {name: one["status"] for name, one in found.items()} == {
        "jax": "ok", "torch_xla": "ok", "jax+constant": "wrong", "jax+refused": "unsupported",
        "jax+none": "unsupported",
    }  # fmt: skip
    for name in ("jax", "torch_xla", "jax+constant"):
        one = found[name]
        assert one["total"] == 16 * 64 and one["limit"] == 1e-5 and not one["flaky"]
        assert one["compile_s"] > 0 and one["first_ns"] > 0 and one["repeat_ns"] > 0
    assert found["jax"]["status_detail"] == "" and 0 < found["jax"]["l2"] < 1e-6
    wrong = found["jax+constant"]
    assert wrong["l2"] == pytest.approx(5e-4, rel=0.01)
    assert wrong["status_detail"].startswith(f"{wrong['wrong']:,} of 1,024 elements wrong")
    assert wrong["status_detail"].endswith("by NumPy in float64")
    assert found["jax+refused"]["status_detail"].startswith(
        ("XlaRuntimeError: ", "MLIRError: ", "RuntimeError: ")
    )
    assert "no_such_operation" in found["jax+refused"]["status_detail"]
    assert found["jax+none"]["status_detail"] == "StopIteration: no such model"
    for name in ("jax+refused", "jax+none"):
        assert {found[name][key] for key in (*NUMBERS, "compile_s", "first_ns", "repeat_ns")} == {None}


@pytest.mark.env
@pytest.mark.parametrize("key", ["output0", "output1"])
def test_one_wrong_element_with_either_inputs_is_found_and_its_place_named(xla, key):
    right = handmade.expected()[int(key[-1])].copy()
    right[3, 63] *= 1.01
    found = xla.run(xla.healthy, **{key: right})["programs"]["jax"]
    assert (found["status"], found["wrong"], found["total"]) == ("wrong", 1, 1024)
    assert found["where"] == "3 of axis 0 and the last 1 of axis 1"
    assert found["status_detail"].startswith(f"1 of 1,024 elements wrong ({found['where']}), largest error ")
    assert found["repeat_ns"] > 0


@pytest.mark.env
def test_what_a_program_updates_is_judged_too(xla):
    programs = {
        **xla.write("jax", handmade.JAX_STEP, steps=True),
        **xla.write("torch_xla", handmade.WRONG_STEP, steps=True),
    }
    found = xla.run(programs, steps=True)["programs"]
    assert {name: one["status"] for name, one in found.items()} == {"jax": "ok", "torch_xla": "wrong"}
    assert (found["torch_xla"]["wrong"], found["torch_xla"]["total"]) == (2048, 2048)


@pytest.mark.env
def test_without_expected_values_a_program_that_runs_is_ok_and_nothing_is_said_of_its_values(xla):
    document = xla.run(xla.healthy, reason="it took too long")
    found = document["programs"]["jax"]
    assert (document["judge_reason"], found["status"], found["status_detail"]) == ("it took too long", "ok", "")
    assert {found[key] for key in NUMBERS} == {None} and found["repeat_ns"] > 0


@pytest.mark.env
def test_a_crash_is_that_program_s_alone(xla):
    rows = [{"kind": "zeros", "dtype": "float32", "shape": [2, 1, 2, 2, 8, 8, 8]}] * 2
    programs = {**xla.write("torch_xla", PRODUCTS, rows=rows), **xla.healthy}
    found = xla.run(programs)["programs"]
    assert (found["jax"]["status"], found["jax"]["status_detail"]) == ("ok", "")
    crashed = found["torch_xla"]
    assert crashed["status"] == "crash"
    assert crashed["status_detail"].startswith("SIGSEGV in call")
    assert crashed["compile_s"] > 0 and crashed["first_ns"] is crashed["total"] is None


@pytest.mark.env
def test_a_call_that_does_not_end_is_a_timeout_of_that_program_alone(xla):
    programs = {**xla.write("torch_xla", LOOP, rows=OPERANDS), **xla.healthy}
    found = xla.run(programs, timeout_s=6)["programs"]
    assert found["jax"]["status"] == "ok"
    assert (found["torch_xla"]["status"], found["torch_xla"]["status_detail"]) == (
        "timeout", "no end after 6 s in call",
    )  # fmt: skip
    assert found["torch_xla"]["compile_s"] > 0 and found["torch_xla"]["first_ns"] is None


@pytest.mark.env
def test_weights_over_the_cap_are_oom(xla):
    rows = [{**OPERANDS[1], "shape": [2**20, 2**12]}, OPERANDS[0]]
    programs = {**xla.write("torch_xla", handmade.JAX, rows=rows), **xla.healthy}
    found = xla.run(programs)["programs"]
    assert found["torch_xla"]["status"] == "oom"
    assert "they are 16.0 GiB, this process may use 4.0 GiB" in found["torch_xla"]["status_detail"]
    assert found["jax"]["status"] == "ok"
