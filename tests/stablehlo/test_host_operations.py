"""Operations that torch_xla computes on the host have no program, whether or not they read a placeholder."""

import gzip

import pytest

from lowerings import Lowerings, file_job
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


FILE = "import numpy as np\n\n\ndef inputs():\n    {}\n\n\ndef torch(x):\n    import torch\n    {}\n"


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    """The folder of each program, lowered by one process."""
    home = tmp_path_factory.mktemp("lowered")
    with Lowerings() as lowerings:
        for name, (inputs, function, _) in PROGRAMS.items():
            path = home / f"{name}.py"
            path.write_text(FILE.format(inputs, function))
            lowerings(file_job("torch_xla", path, sizes={}), home / name)
    return home


@pytest.mark.env
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_that_runs_in_part_on_the_host_is_none(name, lowered):
    why = PROGRAMS[name][2]
    text = gzip.decompress((lowered / name / "program.mlir.gz").read_bytes()).decode()
    document, entries = arguments.load(lowered / name / "arguments.json")
    if why:
        assert text.startswith(f"// no program: {why}") and not entries
    else:
        assert "func.func @main" in text and [entry.kind for entry in entries] == ["input"]
        # Tracing records the lazy graph; both are parts of the whole.
        stages = document["stages"]
        assert stages.keys() == {"tracing", "lowering"} and min(stages.values()) > 0
        assert sum(stages.values()) <= document["lower_s"] + 0.001
