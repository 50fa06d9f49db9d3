"""The prose's numbers, claim boxes and guards, on a paper of a few lines and tables of a few rows."""

import pytest

from made_tables import write_tables
from stackwars.publish.paper import aggregates, prose, render, values
from stackwars.study.config import load
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset, Sources

TEXT = r"""\section{Latency}
% \val{not/used}
torch\_xla is slower on BERT-Base: \val{steady/bert_base/torch_xla}.
\claimbox{outputs_agree}

\begin{relies}{outputs_agree=supported,
  steady/bert_base/torch_xla=slower}
So the \emph{programs} compute the same values and one of them takes longer to do so.
\end{relies}
"""


@pytest.fixture(autouse=True)
def without_aggregates(monkeypatch):
    """Aggregates need the rows of every study: test_render.py has those of the reference."""
    monkeypatch.setattr(values, "GROUPS", values.GROUPS[:-1])


def written(folder, text=TEXT):
    (folder / "sections").mkdir(parents=True, exist_ok=True)
    (folder / "sections" / "latency.tex").write_text(text)
    return folder


def comparison(**columns) -> dict:
    names = {"quantity": "steady", "workload": "bert_base", "device": "cpu", "subject": "torch_xla"}
    return {**names, "baseline": "jax", "ratio": 2.5, "low": 2.0, "high": 3.1, "verdict": "slower", **columns}


def claim(verdict="supported", votes=(9, 1, 5), **columns) -> dict:
    counts = dict(zip(("votes_for", "votes_against", "votes_open"), votes, strict=True))
    margin = f"{votes[0]} of {sum(filter(None, votes))}, needs some"
    known = {"id": "outputs_agree", "sentence": "They agree.", "verdict": verdict, "margin": margin}
    return {**known, **counts, **columns}


def dataset(folder, comparisons=(), claims=(), is_reference=False, **changes) -> Dataset:
    write_tables(folder, {}, comparisons=list(comparisons), claims=list(claims))
    return Dataset(load() | changes, folder, is_reference)


# Names.


def test_an_unknown_number_is_named_with_its_file_line_and_what_was_meant(tmp_path):
    found = list(prose.uses(written(tmp_path)))
    known = {"val": {"steady/bert_base/jax", "steady/mha/torch_xla"}, "claimbox": {"outputs_agree"}}
    with pytest.raises(prose.ProseError) as error:
        prose.check(found, known)
    assert "paper/sections/latency.tex, line 3" in str(error.value)
    assert "'steady/bert_base/torch_xla'" in str(error.value)
    assert "steady/bert_base/jax" in str(error.value)


def test_all_unknown_names_are_reported_at_once(tmp_path):
    found = list(prose.uses(written(tmp_path, r"\val{one} \val{two} \origin{three}")))
    with pytest.raises(prose.ProseError) as error:
        prose.check(found, {"val": {"one"}, "origin": set()})
    assert "'two'" in str(error.value) and "'three'" in str(error.value) and "'one'" not in str(error.value)


def test_a_comment_uses_no_number(tmp_path):
    names = [use.name for use in prose.uses(written(tmp_path))]
    assert names == ["steady/bert_base/torch_xla", "outputs_agree"]


# Keys.


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ({}, "steady/bert_base/torch_xla"),
        ({"device": "cpu-1t"}, "steady/bert_base/torch_xla/cpu-1t"),
        ({"quantity": "replay", "compiler": "jaxlib-0.7.1"}, "replay/bert_base/torch_xla/jaxlib-0.7.1"),
        (
            {"quantity": "hbm", "subject": "torchax", "baseline": "jax", "device": "tpu-v6e"},
            "hbm/bert_base/torchax/tpu-v6e",
        ),
        ({"quantity": "pairwise", "baseline": "numpy"}, "pairwise/bert_base/torch_xla/numpy"),
        (
            {"quantity": "form", "variant": "steady", "baseline": "torch_xla", "baseline_workload": "mha"},
            "form/bert_base/torch_xla/steady/mha",
        ),
    ],
)
def test_the_key_of_a_comparison_leaves_out_what_is_usual(columns, key):
    assert values.comparison_key(comparison(**columns)) == key


def test_no_two_comparisons_of_other_keys_have_the_same_name():
    devices, variants = ("cpu", "cpu-1t"), ("", "base")
    rows = [comparison(device=device, variant=variant) for device in devices for variant in variants]
    found = values.keyed(schema.table("comparisons", rows))
    assert len(set(found)) == len(rows)


# Numbers.


def test_a_ratio_is_printed_with_three_digits_and_its_interval(tmp_path):
    found = values.values(dataset(tmp_path, [comparison(ratio=2.5268, low=1.8541, high=3.4449)]))
    assert found["steady/bert_base/torch_xla"] == r"\num{2.53}"
    assert found["steady/bert_base/torch_xla/interval"] == r"[\num{1.85}, \num{3.44}]"


def test_a_missing_ratio_has_no_key_so_naming_it_is_an_error(tmp_path):
    found = values.values(dataset(tmp_path, [comparison(ratio=None, low=None, high=None, verdict="no data")]))
    assert "steady/bert_base/torch_xla" not in found
    assert "n/tables/steady/torch_xla/compared" not in found


def test_verdicts_of_a_study_are_counted(tmp_path):
    rows = [comparison(), comparison(workload="mha", ratio=4.0)]
    rows += [comparison(workload="gemm", verdict="inconclusive")]
    found = values.values(dataset(tmp_path, rows))
    assert found["n/tables/steady/torch_xla/slower"] == "2"
    assert found["n/tables/steady/torch_xla/compared"] == "3"
    assert found["n/tables/steady/torch_xla/max"] == r"\num{4.00}"


def test_programs_that_were_checked_are_counted_by_their_outcome(tmp_path):
    outcomes = ("ok", "ok", "wrong", "crash", "unsupported", "oom", "timeout", "error")
    rows = [{"workload": "gemm", "framework": str(n), "status": status} for n, status in enumerate(outcomes)]
    data = Dataset(load(), write_tables(tmp_path / "some", {}, values=rows))
    found = dict(aggregates._values(data))
    names = ("checked", "ok", "wrong", "crash", "refused", "unfinished")
    assert [found[f"values/{name}"] for name in names] == [8, 2, 1, 1, 2, 2]
    assert set(dict(aggregates._values(dataset(tmp_path / "none"))).values()) == {0}


def test_votes_of_a_claim_are_numbers_and_none_without_a_count(tmp_path):
    assert values.values(dataset(tmp_path / "a", claims=[claim()]))["claim/outputs_agree/total"] == "15"
    without = values.values(dataset(tmp_path / "b", claims=[claim(votes=(None, None, None))]))
    assert "claim/outputs_agree/total" not in without


def test_settings_are_those_of_the_configuration(tmp_path):
    assert values.values(dataset(tmp_path, settings={"rounds": 4}))["setting/rounds"] == "4"


# Guards.

AS_EXPECTED = {"outputs_agree": "supported", "steady/bert_base/torch_xla": "slower"}


def test_a_guard_is_read_with_its_place_and_first_words(tmp_path):
    (guard,) = prose.read_guards(written(tmp_path))
    assert guard.expected == AS_EXPECTED
    assert guard.place == "paper/sections/latency.tex, line 6"
    assert guard.words.startswith("So the programs compute the same values")
    assert guard.text == "outputs_agree=supported, steady/bert_base/torch_xla=slower"


def test_the_reference_fails_with_every_stale_paragraph(tmp_path):
    again = TEXT + "\n\\begin{relies}{outputs_agree=supported}\nAnother paragraph.\n\\end{relies}\n"
    found = prose.read_guards(written(tmp_path, again))
    prose.require(found, AS_EXPECTED)
    with pytest.raises(prose.ProseError) as error:
        prose.require(found, AS_EXPECTED | {"outputs_agree": "not decided"})
    text = str(error.value)
    assert "line 6 (So the programs compute" in text and "line 11 (Another paragraph." in text
    assert text.count("outputs_agree: expected supported, got not decided") == 2


@pytest.mark.parametrize(
    ("guard", "named"),
    [
        ("outputs_agre=supported", "outputs_agree"),
        ("outputs_agree=suported", "supported"),
        ("steady/bert_base/torch_xla=slowwer", "slower"),
        ("steady/bert_base/torch_xla=supported", "expected a verdict"),
        ("outputs_agree", "name=verdict"),
    ],
)
def test_a_guard_that_cannot_be_checked_is_an_error(tmp_path, guard, named):
    written(tmp_path, f"\\begin{{relies}}{{{guard}}}\nText.\n\\end{{relies}}\n")
    with pytest.raises(prose.ProseError, match=named):
        prose.check_guards(prose.read_guards(tmp_path), AS_EXPECTED)


def test_another_run_makes_a_paragraph_stale_only_by_deciding_otherwise(tmp_path):
    found = prose.read_guards(written(tmp_path))
    assert not prose.stale(found, AS_EXPECTED)
    undecided = {"outputs_agree": "not decided", "steady/bert_base/torch_xla": "inconclusive"}
    assert not prose.stale(found, undecided)
    assert not prose.stale(found, {})
    (some,) = prose.stale(found, AS_EXPECTED | {"outputs_agree": "contradicted"}).values()
    [one] = some
    assert (one.name, one.expected, one.got) == ("outputs_agree", "supported", "contradicted")


# What is generated.


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A paper of one section in place of the repository's."""
    folder = written(tmp_path / "paper")
    for function in (prose.uses, prose.texts, prose.read_guards):
        monkeypatch.setattr(function, "__defaults__", (folder,))
    return folder


def sources_of(tmp_path, run: dict | None = None) -> Sources:
    reference = dataset(tmp_path / "reference", [comparison()], [claim()], is_reference=True)
    if run is None:
        return Sources(reference, reference, [])
    return Sources(dataset(tmp_path / "run", [comparison()], [run]), reference, ["tables"])


def test_a_claim_box_of_the_reference_has_one_verdict(tmp_path, paper):
    text = render.definitions(sources_of(tmp_path), is_reference=True)
    (line,) = [line for line in text.splitlines() if "claim@outputs_agree" in line]
    assert "Supported 9 of 15, needs some" in line and "They agree." in line and "This run" not in line


def test_levels_without_which_there_is_no_majority_stand_behind_the_box(tmp_path, paper):
    margin = "9 of 15, needs 8 + 1; not without a: 7 of 15"
    reference = dataset(tmp_path, [comparison()], [claim("not decided", margin=margin)], is_reference=True)
    text = render.definitions(Sources(reference, reference, []), is_reference=False)
    assert (
        r"{Reference: not decided 9 of 15, needs 8 + 1} {\sffamily\scriptsize not without a: 7 of 15}" in text
    )


def test_a_claim_box_of_another_run_has_both_verdicts(tmp_path, paper):
    text = render.definitions(sources_of(tmp_path, claim("not decided", (1, 0, 3))), is_reference=False)
    (line,) = [line for line in text.splitlines() if "claim@outputs_agree" in line]
    assert "Reference: supported 9 of 15, needs some" in line
    assert "This run: not decided 1 of 4, needs some" in line


def test_only_numbers_that_the_prose_names_are_written(tmp_path, paper):
    text = render.definitions(sources_of(tmp_path), is_reference=True)
    assert [line for line in text.splitlines() if "val@" in line] == [
        r"\expandafter\def\csname val@steady/bert_base/torch_xla\endcsname{\num{2.50}}"
    ]


def test_a_stale_paragraph_of_another_run_has_a_note_with_both_verdicts(tmp_path, paper):
    text = render.definitions(sources_of(tmp_path, claim("contradicted")), is_reference=False)
    (line,) = [line for line in text.splitlines() if "stale@" in line]
    assert r"stale@outputs_agree=supported, steady/bert_base/torch_xla=slower\endcsname" in line
    assert r"outputs\_agree: supported in the reference, contradicted in this run" in line


def test_a_verdict_that_changed_in_the_reference_stops_its_build(tmp_path, paper):
    changed = dataset(tmp_path / "reference", [comparison(verdict="faster")], [claim()], is_reference=True)
    with pytest.raises(prose.ProseError, match=r"latency\.tex, line 6 .*expected slower, got faster"):
        render.definitions(Sources(changed, changed, []), is_reference=True)
