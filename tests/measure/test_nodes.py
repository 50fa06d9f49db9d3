"""What a cluster's node does besides measuring: its peak and its lock."""

import json

import pytest

from stackwars.core import machine
from stackwars.measure import nodes
from toy_checkout import ToyCheckout

HERE = {k: v for k, v in machine.record().items() if k != "node"}


@pytest.fixture
def toy(tmp_path) -> ToyCheckout:
    """A checkout on node n1, whose peak is known, as is that of n2."""
    made = ToyCheckout(tmp_path)
    peaks = tmp_path / "results" / "smoke" / "cpu" / "peaks"
    peaks.mkdir(parents=True)
    for node in ("n1", "n2"):
        (peaks / f"{node}.json").write_text(json.dumps({"machine": {"node": node, **HERE}}))
    return on(made, "n1")


def on(toy: ToyCheckout, node: str) -> ToyCheckout:
    toy.variables["STACKWARS_NODE"] = node
    return toy


def test_process_tells_its_node_and_a_node_without_a_peak_measures_its_own(toy):
    result = toy.measure("ok")
    assert result["machine"] == {"node": "n1", **HERE}
    assert machine.described(result["machine"]).startswith("node n1: ")
    with pytest.raises(AssertionError, match=r"expected a pins file at .*jax\.txt"):
        on(toy, "n3").measure("ok")  # this checkout has no JAX to measure it with


def test_peak_is_that_of_the_node():
    peaks = [{"machine": HERE, "rate": 1}, {"machine": {"node": "n1", **HERE}, "rate": 2}]
    assert nodes.peak_of(peaks, {"node": "n1", **HERE})["rate"] == 2
    assert nodes.peak_of(peaks, HERE)["rate"] == 1
    assert nodes.peak_of(peaks, {"node": "n2", **HERE}) is None


def test_each_node_has_a_lock_of_its_own(monkeypatch):
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    names = set()
    for node in ("", "n1", "n2"):
        monkeypatch.setenv(machine.NODE, node)
        names.add(nodes.lock().name)
    assert names == {".measuring.lock", ".measuring-n1.lock", ".measuring-n2.lock"}
