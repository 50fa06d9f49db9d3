"""`make releases PROGRAM=...` of files; `make radar`: newer versions, what a release does to a program, the table."""

from dataclasses import replace
from pathlib import Path

import pytest

from stackwars.core import documents
from stackwars.core.launch import REPOSITORY
from stackwars.core.outcome import Status
from stackwars.explain import ablation, files
from stackwars.explain.files import BadInput
from stackwars.explain.releases import ALL, Release, Releases, ReleaseSettings, Search
from stackwars.study.config import load
from stackwars.study.workflow import radar
from stackwars.study.workflow.releases import configured, measure

CONFIG = load()
SETTINGS = ReleaseSettings(rounds=3)
NEGATE = """
func.func public @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = stablehlo.negate %x : tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
"""
TWICE = '''"""Twice."""
def inputs(rows=8):
    return {"x": (rows, 4)}
def jax(x):
    return 2 * x
'''


@pytest.fixture
def index(tmp_path, monkeypatch) -> Path:
    """Let uv read a folder in place of the package index; return it."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", tmp_path.as_uri())
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def test_versions_after_the_pin_are_listed_newest_first_with_the_python_that_they_need(index):
    (index / "thing").mkdir()
    wheels = [f"thing-{version}-py3-none-any.whl" for version in ("0.9.0", "0.10.0", "0.11.0", "0.12.0rc1")]
    wheels += [f"thing-0.13.0-cp3{radar.LAST}-none-any.whl", "thing-0.14.0-cp27-none-any.whl"]
    (index / "thing" / "index.html").write_text("".join(f'<a href="{name}">{name}</a>' for name in wheels))
    this = f"3.{radar.THIS}"
    found = radar.newer("thing", "0.9.0")
    assert list(found.items()) == [("0.13.0", f"3.{radar.LAST}"), ("0.11.0", this), ("0.10.0", this)]
    assert radar.newer("thing", "0.13.0") == {}


def test_an_index_that_lacks_the_package_or_is_not_reached_is_refused_in_one_sentence(index, monkeypatch):
    refused = r"^radar: expected the versions of thing .*, got '[^\n]*'; fix: the network, or uv's settings$"
    with pytest.raises(BadInput, match=refused):
        radar.newer("thing", "0.9.0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(BadInput, match=refused):
        radar.newer("thing", "0.9.0")
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(BadInput, match=refused):
        radar.newer("thing", "0.9.0")


def test_an_unknown_program_is_refused_before_the_index_is_asked(index):
    with pytest.raises(BadInput, match=r"^PROGRAMS: expected some of gemm-jax, .*, got gemm; fix: that name$"):
        radar.look(CONFIG, ["gemm"])


def test_the_programs_are_committed_files():
    known = radar.zoo(CONFIG)
    assert {"gemm-jax", "vit_b16-torch_xla", "shift_rows"} <= set(known)
    assert all((REPOSITORY / path).is_file() for path in known.values())
    assert radar.inputs(CONFIG, "shift_rows")[1:] == [
        "envs/xla-0.10.2.txt",
        "envs/jax.txt",
        "envs/torch_xla.txt",
    ]


def timed(version: str, ms: list[float], hlo: str = "") -> Release:
    return Release(version, Status.OK, times=[(1, number, one) for number, one in enumerate(ms)], hlo=hlo)


def compared(newer: Release, older: Release, reason: str = "") -> radar.Row:
    """Return the row of a new release that was measured with a pinned one."""
    search = Search([newer.version, older.version], SETTINGS, None)
    search.releases = {one.version: one for one in (newer, older)}
    document = Releases(
        *("p", "jaxlib", ALL, SETTINGS, "1", reason, [newer, older], search.changes(), "", 0),
        machine={},
        source={},
    )
    [row] = radar.outcomes(document)
    return row


OLD = timed("1", [1, 1.01, 0.99], "a")
NEW = timed("2", [2, 2.01, 1.99], "a")


@pytest.mark.parametrize(
    ("newer", "older", "outcome", "by"),
    [
        (NEW, OLD, "slower", "code generation, library or runtime"),
        (replace(NEW, hlo="b"), OLD, "slower", "compiler or runtime"),
        (replace(NEW, hlo=""), OLD, "slower", "not known"),
        (replace(OLD, version="2"), replace(NEW, version="1"), "faster", "code generation, library or runtime"),
        (replace(OLD, version="2"), OLD, "same", ""),
        (timed("2", [1, 1.5, 0.7], "a"), OLD, "not decided", ""),
        (Release("2", Status.WRONG, hlo="b"), OLD, "wrong", "compiler or runtime"),
        (Release("2", Status.CRASH), OLD, "crash", "not known"),
        (
            replace(OLD, version="2"),
            Release("1", Status.WRONG, hlo="a"),
            "fixed",
            "code generation, library or runtime",
        ),
        (Release("2", Status.WRONG), Release("1", Status.WRONG), "still wrong", ""),
        (Release("2", Status.UNSUPPORTED, "needs Python >=3.12"), OLD, "unsupported", ""),
        (replace(OLD, version="2"), Release("1", Status.UNSUPPORTED), "not decided", ""),
    ],
)
def test_a_new_release_has_an_outcome_and_what_may_have_changed_it(newer, older, outcome, by):
    row = compared(newer, older)
    assert (row.program, row.release, row.outcome, row.by) == ("p", "2", outcome, by)
    assert row.than == ("" if Status.UNSUPPORTED in (newer.status, older.status) else "1")


def test_a_program_that_no_release_tried_says_why():
    row = compared(Release("2"), Release("1"), reason="torch_xla did not lower it")
    assert (row.outcome, row.than, row.detail) == ("not run", "", "torch_xla did not lower it")


def test_the_table_has_new_versions_and_changes_before_what_is_the_same():
    assert radar.NOTHING in radar.table({"new": []}, [])
    found = {"new": [["jaxlib", "0.12.0.1", "0.13.0", "needs Python 3.12"]]}
    assert "| jaxlib | 0.12.0.1 | 0.13.0 | needs Python 3.12 |" in radar.table(found, [])
    rows = [compared(replace(OLD, version="2"), OLD), replace(compared(NEW, OLD), draft="x/explain.md")]
    lines = radar.table(found, rows).splitlines()
    assert [line.split(" | ")[3] for line in lines[-2:]] == ["slower", "same"]
    assert lines[-2].endswith("| x/explain.md |")


@pytest.mark.env
def test_a_fault_of_a_release_after_the_pin_gets_a_draft(tmp_path, monkeypatch):
    monkeypatch.setattr(radar, "FOLDER", tmp_path)
    monkeypatch.setattr(radar, "NEW", tmp_path / "new.json")
    monkeypatch.setattr(ablation, "XLA_FLAGS", [(ablation.YNN, "")])
    monkeypatch.chdir(REPOSITORY)
    # As if 0.4.30 were the newest pin. What is wrong in two new releases is reported once.
    newer = "0.10.2 --xla_cpu_enable_fast_math=false"
    documents.write(radar.NEW, {"versions": {"jaxlib": [newer, "0.10.2", "0.4.30"], "iree": []}})
    rows = CONFIG.releases.changed(rounds=1, seconds=0.05, programs=["jax"])
    again, jax = radar.run(CONFIG.changed(releases=rows), "shift_rows")
    assert (jax.program, jax.release, jax.than) == ("shift_rows of jax", "jaxlib 0.10.2", "0.4.30")
    assert (jax.outcome, jax.by) == ("wrong", "compiler or runtime")
    assert (again.release, again.outcome, again.draft) == (f"jaxlib {newer}", "still wrong", "")
    draft = Path(jax.draft)
    assert "wrong" in draft.read_text() and "make radar PROGRAMS=shift_rows" in draft.read_text()
    assert "FAULT" in draft.with_name("reproduce.py").read_text()


# make releases


def test_the_command_chooses_the_order_or_releases_of_jaxlib():
    assert configured(None, None).releases == CONFIG.releases
    assert configured("all", None).releases.order == "all"
    chosen = configured(None, "0.10.2, 0.7.2 --xla_a=1").releases
    assert chosen.order == "all"
    assert chosen.versions.document() == {"jaxlib": ["0.10.2", "0.7.2 --xla_a=1"], "iree": []}
    with pytest.raises(BadInput, match=r"^RELEASES: .* got 0\.3\.0; fix: .*lock_releases.py jaxlib-0\.3\.0$"):
        configured(None, "0.3.0")


@pytest.mark.env
def test_programs_of_files_are_measured_and_what_a_framework_does_not_lower_says_why(tmp_path, capsys):
    config = configured(None, "0.10.2")
    config = config.changed(releases=config.releases.changed(rounds=1, seconds=0.05, programs=["torch_xla"]))
    for name, text in (("negate.mlir", NEGATE), ("twice.py", TWICE)):
        (tmp_path / name).write_text(text)
        measure(config, str(tmp_path / name), tmp_path / files.stem(name))
    document = documents.read(tmp_path / "negate" / "releases" / "jaxlib.negate.json")
    [row] = document["releases"]
    assert (row["status"], row["wrong"], document["label"]) == ("ok", 0, "negate") and row["ms"]
    assert "jaxlib round 1 of 1: 0.10.2" in capsys.readouterr().out
    document = documents.read(tmp_path / "twice" / "releases" / "jaxlib.torch_xla.json")
    assert "no function torch" in document["reason"] and document["releases"][0]["status"] == "not run"
