"""Every view of the report in a real browser: Debian's chromium, headless. Skipped where there is none."""

import base64
import difflib
import json
import random
import re
import subprocess
import tarfile
from shutil import which

import pytest

import chromium
import trace_format
from chromium import FIRST_PICTURE
from made_tables import OLD
from report_fixture import HOSTILE, large, made_document
from snapshots import assert_snapshot
from stackwars.publish.report.write import MOST_BYTES, page

pytestmark = pytest.mark.skipif(chromium.BINARY is None, reason=chromium.WITHOUT)
VIEWS = [
    "start", "why/gemm", "releases", "against", "claims", "claim/gemm_steady_pytorch", "claim/y", "audits",
    "timeline/gemm", "compiled", "values", "cells", "cells?mode=replay", "cells?study=beyond&mode=growth",
    "cell/tables/cpu/jax/gemm", "cell/tables/cpu/torch_xla/ffn", "cell/tables/cpu/jax/mha", "cell/stacks/cpu/jax/gemm",
    "cell/tables/cpu/jax/none", "replay/tables/cpu/jaxlib-0.7.1/jax/gemm",
    "replay/tables/cpu/jaxlib-0.7.1/torch_xla/gemm", "replay/tables/cpu/none", "comparisons?rounds=shown",
    "comparisons?quantity=replay&rounds=shown", "causes", "programs/gemm", "programs/gemm?form=optimised", "explained",
    "explained/shift", "explained/gemm",
]  # fmt: skip
CHOSEN = {
    "start": ["start?workload=gemm", "start?over=baseline"],
    "why/gemm": ["why/none"],
    "claims": ["claims?find=faster", "claims?workload=gemm"],
    "audits": ["audits/fences"],
    "values": ["values?status=ok"],
    "cells": [
        *(f"cells?status={one}" for one in ("any", "ok", "error", "wrong")),
        *("cells?study=stacks", "cells?study=stacks&workload=mha"),
    ],
    "cell/tables/cpu/jax/gemm": ["cell/tables/cpu/jax/gemm?round=2", "cell/tables/cpu/jax/gemm?calls=1"],
    "comparisons?rounds=shown": ["comparisons?sort=effect"],
    "causes": ["causes?verdict=cause"],
    "programs/gemm": ["programs/gemm?left=torchax&right=jax", "programs/gemm?lines=quiet&layers=all"],
    "explained": ["explained?workload=gemm", "explained?find=algsimp"],
}
"""Views with another choice of their controls, by the view without it."""
EVERY = [*VIEWS, *(view for views in CHOSEN.values() for view in views)]
SHOWN = """(() => {
  const lines = new Set(["TR", "P", "H2", "H3", "H4", "LI", "DT", "DD", "CAPTION", "SUMMARY", "PRE", "DIV",
    "svg", "text", "title"]);
  const shapes = (plot) => {
    const counts = {};
    for (const one of plot.querySelectorAll("circle, path, rect, line, polyline")) {
      const look = ["class", "fill", "stroke"].map((name) => one.getAttribute(name)).filter(Boolean);
      const key = [one.tagName, ...look].join(" ");
      counts[key] = (counts[key] || 0) + 1;
    }
    return Object.entries(counts).map(([key, count]) => `${count} ${key}`).join(", ");
  };
  const text = (node) => {
    if (node.nodeType !== 1) return node.textContent;
    const tag = node.tagName;
    if (tag === "SELECT") return `{${node.dataset.name}: ${node.selectedOptions[0]?.textContent}} `;
    if (tag === "INPUT") return `{${node.dataset.name}: ${node.value}} `;
    let shown = [...node.childNodes].map(text).join(tag === "TR" ? " | " : "");
    const target = node.getAttribute("href") || "";
    if (target.startsWith("#")) shown += ` <${decodeURIComponent(target)}>`;
    if (tag === "S") shown = `struck out (${node.title}): ${shown}`;
    if (tag === "TH" && node.title) shown += ` (${node.title})`;
    if (tag === "svg") shown = `${node.getAttribute("aria-label")}: ${shapes(node)}\\n${shown}`;
    return lines.has(tag) ? `\\n${shown}\\n` : shown;
  };
  return text(MAIN).split("\\n").map((line) => line.trim()).filter(Boolean).join("\\n");
})()"""
"""The view as text: a line a row, with the addresses of links, the choices of controls and the shapes of plots."""
FIRST_PICTURE_MS = 500
"""A virtual machine with 2 cores takes half of it for the reference."""
AXE = "axe-core@4.10.3"
"""What checks accessibility: fetched for the test, and no part of this repository."""
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")


@pytest.fixture
def report(browser, reports):
    """The small report, so wide that no column is folded; the console has no error, whatever the test does."""
    browser.errors.clear()
    browser.resize(4000)
    browser.show(reports["run"])
    yield browser
    assert browser.errors == []


@pytest.mark.parametrize("view", VIEWS)
def test_view(view, report):
    assert "<img" not in report.visit(view)
    name = re.sub(r"\W+", "-", view)
    assert_snapshot(f"view_{name}.txt", report.evaluate(SHOWN))


def test_what_a_choice_changes(report):
    """The lines that a view then has more, and how many it has less."""
    changes = []
    for view, chosen in CHOSEN.items():
        report.go(view)
        before = report.evaluate(SHOWN).splitlines()
        for other in chosen:
            assert "<img" not in report.visit(other)
            after = report.evaluate(SHOWN).splitlines()
            lines = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
            more = [line for line in lines if line[0] == "+"]
            changes += [f"{other}: {len(lines) - len(more)} lines less", *more]
    assert_snapshot("choices.txt", "\n".join(changes))


def test_the_log_of_a_process_that_failed_is_open(report):
    report.go("cell/tables/cpu/jax/gemm")
    assert report.evaluate("document.querySelector('.log').textContent") == HOSTILE
    assert report.evaluate("document.querySelector('.log').parentElement.open")


def focus(browser, selector):
    browser.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")


def test_an_operation_tells_its_class_and_its_source(report):
    report.go("programs/gemm")
    focus(report, ".sides button")
    report.press("Enter", text="\r", windowsVirtualKeyCode=13)
    told = report.evaluate("document.querySelector('.detail').textContent")
    assert "Source: mha/in_jax.py:31." in told and "line 1 of torch_xla" in told
    # Of the whole class, in the one compiler that has run it.
    assert "elementwise" in told and "20.0 %" in told
    assert report.evaluate("location.hash").endswith("operation=0.0")


@pytest.mark.parametrize(
    ("right", "line", "told"),
    [
        (
            "torch_xla",
            "%dot.3 = ",
            ["dot.3: 1.50 ms, 75.0 % of the profiled call", "products and convolutions"],
        ),
        ("torch_xla", "%call = ", ["It runs as fusion: 0.400 ms, 20.0 %", "elementwise"]),
        ("torch_xla", "%add.2 = ", ["It runs as fusion: 0.400 ms", "Source: line 3 as emitted."]),
        ("torch_xla", "ROOT %reduce.1", ["The profile has no operation of this name.", "reductions and norms"]),
        ("torch_xla", "%bitcast", ["No time is its own"]),
        # Of a profile that has sums alone, an operation has its class alone.
        ("torchax", "%dot.8 = ", ["Times of single operations are not in this report.", "75.0 %"]),
    ],
)
def test_an_optimised_operation_tells_what_it_takes_itself(report, right, line, told):
    report.go(f"programs/gemm?form=optimised&right={right}")
    report.evaluate(f"""[...document.querySelectorAll('.sides button')]
        .find((one) => one.textContent.replace('\u2260 ', '').trim().startsWith({json.dumps(line)})).click()""")
    shown = report.evaluate("document.querySelector('.detail').textContent")
    for text in told:
        assert text in shown


def test_the_workload_is_kept_from_view_to_view(report):
    """A view that has nothing of it begins as it does by itself."""

    def links(view: str) -> list[str]:
        report.go(view)
        return report.evaluate("[...document.querySelectorAll('#views a')].map((one) => one.hash)")

    filtered = ("cells", "values", "comparisons", "causes", "compiled", "releases", "explained", "claims")
    paths = ("start", "why/gemm", "causes", "releases", "explained", "programs/gemm", "timeline/gemm", "values",
             "compiled", "claims", "audits", "against", "comparisons", "cells")  # fmt: skip
    kept = [f"#{path}?workload=gemm" if path in filtered else f"#{path}" for path in paths]
    for view in ("timeline/gemm", "cell/tables/cpu/jax/gemm", "comparisons?workload=gemm", "why/gemm"):
        assert links(view) == kept
    assert "#programs" in links("cell/tables/cpu/jax/mha")


def row_texts(report) -> list[str]:
    return report.evaluate("[...document.querySelectorAll('tbody tr')].map((row) => row.textContent)")


def test_a_head_sorts_a_table_by_its_numbers_and_turns_it(report):
    report.go("values")
    press = "document.querySelector('[data-name=\"sort Wrong elements\"]').click()"
    report.evaluate(press)
    first = row_texts(report)
    report.evaluate(press)
    assert "12" not in first[0] and "12" in row_texts(report)[0]
    assert report.evaluate("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "descending"
    # The order stays when the view is drawn again.
    report.go("values?status=")
    assert "12" in row_texts(report)[0]


def test_layers_are_folded_until_they_are_asked_for(report):
    """The second of two layers stands in one line if both programs repeat it there."""
    lines = "[...Array(21).keys()].map((line) => [line, line])"
    counts = f"folded({lines}, [[[0, 10, 2]], [[0, 10, 2]]]).map((pair) => pair.folded || 0)"
    assert report.evaluate(counts) == [*[0] * 10, [10, 10], 0]
    assert report.evaluate(f"folded({lines}, [[[0, 10, 2]], []]).length") == 21
    # What is short stays: a line that says so would be as long.
    assert report.evaluate(f"folded({lines}, [[[0, 4, 2]], [[0, 4, 2]]]).length") == 21


CUT = """(async () => {
  document.querySelectorAll("main details").forEach((one) => { one.open = true; });
  await new Promise((done) => setTimeout(done, 50));  // what was closed is folded when it opens
  const tables = [...document.querySelectorAll(".scroll:has(table)")].filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.getAttribute("aria-label"));
  const labels = [...document.querySelectorAll("svg[aria-label]")].flatMap((plot) => {
    const box = plot.getBoundingClientRect();
    return [...plot.querySelectorAll("text")].filter((text) => {
      const own = text.getBoundingClientRect();
      return own.left < box.left - 1 || own.right > box.right + 1;
    }).map((text) => text.textContent);
  });
  return [...tables, ...labels, ...(document.documentElement.scrollWidth > innerWidth ? ["the page"] : [])];
})()"""
OF_THE_REFERENCE = [
    "start", "why/bert_base", "causes", "releases", "explained", "explained/bert_base", "values", "compiled", "claims",
    "audits", "comparisons", "cells?study=matrix&mode=replay", "timeline/bert_base",
]  # fmt: skip


@pytest.mark.parametrize("width", [700, 1400])
def test_no_column_and_no_label_is_cut(width, browser, reports):
    cut = {}
    browser.resize(width)
    for name, views in (("run", EVERY), ("reference", OF_THE_REFERENCE)):
        browser.show(reports[name])
        for view in views:
            browser.go(view)
            cut[name, view] = browser.evaluate(CUT)
    browser.go("")
    assert "weight layout" in browser.evaluate("MAIN.textContent")
    assert {key: names for key, names in cut.items() if names} == {}


def test_columns_that_do_not_fit_open_below_their_row(browser, reports):
    more = "[...document.querySelectorAll('td button')].find((one) => one.textContent === 'more')"
    below = "document.querySelector('dl.rest')?.textContent || ''"
    browser.resize(700)
    browser.open(reports["run"])
    browser.go("comparisons?rounds=shown")
    assert browser.evaluate(below) == ""
    browser.evaluate(f"{more}.click()")
    assert "Of each round1.45, 1.55" in browser.evaluate(below)
    browser.evaluate(f"{more}.click()")
    assert browser.evaluate(below) == ""


SIDES = "[...document.querySelectorAll('.sides > div')]"


def test_any_two_programs_stand_beside_each_other_in_either_order(report):
    def opposite(left: str, right: str) -> list:
        report.go(f"programs/gemm?left={left}&right={right}")
        texts = f"{SIDES}.map((side) => [...side.children].map((line) => line.textContent.trim()))"
        return list(zip(*report.evaluate(texts), strict=True))

    one = opposite("torch_xla", "torchax")
    assert one[0][0] == one[0][1] == "%0 = stablehlo.tanh %a : tensor<2xf32>"
    # What one of them has alone stands opposite nothing.
    assert len(one) == 3 and all("" in row for row in one[1:])
    turned = opposite("torchax", "torch_xla")
    assert {row[::-1] for row in turned} == set(one)


def test_search_ignores_case_and_goes_from_hit_to_hit(report):
    text = report.visit("programs/gemm?search=TANH")
    assert "2 hits" in text and text.count('class="line hit"') == 2
    press = "document.querySelector('[data-name=\"Next hit\"]').click()"
    at = f"{SIDES}.findIndex((side) => side.querySelector('[data-hit]'))"
    for expected in (0, 1, 0):
        report.evaluate(press)
        assert report.evaluate(at) == expected
    assert "no hit" in report.visit("programs/gemm?search=absent")


def profiled_call(**changes) -> dict:
    """Return JAX's profiled call with its operations, as the page unpacks it."""
    calls = made_document()["timeline"]["calls"]
    call = next(one for one in calls if one["profile"] and one["profile"]["spans"])
    return {**call, **call["profile"], **changes}


def traced(report, *calls):
    """The trace of these calls, which is in the format that Perfetto reads."""
    document = report.evaluate(f"trace({json.dumps(calls)})")
    assert trace_format.problems(document) == []
    return document["traceEvents"]


def test_the_trace_has_every_operation_when_it_ran(report):
    events = traced(report, profiled_call())
    ran = [event for event in events if event["ph"] == "X"]
    assert [(e["name"], e["cat"], e["ts"], e["dur"]) for e in ran] == [
        ("dot.3", "products", 0, 900),
        ("dot.3", "products", 500, 600),
        ("fusion", "elementwise", 1200, 400),
    ]
    # Two that run at once are in rows of their own.
    assert [event["tid"] for event in ran] == [1, 2, 1]
    named = [e["args"]["name"] for e in events if e["name"] in ("process_name", "thread_name")]
    assert named == [f"JAX, {OLD}", "operations", "operations, row 2"]


def test_without_optimised_programs_or_single_operations_a_view_has_less(report):
    report.go("")
    report.evaluate("DATA.programs = []")
    report.go("why/gemm")
    shown = report.evaluate("MAIN.textContent")
    assert "By rank: " in shown and "dot.31.50dot.82.10products and convolutions" in shown
    assert "Save as a trace" in report.visit("timeline/gemm")
    report.evaluate("DATA.timeline.calls.forEach((call) => { call.profile = null; })")
    assert "Save as a trace" not in report.visit("timeline/gemm")
    report.path = None  # the next test needs the page as it was


def test_the_trace_of_several_frontends_has_a_process_and_threads_for_each(report):
    """Times that no binary fraction holds, neighbours that touch, and operations that take no time."""
    spans = [[n % 2, round(n * 0.001001, 6), 0.001001 * (n % 3 > 0)] for n in range(300)]
    other = profiled_call(framework="torch_xla", spans=spans[:2])
    events = traced(report, profiled_call(spans=spans), other, profiled_call(spans=spans, framework=HOSTILE))
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert processes == {1: f"JAX, {OLD}", 2: f"torch_xla, {OLD}", 3: f"{HOSTILE}, {OLD}"}
    assert sum(e["ph"] == "X" and e["pid"] == 1 for e in events) == 300


def test_two_runs_stand_in_one_comparison(browser, tmp_path):
    other = {**made_document()["comparisons"][0], "ratio": 2.5}
    two = {"name": "the other", "summary": "It moved.", "comparisons": [other]}
    (tmp_path / "report.html").write_text(page({**made_document(), "other": two}))
    browser.open(tmp_path / "report.html")
    text = browser.visit("comparisons")
    assert "It moved." in text and "2.50" in text
    # The diamond of the other run.
    assert text.count('<path class="other"') == 1


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """axe-core's script."""
    if which("npm") is None:
        pytest.skip("no npm here, which would fetch axe-core")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(["npm", "pack", AXE], cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"npm could not fetch {AXE}: {done.stderr.strip()[-200:]}")
    [packed] = folder.glob("*.tgz")
    with tarfile.open(packed) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def test_accessibility_has_no_serious_finding(report, axe):
    """Of the first view of each page; the others have less of the same."""
    options = json.dumps({"runOnly": {"type": "tag", "values": list(RULES)}})
    report.evaluate(axe)
    findings = {}
    for view in {view.partition("?")[0]: view for view in reversed(VIEWS)}.values():
        report.go(view)
        found = report.evaluate(f"axe.run(document, {options})")
        assert found["passes"], "no rule of axe-core ran"
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        findings[view] = [(one["id"], one["nodes"][0]["html"][:120]) for one in serious]
    assert {view: some for view, some in findings.items() if some} == {}


def with_programs(document):
    """Return the document with programs of a megabyte, more than the reference's; only their view unpacks them."""
    noise = base64.b64encode(random.Random(0).randbytes(1_000_000)).decode()
    return {**document, "programs": [{**made_document()["programs"][0], "left_out": {"numpy": noise}}]}


@pytest.mark.alone
def test_the_first_picture_of_a_report_as_large_as_the_reference_takes_half_a_second(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page(with_programs(large(600))))
    browser.resize(1280)
    took = []
    for _ in range(3):
        browser.open(path)
        took.append(browser.evaluate(FIRST_PICTURE))
    assert browser.evaluate("document.querySelectorAll('td.heat').length") >= 600
    assert min(took) < FIRST_PICTURE_MS


@pytest.mark.alone
def test_five_thousand_cells_stay_fast(browser, tmp_path):
    """The limit of a view is several times what a laptop takes: it finds a page that draws all at once."""
    path = tmp_path / "report.html"
    path.write_text(page(with_programs(large(5000))))
    assert path.stat().st_size < MOST_BYTES
    browser.errors.clear()
    browser.resize(1280)
    browser.open(path)
    took = {"start": browser.evaluate(FIRST_PICTURE)}
    of_one_cell = "cell/tables/cpu/framework_7/workload_249"
    for view in ("cells", "cells?page=25", "comparisons?sort=effect", of_one_cell):
        before = browser.evaluate("performance.now()")
        text = browser.visit(view)
        took[view] = browser.evaluate("performance.now()") - before
        assert browser.evaluate("document.querySelectorAll('*').length") < 10_000, view
    assert "workload_249" in text and "<circle" in text
    assert browser.errors == []
    assert max(took.values()) < 3000


def test_the_last_page_has_the_last_cell_and_copies_all(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page(large(450)))
    browser.open(path)
    text = browser.visit("cells?page=3")
    assert "401 to 450 of 450" in text and "workload_22" in text
    lines = browser.evaluate('csv([["Workload", (row) => row.workload]], DATA.cells).split("\\n").length')
    assert lines == 901


def test_a_control_keeps_the_focus_when_it_changes_the_view(report):
    report.go("cells")
    focus(report, "[data-name=status]")
    text = report.visit("cells?status=error")
    assert "1 of 5 cells" in text
    assert report.evaluate("document.activeElement.dataset.name") == "status"


def test_arrow_keys_go_through_a_table_that_is_one_stop(report):
    report.go("start")
    stops = "[...document.querySelectorAll('td.heat a')].filter((one) => one.tabIndex === 0).length"
    assert report.evaluate(stops) == 1
    focus(report, "td.heat a")
    report.press("ArrowDown")
    assert "unsupported" in report.evaluate("document.activeElement.textContent")


def test_the_page_is_dark_where_the_reader_asks_for_it_and_prints_without_its_controls(report):
    ground = "getComputedStyle(document.body).backgroundColor"
    bar = "getComputedStyle(document.querySelector('.bar')).display"
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    report.go("comparisons")
    light = report.evaluate(ground)
    try:
        report.call("Emulation.setEmulatedMedia", features=[dark])
        assert report.evaluate(ground) != light
        report.call("Emulation.setEmulatedMedia", media="print", features=[])
        assert report.evaluate(bar) == "none"
        assert report.call("Page.printToPDF")["data"]
    finally:
        report.call("Emulation.setEmulatedMedia", media="", features=[])


def test_contrast_of_every_shade_is_that_of_wcag_aa(report):
    """Black or white on every shade of the heat map and of costs."""
    worst = report.evaluate("""(() => {
      const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      const light = (rgb) => rgb.map((v) => linear(v / 255))
        .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
      const ratios = [...Array(101).keys()].map((step) => {
        const { background, ink } = shade(step / 100);
        const ground = light(background.match(/\\d+/g).map(Number)), text = ink === "#fff" ? 1 : 0;
        return (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
      });
      return Math.min(...ratios);
    })()""")
    assert worst >= 4.5
