"""Tables of one source, as those downstream read them."""

import json

import pytest

from made_tables import accepted, cell, program, replay
from stackwars.study.config import load
from stackwars.study.results import dataset, schema
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.folder import Folder

CONFIG = load()
ABSENT = {"status": "not run"}


def data(folder, **tables) -> Dataset:
    """A folder with these rows of its tables."""
    return Dataset(CONFIG, accepted(folder, **tables).folder)


def accepted_run(name: str, study: str, device: str = "cpu") -> dict:
    """What a context says of an accepted run."""
    return {"run": name, "studies": [study], "devices": [device], "machine": "a"}


def shown(table) -> list[tuple]:
    return list(zip(table["workload"], table["framework"], table["run"], strict=True))


def test_all_rows_of_a_workload_are_of_one_run_and_in_the_order_of_the_study(tmp_path):
    cells = [
        cell("jax", "mha", run="1"), cell("torch_xla", "mha", run="1"), cell("jax", "gemm", run="1"),
        cell("jax", "mha", run="2"), cell("torch_xla", "mha", run="2", **ABSENT), cell("jax", "gemm", run="2"),
    ]  # fmt: skip
    found = data(tmp_path, cells=cells).rows("cells", "stacks")
    # Of MHA the older run has more; of GEMM the newer one counts.
    assert shown(found) == [("gemm", "jax", "2"), ("mha", "jax", "1"), ("mha", "torch_xla", "1")]


def test_of_runs_with_as_many_rows_one_that_was_asked_for_the_study_counts(tmp_path):
    cells = [cell("jax", run="1"), cell("torch_xla", run="1"), cell("jax", run="2"), cell("torch_xla", run="2")]
    found = Dataset(CONFIG, accepted(tmp_path, cells=cells).folder, is_reference=True)
    found.context["runs"] = [accepted_run("1", "tables"), accepted_run("2", "matrix")]
    assert set(found.rows("cells", "tables")["run"]) == {"1"}
    assert set(found.rows("cells", "matrix")["run"]) == {"2"}


def test_what_ran_out_of_memory_was_run_and_what_was_not_run_hides_nothing(tmp_path):
    cells = [cell("jax", run="1", status="oom"), cell("jax", run="2", **ABSENT)]
    cells += [cell("jax", "mha", run="1", status="error"), cell("jax", "mha", run="2")]
    found = data(tmp_path, cells=cells).rows("cells", "stacks")
    assert shown(found) == [("gemm", "jax", "1"), ("mha", "jax", "2")]
    assert list(found["status"]) == ["oom", "ok"]


def test_an_accelerator_s_cells_are_those_of_the_newest_run_that_was_asked_for_the_study(tmp_path):
    cells = [cell("jax", run="1"), cell("jax", run="1", device="cuda", **ABSENT)]
    cells += [cell("jax", run=run, device="cuda") for run in "234"]
    cells += [cell("jax", "mha", run="1"), cell("jax", "mha", run="1", device="cuda", **ABSENT)]
    found = Dataset(CONFIG, accepted(tmp_path, cells=cells).folder, is_reference=True)
    found.context["runs"] = [accepted_run("1", "stacks")] + [
        accepted_run(run, study, "cuda") for run, study in (("2", "stacks"), ("3", "stacks"), ("4", "beyond"))
    ]
    table = found.rows("cells", "stacks")
    assert list(zip(table["workload"], table["device"], table["run"], table["status"], strict=True)) == [
        ("gemm", "cpu", "1", "ok"), ("gemm", "cuda", "3", "ok"),
        ("mha", "cpu", "1", "ok"), ("mha", "cuda", "1", "not run"),
    ]  # fmt: skip
    assert [run["run"] for run in found.runs_of("stacks")] == ["1"]


def test_a_study_has_its_workloads_frameworks_programs_and_compilers(tmp_path):
    programs = ("jax", "tensorflow_xla", "numpy")
    cells = [replay(name, compiler) for name in programs for compiler in ("jaxlib-0.10.2", "another")]
    cells += [replay("jax", "jaxlib-0.10.2", "newton"), cell("jax")]
    found = data(tmp_path, cells=cells).rows("cells", "matrix", schema.REPLAY)
    kept = list(zip(found["framework"], found["compiler"], strict=True))
    assert kept == [(name, "jaxlib-0.10.2") for name in programs[:2]]
    assert set(found["workload"]) == {"gemm"}


def test_programs_for_a_target_are_of_its_study_whatever_compiled_them(tmp_path):
    where = [("tpu-v6e", "another"), ("cpu", "another"), ("cpu", "jaxlib-0.10.2")]
    programs = [program("jax", target=target, compiler=compiler) for target, compiler in where]
    for study, expected in (("tables", where[2]), ("targets", where[0])):
        found = data(tmp_path, programs=programs).rows("programs", study)
        assert list(zip(found["target"], found["compiler"], strict=True)) == [expected]


def test_a_study_is_of_this_run_if_it_measured_it_and_else_of_the_reference(tmp_path):
    run = Dataset(CONFIG, accepted(tmp_path / "run").folder)
    studies = (["tables"], ["tables", "stacks"], ["stacks"])
    listed = [
        accepted_run(str(n), "") | {"machine": machine, "studies": measured}
        for n, (machine, measured) in enumerate(zip("aab", studies, strict=True))
    ]
    folder = accepted(tmp_path / "reference").folder
    (folder / "context.json").write_text(json.dumps({"runs": listed}))
    reference = Dataset(CONFIG, folder, is_reference=True)
    both = Sources(run, reference, ["tables"])
    assert (both.dataset_for("tables"), both.dataset_for("stacks")) == (run, reference)
    assert both.origin("tables") == "Measured in this run."
    assert both.origin("stacks") == "From the reference: 2 accepted runs of this study, on 2 kinds of machine."
    assert both.origin("beyond") == "No accepted run has this study."


@pytest.mark.parametrize(("source", "own"), [("measured", True), ("reference", False)])
def test_the_reference_shows_every_study_from_its_own_folder(tmp_path, source, own):
    asked = CONFIG.changed(source=source, measure=["tables", "stacks"])
    found = dataset.sources(asked, Folder(tmp_path / "made", tmp_path / "measured"))
    assert found.run.folder == tmp_path / "made" and found.run.measured == tmp_path / "measured"
    assert (found.reference is found.run) == (not own)
    assert [found.dataset_for(name).is_reference for name in ("tables", "stacks", "matrix")] == [
        not own,
        not own,
        True,
    ]
