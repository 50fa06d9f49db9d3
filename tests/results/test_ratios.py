"""Ratios of latencies: paired by round, corrected over a table, gated where that can be, and said in words."""

import itertools

import numpy as np
import pytest

from measured import config, process, write_cell, write_results
from stackwars.measure.comparison import compare
from stackwars.results import frame, processes, ratios
from stackwars.study.cells import Cell

JAX, TORCH = Cell("jax", "gemm", "cpu"), Cell("torch_xla", "gemm", "cpu")
OUTPUT = np.linspace(1, 2, 64, dtype=np.float32)


@pytest.fixture
def results(tmp_path):
    """A folder of results with devices and peak, and no cell yet."""
    return write_results(tmp_path)


def write(results, cell: Cell, medians, waits=(), **changes) -> None:
    """A cell of one process a round, of five blocks each. medians, waits: by round."""
    write_cell(
        results,
        [
            process(cell, n, steady_ms=(ms,) * 5, wait=waits[n] if waits else 0.0, **changes)
            for n, ms in enumerate(medians)
        ],
        OUTPUT,
    )


def build(results, **changes):
    """ratios.csv of the results."""
    asked = config(**changes)
    read = frame.read(asked, results)
    values = processes.values(processes.build(read.cells))
    return ratios.build(frame.build(asked, read, values, "measured"), read, values)


def only(results, **changes):
    """The only row of ratios.csv."""
    table = build(results, **changes)
    assert len(table) == 1
    return table.iloc[0]


def test_every_column_is_described(results):
    write(results, JAX, (1.0, 1.0))
    write(results, TORCH, (2.0, 2.0))
    assert list(build(results).columns) == list(ratios.COLUMNS)
    assert all(len(text) > 3 for text in ratios.COLUMNS.values())


def test_ratios_are_paired_by_round(results):
    for cell, factor in ((JAX, 1.0), (TORCH, 3.0)):
        processes = [
            process(cell, n, first_ms=factor * drift * 50, second_ms=factor * drift,
                    steady_ms=(factor * drift,) * 3)
            for n, drift in enumerate((1.0, 2.0))
        ]  # fmt: skip
        write_cell(results, processes, OUTPUT)
    row = only(results)
    assert tuple(row[["workload", "device", "framework", "baseline"]]) == (
        "gemm", "cpu", "torch_xla", "jax")  # fmt: skip
    assert (row["rounds"], row["steady_rounds"]) == (2, 2)
    # The drift of the machine is in both: the interval has no width.
    for name in ratios.STAGES:
        columns = [f"{name}_ratio{end}" for end in ("", "_low", "_high")]
        assert tuple(row[columns]) == pytest.approx((3.0, 3.0, 3.0))
    assert (row["steady_boot_low"], row["steady_boot_high"]) == pytest.approx((3.0, 3.0))


def test_ratio_is_over_the_baseline_of_its_own_comparison(results):
    names = ("jax", "torch_xla", "torch_xla_pending")
    for name, ms in zip(names, (1.0, 2.0, 6.0), strict=True):
        write(results, Cell(name, "gemm", "cpu"), (ms, ms))
    chain = [
        {"subject": subject, "baseline": baseline, "of": ["cells"]}
        for baseline, subject in itertools.pairwise(names)
    ]
    row = {"environments": {"cpu": "jax"}}
    table = build(results, comparisons=chain, frameworks=dict.fromkeys(names, row))
    assert list(zip(table.framework, table.baseline, strict=True)) == [
        ("torch_xla", "jax"),
        ("torch_xla_pending", "torch_xla"),
    ]
    assert list(table.steady_ratio) == pytest.approx([2.0, 3.0])


def test_rounds_that_one_of_both_has_do_not_count(results):
    # Paired by place in the list instead, the ratios would be 2 and 20.
    medians = {JAX: {0: 0.1, 1: 1.0, 2: 10.0}, TORCH: {0: 0.2, 2: 20.0}}
    for cell, values in medians.items():
        processes = [
            process(cell, n, first_ms=50 * ms, second_ms=ms, steady_ms=(ms,) * 3)
            for n, ms in values.items()
        ]
        write_cell(results, processes, OUTPUT)
    row = only(results)
    assert (row["rounds"], row["steady_rounds"]) == (2, 2)
    for name in ratios.STAGES:
        assert (row[f"{name}_ratio_low"], row[f"{name}_ratio_high"]) == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize("framework", ["jax", "torch_xla"])
def test_no_ratio_of_a_cell_that_is_not_ok(results, framework):
    for cell in (JAX, TORCH):
        bad = {"status": ("timeout", "over the time limit")} if cell.framework == framework else {}
        write(results, cell, (1.0, 1.0), **bad)
    assert build(results).empty


def test_no_ratio_of_an_invalid_pair(results):
    write_cell(results, [process(JAX)], OUTPUT)
    write_cell(results, [process(TORCH)], -OUTPUT)
    assert build(results).empty


def test_ratio_is_of_the_rounds_that_are_uncontended_for_both(results):
    write(results, JAX, (1.0, 1.0, 4.0, 1.0), waits=(0.0, 0.0, 0.5, 0.0))
    write(results, TORCH, (2.0, 2.0, 1.0, 2.0))
    row = only(results)
    assert (row["steady_gated"], row["rounds"], row["steady_rounds"]) == (True, 4, 3)
    assert tuple(row[["steady_ratio", "steady_ratio_low"]]) == pytest.approx((2.0, 2.0))
    assert row["steady_boot_high"] == pytest.approx(2.0)


def test_ratio_on_a_machine_that_was_never_quiet_is_of_all_rounds(results):
    write(results, JAX, (1.0, 1.0, 4.0), waits=(0.0, 0.5, 0.5))
    write(results, TORCH, (2.0, 2.0, 1.0))
    row = only(results)
    assert (row["steady_gated"], row["steady_rounds"]) == (False, 3)
    assert row["steady_ratio"] == pytest.approx((2 * 2 * 0.25) ** (1 / 3))


def test_bootstrap_draws_from_the_blocks_that_count(results):
    write_cell(results, [process(JAX, n, steady_ms=(1.0,) * 6) for n in (0, 1, 2)], OUTPUT)
    waits = (0.0, 0.0, 0.0, 0.5, 0.5, 0.5)
    blocks = {"steady_ms": (2.0, 2.0, 2.0, 30.0, 30.0, 30.0), "wait": waits}
    write_cell(results, [process(TORCH, n, **blocks) for n in (0, 1, 2)], OUTPUT)
    row = only(results)
    ends = row[["steady_ratio", "steady_boot_low", "steady_boot_high"]]
    assert tuple(ends) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize(("kept", "contended"), [(5, False), (4, False), (3, True)])
def test_framework_that_contends_with_itself_is_marked(results, kept, contended):
    # Five uncontended blocks of the baseline; 4 of 5 are 20 points fewer, and not more.
    write(results, JAX, (1.0, 1.0))
    wait = (0.0,) * kept + (0.5,) * (5 - kept)
    write(results, TORCH, (1.0, 1.0), waits=(wait, wait))
    assert only(results)["contended"] == contended


def scattered(ratio: float, spread: float) -> tuple[float, ...]:
    """Ratios of six rounds with this geometric mean and about this spread, relative."""
    return tuple(ratio * np.exp(spread * z) for z in (-1.2, -0.8, -0.4, 0.4, 0.8, 1.2))


@pytest.mark.parametrize(
    ("medians", "verdict"),
    [
        (scattered(2.0, 0.1), "slower"),
        (scattered(0.5, 0.1), "faster"),
        (scattered(1.0, 0.01), "no difference found"),
        (scattered(1.0, 0.3), "unresolved"),
        ((2.0,), "not decided"),
    ],
)
def test_verdicts_are_words(results, medians, verdict):
    write(results, JAX, (1.0,) * len(medians))
    write(results, TORCH, medians)
    row = only(results)
    assert row["steady_verdict"] == verdict
    if len(medians) > 1:
        found = compare(medians, (1.0,) * len(medians))
        assert row["steady_p"] == pytest.approx(found.p, rel=1e-3)
        assert row["steady_detectable"] == pytest.approx(found.detectable, rel=1e-3)
    # Call 1 took the same in every process.
    equal = "no difference found" if len(medians) > 1 else "not decided"
    assert row["first_verdict"] == equal


def test_one_round_has_a_ratio_and_nothing_else(results):
    write(results, JAX, (1.0,))
    write(results, TORCH, (2.0,))
    row = only(results)
    assert row["steady_ratio"] == pytest.approx(2.0)
    rest = ["ratio_low", "ratio_high", "p", "p_holm", "detectable", "boot_low", "boot_high"]
    assert row[[f"steady_{name}" for name in rest]].isna().all()


def test_rounds_that_do_not_meet_are_no_data(results):
    write_cell(results, [process(JAX, 0)], OUTPUT)
    write_cell(results, [process(TORCH, 1)], OUTPUT)
    row = only(results)
    assert row["rounds"] == 0
    assert {row[f"{stage}_verdict"] for stage in ratios.STAGES} == {"no data"}


def test_p_is_corrected_over_the_cells_of_a_table_and_device(results):
    asked = {
        ("gemm", "cpu"): scattered(1.1, 0.05),
        ("layernorm", "cpu"): scattered(1.1, 0.1),
        ("mha", "cpu"): scattered(1.0, 0.1),
        ("bert_base", "cpu"): scattered(1.1, 0.1),
        ("layernorm", "cpu-1t"): scattered(1.1, 0.1),
    }
    for (workload, device), medians in asked.items():
        write(results, Cell("jax", workload, device), (1.0,) * 6)
        write(results, Cell("torch_xla", workload, device), medians)
    workloads = ["gemm", "layernorm", "mha", "bert_base"]
    table = build(results, workloads=workloads, devices=["cpu", "cpu-1t"])
    table = table.set_index(["workload", "device"])
    p, holm = table["steady_p"], table["steady_p_holm"]
    # Three basic operations of table I on the CPU, by rising p.
    assert p["gemm", "cpu"] < p["layernorm", "cpu"] < p["mha", "cpu"]
    assert holm["gemm", "cpu"] == pytest.approx(3 * p["gemm", "cpu"])
    assert holm["layernorm", "cpu"] == pytest.approx(2 * p["layernorm", "cpu"])
    assert holm["mha", "cpu"] == pytest.approx(max(p["mha", "cpu"], holm["layernorm", "cpu"]))
    # Alone in their tables.
    for alone in (("bert_base", "cpu"), ("layernorm", "cpu-1t")):
        assert holm[alone] == pytest.approx(p[alone])


def test_correction_takes_a_verdict_back(results):
    # Significant alone, and not beside three others of the same table.
    medians = scattered(1.1, 0.09)
    write(results, JAX, (1.0,) * 6)
    write(results, TORCH, medians)
    assert only(results)["steady_verdict"] == "slower"
    for workload in ("layernorm", "mha", "conv"):
        write(results, Cell("jax", workload, "cpu"), (1.0,) * 6)
        write(results, Cell("torch_xla", workload, "cpu"), scattered(1.0, 0.3))
    table = build(results, workloads=["gemm", "layernorm", "mha", "conv"], devices=["cpu"])
    row = table.set_index("workload").loc["gemm"]
    assert row["steady_p"] < 0.05 < row["steady_p_holm"]
    assert row["steady_verdict"] == "unresolved"
