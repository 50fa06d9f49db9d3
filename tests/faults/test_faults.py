"""The bookkeeping of injected faults: what is lost, wrong or not said is found. And some real ones."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from faults import children, files, run, shown
from faults.attempt import copied, inject
from faults.fault import NOT_SURVIVED, NOT_TRIED, SURVIVED, Fault, NotTried
from faults.finished import finished, lost
from faults.scratch import TABLES, Ran, Scratch, base
from measured import GEMM, config, process, write_cell, write_results
from stackwars.measure import machine
from stackwars.results import schema, tables
from stackwars.results.folder import Folder
from stackwars.workflow import damage

HERE = process()["machine"]
TORCH = replace(GEMM, framework="torch_xla")


class Broken(Scratch):
    """A scratch checkout whose runs say something and end well."""

    def run(self, *targets: str, **how: object) -> Ran:
        return Ran(0, "the disk is full")


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Broken:
    """Two rounds of the GEMM in two frameworks, and the tables that are made from them, as if measured here."""
    monkeypatch.setattr(machine, "record", lambda: HERE)
    made = Broken(tmp_path)
    write_results(made.results)
    for cell in (GEMM, TORCH):
        results = [process(cell, number, first_ms=100.0 + number) for number in (0, 1)]
        write_cell(made.results, results, np.arange(8, dtype=np.float32))
    for name in (GEMM.path / "process-1", TORCH.path / "process-0", TORCH.path / "process-1"):
        shutil.rmtree(made.results / name)
    tables.write(config(workloads=["gemm"], devices=["cpu"]), Folder(made.results))
    return made


def fault(does=lambda scratch: None, **changes) -> Fault:
    """A fault that does something to the results while a run is at work."""

    def run(scratch: Scratch) -> Ran:
        does(scratch)
        return scratch.run(TABLES)

    return replace(Fault("one", "One", run, "disk is full"), **changes)


def change(path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_finished_are_processes_and_a_peak_under_one_name_each(scratch):
    names = {name for name, _ in finished(scratch.results)}
    processes = {f"cpu/{f}/gemm/process-{n}" for f in ("jax", "torch_xla") for n in (0, 1)}
    assert names == {*processes, "cpu/peak"}


def test_process_in_its_own_folder_is_the_one_in_its_cell(scratch):
    before = finished(scratch.results)
    (scratch.results / GEMM.path / "cell.json").unlink()
    assert lost(before, finished(scratch.results)) == ["cpu/jax/gemm/process-1"]


def test_lost_is_what_is_gone_or_another_and_not_what_was_set_aside(scratch):
    before, cell = finished(scratch.results), scratch.results / TORCH.path
    (cell / "stablehlo.mlir.gz").write_bytes(b"torn")
    assert len(damage.quarantine(scratch.results)) == 1 and not (cell / "cell.json").exists()
    shutil.rmtree(cell)
    assert lost(before, finished(scratch.results)) == []
    peak = scratch.results / "cpu" / "peak.json"
    peak.write_text(json.dumps(json.loads(peak.read_text()) | {"gflop_per_s": 1.0}))
    assert lost(before, finished(scratch.results)) == ["cpu/peak"]
    assert lost(before, finished(scratch.results), ("cpu/",)) == []


def test_right_numbers_are_not_wrong(scratch):
    assert shown.wrong(scratch.results) == []
    assert set(shown.rows(scratch.results)["status"]) == {"ok"}


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("cell.json", '"ns": 101000000', '"ns": 10100000', "first_ms is"),
        ("cell.json", '"status": "ok"', '"status": "error"', "is not whole"),
        ("cell.json", '"framework": "torch_xla"', '"framework": "jax"', "another cell's result"),
        ("cell.json", '"at_s": 1003.5', '"at_s": 1.5', "clock of process 0 went back"),
        ("cell.json", '"cores": 2', '"cores": 64', "of another machine"),
        ("cell.json", "{", "", "no whole result is behind it"),
    ],
)
def test_number_without_a_result_behind_it_is_found(scratch, name, old, new, said):
    change(scratch.results / TORCH.path / name, old, new)
    found = shown.wrong(scratch.results)
    assert found and all(one.startswith("cpu/torch_xla/gemm: ") for one in found)
    assert said in " ".join(found)


def rewrite(scratch: Scratch, **columns: object) -> None:
    """Give every cell of the tables these values, or those that a function makes of the old ones."""
    path = scratch.results / "cells.csv"
    cells = schema.read(path)
    made = {name: value(cells[name]) if callable(value) else value for name, value in columns.items()}
    schema.write(cells.assign(**made), path)


def test_wrong_table_and_output_are_found(scratch):
    before = (scratch.results / "cells.csv").read_bytes()
    rewrite(scratch, steady_ms=lambda ms: ms / 10)
    assert all("no block on disk is like it" in one for one in shown.wrong(scratch.results))
    (scratch.results / "cells.csv").write_bytes(before)
    rewrite(scratch, status="oom")
    assert len(shown.wrong(scratch.results)) == 2
    (scratch.results / "cells.csv").write_bytes(before)
    np.save(scratch.results / GEMM.path / "output.npy", np.arange(8))
    assert "another output" in shown.wrong(scratch.results)[0]


def test_number_that_the_paper_lacks_is_found(scratch):
    assert shown.wrong_in_paper("JAX 100. 5 and 2.000", scratch.results) == []
    assert len(shown.wrong_in_paper("JAX 99.99 and 2.000", scratch.results)) == 2


def test_fault_that_harms_nothing_is_survived_and_its_words_are_kept(scratch):
    one = inject(fault(), scratch)
    assert (one.verdict, one.lost, one.wrong, one.why) == (SURVIVED, (), (), "")
    assert one.said == "the disk is full"


def test_fault_that_loses_a_number_is_reported_as_lost(scratch):
    def lose(scratch: Scratch) -> None:
        change(scratch.results / TORCH.path / "cell.json", '"repetition": 1', '"repetition": 7')

    one = inject(fault(lose), scratch)
    assert (one.verdict, one.wrong) == (NOT_SURVIVED, ())
    assert one.lost == ("cpu/torch_xla/gemm/process-1",) and one.lost[0] in one.why
    assert inject(fault(lose, spends=("cpu/torch_xla/",)), scratch).lost == ()


def test_number_finished_before_a_kill_must_be_there_after_the_recovery(scratch):
    def finish(scratch: Scratch) -> None:
        folder = scratch.results / "cpu" / "jax" / "ffn" / "process-0"
        folder.mkdir(parents=True)
        (folder / "process.json").write_text('{"status": "ok"}')

    def lose(scratch: Scratch) -> None:
        shutil.rmtree(scratch.results / "cpu" / "jax" / "ffn")

    one = inject(fault(finish, recover=lose), scratch)
    assert (one.verdict, len(one.lost)) == (NOT_SURVIVED, 1)


def test_wrong_number_that_is_shown_is_found(scratch):
    def halve(scratch: Scratch) -> None:
        rewrite(scratch, first_ms=lambda ms: ms / 2)

    one = inject(fault(halve), scratch)
    assert (one.verdict, one.lost) == (NOT_SURVIVED, ())
    assert len(one.wrong) >= 2 and "first_ms is" in one.why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"says": "nobody says this"}, "nothing says 'nobody says this'"),
        ({"extra": lambda scratch: ["a file was made"]}, "a file was made"),
        ({"recover": lambda scratch: 1 / 0}, "ZeroDivisionError: division by zero"),
    ],
)
def test_fault_is_not_survived_where_the_user_cannot_know_or_go_on(scratch, changes, why):
    one = inject(fault(**changes), scratch)
    assert (one.verdict, one.lost, one.wrong) == (NOT_SURVIVED, (), ())
    assert why in one.why


def test_fault_that_cannot_be_injected_is_not_tried(scratch):
    def refuse(scratch: Scratch) -> None:
        raise NotTried("only root can mount a disk")

    one = inject(fault(refuse), scratch)
    assert (one.verdict, one.why) == (NOT_TRIED, "only root can mount a disk")


def test_catalogue_has_its_faults_once_each():
    identities = [one.identity for one in run.CATALOGUE]
    assert len(identities) == len(set(identities)) >= 24
    for one in run.CATALOGUE:
        assert one.title and re.compile(one.says)


def test_faults_are_chosen_by_name():
    assert run.chosen([]) == list(run.CATALOGUE)
    assert [one.identity for one in run.chosen(["link", "child-killed"])] == [
        "child-killed",
        "link",
    ]
    with pytest.raises(SystemExit, match="got nonsense"):
        run.chosen(["nonsense"])


@pytest.mark.slow
@pytest.mark.env
def test_some_real_faults_are_survived(tmp_path, jax_python, torch_xla_python):
    home = tmp_path.resolve()
    made = base(home / "base", TABLES)
    known = {one.identity: one for one in (*children.FAULTS, *files.FAULTS)}
    for identity in ("child-silent", "output-garbage", "link"):
        with copied(known[identity], made, home) as scratch:
            one = inject(known[identity], scratch)
        assert (one.verdict, one.lost, one.wrong) == (SURVIVED, (), ()), one
