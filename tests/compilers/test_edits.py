"""Edits leave a program's values as they are, change what they say, and refuse what is not of the kind."""

import gzip
import json
import subprocess
from pathlib import Path

import handmade
import pytest

from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

pytestmark = pytest.mark.env


def run(python: Path, *command: str) -> subprocess.CompletedProcess:
    environ = clean_environ({"PYTHONPATH": str(REPOSITORY / "src")})
    return subprocess.run([str(python), *command], env=environ, capture_output=True, text=True)


@pytest.fixture(scope="module", params=["xla-0.7.1", "xla-0.10.2"])
def python(request) -> Path:
    return ensure(REPOSITORY / "envs" / f"{request.param}.txt")


@pytest.fixture(scope="module")
def probed(python):
    done = run(python, str(Path(__file__).parent / "edits_probe.py"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


EXPECTED = {
    "flattened": ["pretransposed_weights"],
    "transposed_before": ["pretransposed_weights"],
    "rows": ["pretransposed_weights", "default_precision"],
    "convolution": ["pretransposed_weights"],
    "tied": [],
    "transposed_input": [],
    "layernorm": ["explicit_layernorm"],
    "unshaped_layernorm": ["explicit_layernorm"],
    "batchnorm": [],
    "scaled": [],
    "erfc": ["erf_for_erfc"],
    "highest_convolution": ["pretransposed_weights", "default_precision"],
    "default": ["pretransposed_weights"],
}


@pytest.mark.parametrize("case", EXPECTED)
def test_an_edit_applies_only_to_its_kind(probed, case):
    assert probed[case]["applicable"] == EXPECTED[case]


@pytest.mark.parametrize("case", [case for case, names in EXPECTED.items() if names])
def test_the_edited_program_gives_the_same_values_and_has_nothing_left_to_edit(probed, case):
    for name, edited in probed[case]["edits"].items():
        assert edited["size"] > 0.1
        assert edited["difference"] <= 2e-6 * edited["size"]
        assert edited["again"] == [other for other in EXPECTED[case] if other != name]


@pytest.mark.parametrize(
    ("case", "axes", "signature", "gone"),
    [
        ("flattened", [1, 0], "tensor<4x6xf32>", "stablehlo.transpose"),
        ("transposed_before", [0, 1], "tensor<4x6xf32>", "stablehlo.transpose"),
        ("rows", [1, 0], "tensor<4x6xf32>", "x [1]"),
        ("convolution", [2, 3, 1, 0], "tensor<2x1x3x5xf32>", "[o, i, 0, 1]"),
    ],
)
def test_transposed_weight_is_handed_over_transposed(probed, case, axes, signature, gone):
    edited = probed[case]["edits"]["pretransposed_weights"]
    assert edited["arguments"][0]["axes"] == axes
    assert f"%arg0: {signature}" in edited["text"]
    assert gone not in edited["text"]


@pytest.mark.parametrize("case", ["rows", "highest_convolution"])
def test_both_operands_of_a_product_get_the_default_precision(probed, case):
    edited = probed[case]["edits"]["default_precision"]
    assert "HIGHEST" not in edited["text"]
    assert edited["text"].count("DEFAULT") == 2
    assert edited["arguments"][0]["axes"] == sorted(edited["arguments"][0]["axes"])


def test_a_layer_normalisation_is_on_the_array_before_the_reshape(probed):
    text = probed["layernorm"]["edits"]["explicit_layernorm"]["text"]
    assert "batch_norm_training" not in text
    assert "reshape" not in text
    assert text.count("stablehlo.reduce") == 2


def test_the_command_writes_program_and_arguments(python, tmp_path):
    handmade.write(tmp_path, "torch_xla", handmade.TORCH)
    command = ["-m", "stackwars.compilers.edits", "--program", str(tmp_path / "torch_xla")]
    done = run(python, *command, "--edit", "pretransposed_weights", "--output", str(tmp_path / "edited"))
    assert done.returncode == 0, done.stderr
    text = gzip.decompress((tmp_path / "edited" / "program.mlir.gz").read_bytes()).decode()
    assert "stablehlo.transpose" not in text
    document = json.loads((tmp_path / "edited" / "arguments.json").read_text())
    assert document["arguments"][-1]["axes"] == [1, 0]
    assert document["edits"] == ["pretransposed_weights"]
    assert document["program_sha256"] != document["edited_from_sha256"]
    refused = run(python, *command, "--edit", "erf_for_erfc", "--output", str(tmp_path / "no"))
    assert refused.returncode != 0
    assert "this has none: no edit to make" in refused.stderr
    assert not (tmp_path / "no").exists()
