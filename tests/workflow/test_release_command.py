"""`make releases PROGRAM=...` of a StableHLO file and of a program file."""

import pytest

from stackwars.core import documents
from stackwars.explain.files import BadInput
from stackwars.study.config import load
from stackwars.study.workflow.releases import configured, measure

NEGATE = """
func.func public @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = stablehlo.negate %x : tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
"""
TWICE = '''"""Twice."""
def inputs(rows=8):
    return {"x": (rows, 4)}
def jax(x):
    return 2 * x
'''


def test_the_command_chooses_the_order_or_releases_of_jaxlib():
    assert configured(None, None).releases == load().releases
    assert configured("all", None).releases.order == "all"
    chosen = configured(None, "0.10.2, 0.7.2 --xla_a=1").releases
    assert chosen.order == "all"
    assert chosen.versions.document() == {"jaxlib": ["0.10.2", "0.7.2 --xla_a=1"], "iree": []}
    with pytest.raises(BadInput, match=r"^RELEASES: .* got 0\.3\.0; fix: .*lock_releases.py jaxlib-0\.3\.0$"):
        configured(None, "0.3.0")


@pytest.mark.env
def test_programs_of_files_are_measured_and_what_a_framework_does_not_lower_says_why(tmp_path, capsys):
    config = configured(None, "0.10.2")
    config = config.changed(releases=config.releases.changed(rounds=1, seconds=0.05))
    (tmp_path / "negate.mlir").write_text(NEGATE)
    (tmp_path / "twice.py").write_text(TWICE)
    measure(config, str(tmp_path / "negate.mlir"), tmp_path / "negate")
    document = documents.read(tmp_path / "negate" / "releases" / "jaxlib.negate.json")
    [row] = document["releases"]
    assert (row["status"], row["wrong"], document["label"]) == ("ok", 0, "negate")
    assert "jaxlib round 1 of 1: 0.10.2" in capsys.readouterr().out

    measure(config, str(tmp_path / "twice.py"), tmp_path / "twice")
    jax, torch_xla = (
        documents.read(tmp_path / "twice" / "releases" / f"jaxlib.{label}.json")
        for label in ("jax", "torch_xla")
    )
    assert jax["label"] == "twice of jax" and jax["releases"][0]["ms"]
    assert "no function torch" in torch_xla["reason"] and torch_xla["releases"][0]["status"] == "not run"
