"""Which gaps of a made-up replay are searched, and what memory.json says of two programs."""

import math

import pytest

from made_tables import NEW, OLD, measured_replay
from stackwars.core import documents
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program
from stackwars.explain import driver
from stackwars.explain.answer import Cause, Memory, Share
from stackwars.explain.task import Settings
from stackwars.setup.environments import Unavailable
from stackwars.study import searches
from stackwars.study.config import ConfigError, load
from stackwars.study.results.causes import build_causes, rows
from stackwars.study.results.raw import Raw
from stackwars.study.searches import CausesJob, Point, explain_gaps

PAIR = ["torch_xla", "jax"]


@pytest.mark.parametrize(
    ("medians", "gaps"),
    [
        # The main pair, and the slowest against the fastest; the slower program stands first.
        (
            {
                "jax": (2.0, 2.0, 2.1),
                "torch_xla": (3.0, 3.1, 3.0),
                "torchax": (1.0, 1.0, 1.1),
                "torch_tpu": (2.5,) * 3,
            },
            {("torch_xla", "jax"): True, ("torch_xla", "torchax"): True},
        ),
        ({"jax": (3.0, 3.1, 3.0), "torch_xla": (2.0, 2.0, 2.1)}, {("jax", "torch_xla"): True}),
        ({"jax": (1.0,) * 2, "torch_xla": (2.0,) * 2, "not asked": (9.0,) * 2}, {("torch_xla", "jax"): True}),
        # The bound of a gap, 10 %, is outside of its interval, or below its only round.
        ({"jax": (1.0,) * 3, "torch_xla": (1.2, 1.21, 1.2)}, {("torch_xla", "jax"): True}),
        ({"jax": (1.0,) * 3, "torch_xla": (1.09, 1.09, 1.09)}, {("torch_xla", "jax"): False}),
        ({"jax": (1.0,) * 3, "torch_xla": (1.0, 1.6, 1.3)}, {("torch_xla", "jax"): False}),
        ({"jax": (1.0,), "torch_xla": (1.3,)}, {("torch_xla", "jax"): True}),
        ({"jax": (1.0,), "torch_xla": (1.05,)}, {("torch_xla", "jax"): False}),
    ],
)
def test_the_pairs_of_a_replay_that_are_examined_and_whether_they_have_a_gap(medians, gaps):
    names = [name for name in medians if name != "not asked"]
    rows = searches.gaps(measured_replay(medians), names, PAIR, 0.1)
    assert {(one["subject"], one["baseline"]): one["is_gap"] for one in rows} == gaps


def test_a_program_that_is_not_right_is_not_compared():
    replay = measured_replay({"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0)})
    replay["programs"]["torch_xla"]["status"] = "wrong"
    [one] = searches.gaps(replay, PAIR, PAIR, 0.1)
    assert one["ratio"] is None and not one["is_gap"]


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setattr(searches, "ensure", lambda pins: pins)
    monkeypatch.setattr(searches, "load_program", lambda label, *_: Program(label))
    names = ("jax", "torch_xla")
    return CausesJob(
        workload="gemm", device="cpu", compiler={"name": OLD, "module": "xla", "options": {"an_option": ""}},
        evaluator={"name": OLD, "module": "xla", "options": {}}, 
        pins={"compiler": "envs/x.txt", "evaluator": "envs/x.txt"},
        programs={name: {"program": f"{name}.mlir.gz", "arguments": f"{name}.json"} for name in names},
        pair=PAIR, sizes={"m": 16}, seed=7, bound=0.1, settings={"seconds": 0.1},
    )  # fmt: skip


REPLAY = measured_replay({"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0)})


def test_a_gap_is_searched_and_its_answer_is_written(job, tmp_path, monkeypatch):
    searched = []

    def find(task, say, kept):
        searched.append(task)
        return Cause(task.name, OLD, "torch_xla", "jax", None, "spread", "over 5 kinds")

    monkeypatch.setattr(driver.cause, "find", find)
    document = explain_gaps(job, REPLAY, tmp_path)
    [task] = searched
    assert (task.a.label, task.b.label, task.is_plain) == ("torch_xla", "jax", False)
    assert task.name == f"gemm in {OLD}: torch_xla against jax"
    assert task.compiler.python.endswith("envs/x.txt") and task.compiler.options == {"an_option": ""}
    assert task.settings == Settings(seconds=0.1, bound=0.1)
    [gap] = document["gaps"]
    assert gap["cause"]["verdict"] == "spread" and gap["cause"]["schema"] == Cause.schema
    assert documents.read(tmp_path / "torch_xla-jax" / "cause.json") == gap["cause"]
    assert (document["status"], document["compiler"], document["workload"]) == ("ok", OLD, "gemm")
    table = rows(document)
    assert [row["verdict"] for row in table] == ["spread"]


def test_a_search_that_fails_is_an_answer(job, tmp_path, monkeypatch):
    def find(task, say, kept):
        raise RuntimeError("no idea")

    monkeypatch.setattr(driver.cause, "find", find)
    [gap] = explain_gaps(job, REPLAY, tmp_path)["gaps"]
    assert gap["cause"]["verdict"] == "failed" and "no idea" in gap["cause"]["detail"]


def test_without_the_compiler_a_gap_is_not_searched_and_says_why(job, tmp_path, monkeypatch):
    def ensure(pins):
        raise Unavailable("x==1 has no wheels with a matching Python")

    monkeypatch.setattr(searches, "ensure", ensure)
    document = explain_gaps(job, REPLAY, tmp_path)
    assert (document["status"], document["status_detail"]) == (
        "unsupported",
        "x==1 has no wheels with a matching Python",
    )
    assert [(one["is_gap"], one["cause"]) for one in document["gaps"]] == [(True, None)]


# Memory

CONFIG = load(measure=["memory"])
LESS, MORE = Memory(1 << 20, 4096, 0, 2 << 20, 0), Memory(1 << 20, 4096, 0, 6 << 20, 0)


def row(monkeypatch, tmp_path, uses, cause=None, place=NEW) -> dict:
    """Return the row of ResNet-50's memory.json, if its programs have this memory and the search finds this cause."""

    def compared(job, output):
        if isinstance(uses, Exception):
            raise uses
        return uses, cause

    monkeypatch.setattr(searches, "compared", compared)
    document = searches.explain_memory(searches.memory_job(CONFIG, Point(place, "resnet50@b64")), tmp_path)
    [found] = build_causes(Raw(memory=[document])).to_dict("records")
    return found


def test_a_workload_with_a_label_needs_the_one_at_whose_sizes_values_are_matched():
    with pytest.raises(ConfigError, match=r"workloads: expected vit_b16 too, at whose sizes .* vit_b16@b64"):
        load(measure=["memory"], workloads=["vit_b16@b64"])
    assert searches.asked(load(measure=["memory"], workloads=["vit_b16", "vit_b16@b64"]))


def test_a_job_compares_at_the_sizes_of_the_label_and_matches_at_the_presets():
    job = searches.memory_job(CONFIG, Point(OLD, "vit_b16@b64"))
    assert [*job.programs["vit_b16@b64"]] == ["torch_xla", "jax"]
    assert {name: sizes["batch"] for name, sizes in job.sizes.items()} == {"vit_b16@b64": 64, "vit_b16": 2}
    assert (job.compiler["name"], job.target, job.pins["compiler"]) == (OLD, "", "envs/xla-0.7.1.txt")
    job = searches.memory_job(CONFIG, Point("tpu-v6e", "vit_b16@b64"))
    assert (job.compiler["name"], job.target_row["topology"]) == (NEW, "v6e:1x1")
    assert searches.asked(load(measure=["tables"])) == [] and len(searches.asked(CONFIG)) == 12


def test_a_compiler_that_assigns_no_readable_buffers_is_refused():
    with pytest.raises(ConfigError, match=r'memory: expected compilers whose module is xla.* got "iree-3.13"'):
        load(memory=CONFIG.memory.changed(compilers=["iree-3.13"]))


def test_the_program_that_needs_more_stands_first(monkeypatch, tmp_path):
    cause = Cause("n", NEW, "jax", "torch_xla", None, "cause", "all of it", closed=Share(1.0))
    found = row(monkeypatch, tmp_path, {"torch_xla": LESS, "jax": MORE}, cause, "tpu-v6e")
    assert (found["subject"], found["baseline"], found["verdict"]) == ("jax", "torch_xla", "cause")
    assert (found["subject_bytes"], found["ratio"]) == (MORE.total, MORE.total / LESS.total)
    assert (found["closed"], found["device"], found["compiler"]) == (1.0, "tpu-v6e", NEW)
    assert found["title"] == "ResNet-50 (batch 64)"


def test_programs_that_need_about_the_same_have_a_row_without_a_gap(monkeypatch, tmp_path):
    assert row(monkeypatch, tmp_path, {"torch_xla": LESS, "jax": LESS})["verdict"] == "no gap"


def test_a_program_that_is_not_compiled_says_why(monkeypatch, tmp_path):
    found = row(monkeypatch, tmp_path, Failed(Outcome(Status.TIMEOUT, "no end after 240 s")))
    assert (found["verdict"], found["detail"]) == ("timeout", "no end after 240 s")
    assert math.isnan(found["subject_bytes"]) and math.isnan(found["ratio"])
