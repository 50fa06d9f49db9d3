"""The report of the reference: what it holds, and that no name of a run becomes part of the page."""

import json
import math
import re
import statistics
import subprocess

import pandas as pd
import pytest

from report_fixture import HOSTILE
from stackwars.measure.statistics import geometric_mean
from stackwars.report.align import form, side
from stackwars.report.calls import digits
from stackwars.report.gather import gather
from stackwars.report.pack import pack, unpack
from stackwars.report.write import MOST_BYTES, page
from stackwars.results.folder import ACCEPTED, REFERENCE, Folder
from stackwars.setup.environments import clean_environ
from stackwars.study.config import load
from stackwars.workflow import job_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The reference, with a program beside one that has an operation more."""
    made = tmp_path_factory.mktemp("results")
    for path in REFERENCE.iterdir():
        (made / path.name).symlink_to(path)
    texts = [
        "%0 = stablehlo.tanh %a : tensor<2xf32>",
        "%0 = stablehlo.tanh %a : tensor<2xf32>\n%1 = x.y %0",
    ]
    names = ["jax", "torch_xla"]
    row = {"workload": "mha", "title": "MHA", "frameworks": names, "runs": {}, "left_out": {}}
    row["forms"] = {"as emitted": form(dict(zip(names, map(side, texts), strict=True)))}
    row["not_optimised"] = dict.fromkeys(names, "this run has kept none")
    (made / "report_programs.json").write_text(json.dumps({"programs": [row]}))
    return Folder(made)


@pytest.fixture(scope="module")
def document(folder):
    return gather(folder)


def data_of(text):
    """What the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_page_has_the_whole_document_and_fetches_nothing(document):
    text = page(document)
    data, whole = data_of(text), json.loads(json.dumps(document))
    # What one view alone needs is packed.
    for name in ("details", "replays"):
        assert {key: unpack(one) for key, one in data[name].items()} == whole[name] != {}
    assert unpack(data["rounds"]) == whole["rounds"] != {}
    assert [unpack(one["forms"]) for one in data["programs"]] == [
        o["forms"] for o in whole["programs"]
    ]
    same = set(whole) - {"details", "replays", "rounds", "programs", "timeline"}
    assert {key: data[key] for key in same} == {key: whole[key] for key in same}
    assert len(text) < MOST_BYTES
    assert re.findall(r"""(?:src|href)=["']?(?!#|data:)[\w/]""", text) == []
    assert "/* " not in text.partition("<body>")[0]


def test_every_cell_has_its_calls_or_says_why_not(document):
    assert {cell["status"] for cell in document["cells"]} <= {
        *("ok", "oom", "timeout", "unsupported", "invalid", "error", "not run"),
    }
    for cell in document["cells"]:
        assert cell["status"] == "ok" or cell["status_detail"], cell
    details = document["details"]["cpu/jax/bert_base"]
    assert details["versions"]["jax"]
    assert len(details["processes"]) >= len(details["calls"]) > 1
    one = details["calls"][0]
    assert one["round"] == 0
    assert one["first"] > one["second"] > 0
    assert len(one["blocks"]) == len(one["kept"]) > 3


@pytest.mark.env
def test_programs_of_the_reference_stand_beside_each_other(folder, jax_python, tmp_path):
    config = job_files.file("config", {**load(), "results": "reference"}, tmp_path)
    step = ("--config", config, "--results", tmp_path, "--measured", REFERENCE)
    subprocess.run(
        [jax_python, "-m", "stackwars.report.programs", *step], env=clean_environ({}), check=True
    )
    found = json.loads((tmp_path / "report_programs.json").read_text())["programs"]
    found = {one["workload"]: one for one in found}
    listings = load()["paper"]["listings"]
    assert found.keys() > {*listings, "bert_base", "llama3_8b"}
    for one in found.values():
        assert one["frameworks"][:2] == ["jax", "torch_xla"]
        for shown in one["forms"].values():
            assert len(shown["pairs"]) == math.comb(len(shown["sides"]), 2)
    # Frontends whose programs an accepted run alone has stand beside those of this one.
    assert (
        {"torchax", "tensorflow_xla"}
        <= found["mha"]["runs"].keys()
        <= set(found["mha"]["frameworks"])
    )
    # A program with its constants written out is too long, and the page says so.
    assert found["newton"]["left_out"].keys() == {"tensorflow_xla"}
    mha, relu = (
        {
            name: one["pairs"]["jax torch_xla"]["share"]
            for name, one in found[workload]["forms"].items()
        }
        for workload in ("mha", "ffn_relu")
    )
    # Spelled alike, more of the two is the same.
    assert 0 < mha["as emitted"] < mha["normalised"] < 1
    # What the reference keeps of the native compiler is of these programs.
    assert not any(found[name]["not_optimised"].keys() & {"jax", "torch_xla"} for name in listings)
    assert found["mha"]["forms"]["optimised"]["compiler"] == "jaxlib-0.7.1"
    assert 0 < mha["optimised"] < 1
    assert relu["optimised"] == 1 > relu["as emitted"]


def test_the_rounds_of_a_comparison_have_its_ratio_as_their_mean(document):
    """Of the run whose processes the reference has; its own ratios are over several runs."""
    stamp = document["meta"]["date_utc"]
    run = ACCEPTED / stamp[:16].replace(":", "")
    ratios = pd.read_csv(run / "ratios.csv").set_index(["device", "framework", "workload"])
    split = pd.read_csv(run / "split.csv").set_index(
        ["device", "framework", "workload", "compiler"]
    )
    seen = set()
    for key, stages in document["rounds"].items():
        for stage, found in stages.items():
            expected = (split if stage == "ir" else ratios).loc[tuple(key.split("/"))]
            mean = geometric_mean([ratio for _, ratio in found]).value
            assert mean == pytest.approx(expected[f"{stage}_ratio"], rel=1e-3), (key, stage)
            seen.add(stage)
    assert seen == {"first", "second", "steady", "ir"}


def test_the_raw_blocks_of_a_replay_have_its_time_as_their_median(document):
    found = document["replays"]["cpu/jaxlib-0.7.1/torch_xla/mha"]
    assert len(found["calls"]) == len(found["compile_s"]) == 3
    rows = pd.read_csv(REFERENCE / "replayed.csv").set_index(["compiler", "framework", "workload"])
    own = rows.loc["jaxlib-0.7.1", "torch_xla", "mha"].set_index("repetition")
    for one in found["calls"]:
        # The blocks before the steady state are here too.
        steady = one["blocks"][-int(own.loc[one["round"], "steady_blocks"]) :]
        expected = own.loc[one["round"], "ungated_ms"]
        assert statistics.median(steady) == pytest.approx(expected, rel=1e-3)


def test_faults_say_what_came_of_them(document):
    tried = document["faults"]["tried"]
    assert len(tried) > 30 and all(one["told"] or one["why"] for one in tried)
    assert "cores" in document["faults"]["where"]


def test_hostile_names_stay_data(document):
    cell = {**document["cells"][0], "title": HOSTILE, "status": "error", "status_detail": HOSTILE}
    text = page({**document, "cells": [cell]})
    assert data_of(text)["cells"][0]["status_detail"] == HOSTILE
    assert "<script>alert" not in text


def test_digits_keep_what_is_read():
    assert [digits(value) for value in (123.4567, 0.00012345678, 0.0)] == [123.5, 0.0001235, 0.0]


def test_a_packed_value_is_the_same_text_each_time():
    value = {"text": HOSTILE, "ms": [1.5, None]}
    assert unpack(pack(value)) == value
    assert pack(value) == pack(dict(value))


def test_claims_of_an_accepted_run_have_no_votes(document):
    """Findings are not kept in the reference: the claims are there, what voted is not."""
    assert len(document["claims"]) > 50
    assert all(claim["votes"] == [] for claim in document["claims"])
