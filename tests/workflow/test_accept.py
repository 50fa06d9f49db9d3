"""A run joins the reference: its tables beside the others', its measured files in place of older ones."""

import json
import sys
from pathlib import Path

import pytest

from stackwars.core import documents
from stackwars.measure import PROTOCOL
from stackwars.publish import accept
from stackwars.study import cells, printed
from stackwars.study.audits import audit_entries
from stackwars.study.audits.audit_entries import Audits
from stackwars.study.claims import pages
from stackwars.study.config import load
from stackwars.study.keys import Config
from stackwars.study.results import runs, schema
from stackwars.study.results.folder import Folder

CELLS = ("cpu/jax/gemm/cell.json", "cpu/torch_xla/gemm/cell.json")
OTHER = "cpu/torch_inductor/two_matmuls/cell.json"
"""A cell of another study than the first."""
CONTEXT = {
    "preset": "full",
    "sizes": {"gemm": cells.sizes(load(), "gemm")},
    "protocol": PROTOCOL,
    "date_utc": "2026-01-02T03:04:05+00:00",
    "machine": {"cpu_model": "A", "cores": 2},
    "peaks": {"cpu": {"last_cache_bytes": 32_000_000}},
}
IDENTITY = "2026-01-02T0304"


def full(folder: Path, cells_=CELLS, text: str = "new", dirty=False, others=0.1, **context) -> Path:
    """A full run with these cells, whose tables have this text in a cell; dirty: of uncommitted sources; others: the
    share of the cores that other programs had.
    """
    folder.mkdir(parents=True)
    for name in schema.TABLES:
        schema.write(schema.empty(name), folder / f"{name}.csv")
    schema.write(schema.table("profile", [{"workload": text}]), folder / "profile.csv")
    (folder / "context.json").write_text(json.dumps(CONTEXT | context))
    for name in cells_:
        (folder / name).parent.mkdir(parents=True)
        process = {
            "source": {"git_dirty": dirty, "git_revision": "abc"},
            "events": [{"other_processes_share": others}],
        }
        (folder / name).write_text(json.dumps({"text": text, "processes": [process]}))
    return folder


def accepted(tmp_path, name: str = "old", *cells_: str, **context) -> Path:
    """A reference with one run."""
    reference = tmp_path / "reference"
    accept.accept(full(tmp_path / name, cells_ or CELLS, name, **context), reference)
    return reference


def text(reference: Path, name: str) -> str:
    return documents.read(reference / name)["text"]


def test_a_run_s_tables_are_kept_by_the_time_of_the_run_with_their_digests(tmp_path):
    reference = accepted(tmp_path, "01", date_utc="2026-01-01T03:04:05+00:00")
    accept.accept(full(tmp_path / "02", text="02"), reference)
    found = runs.read(reference)
    assert [one.identity for one in found] == ["2026-01-01T0304", IDENTITY]
    assert [one.table("profile")["workload"].tolist() for one in found] == [["01"], ["02"]]
    assert found[0].machine == "A, 2 cores, 32 MB of cache"
    assert [path.name for path in tmp_path.iterdir() if "reference" in path.name] == ["reference"]


def test_what_a_run_confirms_joins_it(tmp_path, monkeypatch):
    monkeypatch.setattr(accept.compare, "confirmation", lambda _, revisions: {"revision": sorted(revisions)})
    reference = accepted(tmp_path)
    path = reference / "runs" / IDENTITY / runs.CONFIRMATION
    assert documents.read(path)["revision"] == ["abc"]
    path.write_text("{}")
    with pytest.raises(runs.DamagedRunError, match="confirmation"):
        runs.read(reference)


def test_a_run_can_be_accepted_again(tmp_path):
    reference = accepted(tmp_path, "old")
    assert accept.accept(full(tmp_path / "again"), reference) == (IDENTITY, 2)
    assert [one.table("profile")["workload"].tolist() for one in runs.read(reference)] == [["new"]]


def test_the_programs_that_the_paper_lists_are_kept_with_the_run(tmp_path):
    run, reference = full(tmp_path / "run"), tmp_path / "reference"
    for workload in ("mha", "conv"):
        for framework in ("jax", "torch_xla"):
            path = run / "cpu" / framework / workload / printed.PROGRAM
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(framework)
            path.with_name(printed.OPTIMISED).write_text("HLO")
    accept.accept(run, reference)
    kept = reference / "runs" / IDENTITY
    assert {p.relative_to(kept).parts[1:3] for p in kept.rglob(printed.PROGRAM)} == {
        ("jax", "mha"), ("torch_xla", "mha"),
    }  # fmt: skip
    assert len(list(kept.rglob(printed.OPTIMISED))) == 2


def test_measured_files_are_replaced_by_those_of_a_run_with_the_first_study(tmp_path):
    reference = accepted(tmp_path, "old", *CELLS, OTHER)
    part, counted = full(tmp_path / "part", CELLS[:1]), Path("memory/tpu-v6e/mha/memory.json")
    (part / counted).parent.mkdir(parents=True)
    (part / counted).write_text("{}")
    assert accept.replace_measured(part, reference) == 1
    assert text(reference, CELLS[0]) == "old" and (reference / counted).read_text() == "{}"
    whole = full(tmp_path / "all")
    (whole / CELLS[0]).with_name(printed.OPTIMISED).write_text("HLO")
    assert accept.accept(whole, reference) == (IDENTITY, 3)
    assert (reference / CELLS[0]).with_name(printed.OPTIMISED).read_text() == "HLO"
    assert text(reference, CELLS[0]) == "new"
    assert text(reference, OTHER) == "old"  # of another study


def test_the_reference_stays_as_it_was_if_a_run_cannot_be_added(tmp_path, monkeypatch):
    reference = accepted(tmp_path)
    before = {path: path.read_bytes() for path in reference.rglob("*") if path.is_file()}

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(accept, "_copy", full_disk)
    with pytest.raises(OSError, match="No space left"):
        accept.accept(full(tmp_path / "new"), reference)
    assert {path: path.read_bytes() for path in reference.rglob("*") if path.is_file()} == before


def test_a_kill_in_the_swap_loses_nothing(tmp_path):
    reference = accepted(tmp_path)
    reference.rename(tmp_path / "reference.old")
    run = full(tmp_path / "new", date_utc="2026-01-05T03:04:05+00:00")
    accept.accept(run, reference)
    assert [one.identity for one in runs.read(reference)] == [IDENTITY, "2026-01-05T0304"]


def test_nothing_is_added_to_a_damaged_reference(tmp_path):
    reference = accepted(tmp_path)
    path = reference / "runs" / IDENTITY / "profile.csv"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(runs.DamagedRunError, match=rf"{IDENTITY}/profile\.csv: expected the accepted file"):
        accept.accept(full(tmp_path / "new"), reference)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dirty": True}, rf"expected a run of committed sources, got {CELLS[0]} and 1 more"),
        ({"others": 0.54}, r"other programs that had up to 54 % .*: cpu/jax/gemm cpu/torch_xla/gemm$"),
        ({"preset": "smoke"}, "expected a run of the preset full, got one of smoke"),
        ({"sizes": {"gemm": {"m": 1}}}, "expected the shapes of the accepted run .*, got others of gemm"),
        ({"date_utc": "never"}, "that has measured or compiled something"),
        ({"protocol": PROTOCOL - 1}, f"expected a run of version {PROTOCOL} of the measuring"),
        ({"protocol": None}, "got None"),
    ],
)
def test_what_cannot_be_accepted_is_refused(tmp_path, changes, told):
    reference = accepted(tmp_path)
    with pytest.raises(accept.AcceptError, match=told):
        accept.accept(full(tmp_path / "run", **changes), reference)


def test_audits_that_a_run_was_made_without_stay_and_say_whose_they_are(tmp_path):
    run, reference = full(tmp_path / "run"), tmp_path / "reference"
    audited = Audits([audit_entries.entry("fences", "pass", {}, "told")], IDENTITY)
    audit_entries.write(audited, run / "audits.json")
    accept.accept(run, reference)
    path = reference / "audits.json"
    for day in ("03", "04"):
        later = full(tmp_path / day, date_utc=f"2026-01-{day}T03:04:05+00:00")
        assert accept.accept(later, reference)[1] == 2
        found = audit_entries.read(path)
        assert (found.run, found.entries[0]["detail"]) == (IDENTITY, "told")
    audit_entries.write(Audits([], "2026-01-04T0304"), later / "audits.json")
    assert accept.accept(later, reference)[1] == 3
    assert audit_entries.read(path).run == "2026-01-04T0304"


FORMS = [
    f"cpu/{name}/ffn/{file}"
    for name in ("jax", "torch_inductor")
    for file in ("forms/graph.txt.gz", "stablehlo.mlir.gz")
]
CHECKS = [f"checks/iree-3.13/gemm/odd1/{name}" for name in ("check.json", "expected.npz")]
AHEAD = ["ahead/t/c/jax/gemm/base/ahead.json"]


@pytest.mark.parametrize(
    ("made", "earlier", "expected"),
    [
        (FORMS[:2], FORMS, dict(zip(FORMS, ("run", "run", "reference", "reference"), strict=True))),
        (CHECKS, [], {CHECKS[0]: "run"}),
        (AHEAD, AHEAD, dict.fromkeys(AHEAD, "run")),
        ([], AHEAD, dict.fromkeys(AHEAD, "reference")),
        ([], ["explain/mha.json"], {"explain/mha.json": "reference"}),
        (["cpu/jax/gemm/rounds/0/subject/stablehlo.mlir.gz"], [], {}),
        (["damaged/cpu/numpy/gemm/cell.json"], [], {}),
    ],
    ids=["forms", "checks", "compilations", "no compilations", "answers", "rounds", "set aside"],
)
def test_what_a_run_did_not_make_stays_and_what_is_no_result_is_left(tmp_path, made, earlier, expected):
    run, reference = full(tmp_path / "run"), accepted(tmp_path)
    before = set(reference.rglob("*.*"))
    for folder, names in ((run, made), (reference, earlier)):
        for path in (folder / name for name in names):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"text": folder.name, "source": {"git_dirty": False}}))
    accept.accept(run, reference)
    found = {path for path in set(reference.rglob("*.*")) - before if path.is_file()}
    assert {
        str(path.relative_to(reference)): json.loads(path.read_text())["text"] for path in found
    } == expected
    assert all((run / name).exists() for name in made)


def test_tables_that_are_too_large_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(accept, "MOST_BYTES", 10)
    with pytest.raises(accept.AcceptError, match="expected at most 10 bytes of tables"):
        accept.accept(full(tmp_path / "run"), tmp_path / "reference")


REPLAY = {"processes": [{"source": {"git_dirty": True}}]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("replay/cpu/iree/gemm/replay.json", json.dumps(REPLAY), r"replay\.json and 0 more"),
        (
            "checks/iree/gemm/base/check.json",
            json.dumps({"source": {"git_dirty": True}}),
            r"check\.json and 0 more",
        ),
        ("comparisons.csv", None, r"none named comparisons\.csv; fix: make paper"),
        ("cells.csv", "mode,workload\n", r"cells\.csv: expected .* without the columns"),
    ],
)
def test_uncommitted_replays_and_missing_or_other_tables_are_refused(tmp_path, name, content, said):
    path = full(tmp_path / "run") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if content:
        path.write_text(content)
    with pytest.raises((accept.AcceptError, documents.Damaged), match=said):
        accept.accept(tmp_path / "run", tmp_path / "reference")


def test_the_command_ends_with_pages_of_the_pooled_reference(tmp_path, monkeypatch, capsys):
    steps = []

    def pool(_: Config, folder: Folder) -> None:
        for name in ("comparisons", "claims"):
            folder[name].write_text("pooled")

    (tmp_path / "results" / "reference").mkdir(parents=True)
    monkeypatch.setattr(accept, "REPOSITORY", tmp_path)
    monkeypatch.setattr(accept, "accept", lambda *_: (IDENTITY, 2))
    monkeypatch.setattr(pages.tables, "write", pool)
    monkeypatch.setattr(pages.decide, "write", lambda *_: steps.append("claims"))
    monkeypatch.setattr(pages, "write", lambda repository, _: steps.append(repository))
    monkeypatch.setattr(accept, "write_answer", lambda *_: steps.append("answer"))
    monkeypatch.setattr(sys, "argv", ["accept"])
    accept.main()
    assert steps == ["claims", tmp_path, "answer"]
    assert {path.read_text() for path in (tmp_path / "results/reference").glob("*.csv")} == {"pooled"}
    assert f"of the run {IDENTITY} and its 2 measured files" in " ".join(capsys.readouterr().out.split())
