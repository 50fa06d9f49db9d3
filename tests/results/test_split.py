"""Terms of the split on numbers whose differences are known."""

import csv
import json

import pytest

import measured
from stackwars.measure.statistics import Estimate
from stackwars.results import processes, replays, split
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
    return replays.ReplayResult(
        document, cells, processes.values(tables[0]) | processes.values(tables[1])
    )


def made(native=NATIVE, programs=REPLAY, compiler=OLD, status="ok") -> replays.ReplayResult:
    cells = {name: cell(name, values) for name, values in native.items()}
    return paired(replay(compiler, programs, status), cells)


def row(**changes) -> dict:
    return split.build(config(), [made(**changes)]).iloc[0].to_dict()


def rows(**changes) -> dict[str, dict]:
    frame = replays.build([made(**changes)], "measured")
    return {line["framework"]: line for line in frame.to_dict("records")}


def test_terms_are_means_of_paired_differences():
    found = row()
    # Native 11, 11, 11.5; replay 8.1, 7.9, 8; the rest 2.9, 3.1, 3.5.
    assert found["native_difference_ms"] == pytest.approx(33.5 / 3)
    assert found["ir_effect_ms"] == pytest.approx(8.0)
    assert found["runtime_effect_ms"] == pytest.approx(9.5 / 3)
    # Standard error 0.1/sqrt(3), and t(0.975, 2) = 4.302653.
    half = 4.302653 * 0.1 / 3**0.5
    interval = (found["ir_effect_low_ms"], found["ir_effect_high_ms"])
    assert interval == pytest.approx((8 - half, 8 + half), rel=1e-6)


def test_terms_add_up():
    found = row(native={"jax": (1.1, 7.3, 2.9), "torch_xla": (3.7, 0.2, 9.1)})
    total = found["ir_effect_ms"] + found["runtime_effect_ms"]
    assert total == pytest.approx(found["native_difference_ms"], rel=1e-12)


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
    found = split.build(config(), [paired(document, natives)]).iloc[0]
    assert found["ir_ratio"] == pytest.approx(1.2)
    assert found["ir_effect_ms"] == pytest.approx(0.2 * 2.5)


def test_contended_round_is_left_out_of_every_term():
    native = {
        "jax": cell("jax", (10.0, 10.0, 10.0)),
        "torch_xla": cell("torch_xla", (20.0, 20.0, 90.0), waits=(0.0, 0.0, 0.5)),
    }
    programs = {"jax": (9.0, 9.0, 9.0), "torch_xla": (18.0, 18.0, 70.0)}
    one = paired(replay(programs=programs), native)
    found = split.build(config(), [one]).iloc[0]
    assert (found["rounds"], found["gated"]) == (2, True)
    terms = [f"{name}_ms" for name in ("native_difference", "ir_effect", "runtime_effect")]
    assert tuple(found[terms]) == pytest.approx((10.0, 9.0, 1.0))


def test_rounds_that_only_some_have_do_not_count():
    found = row(native={"jax": NATIVE["jax"][:2], "torch_xla": NATIVE["torch_xla"]})
    assert found["rounds"] == 2
    assert found["ir_effect_ms"] == pytest.approx(8.0)


def test_replayed_blocks_are_of_several_calls():
    frame = replays.build([paired(replay(calls=16), {})], "measured").set_index("framework")
    assert frame.loc["torch_xla", "replay_ms"] == pytest.approx((18 * 19 * 20) ** (1 / 3))


def test_verdicts():
    found = row()
    assert (found["ir_verdict"], found["runtime_verdict"]) == ("slower", "slower")
    assert found["control_verdict"] == "holds"


def test_interval_that_spans_zero_is_none():
    found = row(native={"jax": NATIVE["jax"], "torch_xla": (18.5, 18.5, 20.0)})
    # The rest: 18.5-18-.1, 18.5-19+.1, 0.
    assert found["runtime_effect_low_ms"] < 0 < found["runtime_effect_high_ms"]
    assert found["runtime_verdict"] == "none"


def test_less_is_faster():
    swapped = {"jax": REPLAY["torch_xla"], "torch_xla": REPLAY["jax"]}
    assert row(programs=swapped)["ir_verdict"] == "faster"


def test_control_that_is_not_one_is_off():
    found = row(native={"jax": (20.0, 22.3, 24.0), "torch_xla": NATIVE["torch_xla"]})
    assert found["control_verdict"] == "off"
    assert found["control_low"] > 1.5


def test_one_round_is_no_data():
    found = row(
        native={name: values[:1] for name, values in NATIVE.items()},
        programs={name: values[:1] for name, values in REPLAY.items()},
    )
    assert found["ir_effect_ms"] == pytest.approx(8.1)
    verdicts = [found[f"{name}_verdict"] for name in ("ir", "runtime", "control")]
    assert verdicts == ["no data"] * 3


def test_replay_that_is_not_ok_is_no_data():
    found = row(status="oom")
    assert found["ir_effect_ms"] != found["ir_effect_ms"]
    assert (found["ir_verdict"], found["control_verdict"]) == ("no data", "no data")


def test_missing_cell_is_no_data_but_keeps_the_control():
    found = row(native={"jax": NATIVE["jax"]})
    assert (found["ir_verdict"], found["control_verdict"]) == ("no data", "holds")


def test_only_the_native_generation_has_a_runtime_effect_and_a_control():
    found = row(compiler=NEW)
    assert found["ir_effect_ms"] == pytest.approx(8.0)
    assert found["runtime_effect_ms"] != found["runtime_effect_ms"]
    assert (found["runtime_verdict"], found["control_verdict"]) == ("no data", "no data")
    other = rows(compiler=NEW)["jax"]
    assert other["native_ms"] == pytest.approx((10 * 11 * 12) ** (1 / 3))


@pytest.mark.parametrize(
    ("estimate", "word"),
    [
        (Estimate(1.0, 0.1, 2.0), "slower"),
        (Estimate(-1.0, -2.0, -0.1), "faster"),
        (Estimate(1.0, -0.1, 2.0), "none"),
        (Estimate(1.0, None, None), "no data"),
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
    found = split.build(config(subjects=("torch_xla", "torch_xla_pending")), [one])
    first, second = found.to_dict("records")
    assert {key: first[key] for key in row()} == pytest.approx(row(), nan_ok=True)
    assert (second["framework"], second["baseline"]) == ("torch_xla_pending", "jax")
    assert second["ir_ratio"] == pytest.approx(3.0)
    assert second["native_difference_ms"] == pytest.approx((21 + 22 + 24) / 3)
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
    assert (found["edited_ratio"], found["edited_low"]) == pytest.approx((0.5, 0.5), rel=1e-4)
    assert edited["torch_xla"]["edited_ratio"] != edited["torch_xla"]["edited_ratio"]


def test_invalid_program_shows_no_time():
    found = rows(status="invalid")["jax"]
    assert (found["status"], found["status_detail"], found["rounds"]) == ("invalid", "why", 0)
    assert found["replay_ms"] != found["replay_ms"]


def table(path) -> list[list[str]]:
    with path.open() as file:
        return list(csv.reader(file))


def tabled(folder, cells: dict | None = None) -> None:
    """The table of processes that the aggregation leaves."""
    processes.build(cells or {}).to_csv(folder / "processes.csv", index=False)


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
