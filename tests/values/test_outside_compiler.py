"""Operations that a framework computes outside its compiler, and programs that it cannot lower."""

import gzip
import json

import public_inputs
import pytest

from running import run, run_job

pytestmark = pytest.mark.env
SPEC = {
    "workload": "solve3", "dialect": "torch", "device": "cpu", "sizes": {"batch": 4}, "repetition": 2,
    "forms": False, "writes_files": True, "partner": None, "expected": "",
    "settings": {
        "seed": 1, "matmul_precision": "highest", "block_calls": 2, "steady_min_blocks": 2,
        "steady_max_blocks": 2, "steady_seconds": 0.0,
    },
}  # fmt: skip


@pytest.mark.parametrize("framework", ["torch_xla", "torch_eager"])
def test_cell_whose_operations_run_outside_the_compiler_is_unsupported(framework, torch_xla_python, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps({**SPEC, "framework": framework}))
    command = (torch_xla_python, *public_inputs.command("stackwars.measure.child"), tmp_path)
    done = run(*command, env=public_inputs.environ(), input='["run", {}]\n', check=False)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    last = {key: events[-1].get(key) for key in ("event", "type", "message")}
    if framework == "torch_eager":
        assert last["event"] == "end", done.stderr[-2000:]
    else:
        message = "ran outside the compiler: aten::_linalg_solve_ex"
        assert last == {"event": "raised", "type": "NotImplementedError", "message": message}


@pytest.mark.parametrize(
    ("framework", "why"),
    [
        ("torch_xla", "torch_xla computes aten::_linalg_solve_ex on the host"),
        ("torch_tpu", "arguments of the traced graph"),
    ],
)
def test_program_that_a_framework_fails_at_leaves_the_reason(framework, why, request, tmp_path):
    job = {key: SPEC[key] for key in ("workload", "dialect", "sizes")}
    job |= {"framework": framework, "variant": "base", "seed": 1, "matmul_precision": "highest"}
    python = request.getfixturevalue(f"{framework}_python")
    command = public_inputs.command("stackwars.measure.stablehlo.lower")
    done = run_job(python, "lower", job, tmp_path / "program", *command, env=public_inputs.environ())
    text = gzip.decompress((tmp_path / "program/program.mlir.gz").read_bytes()).decode()
    assert text.startswith("// no program: ") and why in text
    assert json.loads((tmp_path / "program/arguments.json").read_text())["arguments"] == []
    assert framework == "torch_tpu" or "solve3.py" in done.stderr, "the log of an abort names the line"
