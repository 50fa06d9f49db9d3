"""Operations that torch_xla computes on the host have no program, whether or not they read a placeholder."""

import gzip
import textwrap
from dataclasses import asdict, replace

import pytest

from stackwars.core.launch import REPOSITORY
from stackwars.measure.stablehlo import ahead_supervisor, arguments
from stackwars.measure.stablehlo.lower import Lowering, LowerJob

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


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    """The folder of each program, lowered by one process."""
    home = tmp_path_factory.mktemp("lowered")
    for name, (inputs, function, _) in PROGRAMS.items():
        text = f"""\
        import numpy as np

        def inputs():
            {inputs}

        def torch(x):
            import torch
            {function}
        """
        (home / f"{name}.py").write_text(textwrap.dedent(text))
    job = LowerJob("torch_xla", "torch", str(home / "sum.py"), "base", {}, 1, "highest")
    with Lowering(REPOSITORY / "envs/torch_xla.txt", job, 300, ahead_supervisor.CAP_BYTES) as lowering:
        for name in PROGRAMS:
            one = asdict(replace(job, workload=str(home / f"{name}.py")))
            assert not lowering.ask("lower", job=one, output=str(home / name), timeout_s=300)
    return home


@pytest.mark.env
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_that_runs_in_part_on_the_host_is_none(name, lowered):
    why = PROGRAMS[name][2]
    text = gzip.decompress((lowered / name / "program.mlir.gz").read_bytes()).decode()
    entries = arguments.load(lowered / name / "arguments.json")[1]
    if why:
        assert text.startswith(f"// no program: {why}") and not entries
    else:
        assert "func.func @main" in text and [entry.kind for entry in entries] == ["input"]
