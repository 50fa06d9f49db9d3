"""The document of a run: claims with what votes on them, and the commands that measure a study."""

from made_tables import cell, comparison
from report_fixture import made_sources
from stackwars.report.gather import GLOSSARY, gather, glossary

STEADY = {"comparisons": [comparison("gemm", 1.5)], "cells": [cell("jax"), cell("torch_xla")]}
CLAIM = {"id": "gemm_steady_pytorch", "origin": "transferred", "sentence": "It is.", "verdict": "contradicted"}


def test_a_claim_has_the_rows_that_vote_on_it(tmp_path):
    document = gather(made_sources(tmp_path, {**STEADY, "claims": [CLAIM]}, {}))
    [claim] = document["claims"]
    assert (claim["verdict"], claim["table"], claim["study"]) == ("contradicted", "comparisons", "tables")
    [vote] = claim["votes"]
    assert (vote["title"], vote["vote"], vote["word"]) == ("GEMM", "against", "slower")
    # By these a reader is led to the comparison.
    assert (vote["quantity"], vote["workload"], vote["subject"]) == ("steady", "gemm", "torch_xla")


def test_a_claim_that_is_not_defined_any_more_is_not_shown(tmp_path):
    document = gather(made_sources(tmp_path, {"claims": [{**CLAIM, "id": "of_long_ago"}]}, {}))
    assert document["claims"] == []


def test_every_study_says_where_it_is_from_and_how_it_is_measured(tmp_path):
    studies = gather(made_sources(tmp_path, STEADY, STEADY))["studies"]
    tables, stacks = studies["tables"], studies["stacks"]
    assert tables["origin"] == "Measured in this run."
    assert (tables["folder"], tables["option"]) == ("results/smoke", "")
    assert stacks["origin"].startswith("From the reference: one accepted run")
    assert stacks["folder"] == "results/smoke-stacks"
    assert stacks["option"] == "--config 'measure=[stacks]' "


def test_raw_results_are_those_of_a_run_of_its_own_or_of_the_newest_of_the_reference(tmp_path):
    own = made_sources(tmp_path, STEADY, STEADY)
    assert gather(own)["raw_run"] == ""
    own.reference.context["run"] = "2026-01-01"
    assert gather(type(own)(own.reference, own.reference, []))["raw_run"] == "2026-01-01"


def test_every_framework_that_is_named_has_a_title(tmp_path):
    rows = {"cells": [cell("jax_shard_map", "ffn", mode="sharded"), cell("jax")], **STEADY}
    document = gather(made_sources(tmp_path, rows, rows))
    named = {row["framework"] for row in document["cells"]}
    assert named <= document["frameworks"].keys()
    assert document["frameworks"]["jax"]["title"] == "JAX"


def test_the_glossary_is_short_and_every_line_of_it_is_a_word():
    text = GLOSSARY.read_text(encoding="utf-8")
    found = glossary(text)
    assert len(found) == sum(line.startswith("- ") for line in text.splitlines()) <= 30
    assert found["baseline"].startswith("what a subject is compared with")
