"""The paper's text from synthetic results: sentences follow verdicts, and gaps stop the rendering."""

from __future__ import annotations

import json
import re
import shutil

import pandas
import pytest

import claims_fixture
import paper_fixture
import paper_worlds
from claim_edits import edit, parts, stack
from compiler_fixture import NEW
from stackwars.paper import latex, length
from stackwars.paper.prose import share
from stackwars.paper.render import TEMPLATES, RenderError, build, environment, render
from stackwars.results.folder import FIGURES, Folder
from stackwars.results.verdicts import COUNTS_DISAGREE, NO_DATA, NOT_DECIDED


def rendered(folder) -> dict[str, str]:
    """Every part of the paper by name, those of the appendix as appendix/<name>, with single spaces."""
    for name in ("tables", *FIGURES):
        (folder / name).mkdir(exist_ok=True)
    claims_fixture.decide(folder)
    build(claims_fixture.config(), Folder(folder))
    made = folder / "latex"
    texts = {"main": made / "main.tex"}
    texts |= {path.stem: path for path in (made / "sections").glob("*.tex")}
    texts |= {f"appendix/{path.stem}": path for path in (made / "appendix").glob("*.tex")}
    return {name: " ".join(path.read_text().split()) for name, path in texts.items()}


def template(tmp_path, text: str, **names) -> str:
    """Render one template with the paper's environment."""
    folder = tmp_path / "templates"
    folder.mkdir(exist_ok=True)
    (folder / "one.tex.j2").write_text(text)
    render(folder, names, tmp_path / "out")
    return (tmp_path / "out" / "one.tex").read_text()


def test_values_are_escaped_and_markup_needs_its_type(tmp_path):
    text = r"\VAR{plain} \VAR{markup} \VAR{5|num}"
    out = template(tmp_path, text, plain="50% of a_b & {c} \\d", markup=latex.Latex(r"\emph{x}"))
    assert out == r"50\% of a\_b \& \{c\} \textbackslash{}d \emph{x} \num{5.00}"


def test_what_has_no_type_in_the_paper_is_printed_as_its_code_point():
    assert latex.escape("make --cores 1, !`x?`") == "make -{}-cores 1, !{}`x?{}`"
    assert latex.escape("") == ""
    assert latex.escape("a \u00d7 \U0001f4a9 \u00e9\x07") == r"a \texttimes{} U+1F4A9 U+00E9U+0007"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("one\n\ntwo \\VAR{nowhere}\n", "nowhere"),
        ("one\n\n\\VAR{run.machin}\n", "machin"),
        ("\n\n\\BLOCK{if missing == 1}\n\\BLOCK{endif}\n", "missing"),
        ("\n\n\\VAR{run.empty}\n", "None or NaN"),
        ("\n\n\\VAR{run.empty|duration}\n", "None or NaN"),
        ("\n\n\\BLOCK{if x\n", "one.tex.j2"),
    ],
)
def test_an_undefined_name_stops_with_template_line_and_name(tmp_path, text, name):
    with pytest.raises(RenderError) as caught:
        template(tmp_path, text, run={"machine": 1, "empty": None})
    message = str(caught.value)
    assert message.startswith("one.tex.j2, line 3: ")
    assert name in message


def test_an_unknown_finding_stops_and_names_those_there_are(tmp_path):
    paper_fixture.write(tmp_path)
    rendered(tmp_path)
    document = json.loads((tmp_path / "findings.json").read_text())
    kept = [f for f in document["findings"] if f["id"] != "bert_first"]
    (tmp_path / "findings.json").write_text(json.dumps({"schema": 1, "findings": kept}))
    with pytest.raises(RenderError, match=r"latency.*line \d+.*bert_first.*gemm_first"):
        build(claims_fixture.config(), Folder(tmp_path))


def test_an_operation_that_one_compiler_alone_fuses_is_named(tmp_path):
    folder = paper_fixture.write(tmp_path)
    named = rendered(folder)
    told = (
        "the sum in Elementwise chain is fused by the compiler of TorchInductor and computed separately by "
        "that of JAX."
    )
    assert told in named["stacks"]
    assert "Figure~\\ref{fig:listing-forms-elementwise_chain}" in named["appendix/listings"]
    table = pandas.read_csv(folder / "fused.csv")
    table.assign(verdict="fused").to_csv(folder / "fused.csv", index=False)
    same = rendered(folder)["stacks"]
    assert "No kind of operation is always fused by one" in same and told not in same


def test_that_compiling_pays_is_said_only_where_the_claim_is_supported(tmp_path):
    told = "where memory traffic dominates, compiling pays"
    folder = paper_fixture.write(tmp_path)
    assert told in rendered(folder)["stacks"]
    stack("elementwise_chain", "torch_inductor", 2.5)(folder)
    assert told not in rendered(folder)["stacks"]


def test_without_forms_the_paper_says_so(tmp_path):
    nothing = rendered(paper_fixture.write(tmp_path, "nothing"))
    assert "was not kept in this build, so it is not listed" in nothing["appendix/listings"]
    assert "fuses" not in nothing["stacks"]


def test_a_flipped_ratio_flips_the_sentence(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))["latency"]
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))["latency"]
    slower, faster = r"torch\_xla takes longer than JAX on ", "It takes less time on "
    assert "GPT-2 Small" in full.split(faster)[1].split("(")[0]
    assert "GPT-2 Small" in flipped.split(slower)[1].split("(")[0]
    assert (
        "So neither framework is faster on every model" in full
        and "So neither framework" in flipped
    )


def test_what_is_not_decided_and_what_shows_no_difference_are_told_apart(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["latency"]
    steady = text.split(r"\textit{Steady state}")[1]
    assert steady.index("The two are equivalent on Convolution.") < steady.index(
        "The comparison is unresolved on GEMM."
    )
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    row = (ratios.workload == "conv") & (ratios.device == "cpu")
    ratios.loc[row, "steady_verdict"] = "unresolved"
    ratios.to_csv(tmp_path / "ratios.csv", index=False)
    text = rendered(tmp_path)["latency"]
    assert "The comparison is unresolved on GEMM and Convolution." in text


def test_one_core_is_set_beside_all_cores(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["latency"]
    assert "the direction is reversed on LayerNorm: there," in text
    failed = rendered(paper_fixture.write(tmp_path / "failed", "one_failed"))["latency"]
    assert "No workload gave a pair of times on one pinned core." in failed


def test_the_protocol_has_the_numbers_of_the_settings(tmp_path):
    paper_fixture.write(tmp_path)
    context = json.loads((tmp_path / "context.json").read_text())
    context["settings"] |= {"gate": 0.037, "rounds_min": 6, "rounds_max": 19, "round_budget_s": 77}
    (tmp_path / "context.json").write_text(json.dumps(context))
    text = rendered(tmp_path)["appendix/protocol"]
    assert r"w \le w_0 + 0.037" in text
    assert r"for \qty{0.05}{\second} while the other waits" in text
    assert "at least 6 rounds on each device" in text
    assert r"\qty{77}{\second}, or there have been as many as its configuration allows (19" in text
    assert "16 of GEMM and 64 of LayerNorm and one of every other workload" in text
    assert "In none of 39 cells did the first call take anything from such a cache." in text
    assert "and those of 2 are not" in text
    assert "For such a difference, 1 comparison is marked." in text
    assert "Of 39 cells, 24 ended because every ratio was decided, 15 because the time was" in text


def test_a_first_call_that_was_not_first_is_told(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[0, "cache_hits_first"] = 3
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert (
        "found executables on disk, in} GEMM under JAX." in rendered(tmp_path)["appendix/protocol"]
    )


def test_the_number_of_a_sentence_is_that_of_the_results(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["latency"]
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    own = ratios[(ratios.framework == "torch_xla") & (ratios.device == "cpu")]
    slower = own[own.steady_verdict == "slower"]
    most = slower.loc[slower.steady_ratio.idxmax()]
    title = (
        pandas.read_csv(tmp_path / "frame.csv").set_index("workload").title[most.workload].iloc[0]
    )
    assert f"by a factor of up to {latex.number(most.steady_ratio)} ({title})" in text


def test_the_first_page_names_the_run_and_the_appendix_the_rest(tmp_path):
    texts = rendered(paper_fixture.write(tmp_path))
    box, rest = texts["run"], texts["appendix/build"]
    assert "Of 30 claims, 28 are reproduced." in box
    for words in (
        r"Synthetic(R) CPU\_9000 \& Co @ 2.00GHz, 2 cores, \qty{24.0}{\gibi\byte}",
        "2026-01-02T03:04:05Z",
        "0123456789ab",
        r"Preset \textbf{full}; origin of its numbers: \textbf{measured}",
    ):
        assert words in box
    assert r"torch\_xla~2.9.0." in rest and "kernel 6.1.0-synthetic" in rest
    assert "SMOKE" not in box


def test_a_smoke_run_says_so_in_bold_on_the_first_page(tmp_path):
    paper_fixture.write(tmp_path, "smoke")
    context = json.loads((tmp_path / "context.json").read_text())
    context["settings"]["side_by_side"] = True
    (tmp_path / "context.json").write_text(json.dumps(context))
    texts = rendered(tmp_path)
    assert "processes run beside each other" in texts["method"]
    assert "No other process is measured at the same time" not in texts["method"]
    assert r"\textbf{SMOKE RUN." in texts["run"]
    assert r"\textbf{This is a smoke run" in texts["abstract"]
    assert "(Smoke Run)" in texts["main"]


def test_reference_numbers_are_called_reference(tmp_path):
    paper_fixture.write(tmp_path)
    context = json.loads((tmp_path / "context.json").read_text()) | {"origin": "reference"}
    (tmp_path / "context.json").write_text(json.dumps(context))
    texts = rendered(tmp_path)
    assert r"\textbf{reference} (the committed runs" in texts["run"]
    assert "Origin: reference." in texts["latency"]


def test_ratios_over_several_runs_are_told_as_such(tmp_path):
    paper_fixture.write(tmp_path)
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    ratios.assign(steady_runs=4, steady_machines=3).to_csv(tmp_path / "ratios.csv", index=False)
    texts = rendered(tmp_path)
    assert (
        "ratios pool all accepted runs that measured them, on 3 kinds of machine"
        in texts["latency"]
    )
    assert "over up to 4 runs on 3 kinds of machine" in texts["limitations"]


@pytest.mark.parametrize("world", paper_worlds.WORLDS)
def test_every_world_renders_without_a_stray_space_or_value(tmp_path, world):
    texts = rendered(paper_worlds.write(tmp_path, world))
    for name, text in texts.items():
        assert not re.search(r" [.,;](?!\.)", text), name
        assert "None" not in re.sub(r"None (of|can|was)( the(m is)?)?", "", text), name
        assert "nan" not in text.split(), name


def test_failures_are_told_and_claim_nothing(tmp_path):
    failed = rendered(paper_fixture.write(tmp_path / "failed", "one_failed"))
    assert "no workload gave a pair of times" in failed["abstract"]
    assert "takes longer than JAX" not in failed["latency"]
    nothing = rendered(paper_fixture.write(tmp_path / "nothing", "nothing"))
    assert "None of the 30 cells on the CPU gave a result" in nothing["latency"]
    assert "so there is nothing to compare" in nothing["latency"]
    assert "no cell was run" in nothing["run"]
    invalid = rendered(paper_fixture.write(tmp_path / "invalid", "invalid"))
    assert "Invalid, and left out of every comparison below:} GEMM" in invalid["latency"]
    single = rendered(paper_fixture.write(tmp_path / "single", "single"))
    assert "claim no direction" in single["method"]
    assert "A direction is decided on none of 11 workloads." in single["latency"]
    assert "takes longer than JAX" not in single["latency"]


def test_two_slow_runs_are_explained_only_where_they_are_seen(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["slow_runs"]
    assert r"Under torch\_xla (pending), the second call of every cell compiled again." in text
    assert r"Under JAX and torch\_xla, no second call compiled anything." in text
    assert (
        r"\textit{The cause.}" in text
        and "neither is needed: no workload of these tables has an optimiser" in text
    )
    assert r"MHA under torch\_xla" in text.split("is of no steady state")[0]
    failed = rendered(paper_fixture.write(tmp_path / "failed", "one_failed"))
    assert r"\textit{The cause.}" not in failed["slow_runs"]


def test_slow_calls_are_compared_only_where_compilations_are_counted(tmp_path):
    frame = pandas.read_csv(paper_fixture.write(tmp_path) / "frame.csv")
    counts = [name for name in frame.columns if name.startswith("compiles_")]
    frame.loc[frame.framework == "torch_xla_pending", counts] = None
    frame.to_csv(tmp_path / "frame.csv", index=False)
    text = rendered(tmp_path)["slow_runs"]
    found = json.loads((tmp_path / "findings.json").read_text())["findings"]
    cells = [one for one in found if one["id"].startswith("stabilising/")]
    assert any(one["verdict"] == NO_DATA != one["by_times"] for one in cells)
    known = [one for one in cells if one["verdict"] not in (NO_DATA, NOT_DECIDED)]
    same = [one for one in known if one["verdict"] != COUNTS_DISAGREE]
    assert f"is the number of compilations in {share(len(same), len(known), 'cell')}" in text


def test_a_framework_that_compiles_nothing_is_not_said_to_compile(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    counts = [name for name in frame.columns if name.startswith("compiles_")]
    frame.loc[frame.framework == "torch_xla_pending", counts] = None
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert r"Under torch\_xla (pending)" not in rendered(tmp_path)["slow_runs"]


def test_the_sentences_about_replays_flip_with_the_data(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))
    seven = r"\textit{In jaxlib 0.7.1.} torch\_xla's program takes longer than JAX's on "
    assert seven + "7 workloads, by a factor of" in full["matrix"]
    assert seven + "7 workloads" not in flipped["matrix"] and seven in flipped["matrix"]
    turned = "On GPT-2 Small, which program is faster depends on the generation of XLA"
    assert turned in full["matrix"]
    assert "native call and its replay differ on MHA" in full["matrix"]
    edit_ = r"With explicit layernorm in torch\_xla's program, most of the difference closes on BERT-Base."
    assert edit_ in full["matrix"]
    assert "the emitted program is the larger cause in most cases (8 of 9)" in full["answer"]


def test_the_answer_says_what_the_verdict_on_its_claim_allows(tmp_path):
    paper_fixture.write(tmp_path)
    contradicted = "The compiler is not what matters most", "alone is not what changes"
    for part, said in {
        "compiler": (
            "The compiler matters more than the frontend",
            "So on most of these workloads",
        ),
        "frontend": contradicted,
        "both": contradicted,
    }.items():
        parts(part)(tmp_path)
        texts = rendered(tmp_path)
        assert said[0] in texts["answer"] and said[1] in texts["matrix"], part
    # The mean over the workloads still has a largest share; the workloads do not.
    parts("compiler")(tmp_path)
    effects = pandas.read_csv(tmp_path / "matrix_effects.csv")
    each = (effects.workload != "all") & (effects.effect == "compiler")
    effects.loc[each, ["share_low", "share_high"]] = [0.0, 1.0]
    effects.to_csv(tmp_path / "matrix_effects.csv", index=False)
    texts = rendered(tmp_path)
    assert "on most workloads is not decided. The choice of" in texts["answer"]
    assert "on none of 3 workloads; on all of them, the data does not" in texts["answer"]
    assert "The compiler matters more" not in texts["answer"]
    assert "So on most" not in texts["matrix"] and "therefore not decided" in texts["matrix"]
    nothing = rendered(paper_fixture.write(tmp_path / "nothing", "nothing"))["answer"]
    assert "no set of programs went through several compilers" in nothing


def test_the_memory_s_sentences_flip_with_the_data(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))
    neo = r"GPT-Neo 1.3B under torch\_xla"
    fits, too_large = "fits at every size compiled", "fits at none of the sizes compiled"
    assert neo in full["fits"].split(fits)[0] and too_large not in full["fits"]
    assert neo in flipped["fits"].split(too_large)[0]
    batch = "is larger for torch\\_xla on ResNet-50"
    assert batch in full["fits"] and batch not in flipped["fits"]
    too_large = "PyTorch's programs of ViT-B/16 and GPT-Neo 1.3B are too large"
    assert r"\emph{Contradicted:} " + too_large in full["conclusion"]


def test_the_claims_sentences_flip_with_the_data(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))
    claim = "spells layer normalisation out, where PyTorch has one high-level operation, on "
    assert claim + "all 7 workloads" in full["programs"]
    assert claim + "none of 7 workloads" in flipped["programs"]
    assert "the two programs of GEMM are the same." in full["programs"]


def test_workload_that_one_generation_was_not_given_is_named(tmp_path):
    folder = paper_fixture.write(tmp_path)
    assert "not replayed in jaxlib" not in rendered(folder)["appendix/compilers"]
    for file in ("replay.csv", "split.csv"):
        table = pandas.read_csv(folder / file)
        asked = (table.workload != "gpt_neo_1p3b") | (table.compiler != NEW)
        table[asked].to_csv(folder / file, index=False)
    text = rendered(folder)["appendix/compilers"]
    assert f"GPT-Neo 1.3B is not replayed in {NEW.replace('-', ' ', 1)}." in text


def test_sections_without_data_say_so_and_bring_no_float(tmp_path):
    nothing = rendered(paper_fixture.write(tmp_path, "nothing"))
    assert "No program was replayed in this build" in nothing["matrix"]
    assert "No program was judged by a compiler" in nothing["fits"]
    assert "nothing to count" in nothing["programs"]
    for name in ("fits", "programs", "appendix/memory"):
        assert not re.search(r"\\input\{tables/", nothing[name]), name
    assert "IR is compared as extracted" in nothing["limitations"]
    assert "No TPU was available" not in nothing["limitations"]


def test_what_the_default_precision_changes_is_told_where_it_was_compiled(tmp_path):
    limit = "bytes and in latency was not measured"
    texts = rendered(paper_fixture.write(tmp_path))
    assert r"the same memory to within \qty{1}{\percent}" in texts["appendix/memory"]
    assert limit not in texts["limitations"]
    edit("compile_ahead", {"edit": "default_precision"}, hbm_bytes=None)(tmp_path)
    texts = rendered(tmp_path)
    assert "None of the programs compiled at both has bytes" in texts["appendix/memory"]
    assert limit in texts["limitations"]


def test_estimates_for_an_absent_device_are_never_called_latency(tmp_path):
    texts = rendered(paper_fixture.write(tmp_path))
    assert "None of them is a latency" in texts["fits"]
    assert "IR is compared as extracted" not in texts["limitations"]
    assert re.findall(r"(?i)latenc\w+", texts["fits"] + texts["appendix/memory"]) == ["latency"]


def test_the_text_is_about_the_main_comparison_and_the_appendix_shows_the_others(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    two = rendered(paper_fixture.write(tmp_path / "two", "two_subjects"))
    assert "figures/split-torch_xla_pending}" in two["appendix/compilers"]
    assert "figures/split-torch_xla_pending}" not in full["appendix/compilers"]
    for section in ("abstract", "latency", "matrix", "programs"):
        assert two[section] == full[section]


def test_a_main_comparison_that_was_not_published_is_told_without_it(tmp_path):
    paper_fixture.write(tmp_path)
    context = json.loads((tmp_path / "context.json").read_text())
    context["comparisons"].reverse()
    assert context["comparisons"][0]["subject"] == "torch_xla_pending"
    (tmp_path / "context.json").write_text(json.dumps(context))
    text = rendered(tmp_path)
    findings = json.loads((tmp_path / "findings.json").read_text())["findings"]
    assert next(f for f in findings if f["id"] == "gemm_first")["verdict"] == "no data"
    assert "The original has GEMM's first run shorter" not in text["latency"]
    assert r"torch\_xla (pending) takes longer than JAX" in text["latency"]
    assert "No workload left a program from both frameworks" in text["programs"]


def test_the_environment_knows_every_verdict():
    names = environment(TEMPLATES).globals
    assert names["SLOWER"] == "slower"
    assert names["DUE_TO_IR"] == "the program"
    assert "Finding" not in names


@pytest.mark.parametrize("world", ["smoke", "nothing", "half failed", "no search"])
def test_what_is_referred_to_is_there(tmp_path, world):
    folder = paper_worlds.write(tmp_path, world)
    paper_worlds.with_tables(folder, no_figures)
    text = whole(folder / "latex", "main.tex")
    labels = set(re.findall(r"\\label\{([^}]*)\}", text))
    assert "tab:successor" in text or world in ("smoke", "nothing")
    assert set(re.findall(r"\\ref\{([^}]*)\}", text)) <= labels


def no_figures(config: dict, files: Folder) -> None:
    for name in FIGURES:
        files[name].mkdir(exist_ok=True)


def whole(folder, name: str) -> str:
    """A file of the paper with everything that it puts in."""
    text = (folder / name).read_text() if (folder / name).exists() else ""
    text = re.sub(r"\\beside\{([^}]*)\}\{([^}]*)\}", r"\\input{\1}\\input{\2}", text)
    return re.sub(r"\\input\{([^}#]*)\}", lambda found: whole(folder, f"{found[1]}.tex"), text)


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="needs latexmk and the TeX styles")
@pytest.mark.parametrize("variant", ["two_subjects", "nothing"])
def test_the_pdf_is_clean_and_the_same_bytes_from_the_same_results(tmp_path, variant):
    pdfs = [compiled(paper_fixture.write(tmp_path / place, variant)) for place in ("one", "two")]
    assert pdfs[0] == pdfs[1]


def test_a_body_of_eleven_pages_and_an_answer_on_the_second_are_refused():
    aux = (
        r"\newlabel{fig:headline}{{1}{%d}{A {b}}{figure.1}{}}\newlabel{sec:end}{{XIII}{%d}{C}{}{}}"
    )
    length.check(aux % (1, 10))
    with pytest.raises(length.LengthError, match="at most 10 pages before the references, came 11"):
        length.check(aux % (1, 11))
    with pytest.raises(length.LengthError, match="on page 1, came page 2"):
        length.check(aux % (2, 10))


def compiled(folder) -> bytes:
    """The PDF of the paper; fails on overfull lines, references that lead nowhere, and a body too long."""
    log = paper_worlds.typeset(folder)
    assert "undefined" not in log
    assert "too large for page" not in log
    overfull = [float(x) for x in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert max(overfull, default=0) < 5
    length.check((folder / "latex" / "main.aux").read_text(errors="replace"))
    return (folder / "latex" / "main.pdf").read_bytes()
