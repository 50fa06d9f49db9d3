"""A cell whose operations a framework computes outside its compiler."""

import json

import public_inputs
import pytest

from running import run

SPEC = {
    "framework": "torch_xla", "dialect": "torch", "device": "cpu", "sizes": {"batch": 4}, "repetition": 2,
    "forms": False, "writes_files": True, "partner": None, "expected": "",
    "settings": {
        "seed": 1, "matmul_precision": "highest", "block_calls": 2, "steady_min_blocks": 2,
        "steady_max_blocks": 2, "steady_seconds": 0.0,
    },
}  # fmt: skip


@pytest.mark.env
def test_cell_whose_operations_run_outside_the_compiler_is_unsupported(torch_xla_python, tmp_path):
    (tmp_path / "spec.json").write_text(
        json.dumps({**SPEC, "workload": str(public_inputs.FOLDER / "solve3.py")})
    )
    run(torch_xla_python, "-m", "stackwars.measure.child", tmp_path, input='["run", {}]\n', check=False)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    message = "ran outside the compiler: aten::_linalg_solve_ex"
    last = {key: events[-1].get(key) for key in ("event", "type", "message")}
    assert last == {"event": "raised", "type": "NotImplementedError", "message": message}
