"""What a cluster's node does beside measuring: its peak, and keeping what it measured."""

import json
import shutil

import pytest

from stackwars.measure import machine, nodes
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


def lose(toy: ToyCheckout) -> None:
    """As Snakemake does with the outputs of a job that failed."""
    shutil.rmtree(toy.folder / toy.output())


def test_process_tells_its_node(toy):
    result = toy.measure("ok")
    assert result["machine"] == {"node": "n1", **HERE}
    assert machine.described(result["machine"]).startswith("node n1: ")


def test_lost_process_is_taken_back_on_its_node(toy):
    first = toy.measure("ok")
    lose(toy)
    again = toy.measure("ok")
    assert again["started_s"] == first["started_s"]
    files = {path.name for path in (toy.folder / toy.output()).iterdir()}
    assert {"process.json", "output.npy"} <= files and "kept.json" not in files


def test_lost_process_is_measured_anew_on_another_node(toy):
    first = toy.measure("ok")
    lose(toy)
    again = on(toy, "n2").measure("ok")
    assert again["started_s"] > first["started_s"]
    assert again["machine"]["node"] == "n2"
    # Each node keeps its own: back on the first one, nothing is measured.
    lose(toy)
    assert on(toy, "n1").measure("ok")["started_s"] == first["started_s"]


@pytest.mark.parametrize("changed", ["settings", "code", "pins"])
def test_lost_process_is_measured_anew_once_it_is_another(toy, changed):
    first = toy.measure("ok")
    lose(toy)
    if changed == "code":
        (toy.folder / "src" / "stackwars" / "frameworks" / "toy.py").open("a").write("# more\n")
    if changed == "pins":
        # Another environment would be built: the same Python under the name of the new pins.
        [home] = (toy.folder / "environments").glob("toy-*[!k]")
        toy.pins.write_text("numpy==0  # another\n")
        where = "from stackwars.setup.environments import *; print(folder(Path('envs/toy.txt')))"
        shutil.copytree(home, toy.python("-c", where).stdout.strip())
    more = {"steady_max_blocks": 5} if changed == "settings" else {}
    assert toy.measure("ok", **more)["started_s"] > first["started_s"]


def test_machine_that_is_no_node_keeps_nothing(toy):
    del toy.variables["STACKWARS_NODE"]
    assert "node" not in toy.measure("ok")["machine"]
    assert not (toy.folder / ".snakemake").exists()


def test_node_without_a_peak_measures_its_own(toy):
    done = on(toy, "n3")
    with pytest.raises(AssertionError, match=r"expected a pins file at .*jax\.txt"):
        done.measure("ok")  # this checkout has no JAX to measure it with


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


def test_what_is_kept_goes_once_its_cell_is_made(toy):
    toy.measure("ok")
    kept = toy.folder / ".snakemake" / "stackwars" / "kept" / "n1" / "smoke" / "cpu" / "toy" / "gemm"
    forget = "from stackwars.measure import nodes; nodes.prune()"
    toy.python("-c", forget)
    assert (kept / "process-0" / "process.json").exists()
    (toy.folder / toy.output().parent / "cell.json").write_text("{}")
    toy.python("-c", forget)
    assert not (kept / "process-0").exists()
