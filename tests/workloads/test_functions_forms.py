"""Files of functions in the real frameworks: lowered, judged, checked in compilers, and measured."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from lowerings import Lowerings, file_job
from running import check_programs, run, run_job
from stackwars.core import judge
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.measure import frameworks, workloads
from stackwars.setup.environments import ensure
from stackwars.study import cells
from stackwars.study.config import load

pytestmark = pytest.mark.env
PROGRAMS = Path(__file__).parent / "programs"
SOFTMAX = REPOSITORY / "docs" / "examples" / "softmax.py"
MIXED = PROGRAMS / "mixed.py"
LOWERED = {
    SOFTMAX: ("jax", "torch_xla"),
    MIXED: ("jax", "torch_xla", "torchax", "torch_tpu", "tensorflow_xla"),
    PROGRAMS / "layer.py": ("jax", "torch_xla", "torch_tpu"),
    PROGRAMS / "wide.py": ("jax", "torch_xla"),
}
COMPILERS = {"xla-0.10.2": "xla", "iree": "iree"}
MEASURED = {
    MIXED: ("jax", "torch_xla", "tensorflow_xla", "numpy"),
    PROGRAMS / "wide.py": ("jax",),
}
SEED = 1


class Lowered:
    """Programs of files, each lowered once, and the values that are expected of them."""

    def __init__(self, folder: Path, lowerings: Lowerings) -> None:
        self.folder, self.lowerings = folder, lowerings
        self.programs: dict[Path, dict[str, str]] = {}

    def program(self, path: Path, framework: str) -> dict[str, str]:
        folder = self.folder / path.stem / framework
        if folder not in self.programs:
            self.programs[folder] = self.lowerings(file_job(framework, path, SEED), folder)
        return self.programs[folder]

    def expected(self, path: Path, *names: str, of: Path | None = None) -> Path:
        """The values expected of a file; of: another one, with the same functions, whose programs are evaluated."""
        folder = self.folder / path.stem / "-".join(("expected", *names))
        if not folder.exists():
            job = {
                "workload": str(path), "variant": "base", "sizes": workloads.load(str(path)).DEFAULTS, "seed": SEED,
                "memory_cap_gib": 8, "timeout_s": 120,
                "programs": {name: self.program(of or path, name) for name in names},
            }  # fmt: skip
            run_job(Path(sys.executable), "expected", job, folder, pins="envs/xla-0.10.2.txt")
        return folder


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    with Lowerings() as lowerings:
        yield Lowered(tmp_path_factory.mktemp("lowered"), lowerings)


@pytest.mark.parametrize(
    ("path", "compiler"),
    # Each file in XLA, and that with most types of elements in IREE too.
    [*((path, "xla-0.10.2") for path in LOWERED), (MIXED, "iree")],
    ids=lambda value: getattr(value, "stem", value),
)
def test_every_result_of_every_program_is_judged_and_right(lowered, path, compiler, tmp_path):
    expected = lowered.expected(path, "jax", "torch_xla")
    known = judge.read(expected)
    assert ("NumPy" if path.stem != "layer" else "the StableHLO interpreter") in known.judge, known.reason
    job = {
        "workload": str(path), "module": COMPILERS[compiler], "sizes": workloads.load(str(path)).DEFAULTS,
        "expected": str(expected), "settings": {"seed": SEED, "memory_cap_gib": 8, "check_timeout_s": 120},
        "programs": {name: lowered.program(path, name) for name in LOWERED[path]},
    }  # fmt: skip
    programs = check_programs(f"envs/{compiler}.txt", job, tmp_path)["programs"]
    found = {name: (one["status"], one["status_detail"], one["wrong"]) for name, one in programs.items()}
    assert found == dict.fromkeys(LOWERED[path], ("ok", "", 0))


@pytest.mark.parametrize(
    ("path", "framework"), [(path, name) for path, names in MEASURED.items() for name in names], ids=str
)
def test_a_cell_is_measured_and_all_of_its_results_are_right(lowered, path, framework, tmp_path):
    expected = lowered.expected(path, "jax", "torch_xla")
    spec = {
        "workload": str(path), "framework": framework, "dialect": frameworks.load(framework).DIALECT, "device": "cpu",
        "sizes": workloads.load(str(path)).DEFAULTS, "repetition": 0, "forms": False, "writes_files": True,
        "partner": None,
        "expected": str(expected),
        "settings": {
            "seed": SEED, "matmul_precision": "highest", "block_calls": 2, "steady_min_blocks": 2,
            "steady_max_blocks": 2, "steady_seconds": 0.0,
        },
    }  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    environ = clean_environ({"JAX_PLATFORMS": "cpu", "PJRT_DEVICE": "CPU"})
    python = ensure(REPOSITORY / cells.pins(load(), framework, "cpu"))
    done = run(
        python, "-m", "stackwars.measure.child", tmp_path, env=environ, input='["run", {}]\n', check=False
    )
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert events[-1]["event"] == "end", (events[-1], done.stderr[-2000:])
    values, right = np.load(tmp_path / judge.OUTPUTS), judge.read(expected)
    assert {f"last/{key}" for key in right.values} <= set(values)
    assert judge.judge(dict(values), right)["wrong"] == 0


BAD = '''"""A product of shapes that do not fit, and a sum over another axis."""


def inputs(rows=4):
    return {"x": (rows, 8)}


def jax(x):
    return x.sum(axis=AXIS)


def torch(x):
    return x.sum(dim=1)
'''


def test_an_exception_in_a_function_is_the_reason_with_its_line(lowered, tmp_path):
    path = tmp_path / "raising.py"
    path.write_text(BAD)
    text = gzip.decompress(Path(lowered.program(path, "jax")["program"]).read_bytes()).decode()
    assert text == "// no program: jax does not lower it: raising.py:9: NameError: name 'AXIS' is not defined\n"


@pytest.mark.parametrize(
    ("numpy", "reason"),
    [
        # test_odd_one_out has the other ends, of values that are made up.
        ("", "the programs of jax and torch_xla are not of one computation: output0 has the shape (8,) in one"),
        ("def numpy(x):\n    return x.sum(axis=0), x\n", "output0/1 has the shape (4, 8) in one, is missing in"),
        ("def numpy(x):\n    return x.sun()\n", "numpy() failed: AttributeError"),
    ],
)  # fmt: skip
def test_forms_that_compute_different_things_judge_nobody(lowered, tmp_path, numpy, reason):
    path, parted = tmp_path / f"parted_{abs(hash(numpy))}.py", lowered.folder / "parted.py"
    parted.write_text(BAD.replace("AXIS", "0"))
    path.write_text(f"{parted.read_text()}\n\n{numpy}")
    found = judge.read(lowered.expected(path, "jax", "torch_xla", of=parted))
    assert reason in found.reason and found.values == {}
    assert found.disputed == ("failed" not in reason)
