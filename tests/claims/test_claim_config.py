"""claims.yaml: what is wrong is refused with the claim, the key, what was expected and what came."""

from __future__ import annotations

import copy

import pytest
import yaml

from stackwars.claims.definitions import CLAIMS, SCHEMA, ClaimError, load, parse

DOCUMENT = yaml.safe_load(CLAIMS.read_text())


def test_each_limitation_and_each_other_source_has_a_claim_that_answers_it():
    answered = {claim.answers for claim in load().claims} - {""}
    known = yaml.safe_load(SCHEMA.read_text())["$defs"]["claim"]["properties"]["answers"]["enum"]
    assert answered == set(known)


def document(**changes) -> dict:
    """The committed claims with keys of the first one changed; None takes a key away."""
    made = copy.deepcopy(DOCUMENT)
    for key, value in changes.items():
        if value is None:
            del made["claims"][0][key]
        else:
            made["claims"][0][key] = value
    return made


def test_the_committed_claims_are_those_of_the_paper_and_ours():
    claims = load().claims
    origins = [claim.origin for claim in claims]
    assert origins.count("published") >= 15
    assert origins.count("ours") >= 8
    assert load().claim("one_run_jax").needs["devices"] == ["cpu"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"origin": "theirs"}, ["origin", "published", "theirs"]),
        ({"answers": "limitation 5"}, ["answers", "limitation 4", "limitation 5"]),
        ({"tolerance": None}, ["the claim", "tolerance"]),
        ({"tolerance": -1}, ["tolerance", "-1"]),
        ({"sentence": "no capital"}, ["sentence", "no capital"]),
        ({"remark": "x"}, ["remark", "no such key; known keys are answers, human_minutes"]),
        ({"needs": {"devices": ["gpu"], "stages": ["cells"]}}, ["needs.devices", "gpu"]),
        (
            {"needs": {"devices": ["cpu"], "stages": ["cells"], "workloads": ["gem"]}},
            ["gemm", "gem"],
        ),
        (
            {"needs": {"devices": ["cpu"], "stages": ["cells"], "frameworks": ["tensorflow"]}},
            ["needs.frameworks", "expected one of jax", "tensorflow"],
        ),
    ],
)
def test_a_wrong_claim_is_named_with_its_key(changes, said):
    with pytest.raises(ClaimError) as caught:
        parse(document(**changes))
    for words in ("tpu_faster_steady", "config/claims.yaml", *said):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    "predicate",
    [
        {"findings": ["a/*"], "quantifier": "every"},
        {"findings": ["a/*"], "quantifier": "every", "number": "x"},
        {"findings": ["a/*"], "quantifier": "every", "number": "x", "at_most": 1, "at_least": 0},
        {"findings": ["a/*"], "quantifier": "every", "holds": ["slower"]},
        {"findings": ["a/*"], "quantifier": "few", "holds": ["slower"], "fails": []},
        {"findings": [], "quantifier": "every", "holds": ["slower"], "fails": []},
        {"findings": ["a/*"], "quantifier": "every", "holds": ["slowish"], "fails": []},
        {"findings": ["a/*"], "quantifier": "every", "holds": [], "fails": [], "python": "1"},
    ],
)
def test_a_predicate_has_one_of_the_closed_forms(predicate):
    with pytest.raises(ClaimError, match="tpu_faster_steady: predicate"):
        parse(document(predicate=predicate))


def test_a_predicate_of_no_form_is_told_the_forms():
    with pytest.raises(ClaimError, match=r"one of: holds and fails.*; counts.* came .*at_least"):
        parse(document(predicate={"findings": ["a/*"], "quantifier": "every", "at_least": 0}))


def test_two_claims_have_two_ids():
    made = document()
    made["claims"].append(copy.deepcopy(made["claims"][0]))
    with pytest.raises(ClaimError, match="tpu_faster_steady: id"):
        parse(made)


def test_an_unknown_claim_names_those_there_are():
    with pytest.raises(ClaimError, match="one_run_jax"):
        load().claim("one_run")
