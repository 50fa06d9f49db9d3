"""A run beside another: what is reproduced, what is not, and how often two runs decide a claim differently."""

import dataclasses
import json

import pytest
import yaml

from claims_fixture import CONTEXT, claim, claims, config, write
from made_tables import accepted, cell, comparison
from snapshots import assert_snapshot
from stackwars.core import documents, machine
from stackwars.publish.paper.tables import claims as tables
from stackwars.study.claims import compare, decide, definitions
from stackwars.study.claims.decide import Confirmations, decide_all
from stackwars.study.claims.definitions import Claims
from stackwars.study.results import runs, schema
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.folder import Folder

KIND = runs.kind(CONTEXT)
PREDICTED = {"predicted_low": 1.0, "predicted_high": 4.0, "machine": KIND}
CLAIM = "faster_steady"


def results(folder, ratios: dict[str, float], status: str = "ok", **context) -> Dataset:
    """A run with these steady ratios of torch_xla, and the claim about them decided."""
    words = {word: "slower" if ratio > 1 else "faster" for word, ratio in ratios.items()}
    rows = [comparison(w, ratio, verdict=words[w], **PREDICTED) for w, ratio in ratios.items()]
    write(folder, context, comparisons=rows, cells=[cell("jax", status=status)])
    made = Dataset(config(), folder)
    schema.write(decide_all(Claims([claims().claim(CLAIM)]), made), folder / "claims.csv")
    return made


def compared(tmp_path, here: dict[str, float], there: dict[str, float], **changes) -> dict:
    return compare.compare(results(tmp_path / "here", here, **changes), results(tmp_path / "there", there))


def outcome(document: dict, identity: str = CLAIM) -> dict:
    return next(row for row in document["claims"] if row["id"] == identity)


def test_a_run_with_the_same_results_reproduces_everything(tmp_path):
    both = {"ffn": 2.0, "mha": 2.0}
    document = compared(tmp_path, both, both)
    assert outcome(document)["outcome"] == compare.REPRODUCED
    assert compare.NOT_REPRODUCED not in {row["outcome"] for row in document["claims"]}
    assert document["summary"] == (
        "Of 1 claims that the reference decides, 1 are reproduced. "
        "Not reproduced: none; not decided here: none; without data here: none. "
        "Of 2 ratios, 2 lie where the reference expects this kind of machine. "
        "Of 2 ratios that both decide, 2 have the direction of the reference."
    )


def test_everything_that_differs_is_named_with_both_sides(tmp_path):
    """Another verdict, ratio and status; and another machine, whose ratios are compared by their sides of 1."""
    sizes = {name: {"batch": 2} for name in ("gemm", "ffn", "mha")}
    machine = {"cpu_model": "Another", "cores": 64}
    here = results(tmp_path / "here", {"ffn": 2.0, "mha": 9.0}, "oom", machine=machine, sizes=sizes)
    document = compare.compare(here, results(tmp_path / "there", {"ffn": 0.5, "mha": 0.5}, sizes=sizes))
    found = outcome(document)
    assert (found["reference"], found["run"]) == ("contradicted", "supported")
    assert found["outcome"] == compare.NOT_REPRODUCED
    assert [row["inside"] for row in document["ratios"]] == [None, None]
    assert [row["same_side"] for row in document["ratios"]] == [False, False]
    known = compared(tmp_path / "known", {"ffn": 2.0, "mha": 9.0}, {"ffn": 1.5, "mha": 1.5})
    assert [row["inside"] for row in known["ratios"]] == [True, False]
    assert [row["same_side"] for row in known["ratios"]] == [True, True]
    assert "The machine is of a kind that the reference has runs of." in known["summary"]
    assert_snapshot("reproduction.txt", compare.report(document) + compare.report(known))


def test_a_claim_is_compared_on_the_rows_that_both_have(tmp_path):
    reference = {"ffn": 2.0, "mha": 0.5, "resnet50": 0.5, "bert_base": 0.5}
    document = compared(tmp_path, {"ffn": 2.0}, reference)
    found = outcome(document)
    assert (found["reference_whole"], found["reference"]) == ("contradicted", "supported")
    assert (found["run"], found["outcome"]) == ("supported", compare.REPRODUCED)
    opposite = compared(tmp_path, {"ffn": 0.5}, reference)
    assert "supported in the reference on what both tested, contradicted here" in compare.report(opposite)


def test_a_claim_without_shared_rows_is_not_decided_here(tmp_path):
    found = outcome(compared(tmp_path, {"ffn": 2.0}, {"mha": 2.0}))
    assert (found["run"], found["outcome"]) == ("not testable here", compare.NOT_MEASURED_HERE)


@pytest.mark.parametrize(
    ("there", "here", "word"),
    [
        ("contradicted", "contradicted", "reproduced"),
        ("supported", "contradicted", "not reproduced"),
        ("supported", "not decided", "not decided here"),
        ("not decided", "supported", "not decided in the reference"),
    ],
)
def test_outcome(there, here, word):
    assert compare.outcome(there, here) == word


def test_only_workloads_of_the_same_sizes_are_compared_and_claims_only_with_all_of_them(tmp_path):
    both = {"ffn": 2.0, "mha": 2.0}
    document = compared(tmp_path, both, both, sizes={**CONTEXT["sizes"], "ffn": {"batch": 1}})
    assert document["claims"] == [] and [row["workload"] for row in document["ratios"]] == ["mha"]
    document = compared(tmp_path, both, both, sizes={})
    assert document["summary"].startswith("Nothing is compared") and document["ratios"] == []


def test_the_reference_itself_is_compared_with_nothing(tmp_path):
    folder = Folder(results(tmp_path, {"ffn": 2.0, "mha": 2.0}).folder)
    compare.write(config().changed(source="reference"), folder)
    assert json.loads(folder["reproduction"].read_text())["summary"] == ""
    text = folder["reproduction_text"].read_text()
    assert "from the reference" in text and "Of 1 claims: 1 supported." in text


def test_a_run_names_its_claims_by_verdict_and_what_would_decide_the_others(tmp_path):
    run = results(tmp_path, {"ffn": 2.0}, studies=["tables"])
    verdicts = [
        ("faster_steady", "supported", 0.0),
        ("gemm_steady_pytorch", "contradicted", 0.0),
        ("gemm_first_pytorch", "not decided", 1.0),
        ("longer_first_models", "not decided", 0.0),
        ("memory_jax", "not testable here", None),
        ("control_holds", "not testable here", None),
    ]
    rows = [
        {"id": name, "verdict": verdict, "votes_open": open_votes} for name, verdict, open_votes in verdicts
    ]
    schema.write(schema.table("claims", rows), run.folder / "claims.csv")
    assert compare.claims_here(Dataset(config(), run.folder)) == (
        "Supported here (1): faster_steady. Contradicted here (1): gemm_steady_pytorch. "
        "Not decided, because results are missing or need more rounds (1): gemm_first_pytorch. "
        "Not decided, because the results are split (1): longer_first_models. "
        "Without data here (1): control_holds. "
        "In studies that this run did not measure (1): make paper STUDIES=targets"
    )


WORDS = {"quantifier": "every", "supports": ["slower"], "contradicts": ["faster"]}
STEADY = claim({**WORDS, "where": {"quantity": "steady"}})


# What was committed before a run.

AUTHOR = ("-c", "user.name=x", "-c", "user.email=x@example.org")


@pytest.fixture
def commit(tmp_path, monkeypatch):
    """Return a function that commits a reference with these steady ratios, and this sentence of CLAIM."""
    repository = tmp_path / "repository"
    monkeypatch.setattr(machine, "REPOSITORY", repository)
    repository.mkdir()
    machine.git("init", "--quiet")
    document = yaml.safe_load(definitions.CLAIMS.read_text())
    row = next(row for row in document["claims"] if row["id"] == CLAIM)

    def function(ratios: dict[str, float], sentence: str = row["sentence"]) -> str:
        results(repository / "results" / "reference", ratios)
        row["sentence"] = sentence
        (repository / "config").mkdir(exist_ok=True)
        (repository / compare.DEFINITIONS).write_text(yaml.safe_dump(document))
        machine.git("add", ".")
        machine.git(*AUTHOR, "commit", "--quiet", "--message", "x")
        return machine.git("rev-parse", "--short=12", "HEAD")

    return function


def confirmed(tmp_path, ratios: dict[str, float], *revisions: str) -> dict:
    run = results(tmp_path / "run", ratios, studies=["tables"])
    return compare.confirmation(run.folder, set(revisions))


def test_a_run_confirms_what_its_revision_had(tmp_path, commit):
    """Nothing that was committed later counts."""
    frozen = commit({"ffn": 2.0, "mha": 2.0, "resnet50": 2.0})
    later = commit({"ffn": 0.5, "mha": 0.5, "resnet50": 0.5})
    document = confirmed(tmp_path, {"ffn": 2.0, "mha": 9.0, "resnet50": 0.5, "vit_b16": 2.0}, frozen, later)
    assert document["revision"].startswith(frozen)
    assert document["directions"] == {"same": 2, "opposite": 1, "not decided": 0}
    assert document["predictions"] == {"inside": 1, "outside": 2}
    assert [(row["id"], row["reference"], row["run"]) for row in document["claims"]] == [
        (CLAIM, "supported", "not decided")
    ]
    assert confirmed(tmp_path, {"ffn": 2.0}, later)["claims"][0]["reference"] == "contradicted"


def test_a_claim_whose_sentence_changed_after_the_run_is_explored(tmp_path, commit):
    frozen = commit({"ffn": 2.0}, sentence="Another sentence.")
    document = confirmed(tmp_path, {"ffn": 2.0}, frozen)
    assert document["claims"] == [] and CLAIM in document["defined_later"]


def test_without_a_committed_reference_nothing_is_confirmed(tmp_path, commit):
    for revisions in ((), ("unknown",), (commit({"ffn": 2.0}), "unknown")):
        document = confirmed(tmp_path, {"ffn": 2.0}, *revisions)
        assert document["revision"] == "" and document["why"]


DIRECTIONS = {"same": 5, "opposite": 1, "not decided": 2}


def confirming(folder, verdicts: dict[str, tuple[str, str]], inside: int = 3, directions: dict = DIRECTIONS):
    """An accepted run with these verdicts of the reference and of its own, by the definition of a claim."""
    run = accepted(folder)
    rows = [{"definition": one, "reference": before, "run": after} for one, (before, after) in verdicts.items()]
    predictions = {"inside": inside, "outside": 0}
    document = {"revision": "abc", "claims": rows, "directions": directions, "predictions": predictions}
    documents.write(run.folder / runs.CONFIRMATION, document)
    return run


def test_runs_count_for_and_against_a_claim_as_it_is_defined(tmp_path):
    other = dataclasses.replace(STEADY, sentence="Other.")
    one, two = (definitions.digest(**vars(claim)) for claim in (STEADY, other))
    both = ("supported", "supported")
    every = [
        confirming(tmp_path / "2026-01", {one: both, two: both}),
        confirming(
            tmp_path / "2026-02", {one: ("supported", "contradicted"), two: ("supported", "not decided")}
        ),
        confirming(tmp_path / "2026-03", {one: ("not decided", "supported")}),
        accepted(tmp_path / "2026-04"),
        # Of compilations alone, it tests nothing.
        confirming(
            tmp_path / "2026-06", {one: ("supported", "not testable here")}, 0, dict.fromkeys(DIRECTIONS, 0)
        ),
    ]
    found = Confirmations(every)
    assert found.columns(STEADY, "supported") == {"confirmed": 1, "refuted": 1}
    assert found.columns(STEADY, "not decided") == {"confirmed": 0, "refuted": 1}
    assert found.columns(other, "supported") == {"confirmed": 1, "refuted": 0}
    assert found.columns(dataclasses.replace(STEADY, tolerance=0.5), "supported") == {
        "confirmed": 0,
        "refuted": 0,
    }
    counted = claim({**WORDS, "where": {"quantity": "hbm"}, "supports": ["more"], "contradicts": ["less"]})
    assert found.columns(counted, "supported") == {}
    summary = found.summary([STEADY, other, counted])
    assert (
        "3 runs" in summary
        and "1 of 2 claims and 15 of 24 directions" in summary
        and "9 of 9 ratios" in summary
    )
    assert "new" in Confirmations([confirming(tmp_path / "2026-05", {}, inside=0)]).summary([STEADY])
    assert "every result is explored" in Confirmations(every[3:]).summary([STEADY])


@pytest.mark.parametrize(
    ("counts", "text", "mark"),
    [
        ((2, 0), "confirmed by 2", "$^{+2}$"),
        ((1, 1), "confirmed by 1, 1 against", "$^{+1-1}$"),
        ((0, 0), "explored", ""),
        ((float("nan"), float("nan")), "", ""),
    ],
)
def test_what_is_printed_beside_a_verdict(counts, text, mark):
    row = {"verdict": "supported", **dict(zip(("confirmed", "refuted"), counts, strict=True))}
    assert (decide.label(row), tables.confirmed(row)) == (text, mark)
