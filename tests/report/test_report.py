"""The report of the reference: what it holds, and that no name of a run becomes part of the page."""

import json
import re

import pytest

from stackwars.report.gather import digits, gather
from stackwars.report.write import MOST_BYTES, page
from stackwars.results.folder import REFERENCE, Folder
from stackwars.study.config import load

HOSTILE = '</script><script>alert(1)</script> "quoted" \\ {\\tt x} \N{SNOWMAN}'


@pytest.fixture(scope="module")
def document():
    return gather({**load(), "results": "reference"}, Folder(REFERENCE))


def data_of(text):
    """What the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_page_has_the_whole_document_and_fetches_nothing(document):
    text = page(document)
    assert data_of(text) == json.loads(json.dumps(document))
    assert len(text) < MOST_BYTES
    assert re.findall(r"""(?:src|href)=["']?(?!#|data:)[\w/]""", text) == []
    assert "/* " not in text.partition("<body>")[0]


def test_every_cell_has_its_calls_or_says_why_not(document):
    assert {cell["status"] for cell in document["cells"]} <= {
        *("ok", "oom", "timeout", "unsupported", "invalid", "error", "not run"),
    }
    for cell in document["cells"]:
        assert cell["status"] == "ok" or cell["status_detail"], cell
    one = document["calls"]["cpu/jax/bert_base"][0]
    assert one["first"] > one["second"] > 0
    assert len(one["blocks"]) == len(one["kept"]) > 3


def test_programs_stand_beside_each_other(document):
    mha = next(one for one in document["programs"] if one["workload"] == "mha")
    assert mha["sides"] == ["jax", "torch_xla"]
    assert 0 < mha["share"] < 1
    lines = [[pair[side] for pair in mha["pairs"] if pair[side] is not None] for side in (0, 1)]
    assert [len(side) for side in lines] == [len(text) for text in mha["texts"]]


def test_hostile_names_stay_data(document):
    cell = {**document["cells"][0], "title": HOSTILE, "status": "error", "status_detail": HOSTILE}
    text = page({**document, "cells": [cell]})
    assert data_of(text)["cells"][0]["status_detail"] == HOSTILE
    assert "<script>alert" not in text


def test_digits_keep_what_is_read():
    assert [digits(value) for value in (123.4567, 0.00012345678, 0.0)] == [123.5, 0.0001235, 0.0]
