"""The listings' command, in the jax environment."""

import gzip
import re
import subprocess
from pathlib import Path

import pytest

from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

FIXTURES = Path(__file__).parents[1] / "ir" / "fixtures"

pytestmark = pytest.mark.env


def listings(*arguments):
    python = ensure(REPOSITORY / "envs" / "jax.txt")
    return subprocess.run(
        [str(python), "-m", "stackwars.paper.listings", *map(str, arguments)],
        env=clean_environ({}), capture_output=True, text=True,
    )  # fmt: skip


def test_listings_of_a_run(tmp_path):
    packed = tmp_path / "ffn.mlir.gz"
    packed.write_bytes(gzip.compress((FIXTURES / "ffn_jax.mlir").read_bytes()))
    absent = tmp_path / "mha.mlir"
    absent.write_text("// no program: oom, refused at build\n")
    norm = [FIXTURES / f"layernorm_{framework}.mlir" for framework in ("jax", "torch_xla")]
    done = listings(
        "--workload", f"ffn={packed},{FIXTURES / 'ffn_torch_xla.mlir'}",
        "--workload", f"mha={FIXTURES / 'mha_jax.mlir'},{absent}",
        "--workload", f"layernorm={norm[0]},{norm[1]}",
        "--output-dir", tmp_path / "out", "--columns", "62",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(written) == {"style.tex", "ffn.tex", "mha.tex", "layernorm.tex"}
    for name in ("ffn", "mha", "layernorm"):
        blocks = re.findall(r"(?s)\\begin{lstlisting}.*?\n(.*?)\\end", written[f"{name}.tex"])
        assert len(blocks) == 2
        assert max(len(line) for block in blocks for line in block.splitlines()) <= 62
    assert "chlo.erfc" in written["ffn.tex"] and "@mhlo.erf" in written["ffn.tex"]
    assert "// no program: oom, refused at build" in written["mha.tex"]


def test_an_unexpected_structure_is_said_and_does_not_fail(tmp_path):
    gemm = FIXTURES / "gemm_jax.mlir"
    done = listings("--workload", f"mha={gemm},{gemm}", "--output-dir", tmp_path)
    assert done.returncode == 0
    assert "// nothing to show: expected a dot_general" in (tmp_path / "mha.tex").read_text()
    assert "no combined projection" in done.stderr


def test_bad_arguments_say_what_was_expected(tmp_path):
    done = listings("--workload", "resnet50=a,b", "--output-dir", tmp_path)
    assert done.returncode == 2
    assert "expected WORKLOAD=JAXFILE,TORCHFILE" in done.stderr and "resnet50=a,b" in done.stderr
