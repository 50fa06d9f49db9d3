"""A workload behind whose name stand other sizes than the preset's."""

import pytest

from stackwars.measure import workloads
from stackwars.measure.workloads import sized
from stackwars.study import cells, programs
from stackwars.study.config import ConfigError, load
from stackwars.study.programs import ReplayCell

CONFIG = load()
MEASURED = CONFIG.changed(measure=["sizes"])


def test_a_batch_and_a_sequence_replace_those_of_the_preset():
    mha = cells.sizes(CONFIG, "mha")
    assert cells.sizes(CONFIG, "mha@b8") == mha | {"batch": 8}
    assert cells.sizes(CONFIG, "mha@b2s512") == mha | {"batch": 2, "sequence": 512}


def test_a_label_has_the_sizes_that_the_preset_gives_and_the_others_of_its_workload():
    linear = cells.sizes(CONFIG, "linear")
    assert cells.sizes(CONFIG, "linear@down") == linear | {"features": 3072, "outputs": 768}


def test_the_workload_is_the_same_but_for_its_title():
    mha, longer = workloads.load("mha"), workloads.load("mha@b2s512")
    assert (longer.TITLE, mha.TITLE) == ("MHA (batch 2, sequence 512)", "MHA")
    assert type(longer) is type(mha) and workloads.sources("mha@b2s512", "jax") == workloads.sources(
        "mha", "jax"
    )
    assert workloads.load("linear@down").TITLE == "Linear layer (down)"
    with pytest.raises(ValueError, match="nothing"):
        workloads.load("nothing@b2")


def test_it_has_cells_and_replays_of_its_own_in_the_study_behind_its_workload():
    asked = [cell for cell in cells.asked(MEASURED) if sized.base(cell.workload) == "bert_base"]
    assert {cell.framework for cell in asked} == {"jax", "torch_xla"}
    names = list(dict.fromkeys(cell.workload for cell in asked))
    assert names[0] == "bert_base" and "bert_base@b32" in names
    assert ReplayCell("cpu", "jaxlib-0.10.2-no-ynn", "bert_base@b32") in programs.replays(MEASURED)
    assert cells.rounds(CONFIG, "bert_base@b32") == cells.rounds(CONFIG, "bert_base")
    assert cells.block_calls(CONFIG, "linear@down") == cells.block_calls(CONFIG, "linear") > 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mha@long", "presets.full.sizes: expected sizes of mha@long, whose label is no batch"),
        ("bert_base@b2s1024", "at most the positions"),
        ("nothing@b2", "expected one of"),
    ],
)
def test_sizes_that_nothing_gives_or_that_do_not_fit_are_refused(name, message):
    workloads = [*CONFIG.studies["sizes"].workloads, name]
    studies = {**CONFIG.studies, "sizes": CONFIG.studies["sizes"].changed(workloads=workloads)}
    with pytest.raises(ConfigError, match=message):
        load(studies=studies, measure=["sizes"])
