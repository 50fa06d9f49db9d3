"""Which gaps of a made-up replay are searched, and what becomes of a search that fails."""

import pytest

from made_tables import OLD, measured_replay
from stackwars.core import documents
from stackwars.core.program import Program
from stackwars.explain import driver
from stackwars.explain.answer import Cause
from stackwars.explain.task import Settings
from stackwars.setup.environments import Unavailable
from stackwars.study import replay_causes
from stackwars.study.replay_causes import CausesJob, explain
from stackwars.study.results.causes import rows

PAIR = ["torch_xla", "jax"]


def found(medians: dict[str, tuple], bound: float = 0.1) -> dict[tuple[str, str], bool]:
    every = replay_causes.gaps(measured_replay(medians), medians, PAIR, bound)
    return {(one["subject"], one["baseline"]): one["is_gap"] for one in every}


def test_the_main_pair_and_the_slowest_against_the_fastest_program_are_looked_at():
    medians = {
        "jax": (2.0, 2.0, 2.1),
        "torch_xla": (3.0, 3.1, 3.0),
        "torchax": (1.0, 1.0, 1.1),
        "torch_tpu": (2.5,) * 3,
    }
    assert found(medians) == {("torch_xla", "jax"): True, ("torch_xla", "torchax"): True}


def test_the_slower_program_stands_first_and_a_pair_once():
    medians = {"jax": (3.0, 3.1, 3.0), "torch_xla": (2.0, 2.0, 2.1)}
    assert found(medians) == {("jax", "torch_xla"): True}


@pytest.mark.parametrize(
    ("times", "is_gap"),
    [
        ((1.2, 1.21, 1.2), True),
        ((1.09, 1.09, 1.09), False),
        ((1.0, 1.6, 1.3), False),
        ((1.3,), True),
        ((1.05,), False),
    ],
)
def test_a_gap_excludes_the_bound_with_its_interval_or_by_its_only_round(times, is_gap):
    assert found({"jax": (1.0,) * len(times), "torch_xla": times}) == {("torch_xla", "jax"): is_gap}


def test_a_program_that_is_not_asked_for_is_not_compared():
    replay = measured_replay({"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0), "another": (9.0, 9.0)})
    [one] = replay_causes.gaps(replay, PAIR, PAIR, 0.1)
    assert (one["subject"], one["baseline"]) == ("torch_xla", "jax")


def test_a_program_that_is_not_right_is_not_compared():
    replay = measured_replay({"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0)})
    replay["programs"]["torch_xla"]["status"] = "wrong"
    [one] = replay_causes.gaps(replay, PAIR, PAIR, 0.1)
    assert one["ratio"] is None and not one["is_gap"]


@pytest.fixture
def job(tmp_path):
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

    monkeypatch.setattr(replay_causes, "ensure", lambda pins: pins)
    monkeypatch.setattr(replay_causes, "load_program", lambda label, *_: Program(label))
    monkeypatch.setattr(driver.cause, "find", find)
    document = explain(job, REPLAY, tmp_path)
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

    monkeypatch.setattr(replay_causes, "ensure", lambda pins: pins)
    monkeypatch.setattr(replay_causes, "load_program", lambda label, *_: Program(label))
    monkeypatch.setattr(driver.cause, "find", find)
    [gap] = explain(job, REPLAY, tmp_path)["gaps"]
    assert gap["cause"]["verdict"] == "failed" and "no idea" in gap["cause"]["detail"]


def test_without_the_compiler_a_gap_is_not_searched_and_says_why(job, tmp_path, monkeypatch):
    def ensure(pins):
        raise Unavailable("no such Python")

    monkeypatch.setattr(replay_causes, "ensure", ensure)
    document = explain(job, REPLAY, tmp_path)
    assert (document["status"], document["status_detail"]) == ("unsupported", "no such Python")
    assert [(one["is_gap"], one["cause"]) for one in document["gaps"]] == [(True, None)]
