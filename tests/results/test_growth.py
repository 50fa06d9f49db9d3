"""How the cost of compiling grows: points of the configuration, rows of a process, and what is found."""

import gzip
import json

import pandas as pd
import pytest

from stackwars.findings.growth import growth_findings
from stackwars.paper.tables.growth import series_table, slope_text
from stackwars.results import growth as tables
from stackwars.results import verdicts
from stackwars.results.folder import Folder
from stackwars.study import growth
from stackwars.study.config import load
from stackwars.study.growth import Point

CONFIG = load()
POINT = Point("jax", "decode", "layers", "4")


def test_a_run_measures_the_points_of_its_workloads_of_the_study():
    whole = growth.whole(CONFIG)
    assert POINT in whole
    assert Point("jax_symbolic", "attention_window", "sequence", growth.ALL) in whole
    assert growth.asked({**CONFIG, "whole": ["beyond"]}) == whole
    assert growth.asked({**CONFIG, "whole": ["stacks"]}) == []
    core = CONFIG["studies"]["beyond"]["core"]
    assert {point.workload for point in growth.asked(CONFIG)} == {
        point.workload for point in whole if point.workload in core
    }
    assert growth.asked({key: value for key, value in CONFIG.items() if key != "growth"}) == []


def test_a_point_has_the_sizes_of_the_preset_but_for_one():
    sizes = CONFIG["presets"]["full"]["sizes"]["decode"]
    assert growth.sizes(CONFIG, POINT) == {**sizes, "layers": 4}
    shapes = Point("jax", "attention_window", "sequence", growth.ALL)
    values = growth.values(CONFIG, shapes)
    assert growth.sizes(CONFIG, shapes)["sequence"] == max(values)
    assert growth.values(CONFIG, POINT) == []


def write(
    folder,
    events,
    status="ok",
    node=None,
    text="%0 = stablehlo.add %a, %b\n%1 = stablehlo.tanh %0\n",
):
    process = {"status": status, "status_detail": "why" if status != "ok" else "", "events": events}
    process["machine"] = {"node": node} if node else {}
    (folder / "process.json").write_text(json.dumps(process))
    (folder / "stablehlo.mlir.gz").write_bytes(gzip.compress(text.encode()))


def test_row_of_a_value(tmp_path):
    first = {"event": "first", "ns": 5e8, "trace_s": 0.1, "compile_s": None}
    write(tmp_path, [first, {"event": "steady", "ns": [4e6, 2e6, 6e6], "calls": 2}])
    row = tables.row(POINT, tmp_path)
    assert (row["first_ms"], row["trace_ms"], row["compile_ms"]) == (500, 100, None)
    assert (row["steady_ms"], row["compile_cost_ms"], row["operations"]) == (2, 498, 2)
    write(tmp_path, [], status="timeout")
    assert tables.row(POINT, tmp_path)["status_detail"] == "why"


def test_a_series_of_two_nodes_is_invalid(tmp_path):
    config = {**CONFIG, "whole": ["beyond"]}
    events = [
        {"event": "first", "ns": 5e8, "trace_s": 0.1, "compile_s": None},
        {"event": "steady", "ns": [4e6], "calls": 2},
    ]
    made = {
        ("jax", "1"): "n1",
        ("jax", "2"): "n2",
        ("torch_xla", "1"): "n1",
        ("torch_xla", "2"): "n1",
    }
    for (framework, layers), node in made.items():
        folder = tmp_path / Point(framework, "decode", "layers", layers).path
        folder.mkdir(parents=True)
        write(folder, events, node=node)
    tables.write(config, Folder(tmp_path))
    found = pd.read_csv(tmp_path / "growth.csv").set_index(["framework", "value"])
    assert list(found.loc["torch_xla", "status"]) == ["ok", "ok"]
    assert list(found.loc["jax", "status"]) == ["invalid", "invalid"]
    assert found.loc["jax", "compile_cost_ms"].isna().all()
    assert "several nodes: n1, n2" in found.loc[("jax", 1), "status_detail"]


def test_rows_of_several_shapes(tmp_path):
    point = Point("jax", "attention_window", "sequence", growth.ALL)
    calls = [
        {"event": "shape", "value": value, "turn": turn, "ns": 1e6, "compiles": int(turn == 0)}
        for turn in (0, 1)
        for value in (8, 16)
    ]
    write(tmp_path, calls)
    rows = tables.shape_rows(point, tmp_path)
    assert [(row["turn"], row["value"], row["compiles"]) for row in rows] == [
        (1, 8, 1), (1, 16, 1), (2, 8, 0), (2, 16, 0),
    ]  # fmt: skip
    write(tmp_path, [], status="unsupported")
    (row,) = tables.shape_rows(point, tmp_path)
    assert row["status"] == "unsupported"


def series(cost):
    return pd.DataFrame(
        [
            {
                "workload": "decode", "title": "Decode", "framework": "jax", "size": "layers", "value": v,
                "status": "ok", "compile_cost_ms": cost(v), "run": "", "here": True,
            }
            for v in (1, 2, 4, 8)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cost", "verdict"),
    [
        (lambda v: 100 + (-1) ** v, verdicts.FLAT),
        (lambda v: 100 + 10 * v + (v == 2), verdicts.GROWS),
        (lambda v: 10 * v**2, verdicts.SUPERLINEAR),
        (lambda v: 10 * v * (1 + (v % 4 == 2)), verdicts.UNRESOLVED),
    ],
)
def test_how_a_series_grows(cost, verdict):
    (found,) = growth_findings(series(cost), pd.DataFrame(columns=list(tables.SHAPES)))
    assert (found["id"], found["verdict"]) == ("growth/decode/jax", verdict)


def test_too_few_values_have_no_slope():
    assert growth_findings(series(float).head(2), pd.DataFrame(columns=list(tables.SHAPES))) == []


@pytest.mark.parametrize(
    ("compiles", "verdict"),
    [
        ([[1, 1], [0, 0]], verdicts.EVERY_SHAPE),
        ([[1, 0], [0, 0]], verdicts.FEWER_PROGRAMS),
        ([[1, 1], [1, 0]], verdicts.COMPILES_AGAIN),
    ],
)
def test_what_a_new_shape_costs(compiles, verdict):
    rows = [
        {
            "workload": "mha", "title": "MHA", "framework": "jax", "size": "sequence", "value": value,
            "turn": turn, "ms": 1.0, "compiles": count, "status": "ok", "run": "", "here": True,
        }
        for turn, counts in enumerate(compiles, start=1)
        for value, count in zip((8, 16), counts, strict=True)
    ]  # fmt: skip
    (found,) = growth_findings(pd.DataFrame(columns=list(tables.COLUMNS)), pd.DataFrame(rows))
    assert (found["verdict"], found["shapes"]) == (verdict, 2)


def test_short_series_are_listed_and_slopes_have_their_interval():
    short = (
        series(lambda v: 100.0 * v)
        .head(3)
        .assign(operations=[10, 20, 40], steady_ms=[1.0, 2.0, 4.0])
    )
    text = series_table(short)
    assert "layers 1, 2, 4 & JAX & 10, 20, 40 & 0.100, 0.200, 0.400 & 1.00, 2.00, 4.00" in text
    assert "JAX" not in series_table(series(float).assign(operations=None, steady_ms=1.0))
    empty = pd.DataFrame(columns=list(tables.SHAPES))
    (found,) = growth_findings(series(lambda v: 100 - 10 * v + (v == 2)), empty)
    assert slope_text(found).startswith("-10.") and "[-1" in slope_text(found)
