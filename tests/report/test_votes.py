"""Votes of claims, and the views of the report that show what they rest on."""

import pytest

from report_fixture import DOCUMENT
from stackwars.claims import definitions
from stackwars.claims.judge import judge
from stackwars.report.views import Views
from stackwars.report.votes import rule, votes
from stackwars.results.folder import Folder

SLOWER = {
    **{"id": "steady/mha/torch_xla", "verdict": "slower", "workload": "mha", "title": "MHA"},
    **{"framework": "torch_xla", "ratio": 1.5, "low": 1.4, "high": 1.6},
}
NO_DATA = {
    **SLOWER,
    "id": "steady/ffn/torch_xla",
    "workload": "ffn",
    "title": "FFN",
    "verdict": "no data",
}
CLAIM = definitions.load().claim("faster_steady_basic")


@pytest.fixture
def views(tmp_path):
    torch = {**DOCUMENT["cells"][0], "framework": "torch_xla"}
    document = {**DOCUMENT, "cells": [*DOCUMENT["cells"], torch]}
    return Views(document, Folder(tmp_path), {"origin": "measured"})


def test_votes_are_those_that_the_claim_is_judged_by(views):
    rows = votes(CLAIM, [SLOWER, NO_DATA], views)
    assert [(row["title"], row["vote"], row["word"]) for row in rows] == [
        ("MHA", "for", "torch_xla slower"),
        ("FFN", "none", "no data"),
    ]
    decided = judge(CLAIM, [SLOWER, NO_DATA], {})
    assert rows[0]["number"] in decided.evidence


def test_a_ratio_rests_on_its_comparison_and_both_cells(views):
    links, elsewhere = views.of(SLOWER)
    assert [fragment for _, fragment in links] == [
        "comparisons?stage=steady&workload=mha&framework=torch_xla&device=cpu",
        "cell/cpu/torch_xla/mha",
        "cell/cpu/jax/mha",
    ]
    assert elsewhere == ""


def test_what_the_report_does_not_have_is_not_linked(views):
    assert views.of(NO_DATA) == ([], "")
    assert views.of({"id": "tpu:steady/mha/torch_xla", "workload": "mha"}) == ([], "")
    assert views.of({"id": "parity", "title": "MHA"}) == ([], "")


@pytest.mark.parametrize(
    ("identity", "fragments"),
    [
        ("size/mha/torch_xla/raw", ["programs/mha", "graph/mha"]),
        (
            "generations/mha/torch_xla",
            ["programs/mha", "graph/mha", "timeline/mha", "start?workload=mha"],
        ),
        ("matrix_largest/mha", ["start?workload=mha"]),
        ("audit/fences", ["audits/fences"]),
        ("audit/unheard_of", []),
    ],
)
def test_views_of_a_finding(identity, fragments, views):
    links, _ = views.of({"id": identity})
    assert [fragment for _, fragment in links] == fragments


def test_a_vote_of_a_summary_is_linked_by_its_title(views):
    links, _ = views.of({"id": "claim/qkv/torch_xla"}, "MHA")
    assert [fragment for _, fragment in links] == ["programs/mha", "graph/mha"]


def test_what_an_accepted_run_measured_is_said_to_be_there(tmp_path):
    (tmp_path / "stacks.csv").write_text("workload,run\nmha,2026-01-02T0304\n")
    found = Views(DOCUMENT, Folder(tmp_path), {"origin": "measured"})
    said = ([], "cells of the accepted run 2026-01-02T0304")
    assert found.of({"id": "stack/mha/torch_xla"}) == said


def test_every_rule_of_a_claim_is_a_sentence_about_its_findings():
    said = {claim.id: rule(claim.predicate) for claim in definitions.load().claims}
    assert said["faster_steady_basic"] == (
        "The votes are those of the findings steady/ffn/torch_xla or steady/mha/torch_xla. One is for it where "
        "its verdict is slower, against it where that is faster or no difference found. "
        "Every vote must be for it."
    )
    for text in said.values():
        assert "None" not in text and "[" not in text and text.endswith("for it.")
