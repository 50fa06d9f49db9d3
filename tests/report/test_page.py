"""The report of the reference: what it holds, and that no name of a run becomes part of the page."""

import json
import re
import subprocess

import pytest

from report_fixture import HOSTILE
from stackwars.report.align import side_by_side
from stackwars.report.gather import digits, gather
from stackwars.report.pack import pack, unpack
from stackwars.report.write import MOST_BYTES, page
from stackwars.results.folder import REFERENCE, Folder
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
    row = {"workload": "mha", "title": "MHA", "sides": ["jax", "torch_xla"]}
    row |= {
        "forms": {"as emitted": side_by_side(*texts)},
        "not_optimised": "this run has kept none",
    }
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
    details = {key: unpack(one) for key, one in data["details"].items()}
    assert details == whole["details"] and details
    assert [unpack(one["forms"]) for one in data["programs"]] == [
        o["forms"] for o in whole["programs"]
    ]
    same = set(whole) - {"details", "programs", "timeline"}
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
    assert {one["workload"] for one in found} == set(load()["paper"]["listings"])
    for one in found:
        assert one["sides"] == ["jax", "torch_xla"]
        for form in one["forms"].values():
            lines = [
                [pair[side] for pair in form["pairs"] if pair[side] is not None] for side in (0, 1)
            ]
            assert [len(side) for side in lines] == [len(text) for text in form["texts"]]
    mha = next(one for one in found if one["workload"] == "mha")["forms"]
    # Spelled alike, more of the two is the same.
    assert 0 < mha["as emitted"]["share"] < mha["normalised"]["share"] < 1
    # What the reference keeps of the native compiler is of these programs.
    assert [one["not_optimised"] for one in found] == [""] * len(found)
    assert mha["optimised"]["compiler"] == "jaxlib-0.7.1"
    assert 0 < mha["optimised"]["share"] < 1
    relu = next(one for one in found if one["workload"] == "ffn_relu")["forms"]
    assert relu["optimised"]["share"] == 1 > relu["as emitted"]["share"]


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
