"""What each framework compiles for shapes that it has not seen, by the process that tells."""

import json

import pytest

from frameworks.probed import pins
from running import python
from stackwars.core.launch import clean_environ
from stackwars.measure import frameworks
from stackwars.measure.supervisor import CELL

pytestmark = pytest.mark.env
VALUES = [8, 12]
MHA = {"batch": 2, "sequence": 16, "features": 48, "heads": 12}
NORM = {"batch": 2, "sequence": 16, "features": 48}
COMPILED = {
    "jax_symbolic": ("mha", MHA, [1, 1]),  # traced once; XLA's programs have static shapes
    "torch_xla": ("mha", MHA, [1, 1]),
    "torch_inductor_dynamic": ("layernorm", NORM, [1, 0]),
}


@pytest.mark.parametrize("framework", COMPILED)
def test_every_shape_is_compiled_once_or_all_at_once(framework, tmp_path):
    workload, sizes, compiled = COMPILED[framework]
    spec = {
        "framework": framework, "dialect": frameworks.load(framework).DIALECT, "device": "cpu",
        "workload": workload, "sizes": sizes,
        "settings": {
            "seed": 1, "matmul_precision": "highest", "size": "sequence", "values": VALUES,
        },
    }  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    environ = clean_environ({"TMPDIR": str(tmp_path)})
    python("-m", CELL, tmp_path, pins=pins(framework), env=environ, input='["run", {}]\n')
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    calls = [one for one in map(json.loads, lines) if one["event"] == "shape"]
    assert [(one["turn"], one["value"]) for one in calls] == [
        (turn, value) for turn in (0, 1) for value in VALUES
    ]
    assert [one["compiles"] for one in calls] == [*compiled, 0, 0]
    if framework == "jax_symbolic":
        traced = [one["trace_s"] for one in calls[: len(VALUES)]]
        assert max(traced[1:]) < traced[0]
