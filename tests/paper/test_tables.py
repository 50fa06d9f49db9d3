"""Tables from synthetic results: what is in the frame is what stands in the LaTeX."""

from __future__ import annotations

import json
import re

import pandas
import pytest

import paper_fixture
import paper_worlds
from stackwars.paper.latex import significant
from stackwars.paper.tables.beyond import forms_table
from stackwars.paper.tables.nodes import nodes_table
from stackwars.paper.tables.rows import APART, CONTENDED, UNGATED, UNSETTLED, interval
from stackwars.paper.tables.split import INTERVALS
from stackwars.paper.tables.spread import CELL
from stackwars.paper.tables.tabular import picked, varying
from stackwars.paper.tables.write import write_tables
from stackwars.results.folder import PUBLISHED, Folder
from stackwars.results.verdicts import NO_STEADY_STATE


def tables_of(folder) -> dict[str, str]:
    write_tables(Folder(folder))
    return {path.stem: path.read_text() for path in (folder / "tables").glob("*.tex")}


def rows_of(text: str) -> list[list[str]]:
    """The cells of every row of a tabular below its header."""
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split(" & ")] for line in lines]


PUBLISHED_ROW = r"\quad\textit{published}"


def stages_of(cell, folder) -> list[str]:
    """A cell's three latencies as a table shows them, each with its smallest and its largest process."""
    shown = []
    calls, processes = (pandas.read_csv(folder / f"{name}.csv") for name in ("calls", "processes"))
    own = calls[(calls[CELL] == cell[CELL]).all(axis=1)]
    steady = processes[(processes[CELL] == cell[CELL]).all(axis=1)].value_ms
    for stage, values in {
        "first": own[own.call == 1].latency_ms,
        "second": own[own.call == 2].latency_ms,
        "steady": steady,
    }.items():
        ends = f"{significant(values.min())}--{significant(values.max())}"
        shown += [significant(cell[f"{stage}_ms"], 4), ends]
    return shown


def test_every_number_of_tables_one_to_three_is_the_frames_with_its_spread(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path))
    frame = pandas.read_csv(tmp_path / "frame.csv")
    for position, number in enumerate(("I", "II", "III"), start=1):
        cells = frame[(frame.table == number) & (frame.device == "cpu")]
        rows = [row for row in rows_of(tables[f"table{position}"]) if row[1] != PUBLISHED_ROW]
        assert len(rows) == len(cells)
        for row, (_, cell) in zip(rows, cells.iterrows(), strict=True):
            assert row[-1] == f"{cell.rounds}"
            if cell.status == "ok":
                shown = [text.removesuffix(UNGATED).removesuffix(UNSETTLED) for text in row[2:8]]
                assert shown == stages_of(cell, tmp_path)
                assert (UNSETTLED in row[7]) == (cell.steady_class == NO_STEADY_STATE)
                assert row[7].endswith(UNGATED) == (not cell.gated)
                assert row[8] == significant(cell.items_per_s)


def test_the_spread_of_a_gated_cell_leaves_contended_processes_out(tmp_path):
    paper_fixture.write(tmp_path)
    processes = pandas.read_csv(tmp_path / "processes.csv")
    own = (processes.workload == "gemm") & (processes.framework == "jax")
    slow = own & (processes.device == "cpu") & (processes.repetition == 3)
    processes.loc[slow, ["gated", "value_ms", "ungated_ms"]] = [False, 1e4, 1e4]
    processes.to_csv(tmp_path / "processes.csv", index=False)
    assert "10000" not in tables_of(tmp_path)["table1"]
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[0, "gated"] = False
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert f"--10000{UNGATED}" in tables_of(tmp_path)["table1"]


def test_a_mark_is_explained_where_a_row_has_it_and_nowhere_else(tmp_path):
    explained = r"$\dagger$: too few blocks"
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    for gated in (True, False):
        frame["gated"] = gated
        frame.to_csv(tmp_path / "frame.csv", index=False)
        tables = tables_of(tmp_path)
        assert [explained in tables[f"table{n}"] for n in (1, 2, 3)] == [not gated] * 3
    for name, text in tables.items():
        for mark in (APART, CONTENDED, UNGATED, UNSETTLED):
            means = mark.replace("$^{", "$").replace("}$", "$")
            if f" {means}: " in text:
                assert mark in text, (name, mark)


def test_a_framework_without_a_form_of_any_workload_is_a_note_and_no_row(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    pending = (frame.framework == "torch_xla_pending") & (frame.table == "II")
    frame.loc[pending, "status"] = "unsupported"
    frame.to_csv(tmp_path / "frame.csv", index=False)
    text = tables_of(tmp_path)["table2"]
    assert r"torch\_xla (pending) has no form of these workloads." in text
    assert not [row for row in rows_of(text) if "pending" in row[1]]


def test_the_published_milliseconds_stand_below_ours(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path))
    published = pandas.read_csv(PUBLISHED)
    for position, number in enumerate(("I", "II", "III"), start=1):
        there = published[published.table == number]
        rows = [row for row in rows_of(tables[f"table{position}"]) if row[1] == PUBLISHED_ROW]
        assert len(rows) == len(there)
        for row, (_, one) in zip(rows, there.iterrows(), strict=True):
            if one.status != "ok":
                assert row[2] == rf"\multicolumn{{7}}{{c}}{{{one.status}}}"
                continue
            shown = [one.first_run_ms, one.second_run_ms, one.steady_state_ms]
            assert row[2:8:2] == [significant(value, 4) for value in shown]


def test_one_core_has_a_table_of_its_own(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path))
    frame = pandas.read_csv(tmp_path / "frame.csv")
    cells = frame[frame.device == "cpu-1t"]
    rows = rows_of(tables["one_core"])
    expected = [stages_of(cell, tmp_path) for _, cell in cells.iterrows()]
    assert [[text.removesuffix(UNSETTLED) for text in row[2:8]] for row in rows] == expected
    assert "cpu-1t" not in tables["table1"]


def test_a_column_that_says_the_same_in_every_row_is_a_line_of_the_note():
    heads, names = ["Fault", "Lost", "Told"], {1: "lost", 2: "told"}
    rows = [["A", "0", "x"], ["B", "0", "y"], ["C", "---", "---"]]
    kept, line = varying(heads, rows, names)
    assert picked(rows[1], kept) == ["B", "y"]
    assert line == "The same in every row that has a value: lost 0. "
    assert varying(heads, [*rows, ["D", "1", "x"]], names) == ([0, 1, 2], "")
    blank = [["A", "---", "x"], ["B", "---", "x"]]
    assert varying(heads, blank, names)[1] == (
        "The same in every row that has a value: told x. No row has a value of: lost. "
    )
    blank = [["A", "---", "---"], ["B", "---", "---"]]
    assert varying(heads, blank, names) == ([0], "No row has a value of: lost, told. ")
    assert varying(heads, rows[:1], names) == varying(heads, [], names) == ([0, 1, 2], "")


def test_constant_columns_of_the_audits_go_and_come_back(tmp_path):
    folder = paper_fixture.write(tmp_path)
    table = tables_of(folder)["audit"]
    assert len(rows_of(table)[0]) == 12 and "that has a value: cache hits 0." in table
    frame = pandas.read_csv(folder / "frame.csv")
    frame.loc[0, "cache_hits_first"] = 3
    frame.to_csv(folder / "frame.csv", index=False)
    table = tables_of(folder)["audit"]
    assert len(rows_of(table)[0]) == 13 and "cache hits 0" not in table


def test_a_baseline_s_losses_are_compared_with_nothing(tmp_path):
    rows = rows_of(tables_of(paper_fixture.write(tmp_path))["training"])
    assert {(row[8], row[-1]) for row in rows if row[1] == "JAX"} == {("---", "---")}
    assert {(row[8], row[-1]) for row in rows if row[1] != "JAX"} == {("1.0e-06", "agrees")}


@pytest.mark.parametrize("world", paper_worlds.WORLDS)
def test_no_cell_of_a_row_is_blank(tmp_path, world):
    for number, text in tables_of(paper_worlds.write(tmp_path, world)).items():
        for row in rows_of(text):
            if INTERVALS in row:
                continue
            # Only the workload's name may be blank: it stands in the first row of its group.
            shown = row[1:-1] if PUBLISHED_ROW in row else row[1:]
            # The original has no intervals.
            shown = shown[:1] + shown[1::2] if PUBLISHED_ROW in row and len(shown) > 3 else shown
            assert all(shown), f"table {number}: {row}"
        assert "nan" not in text.lower().replace("attention", "")
        assert "origin" in text.lower() or number == "variance"


def test_a_cell_without_numbers_shows_its_status(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path))
    llama = [row for row in rows_of(tables["table3"]) if "oom, refused at build" in row[2]]
    assert len(llama) == 3


def test_a_log_line_in_a_status_is_escaped(tmp_path):
    paper_fixture.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[0, ["status", "status_detail"]] = ["error", "50% of_it & #1 \\x{}"]
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert r"error, 50\% of\_it \& \#1 \textbackslash{}x\{\}" in tables_of(tmp_path)["table1"]


def test_absent_devices_have_no_rows_and_present_ones_do(tmp_path):
    paper_fixture.write(tmp_path)
    assert "cuda" not in tables_of(tmp_path)["table1"]
    frame = pandas.read_csv(tmp_path / "frame.csv")
    frame.loc[frame.device == "cuda", "status"] = "timeout"
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert "JAX, cuda" in tables_of(tmp_path)["table1"]


def test_the_published_ratio_stands_beside_ours_with_its_verdict(tmp_path):
    rows = {
        row[0]: row for row in rows_of(tables_of(paper_fixture.write(tmp_path))["table4"]) if row[0]
    }
    published = pandas.read_csv(PUBLISHED).set_index(["workload", "framework"])
    there = published.steady_state_ms["bert_base", "torch_xla"]
    there /= published.steady_state_ms["bert_base", "jax"]
    assert rows["BERT-Base"][4] == significant(there)
    assert rows["BERT-Base"][-2:] == ["slower", "agrees"]
    assert rows["GPT-2 Small"][-2:] == ["faster", "differs"]
    assert rows["GEMM"][-2:] == ["unresolved", "unresolved"]
    assert rows["ViT-B/16"][-2:] == ["slower", "not comparable"]
    assert "oom in PyTorch" in rows["ViT-B/16"][2]
    ratios = pandas.read_csv(tmp_path / "ratios.csv").set_index(["workload", "framework", "device"])
    bert = ratios.loc[("bert_base", "torch_xla", "cpu")]
    shown = rows["BERT-Base"][5:11]
    for place, stage in enumerate(("first", "second", "steady")):
        low, high = (significant(bert[f"{stage}_ratio_{end}"]) for end in ("low", "high"))
        assert shown[2 * place : 2 * place + 2] == [
            significant(bert[f"{stage}_ratio"]),
            f"[{low}, {high}]",
        ]


def test_flipping_the_ratios_flips_the_agreement(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path, "flipped"))
    rows = {row[0]: row for row in rows_of(tables["table4"]) if row[0]}
    assert rows["BERT-Base"][-2:] == ["faster", "differs"]
    assert rows["GPT-2 Small"][-2:] == ["slower", "agrees"]


def test_without_intervals_nothing_is_decided(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path, "single"))
    rows = {row[0]: row for row in rows_of(tables["table4"]) if row[0]}
    assert rows["BERT-Base"][-2:] == ["not decided", "not decided"]
    for row in rows_of(tables["table1"]):
        assert (
            row[1] == PUBLISHED_ROW or row[3] == row[5] == row[7].removesuffix(UNSETTLED) == "---"
        )
    for row in rows_of(tables["ratios"]):
        assert row[4] == row[7] == row[10] == "---"


def test_every_comparison_shows_its_verdict_and_what_could_have_been_found(tmp_path):
    tables = tables_of(paper_fixture.write(tmp_path))
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    rows = rows_of(tables["ratios"])
    signs = {"slower": "$>$", "faster": "$<$", "no difference found": "$=$", "unresolved": "?"}
    assert len(rows) == len(ratios) == 16 + 6
    for row, (_, one) in zip(rows, ratios.iterrows(), strict=True):
        assert [row[4], row[7], row[10]] == [
            signs[one[f"{stage}_verdict"]] for stage in ("first", "second", "steady")
        ]
        assert row[13] == rf"{significant(100 * one.steady_detectable, 2)}\,\%"
        assert row[14] == f"{one.steady_rounds}/{one.rounds}"
        assert (UNGATED in row[9]) == (not one.steady_gated)
        assert (CONTENDED in row[9]) == one.contended
        assert (APART in row[9]) == (not one.steady_interleaved)
    assert 0 < sum(APART in row[9] for row in rows) < len(rows)
    assert sum(CONTENDED in row[9] for row in rows) == 1


def test_the_audit_table_has_the_split_and_the_compilations(tmp_path):
    text = tables_of(paper_fixture.write(tmp_path, "invalid"))["audit"]
    invalid = [row for row in rows_of(text) if "invalid" in row[2]]
    assert len(invalid) == 6  # on all cores and on one
    assert all(re.search(r"infty|---", row[3]) for row in invalid)
    pending = [row for row in rows_of(text) if row[1].endswith("pending") and row[2] == "ok"]
    assert len(pending) == 5
    assert all(row[4:7] == ["1", "1", "0"] for row in pending)


def test_the_table_of_rounds_has_class_gate_and_why_it_ended(tmp_path):
    rows = rows_of(tables_of(paper_fixture.write(tmp_path))["rounds"])
    frame, processes = (
        pandas.read_csv(tmp_path / f"{name}.csv") for name in ("frame", "processes")
    )
    cells = frame[frame.device.isin(["cpu", "cpu-1t"])]
    assert len(rows) == len(cells) == 42
    for row, (_, cell) in zip(rows, cells.iterrows(), strict=True):
        assert row[2] == f"{cell.rounds}"
        if cell.status != "ok":
            assert row[3] == "---"
            continue
        own = processes[(processes[CELL] == cell[CELL]).all(axis=1)].ungated_ms
        assert row[3:] == [
            *(cell.stop_reason, cell.steady_class, f"{cell.warmup_points:.0f}", "180"),
            *(("97\\,\\%", "uncontended") if cell.gated else ("30\\,\\%", "all")),
            *(
                significant(cell.steady_ungated_ms, 4),
                f"{significant(own.min())}--{significant(own.max())}",
            ),
            "1" if cell.device == "cpu-1t" else "3",
        ]


def test_a_verdict_that_no_sentence_knows_is_refused(tmp_path):
    paper_fixture.write(tmp_path)
    ratios = pandas.read_csv(tmp_path / "ratios.csv")
    ratios.loc[3, "steady_verdict"] = "much slower"
    ratios.to_csv(tmp_path / "ratios.csv", index=False)
    with pytest.raises(
        ValueError, match=r"steady_verdict: expected one of slower, .* came much slower"
    ):
        tables_of(tmp_path)


def test_nodes_of_a_cluster_have_a_row_for_each_device(tmp_path):
    assert "not made on a cluster" in nodes_table([])
    node = {"node": "n_1", "cpu_model": "A & B", "cores": 2, "memory_bytes": 2**34, "device": "cpu"}
    node["os"] = "Debian_12"
    peak = {"gflop_per_s": 101.4, "copy_gb_per_s": 11.21}
    rows = rows_of(
        nodes_table(
            [
                {**node, "workloads": ["gemm", "mha"], "peak": peak},
                {**node, "workloads": ["ffn"], "peak": None},
            ]
        )
    )
    assert rows[0] == [
        r"n\_1",
        r"A \& B",
        "2",
        "16",
        r"Debian\_12",
        "cpu",
        "101",
        "11.2",
        "GEMM, MHA",
    ]
    assert rows[1][6:] == ["---", "---", "FFN"]


def test_every_workload_that_has_a_shape_is_in_the_table_of_shapes(tmp_path):
    folder = paper_fixture.write(tmp_path)
    path = folder / "context.json"
    context = json.loads(path.read_text())
    context["sizes"]["newton"] = {"systems": 16, "unknowns": 512}
    path.write_text(json.dumps(context))
    rows = {row[0]: row[1:] for row in rows_of(tables_of(folder)["shapes"])}
    assert rows["Newton-Schulz"] == ["systems 16, unknowns 512", "0", "0"]
    frame = pandas.read_csv(folder / "frame.csv").drop_duplicates("workload")
    assert list(rows)[: len(frame)] == list(frame.title)


def test_an_interval_that_says_nothing_is_cut():
    assert interval(0.154, 14.6) == "[0.154, 14.6]"
    assert interval(3e-8, 7.1e8) == r"[$<$0.001, $>$100,000]"
    assert interval(float("nan"), 1.0) == "---"


def test_two_forms_have_a_row_for_each_framework_that_has_both():
    shape = {"title": "Sorted", "other": "Dense", "here": True, "low": 0.5, "high": 0.75}
    found = [
        {"id": f"form/moe_sorted/{name}/{stage}", "framework": name, "ratio": ratio, **shape}
        for name, ratio in (("jax", 0.6), ("torch_inductor", 0.7))
        for stage in ("steady", "first")
    ]
    graphs = {
        "title": ["Sorted"],
        "framework": ["torch_inductor"],
        "graphs": [2],
        "graph_breaks": [1],
    }
    rows = rows_of(forms_table(found, pandas.DataFrame(graphs), "measured here"))
    assert rows[-2:] == [
        [
            "Sorted / Dense",
            "JAX",
            "0.600",
            "[0.500, 0.750]",
            "0.600",
            "[0.500, 0.750]",
            "---",
            "---",
        ],
        ["", "TorchInductor", "0.700", "[0.500, 0.750]", "0.700", "[0.500, 0.750]", "2", "1"],
    ]
