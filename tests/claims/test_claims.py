"""Claims from synthetic results: each verdict follows its data, and the paper's words follow it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from jinja2 import nodes

import claims_fixture
import compiler_fixture
import paper_fixture
from claim_worlds import WORLDS
from stackwars.claims import pages
from stackwars.claims.output import COLUMNS, Judged, read_claims
from stackwars.claims.predicates import matches
from stackwars.claims.verdicts import ORIGINS
from stackwars.paper.latex import escape
from stackwars.paper.render import SUFFIX, environment, template_names
from stackwars.paper.tables.claims import MOST_LINES, claims_table, experiments
from stackwars.results import folder as folders
from stackwars.results import split
from stackwars.results.read_cells import read_json
from stackwars.setup.environments import REPOSITORY
from stackwars.study.comparisons import CELLS, comparisons

PAPER = REPOSITORY / "paper"
REFERENCE = folders.REFERENCE / "claims.csv"


def read(folder: Path, section: str) -> str:
    """One section of the paper, or one table of claims, with single spaces."""
    if section in ORIGINS:
        return (folder / "claim_tables" / f"{section}.tex").read_text()
    names = template_names(folders.Folder(folder)) | {"listings": [], "forms": [], "graphs": []}
    text = environment(PAPER).get_template(f"sections/{section}{SUFFIX}").render(names)
    return " ".join(text.split())


def words(text: str) -> str:
    """A text without its numbers."""
    return re.sub(r"[-+\d.,%~\s]|\\num|\\qty|\\percent", "", text)


def test_every_claim_has_its_two_worlds():
    assert [claim.id for claim in claims_fixture.claims().claims] == list(WORLDS)


@pytest.mark.parametrize("identity", WORLDS)
def test_a_claim_s_data_flips_its_verdict_and_the_paper_s_words(identity, tmp_path):
    world, found = WORLDS[identity], {}
    for verdict, change in (("supported", world.holds), ("contradicted", world.fails)):
        folder = paper_fixture.write(tmp_path / verdict)
        change(folder)
        claim = claims_fixture.decide(folder)[identity]
        assert claim["verdict"] == verdict, claim["evidence"]
        table = read(folder, claim["origin"])
        assert f"{escape(claim['sentence'])} & {verdict} & {escape(claim['evidence'])}" in table
        found[verdict] = words(read(folder, world.section))
    assert found["supported"] != found["contradicted"]


def test_conclusion_and_abstract_say_the_verdicts(tmp_path):
    folder = paper_fixture.write(tmp_path / "one")
    WORLDS["faster_steady_models"].holds(folder)
    claims = claims_fixture.decide(folder)
    told = r"\emph{Supported:} JAX has the lower steady-state latency in every model"
    assert told in read(folder, "conclusion")
    judged = Judged(list(claims.values()))
    tally = judged.tally("published")
    assert sum(tally.values()) == len(judged.group(origin="published"))
    told = "Of that study's claims that can be tested here as stated, the data supports "
    told += f"{tally['supported'] or 'none'} and contradicts {tally['contradicted'] or 'none'}."
    assert told in read(folder, "abstract")
    told = f"this build supports {tally['supported']} (Table"
    assert told in read(folder, "claims")


@pytest.mark.parametrize("variant", ["nothing", "one_failed", "single"])
def test_a_run_that_measured_too_little_decides_no_latency(variant, tmp_path):
    claims = claims_fixture.decide(paper_fixture.write(tmp_path, variant))
    for identity in ("faster_steady_models", "gemm_first_pytorch", "program_is_reason"):
        assert claims[identity]["verdict"] in ("not decided", "not testable here"), identity


DECIDED_BY_COUNTS = {
    *("training_agrees", "new_shapes_compile", "division_keeps_output", "same_collectives"),
    "llama_fits_four_chips",
    *(
        "jax_returns_early",
        "two_runs_pytorch",
        "second_run_models",
        "one_run_jax",
        "smaller_graphs",
    ),
    *(
        "memory_jax",
        "temporaries_jax",
        "room_jax",
        "oom_pytorch",
        "oom_llama_both",
        "what_ran_fits",
    ),
    *("flattening", "layernorm_form", "qkv_combined", "contraction", "layernorm_longer"),
    *("bert_larger_graph", "flattening_costs", "fusion", "outputs_agree", "first_is_first"),
    *("steady_compiles_nothing", "pending_two_runs", "compiling_dominates", "gemm_same_program"),
    *("memory_close", "default_precision_smaller", "generations_agree_fit"),
    *("successor_keeps_form", "successor_has_other_form", "successor_norm_and_qkv"),
}
"""Claims that rest on counts, bytes or outputs, which have no interval."""


def without_evidence(folder: Path) -> None:
    """Every ratio as it would be of rounds that say nothing: an interval from a tenth to ten times."""
    for name, terms in {
        "ratios": ("first", "second", "steady"),
        "split": ("native", "ir", "runtime", "lead", "control"),
        "replay": ("edited",),
    }.items():
        table = pandas.read_csv(folder / f"{name}.csv")
        for term in terms:
            known = table[f"{term}_ratio"].notna()
            columns = compiler_fixture.ratio_columns(term, 1.3, 2.3)
            for column, value in columns.items():
                table.loc[known, column] = value
            if name == "ratios":
                table.loc[known, f"{term}_verdict"] = "unresolved"
        table = split.decided(table) if name == "split" else table
        table.to_csv(folder / f"{name}.csv", index=False)
    stacks = pandas.read_csv(folder / "stacks.csv")
    known = stacks.steady_ratio.notna()
    wide = {"steady_ratio": 1.3, "steady_ratio_low": 0.13, "steady_ratio_high": 13.0}
    for column, value in {**wide, "steady_verdict": "unresolved", "steady_error": 0.7}.items():
        stacks.loc[known, column] = value
    stacks.to_csv(folder / "stacks.csv", index=False)
    matrix = pandas.read_csv(folder / "matrix.csv")
    matrix.loc[matrix.previous_ratio.notna(), "previous_verdict"] = "unresolved"
    matrix.to_csv(folder / "matrix.csv", index=False)
    effects = pandas.read_csv(folder / "matrix_effects.csv")
    effects["share_low"], effects["share_high"] = -1.0, 2.0
    effects.to_csv(folder / "matrix_effects.csv", index=False)
    beyond = pandas.read_csv(folder / "beyond.csv")
    for known in [name for name in beyond if name.endswith("_verdict")]:
        beyond.loc[beyond[known].notna(), known] = "unresolved"
    beyond.to_csv(folder / "beyond.csv", index=False)
    growth = pandas.read_csv(folder / "growth.csv")
    growth["compile_cost_ms"] *= 1 + 9 * (growth["value"] == 2)
    growth.to_csv(folder / "growth.csv", index=False)
    frame = pandas.read_csv(folder / "frame.csv")
    frame["first_low_ms"], frame["first_high_ms"] = frame.first_ms / 10, frame.first_ms * 10
    frame.to_csv(folder / "frame.csv", index=False)


def test_in_a_world_without_evidence_nothing_is_decided(tmp_path):
    folder = paper_fixture.write(tmp_path)
    without_evidence(folder)
    claims = claims_fixture.decide(folder)
    assert set(claims) > DECIDED_BY_COUNTS
    for identity in set(claims) - DECIDED_BY_COUNTS:
        found = claims[identity]
        assert found["verdict"] in ("not decided", "not testable here"), (identity, found)


def test_claims_of_an_absent_device_say_which(tmp_path):
    claim = claims_fixture.decide(paper_fixture.write(tmp_path))["tpu_faster_steady"]
    assert claim["verdict"] == "not testable here"
    assert claim["evidence"] == "no TPU here (no TPU chip found)"


def test_the_file_has_the_columns_that_are_described(tmp_path):
    claims_fixture.decide(paper_fixture.write(tmp_path))
    header = (tmp_path / "claims.csv").read_text().splitlines()[0]
    assert header.split(",") == list(COLUMNS)


def used(template: str, findings: list[dict]) -> set[str]:
    """Ids of the findings that a template can get; what it asks for where there is none of these."""
    found = set()
    for call in environment(PAPER).parse(template).find_all(nodes.Call):
        if not isinstance(call.node, nodes.Name) or call.node.name not in ("finding", "group"):
            continue
        one = call.args[0]
        whole = isinstance(one, nodes.Const)
        start = one.value if whole else next(one.find_all(nodes.Const)).value
        if call.node.name == "group":
            start += "/"
            whole = False
        given = {k.key: k.value for k in call.kwargs}
        fixed = {key: value.value for key, value in given.items() if isinstance(value, nodes.Const)}
        main = [key for key, value in given.items() if getattr(value, "name", "") == "subject"]
        fixed |= dict.fromkeys(main, claims_fixture.config()["comparisons"][0]["subject"])
        ids = {
            f["id"]
            for f in findings
            if (f["id"] == start or (not whole and f["id"].startswith(start)))
            and all(f.get(key) == value for key, value in fixed.items())
        }
        found |= ids or {start if whole else f"{start}*"}
    return found


def orphans(template: str, findings: list[dict]) -> set[str]:
    """What a template asks for and what belongs to no claim, nor is a description of the run."""
    all_ = claims_fixture.claims()
    patterns = [p for claim in all_.claims for p in claim.patterns] + all_.descriptive
    return {identity for identity in used(template, findings) if not matches(identity, patterns)}


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    folder = paper_fixture.write(tmp_path_factory.mktemp("full"))
    claims_fixture.decide(folder)
    return read_json(folder / "findings.json")["findings"]


@pytest.mark.parametrize("template", sorted(PAPER.rglob(f"*{SUFFIX}")), ids=lambda path: path.name)
def test_every_finding_of_a_sentence_belongs_to_a_claim(template, findings):
    assert orphans(template.read_text(), findings) == set()


def test_a_sentence_without_a_claim_is_found(findings):
    lone = [
        *findings,
        {"id": "steady/mha/new", "verdict": "slower"},
        {"id": "new/mha", "verdict": "x"},
    ]
    text = r'\VAR{finding("nobody").verdict} \VAR{group("new")|length} \VAR{group("steady")|length}'
    assert orphans(text, lone) >= {"nobody", "new/mha", "steady/mha/new"}
    assert orphans(r'\VAR{group("steady", framework=subject)|length}', lone) == set()


def test_every_pattern_of_a_claim_is_of_findings_that_there_are(findings):
    heads = {"audit", *(f["id"].split("/")[0] for f in findings)}
    for claim in claims_fixture.claims().claims:
        for pattern in claim.patterns:
            assert pattern.split("/")[0].removeprefix("tpu:") in heads, (claim.id, pattern)


def test_every_claim_has_a_row_of_what_it_takes(tmp_path):
    folder = paper_fixture.write(tmp_path)
    rows = claims_fixture.decide(folder)
    claims_fixture.with_experiments(folder)
    artifact = (folder / "claim_tables" / "artifact.tex").read_text()
    assert all(str(escape(f"claim_{identity}")) in artifact for identity in rows)


def test_what_a_preset_runs_nothing_for_is_said():
    config = claims_fixture.config()  # without what other studies than the first need
    claim = claims_fixture.claims().claim("sparse_experts_pay")
    assert experiments(claim, config) == "nothing of this preset (moe, moe_sorted)"
    needs = {"devices": ["cpu"], "stages": [], "study": "beyond"}
    assert experiments(replace(claim, needs=needs), config) == "nothing of this preset"


def test_a_table_of_claims_ends_before_half_a_page_does(tmp_path):
    rows = list(claims_fixture.decide(paper_fixture.write(tmp_path)).values())
    many = [
        {**rows[0], "origin": "ours", "sentence": f"Sentence {n}.", "evidence": ""}
        for n in range(MOST_LINES + 1)
    ]
    pair = comparisons(claims_fixture.config(), CELLS)[0]
    parts = claims_table(many, "ours", pair).split(r"\begin{table*}")[1:]
    assert [part.count("Sentence ") for part in parts] == [19, 18]
    assert [r"\label{tab:claims-ours}" in part for part in parts] == [True, False]
    assert "(Continued)" in parts[1] and "(Continued)" not in parts[0]


def test_the_pages_are_the_generated_ones(tmp_path):
    written = (pages.README, pages.TABLE, pages.PROTOCOL)
    for page in written:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text((REPOSITORY / page).read_text())
    pages.write(tmp_path, REFERENCE.parent)
    for page in written:
        assert (tmp_path / page).read_text() == (REPOSITORY / page).read_text()


def test_the_readme_is_one_screen():
    lines = (REPOSITORY / "README.md").read_text().splitlines()
    assert len(lines) <= 100 and max(map(len, lines)) <= 120


def test_the_reference_run_has_every_claim():
    committed = [(claim.id, claim.sentence) for claim in claims_fixture.claims().claims]
    assert [(row["id"], row["sentence"]) for row in read_claims(REFERENCE)] == committed


def test_the_page_says_in_short_why_a_claim_was_not_tested():
    evidence = "no TPU here (no driver: neither of two nodes; none)"
    row = {"id": "one", "origin": "ours", "sentence": "A.", "evidence": evidence}
    row["verdict"] = "not testable here"
    assert pages.table([row], {"one": ""}).endswith("| not testable here | no TPU here |")


def test_text_goes_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- claims -->\nold\n<!-- /claims -->\nafter\n")
    row = {"id": "one", "origin": "ours", "sentence": "A | b.", "verdict": "supported"}
    rows = [row | {"evidence": "so in 2 of 2: C"}]
    for _ in range(2):
        pages.put_into(page, "claims", pages.table(rows, {"one": "limitation 4"}))
    assert page.read_text() == (
        "before\n<!-- claims -->\n| target | origin | answers | claim | verdict | evidence |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `claim_one` | ours | limitation 4 | A \\| b. | supported | so in 2 of 2 |\n"
        "<!-- /claims -->\nafter\n"
    )
    page.write_text("no markers")
    with pytest.raises(ValueError, match="once each"):
        pages.put_into(page, "claims", "")
