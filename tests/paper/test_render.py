"""The paper's text from synthetic results: sentences follow verdicts, and gaps stop the rendering."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pandas
import pytest

import claims_fixture
import paper_fixture
from claim_edits import edit
from compiler_fixture import NEW
from stackwars.paper import latex
from stackwars.paper.figures.write import write_figures
from stackwars.paper.render import TEMPLATES, RenderError, build, environment, render
from stackwars.paper.tables.write import write_tables
from stackwars.results.folder import Folder


def rendered(folder) -> dict[str, str]:
    """Every section of the paper by name, with single spaces."""
    for name in ("tables", "figures"):
        (folder / name).mkdir(exist_ok=True)
    claims_fixture.decide(folder)
    build(claims_fixture.config(), Folder(folder))
    texts = [folder / "latex" / "main.tex", *(folder / "latex" / "sections").glob("*.tex")]
    return {path.stem: " ".join(path.read_text().split()) for path in texts}


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
    with pytest.raises(RenderError, match=r"evaluation.*line \d+.*bert_first.*gemm_first"):
        build(claims_fixture.config(), Folder(tmp_path))


def test_an_operation_that_one_compiler_alone_fuses_is_named(tmp_path):
    folder = paper_fixture.write(tmp_path)
    named = rendered(folder)
    told = "the sum of Elementwise chain, which the compiler of TorchInductor fuses and that of JAX"
    assert "Of 3 kinds of operation" in named["stacks"] and told in named["stacks"]
    assert "Figure~\\ref{fig:listing-forms-elementwise_chain}" in named["appendix"]
    table = pandas.read_csv(folder / "fused.csv")
    table.assign(verdict="fused").to_csv(folder / "fused.csv", index=False)
    same = rendered(folder)["stacks"]
    assert "there is none that one compiler always fuses" in same and told not in same


def test_without_forms_the_paper_says_so(tmp_path):
    nothing = rendered(paper_fixture.write(tmp_path, "nothing"))
    assert "was not kept in this build, so it is not listed" in nothing["appendix"]
    assert "fuses" not in nothing["stacks"]


def test_a_flipped_ratio_flips_the_sentence(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))["evaluation"]
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))["evaluation"]
    slower, faster = r"torch\_xla is slower on ", r"torch\_xla is faster on "
    assert "BERT-Base at" in full.split(slower)[1].split(faster)[0]
    assert "BERT-Base at" in flipped.split(faster)[1].split("No difference")[0]
    assert "GPT-2 Small at" in full.split(faster)[1].split("No difference")[0]
    assert "GPT-2 Small at" in flipped.split(slower)[1].split(faster)[0]


def test_what_could_have_been_found_is_said_where_nothing_was(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["evaluation"]
    conv = r"Convolution at \num{1.01} (\num{0.990} to \num{1.03}; minimum detectable \qty{2.8}{\percent})"
    assert f"No difference is found on {conv}." in text
    gemm = r"GEMM at \num{1.02} (\num{0.961} to \num{1.08}; minimum detectable \qty{8.4}{\percent})"
    unresolved = r"neither excludes 1 nor lies within \qty{5}{\percent} of it: "
    assert f"{unresolved}{gemm}." in text
    paper_fixture.write(tmp_path)
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    row = (ratios.workload == "ffn") & (ratios.device == "cpu")
    ratios.loc[row, ["steady_verdict", "steady_detectable"]] = ["unresolved", 0.31]
    ratios.to_csv(tmp_path / "ratios.csv", index=False)
    text = rendered(tmp_path)["evaluation"]
    assert (
        "FFN at" not in text.split(r"torch\_xla is slower on ")[1].split(r"torch\_xla is faster")[0]
    )
    assert (
        r"FFN at \num{1.31} (\num{1.27} to \num{1.35}; minimum detectable \qty{31}{\percent})"
        in text
    )


def test_one_core_is_set_beside_all_cores(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["evaluation"]
    reverse = r"LayerNorm (\num{0.710} on all cores, \num{1.40} on one)"
    assert f"The direction is the reverse of that on all cores for {reverse};" in text
    failed = rendered(paper_fixture.write(tmp_path / "failed", "one_failed"))["evaluation"]
    assert "No workload gave a pair of times on one pinned core." in failed


def test_the_method_has_the_numbers_of_the_settings(tmp_path):
    paper_fixture.write(tmp_path)
    context = json.loads((tmp_path / "context.json").read_text())
    context["settings"] |= {"gate": 0.037, "rounds_min": 6, "rounds_max": 19, "round_budget_s": 77}
    (tmp_path / "context.json").write_text(json.dumps(context))
    text = rendered(tmp_path)["method"]
    assert r"w \le w_0 + 0.037" in text
    assert r"for \qty{0.05}{\second} while the other waits" in text
    assert "at least 6 rounds on each device" in text
    assert r"\qty{77}{\second}, or there have been 19" in text
    assert "16 of GEMM and 64 of LayerNorm and one of every other workload" in text
    assert "In none of 39 cells did the first call take anything from such a cache." in text
    assert "and those of 2 are not" in text
    assert "For such a difference, 1 comparison is marked." in text
    assert "was decided in 24, because the time budget was spent in 15, and at the maximum" in text


def test_a_first_call_that_was_not_first_is_told(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[0, "cache_hits_first"] = 3
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert "found executables on disk, in} GEMM under JAX." in rendered(tmp_path)["method"]


def test_the_numbers_of_a_sentence_are_those_of_the_results(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["evaluation"]
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    row = ratios[(ratios.workload == "ffn") & (ratios.framework == "torch_xla")].iloc[0]
    assert row.device == "cpu"
    ends = (row.steady_ratio, row.steady_ratio_low, row.steady_ratio_high)
    ratio, low, high = (latex.number(value) for value in ends)
    assert f"FFN at {ratio} ({low} to {high})" in text


def test_the_first_page_names_the_run(tmp_path):
    box = rendered(paper_fixture.write(tmp_path))["run"]
    assert "Of 30 claims, 28 are reproduced." in box
    for words in (
        r"Synthetic(R) CPU\_9000 \& Co @ 2.00GHz, 2 cores, \qty{24.0}{\gibi\byte}",
        "2026-01-02T03:04:05Z",
        "0123456789ab",
        r"Preset \textbf{full}; origin of its numbers: \textbf{measured}",
        r"torch\_xla~2.9.0.",
    ):
        assert words in box
    assert "SMOKE" not in box


def test_a_smoke_run_says_so_in_bold_on_the_first_page(tmp_path):
    texts = rendered(paper_fixture.write(tmp_path, "smoke"))
    assert r"\textbf{SMOKE RUN." in texts["run"]
    assert r"\textbf{This is a smoke run" in texts["abstract"]
    assert "(Smoke Run)" in texts["main"]


def test_reference_numbers_are_called_reference(tmp_path):
    paper_fixture.write(tmp_path)
    context = json.loads((tmp_path / "context.json").read_text()) | {"origin": "reference"}
    (tmp_path / "context.json").write_text(json.dumps(context))
    texts = rendered(tmp_path)
    assert r"\textbf{reference} (the committed runs" in texts["run"]
    assert "Origin: reference." in texts["evaluation"]
    assert "Milliseconds are those of the newest run" not in texts["evaluation"]


def test_ratios_over_several_runs_are_told_as_such(tmp_path):
    paper_fixture.write(tmp_path)
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    ratios.assign(steady_runs=4, steady_machines=3).to_csv(tmp_path / "ratios.csv", index=False)
    texts = rendered(tmp_path)
    assert "up to 4 on 3 kinds of machine, and their intervals include" in texts["evaluation"]
    assert "Ratios are over 4 runs on 3 kinds of machine" in texts["limitations"]


def test_what_the_original_shows_of_the_second_run_stands_beside_ours(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["evaluation"]
    ours = r"ResNet-50 at \num{0.600} (\num{0.949} in the original)"
    assert f"The second run over the first is {ours}" in text


@pytest.mark.parametrize("variant", paper_fixture.VARIANTS)
def test_every_variant_renders_without_a_stray_space_or_value(tmp_path, variant):
    texts = rendered(paper_fixture.write(tmp_path, variant))
    for name, text in texts.items():
        assert not re.search(r" [.,;](?!\.)", text), name
        assert "None" not in re.sub(r"None of the(m is)?", "", text), name
        assert "nan" not in text.split(), name


def test_failures_are_told_and_claim_nothing(tmp_path):
    failed = rendered(paper_fixture.write(tmp_path / "failed", "one_failed"))
    assert "no workload gave a pair of times" in failed["abstract"]
    assert "is slower on" not in failed["evaluation"]
    assert "18 error" in failed["evaluation"]
    nothing = rendered(paper_fixture.write(tmp_path / "nothing", "nothing"))
    assert "None of the 30 cells on the CPU gave a result" in nothing["evaluation"]
    assert "cannot be judged" in nothing["discussion"]
    assert "no cell was run" in nothing["run"]
    invalid = rendered(paper_fixture.write(tmp_path / "invalid", "invalid"))
    assert "Invalid, and left out of every comparison below:} GEMM" in invalid["evaluation"]
    single = rendered(paper_fixture.write(tmp_path / "single", "single"))
    assert "claims no direction" in single["method"]
    assert "from which no direction follows" in single["evaluation"]


def test_two_slow_runs_are_explained_only_where_they_are_seen(tmp_path):
    text = rendered(paper_fixture.write(tmp_path))["evaluation"]
    assert "times nevertheless show a second slow call on LayerNorm at" in text
    assert "times do not show that second compilation on GPT-Neo 1.3B:" in text
    assert "a longer warm-up on FFN (ReLU) (5 points)" in text
    assert "cannot confirm this on MHA, which has no steady state" in text
    assert r"19 \emph{steady at once}" in text
    assert r"Convolution under torch\_xla slows down." in text
    assert r"Under torch\_xla (pending), every second call compiled again, in 5 workloads" in text
    assert "This shows the cause" in text
    failed = rendered(paper_fixture.write(tmp_path / "failed", "one_failed"))
    assert "This shows the cause" not in failed["evaluation"]


def test_a_framework_that_compiles_nothing_gets_one_sentence_about_it(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    counts = [name for name in frame.columns if name.startswith("compiles_")]
    frame.loc[frame.framework == "torch_xla_pending", counts] = None
    frame.to_csv(tmp_path / "frame.csv", index=False)
    text = rendered(tmp_path)["evaluation"]
    assert r" torch\_xla (pending) compiles nothing. " in text
    assert r"Under torch\_xla (pending), no second call" not in text
    assert r"Under torch\_xla (pending), every second call" not in text


def test_the_split_s_sentences_flip_with_the_data(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))
    seven = r"In jaxlib 0.7.1, torch\_xla's program is slower in "
    assert (
        seven + "7 of 11 workloads, faster in 2, as fast in 1, and unresolved in 1" in full["split"]
    )
    assert seven + "2 of 11 workloads, faster in 7, as fast in 1" in flipped["split"]
    assert "The sign changes with the generation of XLA on GPT-2 Small" in full["split"]
    assert "it excludes 1 on MHA at" in full["split"]
    edit = r"explicit layernorm in torch\_xla's program on BERT-Base "
    shares = r"(\qty{87}{\percent} in jaxlib 0.7.1, \qty{89}{\percent} in jaxlib 0.10.2)"
    assert f"the share given: {edit}{shares}. In these cases" in full["split"]
    assert "Mostly because of the programs: in 8 of 9 resolved ratios" in full["discussion"]
    assert "changes with the generation of the compiler on GPT-2 Small" in full["abstract"]


def test_the_memory_s_sentences_flip_with_the_data(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))
    neo = r"\emph{GPT-Neo 1.3B under torch\_xla}: "
    assert neo + "not explained by the program" in full["memory"]
    assert neo + "explained. The program does not fit" in flipped["memory"]
    assert "fits a larger batch on ResNet-50 (208 against 200)" in full["memory"]
    assert "fits only a smaller batch on ResNet-50 (90 against 200)" in flipped["memory"]
    too_large = "PyTorch's programs of ViT-B/16 and GPT-Neo 1.3B are too large"
    assert (
        r"\emph{Contradicted (fits at every size compiled in 2 of 2):} " + too_large
        in full["conclusion"]
    )


def test_the_claims_sentences_flip_with_the_data(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    flipped = rendered(paper_fixture.write(tmp_path / "flipped", "flipped"))
    claim = "Layer normalisation is fine-grained in JAX and a high-level primitive in PyTorch.} "
    assert claim + "As claimed in all of 7 workloads" in full["stablehlo"]
    assert claim + "Contrary to the claim in all of 7 workloads" in flipped["stablehlo"]
    assert (
        r"the two programs of GEMM are the same. Optimised, torch\_xla's program has more operations in 0"
        in full["stablehlo"]
    )


def test_workload_that_one_generation_was_not_given_is_named(tmp_path):
    folder = paper_fixture.write(tmp_path)
    assert "not replayed in jaxlib" not in rendered(folder)["split"]
    for file in ("replay.csv", "split.csv"):
        table = pandas.read_csv(folder / file)
        asked = (table.workload != "gpt_neo_1p3b") | (table.compiler != NEW)
        table[asked].to_csv(folder / file, index=False)
    text = rendered(folder)["split"]
    assert f"GPT-Neo 1.3B is not replayed in {NEW.replace('-', ' ', 1)}." in text


def test_sections_without_data_say_so_and_bring_no_float(tmp_path):
    nothing = rendered(paper_fixture.write(tmp_path, "nothing"))
    assert "No program was replayed in this build" in nothing["split"]
    assert "No program was judged by a compiler" in nothing["memory"]
    assert "nothing to count" in nothing["stablehlo"]
    for name in ("split", "memory", "stablehlo"):
        assert not re.search(r"\\input\{tables/(?!shapes)", nothing[name]), name
    assert "IR is compared as extracted" in nothing["limitations"]
    assert "No TPU was available" not in nothing["limitations"]


def test_what_the_default_precision_changes_is_told_where_it_was_compiled(tmp_path):
    limit = "bytes and in latency was not measured"
    texts = rendered(paper_fixture.write(tmp_path))
    assert r"less memory, 0 more, and 0 the same to within \qty{1}{\percent}" in texts["memory"]
    assert limit not in texts["limitations"]
    edit("compile_ahead", {"edit": "default_precision"}, hbm_bytes=None)(tmp_path)
    texts = rendered(tmp_path)
    assert "None of them has bytes in this build." in texts["memory"]
    assert limit in texts["limitations"]


def test_estimates_for_an_absent_device_are_never_called_latency(tmp_path):
    texts = rendered(paper_fixture.write(tmp_path))
    assert "None of them is a latency" in texts["memory"]
    assert "IR is compared as extracted" not in texts["limitations"]
    assert re.findall(r"(?i)latenc\w+", texts["memory"]) == ["latency"]


def test_the_text_is_about_the_main_comparison_and_shows_the_others_figures(tmp_path):
    full = rendered(paper_fixture.write(tmp_path / "full"))
    two = rendered(paper_fixture.write(tmp_path / "two", "two_subjects"))
    figures = r"(\\begin{figure\*}(?:(?!\\end).)*figures/%s}.*?\\end{figure\*} )"
    before, of_the_other, after = re.split(figures % "split-torch_xla_pending", two["split"])
    assert "Like Figure" in of_the_other and before + after == full["split"]
    for section in ("abstract", "discussion", "evaluation", "stablehlo"):
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
    assert r"\emph{GEMM.}" not in text["evaluation"]
    assert r"\emph{BERT.} Under JAX, the original found" in text["evaluation"]
    assert r"torch\_xla (pending) is slower on ResNet-50" in text["evaluation"]
    assert "No workload left a program from both frameworks" in text["stablehlo"]


def test_the_environment_knows_every_verdict():
    names = environment(TEMPLATES).globals
    assert names["SLOWER"] == "slower"
    assert names["DUE_TO_IR"] == "the program"
    assert "Finding" not in names


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="needs latexmk and the TeX styles")
@pytest.mark.parametrize("variant", ["two_subjects", "nothing"])
def test_the_pdf_is_clean_and_the_same_bytes_from_the_same_results(tmp_path, variant):
    pdfs = [compiled(paper_fixture.write(tmp_path / place, variant)) for place in ("one", "two")]
    assert pdfs[0] == pdfs[1]


def compiled(folder) -> bytes:
    """The PDF of the paper; fails on overfull lines and on references that lead nowhere."""
    write_tables(Folder(folder))
    write_figures(claims_fixture.config(), Folder(folder))
    rendered(folder)
    command = ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    made = subprocess.run(
        command,
        cwd=folder / "latex",
        env=os.environ | {"SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert made.returncode == 0, made.stdout[-3000:]
    log = (folder / "latex" / "main.log").read_text(errors="replace")
    assert "undefined" not in log
    overfull = [float(x) for x in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert max(overfull, default=0) < 5
    return (folder / "latex" / "main.pdf").read_bytes()
