"""One explanation from its programs to its files, with workers that compute nothing, and what is kept of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stackwars.core.client import CompilerSpec, Times
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program, fixed
from stackwars.explain import answer as answers
from stackwars.explain import driver
from stackwars.explain.answer import CLASSIFIED, NOT_LOCATED, Answer, Cause, Fault, Parting
from stackwars.explain.task import Settings

XLA, IREE = CompilerSpec("jaxlib-1"), CompilerSpec("iree-1", "iree")
VALUES = {"output0": np.ones(3), "output1": np.ones(3)}
RIGHT = Expected("hand", limits=dict.fromkeys(VALUES, 1e-6), values=VALUES)
LOAD, CALL, TIME = "load", "call", "time"


class FakeWorker:
    """A worker in which a program's text says its ms, or the command at which it ends."""

    def __init__(self, spec: CompilerSpec, **_) -> None:
        self.spec, self.others_share, self._texts = spec, 0.0, {}
        self.program = Program(spec.name, "3")

    def __enter__(self) -> "FakeWorker":
        self.started.append(self.spec.name)
        return self

    def __exit__(self, *_) -> None: ...

    def versions(self) -> dict[str, str]:
        return {self.spec.name: "1"}

    def load(self, name: str, text: str) -> float:
        self._texts[name] = text
        self._end(LOAD, name, Status.UNSUPPORTED)
        return 0.1

    def is_loaded(self, name: str) -> bool:
        return name in self._texts

    def place(self, name: str, arguments: object, which: int = 0) -> None: ...

    def timed_call(self, name: str, which: int) -> tuple[list[np.ndarray], int]:
        self._end(CALL, name, Status.CRASH)
        return [np.ones(3) if "wrong" not in self._texts[name] else np.zeros(3)], 1

    def time(self, names: list[str], seconds: float, **_) -> dict[str, Times]:
        for name in names:
            self._end(TIME, name, Status.TIMEOUT)
        ms = {name: float(self._texts[name].split()[0]) for name in names}
        return {name: Times(np.full(5, 1e6 * value), np.full(5, 1e6 * value)) for name, value in ms.items()}

    def _end(self, command: str, name: str, status: Status) -> None:
        text = self._texts[name]
        if command in text:
            raise Failed(Outcome(Status.ERROR if "ours" in text else status, f"{command} of {name}"))


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    """Workers and searches that answer at once; the programs that were searched."""
    searched = []

    def find_cause(task, say, kept):
        say("looking")
        searched.append(task)
        b = task.b and task.b.label
        return Cause(task.name, task.compiler.name, task.a.label, b, None, "spread", "wide")

    def find_fault(task, folder, say):
        searched.append(task)
        return Fault(task.name, task.a.label, task.compiler.name, task.suspect, "reduced", operations=[3, 1])

    monkeypatch.setattr(FakeWorker, "started", [], raising=False)
    monkeypatch.setattr(driver, "Worker", FakeWorker)
    monkeypatch.setattr(driver.cause, "find", find_cause)
    monkeypatch.setattr(driver.fault, "find", find_fault)
    monkeypatch.setattr(driver.parting, "find", lambda *_: pytest.fail("no programs of other computations"))
    return searched


def explain(folder: Path, texts: dict[str, str], compilers=(XLA,), **options) -> tuple[Answer, str]:
    """Return the answer about programs of these texts, and what was printed."""
    said: list[str] = []
    programs = [Program(label, text, (fixed(np.ones(3), "x"),)) for label, text in texts.items()]
    usual = {"expected": dict.fromkeys([*texts, *options.get("natives", {})], RIGHT), "evaluator": XLA}
    usual |= {"name": "x", "title": "X", "command": "explain x", "output": folder, "say": said.append}
    found = driver.explain(options.pop("programs", programs), compilers, **usual | options)
    return found, "\n".join(said)


def statuses(found: Answer) -> dict[str, str]:
    return {f"{cell.program} {cell.compiler}": cell.status for cell in found.table.cells}


def test_every_program_is_tried_timed_and_searched_and_all_is_written(tmp_path, fakes):
    texts = {"slow": "3", "fast": "1", "wrong": "1 wrong", "refused": "1 load", "crashing": "1 call"}
    found, said = explain(tmp_path, texts, natives={"numpy": FakeWorker(CompilerSpec("numpy"))})
    assert statuses(found) == {
        "slow jaxlib-1": "ok", "fast jaxlib-1": "ok", "wrong jaxlib-1": "wrong", "refused jaxlib-1": "unsupported",
        "crashing jaxlib-1": "crash", "numpy itself": "ok",
    }  # fmt: skip
    assert [cell.ms for cell in found.table.cells if cell.timing] == [3.0, 1.0, 3.0]
    assert [one.name for one in found.causes] == ["jaxlib-1.slow.fast"]
    assert [one.kind for one in found.faults] == ["crash", "wrong", "unsupported"]
    assert [task.suspect for task in fakes] == ["", "crash", "wrong", "unsupported"]
    assert found.table.versions == {"jaxlib-1": {"jaxlib-1": "1"}, "numpy": {"numpy": "1"}}
    assert answers.read(Answer, tmp_path / "explain.json") == found
    files = (
        "table.json",
        "explain.html",
        "explain.md",
        "faults/jaxlib-1.wrong/fault.json",
        "programs/slow/slow.mlir",
    )
    assert all((tmp_path / file).exists() for file in files)
    log = tmp_path / "causes/jaxlib-1.slow.fast/search.txt"
    assert (
        log.read_text() == "looking\n"
        and str(log) in said
        and "slow takes longer than fast in jaxlib-1" in said
    )


def test_a_program_that_ends_the_timing_of_all_costs_the_others_nothing(tmp_path):
    found, _ = explain(tmp_path, {"a": "2", "hanging": "1 time", "b": "1"})
    assert statuses(found) == {"a jaxlib-1": "ok", "hanging jaxlib-1": "timeout", "b jaxlib-1": "ok"}
    assert [cell.ms for cell in found.table.cells] == [2.0, None, 1.0]


def test_a_program_that_is_refused_here_is_no_fault_of_a_compiler(tmp_path, fakes):
    texts = {"a": "2", "b": "1 module attributes {mhlo.num_partitions = 2 : i32}"}
    found, _ = explain(tmp_path, texts)
    assert statuses(found)["b jaxlib-1"] == Status.UNSUPPORTED
    assert "2 devices" in found.table.cells[1].detail and not fakes
    found, _ = explain(tmp_path, {"b": texts["b"]})
    assert found.headline.startswith("Nothing ran in a compiler: unsupported: b in jaxlib-1 (it is divided")


def test_the_second_time_nothing_is_measured_and_an_edit_redoes_what_depends_on_it(tmp_path, fakes):
    texts = {"slow": "3", "fast": "1"}
    first, _ = explain(tmp_path, texts, (XLA, IREE))
    assert FakeWorker.started == ["jaxlib-1", "iree-1"] and len(fakes) == 2
    again, said = explain(tmp_path, texts, (XLA, IREE))
    assert again == first and len(FakeWorker.started) == 2 and len(fakes) == 2 and "searching" not in said
    explain(tmp_path, texts, (XLA, IREE), settings=Settings(questions=1, bound=0.1))
    assert len(FakeWorker.started) == 2, "how many questions there are changes no outcome"
    explain(tmp_path, texts | {"slow": "4"}, (XLA, IREE))
    assert len(FakeWorker.started) == 4 and len(fakes) == 4
    explain(tmp_path, texts, (XLA, replace(IREE, options={"x": 1})))
    assert FakeWorker.started[4:] == ["iree-1"], "only the compiler with another option"
    other = replace(RIGHT, values={key: value + 1 for key, value in VALUES.items()})
    found, _ = explain(tmp_path, texts, expected=dict.fromkeys(texts, other))
    assert set(statuses(found).values()) == {"wrong"}


def test_an_error_of_the_harness_is_not_kept(tmp_path):
    for count in (1, 2):
        found, _ = explain(tmp_path, {"a": "1 load ours"})
        assert statuses(found) == {"a jaxlib-1": "error"} and len(FakeWorker.started) == count


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (RuntimeError("no idea"), "the search failed: RuntimeError: no idea"),
        (Failed(Outcome(Status.ERROR, "no disk")), "error: no disk"),
    ],
)
def test_a_search_that_raises_is_an_answer_and_is_not_kept(tmp_path, monkeypatch, error, detail):
    runs = []

    def find(*task) -> Cause:
        runs.append(task)
        raise error

    monkeypatch.setattr(driver.cause, "find", find)
    for count in (1, 2):
        found, _ = explain(tmp_path, {"slow": "3", "fast": "1"})
        assert [(one.verdict, one.detail) for one in found.causes] == [("failed", detail)]
        assert len(runs) == count
    log = (tmp_path / "causes/jaxlib-1.slow.fast/search.txt").read_text()
    assert ("Traceback" in log) == isinstance(error, RuntimeError)


def test_what_is_unavailable_is_an_outcome_and_starts_no_process(tmp_path):
    unavailable = {
        "iree-1": Outcome(Status.UNSUPPORTED, "needs Python 3.12"),
        "b": Outcome(Status.ERROR, "no environment"),
        "numpy": Outcome(Status.ERROR, "no disk"),
    }
    natives = {"numpy": FakeWorker(CompilerSpec("numpy"))}
    found, said = explain(tmp_path, {"a": "1", "b": ""}, (XLA, IREE), natives=natives, unavailable=unavailable)
    assert statuses(found) == {
        "a jaxlib-1": "ok", "b jaxlib-1": "error", "a iree-1": "unsupported", "b iree-1": "error",
        "numpy itself": "error",
    }  # fmt: skip
    assert FakeWorker.started == ["jaxlib-1"] and "no program: b: no environment" in " ".join(said.split())


def test_a_missing_program_and_one_without_expected_values_say_why(tmp_path):
    unknown = Expected(reason="no memory")
    found, said = explain(tmp_path, {"a": "1"}, expected={"a": unknown})
    assert statuses(found) == {"a jaxlib-1": "not judged"} and found.table.cells[0].ms == 1.0
    assert "Not judged: no memory." in " ".join(said.split()) and found.exit_status == 1
    missing = [Program("a", missing="torch says no")]
    found, _ = explain(tmp_path, {}, programs=missing, expected={"a": unknown})
    assert not found.table.cells[0].is_emitted and found.faults == []


def test_files_are_judged_by_their_own_operations_and_compared(tmp_path, monkeypatch):
    def evaluated(self, program):
        values = {key: value * float(program.text) for key, value in VALUES.items()}
        return replace(RIGHT, values=values, certain={"output0": np.array([True, False, True])}), False

    pages = []

    def find(*task) -> Parting:
        pages.append((tmp_path / "explain.html").exists())
        return parted(*task)

    monkeypatch.setattr(driver.Explanation, "_evaluated", evaluated)
    monkeypatch.setattr(driver.parting, "find", find)
    found, _ = explain(tmp_path, {"a": "1", "b": "2"}, expected=None)
    assert found.parting == Parting("a", "b", CLASSIFIED) and pages == [True]
    assert found.headline.startswith("a and b compute different")
    assert found.table.differ.startswith("b and a compute different things: output0: 2 of 3 elements wrong")
    monkeypatch.setattr(driver.Explanation, "_evaluated", lambda *_: pytest.fail("evaluated again"))
    monkeypatch.setattr(driver.parting, "find", lambda *_: pytest.fail("searched again"))
    again, _ = explain(tmp_path, {"a": "1", "b": "2"}, expected=None)
    assert again == found


def test_expected_values_are_read_as_they_were_written(tmp_path):
    expected = replace(RIGHT, certain={"output0": np.array([True, False, True])})
    driver.write_expected(tmp_path, expected, "key")
    found = driver.read_expected(tmp_path, "key")
    assert driver.expected_digest(found) == driver.expected_digest(expected)
    assert driver.read_expected(tmp_path, "another") is None
    driver.write_expected(tmp_path, Expected(reason="broken"), "")
    assert driver.read_expected(tmp_path, "key") is None


def test_a_kill_while_values_are_written_leaves_none_of_another_program(tmp_path, monkeypatch):
    driver.write_expected(tmp_path, RIGHT, "key")

    def kill(*_) -> None:
        raise KeyboardInterrupt

    other = replace(RIGHT, values={key: 2 * value for key, value in VALUES.items()})
    monkeypatch.setattr(driver.judge.documents, "write", kill)
    with pytest.raises(KeyboardInterrupt):
        driver.write_expected(tmp_path, other, "another")
    for key in ("key", "another"):
        assert driver.read_expected(tmp_path, key) is None


def parted(programs, evaluator, settings, say) -> Parting:
    """Say that two programs part, unless the second is alike."""
    a, b = (program.label for program in programs)
    return Parting(a, b, NOT_LOCATED if b == "alike" else CLASSIFIED)


@pytest.mark.parametrize(
    ("found", "pair"),
    [
        ({"disputed": True, "reason": "not of one computation"}, ("a", "b")),
        ({"odd": {"a": "a is the odd one"}}, ("alike", "a")),
        ({"reason": "it draws random numbers"}, None),
        ({}, None),
    ],
)
def test_programs_part_if_their_own_operations_give_other_values(tmp_path, monkeypatch, found, pair):
    """A wrong value of a compiler is none of these: the last case, in which the fixture lets no search begin."""
    if pair:
        monkeypatch.setattr(driver.parting, "find", parted)
    texts = {"a": "1 wrong", "alike": "1", "b": "1"}
    answer, _ = explain(tmp_path, texts, expected=dict.fromkeys(texts, replace(RIGHT, **found)))
    assert (answer.parting and (answer.parting.a, answer.parting.b)) == pair
    if not found:
        assert statuses(answer)["a jaxlib-1"] == "wrong" and answer.headline.startswith("a is wrong")


def test_a_search_for_where_programs_part_that_raises_is_an_answer_and_is_not_kept(tmp_path, monkeypatch):
    calls = []

    def broken(programs, *_):
        calls.append(programs)
        raise RuntimeError("no idea")

    monkeypatch.setattr(driver.parting, "find", broken)
    disputed = replace(RIGHT, disputed=True, reason="not of one computation")
    for count in (1, 2):
        answer, _ = explain(tmp_path, {"a": "1", "b": "1"}, expected=dict.fromkeys("ab", disputed))
        assert answer.parting.detail.endswith("RuntimeError: no idea") and len(calls) == count
        assert "compute different things" not in answer.headline
