"""Checks of programs by real processes: each program has an outcome of its own."""

import handmade
import pytest

from core.test_check import RIGHT, Answers
from explain.faulty import FOREVER, PRODUCTS
from running import check_programs
from stackwars.core import check as core_check
from stackwars.core.judge import Expected
from stackwars.core.program import Program
from stackwars.measure.stablehlo.check import EXECUTABLES, outcome

COMPILERS = {"xla": ("xla-0.10.2", "xla"), "iree": ("iree", "iree")}
"""{name: (environment, module)}."""


class Checks:
    """Checks by one compiler."""

    def __init__(self, folder, name: str) -> None:
        environment, self.module = COMPILERS[name]
        self.folder, self.pins = folder, f"envs/{environment}.txt"

    def run(self, texts: dict, rows: dict | None = None, timeout_s=120, reason: str = "") -> dict:
        """Return check.json of programs, as the workflow runs it.

        rows: of programs with other arguments. reason: why there are no expected values.
        """
        programs = {
            name: handmade.write(self.folder, name, text, rows=(rows or {}).get(name))
            for name, text in texts.items()
        }
        job = {
            "workload": "gemm", "module": self.module, "sizes": handmade.SIZES,
            "programs": programs, "expected": handmade.write_expected(self.folder / "expected", reason=reason),
            "settings": {"seed": handmade.SEED, "memory_cap_gib": 4, "check_timeout_s": timeout_s},
        }  # fmt: skip
        return check_programs(self.pins, job, self.folder / "check")


NUMBERS = ("wrong", "total", "l2", "largest", "where", "limit", "flaky")


@pytest.mark.env
@pytest.mark.parametrize("compiler", COMPILERS)
def test_right_wrong_refused_and_missing_programs_each_have_their_outcome(tmp_path, compiler):
    checks = Checks(tmp_path, compiler)
    document = checks.run(
        {
            "jax": handmade.JAX,
            "torch_xla": handmade.TORCH,
            "jax+constant": handmade.OTHER_CONSTANT,
            "jax+refused": handmade.JAX.replace("stablehlo.multiply", "stablehlo.no_such_operation"),
            "jax+none": "// no program: StopIteration: no such model\n",
        }
    )
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
def test_a_crash_a_timeout_and_an_oom_are_those_of_their_programs_alone(tmp_path):
    weight = {"kind": "weight", "name": "up.weight", "shape": [2**20, 2**12], "axes": [1, 0]}
    rows = {
        "torch_xla+crash": [{"kind": "zeros", "dtype": "float32", "shape": [2, 1, 2, 2, 8, 8, 8]}] * 2,
        "torch_xla+timeout": [{"kind": "zeros", "dtype": "int32", "shape": []}],
        "torch_xla+oom": [weight, {"kind": "input", "name": "left"}],
    }
    texts = dict(zip(rows, (PRODUCTS, FOREVER, handmade.JAX), strict=True)) | {"jax": handmade.JAX}
    document = Checks(tmp_path, "xla").run(texts, rows, timeout_s=6, reason="it took too long")
    crash, timeout, oom, healthy = document["programs"].values()
    assert [one["status"] for one in (crash, timeout, oom, healthy)] == ["crash", "timeout", "oom", "ok"]
    assert crash["status_detail"].startswith("SIGSEGV in call")
    assert timeout["status_detail"] == "no end after 6 s in call"
    assert "16.0 GiB" in oom["status_detail"] and "4.0 GiB" in oom["status_detail"]
    for one in (crash, timeout):
        assert one["compile_s"] > 0 and one["first_ns"] is one["total"] is None
    assert document["judge_reason"] == "it took too long" and healthy["repeat_ns"] > 0


@pytest.mark.parametrize(("disputed", "status", "detail"), [(True, "invalid", "no judge"), (False, "ok", "")])
def test_without_expected_values_a_program_that_runs_is_ok_unless_they_are_disputed(disputed, status, detail):
    expected = Expected(reason="no judge", disputed=disputed)
    found = outcome(core_check.check(Answers(*[RIGHT] * 3), Program("some", "text"), expected))
    assert (found["status"], found["status_detail"]) == (status, detail)
    assert {found[key] for key in NUMBERS} == {None} and found["repeat_ns"] > 0
