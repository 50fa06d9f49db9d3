"""The bookkeeping of injected faults: what is lost, wrong or not said is found. And some real ones."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from faults import children, files, run, shown
from faults.attempt import copied, inject
from faults.fault import Fault, NotTried
from faults.finished import finished, lost
from faults.scratch import FRAME, Ran, Scratch, base
from measured import GEMM, config, process, write_cell, write_results
from stackwars.audits.fault_entries import NOT_SURVIVED, NOT_TRIED, SURVIVED
from stackwars.measure import machine
from stackwars.results import aggregate
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
    """Two rounds of the GEMM in two frameworks, and the frame that is made from them, as if measured here."""
    monkeypatch.setattr(machine, "record", lambda: HERE)
    made = Broken(tmp_path)
    write_results(made.results)
    for cell in (GEMM, TORCH):
        results = [process(cell, number, first_ms=100.0 + number) for number in (0, 1)]
        write_cell(made.results, results, np.arange(8, dtype=np.float32))
    for name in (GEMM.path / "process-1", TORCH.path / "process-0", TORCH.path / "process-1"):
        shutil.rmtree(made.results / name)
    aggregate.aggregate(config(workloads=["gemm"], devices=["cpu"]), Folder(made.results))
    return made


def fault(does=lambda scratch: None, **changes) -> Fault:
    """A fault that does something to the results while a run is at work."""

    def run(scratch: Scratch) -> Ran:
        does(scratch)
        return scratch.run(FRAME)

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
    assert len(damage.set_aside(scratch.results)) == 1 and not (cell / "cell.json").exists()
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
def test_number_that_is_not_behind_the_frame_is_found(scratch, name, old, new, said):
    change(scratch.results / TORCH.path / name, old, new)
    found = shown.wrong(scratch.results)
    assert found and all(one.startswith("cpu/torch_xla/gemm: ") for one in found)
    assert said in " ".join(found)


def test_wrong_frame_calls_and_output_are_found(scratch):
    frame, calls = (pd.read_csv(scratch.results / name) for name in ("frame.csv", "calls.csv"))
    frame.assign(steady_ms=frame["steady_ms"] / 10).to_csv(scratch.results / "frame.csv")
    assert all("no block on disk is like it" in one for one in shown.wrong(scratch.results))
    frame.assign(status="oom").to_csv(scratch.results / "frame.csv")
    assert len(shown.wrong(scratch.results)) == 2
    frame.to_csv(scratch.results / "frame.csv")
    calls.iloc[1:].to_csv(scratch.results / "calls.csv")
    assert len(shown.wrong(scratch.results)) == 1
    calls.to_csv(scratch.results / "calls.csv")
    np.save(scratch.results / GEMM.path / "output.npy", np.arange(8))
    assert "another output" in shown.wrong(scratch.results)[0]


def test_number_that_the_paper_lacks_is_found(scratch):
    assert shown.wrong_in_paper("JAX 100. 5 and 2.000", scratch.results) == []
    assert len(shown.wrong_in_paper("JAX 99.99 and 2.000", scratch.results)) == 2


def test_fault_that_harms_nothing_is_survived_and_its_words_are_kept(scratch):
    one = inject(fault(), scratch)
    assert (one["outcome"], one["lost"], one["wrong"], one["why"]) == (SURVIVED, 0, 0, "")
    assert one["told"] == "the disk is full"


def test_fault_that_loses_a_number_is_reported_as_lost(scratch):
    def lose(scratch: Scratch) -> None:
        change(scratch.results / TORCH.path / "cell.json", '"repetition": 1', '"repetition": 7')

    one = inject(fault(lose), scratch)
    assert (one["outcome"], one["lost"], one["wrong"]) == (NOT_SURVIVED, 1, 0)
    assert "cpu/torch_xla/gemm/process-1" in one["why"]
    assert inject(fault(lose, spends=("cpu/torch_xla/",)), scratch)["lost"] == 0


def test_number_finished_before_a_kill_must_be_there_after_the_recovery(scratch):
    def finish(scratch: Scratch) -> None:
        folder = scratch.results / "cpu" / "jax" / "ffn" / "process-0"
        folder.mkdir(parents=True)
        (folder / "process.json").write_text('{"status": "ok"}')

    def lose(scratch: Scratch) -> None:
        shutil.rmtree(scratch.results / "cpu" / "jax" / "ffn")

    one = inject(fault(finish, recover=lose), scratch)
    assert (one["outcome"], one["lost"]) == (NOT_SURVIVED, 1)


def test_wrong_number_that_is_shown_is_found(scratch):
    def halve(scratch: Scratch) -> None:
        frame = pd.read_csv(scratch.results / "frame.csv")
        frame["first_ms"] /= 2
        frame.to_csv(scratch.results / "frame.csv", index=False)

    one = inject(fault(halve), scratch)
    assert (one["outcome"], one["lost"]) == (NOT_SURVIVED, 0)
    assert one["wrong"] >= 2 and "first_ms is" in one["why"]


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
    assert (one["outcome"], one["lost"], one["wrong"]) == (NOT_SURVIVED, 0, 0)
    assert why in one["why"]


def test_fault_that_cannot_be_injected_is_not_tried(scratch):
    def refuse(scratch: Scratch) -> None:
        raise NotTried("only root can mount a disk")

    one = inject(fault(refuse), scratch)
    assert (one["outcome"], one["why"]) == (NOT_TRIED, "only root can mount a disk")


def test_catalogue_has_its_faults_once_each():
    identities = [one.identity for one in run.CATALOGUE]
    assert len(identities) == len(set(identities)) >= 24
    for one in run.CATALOGUE:
        assert one.title and re.compile(one.says)


def test_decided_faults_are_injected_again_only_where_asked(tmp_path):
    found = run.document(tmp_path / "none.json")
    first, second = (run.left(found, [], again=False)[place] for place in (0, 1))
    for one in (second, first):
        run.put(found, {"id": one.identity, "outcome": SURVIVED})
    assert [one["id"] for one in found["faults"]] == [first.identity, second.identity]
    assert not {first, second} & set(run.left(found, [], again=False))
    assert set(run.left(found, [], again=True)) == set(run.CATALOGUE)
    assert run.left(found, [first.identity], again=False) == [first]
    with pytest.raises(SystemExit, match="came nonsense"):
        run.left(found, ["nonsense"], again=False)


@pytest.mark.slow
@pytest.mark.env
def test_some_real_faults_are_survived(tmp_path, jax_python, torch_xla_python):
    home = tmp_path.resolve()
    made = base(home / "base", FRAME)
    known = {one.identity: one for one in (*children.FAULTS, *files.FAULTS)}
    for identity in ("child-silent", "output-garbage", "link"):
        with copied(known[identity], made, home) as scratch:
            one = inject(known[identity], scratch)
        assert (one["outcome"], one["lost"], one["wrong"]) == (SURVIVED, 0, 0), one
