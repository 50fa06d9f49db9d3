"""One program in real releases of jaxlib and IREE, two years apart."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from explain.faulty import SHIFT
from ir import spellings
from stackwars.core.client import Worker
from stackwars.core.judge import Expected
from stackwars.core.program import Program
from stackwars.explain.files import plain_arguments
from stackwars.explain.releases import ALL, Releases, ReleaseSettings, releases
from stackwars.explain.task import Kept
from stackwars.study.releases import evaluator, spec_of

pytestmark = pytest.mark.env
SETTINGS = ReleaseSettings(rounds=2, seconds=0.05, memory_cap_gib=4, timeout_s=120)
ERF = """
func.func public @main(%x: tensor<3x5xf32>, %n: tensor<5xi32>) -> (tensor<3x5xf32>, tensor<5xi32>) {
  %0 = chlo.erf %x : tensor<3x5xf32> -> tensor<3x5xf32>
  %1 = stablehlo.add %n, %n : tensor<5xi32>
  return %0, %1 : tensor<3x5xf32>, tensor<5xi32>
}
"""
BROADCAST = spellings.program(
    "%a = broadcast_in_dim %x, dims = [0, 1] : (X) -> A; "
    "%r = dot_general %a, %b, contracting_dims = [1] x [0] : (A, B) -> R",
    "%x: X, %b: B", "R", X="tensor<1x2xf32>", A="tensor<3x2xf32>", B="tensor<2x4xf32>", R="tensor<3x4xf32>",
)  # fmt: skip


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with evaluator("envs/xla-0.10.2.txt", SETTINGS) as result:
        yield result


def measure(worker: Worker, text: str, project: str, versions: Sequence[str], **options) -> Releases:
    given = {"order": ALL, "settings": SETTINGS, **options}
    program = Program("p", text, plain_arguments(worker.graph(text), {}, 1))
    return releases(program, versions, spec_of, project=project, evaluator=worker, **given)


def values(folder: Path) -> list[dict]:
    """Return what is kept in a folder."""
    return [json.loads(line)[1] for line in (folder / "kept.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("project", "versions"), [("jaxlib", ["0.10.2", "0.4.30"]), ("iree", ["3.13.0", "3.0.0"])]
)
def test_a_program_with_chlo_is_read_called_and_right_in_old_releases(worker, project, versions):
    document = measure(worker, ERF, project, versions)
    assert document.stablehlo == "1.0.0"
    for row in document.releases:
        assert (row.status, row.status_detail) == ("ok", "")
        assert row.total and not row.wrong and "interpreter" in row.judge
        assert row.ms > 0 and row.compile_s > 0
        assert len(row.times) == len(row.cores) == len(row.compile_rounds_s) == 2
        assert bool(row.hlo) == (project == "jaxlib")
    if project == "jaxlib":
        assert [row.versions["jaxlib"] for row in document.releases] == versions


def test_an_interrupted_measurement_goes_on_where_it_was(worker, tmp_path):
    class Interrupt(Exception):
        pass

    def interrupt(line: str) -> None:
        if line.startswith("round 1"):
            raise Interrupt

    with pytest.raises(Interrupt):
        measure(worker, ERF, "jaxlib", ["0.10.2"], kept=Kept(tmp_path), say=interrupt)
    [first] = [value for value in values(tmp_path) if isinstance(value, list)]
    [row] = measure(worker, ERF, "jaxlib", ["0.10.2"], kept=Kept(tmp_path)).releases
    assert row.times[0][2] == first[0]["ms"] and len(row.times) == 2
    count = len(values(tmp_path))
    assert measure(worker, ERF, "jaxlib", ["0.10.2"], kept=Kept(tmp_path)).releases == [row]
    assert len(values(tmp_path)) == count == 3
    measure(worker, ERF.replace("%n, %n", "%n, %n "), "jaxlib", ["0.10.2"], kept=Kept(tmp_path))
    assert len(values(tmp_path)) == 3, "the artifact is the same"
    measure(
        worker, ERF.replace("stablehlo.add", "stablehlo.multiply"), "jaxlib", ["0.10.2"], kept=Kept(tmp_path)
    )
    assert len(values(tmp_path)) == 6


def test_a_fault_and_a_release_for_another_python_are_rows(worker):
    document = measure(worker, SHIFT.format(n=3, m=2), "jaxlib", ["0.12.0.1", "0.10.2"])
    newest, wrong = document.releases
    assert newest.status in ("unsupported", "ok", "wrong")
    if newest.status == "unsupported":
        assert "needs Python >=3.12" in newest.status_detail
    assert wrong.status == "wrong" and "1 of 3 elements wrong" in wrong.status_detail and wrong.ms is None


def test_flags_of_xla_stand_behind_a_release(worker):
    versions = ["0.10.2 --xla_cpu_enable_fast_math=false", "0.10.2 --xla_no_such_flag=1"]
    known, unknown = measure(worker, BROADCAST, "jaxlib", versions).releases
    assert (known.version, known.status, known.versions["jaxlib"]) == (versions[0], "ok", "0.10.2")
    assert not unknown.ran and "Unknown flag" in unknown.status_detail


def test_disputed_values_do_not_judge(worker):
    expected = Expected(reason="two programs differ", disputed=True)
    [row] = measure(worker, BROADCAST, "jaxlib", ["0.10.2"], expected=expected).releases
    assert row.status == "not judged" and row.ms


def test_a_crash_that_began_in_a_release_is_a_change(worker):
    # docs/upstream.md has the report; an IREE that compiles the program ends this test.
    document = measure(worker, BROADCAST, "iree", ["3.13.0", "3.6.0"])
    crashed, older = document.releases
    assert older.status == "ok" and older.ms
    assert crashed.status == "crash" and "SIGSEGV in iree-compile" in crashed.status_detail
    [change] = document.changes
    assert (change.newer, change.older, change.kind) == ("3.13.0", "3.6.0", "crash")


def test_what_cannot_be_written_is_measured_in_no_release(worker):
    given = {"project": "jaxlib", "evaluator": worker}
    for program, reason in (
        (Program("p", "func.func public @main() { this is none }"), "'this' is unknown"),
        (Program("p", missing="no form"), "no form"),
        (Program("p", BROADCAST), "expected 2 arguments of p, got 0"),
    ):
        document = releases(program, ["0.10.2"], spec_of, **given)
        assert reason in document.reason and document.releases[0].status == "not run" and not document.changes
