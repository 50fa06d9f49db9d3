"""The page of a document, and the report of the reference."""

import base64
import gzip
import json
import math
import re
import sys

import pytest

from report_fixture import HOSTILE, made_document
from running import job_file, run
from stackwars.core.ratio import geometric_mean
from stackwars.publish.paper.figures.ratios import replays
from stackwars.publish.report.gather import having
from stackwars.publish.report.write import MOST_BYTES, page
from stackwars.setup.device import CPU
from stackwars.study.config import load
from stackwars.study.results.dataset import sources
from stackwars.study.results.runs import REFERENCE

REFERENCE_BYTES = 1_700_000
"""Limit of the reference's report without its programs, which take 1.2 MB."""


def unpacked(value):
    """Return what the page makes of a value: packed texts are gzip of JSON as base64."""
    if isinstance(value, str) and value.startswith("H4sI"):
        return unpacked(json.loads(gzip.decompress(base64.b64decode(value))))
    if isinstance(value, dict):
        return {name: unpacked(one) for name, one in value.items()}
    return list(map(unpacked, value)) if isinstance(value, list) else value


def data_of(text):
    """What the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_page_has_the_whole_document_and_fetches_nothing():
    document = {**made_document(), "name": HOSTILE}
    text = page(document)
    assert unpacked(data_of(text)) == json.loads(json.dumps(document))
    assert "</script><img" not in text
    assert text == page(document)
    without = (
        text.partition('<script type="application/json"')[0]
        + text.rpartition("</script>")[0].rpartition("<script>")[2]
    )
    assert re.findall(r"""(?:src|href)=["']?(?!#|data:)[\w/]""", without) == []
    assert "/* " not in text.partition("<body>")[0]


def test_the_report_of_the_reference_is_small(document):
    assert len(page(document)) < REFERENCE_BYTES < MOST_BYTES


def test_the_reference_has_every_study_that_the_paper_shows(document):
    """Nothing is said not to be run that an accepted run has a number of."""
    cells = document["cells"]
    ok = {(cell["study"], cell["mode"]) for cell in cells if cell["status"] == "ok"}
    assert {("tables", "native"), ("stacks", "native"), ("beyond", "native"), ("matrix", "replay")} <= ok
    assert {("beyond", "growth"), ("beyond", "shapes"), ("sharding", "sharded")} <= ok
    not_run = [cell for cell in cells if cell["status"] == "not run"]
    assert {cell["device"] for cell in not_run} == {"cuda", "tpu"}
    assert all("accepted run" in study["origin"] for study in document["studies"].values())
    for cell in cells:
        assert cell["status"] == "ok" or cell["status_detail"], cell


def test_the_first_figure_has_the_ratios_of_the_papers(document, reference_tables):
    rows, _ = replays(sources(load(source="reference"), reference_tables).run)
    expected: dict[tuple, list] = {}
    for row in rows.itertuples():
        expected.setdefault((row.workload, row.compiler), []).append(row.ratio)
    where = {"quantity": "replay", "device": CPU, **document["pair"]}
    ratios = {
        (row["workload"], row["compiler"]): [kind["ratio"] for kind in row["kinds"]]
        for row in having(document["comparisons"], **where)
        if row["workload"] in document["figure"] and row["kinds"]
    }
    assert ratios == {key: pytest.approx(values, rel=1e-5) for key, values in expected.items()}


def test_raw_calls_are_of_the_run_that_the_tables_name(document):
    shown = [
        cell for cell in document["cells"]
        if cell["mode"] == "native" and cell["study"] == "tables" and cell["status"] == "ok"
    ]  # fmt: skip
    assert {cell["run"] for cell in shown} == {document["raw_run"]}
    for cell in shown:
        details = document["details"][f"{cell['device']}/{cell['framework']}/{cell['workload']}"]
        first = geometric_mean([one["first"] for one in details["calls"]]).value
        assert first == pytest.approx(cell["first_ms"], rel=1e-3)


def test_every_vote_of_the_reference_is_found_in_a_view(document):
    """By the columns that its link names."""
    compared = {
        (study, row["quantity"], row.get("workload"), row["subject"])
        for row in document["comparisons"]
        for study in row["studies"]
    }
    votes = [
        (claim["study"], vote["quantity"], vote.get("workload"), vote["subject"])
        for claim in document["claims"]
        if claim["table"] == "comparisons"
        for vote in claim["votes"]
        if vote["word"] != "no data" and {"workload", "subject"} <= vote.keys()
    ]
    assert len(votes) > 100 and set(votes) <= compared


@pytest.mark.env
def test_programs_of_the_reference_stand_beside_each_other(tmp_path):
    config = job_file("config", load(source="reference").step_document(), tmp_path)
    step = ("--config", config, "--results", tmp_path, "--measured", REFERENCE)
    run(sys.executable, "-m", "stackwars.publish.report.programs", *step)
    found = json.loads((tmp_path / "report_programs.json").read_text())["programs"]
    found = {one["workload"]: one for one in found}
    listings = load().paper.listings
    assert found.keys() > {*listings, "bert_base", "llama3_8b"}
    for workload, one in found.items():
        # Accepting a run removes other runs' cells, but for those with compilers' forms: torch_xla has none.
        assert one["frameworks"][:2] == ["jax", "torch_xla"] or workload in load().paper.forms
        for shown in one["forms"].values():
            assert len(shown["pairs"]) == math.comb(len(shown["sides"]), 2)
    # Programs that another accepted run alone has are shown too, and name it.
    more = {"torchax", "tensorflow_xla"}
    assert more <= set(found["mha"]["frameworks"])
    other = found["per_example_grad"]
    assert more <= other["runs"].keys() <= set(other["frameworks"])
    # A program with its constants written out is too long, and the page says so.
    assert found["newton"]["left_out"].keys() == {"tensorflow_xla"}
    mha, relu = (
        {name: one["pairs"]["jax torch_xla"]["share"] for name, one in found[workload]["forms"].items()}
        for workload in ("mha", "ffn_relu")
    )
    # Spelled alike, more of the two is the same.
    assert 0 < mha["as emitted"] < mha["normalised"] < 1
    # What the reference keeps of the native compiler is of these programs.
    assert not any(found[name]["not_optimised"].keys() & {"jax", "torch_xla"} for name in listings)
    assert found["mha"]["forms"]["optimised"]["compiler"] == "jaxlib-0.7.1"
    assert 0 < mha["optimised"] < 1
    assert relu["optimised"] == 1 > relu["as emitted"]
