"""Operations that torch_xla computes on the host have no program, whether or not they read a placeholder."""

import gzip
import textwrap

import pytest

from running import lower_program
from stackwars.measure.stablehlo import arguments

PROGRAMS = {
    # An array of integers has its values while it is lowered: the result would be a constant.
    "counts": (
        'return {"x": np.arange(50, dtype="int32") % 7}',
        "return torch.bincount(x, minlength=7)",
        "torch_xla computes aten::bincount on the host",
    ),
    # Floats are placeholders, and reading one aborts.
    "logadd": (
        'return {"x": ("float16", (8,))}',
        "return torch.logaddexp2(x, 2 * x)",
        "torch_xla computes aten::logaddexp2",
    ),
    "read_back": (
        'return {"x": (8,)}',
        "return x * (2 if x.sum().item() > 0 else 3)",
        "torch_xla reads values back",
    ),
    "sum": ('return {"x": (8,)}', "return x.sum()", ""),
}


@pytest.mark.env
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_that_runs_in_part_on_the_host_is_none(name, torch_xla_python, tmp_path):
    inputs, function, why = PROGRAMS[name]
    file = tmp_path / f"{name}.py"
    file.write_text(
        textwrap.dedent(f"""\
        import numpy as np

        def inputs():
            {inputs}

        def torch(x):
            import torch
            {function}
        """)
    )
    job = {
        "framework": "torch_xla", "dialect": "torch", "workload": str(file), "variant": "base", "sizes": {}, "seed": 1,
        "matmul_precision": "highest",
    }  # fmt: skip
    files = lower_program(torch_xla_python, job, tmp_path / "program")
    text = gzip.decompress((tmp_path / "program/program.mlir.gz").read_bytes()).decode()
    entries = arguments.load(files["arguments"])[1]
    if why:
        assert text.startswith(f"// no program: {why}") and not entries
    else:
        assert "func.func @main" in text and [entry.kind for entry in entries] == ["input"]
