"""The rows of rounds.csv: which times are paired, from which blocks, and which are not."""

import pytest

from made_tables import NEW, OLD, cell, having, measured_cell, measured_replay
from measured import config, process, with_partner
from stackwars.study.cells import Cell
from stackwars.study.programs import ReplayCell
from stackwars.study.results import rounds, schema
from stackwars.study.results.raw import Raw


def built(cells: dict, replays: dict | None = None, table: list[dict] | None = None, **changes):
    """rounds.csv of these results, by framework and by compiler. table: of cells, if not all are valid."""
    found = Raw(
        cells={Cell(name, "gemm", "cpu"): one for name, one in cells.items()},
        replays={ReplayCell("cpu", compiler, "gemm"): one for compiler, one in (replays or {}).items()},
    )
    rows = table or [cell(name) for name in cells]
    return rounds.build(config(**changes), found, schema.table("cells", rows))


def test_programs_that_are_not_ok_are_paired_with_nothing():
    times = {"jax": (1.0, 1.0), "torch_xla": (2.0, 2.0)}
    one = measured_replay(times, natives=times)
    one["programs"]["torch_xla"] |= {"status": "oom", "loops": []}
    table = built({name: measured_cell(name, (1.0, 1.0)) for name in times}, {OLD: one})
    assert having(table, quantity="replay").empty and having(table, quantity="native").empty
    assert set(having(table, quantity="control")["subject"]) == {"jax"}


NATIVES = {"jax": (2.0, 4.0), "torch_xla": (8.0, 9.0)}
REPLAYED = {"jax": (1.0, 2.0), "torch_xla": (2.0, 3.0)}


def test_processes_that_ran_one_after_the_other_say_so():
    one = measured_replay(REPLAYED, natives=NATIVES)
    one["processes"][1]["basis"] = "in turn"
    table = built({name: measured_cell(name, (1.0, 1.0)) for name in NATIVES}, {OLD: one})
    for quantity in ("control", "native", "everything else"):
        assert list(having(table, quantity=quantity)["basis"])[:2] == ["interleaved", "in turn"]
    # The programs of one process alternate in any case.
    assert set(having(table, quantity="replay")["basis"]) == {"interleaved"}


def test_a_round_without_a_native_process_says_why_it_has_no_control():
    failed = measured_replay(REPLAYED, natives={**NATIVES, "torch_xla": (None, 9.0)})
    failed["natives"]["torch_xla"][1] |= {"status": "error", "events": []}
    table = built({name: measured_cell(name, (1.0, 1.0)) for name in NATIVES}, {OLD: failed})
    found = having(table, quantity="control", subject="torch_xla")
    assert list(found["basis"]) == ["no memory", "failed"]
    assert found["ratio"].isna().all() and list(found["baseline_ms"]) == [2.0, 3.0]
    assert len(having(table, quantity="control", subject="jax")["ratio"].dropna()) == 2
    assert having(table, quantity="native").empty and len(having(table, quantity="replay")) == 2


def test_a_program_is_compared_in_a_compiler_and_in_the_one_before_it_in_the_list_of_the_study():
    medians = {"jax": (2.0, 3.0), "a_frontend_that_is_not_in_the_study": (1.0, 1.0)}
    replays = {OLD: measured_replay(medians), NEW: measured_replay({"jax": (3.0, 6.0)})}
    table = built({}, replays, measure=["matrix"])
    found = having(table, quantity="compiler")
    names = ["compiler", "baseline_compiler", "subject", "baseline"]
    assert set(map(tuple, found[names].to_numpy())) == {(NEW, OLD, "jax", "jax")}
    assert list(found["ratio"]) == [1.5, 2.0]
    alone = having(table, quantity="process")
    assert set(zip(alone["compiler"], alone["subject"], strict=True)) == {
        *((OLD, name) for name in medians), (NEW, "jax"),
    }  # fmt: skip
    # IREE, the last of the list, is compared with the compiler before it alone.
    last = {OLD: measured_replay(medians), "iree-3.13": measured_replay({"jax": (3.0, 6.0)})}
    assert having(built({}, last, measure=["matrix"]), quantity="compiler").empty
    studies = {"tables": config().studies["tables"]}
    assert having(built({}, replays, studies=studies), quantity="compiler").empty


STAGES = ("first", "second", "undisturbed", "steady")


def timed(framework: str, number: int, factor: float, **changes) -> dict:
    """A process all of whose times are so many times those of another one, and differ from each other."""
    return process(
        Cell(framework, "gemm", "cpu"),
        number,
        first_ms=50 * factor,
        second_ms=7 * factor,
        steady_ms=(3 * factor,) * 3,
        loops_ms=(2 * factor, 3 * factor, 4 * factor),
        **changes,
    )


def paired(processes: list[dict], table: list[dict] | None = None):
    """rounds.csv of torch_xla's cell with these processes, and of a cell of JAX's with other times."""
    subject = measured_cell("torch_xla", (1.0,)) | {"processes": processes}
    return built({"jax": measured_cell("jax", (900.0, 900.0)), "torch_xla": subject}, table=table)


def with_cpu_time(process: dict, *run_ns: float) -> dict:
    """The process with this CPU time in each of its loops, of two blocks of a call."""
    times = iter(run_ns)
    events = [one | {"run_ns": next(times)} if one["event"] == "loop" else one for one in process["events"]]
    return {**process, "events": events}


def test_without_cpu_time_and_on_accelerators_times_alone_are_compared():
    one, other = timed("torch_xla", 0, 2.0), timed("jax", 0, 1.0)
    uncounted = paired([with_partner(one, with_cpu_time(other, 0, 0, 0))])
    assert having(uncounted, quantity="steady_cpu").empty and len(having(uncounted, quantity="steady")) == 1
    sides = {"jax": [other], "torch_xla": [with_partner(one, other)]}
    cells = {Cell(name, "gemm", "cuda"): {"status": "ok", "processes": some} for name, some in sides.items()}
    table = schema.table("cells", [cell(name, device="cuda") for name in sides])
    found = rounds.build(config(), Raw(cells=cells), table)
    assert having(found, quantity="steady_cpu").empty and len(having(found, quantity="steady")) == 1


def test_round_without_its_partner_has_no_ratio_and_the_others_keep_theirs():
    whole = with_partner(timed("torch_xla", 0, 2.0), timed("jax", 0, 1.0))
    without = with_partner(timed("torch_xla", 1, 2.0), timed("jax", 1, 1.0, status=("crash", "SIGKILL")))
    for quantity in STAGES:
        assert list(having(paired([whole, without]), quantity=quantity)["round"]) == [0]
    assert having(paired([timed("torch_xla", 0, 2.0)]), quantity="steady").empty


@pytest.mark.parametrize("refused", ["jax", "torch_xla"])
def test_what_is_not_valid_is_compared_with_nothing(refused):
    rows = [cell(name, status="invalid" if name == refused else "ok") for name in ("jax", "torch_xla")]
    table = paired([with_partner(timed("torch_xla", 0, 2.0), timed("jax", 0, 1.0))], rows)
    assert all(having(table, quantity=quantity).empty for quantity in STAGES)
    assert set(having(table, quantity="process")["subject"]) == {"jax", "torch_xla"} - {refused}
