"""What a reader asks of the report, each answered in at most two clicks."""

import json

import pytest

import chromium
from chromium import Chromium
from report_fixture import made_document
from stackwars.publish.report.write import page

pytestmark = pytest.mark.skipif(chromium.BINARY is None, reason=chromium.WITHOUT)
MOST_CLICKS = 2
FAULT = "openxla/xla 49176: rows shifted down by one"
REFERENCE = {
    "why is BERT slower in torch_xla?": (
        ["BERT-Base"],
        [
            "torch_xla is slower than JAX",
            "A search of its cause found",
            "argument layout",
            "is the larger factor",
        ],
    ),
    "how noisy is this number?": (["BERT-Base"], ["How noisy this number is", "one more run is expected"]),
    "what reproduces this cell?": (
        ["BERT-Base"],
        ["cpu/jax/bert_base/cell.json", "cpu/torch_xla/bert_base/cell.json", "git checkout"],
    ),
    "frontend or compiler on GPT-2?": (
        ["GPT-2 small"],
        ["The ratio of both programs in each compiler", "Typical effect on a time", "jaxlib-0.10.2-no-ynn"],
    ),
    "does ViT fit the TPU and who needs more?": (
        ["ViT-B/16"],
        ["On tpu-v6e", "fits and needs", "torch_xla needs"],
    ),
    "is TorchInductor faster than torch_xla on ResNet-50?": (
        ["ResNet-50"],
        ["Every framework", "Over torch_xla"],
    ),
    "which pass?": (["Explained"], ["xla_disable_hlo_passes=algsimp"]),
    "which release?": (["MHA"], ["Which release changed it", "0.4.33", "slower"]),
    "is this value right?": (["MHA", "values"], ["NumPy in float64", "Wrong elements"]),
    "what do I file?": (["Explained", FAULT], ["What to file", "Save reproduce.py", "stablehlo.scatter"]),
}
RUN = {
    "which operation differs in GEMM?": (
        ["GEMM"],
        ["Which operations differ", "exponential", "dot.8: dot f32[2,2]"],
    ),
    "my run against the reference?": (["Reference"], ["1 of 2 claims", "1 of 4 ratios", "1 of 3 cells"]),
}


@pytest.fixture(scope="module")
def reference(document, tmp_path_factory):
    made = tmp_path_factory.mktemp("reference") / "report.html"
    made.write_text(page(document))
    return made


def click(browser: Chromium, text: str) -> str:
    """Follow the first visible link of this text; return what the report shows then."""
    find = f"[...document.querySelectorAll('a')].find((one) => one.textContent === {json.dumps(text)})"
    assert browser.evaluate(f"{find}?.checkVisibility() || false"), f"no link {text}"
    return browser.visit(browser.evaluate(f"{find}.hash.slice(1)"))


def answered(browser: Chromium, links: list[str], expected: list[str]) -> str:
    assert len(links) <= MOST_CLICKS
    browser.errors.clear()
    browser.visit("")
    for link in links:
        text = click(browser, link)
    for one in expected:
        assert one in text
    assert browser.errors == []
    return text


@pytest.mark.parametrize("question", REFERENCE)
def test_the_reference_answers(question, browser, reference):
    browser.open(reference)
    answered(browser, *REFERENCE[question])
    if "TorchInductor" in question:
        rows = browser.evaluate("[...document.querySelectorAll('tbody tr')].map((row) => row.textContent)")
        assert any(row.startswith("TorchInductor") and row.endswith("faster") for row in rows)


@pytest.mark.parametrize("question", RUN)
def test_a_run_answers(question, browser, tmp_path):
    (tmp_path / "report.html").write_text(page(made_document()))
    browser.open(tmp_path / "report.html")
    answered(browser, *RUN[question])
