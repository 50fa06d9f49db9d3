"""A workload of a study that is one file, and its name in the study's list: what is planned, and measured."""

import shutil

import pytest
import yaml

import study
from checkout import OVERLAY
from stackwars.setup.environments import REPOSITORY

pytestmark = pytest.mark.slow
SOFTMAX = REPOSITORY / "docs" / "examples" / "softmax.py"


def test_one_file_and_its_name_in_a_study_are_measured(tmp_path):
    checkout = study.make(tmp_path, ("softmax",))
    shutil.copy(SOFTMAX, checkout.folder / "src/stackwars/workloads")
    overlay = checkout.folder / OVERLAY
    config = yaml.safe_load(overlay.read_text())
    del config["workloads"]  # those of the studies
    overlay.write_text(yaml.safe_dump(config, sort_keys=False))
    ran = checkout.run(study.CELLS)
    assert ran["cell"] == 2
    cells = checkout.frame()
    assert set(cells["status"]) == {"ok"} and set(cells.index) == {("ours", "softmax"), ("theirs", "softmax")}
    assert set(cells["title"]) == {"Softmax over rows"}


def test_every_frontend_s_program_of_it_goes_to_every_compiler(checkout):
    shutil.copy(SOFTMAX, checkout.folder / "src/stackwars/workloads")
    path = checkout.folder / "config/config.yaml"
    old = "gpt2_small, vit_b16, train_mlp, train_transformer]\n"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, old.replace("]", ", softmax]")))
    target = "results/smoke-matrix/checks/iree-3.13/softmax/base/check.json"
    planned, text = checkout.plan(target, "--config", "preset=smoke", "measure=[matrix]", "workloads=[softmax]")
    assert planned == {"lower": 6, "expected": 1, "check": 1, "total": 8}
    assert "src/stackwars/workloads/softmax.py" in text
