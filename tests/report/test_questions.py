"""What a reader asks of the report, each answered in at most two clicks."""

import json
import re

import pytest

import chromium
from chromium import Chromium
from stackwars.core.launch import REPOSITORY
from stackwars.publish.paper import prose
from stackwars.publish.paper.values import Value, values
from stackwars.publish.report.gather import CLAIMS, changes
from stackwars.study.config import load
from stackwars.study.results import schema
from stackwars.study.results.dataset import sources

pytestmark = pytest.mark.skipif(chromium.BINARY is None, reason=chromium.WITHOUT)
MOST_CLICKS = 2
FAULT = "openxla/xla 49176: rows shifted down by one"
TIMES = "\N{MULTIPLICATION SIGN}"
NUMBER = r"\d+(?:\.\d+)?"
INTERVAL = r"\[[\d.]+, [\d.]+\]"
CHANGED = re.escape(changes(CLAIMS.read_text(encoding="utf-8")))
REFERENCE, RUN = "reference", "run"
QUESTIONS = {
    "who is slower on BERT, by how much?": (
        REFERENCE, [], [rf"BERT-Baseslowerweight layout, \d+ weights, \d+ %[\d.]+{TIMES} {INTERVAL}"]),
    "why?": (
        REFERENCE, ["BERT-Base"],
        [rf"torch_xla is slower than JAX: .* takes [\d.]+ {INTERVAL} times as long on machines of .* and ",
         "is the larger factor", r"the cause is weight layout \(\d+ weights, same cause\)", "% of the peak"]),
    "which option?": (
        REFERENCE, ["BERT-Base"],
        ["Which pass or option changes it",
         "With xla_cpu_experimental_ynn_fusion_type=, the ratio of both programs"]),
    "which pass?": (REFERENCE, ["GPT-2 small"], ["xla_disable_hlo_passes=dot-library-rewriter"]),
    "which release?": (
        REFERENCE, ["MHA"],
        ["Which release changed it", r"torch_xla, jaxlib 0\.4\.33: [\d.]+ ms, slower", rf"{TIMES}[\d.]+"]),
    "is this value right?": (REFERENCE, ["MHA", "Values"], ["NumPy in float64", "Wrong elements"]),
    "what do I file?": (REFERENCE, ["Explained", FAULT], ["What to file", "Save reproduce.py", "stablehlo.scatter"]),
    "which reports are ready to file?": (REFERENCE, ["Explained"], [r"To file: .* docs/upstream\.md"]),
    "how noisy is this number?": (
        REFERENCE, ["BERT-Base"], ["How noisy this number is", "one more run is expected"]),
    "my run against the reference?": (
        RUN, ["Run and reference"], ["1 of 2 claims", "1 of 4 ratios", "1 of 3 cells"]),
    "what differs in the StableHLO?": (RUN, ["GEMM", "Programs"], ["stand side by side", "stablehlo.exponential"]),
    "who needs more memory?": (
        REFERENCE, ["Memory"],
        ["Needs, MiBover JAX", rf"Furthest apart: .* torch_xla needs [\d.]+{TIMES} the memory of JAX"]),
    "which claims changed?": (REFERENCE, ["Claims"], [CHANGED]),
    "which claims did a later run confirm?": (
        REFERENCE, ["Claims"], ["Explored or confirmed", r"supportedconfirmed by \d+"]),
    "what on a TPU?": (
        REFERENCE, ["ViT-B/16"],
        ["No latency was measured on a TPU", "On tpu-v6e", "fits and needs", "torch_xla needs"]),
    "what reproduces this cell?": (
        REFERENCE, ["BERT-Base"],
        ["cpu/jax/bert_base/cell.json", "cpu/torch_xla/bert_base/cell.json", "git checkout"]),
    "frontend or compiler on GPT-2?": (
        REFERENCE, ["GPT-2 small"],
        ["The ratio of both programs in each compiler", "Typical effect on a time", "jaxlib-0.10.2-no-ynn"]),
    "is TorchInductor faster than torch_xla on ResNet-50?": (
        REFERENCE, ["ResNet-50"],
        ["Every framework", rf"TorchInductor[\d.]+{INTERVAL}\D+[\d.]+{INTERVAL}faster"]),
    "which operation differs in GEMM?": (
        RUN, ["GEMM"], ["Which operations differ", "exponential", r"dot.8: dot f32\[2,2\]"]),
}  # fmt: skip
"""The report that is asked, the links that are followed, and patterns of the answer."""
SHOWN_AT = """(() => {
  const controls = Object.fromEntries([...MAIN.querySelectorAll("select")].map(
    (one) => [one.dataset.name, one.value]));
  const filters = [...place().query].filter(([name]) => name in controls);
  const isInEffect = filters.every(([name, value]) => controls[name] === value);
  return [MAIN.querySelectorAll("tbody tr").length, isInEffect, MAIN.textContent];
})()"""
"""The number of rows of a view, whether its controls show the filters of the address, and its text."""


def click(browser: Chromium, text: str) -> None:
    """Follow the first visible link of this text."""
    find = f"[...document.querySelectorAll('a')].find((one) => one.textContent === {json.dumps(text)})"
    assert browser.evaluate(f"{find}?.checkVisibility() || false"), f"no link {text}"
    browser.go(browser.evaluate(f"{find}.getAttribute('href').slice(1)"))


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_report_answers(question, browser, reports):
    report, links, expected = QUESTIONS[question]
    assert len(links) <= MOST_CLICKS
    browser.errors.clear()
    browser.resize(1280)
    browser.show(reports[report])
    browser.go("")
    for link in links:
        click(browser, link)
    text = browser.evaluate("MAIN.textContent")
    for one in expected:
        assert re.search(one, text), one
    assert browser.errors == []


def test_every_number_and_figure_of_the_paper_links_to_rows_of_the_report(browser, reports, reference_tables):
    numbers = values(sources(load(source="reference"), reference_tables).run)
    links = {use.name: numbers[use.name] for use in prose.uses() if use.command == prose.VAL}
    figures = re.findall(r"\\href\{([^}]*)\}\{\\includegraphics", "\n".join(prose.texts().values()))
    links |= {address: Value("", address.replace("\\", "")) for address in figures}
    assert len(links) > 200 and len(figures) > 8
    browser.resize(1280)
    browser.show(reports[REFERENCE])
    wrong, views = [], {}
    for key, (text, address) in links.items():
        name, _, view = address.partition("#")
        if not view:
            assert (REPOSITORY / name).is_file(), key
            continue
        assert name == "report.html"
        if view not in views:
            browser.go(view)
            views[view] = browser.evaluate(SHOWN_AT)
        rows, is_in_effect, shown = views[view]
        is_of_a_row = key.partition("/")[0] in (*schema.QUANTITIES, "ms", "claim") and not key.endswith("/next")
        number = re.search(NUMBER, text) if is_of_a_row else None
        rounded = {f"{float(one):.3g}" for one in re.findall(NUMBER, shown)}
        if not rows or not is_in_effect or (number and f"{float(number[0]):.3g}" not in rounded):
            wrong.append(f"{key}: {text} <{address}>")
    assert wrong == []
