"""Findings about rounds, gate, caches and one core; and that the synthetic results look like real ones."""

from __future__ import annotations

import pandas
import pytest
from test_findings import changed, findings_of

import paper_fixture
from stackwars.measure import comparison, steady
from stackwars.results import verdicts
from stackwars.results.frame import COLUMNS as FRAME
from stackwars.results.ratios import COLUMNS as RATIOS
from stackwars.results.replays import COLUMNS as REPLAY
from stackwars.results.split import COLUMNS as SPLIT


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return findings_of(paper_fixture.write(tmp_path_factory.mktemp("full")))


def test_the_synthetic_results_have_the_columns_of_the_harness(tmp_path):
    paper_fixture.write(tmp_path)
    assert set(pandas.read_csv(tmp_path / "frame.csv").columns) == set(FRAME)
    for name, columns in {"ratios": RATIOS, "replay": REPLAY, "split": SPLIT}.items():
        assert list(pandas.read_csv(tmp_path / f"{name}.csv").columns) == list(columns), name


def test_the_words_are_those_of_the_measuring_modules():
    words = {verdicts.SLOWER, verdicts.FASTER, verdicts.NO_DIFFERENCE, verdicts.UNRESOLVED}
    rounds = [1.1, 1.1, 1.1001]
    wide = [0.5, 1.0, 2.1]
    found = {
        comparison.verdict(comparison.compare(values, [1.0] * 3), p)
        for values, p in (
            (rounds, 0.01),
            ([1 / v for v in rounds], 0.01),
            ([1.01, 1.0, 1.005], 0.5),
            (wide, 0.5),
        )
    }
    assert found == words
    assert comparison.verdict(comparison.compare([1.1], [1.0]), None) == verdicts.NOT_DECIDED
    assert comparison.verdict(None, None) == verdicts.NO_DATA
    ours = (verdicts.WARM_UP, verdicts.SLOWING, verdicts.NO_STEADY_STATE)
    assert ours == (steady.WARM_UP, steady.SLOWING, steady.NONE)


def test_ratios_that_are_not_interleaved_are_named(full, tmp_path):
    found = full["interleaving"]
    assert found["verdict"] == verdicts.SOME_OK
    assert 0 < found["taken"] == found["total"] - len(found["apart"])
    assert all("torch_xla (pending)" in name for name in found["apart"])
    paper_fixture.write(tmp_path)
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    for interleaved, verdict in ((True, verdicts.ALL_OK), (False, verdicts.NONE_OK)):
        ratios.assign(steady_interleaved=interleaved).to_csv(tmp_path / "ratios.csv", index=False)
        assert findings_of(tmp_path)["interleaving"]["verdict"] == verdict


def test_one_core_is_a_finding_of_its_own(full, tmp_path):
    assert full["steady_1t/layernorm/torch_xla"]["verdict"] == verdicts.SLOWER
    assert full["steady_1t/layernorm/torch_xla"]["ratio"] == pytest.approx(1.4)
    assert full["steady/layernorm/torch_xla"]["verdict"] == verdicts.FASTER
    assert "steady_1t/bert_base/torch_xla" not in full
    assert full["cores/layernorm/torch_xla"]["verdict"] == verdicts.DIFFERS
    assert full["cores/ffn/torch_xla"]["verdict"] == verdicts.AGREES
    assert full["cores/gemm/torch_xla"]["verdict"] == verdicts.NOT_DECIDED
    assert full["one_core"]["threads"] == 1
    assert full["one_core"]["busiest"] == []
    row = {"workload": "ffn", "framework": "jax", "device": "cpu-1t"}
    found = changed(tmp_path, "frame", row, threads=2)["one_core"]
    assert (found["threads"], found["busiest"]) == (2, ["FFN under JAX on cpu-1t"])


def test_gate_stops_and_caches_are_counted(full, tmp_path):
    assert (full["gate"]["gated"], full["gate"]["total"]) == (37, 39)
    assert full["gate"]["ungated"] == ["ViT-B/16 under JAX", "ViT-B/16 under torch_xla"]
    assert full["gate"]["contended"] == ["ResNet-50 under torch_xla (pending)"]
    assert full["gate"]["kept_minimum"] == pytest.approx(0.3)
    stops = full["stops"]
    assert (stops["by_decision"], stops["by_budget"], stops["by_maximum"]) == (24, 15, 0)
    assert (stops["fewest"], stops["most"]) == (4, 4)
    assert full["caches"]["verdict"] == verdicts.HOLDS
    row = {"workload": "mha", "framework": "torch_xla", "device": "cpu"}
    found = changed(tmp_path, "frame", row, cache_hits_first=1)["caches"]
    assert found["verdict"] == verdicts.DOES_NOT_HOLD
    assert found["cells"] == ["MHA under torch_xla"]
