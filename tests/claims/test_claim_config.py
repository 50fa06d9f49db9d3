"""claims.yaml: what is wrong is refused with the claim, the key, what was expected, what was found and a fix."""

import copy
import re

import pytest
import yaml

from stackwars.study.claims.definitions import CLAIMS, SCHEMA, ClaimError, load, parse

DOCUMENT = yaml.safe_load(CLAIMS.read_text())
WORD = {"table": "comparisons", "quantifier": "every", "supports": ["slower"], "contradicts": []}
NUMBER = {"table": "cells", "quantifier": "every", "number": "first_ms"}


def document(**changes) -> dict:
    """The committed claims with keys of the first one changed; None takes a key away."""
    made = copy.deepcopy(DOCUMENT)
    first = {**made["claims"][0], **changes}
    made["claims"][0] = {key: value for key, value in first.items() if value is not None}
    return made


def refused(**changes) -> str:
    with pytest.raises(ClaimError) as caught:
        parse(document(**changes))
    said = str(caught.value)
    assert said.startswith("claims: faster_steady: ") and "fix: config/claims.yaml" in said
    return said


def test_each_limitation_and_each_other_source_has_a_claim_that_responds_to_it():
    known = yaml.safe_load(SCHEMA.read_text())["$defs"]["claim"]["properties"]["responds_to"]["enum"]
    assert {claim.responds_to for claim in load().claims} - {""} == set(known)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"origin": "theirs"}, 'origin: expected one of published, transferred, ours, got "theirs"'),
        ({"sentence": None}, "the claim: expected the keys sentence"),
        ({"tolerance": -1}, "tolerance: expected a number of at least 0, got -1"),
        ({"remark": "x"}, "remark: expected no such key; known keys are id, origin"),
    ],
)
def test_a_wrong_claim_is_named_with_its_key(changes, said):
    assert said in refused(**changes)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({**WORD, "table": "findings"}, "query.table: expected one of comparisons, cells, programs"),
        ({**WORD, "where": {"stage": "steady"}}, "query.where: expected a column of comparisons: q"),
        ({**WORD, "where": {"quantity": "stedy"}}, "query.where.quantity: expected one of .*compiler"),
        (
            {**WORD, "where": {"device": "cpuu"}},
            "query.where.device: expected one of .*cpu, cpu-1t.* got .cpuu",
        ),
        ({**WORD, "study": "stakcs"}, "query.study: expected one of tables, .*stacks.* got .stakcs"),
        ({**WORD, "where": {"ratio": {"over": 1}}}, "query.where.ratio: expected a value of type"),
        ({**WORD, "field": "slow_runs"}, "query.field: expected a column of comparisons"),
        ({**WORD, "field": "ratio"}, "query.field: expected a column with words: .*verdict.* got .ratio"),
        ({**WORD, "supports": ["slowish"]}, "query.supports.0: expected one of .*slower"),
        ({**WORD, "quantifier": "few"}, "query.quantifier: expected one of every, most"),
        (
            {**NUMBER, "number": "status", "below": {"workload": "gemm"}},
            "query.number: expected a column with numbers: v",
        ),
        ({**WORD, "leave_out": ["compiler"]}, "query.leave_out: expected the table effects, .*comparisons"),
        ({**WORD, "leave_out": ["workload"]}, "query.leave_out.0: expected one of compiler, frontend"),
    ],
)
def test_a_query_names_tables_columns_and_words_that_exist(query, said):
    assert re.search(said, refused(query=query))


@pytest.mark.parametrize(
    "query",
    [
        {key: value for key, value in WORD.items() if key != "contradicts"},
        {**WORD, "number": "ratio", "at_most": 1},
        {**NUMBER, "at_most": 1},
        {**NUMBER, "number": "ratio", "at_most": 1, "at_least": 0},
        {**WORD, "python": "1"},
    ],
)
def test_a_query_has_one_of_the_closed_forms(query):
    assert "query: expected" in refused(query=query) or "query.python" in refused(query=query)


def test_a_query_of_no_form_is_shown_the_forms():
    assert "one of: supports and contradicts, by a word of each row; number and at_most" in refused(
        query=NUMBER
    )


def test_two_claims_have_two_ids_and_an_unknown_id_names_those_there_are():
    made = document()
    made["claims"].append(copy.deepcopy(made["claims"][0]))
    with pytest.raises(ClaimError, match="faster_steady: id: expected an id that no other claim has"):
        parse(made)
    with pytest.raises(ClaimError, match=r"the whole file: id: expected one of .*one_run_jax"):
        load().claim("one_run")
