"""One program in real releases of jaxlib and IREE, two years apart."""

import gzip

import pytest

from explain.faulty import SHIFT
from stackwars.explain.releases import ReleasesJob, measure
from stackwars.measure import judge

pytestmark = pytest.mark.env
SETTINGS = {"rounds": 2, "seconds": 0.05, "bound": 0.1, "memory_cap_gib": 4, "timeout_s": 120}
ERF = """
func.func public @main(%x: tensor<3x5xf32>, %n: tensor<5xi32>) -> (tensor<3x5xf32>, tensor<5xi32>) {
  %0 = chlo.erf %x : tensor<3x5xf32> -> tensor<3x5xf32>
  %1 = stablehlo.add %n, %n : tensor<5xi32>
  return %0, %1 : tensor<3x5xf32>, tensor<5xi32>
}
"""
BROADCAST = """
func.func public @main(%row: tensor<1x2xf32>, %b: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %a = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<3x2xf32>
  %product = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  return %product : tensor<3x4xf32>
}
"""
SCAN = """
func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums:2 = chlo.scan(%x) inits (%zero) dimension=0
      attributes {is_associative = false, is_reverse = false, scan_dim_size = 3 : i64} {
  ^bb0(%term: tensor<f32>, %carry: tensor<f32>):
    %sum = stablehlo.add %term, %carry : tensor<f32>
    stablehlo.return %sum, %sum : tensor<f32>, tensor<f32>
  } : (tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>)
  return %sums#0 : tensor<3xf32>
}
"""


def releases(folder, text: str, project: str, versions: list[str], **settings) -> dict:
    program = folder / "program.mlir.gz"
    program.write_bytes(gzip.compress(text.encode()))
    job = ReleasesJob(
        "p", project, versions, str(program), "envs/xla-0.10.2.txt", SETTINGS | settings, "all", seed=1
    )
    work = folder / "work"
    work.mkdir()
    return measure(job, work)


@pytest.mark.parametrize(
    ("project", "versions"), [("jaxlib", ["0.10.2", "0.4.30"]), ("iree", ["3.13.0", "3.0.0"])]
)
def test_a_program_with_chlo_is_read_called_and_right_in_old_releases(tmp_path, project, versions):
    document = releases(tmp_path, ERF, project, versions)
    assert document["stablehlo"] == "1.0.0"
    for row in document["releases"]:
        assert (row["status"], row["status_detail"]) == ("ok", "")
        assert row["total"] and not row["wrong"] and "interpreter" in row["judge"]
        assert row["ms"] > 0 and row["compile_s"] > 0 and len(row["times"]) == 2
    if project == "jaxlib":
        assert [row["versions"]["jaxlib"] for row in document["releases"]] == versions


def test_a_fault_and_a_release_for_another_python_are_rows(tmp_path):
    document = releases(tmp_path, SHIFT.format(n=3, m=2), "jaxlib", ["0.12.0.1", "0.10.2"])
    newest, wrong = document["releases"]
    assert newest["status"] in ("unsupported", "ok", "wrong")
    if newest["status"] == "unsupported":
        assert "needs Python >=3.12" in newest["status_detail"]
    assert wrong["status"] == "wrong" and "1 of 3 elements wrong" in wrong["status_detail"]


def test_flags_of_xla_stand_behind_a_release(tmp_path):
    versions = ["0.10.2 --xla_cpu_enable_fast_math=false", "0.10.2 --xla_no_such_flag=1"]
    known, unknown = releases(tmp_path, BROADCAST, "jaxlib", versions)["releases"]
    assert (known["version"], known["status"], known["versions"]["jaxlib"]) == (versions[0], "ok", "0.10.2")
    assert (unknown["status"], "Unknown flag" in unknown["status_detail"]) == ("error", True)


def test_a_process_that_takes_too_long_is_a_timeout(tmp_path):
    loop = """
    func.func public @main(%x: tensor<i32>) -> tensor<i32> {
      %0 = stablehlo.while(%i = %x) : tensor<i32>
        cond { %t = stablehlo.compare EQ, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %t : tensor<i1> }
        do { %j = stablehlo.add %i, %i : tensor<i32>
             stablehlo.return %j : tensor<i32> }
      return %0 : tensor<i32>
    }
    """
    expected = tmp_path / "expected"
    judge.write(expected, {}, {"reason": "it does not end", "judge": "", "limits": {}})
    program = tmp_path / "loop.mlir"
    program.write_text(loop)
    job = ReleasesJob(
        "loop", "jaxlib", ["0.10.2"], str(program), "envs/xla-0.10.2.txt", SETTINGS | {"timeout_s": 10},
        expected=str(expected),
    )  # fmt: skip
    work = tmp_path / "work"
    work.mkdir()
    [row] = measure(job, work)["releases"]
    assert row["status"] == "timeout"


def test_a_crash_that_began_in_a_release_is_a_change(tmp_path):
    # docs/upstream.md has the report; an IREE that compiles the program ends this test.
    document = releases(tmp_path, BROADCAST, "iree", ["3.13.0", "3.6.0"], rounds=1)
    crashed, older = document["releases"]
    assert older["status"] == "ok" and older["ms"]
    assert crashed["status"] == "crash" and "SIGSEGV while the program was compiled" in crashed["status_detail"]
    [change] = document["changes"]
    assert (change["newer"], change["older"], change["kind"]) == ("3.13.0", "3.6.0", "crash")


def test_a_program_that_the_release_refuses_is_unsupported_and_says_why(tmp_path):
    # docs/upstream.md has the report; a StableHLO that legalises scans to something XLA reads ends this test.
    document = releases(tmp_path, SCAN, "jaxlib", ["0.10.2"])
    [row] = document["releases"]
    assert row["status"] == "unsupported" and "real_dynamic_slice" in row["status_detail"]


def test_a_text_that_is_no_program_says_so(tmp_path):
    document = releases(tmp_path, "func.func public @main() { this is none }", "jaxlib", ["0.10.2"])
    assert "error" in document["reason"] and document["releases"][0]["status"] == "not run"
