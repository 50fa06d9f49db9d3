"""The rows of rounds.csv: which times are paired, from which blocks, and which are not."""

import pandas as pd
import pytest

from made_tables import NEW, OLD, cell, compared, loops, measured_cell, measured_replay, only
from measured import config, process
from stackwars.results import rounds, schema
from stackwars.results.raw import Raw
from stackwars.study.cells import Cell
from stackwars.study.programs import ReplayCell

NAMES = ["quantity", "subject", "baseline"]


def result(framework: str, *processes: dict) -> dict:
    return measured_cell(framework, (1.0,)) | {"processes": list(processes)}


def built(cells: dict, replays: dict | None = None, table: list[dict] | None = None, **changes):
    """rounds.csv of these results, by framework and by compiler. table: of cells, if not all are valid."""
    found = Raw(
        cells={Cell(name, "gemm", "cpu"): one for name, one in cells.items()},
        replays={ReplayCell("cpu", compiler, "gemm"): one for compiler, one in (replays or {}).items()},
    )
    rows = table or [cell(name) for name in cells]
    return rounds.build(config(**changes), found, schema.table("cells", rows))


def of(table, quantity: str, **where):
    """The rows of a quantity with these values."""
    for column, value in {"quantity": quantity, **where}.items():
        table = table[table[column] == value]
    return table


def test_times_are_paired_by_round():
    def cells(factor):
        for number, drift in enumerate((1.0, 2.0)):
            ms = factor * drift
            yield process(repetition=number, first_ms=50 * ms, second_ms=ms, steady_ms=(ms,) * 3)

    table = built({"jax": result("jax", *cells(1.0)), "torch_xla": result("torch_xla", *cells(3.0))})
    for stage, basis in (("first", "call"), ("second", "call"), ("steady", "uncontended")):
        found = of(table, stage)
        assert list(found["round"]) == [0, 1] and set(found["basis"]) == {basis}
        assert list(found["ratio"]) == pytest.approx([3.0, 3.0])
        assert list(found["subject_ms"] / found["baseline_ms"]) == pytest.approx([3.0, 3.0])
        assert set(map(tuple, found[NAMES].to_numpy())) == {(stage, "torch_xla", "jax")}


def test_a_time_is_over_that_of_its_own_baseline():
    cells = {name: measured_cell(name, (ms,)) for name, ms in (("jax", 1), ("torch_xla", 2), ("numpy", 6))}
    rows = [cell("jax"), cell("torch_xla"), cell("numpy", baseline="torch_xla")]
    found = of(built(cells, table=rows), "steady")
    assert list(zip(found["subject"], found["baseline"], found["ratio"], strict=True)) == [
        ("torch_xla", "jax", 2.0), ("numpy", "torch_xla", 3.0),
    ]  # fmt: skip


def test_rounds_that_one_of_both_has_do_not_count():
    # Paired by place in the list instead, the ratios would be 2 and 20.
    cells = {}
    for name, medians in (("jax", {0: 0.1, 1: 1.0, 2: 10.0}), ("torch_xla", {0: 0.2, 2: 20.0})):
        cells[name] = result(
            name, *(process(repetition=n, second_ms=ms, steady_ms=(ms,) * 3) for n, ms in medians.items())
        )
    table = built(cells)
    for stage in ("second", "steady"):
        found = of(table, stage)
        assert list(found["round"]) == [0, 2] and list(found["ratio"]) == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize("refused", ["jax", "torch_xla"])
def test_what_is_not_valid_is_compared_with_nothing(refused):
    cells = {name: measured_cell(name, (1.0, 1.0)) for name in ("jax", "torch_xla")}
    rows = [cell(name, status="invalid" if name == refused else "ok") for name in cells]
    times = {"jax": (1.0, 1.0), "torch_xla": (1.0, 1.0)}
    table = built(cells, {OLD: measured_replay(times, natives=times)}, rows)
    assert of(table, "steady").empty and of(table, "first").empty
    assert set(of(table, "process", compiler="")["subject"]) == set(cells) - {refused}
    assert set(of(table, "control")["subject"]) == set(cells) - {refused}
    assert of(table, "native").empty and of(table, "everything else").empty


@pytest.mark.parametrize(
    ("waits", "numbers", "basis"),
    [((0, 0, 0.5, 0), [0, 1, 3], "uncontended"), ((0, 0.5, 0.5, 0.5), [0, 1, 2, 3], "all")],
)
def test_contended_rounds_are_left_out_if_half_are_uncontended_for_both(waits, numbers, basis):
    ours = measured_cell("torch_xla", (2.0, 2.0, 1.0, 2.0))
    table = built({"jax": measured_cell("jax", (1.0, 1.0, 4.0, 1.0), waits), "torch_xla": ours})
    found = of(table, "steady")
    assert (list(found["round"]), set(found["basis"])) == (numbers, {basis})
    assert list(found["ratio"]) == [0.25 if number == 2 else 2.0 for number in numbers]
    # Each process by itself has its uncontended median, if there is one, and that of all its blocks.
    alone = of(table, "process", subject="jax")
    quiet = alone[alone["basis"] == "uncontended"]
    assert list(quiet["round"]) == [number for number, wait in enumerate(waits) if not wait]
    assert list(alone[alone["basis"] == "all"]["subject_ms"]) == [1.0, 1.0, 4.0, 1.0]
    assert alone["ratio"].isna().all() and set(alone["baseline"]) == {""}


def interleaved(number: int, ours: tuple, theirs: tuple) -> dict:
    """A process whose slices beside its partner's, after the first pair, took so long."""

    def side(times: tuple) -> list[dict]:
        told = {"event": "interleaved", "calls": 1, "settling": 0, "settled": True}
        return [told | {"ns": [round(1e6 * ms)]} for ms in (50.0, *times)]

    found = process(Cell("torch_xla", "gemm", "cpu"), number, steady_ms=(9.0,) * 3)
    found["events"] += side(ours)
    return found | {"partner": {"status": "ok", "events": side(theirs)}}


@pytest.mark.parametrize("rounds_of_one", [3, 1])
def test_rounds_of_a_cell_that_was_measured_again_days_later_are_not_paired(rounds_of_one):
    """One cell is deleted and measured again: its rounds have the numbers of the baseline's, and no more."""
    days = 3 * 24 * 3600.0
    numbers = range(rounds_of_one)
    cells = {
        name: result(
            name, *(process(Cell(name, "gemm", "cpu"), n, started_s=start + 60.0 * n) for n in numbers)
        )
        for name, start in (("jax", 1000.0), ("torch_xla", 1000.0 + days))
    }
    table = built(cells)
    for quantity in ("first", "second", "steady"):
        found = of(table, quantity)
        assert len(found) == rounds_of_one and set(found["basis"]) == {"apart"}
        assert found["ratio"].isna().all() and found["subject_ms"].notna().all()
    rows = compared([cell("jax"), cell("torch_xla")], table.to_dict("records"))
    first = only(rows, quantity="first")
    assert first["verdict"] == "no data" and pd.isna(first["ratio"])
    assert first["detail"] == f"{rounds_of_one} of {rounds_of_one} rounds left out: not measured together"


def test_rounds_measured_together_are_paired_without_those_that_were_not():
    """A run that was killed in its second round, and finished on the next day."""
    starts = {"jax": (1000.0, 1060.0, 90000.0), "torch_xla": (1020.0, 89000.0, 90020.0)}
    cells = {
        name: result(name, *(process(Cell(name, "gemm", "cpu"), n, started_s=s) for n, s in enumerate(times)))
        for name, times in starts.items()
    }
    table = built(cells)
    assert list(of(table, "first")["basis"]) == ["call", "apart", "call"]
    row = only(compared([cell("jax"), cell("torch_xla")], table.to_dict("records")), quantity="steady")
    assert (row["rounds"], row["detail"]) == (2, "1 of 3 rounds left out: not measured together")


def test_a_pause_that_the_processes_of_the_round_explain_does_not_part_a_round():
    long = {"wall_s": 2000.0}
    starts = {"jax": 1000.0, "torch_xla": 3000.0, "torch_xla_pending": 5000.0}
    cells = {
        name: result(name, process(Cell(name, "gemm", "cpu"), started_s=start, **long))
        for name, start in starts.items()
    }
    assert set(of(built(cells), "first")["basis"]) == {"call"}


def test_steady_times_are_of_interleaved_slices_if_every_process_has_them():
    jax = measured_cell("jax", (1.0, 1.0))
    # The machine slows down during a round: of both medians the ratio would be 3 / 2.
    slices = [interleaved(number, (2.0, 3.0, 12.0), (1.0, 2.0, 4.0)) for number in (0, 1)]
    found = of(built({"jax": jax, "torch_xla": result("torch_xla", *slices)}), "steady")
    assert set(found["basis"]) == {"interleaved"}
    assert list(found["ratio"]) == [2.0, 2.0]
    assert list(found["subject_ms"]) == [3.0, 3.0]
    one = result("torch_xla", slices[0], {**slices[1], "partner": {"status": "not run"}})
    found = of(built({"jax": jax, "torch_xla": one}), "steady")
    assert (set(found["basis"]), set(found["ratio"])) == ({"uncontended"}, {9.0})


def test_drift_during_a_replay_is_no_difference():
    """Neighbouring loops are compared; the medians of all loops alone would say 1.5."""
    one = measured_replay({"jax": (1.0, 1.0), "torch_xla": (1.0, 1.0)})
    for name, ms in (("jax", (1.0, 2.0, 3.0, 9.0)), ("torch_xla", (1.2, 2.4, 3.6, 99.0))):
        one["programs"][name]["loops"] = [loops(*ms, calls=16)] * 2
    found = of(built({}, {NEW: one}), "replay", compiler=NEW)
    assert list(found["ratio"]) == pytest.approx([1.2, 1.2])
    assert list(found["subject_ms"]) == pytest.approx([3.0, 3.0])
    assert list(found["baseline_ms"]) == pytest.approx([2.5, 2.5])
    assert set(found["basis"]) == {"interleaved"}


def test_programs_that_are_not_ok_are_paired_with_nothing():
    times = {"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0)}
    one = measured_replay(times, natives=times)
    one["programs"]["torch_xla"] |= {"status": "oom", "loops": []}
    table = built({name: measured_cell(name, (1.0, 1.0)) for name in times}, {OLD: one})
    assert of(table, "replay").empty and of(table, "native").empty
    assert set(of(table, "control")["subject"]) == {"jax"}


NATIVES = {"jax": (2.0, 4.0), "torch_xla": (8.0, 9.0)}
REPLAYED = {"jax": (1.0, 2.0), "torch_xla": (2.0, 3.0)}


def controlled(natives: dict = NATIVES, **changes):
    """rounds.csv of a replay with these native processes in its rounds."""
    cells = {name: measured_cell(name, (70.0, 80.0)) for name in NATIVES}
    return built(cells, {OLD: measured_replay(REPLAYED, natives=natives)}, **changes)


def test_control_is_a_native_call_over_the_replay_of_its_program_in_the_same_rounds():
    found = of(controlled(), "control")
    rows = found[["compiler", *NAMES, "subject_ms", "baseline_ms", "ratio"]].to_numpy().tolist()
    assert rows == [
        [OLD, "control", "jax", "jax", 2.0, 1.0, 2.0],
        [OLD, "control", "jax", "jax", 4.0, 2.0, 2.0],
        [OLD, "control", "torch_xla", "torch_xla", 8.0, 2.0, 4.0],
        [OLD, "control", "torch_xla", "torch_xla", 9.0, 3.0, 3.0],
    ]
    assert set(found["basis"]) == {"interleaved"}


def test_a_native_ratio_divides_in_every_round():
    table = controlled()
    ratios = {
        name: list(of(table, name)["ratio"]) for name in ("native", "replay", "everything else", "margin")
    }
    assert ratios["native"] == [4.0, 2.25] and ratios["replay"] == [2.0, 1.5]
    assert ratios["everything else"] == [2.0, 1.5] and ratios["margin"] == [1.0, 1.0]
    assert of(table, "everything else")[["subject_ms", "baseline_ms"]].isna().all().all()
    assert set(of(table, "native")["subject_ms"]) == {8.0, 9.0}


def test_processes_that_ran_one_after_the_other_say_so():
    one = measured_replay(REPLAYED, natives=NATIVES)
    one["processes"][1]["basis"] = "in turn"
    table = built({name: measured_cell(name, (1.0, 1.0)) for name in NATIVES}, {OLD: one})
    for quantity in ("control", "native", "everything else"):
        assert list(of(table, quantity)["basis"])[:2] == ["interleaved", "in turn"]
    # The programs of one process alternate in any case.
    assert set(of(table, "replay")["basis"]) == {"interleaved"}


def test_a_round_without_a_native_process_says_why_it_has_no_control():
    failed = measured_replay(REPLAYED, natives={**NATIVES, "torch_xla": (None, 9.0)})
    failed["natives"]["torch_xla"][1] |= {"status": "error", "events": []}
    table = built({name: measured_cell(name, (1.0, 1.0)) for name in NATIVES}, {OLD: failed})
    found = of(table, "control", subject="torch_xla")
    assert list(found["basis"]) == ["no memory", "failed"]
    assert found["ratio"].isna().all() and list(found["baseline_ms"]) == [2.0, 3.0]
    assert len(of(table, "control", subject="jax")["ratio"].dropna()) == 2
    assert of(table, "native").empty and len(of(table, "replay")) == 2


def test_a_program_is_compared_in_a_compiler_and_in_the_one_before_it_in_the_list_of_the_study():
    medians = {"jax": (2.0, 3.0), "a_frontend_that_is_not_in_the_study": (1.0, 1.0)}
    replays = {OLD: measured_replay(medians), NEW: measured_replay({"jax": (3.0, 6.0)})}
    table = built({}, replays, measure=["matrix"])
    found = of(table, "compiler")
    names = ["compiler", "baseline_compiler", "subject", "baseline"]
    assert set(map(tuple, found[names].to_numpy())) == {(NEW, OLD, "jax", "jax")}
    assert list(found["ratio"]) == [1.5, 2.0]
    alone = of(table, "process", basis="all")
    assert set(zip(alone["compiler"], alone["subject"], strict=True)) == {
        *((OLD, name) for name in medians), (NEW, "jax"),
    }  # fmt: skip
    # IREE, the last of the list, is compared with the compiler before it alone.
    last = {OLD: measured_replay(medians), "iree-3.13": measured_replay({"jax": (3.0, 6.0)})}
    assert of(built({}, last, measure=["matrix"]), "compiler").empty
    studies = {"tables": config()["studies"]["tables"]}
    assert of(built({}, replays, studies=studies), "compiler").empty
