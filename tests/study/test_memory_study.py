"""The study of memory: its jobs, what memory.json says of two programs, and its rows."""

import math

import pytest

from made_tables import NEW, OLD
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.explain.answer import Cause, Memory, Share
from stackwars.study import memory
from stackwars.study.config import ConfigError, load
from stackwars.study.memory import Point
from stackwars.study.results.causes import build_causes
from stackwars.study.results.raw import Raw

CONFIG = load(measure=["memory"])
LESS, MORE = Memory(1 << 20, 4096, 0, 2 << 20, 0), Memory(1 << 20, 4096, 0, 6 << 20, 0)


def row(monkeypatch, tmp_path, uses, cause=None, place=NEW) -> dict:
    """Return the row of ResNet-50's memory.json, if its programs have this memory and the search finds this cause."""

    def compared(job, output):
        if isinstance(uses, Exception):
            raise uses
        return uses, cause

    monkeypatch.setattr(memory, "compared", compared)
    document = memory.explain(memory.job(CONFIG, Point(place, "resnet50@b64")), tmp_path)
    [found] = build_causes(Raw(memory=[document])).to_dict("records")
    return found


def test_a_workload_with_a_label_needs_the_one_at_whose_sizes_values_are_matched():
    with pytest.raises(ConfigError, match=r"workloads: expected vit_b16 too, at whose sizes .* vit_b16@b64"):
        load(measure=["memory"], workloads=["vit_b16@b64"])
    assert memory.asked(load(measure=["memory"], workloads=["vit_b16", "vit_b16@b64"]))


def test_a_job_compares_at_the_sizes_of_the_label_and_matches_at_the_presets():
    job = memory.job(CONFIG, Point(OLD, "vit_b16@b64"))
    assert [*job.programs["vit_b16@b64"]] == ["torch_xla", "jax"]
    assert {name: sizes["batch"] for name, sizes in job.sizes.items()} == {"vit_b16@b64": 64, "vit_b16": 2}
    assert (job.compiler["name"], job.target, job.pins["compiler"]) == (OLD, "", "envs/xla-0.7.1.txt")
    job = memory.job(CONFIG, Point("tpu-v6e", "vit_b16@b64"))
    assert (job.compiler["name"], job.target_row["topology"]) == (NEW, "v6e:1x1")
    assert memory.asked(load(measure=["tables"])) == [] and len(memory.asked(CONFIG)) == 12


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
