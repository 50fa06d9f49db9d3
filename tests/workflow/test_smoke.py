"""The smoke preset with the real frameworks, from a fresh checkout to the text of its PDF."""

from __future__ import annotations

import pandas as pd
import pytest

import study
from checkout import copy_checkout

WORKLOADS = 12
MODELS = 6
SMOKE = ("--config", "preset=smoke")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, jax_python, torch_xla_python):
    """A checkout in which the smoke paper was built, and what the run printed."""
    made = study.Study(copy_checkout(tmp_path_factory.mktemp("smoke")))
    done = made.snakemake("paper.pdf", *SMOKE)
    assert done.returncode == 0, done.stdout[-5000:]
    return made, done.stdout


def rows(made, device="cpu"):
    frame = pd.read_csv(made.folder / "results" / "smoke" / "frame.csv")
    return frame[frame["device"] == device].set_index(["framework", "workload"])


@pytest.mark.slow
@pytest.mark.env
def test_every_cell_of_the_cpu_is_ok_and_agrees(smoke):
    frame = rows(smoke[0])
    assert len(frame) == 2 * WORKLOADS + MODELS
    assert (frame["status"] == "ok").all(), frame[["status", "status_detail"]].to_string()
    assert frame["parity_rel_l2"].max() <= 1e-5
    numbers = frame[["first_ms", "second_ms", "steady_ms", "peak_rss_bytes"]]
    assert (numbers > 0).all(axis=None)
    products = frame.drop(index="layernorm", level="workload")
    assert set(products["precision"]) == {"HIGHEST"}
    assert set(frame["dtype"]) == {"f32"}


@pytest.mark.slow
@pytest.mark.env
def test_pending_work_makes_two_compiling_runs_and_settled_work_one(smoke):
    frame = rows(smoke[0])
    assert (frame.loc["torch_xla_pending", "compiles_second"] >= 1).all()
    for framework in ("jax", "torch_xla"):
        assert (frame.loc[framework, "compiles_first"] >= 1).all()
        assert (frame.loc[framework, ["compiles_second", "compiles_steady"]] == 0).all(axis=None)


@pytest.mark.slow
@pytest.mark.env
def test_absent_devices_are_rows_that_say_so(smoke):
    for device in ("cuda", "tpu"):
        frame = rows(smoke[0], device)
        absent = frame[frame["status"] == "not run"]
        assert absent["status_detail"].str.len().min() > 0
        assert len(frame) >= WORKLOADS


@pytest.mark.slow
@pytest.mark.env
def test_the_paper_says_what_it_is(smoke):
    text = smoke[0].text()
    first_page = text[:6000]
    assert "SMOKE RUN" in first_page
    for expected in ("Preset smoke", "Git revision", "jax 0.7.1", "torch_xla 2.9.0", "measured"):
        assert expected in first_page.replace("torch xla", "torch_xla"), expected
    frame = rows(smoke[0])
    for title in set(frame["title"]):
        assert title in text, title
    for listed in ("dot_general", "batch_norm_training", "stablehlo.reshape"):
        assert listed in text, listed
    assert "TABLE IV" in text and "REFERENCES" in text.upper()


@pytest.mark.slow
@pytest.mark.env
def test_the_user_sees_how_far_it_is(smoke):
    output = smoke[1]
    count = 2 * WORKLOADS + MODELS
    assert f"{count} of {count}: " in output
    assert " left)" in output
    assert output.count(": ok: first ") == count


@pytest.mark.slow
@pytest.mark.env
def test_nothing_is_left_to_do_and_the_bytes_are_the_same(smoke):
    made, _ = smoke
    assert "Nothing to be done" in made.snakemake("paper.pdf", "-n", *SMOKE).stdout
    before = (made.folder / "paper.pdf").read_bytes()
    ran = made.run("paper.pdf", "--forcerun", "frame", "listings", *SMOKE)
    assert "process" not in ran and ran["paper.pdf"] == 1
    assert (made.folder / "paper.pdf").read_bytes() == before


@pytest.mark.slow
@pytest.mark.env
def test_one_changed_weight_makes_the_pair_invalid(smoke):
    made, _ = smoke
    dialect = made.folder / "src" / "stackwars" / "workloads" / "layernorm" / "in_torch.py"
    study.write(
        dialect,
        """

        _build = build


        def build(sizes, seed, put):
            def changed(array):
                array.flat[0] *= 1.01
                return put(array)

            return _build(sizes, seed, changed)
        """,
    )
    ran = made.run("results/smoke/frame.csv", *SMOKE)
    assert ran == {"process": 1, "cell": 1, "frame": 1}
    frame = rows(made)
    for framework in ("jax", "torch_xla"):
        row = frame.loc[(framework, "layernorm")]
        assert row["status"] == "invalid" and row["parity_rel_l2"] > 1e-5
    assert (frame.drop(index="layernorm", level="workload")["status"] == "ok").all()
