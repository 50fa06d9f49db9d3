"""Workloads that train: gradients, updates, and how far losses may part."""

import json

import numpy as np
import pytest

from stackwars.core.documents import Events
from stackwars.measure import calls, checks, child, workloads
from stackwars.measure.checks import parity_limit, relative_l2
from stackwars.measure.workloads import adamw, losses, train_mlp
from workloads.presets import SEED, SMALL, weights

TRAINING = ("train_mlp", "train_transformer")


def process(folder, name: str = "train_mlp", repetition: int = 0, writes_files: bool = True):
    """Return (the sample that a NumPy process leaves for the parity check, its losses or None)."""
    folder.mkdir()
    settings = {
        "matmul_precision": "highest", "seed": SEED, "block_calls": 1,
        "steady_seconds": 0.0, "steady_min_blocks": 1, "steady_max_blocks": 1,
    }  # fmt: skip
    spec = {
        "settings": settings, "sizes": SMALL[name], "framework": "numpy", "dialect": "numpy",
        "device": "cpu", "workload": name, "partner": None, "repetition": repetition, "forms": False,
        "expected": "", "writes_files": writes_files,
    }  # fmt: skip
    log = Events(folder / "events.jsonl")
    calls.Measurement(child.measure(spec, log, folder), log, calls.ALONE).run()
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    found = next((event["values"] for event in events if event["event"] == "losses"), None)
    return np.load(folder / "output.npy"), found


def sign_turned(monkeypatch):
    gelu = losses.gelu

    def turned(x):
        value, slope = gelu(x)
        return value, -slope

    monkeypatch.setattr(losses, "gelu", turned)


def state_not_updated(monkeypatch):
    step = adamw.Optimiser.step

    def forgetful(self, gradients):
        step(self, gradients)
        for moments in (self.first, self.second):
            for value in moments.values():
                value[...] = 0

    monkeypatch.setattr(adamw.Optimiser, "step", forgetful)


def weights_not_updated(monkeypatch):
    monkeypatch.setattr(adamw, "LEARNING_RATE", 0.0)


@pytest.mark.parametrize("mutant", [sign_turned, state_not_updated, weights_not_updated])
def test_wrong_gradient_or_update_is_found_by_parity(tmp_path, monkeypatch, mutant):
    honest, _ = process(tmp_path / "honest")
    mutant(monkeypatch)
    wrong, _ = process(tmp_path / "wrong")
    assert relative_l2(wrong, honest) > 10 * parity_limit("train_mlp", SMALL["train_mlp"], 1e-5)


@pytest.mark.parametrize("name", TRAINING)
def test_rounding_parts_losses_by_no_more_than_their_bound_says(name):
    module, sizes = workloads.load(name), SMALL[name]
    found = losses.apart(module, sizes, draws=2, seed=SEED)
    assert 0 < found[0] != found[1]
    assert losses.UNIT < max(found) < module.APART < module.losses_rel(sizes) < 1e-2


def test_gradients_in_float32_are_no_further_off_than_they_are_disturbed():
    sizes, made = SMALL["train_mlp"], weights("train_mlp")
    batch = train_mlp.WORKLOAD.inputs(sizes, SEED)
    exact = {key: value.astype(np.float64) for key, value in made.items()}
    _, rounded = train_mlp.WORKLOAD.in_numpy(sizes, made, batch["x"], batch["labels"])
    _, plain = train_mlp.WORKLOAD.in_numpy(sizes, exact, batch["x"].astype(np.float64), batch["labels"])
    disturbed = {key: value.copy() for key, value in plain.items()}
    one = losses.Rounding(train_mlp.WORKLOAD.longest(sizes), SEED)
    for key, value in plain.items():
        one.sums(disturbed[key])
        assert 0 < relative_l2(rounded[key], value) < relative_l2(disturbed[key], value)


def test_losses_of_the_first_steps_are_recorded_by_the_first_process_of_a_cell_alone_and_fall(tmp_path):
    first, found = process(tmp_path / "first")
    assert len(found) == losses.STEPS
    assert found[-2] < found[0] and found[-1] < found[1]  # each batch has its own
    for name, other in {"round": {"repetition": 1}, "partner": {"writes_files": False}}.items():
        later, none = process(tmp_path / name, **other)
        assert none is None and relative_l2(later, first) == 0


def test_every_leaf_weighs_the_same_and_its_size_is_kept():
    small = {"weight": np.full(1000, 1e3), "gradient": np.full(2, 1e-9), "none": np.zeros(3)}
    found = checks.leaf_samples(small, 1)
    assert found.shape == (2 + 1 + 3 + 1 + checks.LEAF_SAMPLE + 1,)
    assert found[:2].tolist() == [1, 1]
    assert found[2] == pytest.approx(np.log(1e-9))
    twice = checks.leaf_samples({**small, "gradient": np.full(2, 2e-9)}, 1)
    assert twice[:2].tolist() == [1, 1] and twice[2] - found[2] == pytest.approx(np.log(2), rel=1e-3)
