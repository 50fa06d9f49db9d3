"""The prose's numbers, claim boxes and guards, on a paper of a few lines and tables of a few rows."""

import pytest

import made_tables
from made_tables import write_tables
from snapshots import assert_snapshot
from stackwars.publish.paper import prose, render, values
from stackwars.study.config import load
from stackwars.study.results.dataset import Dataset, Sources

TEXT = r"""\section{Latency}
% \val{not/used}
torch\_xla is slower on BERT-Base: \val{steady/bert_base/torch_xla}.
\claimbox{training_slower}

\begin{relies}{training_slower=supported,
  steady/bert_base/torch_xla=slower}
So the \emph{programs} compute the same values and one of them takes longer to do so.
\end{relies}
"""


@pytest.fixture(autouse=True)
def without_aggregates(monkeypatch):
    """Aggregates need the rows of every study: test_render.py has those of the reference."""
    monkeypatch.setattr(values, "AGGREGATES", {})


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
    known = {"id": "training_slower", "sentence": "They agree.", "verdict": verdict, "margin": margin}
    return {**known, **counts, **columns}


def dataset(
    folder, comparisons=(), claims=(), is_reference=False, settings=None, **rows: list[dict]
) -> Dataset:
    write_tables(folder, {}, comparisons=list(comparisons), claims=list(claims), **rows)
    return Dataset(load(settings=load().settings.changed(**settings or {})), folder, is_reference)


# Names.


def test_all_unknown_names_are_reported_with_their_places_and_what_was_meant(tmp_path):
    found = list(prose.uses(written(tmp_path, TEXT + r"\val{one} \val{two} \origin{three}")))
    assert "not/used" not in [use.name for use in found], "a comment uses no number"
    known = {"val": {"one", "steady/bert_base/jax"}, "claimbox": {"training_slower"}, "origin": set()}
    with pytest.raises(prose.ProseError) as error:
        prose.check(found, known)
    first, *others = str(error.value).splitlines()
    assert (
        first.startswith("paper/sections/latency.tex, line 3: ") and "fix: one of steady/bert_base/jax" in first
    )
    assert ["'two'" in others[0], "'three'" in others[1], len(others)] == [True, True, 2]
    assert "'steady/bert_base/torch_xla'" in first


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


# Numbers.


def test_numbers_of_the_tables_by_key(tmp_path, monkeypatch):
    outcomes = ("ok", "ok", "wrong", "crash", "unsupported", "oom", "timeout", "error")
    where = {"workload": "gemm", "framework": "jax"}
    data = dataset(
        tmp_path,
        comparisons=[
            comparison(ratio=2.5268, low=1.8541, high=3.4449, runs=2, machines=1),
            comparison(workload="mha", ratio=4.0),
            comparison(workload="gemm", verdict="inconclusive"),
            comparison(workload="ffn", ratio=None, low=None, high=None, verdict="no data"),
        ],
        claims=[claim(), claim(id="uncounted", votes=(None, None, None))],
        values=[where | {"framework": str(n), "status": status} for n, status in enumerate(outcomes)],
        cells=[
            made_tables.cell("jax", first_ms=1234.5, steady_ms=0.5, returned_share=0.2),
            made_tables.replay("jax", steady_ms=0.25),
        ],
        releases=[where | {"project": "jaxlib", "version": "0.8.3", "change_ratio": 0.5}],
        profile=[where | {"device": "cpu", "compiler": "jaxlib-0.7.1", "class": "products", "ms": 1.5}],
    )
    # The others are of files and of the accepted runs.
    names = ("_ratios", "_tallies", "_times", "_profiles", "_releases", "_votes")
    monkeypatch.setattr(values, "AGGREGATES", {values._values: values.view("values")})
    monkeypatch.setattr(values, "GROUPS", [getattr(values, name) for name in names])
    assert_snapshot(
        "values.txt",
        "\n".join(f"{key}: {text} <{address}>" for key, (text, address) in sorted(values.values(data).items())),
    )


def test_time_and_cpu_time_are_compared_on_each_kind_of_machine(tmp_path):
    def both(title, machine, time, cpu):
        known = {"workload": title.lower(), "title": title, "machine": machine, "runs": 1}
        sides = {"steady": time, "steady_cpu": cpu}
        ends = {
            name: {"ratio": ratio, "low": ratio - 0.1, "high": ratio + 0.1} for name, ratio in sides.items()
        }
        return [comparison(quantity=name, **known, **ends[name]) for name in sides]

    rows = [*both("MHA", "a", 2.5, 2.0), *both("MHA", "b", 1.8, 1.5), *both("GEMM", "a", 1.2, 1.2)]
    rows += [*both("FFN", "a", 2.0, 3.0), *both("FFN", "b", 1.0, 1.1)]
    text = dict(values._cpu_time(dataset(tmp_path, rows)))["cpu_time"]
    apart, partly, overlapping = text.split(";")
    assert r"MHA (\num{2.50} and \num{1.80} against \num{2.00} and \num{1.50})" in apart and "FFN" not in apart
    assert "FFN" in partly and "MHA" not in partly
    assert "1 of 3" in overlapping and "one run" in overlapping
    timed = [row for row in rows if row["quantity"] == "steady"]
    assert dict(values._cpu_time(dataset(tmp_path, timed))) == {"cpu_time": ""}


@pytest.mark.parametrize(("ms", "named"), [(0.3, True), (1.3, False)])
def test_short_calls_have_their_verdicts_on_one_core(tmp_path, ms, named):
    known = {"workload": "gemm", "title": "GEMM"}
    rows = [comparison(**known, ratio=1.5), comparison(**known, ratio=1.2, device="cpu-1t", verdict="slower")]
    cells = [made_tables.cell(name, steady_ms=ms) for name in ("jax", "torch_xla")]
    text = dict(values._short_calls(dataset(tmp_path, rows, cells=cells)))["short_calls"]
    assert (r"slower on GEMM (\num{1.20})" in text) == named and bool(text) == named


def test_a_check_counts_the_rows_that_pass_it_and_a_guard_can_name_it(tmp_path):
    cell, divided = made_tables.cell, {"mode": "sharded", "size": "data"}
    rows = [
        cell("jax", parity_rel_l2=1e-7, compiles_steady=0),
        cell("jax", "mha", status="wrong", parity_rel_l2=0.5, compiles_steady=1),
        made_tables.replay("jax", parity_rel_l2=1e-6),
        cell("torch_xla", "train_mlp", losses="differs"),
        *(
            cell("jax", "ffn", **divided, value=n, status=one)
            for n, one in enumerate(("ok", "wrong", "timeout"))
        ),
    ]
    data = dataset(tmp_path, cells=rows)
    assert values.format_checks(data) == (
        "Checks: 2 of 3 outputs have a relative error of at most 1e-5; 1 of 1 cells compile nothing after the second "
        "call; 0 of 1 trainings have the losses of JAX, to rounding; 1 of 2 divided programs keep their output."
    )
    found = {name: word for name, word in values.verdicts(data).items() if name.startswith("check/")}
    assert found.pop("check/compilations") == "passed"
    assert set(found) == {"check/outputs", "check/losses", "check/divisions"}
    assert set(found.values()) == {"failed"}
    assert values.format_checks(dataset(tmp_path / "none")) == "Checks: none."


# Guards.

AS_EXPECTED = {"training_slower": "supported", "steady/bert_base/torch_xla": "slower"}


def test_a_guard_has_its_place_and_words_and_the_reference_fails_with_every_stale_one(tmp_path):
    again = TEXT + "\n\\begin{relies}{training_slower=supported}\nAnother paragraph.\n\\end{relies}\n"
    found = prose.read_guards(written(tmp_path, again))
    assert found[0].expected == AS_EXPECTED
    assert found[0].text == "training_slower=supported, steady/bert_base/torch_xla=slower"
    prose.require(found, AS_EXPECTED)
    with pytest.raises(prose.ProseError) as error:
        prose.require(found, AS_EXPECTED | {"training_slower": "not decided"})
    text = str(error.value)
    assert "paper/sections/latency.tex, line 6 (So the programs compute the same values" in text
    assert "line 11 (Another paragraph." in text
    assert text.count("training_slower: expected supported, got not decided") == 2


@pytest.mark.parametrize(
    ("guard", "named"),
    [
        ("training_slowe=supported", "training_slower"),
        ("training_slower=suported", "supported"),
        ("steady/bert_base/torch_xla=slowwer", "slower"),
        ("steady/bert_base/torch_xla=supported", "expected a verdict"),
        ("training_slower", "name=verdict"),
    ],
)
def test_a_guard_that_cannot_be_checked_is_an_error(tmp_path, guard, named):
    written(tmp_path, f"\\begin{{relies}}{{{guard}}}\nText.\n\\end{{relies}}\n")
    with pytest.raises(prose.ProseError, match=named):
        prose.check_guards(prose.read_guards(tmp_path), AS_EXPECTED)


def test_another_run_makes_a_paragraph_stale_only_by_deciding_otherwise(tmp_path):
    found = prose.read_guards(written(tmp_path))
    assert not prose.stale(found, AS_EXPECTED)
    undecided = {"training_slower": "not decided", "steady/bert_base/torch_xla": "inconclusive"}
    assert not prose.stale(found, undecided)
    assert not prose.stale(found, {})
    (some,) = prose.stale(found, AS_EXPECTED | {"training_slower": "contradicted"}).values()
    [one] = some
    assert (one.name, one.expected, one.got) == ("training_slower", "supported", "contradicted")


# What is generated.


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A paper of one section in place of the repository's."""
    folder = written(tmp_path / "paper")
    for function in (prose.uses, prose.texts, prose.read_guards):
        monkeypatch.setattr(function, "__defaults__", (folder,))
    return folder


@pytest.mark.parametrize("run", [None, claim("contradicted", (1, 0, 3)), claim("not decided", (1, 0, 3))])
def test_what_the_prose_prints_of_the_reference_and_of_another_run(tmp_path, paper, run):
    """The levels without which there is no majority stand behind the box of a claim."""
    margin = "9 of 15 for, 6 against (9 needed); not without a: 7 of 15"
    reference = dataset(tmp_path / "reference", [comparison()], [claim(margin=margin)], is_reference=True)
    if run is None:
        made, name = Sources(reference, reference, []), "reference"
    else:
        made = Sources(dataset(tmp_path / "run", [comparison()], [run]), reference, ["tables"])
        name = run["verdict"].replace(" ", "_")
    assert_snapshot(f"values_{name}.tex", render.definitions(made, is_reference=run is None))


def test_a_verdict_that_changed_in_the_reference_stops_its_build(tmp_path, paper):
    changed = dataset(tmp_path / "reference", [comparison(verdict="faster")], [claim()], is_reference=True)
    with pytest.raises(prose.ProseError, match=r"latency\.tex, line 6 .*expected slower, got faster"):
        render.definitions(Sources(changed, changed, []), is_reference=True)


# Length.


@pytest.mark.parametrize(
    ("label", "page", "named"),
    [
        ("sec:end", 11, "body"),
        ("sec:last", 26, "appendix"),
        ("fig:compilers", 2, "page 1"),
        ("sec:end", None, "the label sec:end"),
    ],
)
def test_a_paper_that_is_too_long_or_lacks_a_label_is_refused(label, page, named):
    def aux(pages: dict[str, int | None]) -> str:
        known = {label: page for label, page in pages.items() if page}
        return "\n".join(rf"\newlabel{{{one}}}{{{{I}}{{{page}}}{{}}{{}}{{}}}}" for one, page in known.items())

    fits = {"sec:end": 10, "sec:build": 12, "sec:last": 25, "fig:compilers": 1}
    prose.check_length(aux(fits))
    with pytest.raises(prose.ProseError, match=named):
        prose.check_length(aux(fits | {label: page}))
