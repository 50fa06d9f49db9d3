"""Predicates: who votes, for what, and what the votes amount to."""

from __future__ import annotations

import math

import pytest

from stackwars.claims.definitions import Claim
from stackwars.claims.evidence import tally
from stackwars.claims.judge import judge
from stackwars.claims.predicates import digits
from stackwars.claims.verdicts import quantified
from stackwars.results.verdicts import finding

WORDS = {"findings": ["steady/*/torch_xla"], "holds": ["slower"], "fails": ["faster"]}
HERE = {"cpu": {"present": True}}


def claim(predicate: dict, tolerance: float = 0.02, devices: tuple = ("cpu",)) -> Claim:
    predicate = {"quantifier": "every", **predicate}
    needs = {"devices": list(devices), "stages": ["cells"]}
    return Claim("one", "ours", "One.", predicate, needs, tolerance, 1)


def steady(workload: str, verdict: str, ratio: float | None = None, **more) -> dict:
    ends = {} if ratio is None else {"low": ratio * 0.9, "high": ratio * 1.1}
    names = {"title": workload.upper(), "workload": workload}
    return finding(f"steady/{workload}/torch_xla", verdict, **names, ratio=ratio, **ends, **more)


@pytest.mark.parametrize(
    ("quantifier", "votes", "verdict"),
    [
        ("every", (3, 0, 0), "supported"),
        ("every", (3, 1, 5), "contradicted"),
        ("every", (3, 0, 1), "not decided"),
        ("most", (3, 2, 0), "supported"),
        ("most", (2, 2, 0), "contradicted"),
        ("most", (3, 1, 2), "not decided"),
        ("most", (4, 1, 2), "supported"),
        ("any", (1, 5, 0), "supported"),
        ("any", (0, 5, 0), "contradicted"),
        ("any", (0, 5, 1), "not decided"),
        ("none", (0, 5, 0), "supported"),
        ("none", (1, 5, 1), "contradicted"),
        ("none", (0, 5, 1), "not decided"),
        ("every", (0, 0, 0), "not testable here"),
    ],
)
def test_open_votes_leave_open_only_what_they_could_change(quantifier, votes, verdict):
    assert quantified(quantifier, *votes) == verdict


def test_an_infinite_error_is_a_word():
    assert digits(math.inf) == "infinite"


def test_an_unknown_quantifier_is_refused():
    with pytest.raises(ValueError, match="every, most, any or none; came 'some'"):
        quantified("some", 1, 0, 0)


def test_a_word_votes_and_the_evidence_counts_and_lists():
    found = [
        steady("gemm", "slower", 1.7),
        steady("mha", "slower", 2.0),
        steady("ffn", "faster", 0.8),
        steady("conv", "unresolved", 1.2),
        steady("llama", "no data"),
        finding("first/gemm/torch_xla", "faster"),
    ]
    made = judge(claim(WORDS), found, HERE)
    assert made.verdict == "contradicted"
    assert made.evidence == (
        "slower in 2 of 4: GEMM 1.70 (1.53 to 1.87), MHA 2.00 (1.80 to 2.20); faster in 1: FFN 0.800 (0.720 to "
        "0.880); unresolved in 1: CONV 1.20 (1.08 to 1.32); no data for LLAMA"
    )


def test_a_direction_within_the_tolerance_decides_nothing():
    found = [steady("gemm", "slower", 1.015)]
    assert judge(claim(WORDS), found, HERE).verdict == "not decided"
    assert judge(claim(WORDS, tolerance=0.01), found, HERE).verdict == "supported"


def test_where_selects_by_fields():
    found = [steady("gemm", "slower", kind="basic"), steady("bert", "faster", kind="model")]
    for kind, verdict in (("basic", "supported"), ("model", "contradicted")):
        assert judge(claim(WORDS | {"where": {"kind": kind}}), found, HERE).verdict == verdict
    every = WORDS | {"where": {"kind": ["basic", "model"]}, "quantifier": "any"}
    assert judge(claim(every), found, HERE).verdict == "supported"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(12.0, "supported"), (10.5, "not decided"), (9.5, "not decided"), (8.0, "contradicted")],
)
def test_a_number_votes_beyond_its_tolerance(value, verdict):
    limit = {"findings": ["stabilising/*"], "number": "slowdown", "at_least": 10}
    found = [finding("stabilising/mha", "one slow run", slowdown=value)]
    assert judge(claim(limit, tolerance=0.1), found, HERE).verdict == verdict


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(0.05, "supported"), (0.1, "not decided"), (0.2, "contradicted")]
)
def test_a_ratio_votes_by_its_interval(ratio, verdict):
    limit = {"findings": ["steady/*/torch_xla"], "number": "ratio", "at_most": 0.1}
    made = judge(claim(limit, 0), [steady("gemm", "faster", ratio)], HERE)
    assert made.verdict == verdict
    assert made.evidence.startswith("open") == (verdict == "not decided")


def test_a_summary_votes_with_its_counts():
    counts = {"findings": ["claim/qkv/*"], "counts": {"holds": ["holds"], "fails": ["fails"]}}
    found = [finding("claim/qkv/torch_xla", "holds in part", holds=["MHA"], fails=["BERT", "ViT"])]
    made = judge(claim(counts | {"quantifier": "most"}), found, HERE)
    assert (made.verdict, made.evidence) == (
        "contradicted",
        "as claimed in 1 of 3: MHA; not as claimed in 2: BERT, ViT",
    )


def test_a_claim_without_data_says_why():
    away = {"tpu": {"present": False, "reason": "no chip"}}
    made = judge(claim(WORDS, devices=("tpu",)), [], away)
    assert (made.verdict, made.evidence) == ("not testable here", "no TPU here (no chip)")
    silent = [steady(name, "no data") for name in ("gemm", "ffn")]
    made = judge(claim(WORDS), silent, HERE)
    assert (made.verdict, made.evidence) == ("not testable here", "none of 2 results has data")
    assert judge(claim(WORDS), silent[:1], HERE).evidence == "its only result has no data"


@pytest.mark.parametrize(
    ("quantifier", "verdict"),
    [
        ("every", "not decided"),
        ("most", "supported"),
        ("any", "supported"),
        ("none", "contradicted"),
    ],
)
def test_what_has_no_data_could_have_said_anything(quantifier, verdict):
    found = [steady("a", "slower", 1.5), steady("b", "slower", 1.5), steady("c", "no data")]
    assert judge(claim(WORDS | {"quantifier": quantifier}), found, HERE).verdict == verdict
    found = [steady("a", "faster", 0.5), steady("b", "no data"), steady("c", "no data")]
    there = judge(claim(WORDS | {"quantifier": "most"}), found, HERE)
    assert (there.verdict, tally(there.evidence)) == ("not decided", "faster")


def test_the_counts_can_be_taken_out_of_the_evidence_again():
    found = [steady(name, "slower", 1.5) for name in ("a", "b")] + [steady("c", "faster", 0.5)]
    made = judge(claim(WORDS), [*found, steady("d", "no data")], HERE)
    assert tally(made.evidence) == "slower in 2 of 3, faster in 1"
    assert tally(judge(claim(WORDS), found[:1], HERE).evidence) == "slower"


def test_of_many_findings_the_ends_are_told():
    found = [steady(f"w{n}", "slower", 1.5 + n) for n in range(9)]
    told = judge(claim(WORDS), found, HERE).evidence
    assert told == "slower in 9 of 9: from 1.50 (1.35 to 1.65) (W0) to 9.50 (8.55 to 10.5) (W8)"


def test_other_frameworks_and_compilers_are_named():
    words = {"findings": ["effect/*/*/*", "stabilising/*/*"], "holds": ["x"], "fails": []}
    found = [
        finding("effect/mha/torch_xla/jaxlib-0.7.1", "x", title="MHA", compiler="jaxlib-0.7.1"),
        finding("stabilising/mha/jax", "x", title="MHA", framework="jax"),
        finding("stabilising/mha/torch_xla", "x", title="MHA", framework="torch_xla"),
    ]
    told = judge(claim(words), found, HERE).evidence
    assert told == "x in 3 of 3: MHA (jaxlib 0.7.1), MHA under JAX, MHA under torch_xla"


def test_a_short_word_can_be_said_otherwise():
    words = {"findings": ["caches"], "holds": ["holds"], "fails": [], "says": {"holds": "no hit"}}
    assert judge(claim(words), [finding("caches", "holds")], HERE).evidence == "no hit"
