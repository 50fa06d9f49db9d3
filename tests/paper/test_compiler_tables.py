"""Tables of replays, gaps and effects, of programs, and of what fits a device."""

import json

import pytest

from made_tables import NEW, OLD, class_times
from stackwars.core.hlo import COLLECTIVES, PRODUCTS
from stackwars.publish.paper.tables.write import render
from stackwars.study.config import load
from stackwars.study.results import verdicts
from table_fixture import BY_NAME, NAN, body, cell, compared, compiled, program, shown, sources


def replayed(framework: str, compiler: str = OLD, **columns: object) -> dict:
    return cell(framework, mode="replay", compiler=compiler, **columns)


def test_the_split_has_native_ratios_for_the_native_compiler_alone(tmp_path):
    cells = [replayed(side, compiler) for compiler in (OLD, NEW) for side in ("jax", "torch_xla")]
    cells[0] |= {"parity_rel_l2": 1.6e-6}
    rows = [compared("native", 2.0, compiler=OLD), compared("everything else", 1.25, compiler=OLD)]
    rows += [compared("margin", compiler=OLD, verdict=verdicts.DUE_TO_PROGRAM)]
    rows += [compared("control", 1.0, compiler=OLD, subject="jax", verdict=verdicts.PASSED)]
    rows += [compared("replay", ratio, compiler=name) for name, ratio in ((OLD, 1.6), (NEW, 1.0))]
    text = render(BY_NAME["split"], sources(tmp_path, cells=cells, comparisons=rows))
    old, new = body(text)
    assert old[:6] == ["GEMM", "jaxlib 0.7.1", "30.00", "29.0--31.0", "30.00", "29.0--31.0"]
    assert [one.split()[0] for one in old[6:9]] == ["1.60", "1.25", "2.00"]
    assert old[9:] == ["program", r"1.00 $\approx$ [0.900, 1.10]"]
    assert new[6].startswith("1.00") and new[7:] == ["", "", "", ""]
    assert r"at most \num{1.6e-06}" in text


def test_a_replay_that_failed_shows_why(tmp_path):
    failed = dict.fromkeys(("steady_ms", "steady_min_ms", "steady_max_ms"))
    failed |= {"status": "timeout", "status_detail": "after 900 s"}
    cells = [replayed("jax"), replayed("torch_xla", **failed)]
    row, *_ = shown(tmp_path, "split", cells=cells, comparisons=[compared("replay", NAN, compiler=OLD)])
    assert row[2:] == [
        "30.00",
        "29.0--31.0",
        "---",
        "---",
        r"\multicolumn{5}{c}{torch\_xla: timeout, after 900 s}",
    ]


def test_the_time_of_a_wrong_program_is_struck_out_and_the_other_keeps_its_own(tmp_path):
    detail = "96 of 128 elements wrong (the last 12 of axis 0), largest error 1.0e+00"
    wrong = {"status": "wrong", "status_detail": detail, "struck_ms": 4.5}
    wrong |= dict.fromkeys(("steady_ms", "steady_min_ms", "steady_max_ms"))
    cells = [replayed("jax", **wrong), replayed("torch_xla")]
    row, *_ = shown(tmp_path, "split", cells=cells, comparisons=[compared("replay", NAN, compiler=OLD)])
    assert row[2:6] == [r"\struck{4.500}", "---", "30.00", "29.0--31.0"]
    assert row[6:] == [r"\multicolumn{5}{c}{JAX: wrong, 96 of 128 elements wrong (the last 12 of axis ...}"]


def test_the_ratio_of_both_programs_has_a_column_for_each_compiler(tmp_path):
    rows = [compared("replay", ratio, compiler=name) for name, ratio in ((OLD, 1.7), ("iree-3.13", 1.0))]
    rows += [compared("replay", 9.0, compiler="iree-3.13", subject="torchax")]
    row, *_ = shown(tmp_path, "compilers", comparisons=rows)
    assert [one.split()[0] for one in row] == ["GEMM", "1.70", "---", "---", "1.00"]


CAUSE = {
    **{"workload": "gemm", "title": "GEMM", "compiler": OLD, "device": "cpu", "subject": "torch_xla"},
    **{"baseline": "jax", "ratio": 1.6, "low": 1.5, "high": 1.7, "verdict": "cause", "detail": "found"},
    **{"closed": 0.84, "closed_low": 0.7, "closed_high": 0.98, "what": "argument layout", "count": 12},
    **{"subject_operations": "argument 3x2xf32", "baseline_operations": "argument 2x3xf32"},
    "reason": "this product uses 1.3 cores.",
}


def test_gaps_are_those_of_the_main_pair_with_the_class_that_carries_them(tmp_path):
    at, times = {"compiler": OLD}, {"jax": 2.0, "torch_xla": 3.0, "torchax": 3.0}
    doubtful = {"profile_consistent": None}
    profiles = [row for side, ms in times.items() for row in class_times(side, {PRODUCTS: ms}, **doubtful)]
    rows = [compared("replay", 1.5, **at), compared("replay", 1.5, subject="torchax", **at)]
    rows += [compared("replay", 1.15, compiler=NEW)]  # its interval begins below the bound
    [gap] = shown(tmp_path, "causes", comparisons=rows, profile=profiles)
    assert gap[1:3] == [r"torch\_xla / JAX", "jaxlib 0.7.1"]
    assert gap[4:] == [r"1.00$^{\P}$", "products and convolutions", r"100\,\%", "not searched", "---"]


def test_a_gap_that_was_searched_has_its_cause_and_the_share_closed(tmp_path):
    [gap] = shown(tmp_path, "causes", comparisons=[compared("replay", 1.5, compiler=OLD)], causes=[CAUSE])
    assert gap[3].startswith("1.60") and gap[4:7] == ["---", "---", "---"]
    cause = "12 x argument layout: argument 3x2xf32 for argument 2x3xf32. This product uses 1.3 cores."
    assert gap[7:] == [cause, r"84\,\% [70, 98]"]


def test_a_gap_without_a_cause_says_what_was_tried(tmp_path):
    row = CAUSE | dict.fromkeys(("closed", "what", "count"))
    row |= {
        "verdict": "spread",
        "detail": "no single region",
        "tried": "3 and 4 operations",
    }
    # The gap of another frontend is in the report.
    [gap] = shown(tmp_path, "causes", causes=[row, row | {"subject": "torchax"}])
    assert gap[1] == r"torch\_xla / JAX"
    assert gap[7:] == ["spread: no single region (tried: 3 and 4 operations)", "---"]


def test_the_faster_program_of_the_main_pair_stands_second(tmp_path):
    [gap] = shown(tmp_path, "causes", comparisons=[compared("replay", 0.5, compiler=OLD)])
    assert gap[1] == r"JAX / torch\_xla" and gap[3].startswith("2.00")


def test_effects_have_factors_and_the_largest_part_of_each_subset(tmp_path):
    parts = {"frontend": (1.1, 0.15), "compiler": (1.4, 0.9), "interaction": (1.0, -0.05)}
    columns = ("subset", "workload", "effect", "factor", "share", "largest")
    rows = [
        dict(zip(columns, (subset, "gemm", part, factor, share, largest), strict=True))
        for subset, largest in (("all", "compiler"), ("XLA alone", verdicts.NOT_SEPARATED))
        for part, (factor, share) in parts.items()
    ]
    text = shown(tmp_path, "effects", effects=rows)
    assert text[0] == ["GEMM", "1.10", "1.40", "1.00", "15 / 90 / $-$5", "C", "none", "", ""]
    assert [row[5:7] for row in text[1:]] == [["0", "0"], ["1", "0"], ["0", "0"]]


def test_the_form_of_both_programs_is_one_word_if_it_is_the_same(tmp_path):
    rows = [program("jax", flattening="preserved", qkv="combined", layernorm="not applicable")]
    rows += [program("torch_xla", flattening="flattened", qkv="combined", contraction="prepared")]
    rows += [program(side, workload="gemm", title="GEMM") for side in ("jax", "torch_xla")]
    text = render(BY_NAME["structure"], sources(tmp_path, programs=rows))
    assert body(text) == [["ResNet-50", "preserved / flattened", "---", "combined", "--- / prepared"]]
    assert "None applies to GEMM." in text


def test_normalised_programs_are_counted_and_compared_by_hash(tmp_path):
    counts = {"operations": 10, "reshapes": 1, "transposes": 2, "broadcasts": 3}
    counts |= {"layout_bytes": 2**20, "depth": 4}
    rows = [program("jax", canonical_hash="a", **counts), program("torch_xla", canonical_hash="b", **counts)]
    expected = ["ResNet-50", "10", "10", "6", "6", "1.00", "1.00", "4", "4", "no"]
    assert shown(tmp_path, "metrics", programs=rows)[0] == expected


@pytest.mark.parametrize(
    ("largest", "refused", "expected"),
    [(37, 38, "37"), (37, 40, "37--39"), (70, NAN, r"$\geq$70"), (NAN, 1, "---")],
)
def test_memory_and_the_largest_batch_by_model(tmp_path, largest, refused, expected):
    batches = {"largest_batch": largest, "smallest_refused_batch": refused}
    rows = [compiled("jax", **batches, published_status="ok", code_bytes=2)]
    rows += [compiled("torch_xla", hbm_bytes=2**31, verdict="oom", published_status="oom", code_bytes=3)]
    rows += [compiled("torch_xla", compiler=OLD, hbm_bytes=1.0)]
    text = render(BY_NAME["fits"], sources(tmp_path, programs=rows))
    assert body(text) == [
        ["ResNet-50", "2", "1.000", r"\textbf{2.000}", "2.00", "1.50", "ok / oom", expected, "---"]
    ]
    assert "A program may use 32.00 GiB. Compiled by jaxlib 0.10.2." in text


def test_slices_are_of_one_run_with_their_collectives(tmp_path):
    collectives = {**dict.fromkeys(COLLECTIVES, 0), "all_reduce": 129, "all_gather": 65}
    llama = {"workload": "llama3_8b", "variant": "tensor4", "devices": 4, "target": "tpu-v6e-4"}
    llama |= {"collectives": json.dumps(collectives | {"bytes": 2**21})}
    rows = [compiled(name, run="new", **llama) for name in ("torch_xla", "jax")]
    rows += [compiled("jax", run="old", **llama), compiled("jax", run="newest", workload="llama3_8b")]
    found = shown(tmp_path, "slices", programs=rows)
    assert [row[0] for row in found] == ["JAX", r"torch\_xla"]
    assert found[0][1:] == ["4", "1.000", "129", "65", "0", "0", "0", "2.00"]


def test_shapes_have_every_workload(tmp_path):
    rows = {row[0]: row[1:] for row in shown(tmp_path, "shapes")}
    assert len(rows) == len({name.partition("@")[0] for name in load()["workloads"]})
    assert rows["GEMM"] == ["m 128, k 256, n 1024", "0.0671", "0"]
