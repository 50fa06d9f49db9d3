"""Terms of the split on numbers whose ratios are known."""

import csv
import json
import math

import pandas as pd
import pytest

import measured
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.statistics import Estimate
from stackwars.results import processes, ratios, replays, split
from stackwars.results.combined import of_one_run
from stackwars.results.folder import Folder
from stackwars.study import programs
from stackwars.study.cells import Cell
from stackwars.study.comparisons import with_programs

OLD, NEW = "jaxlib-0.7.1", "jaxlib-0.10.2"
# Medians in ms of three rounds.
NATIVE = {"jax": (10.0, 11.0, 12.0), "torch_xla": (21.0, 22.0, 23.5)}
REPLAY = {"jax": (9.9, 11.1, 12.0), "torch_xla": (18.0, 19.0, 20.0)}


BOTH = ["cells", "programs"]


def config(native=OLD, subjects=("torch_xla",), of=BOTH):
    compilers = {
        OLD: {"environment": "xla-0.7.1", "native": native == OLD},
        NEW: {"environment": "xla-0.10.2", "native": native == NEW},
    }
    pairs = [{"subject": subject, "baseline": "jax", "of": of} for subject in subjects]
    return measured.config(comparisons=pairs, compilers=compilers)


def replay(compiler=OLD, programs=REPLAY, status="ok", calls=1) -> dict:
    """A replay.json whose processes have these medians."""
    rounds = len(next(iter(programs.values()))) if status == "ok" else 0
    return {
        "workload": "gemm", "device": "cpu", "compiler": compiler,
        "processes": [{"repetition": r} for r in range(rounds)],
        "programs": {
            name: {
                "status": status, "status_detail": "" if status == "ok" else "why",
                "parity_rel_l2": 3e-7, "native_rel_l2": None,
                "first_ns": [100_000_000] * rounds, "second_ns": [2_000_000] * rounds,
                "steady": [
                    measured.blocks((ms / 2, ms, 9 * ms), calls=calls) for ms in values
                ] if status == "ok" else [],
            }
            for name, values in programs.items()
        },
    }  # fmt: skip


def cell(framework: str, values, waits=()) -> dict:
    """A cell whose processes have these medians, and waited for a core for this share of their blocks."""
    processes = [
        measured.process(
            Cell(framework, "gemm", "cpu"),
            r,
            steady_ms=(ms / 2, ms, 9 * ms),
            wait=waits[r] if waits else 0.0,
        )
        for r, ms in enumerate(values)
    ]
    keys = ("framework", "workload", "device", "sizes")
    return {"status": "ok", **{k: processes[0][k] for k in keys}, "processes": processes}


def paired(document: dict, cells: dict[str, dict]) -> replays.ReplayResult:
    """A replay beside these cells, with what the tables of processes say of both."""
    native = {Cell(name, "gemm", "cpu"): one for name, one in cells.items()}
    tables = processes.build(native), processes.build_replayed([document])
    return replays.ReplayResult(document, processes.values(tables[0]) | processes.values(tables[1]))


def made(native=NATIVE, programs=REPLAY, compiler=OLD, status="ok") -> replays.ReplayResult:
    cells = {name: cell(name, values) for name, values in native.items()}
    return paired(replay(compiler, programs, status), cells)


def steady(native=NATIVE) -> pd.DataFrame:
    """The steady ratios of these medians to JAX's, by round."""
    rows = []
    for name in native.keys() - {"jax"} if "jax" in native else ():
        pairs = list(zip(native[name], native["jax"], strict=False))
        ratio = LogRatio.of_rounds([one / base for one, base in pairs])
        head = {"workload": "gemm", "device": "cpu", "framework": name, "baseline": "jax"}
        rows.append(head | {"steady_rounds": len(pairs)} | of_one_run("steady", ratio))
    return pd.DataFrame(rows, columns=list(ratios.COLUMNS))


def row(native=NATIVE, **changes) -> dict:
    one = made(native=native, **changes)
    return split.build(config(), [one], steady(native)).iloc[0].to_dict()


def rows(**changes) -> dict[str, dict]:
    frame = replays.build([made(**changes)], "measured")
    return {line["framework"]: line for line in frame.to_dict("records")}


def test_the_factors_multiply_to_the_native_ratio():
    found = row(native={"jax": (1.1, 7.3, 2.9), "torch_xla": (3.7, 0.2, 9.1)})
    product = found["ir_ratio"] * found["runtime_ratio"]
    assert product == pytest.approx(found["native_ratio"], rel=1e-12)


def test_an_interval_is_that_of_the_rounds_logarithms():
    found = row()
    logs = [math.log(a / b) for a, b in zip(REPLAY["torch_xla"], REPLAY["jax"], strict=True)]
    mean = sum(logs) / 3
    deviation = (sum((log - mean) ** 2 for log in logs) / 2) ** 0.5
    half = 4.302653 * deviation / 3**0.5  # t(0.975, 2)
    ends = (found["ir_ratio_low"], found["ir_ratio"], found["ir_ratio_high"])
    assert ends == pytest.approx([math.exp(mean + sign * half) for sign in (-1, 0, 1)], rel=1e-6)


def test_the_native_ratio_is_the_steady_ratio_of_the_cells():
    found, known = row(), steady().iloc[0]
    for end in ("", "_low", "_high"):
        assert found[f"native_ratio{end}"] == pytest.approx(known[f"steady_ratio{end}"])


def test_the_runtime_effect_has_the_errors_of_both_factors():
    found = row()
    variances = found["native_error"] ** 2 + found["ir_error"] ** 2
    assert found["runtime_error"] == pytest.approx(variances**0.5)


@pytest.mark.parametrize(
    ("native", "programs", "verdict"),
    [
        ((2.0, 2.02, 2.01), (2.0, 2.01, 2.02), "the program"),
        ((2.0, 2.02, 2.01), (1.0, 1.01, 1.0), "the runtime"),
        ((0.5, 0.51, 0.5), (0.5, 0.5, 0.51), "the program"),  # also where it is the faster one
        ((2.0, 2.02, 2.01), (1.41, 1.42, 1.42), "not separated"),  # half of the logarithm each
        ((2.0, 3.5, 1.3), (2.0, 2.01, 2.02), "not separated"),  # one of them hardly known
    ],
)
def test_the_reason_is_the_larger_factor_where_the_interval_of_both_decides(
    native, programs, verdict
):
    found = row(
        native={"jax": (1.0, 1.0, 1.0), "torch_xla": native},
        programs={"jax": (1.0, 1.0, 1.0), "torch_xla": programs},
    )
    assert found["source_verdict"] == verdict


def test_ratios_are_geometric_means_of_pairs():
    found = row(
        native={"jax": (2.0, 2.0), "torch_xla": (4.0, 16.0)},
        programs={"jax": (1.0, 1.0), "torch_xla": (2.0, 8.0)},
    )
    assert (found["ir_ratio"], found["native_ratio"]) == pytest.approx((4.0, 4.0))
    assert found["control_ratio"] == pytest.approx(2.0)


def test_drift_during_a_replay_is_no_difference():
    """Blocks that follow each other are compared; their medians alone would say 1.5."""
    document = replay(programs={"jax": (1.0, 1.0), "torch_xla": (1.0, 1.0)})
    for name, steady_ms in (("jax", (1.0, 2.0, 3.0, 9.0)), ("torch_xla", (1.2, 2.4, 3.6, 99.0))):
        document["programs"][name]["steady"] = [measured.blocks(steady_ms)] * 2
    natives = {name: cell(name, (1.0, 1.0)) for name in NATIVE}
    found = split.build(config(), [paired(document, natives)], steady({})).iloc[0]
    assert found["ir_ratio"] == pytest.approx(1.2)


def test_replayed_blocks_are_of_several_calls():
    frame = replays.build([paired(replay(calls=16), {})], "measured").set_index("framework")
    assert frame.loc["torch_xla", "replay_ms"] == pytest.approx((18 * 19 * 20) ** (1 / 3))


def test_verdicts():
    found = row()
    words = [found[f"{name}_verdict"] for name in ("native", "ir", "runtime", "source", "control")]
    assert words == ["slower", "slower", "slower", "the program", "holds"]


def test_an_effect_that_cannot_be_told_from_none_is_unresolved():
    found = row(native={"jax": NATIVE["jax"], "torch_xla": (18.5, 18.5, 20.0)})
    assert found["runtime_ratio_low"] < 1 < found["runtime_ratio_high"]
    assert found["runtime_verdict"] == "unresolved"


def test_less_is_faster():
    swapped = {"jax": REPLAY["torch_xla"], "torch_xla": REPLAY["jax"]}
    assert row(programs=swapped)["ir_verdict"] == "faster"


def test_control_that_is_not_one_is_off():
    found = row(native={"jax": (20.0, 22.3, 24.0), "torch_xla": NATIVE["torch_xla"]})
    assert found["control_verdict"] == "off"
    assert found["control_ratio_low"] > 1.5


def test_control_that_could_be_anything_is_unresolved():
    found = row(native={"jax": (5.0, 22.3, 14.0), "torch_xla": NATIVE["torch_xla"]})
    assert found["control_verdict"] == "unresolved"


def test_one_round_decides_nothing():
    found = row(
        native={name: values[:1] for name, values in NATIVE.items()},
        programs={name: values[:1] for name, values in REPLAY.items()},
    )
    assert found["ir_ratio"] == pytest.approx(18 / 9.9)
    verdicts = [
        found[f"{name}_verdict"] for name in ("native", "ir", "runtime", "source", "control")
    ]
    assert verdicts == ["not decided"] * 3 + ["no data"] * 2


def test_replay_that_is_not_ok_is_no_data():
    found = row(status="oom")
    assert found["ir_ratio"] != found["ir_ratio"]
    assert (found["ir_verdict"], found["control_verdict"]) == ("no data", "no data")


def test_missing_cell_takes_the_native_terms_with_it():
    found = row(native={"jax": NATIVE["jax"]})
    words = [found[f"{name}_verdict"] for name in ("native", "ir", "runtime", "control")]
    assert words == ["no data", "slower", "no data", "holds"]


def test_only_the_native_generation_has_a_runtime_effect_and_a_control():
    found = row(compiler=NEW)
    assert found["ir_ratio"] == row()["ir_ratio"]
    assert found["runtime_ratio"] != found["runtime_ratio"]
    assert (found["runtime_verdict"], found["control_verdict"]) == ("no data", "no data")
    other = rows(compiler=NEW)["jax"]
    assert other["native_ms"] == pytest.approx((10 * 11 * 12) ** (1 / 3))


@pytest.mark.parametrize(
    ("estimate", "word"),
    [
        (Estimate(1.5, 1.1, 2.0), "slower"),
        (Estimate(0.6, 0.5, 0.9), "faster"),
        (Estimate(1.0, 0.97, 1.03), "no difference found"),
        (Estimate(1.0, 0.97, 1.06), "unresolved"),
        (Estimate(1.0, None, None), "not decided"),
        (None, "no data"),
    ],
)
def test_words(estimate, word):
    assert split.verdict(estimate) == word


def test_row_of_a_program():
    found = rows()["torch_xla"]
    assert found["replay_ms"] == pytest.approx((18 * 19 * 20) ** (1 / 3))
    assert found["replay_low_ms"] < found["replay_ms"] < found["replay_high_ms"]
    assert (found["rounds"], found["gated"]) == (3, True)
    assert (found["parity_rel_l2"], found["origin"]) == (3e-7, "measured")


def test_every_subject_is_split_against_the_baseline_on_its_own():
    native = NATIVE | {"torch_xla_pending": (31.0, 33.0, 36.0)}
    programs = REPLAY | {"torch_xla_pending": (29.7, 33.3, 36.0)}
    one = made(native=native, programs=programs)
    asked = config(subjects=("torch_xla", "torch_xla_pending"))
    found = split.build(asked, [one], steady(native))
    first, second = found.to_dict("records")
    assert {key: first[key] for key in row()} == pytest.approx(row(), nan_ok=True)
    assert (second["framework"], second["baseline"]) == ("torch_xla_pending", "jax")
    assert second["ir_ratio"] == pytest.approx(3.0)
    assert second["native_ratio"] == pytest.approx((3.1 * 3 * 3) ** (1 / 3))
    assert second["control_ratio"] == first["control_ratio"]


def test_edited_program_has_a_row_without_a_native():
    found = rows(programs={**REPLAY, "torch_xla+edit": (1.0, 2.0, 4.0)})["torch_xla+edit"]
    assert found["replay_ms"] == pytest.approx(2.0)
    assert found["native_ms"] != found["native_ms"]


def test_edited_program_is_paired_with_the_one_before_the_edit():
    half = tuple(ms / 2 for ms in REPLAY["torch_xla"])
    edited = rows(programs={**REPLAY, "torch_xla+edit": half})
    found = edited["torch_xla+edit"]
    # However the machine drifted, every round has the same ratio.
    ends = (found["edited_ratio"], found["edited_ratio_low"])
    assert ends == pytest.approx((0.5, 0.5), rel=1e-4)
    assert edited["torch_xla"]["edited_ratio"] != edited["torch_xla"]["edited_ratio"]


def test_invalid_program_shows_no_time():
    found = rows(status="invalid")["jax"]
    assert (found["status"], found["status_detail"], found["rounds"]) == ("invalid", "why", 0)
    assert found["replay_ms"] != found["replay_ms"]


def table(path) -> list[list[str]]:
    with path.open() as file:
        return list(csv.reader(file))


def tabled(folder, cells: dict | None = None) -> None:
    """The tables of processes and ratios that the aggregation leaves."""
    processes.build(cells or {}).to_csv(folder / "processes.csv", index=False)
    steady(NATIVE if cells else {}).to_csv(folder / "ratios.csv", index=False)


def test_a_replay_that_nobody_ran_has_rows_that_say_so(tmp_path):
    asked = config()
    tabled(tmp_path)
    split.write(asked, Folder(tmp_path, tmp_path / "none"))
    head, *lines = table(tmp_path / "replay.csv")
    assert head == list(replays.COLUMNS)
    assert len(lines) == len(programs.replays(asked)) * len(with_programs(asked)) > 0
    assert {line[head.index("status")] for line in lines} == {"not run"}
    head, *lines = table(tmp_path / "split.csv")
    assert len(lines) == len(programs.replays(asked))
    assert {line[head.index("ir_verdict")] for line in lines} == {"no data"}


def test_without_programs_there_are_headers_alone(tmp_path):
    tabled(tmp_path)
    split.write(config(of=["cells"]), Folder(tmp_path, tmp_path / "none"))
    assert table(tmp_path / "replay.csv") == [list(replays.COLUMNS)]
    assert table(tmp_path / "split.csv") == [list(split.COLUMNS)]


def test_files_of_a_folder_of_results(tmp_path):
    for framework, values in NATIVE.items():
        home = tmp_path / Cell(framework, "gemm", "cpu").path
        home.mkdir(parents=True)
        (home / "cell.json").write_text(json.dumps(cell(framework, values)))
    for compiler in (NEW, OLD):
        home = tmp_path / "replay" / "cpu" / compiler / "gemm"
        home.mkdir(parents=True)
        (home / "replay.json").write_text(json.dumps(replay(compiler)))
    tabled(tmp_path, {Cell(f, "gemm", "cpu"): cell(f, values) for f, values in NATIVE.items()})
    split.write(config(), Folder(tmp_path))
    lines = table(tmp_path / "split.csv")
    compiler, control = (lines[0].index(name) for name in ("compiler", "control_verdict"))
    found = [(line[compiler], line[control]) for line in lines[1:]]
    assert found == [(OLD, "holds"), (NEW, "no data")]
    split.write(config(native=NEW), Folder(tmp_path))
    assert [line[control] for line in table(tmp_path / "split.csv")[1:]] == ["no data", "holds"]
    assert len(table(tmp_path / "replay.csv")) == 5
