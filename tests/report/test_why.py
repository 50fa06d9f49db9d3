"""The page that says why a workload is slower in one frontend."""

import pytest

from made_tables import NEW, OLD, cell, comparison, program, replay, rounds
from report_fixture import made_sources
from stackwars.publish.report.gather import gather

MATRIX = "iree-3.13"
"""A compiler of a study that this run does not measure."""


def page(tmp_path, own: dict, reference: dict | None = None) -> dict:
    return gather(made_sources(tmp_path, own, reference or {}))["why"]["gemm"]


def ratio(quantity: str, value: float, **columns: object) -> dict:
    return {**comparison("gemm", value), "quantity": quantity, "compiler": OLD, **columns}


def test_a_number_of_this_run_stands_before_that_of_the_reference_which_is_marked(tmp_path):
    own = {"comparisons": [comparison("gemm", 1.5), ratio("replay", 1.4)]}
    there = {"comparisons": [comparison("gemm", 2.5), ratio("replay", 1.2, compiler=MATRIX)]}
    found = page(tmp_path, own, there)
    assert found["native"]["ratio"] == 1.5 and "reference" not in found["native"]
    compilers = {row["compiler"]: (row["ratio"], row.get("reference", False)) for row in found["compilers"]}
    assert compilers == {OLD: (1.4, False), MATRIX: (1.2, True)}
    assert found["sentences"][0].startswith("torch_xla is slower than JAX: its steady state takes 1.50 [")


def test_of_a_run_without_the_study_the_sentence_has_the_sign(tmp_path):
    found = page(tmp_path, {}, {"comparisons": [comparison("gemm", 2.5)]})
    assert found["sentences"][0].endswith("times as long. \N{DAGGER}")


def test_a_ratio_that_is_not_decided_is_not_called_slower(tmp_path):
    found = page(tmp_path, {"comparisons": [{**comparison("gemm", 1.05), "verdict": "inconclusive"}]})
    assert "slower" not in found["sentences"][0] and "inconclusive" in found["sentences"][0]


def test_the_steps_lead_from_one_native_call_to_the_other(tmp_path):
    own = {
        "comparisons": [ratio("native", 3.0), ratio("replay", 2.0), ratio("everything else", 1.5)],
        "rounds": rounds("native", "torch_xla", (3.0, 3.0), compiler=OLD, baseline_ms=2.0, subject_ms=6.0),
    }
    found = page(tmp_path, own)["waterfall"]
    steps = [(one["name"], one["from"], one["to"]) for one in found["steps"]]
    assert steps == [("baseline", 0, 2), ("program", 2, 4), ("everything else", 4, 6), ("subject", 0, 6)]
    assert (found["compiler"], found["steps"][1]["ratio"]) == (OLD, 2.0)


def test_the_steps_are_all_of_one_source(tmp_path):
    """This run lacks native calls, so none of its ratios is put between those of the reference."""
    own = {"comparisons": [ratio("replay", 9.0)]}
    there = {
        "comparisons": [ratio("native", 3.0), ratio("replay", 2.0), ratio("everything else", 1.5)],
        "rounds": rounds("native", "torch_xla", (3.0,), compiler=OLD, baseline_ms=2.0, run="a"),
    }
    found = page(tmp_path / "a", own, there)["waterfall"]
    assert [one["to"] for one in found["steps"]] == [2, 4, 6, 6]
    assert found["reference"] and found["run"] == "a"
    lacking = {**there, "comparisons": there["comparisons"][::2]}
    assert page(tmp_path / "b", own, lacking)["waterfall"] is None


def test_every_run_has_its_ratio_and_one_more_is_expected_in_the_interval_of_the_reference(tmp_path):
    own = {"comparisons": [comparison("gemm", 1.2)], "rounds": rounds("steady", "torch_xla", (1.0, 1.44))}
    pooled = {**comparison("gemm", 1.5), "predicted_low": 1.1, "predicted_high": 2.0}
    there = {
        "comparisons": [pooled],
        "rounds": [
            *rounds("steady", "torch_xla", (2.0, 2.0), run="a"),
            *rounds("steady", "torch_xla", (1.0,), run="b"),
        ],
    }
    found = page(tmp_path, own, there)["runs"]
    assert [(row["run"], row["ratio"], row.get("reference", False)) for row in found["rows"]] == [
        ("this run", 1.2, False),
        ("a", 2.0, True),
        ("b", 1.0, True),
    ]
    assert found["predicted"] == [1.1, 2.0]
    assert found["rows"][1]["machine"] == "a machine"


def test_every_framework_stands_over_both_whatever_the_direction_of_its_ratio(tmp_path):
    there = {
        "comparisons": [
            {**comparison("gemm", 0.8), "subject": "torchax", "verdict": "faster"},
            {**comparison("gemm", 2.0), "quantity": "pairwise", "baseline": "torchax"},
        ]
    }
    [row] = page(tmp_path, {}, there)["frameworks"]
    assert row["framework"] == "torchax" and row["over_baseline"]["ratio"] == 0.8
    turned = row["over_subject"]
    assert (turned["ratio"], turned["verdict"]) == (0.5, "faster")
    assert turned["low"] < 0.5 < turned["high"]


def test_targets_say_who_fits_and_who_needs_more(tmp_path):
    compiled = [
        program(name, target="tpu-v6e", compiler=NEW, verdict="fits", hbm_bytes=mib * 2**20)
        for name, mib in (("jax", 100), ("torch_xla", 150))
    ]
    more = {**ratio("hbm", 1.5), "compiler": NEW, "device": "tpu-v6e", "variant": "base", "verdict": "more"}
    found = page(
        tmp_path, {"comparisons": [comparison("gemm", 1.5)]}, {"programs": compiled, "comparisons": [more]}
    )
    assert [text.removesuffix(" \N{DAGGER}") for text in found["fits"]] == [
        f"On tpu-v6e ({NEW}): JAX: fits and needs 100 MiB, torch_xla: fits and needs 150 MiB; torch_xla needs more."
    ]


def test_every_time_says_what_it_is_of(tmp_path):
    own = {"cells": [cell(name, steady_ms=ms) for name, ms in (("jax", 1.0), ("torch_xla", 2.0))]}
    own["cells"] += [replay(name, OLD, steady_ms=ms) for name, ms in (("jax", 3.0), ("torch_xla", 4.0))]
    own["comparisons"] = [comparison("gemm", 2.0)]
    found = page(tmp_path, own)["times"]
    assert [(row["baseline_ms"], row["subject_ms"], row["compiler"]) for row in found] == [
        (1, 2, ""),
        (3, 4, OLD),
    ]
    assert len({row["what"] for row in found}) == 2


def test_the_commands_measure_in_the_folder_of_the_run(tmp_path):
    commands = dict(page(tmp_path, {"comparisons": [comparison("gemm", 2.0)]})["commands"])
    assert commands["Measure both"].endswith(
        "results/smoke/cpu/jax/gemm/cell.json results/smoke/cpu/torch_xla/gemm/cell.json"
    )
    assert f"PROGRAM=gemm COMPILERS={OLD} FRONTENDS=jax,torch_xla" in commands["Search the cause"]


@pytest.mark.parametrize("reference", [{}, {"cells": [cell("jax")]}])
def test_without_a_ratio_of_the_two_there_is_no_page(tmp_path, reference):
    document = gather(made_sources(tmp_path, {}, reference))
    assert document["why"] == {} and document["overview"] == []
