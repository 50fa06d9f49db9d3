"""What votes amount to: the verdict, the count that decides, the evidence, and claims.csv."""

import pandas as pd
import pytest

from claims_fixture import claim, claims, config, dataset, write
from made_tables import comparison
from stackwars.core.launch import REPOSITORY
from stackwars.measure import workloads
from stackwars.study.claims import decide, pages
from stackwars.study.claims.decide import decide as decided
from stackwars.study.claims.definitions import Claim, is_counted, listed, study_of
from stackwars.study.claims.votes import Tally, margin, quantified
from stackwars.study.results import effects, schema
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.folder import REFERENCE, Folder
from stackwars.study.studies import Study, full_study

WORDS = {"where": {"quantity": "steady"}, "supports": ["slower"], "contradicts": ["faster"]}


@pytest.mark.parametrize(
    ("quantifier", "votes", "verdict", "count"),
    [
        ("every", (3, 0, 0), "supported", "3 of 3 for (3 needed)"),
        ("every", (3, 1, 5), "contradicted", "3 of 9 for, 1 against (9 needed)"),
        ("every", (3, 0, 1), "not decided", "3 of 4 for (4 needed)"),
        ("most", (3, 2, 0), "not decided", "3 of 5 for, 2 against (4 needed)"),
        ("most", (4, 1, 0), "supported", "4 of 5 for, 1 against (4 needed)"),
        ("most", (2, 2, 0), "not decided", "2 of 4 for, 2 against (4 needed)"),
        ("most", (1, 3, 0), "contradicted", "1 of 4 for, 3 against (4 needed)"),
        ("most", (4, 1, 2), "not decided", "4 of 7 for, 1 against (5 needed)"),
        ("most", (5, 0, 2), "supported", "5 of 7 for (5 needed)"),
        ("most", (2, 0, 0), "supported", "2 of 2 for (2 needed)"),
        ("most", (0, 1, 0), "contradicted", "0 of 1 for, 1 against (1 needed)"),
    ],
)
def test_open_votes_leave_open_only_what_they_could_change(quantifier, votes, verdict, count):
    assert quantified(quantifier, Tally(*votes)) == verdict
    assert margin(quantifier, Tally(*votes)) == count


@pytest.mark.parametrize(
    ("count", "why"),
    [(0, "nothing in this run is about it"), (1, "its only result has no data"), (2, "none of 2 results")],
)
def test_a_claim_without_data_says_why(count, why, tmp_path):
    rows = [comparison(name, 1.0, verdict="no data") for name in ("gemm", "mha")[:count]]
    found = decided(claim(WORDS), dataset(tmp_path, comparisons=rows))
    assert (found.verdict, found.margin, found.votes_open) == ("not testable here", "", count)
    assert found.evidence.startswith(why)


def test_a_claim_about_an_absent_device_or_a_study_that_was_not_measured_says_so(tmp_path):
    data = dataset(tmp_path, comparisons=[comparison("mha", 2.0)])
    away = claim({**WORDS, "where": {"device": "tpu"}})
    assert decided(away, data).evidence == "no TPU here (no chip)"
    partly = Dataset(config().changed(measure=["beyond"]), tmp_path)
    found = decided(claim(WORDS), partly)
    assert (found.verdict, found.evidence) == ("not testable here", "this run did not measure the study tables")
    assert decided(claim(WORDS), Dataset(partly.config, tmp_path, is_reference=True)).verdict == "supported"


def world(one: Claim, holds: bool) -> dict[str, list[dict]]:
    """The tables of a run in which a committed claim holds, or does not, by a single row."""
    query, study = one.query, full_study(config(), study_of(config(), one))
    row = {column: listed(wanted)[0] for column, wanted in query["where"].items()}
    kinds = (row.get("kind"), None)
    row.setdefault(
        "workload", next(w for w in study.workloads if workloads.load(w).KIND in kinds or not kinds[0])
    )
    side = {"comparisons": "subject", "cells": "framework", "programs": "framework"}.get(query["table"])
    if side:
        row.setdefault(side, (*study.frameworks, *study.programs, "jax")[0])
    if query["table"] == "cells":
        row = {"mode": "native", "status": "ok", **row}
    if "number" in query:
        if "below" in query:
            limit = row | query["below"]
            value = {True: 1.0, False: 3.0}[holds]
            rows = [row | {"workload": "resnet50"} | _number(query, value), limit | _number(query, 2.0)]
            return {query["table"]: rows}
        limit = query.get("at_most", query.get("at_least"))
        beyond = limit + (1 + limit) * (1 if ("at_least" in query) == holds else -0.9)
        row |= _number(query, beyond if beyond > 0 else limit / 2)
    else:
        row |= {"ratio": 2.0} if query["table"] == "comparisons" else {}
        row[query.get("field", "verdict")] = query["supports" if holds else "contradicts"][0]
    return {query["table"]: [row, *(row | {"subset": name} for name in _left_out(query, study))]}


def _left_out(query: dict, study: Study) -> list[str]:
    levels = {"compiler": study.compilers, "frontend": study.programs}
    return [effects.without(factor, level) for factor in query.get("leave_out", ()) for level in levels[factor]]


def _number(query: dict, value: float) -> dict:
    name = query["number"]
    if name == "ratio":
        return {name: value, "error": 1e-9, "dof": 2.0}
    low, high = (name.replace("_ms", f"_{end}_ms") for end in ("low", "high"))
    return {name: value} | ({low: value, high: value} if low in schema.TABLES[query["table"]] else {})


@pytest.mark.parametrize("one", claims().claims, ids=lambda one: one.id)
def test_every_committed_claim_can_be_supported_and_contradicted(one, tmp_path):
    for holds, verdict in ((True, "supported"), (False, "contradicted")):
        assert decided(one, dataset(tmp_path, **world(one, holds))).verdict == verdict


def test_claims_csv_has_every_claim(tmp_path):
    write(tmp_path, comparisons=[comparison("gemm", 2.0)])
    decide.write(config(), Folder(tmp_path))
    found = schema.read(tmp_path / "claims.csv").set_index("id")
    assert list(found.index) == [one.id for one in claims().claims]
    gemm = found.loc["gemm_steady_pytorch"]
    assert (gemm["verdict"], gemm["margin"], gemm["votes_against"]) == (
        "contradicted",
        "0 of 1 for, 1 against (1 needed)",
        1.0,
    )
    assert found["confirmed"].isna().all(), "a run confirms the reference's claims, not its own"
    decide.write(config().changed(source="reference"), Folder(tmp_path))
    found = schema.read(tmp_path / "claims.csv").set_index("id")
    assert found["confirmed"].notna().tolist() == [not is_counted(one) for one in claims().claims]


def test_the_pages_say_what_the_reference_says(reference_tables, tmp_path):
    """Made again from the accepted runs, the committed tables and the blocks of the pages stay as they are."""
    cure = "fix: .venv/bin/python -m stackwars.study.claims.pages"
    for name in ("comparisons", "claims"):
        made, committed = (schema.read(path) for path in (reference_tables[name], REFERENCE / f"{name}.csv"))
        assert len(made) == len(committed), (
            f"{name}.csv: expected {len(made)} rows, got {len(committed)}; {cure}"
        )
        pd.testing.assert_frame_equal(made, committed, rtol=1e-9, obj=f"{name}.csv ({cure})")
    written = (pages.README, pages.TABLE, pages.PROTOCOL)
    for page in written:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text((REPOSITORY / page).read_text())
    pages.write(tmp_path, reference_tables.results)
    for page in written:
        is_current = (tmp_path / page).read_text() == (REPOSITORY / page).read_text()
        assert is_current, f"{page} says something else; {cure}"


def test_text_goes_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- claims -->\nold\n<!-- /claims -->\nafter\n")
    for _ in range(2):
        pages.replace_section(page, "claims", "new")
    assert page.read_text() == "before\n<!-- claims -->\nnew\n<!-- /claims -->\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="once each"):
        pages.replace_section(page, "claims", "")
