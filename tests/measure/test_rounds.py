"""When a workload has been measured often enough: on verdicts, on time, for all processes of a round alike."""

import json
import math
import shutil
from pathlib import Path

import pytest
from scipy import stats

from measured import process, stopped
from stackwars.compilers.replay import ReplayJob
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.rounds import is_decided, stop_reason
from stackwars.measure.supervisor import ProcessJob
from stackwars.study.cells import Cell

SETTINGS = {"rounds_min": 2, "rounds_max": 9, "round_budget_s": 1000.0}
DRIFT = (1.0, 2.0, 3.0)
"""Medians of three rounds on a machine that grows slower."""
WILD = (1.0, 5.0, 2.0)


class Study:
    """The folders of one workload, and what a process of it decides."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.root = folder / "results" / "smoke"
        self.settings = {**SETTINGS, **settings}

        self.baselines = {"jax": None, "torch_xla": "jax", "torch_xla_pending": "jax"}

    @property
    def peers(self) -> dict:
        """What the configuration measures of the workload on the device."""
        return {"baselines": self.baselines, "compilers": ["some-xla"]}

    def place(self, framework: str, repetition: int, workload="gemm", device="cpu") -> Path:
        return self.root / Cell(framework, workload, device).path / f"process-{repetition}"

    def replay_place(self, repetition: int) -> Path:
        return self.root / "replay" / "cpu" / "some-xla" / "gemm" / f"process-{repetition}"

    def ran(self, framework: str, medians, workload="gemm", device="cpu", **changes) -> None:
        """One process a round with these medians in ms."""
        for repetition, ms in enumerate(medians):
            steady = {"steady_ms": (ms,) * 6, **changes}
            result = process(Cell(framework, workload, device), repetition, **steady)
            write(self.place(framework, repetition, workload, device), result)

    def replayed(self, wall_s: float, rounds: int) -> None:
        for repetition in range(rounds):
            result = {"status": "ok", "status_detail": "", "repetition": repetition}
            write(self.replay_place(repetition), {**result, "wall_s": wall_s, "events": []})

    def reason(self, repetition: int, framework="jax", workload="gemm", device="cpu") -> str | None:
        asked = (framework, "jax", workload, device, "smoke", repetition, {}, self.settings)
        job = ProcessJob(*asked, peers=self.peers)
        return stop_reason(job, self.place(framework, repetition, workload, device))

    def replay_reason(self, repetition: int) -> str | None:
        asked = (
            "gemm",
            "cpu",
            "smoke",
            "some-xla",
            "xla",
            {},
            repetition,
            "jax",
            {},
            self.settings,
            {},
            "",
            "",
        )
        return stop_reason(ReplayJob(*asked, peers=self.peers), self.replay_place(repetition))


def write(folder: Path, result: dict) -> None:
    folder.mkdir(parents=True)
    (folder / "process.json").write_text(json.dumps(result))


@pytest.mark.parametrize(
    ("baseline", "subject", "reason"),
    [
        (DRIFT, (2.0, 4.0, 6.0), "decided"),  # equal ratios, though the machine drifts
        (DRIFT, WILD, None),
        # Large beside its scatter, whichever way it falls.
        ((1.0, 1.0, 1.0), (8.0, 10.0, 12.0), "decided"),
        ((1.0, 1.0, 1.0), (1 / 8, 1 / 10, 1 / 12), "decided"),
        ((1.0, 1.0, 1.0), (1.04, 1.05, 1.06), None),  # may matter or not
        # A framework without another is judged by its own values.
        ((1.0, 1.001, 1.0), (), "decided"),
        (WILD, (), None),
    ],
)
def test_rounds_end_once_the_ratio_is_decided(tmp_path, baseline, subject, reason):
    study = Study(tmp_path)
    study.ran("jax", baseline)
    study.ran("torch_xla", subject)
    assert study.reason(3) == reason
    assert not is_decided([0.5])


def test_every_ratio_must_be_decided(tmp_path):
    study = Study(tmp_path)
    study.ran("jax", DRIFT)
    study.ran("torch_xla", DRIFT)
    study.ran("torch_xla_pending", WILD)
    assert study.reason(3) is None


def test_framework_that_is_no_longer_configured_does_not_count(tmp_path):
    study = Study(tmp_path, round_budget_s=99.0)
    study.ran("jax", DRIFT)
    study.ran("torch_xla", [2 * ms for ms in DRIFT])
    # Its ratio is open, and its time would spend the budget.
    study.ran("numpy", WILD, wall_s=100.0)
    assert study.reason(3) == study.replay_reason(3) == "decided"
    study.baselines["numpy"] = "jax"
    assert study.reason(3) == "budget"


def test_compiler_that_is_no_longer_configured_does_not_count(tmp_path):
    study = Study(tmp_path, round_budget_s=99.0)
    study.ran("jax", DRIFT)
    study.ran("torch_xla", WILD)
    other = study.replay_place(0).parents[2] / "other-xla" / "gemm" / "process-0"
    write(other, {"status": "ok", "status_detail": "", "repetition": 0, "wall_s": 900.0, "events": []})
    assert study.reason(3) is None


def test_ratios_are_to_the_configured_baseline(tmp_path):
    study = Study(tmp_path)
    study.baselines = {"jax": "torch_xla", "numpy": "torch_xla", "torch_xla": None}
    study.ran("torch_xla", DRIFT)
    study.ran("jax", DRIFT)
    study.ran("numpy", [3 * ms for ms in DRIFT])
    assert study.reason(3) == "decided"
    # Over jax, whose name comes first, both ratios would be open.
    study.baselines = {"jax": None, "numpy": "torch_xla", "torch_xla": None}
    for repetition in range(3):
        shutil.rmtree(study.place("jax", repetition))
    study.ran("jax", WILD)
    assert study.reason(3) == "decided"


@pytest.mark.parametrize("repetition", [0, 1])
def test_never_before_the_minimum_number_of_rounds(tmp_path, repetition):
    study = Study(tmp_path, round_budget_s=0.001)
    study.ran("jax", (1.0,) * repetition)
    study.ran("torch_xla", (1.0,) * repetition)
    assert study.reason(repetition) is None
    assert study.replay_reason(repetition) is None


def test_time_that_is_spent_ends_the_rounds(tmp_path):
    study = Study(tmp_path, round_budget_s=99.0)
    study.ran("jax", DRIFT, wall_s=10.0)
    study.ran("torch_xla", WILD, wall_s=22.9)
    assert study.reason(3) is None
    study.settings["round_budget_s"] = 98.0
    assert study.reason(3) == "budget"


def test_time_of_the_replays_counts(tmp_path):
    study = Study(tmp_path, round_budget_s=99.0)
    study.ran("jax", DRIFT, wall_s=10.0)
    study.ran("torch_xla", WILD, wall_s=10.0)
    study.replayed(wall_s=12.9, rounds=3)
    assert study.reason(3) is None
    study.settings["round_budget_s"] = 98.0
    assert study.reason(3) == study.replay_reason(3) == "budget"


@pytest.mark.parametrize("medians", [DRIFT, WILD])
def test_all_processes_of_a_round_decide_alike_whoever_comes_first(tmp_path, medians):
    study = Study(tmp_path, round_budget_s=65.0)
    study.ran("jax", DRIFT, wall_s=10.0)
    study.ran("torch_xla", medians, wall_s=10.0)
    before = study.reason(3)
    # One of this round is done, took long, and is like nothing before it.
    write(study.place("jax", 3), process(repetition=3, steady_ms=(80.0,) * 6, wall_s=900.0))
    assert study.reason(3, "torch_xla") == study.replay_reason(3) == before


@pytest.mark.parametrize("medians", [DRIFT, WILD])
def test_siblings_that_are_put_together_already_count_as_before(tmp_path, medians):
    study = Study(tmp_path)
    study.ran("jax", DRIFT)
    study.ran("torch_xla", medians)
    before = study.reason(3)
    home = study.place("torch_xla", 0).parent
    files = sorted(home.glob("process-*/process.json"))
    cell = {"status": "ok", "processes": [json.loads(file.read_text()) for file in files]}
    for file in files:
        shutil.rmtree(file.parent)
    (home / "cell.json").write_text(json.dumps(cell))
    assert study.reason(3) == before


def test_all_later_rounds_end_as_the_first_that_did(tmp_path):
    study = Study(tmp_path, round_budget_s=0.001)
    study.ran("jax", DRIFT)
    study.ran("torch_xla", WILD)
    write(study.place("jax", 3), stopped(repetition=3, reason="decided"))
    assert study.reason(4) == study.reason(4, "torch_xla") == study.replay_reason(4) == "decided"


def test_framework_that_ends_badly_keeps_nobody_waiting(tmp_path):
    study = Study(tmp_path)
    study.ran("jax", (1.0, 1.0, 1.0))
    study.ran("torch_xla", (1.0, 1.0, 1.0), status=("error", "why"))
    assert study.reason(3) == "decided"


def test_where_every_framework_ends_badly_nothing_is_decided(tmp_path):
    study = Study(tmp_path)
    study.ran("jax", (1.0, 1.0, 1.0), status=("error", "why"))
    assert study.reason(3) is None


@pytest.mark.parametrize(("workload", "device"), [("ffn", "cpu"), ("gemm", "cpu-1t")])
def test_other_workloads_and_devices_do_not_count(tmp_path, workload, device):
    study = Study(tmp_path, round_budget_s=500.0)
    study.ran("jax", DRIFT)
    study.ran("jax", DRIFT, workload, device, wall_s=900.0)
    study.ran("torch_xla", WILD, workload, device)
    assert study.reason(3) is None
    assert study.reason(3, "jax", workload, device) == "budget"


def test_warm_up_and_blocks_that_waited_for_a_core_do_not_count(tmp_path):
    study = Study(tmp_path)
    study.ran("jax", (1.0, 1.0, 1.0))
    waits = (0.0,) * 10 + (0.5,) * 4
    for repetition, noise in enumerate((1.0, 7.0, 3.0)):
        blocks = (9.0 * noise,) * 7 + (2.0,) * 3 + (5.0 * noise,) * 4
        cell = Cell("torch_xla", "gemm", "cpu")
        result = process(cell, repetition, steady_ms=blocks, wait=waits)
        write(study.place("torch_xla", repetition), result)
    assert study.reason(3) == "decided"


def test_result_from_before_the_gate_is_no_crash(tmp_path):
    study = Study(tmp_path)
    study.ran("jax", (1.0, 1.0, 1.0))
    old = {**process(), "framework": "numpy"}
    steady = next(event for event in old["events"] if event["event"] == "steady")
    for name in ("run_ns", "wait_ns", "steal_ns", "other_processes_share"):
        del steady[name]
    study.baselines["numpy"] = "jax"
    home = study.place("numpy", 0).parent
    home.mkdir(parents=True)
    (home / "cell.json").write_text(json.dumps({"processes": [old]}))
    assert study.reason(3) == "decided"


def test_half_width_is_that_of_students_interval():
    logs = [0.1, 0.2, 0.4]
    low, high = stats.t.interval(0.99, 2, loc=0, scale=stats.sem(logs))
    half = LogRatio.of_rounds([math.exp(log) for log in logs]).half_width(0.99)
    assert half == pytest.approx(high) == pytest.approx(-low)
