"""Every table of the paper, whole, from rows that a test chooses; snapshots/ has its LaTeX."""

import json

import pandas as pd
import pytest
import yaml

from made_tables import NEW, OLD, checked, class_times, write_tables
from snapshots import assert_snapshot
from stackwars.core.hlo import COLLECTIVES, PRODUCTS
from stackwars.publish.paper.tables import claims, compilers
from stackwars.publish.paper.tables.table import render
from stackwars.publish.paper.tables.write import write
from stackwars.study import cells
from stackwars.study.audits import audit_entries
from stackwars.study.audits.audit_entries import Audits
from stackwars.study.config import load
from stackwars.study.results import verdicts
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.folder import Folder
from table_fixture import BY_NAME, NAN, cell, compared, compiled, program, sources

SIDES = ("jax", "torch_xla")
UNTIMED = dict.fromkeys(("steady_ms", "steady_min_ms", "steady_max_ms"))
WRONG = {
    "status": "wrong",
    "status_detail": "96 of 128 elements wrong (the last 12 of axis 0), largest error 1.0e+00",
}
REFUSED = {"status": "oom", "status_detail": "refused at build: MemoryError: 224 MiB"}
IREE = "iree-3.13"


def replayed(framework: str, workload: str = "gemm", compiler: str = OLD, **columns: object) -> dict:
    return cell(framework, workload, mode="replay", compiler=compiler, **columns)


CELLS = [
    cell("jax"),
    # 250 items a second of fenced calls of 30 ms; of 16 calls with one fence each takes half of that.
    cell("torch_xla", throughput_ms=15.0),
    cell("jax", "layernorm", **WRONG, struck_ms=12.5),
    cell("torch_xla", "layernorm", **WRONG, struck_ms=NAN),
    cell("torch_xla", "conv"),
    cell("torch_xla", "ffn_relu", steady_ms=0.5),
    cell("jax", "resnet50", gated=False, steady_class=verdicts.NO_STEADY_STATE),
    cell("torch_xla_pending", "resnet50"),
    cell("torch_xla", "resnet50", status="unsupported"),
    cell("jax", "llama3_8b", **REFUSED),
    cell("torch_xla", "llama3_8b", status="oom"),
    cell("torch_xla", "llama3_8b", device="tpu", status="not run"),
    cell("torch_xla", "llama3_8b", device="cuda"),
    *(replayed(side, compiler=one) for one in (OLD, NEW) for side in SIDES),
    replayed("jax", "ffn", parity_rel_l2=1.6e-6),
    replayed("torch_xla", "ffn", **UNTIMED, status="timeout", status_detail="after 900 s"),
    replayed("jax", "mha", **UNTIMED | WRONG, struck_ms=4.5),
    replayed("torch_xla", "mha"),
    # Single layers, whose difference explains a model's; GPT-2's weights are the other way around.
    *(replayed(side, "linear", steady_ms=ms) for side, ms in zip(SIDES, (5.0, 19.0), strict=True)),
    *(
        replayed(side, model, steady_ms=ms)
        for model in ("bert_base", "gpt2_small")
        for side, ms in zip(SIDES, (100.0, 300.0), strict=True)
    ),
]
COMPARISONS = [
    compared("steady", published_ratio=0.2868, detectable=0.14, contended=True, agreement="differs"),
    compared("first", 1.05, published_ratio=0.0048),
    compared("second"),
    compared("steady", 2.0, device="cpu-1t"),
    compared("steady_cpu", 1.2),
    compared("steady", NAN, "conv"),
    compared("steady", 1.3, "ffn_relu", contended=False),
    compared("native", 2.0, compiler=OLD),
    compared("everything else", 1.25, compiler=OLD),
    compared("margin", compiler=OLD, verdict=verdicts.DUE_TO_PROGRAM, native_verdict=verdicts.SLOWER),
    compared("control", 1.0, compiler=OLD, subject="jax", verdict=verdicts.PASSED),
    *(compared("replay", ratio, compiler=one) for one, ratio in ((OLD, 1.6), (NEW, 1.0), (IREE, 1.15))),
    compared("replay", 9.0, compiler=IREE, subject="torchax"),
    compared("replay", 1.5, "ffn", compiler=OLD),
    compared("replay", 0.5, "layernorm", compiler=OLD),
    compared("pairwise", 0.5, subject="torch_inductor", baseline="torch_eager"),
    compared("pairwise", NAN, "mha", subject="torch_inductor", baseline="torch_eager"),
    *(
        compared("form", ratio, one, baseline_workload=other, variant=stage, subject=name, baseline=name)
        for one, other in (("unrolled_rnn", "scan_rnn"), ("moe_sorted", "moe"))
        for name in ("torch_inductor", "jax", "numpy")
        for stage, ratio in (("steady", 1.5), ("first", 2.0))
    ),
    compared(
        "steady", 1.6, "two_matmuls", subject="torch_inductor", published_ratio=1.0439, agreement="agrees"
    ),
]
CAUSE = {
    "workload": "gemm", "title": "GEMM", "compiler": OLD, "device": "cpu", "subject": "torch_xla", "baseline": "jax",
    "ratio": 1.6, "low": 1.5, "high": 1.7, "verdict": "cause", "detail": "found",
    "closed": 0.84, "closed_low": 0.7, "closed_high": 0.98, "what": "argument layout", "count": 12,
    "subject_operations": "argument 3x2xf32", "baseline_operations": "argument 2x3xf32",
    "reason": "this product uses 1.3 cores.",
}  # fmt: skip
SPREAD = {**CAUSE, "workload": "mha", "title": "MHA", "verdict": "spread", "detail": "no single region"}
SPREAD |= {"tried": "3 and 4 operations", **dict.fromkeys(("closed", "what", "count"))}
PROFILE = [
    row
    for side, ms in (("jax", 2.0), ("torch_xla", 3.0), ("torchax", 3.0))
    for row in class_times(side, {PRODUCTS: ms}, "ffn", profile_consistent=None)
]
EFFECTS = [
    {"subset": subset, "workload": "gemm", "effect": part, "factor": factor, "share": share, "largest": largest}
    for subset, largest in (("all", "compiler"), ("XLA alone", verdicts.NOT_SEPARATED))
    for part, factor, share in (("frontend", 1.1, 0.15), ("compiler", 1.4, 0.9), ("interaction", 1.0, -0.05))
]
COUNTS = {"operations": 10, "reshapes": 1, "transposes": 2, "broadcasts": 3, "layout_bytes": 2**20, "depth": 4}
COLLECTED = json.dumps({**dict.fromkeys(COLLECTIVES, 0), "all_reduce": 129, "all_gather": 65, "bytes": 2**21})
LLAMA = {
    "workload": "llama3_8b",
    "variant": "tensor4",
    "devices": 4,
    "target": "tpu-v6e-4",
    "collectives": COLLECTED,
}
PROGRAMS = [
    program("jax", flattening="preserved", qkv="combined", layernorm="not applicable", canonical_hash="a", **COUNTS),
    program("torch_xla", flattening="flattened", qkv="combined", contraction="prepared", canonical_hash="b", **COUNTS),
    *(program(side, "gemm", canonical_hash="c", **COUNTS) for side in SIDES),
    *(
        row
        for model, fits, refused in (
            ("resnet50", 37, 38), ("bert_base", 37, 40), ("gpt2_small", 70, NAN), ("vit_b16", NAN, 1),
        )
        for row in (
            compiled("jax", model, largest_batch=fits, smallest_refused_batch=refused, published_status="ok",
                     code_bytes=2),
            compiled("torch_xla", model, hbm_bytes=2**31, verdict="oom", published_status="oom", code_bytes=3),
            compiled("torch_xla", model, compiler=OLD, hbm_bytes=1.0),
        )
    ),
    *(compiled(name, run="new", **LLAMA) for name in ("torch_xla", "jax")),
    compiled("jax", run="old", **LLAMA),
    compiled("jax", "llama3_8b", run="newest"),
]  # fmt: skip
ODD = {"variant": "odd1", "sizes": "m=17 k=3"}
LEAST = {"variant": "odd2", "sizes": "m=1 k=1"}
VALUES = [
    checked(**WRONG),
    checked(**WRONG | ODD),
    checked(**LEAST),
    *(checked(name, **ODD) for name in ("torch_xla", "torchax", "numpy", "tensorflow_xla")),
    checked(compiler=IREE, **ODD),
    checked(
        "torch_xla", "crash", compiler=IREE, **ODD | {"status_detail": "SIGSEGV in the first call\nlast line"}
    ),
    checked("torchax", "timeout", compiler=IREE, **ODD),
    checked("numpy", "unsupported", compiler=IREE, status_detail="the compiler refuses it"),
    # Programs that fail alike share a row.
    *(checked(one, **LEAST | WRONG) for one in ("torchax", "torch_xla")),
]


def claim(identity: str, origin: str = "ours", **columns: object) -> dict:
    known = {"id": identity, "origin": origin, "sentence": f"It is {identity}.", "verdict": "supported"}
    known |= {
        "margin": "2 of 3 for, 1 against (3 needed)",
        "evidence": "slower in 2 of 3: A 1.2, B 1.3; faster in 1: C 0.9",
    }
    return known | columns


CLAIMS = [
    claim("b", "transferred"),
    claim("a", "published", verdict="not testable here", margin="", evidence="no TPU here (no driver)"),
    claim("c"),
    claim("d", verdict="not decided"),
]
DEVIATIONS = [
    {"quantity": "ratio", "device": "cpu", "level": level, "deviation": deviation, "count": 3}
    for level, deviation in (("process", None), ("round", 0.19), ("run", 0.098), ("machine", 0.084))
]
FAILED = Audits([audit_entries.entry("aa", "fail", {}, "2 of 5")], "r1", ("abc",), "A CPU")
OF_FILES = {"shapes", "explained", "needs", "public_faults"}
"""Tables of the configuration, of modules and of committed files, which say nothing of a run."""


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Sources:
    """A run with something in every table."""
    folder = tmp_path_factory.mktemp("full")
    made = sources(
        folder, cells=CELLS, comparisons=COMPARISONS, causes=[CAUSE, SPREAD, SPREAD | {"subject": "torchax"}],
        profile=PROFILE, effects=EFFECTS, programs=PROGRAMS, values=VALUES, claims=CLAIMS,
    )  # fmt: skip
    audit_entries.write(FAILED, folder / "audits.json")
    return made


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - OF_FILES))
def test_table(name, full, monkeypatch):
    monkeypatch.setattr(
        "stackwars.publish.paper.tables.latency.variance.table", lambda runs: pd.DataFrame(DEVIATIONS)
    )
    assert_snapshot(f"{name}.tex", render(BY_NAME[name], full))


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_without_a_result_a_table_is_empty(name, tmp_path):
    text = render(BY_NAME[name], sources(tmp_path))
    assert text.count(rf"\label{{tab:{name}}}") == 1
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 1
    assert "nan" not in text.split() and "None" not in text
    is_full = name in OF_FILES or name in ("audits", "variance", "effects")
    assert is_full or BY_NAME[name].empty in text


def test_the_step_writes_a_file_for_each_table(tmp_path, monkeypatch):
    monkeypatch.setattr("stackwars.publish.paper.tables.latency.runs.read", lambda: [])
    sources(tmp_path)
    write(load(source="reference"), Folder(tmp_path))
    assert {path.stem for path in (tmp_path / "tables").glob("*.tex")} == set(BY_NAME)


def test_tables_of_files_have_all_that_the_files_have(full):
    document = yaml.safe_load(claims.EVALUATION.read_text(encoding="utf-8"))
    needs = BY_NAME["needs"].rows(full)
    assert [what.lower() for what in needs["what"]] == [one["what"].lower() for one in document["needs"]]
    shapes = BY_NAME["shapes"].rows(full).set_index("workload")
    assert len(shapes) == len({name.partition("@")[0] for name in load().workloads})
    assert shapes.loc["GEMM", "sizes"] == "m 128, k 256, n 1024"
    assert shapes.loc["GEMM", "gflop"] == pytest.approx(2 * 128 * 256 * 1024 / 1e9)
    stacks = BY_NAME["explained"].rows(full).set_index("stack")["text"]
    assert stacks["JAX"].startswith(r"\texttt{jax.jit} over a pure function") and len(stacks) > 10


def test_faults_are_of_this_run_or_else_of_the_reference(tmp_path, full):
    def shown(folder, **rows: list[dict]) -> str:
        return render(BY_NAME["faults"], Sources(sources(folder, **rows).run, reference, []))

    reference = Dataset(full.run.config, full.run.folder, is_reference=True)
    own = shown(tmp_path / "own", values=[checked()])
    assert BY_NAME["faults"].empty in own and "Checked in this run." in own
    without = shown(tmp_path / "none")
    assert "SIGSEGV" in without and "over the accepted runs" in without


RUN, EARLIER = "2026-01-02T0304", "2026-01-01T0000"


@pytest.mark.parametrize(
    ("own", "accepted", "newest", "expected"),
    [
        (RUN, EARLIER, None, "1 of 1 audits of this run failed: A/A."),
        (None, EARLIER, None, f"not audited with this run; 1 of 1 audits of the run {EARLIER} failed: A/A."),
        (None, None, None, "The harness was not audited with this run."),
        (None, EARLIER, EARLIER, "1 of 1 audits of the newest accepted run failed: A/A."),
        (None, EARLIER, RUN, "was not audited with the newest accepted run; 1 of 1"),
    ],
)
def test_the_audits_of_a_run_are_told_from_those_of_another(tmp_path, own, accepted, newest, expected):
    """newest: the newest accepted run, in a build of the reference alone."""
    contexts = {"run": {"date_utc": "2026-01-02T03:04:05+00:00"}, "reference": {"run": newest}}
    made = {}
    for (name, context), run in zip(contexts.items(), (own, accepted), strict=True):
        made[name] = Dataset(load(), write_tables(tmp_path / name, context), name == "reference")
        if run:
            audit_entries.write(Audits(FAILED.entries, run, ("abc",), "A CPU"), tmp_path / name / "audits.json")
    both = Sources(made["reference"] if newest else made["run"], made["reference"], [])
    assert expected in claims.audit_state(both)
    assert ("No audit was run." in render(BY_NAME["audits"], both)) == (not own and not accepted)


def test_both_frontends_in_openvino_are_a_column_once_they_were_measured(tmp_path):
    replay = compared("replay", 1.5, compiler=OLD)
    native = compared("steady", 1.13, subject="torch_openvino", baseline="jax_openvino")
    before, after = (
        render(BY_NAME["compilers"], sources(tmp_path / str(len(rows)), comparisons=rows))
        for rows in ([replay], [replay, native])
    )
    assert "OpenVINO" not in before
    (row,) = [line for line in after.splitlines() if line.startswith("GEMM")]
    assert "& OpenVINO" in after and "weights as constants" in after and "1.13" in row.rpartition("&")[2]


def test_layers_of_a_model_are_counted_by_the_shapes_of_its_weights():
    bert, gpt2, vit = (
        compilers.layers(name, cells.sizes(load(), name)) for name in ("bert_base", "gpt2_small", "vit_b16")
    )
    assert bert[128, 768, 3072] == bert[128, 3072, 768] == 12
    assert bert[128, 768, 768] == 12 * 4
    assert gpt2[128, 768, 2304] == gpt2[128, 768, 768] == gpt2[128, 768, 3072] == gpt2[128, 3072, 768] == 12
    # An image has a row for each patch, and one.
    down = compilers.layer(cells.sizes(load(), "linear@vit_down"))
    assert down == (394, 3072, 768) and vit[down] == 12
