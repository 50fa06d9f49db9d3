"""Which gaps of a made-up replay are searched, and what becomes of a search that fails."""

import pytest

from made_tables import OLD, measured_replay
from stackwars.explain import replay_causes, run_question
from stackwars.explain.question import SETTINGS, Question
from stackwars.explain.replay_causes import CausesJob, explain
from stackwars.setup import environments
from stackwars.setup.environments import Unavailable

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


def test_a_gap_is_a_question_and_its_answer_is_kept(job, tmp_path, monkeypatch):
    asked = []

    def run(kind, path, folder):
        asked.append((Question.read(path), folder))
        return {"verdict": kind}

    monkeypatch.setattr(environments, "ensure", lambda pins: pins)
    monkeypatch.setattr(run_question, "run", run)
    document = explain(job, REPLAY, tmp_path)
    [(question, folder)] = asked
    assert folder == tmp_path / "torch_xla-jax"
    assert (question.a.label, question.b.label) == ("torch_xla", "jax")
    assert question.name == f"gemm in {OLD}: torch_xla against jax"
    assert question.compiler.pins == "envs/x.txt" and question.compiler.options == {"an_option": ""}
    assert (question.workload, question.sizes, question.seed) == ("gemm", {"m": 16}, 7)
    assert question.settings == SETTINGS | {"seconds": 0.1, "bound": 0.1}
    assert [one["cause"] for one in document["gaps"]] == [{"verdict": "cause"}]
    assert (document["status"], document["compiler"], document["workload"]) == ("ok", OLD, "gemm")


def test_without_the_compiler_a_gap_is_not_asked_and_says_why(job, tmp_path, monkeypatch):
    def ensure(pins):
        raise Unavailable("no such Python")

    monkeypatch.setattr(environments, "ensure", ensure)
    document = explain(job, REPLAY, tmp_path)
    assert (document["status"], document["status_detail"]) == ("unsupported", "no such Python")
    assert [(one["is_gap"], one["cause"]) for one in document["gaps"]] == [(True, None)]
