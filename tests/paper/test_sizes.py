"""Points of the sweeps over sizes."""

from made_tables import OLD, accepted, comparison, write_tables
from stackwars.publish.paper import sizes
from stackwars.study.comparisons import Comparison
from stackwars.study.config import load
from stackwars.study.results import dataset
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.folder import Folder

PAIR = Comparison("torch_xla", "jax")


def data(folder, **tables):
    files = Folder(write_tables(folder, {}, **tables))
    return dataset.sources(load(measure=[sizes.STUDY]), files).dataset_for(sizes.STUDY)


def test_the_sizes_of_the_preset_are_a_point_of_both_sweeps(tmp_path):
    names = ("mha", "mha@b8", "mha@b2s256")
    rows = [comparison(name, 2.0) for name in names]
    rows += [
        comparison("mha@b8", 1.5, quantity="replay", compiler=OLD),
        comparison("mha", 3.0, quantity="first"),
        # The matrix has it, the sizes do not.
        comparison("mha", 0.9, quantity="replay", compiler="iree-3.13"),
    ]
    found = sizes.sweeps(data(tmp_path, comparisons=rows), PAIR)
    points = set(found[["compiler", "sweep", "size", "ratio"]].itertuples(index=False, name=None))
    of_batch = {("", "batch", 2, 2.0), ("", "batch", 8, 2.0), (OLD, "batch", 8, 1.5)}
    assert points == of_batch | {("", "sequence", 64, 2.0), ("", "sequence", 256, 2.0)}
    assert set(found["workload"]) == {"MHA"}


def test_sizes_of_the_reference_are_of_the_newest_run_of_the_study_that_has_the_workload(tmp_path, monkeypatch):
    """A ratio pooled over other machines would not fit those at other sizes."""
    made = [
        accepted(tmp_path / date, studies=(study,), comparisons=[comparison(name, ratio)])
        for date, study, name, ratio in (
            ("2026-01-01", "sizes", "mha", 4.0),
            ("2026-01-02", "sizes", "mha", 2.0),
            ("2026-01-03", "sizes", "bert_base", 1.5),
            ("2026-01-04", "tables", "mha", 3.0),
        )
    ]
    monkeypatch.setattr(sizes.runs, "read", lambda: made)
    write_tables(tmp_path / "reference", {}, comparisons=[comparison("mha", 3.0), comparison("bert_base", 2.0)])
    found = sizes.sweeps(Dataset(load(), tmp_path / "reference", True), PAIR)
    assert set(zip(found["workload"], found["ratio"], strict=True)) == {("MHA", 2.0), ("BERT-Base", 1.5)}
