"""programs.csv, values.csv and releases.csv, and the figure of the releases."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from made_tables import OLD, check, only, outcome, values_of
from measured import config
from stackwars.core.hlo import COLLECTIVES
from stackwars.core.outcome import Status
from stackwars.explain.answer import Interval
from stackwars.explain.releases import Change, Release, Releases, ReleaseSettings
from stackwars.study import programs as study
from stackwars.study import sharding
from stackwars.study.keys import Config
from stackwars.study.results import cells, programs, schema
from stackwars.study.results.folder import Folder
from stackwars.study.results.raw import Raw

HLO = {
    "operations_by_kind": {"parameter": 3, "constant": 2, "fusion": 4, "erf": 2, "transpose": 1},
    **{"layout_bytes": 64, "depth": 5, "estimated_cycles": 3},
}
COMPILED = {
    **dict.fromkeys(programs.OF_AHEAD, 7),
    **{"status": "ok", "verdict": "fits", "decided_by": "compiler", "message": "", "hlo": HLO},
    "code_bytes": 9,
    "program_sha256": "a digest",
}


@pytest.fixture
def asked() -> Config:
    """One workload, one target, one compiler, a variant and a search for the largest batch."""
    smoke = config().chosen.changed(variants={"bert_base": ["b8"]}, largest_batch=["bert_base"])
    return config(
        workloads=["bert_base"],
        measure=["targets"],
        presets={"smoke": smoke},
        aot_compilations=[{"target": "tpu-v6e", "compiler": OLD}],
    )


def write(path, document) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def built(asked, folder, raw: Raw | None = None):
    return programs.build(asked, Folder(folder), raw or Raw())


def test_a_row_for_every_compilation(asked, tmp_path):
    base, variant, *of_the_subject = study.compilations(asked)
    write(tmp_path / base.path / "ahead.json", COMPILED | {"hbm_bytes": 2**40 + 1})
    table = built(asked, tmp_path)
    assert list(table.columns) == list(schema.PROGRAMS) and len(table) == 2 + len(of_the_subject) == 4
    first, second, *_ = table.to_dict("records")
    assert (first["framework"], first["variant"]) == ("jax", "base")
    assert (first["status"], first["verdict"]) == ("ok", "fits")
    assert (first["batch"], first["sequence"]) == (2, 8)
    assert (first["hbm_bytes"], first["estimated_cycles"], first["published_status"]) == (2**40 + 1, 3, "ok")
    assert (second["variant"], second["batch"], second["status"]) == ("b8", 8, "not run")
    assert variant.path.name == "b8"


def compiled(asked, folder, **changes):
    """The row of the first program, compiled with these changes."""
    write(folder / study.compilations(asked)[0].path / "ahead.json", COMPILED | changes)
    return built(asked, folder).iloc[0]


def test_a_compiled_program_leaves_out_constants_and_parameters(asked, tmp_path):
    found = compiled(asked, tmp_path)
    assert json.loads(found["operations_by_kind"]) == {"fusion": 4, "erf": 2, "transpose": 1}
    counts = found[["operations", "fusions", "transposes", "reshapes", "layout_bytes", "depth", "code_bytes"]]
    assert tuple(counts) == (7, 4, 1, 0, 64, 5, 9)


def test_a_compilation_without_code_has_no_bytes_of_it_and_one_without_hlo_has_its_message(asked, tmp_path):
    assert math.isnan(compiled(asked, tmp_path, compile_s=None)["code_bytes"])
    found = compiled(asked, tmp_path, status="timeout", message="after 900 s", hlo=None)
    assert (found["status"], found["status_detail"]) == ("timeout", "after 900 s")
    assert math.isnan(found["estimated_cycles"]) and math.isnan(found["operations"])


def test_emitted_programs_have_both_levels_and_a_compilation_of_another_one_is_refused(asked, tmp_path):
    names = {"workload": "bert_base", "framework": "jax", "sha256": "a digest", "status": "ok"}
    write(tmp_path / "program_forms.json", [
        {**names, "level": "raw", "operations": 9},
        {**names, "level": "normalised", "operations": 5, "qkv": "separate"},
    ])  # fmt: skip
    path = tmp_path / study.compilations(asked)[0].path / "ahead.json"
    write(path, COMPILED)
    table = built(asked, tmp_path).set_index("level")
    assert (table["operations"]["raw"], table["qkv"]["normalised"]) == (9, "separate")
    assert (table["title"]["raw"], table["variant"]["raw"], table["target"]["raw"]) == ("BERT-Base", "base", "")
    write(path, COMPILED | {"program_sha256": "another"})
    with pytest.raises(
        ValueError, match=rf"{path}: expected .* digest a digest, got one of another; fix: delete it"
    ):
        built(asked, tmp_path)


def test_programs_for_slices_have_their_collectives(tmp_path):
    asked = config(workloads=["llama3_8b"], measure=["sharding"])
    first, second, *_ = sharding.slices(asked)
    counts = {**dict.fromkeys(COLLECTIVES, 2), "bytes": 10}
    write(tmp_path / first.path / "ahead.json", COMPILED | {"verdict": "oom", "hlo": {"collectives": counts}})
    write(tmp_path / second.path / "ahead.json", COMPILED | {"status": "error", "verdict": "", "hlo": None})
    one, other = built(asked, tmp_path).to_dict("records")
    assert (one["target"], one["variant"], one["devices"], one["verdict"]) == ("tpu-v6e", "tensor1", 1, "oom")
    assert json.loads(one["collectives"]) == counts and one["hbm_bytes"] == 7
    assert (other["framework"], other["status"], other["collectives"]) == ("torch_xla", "error", "")


WHERE = "the last 12 of axis 0"


def test_a_row_for_each_program_with_what_was_found():
    wrong = outcome("wrong", "96 of 128 elements wrong", wrong=96, where=WHERE)
    crash = outcome("crash", "SIGSEGV in the first call")
    found = programs.build_values(
        config(), Raw(checks=[check({"jax": wrong, "torch_xla": outcome(), "torchax": crash})])
    )
    rows = found.set_index("framework")
    assert list(found.columns) == list(schema.VALUES)
    names = ["workload", "title", "sizes", "compiler", "variant", "judge", "largest_error"]
    assert tuple(rows.loc["jax", names]) == (
        "gemm", "GEMM", "m=16 k=32 n=64", OLD, "base", "NumPy in float64", 2e-7,
    )  # fmt: skip
    outcomes = rows[["status", "status_detail", "wrong", "where", "flaky"]]
    assert tuple(outcomes.loc["jax"]) == ("wrong", wrong["status_detail"], 96, WHERE, False)
    assert tuple(rows.loc["torchax", ["status", "judge", "flaky"]]) == ("crash", "", None)
    assert np.isnan(rows.loc["torchax", "wrong"]) and rows.loc["torch_xla", "status"] == "ok"


def test_an_infinite_error_is_one_and_no_missing_number():
    infinite = outcome("wrong", wrong=96, l2=None, largest=None)
    found = programs.build_values(config(), Raw(checks=[check({"jax": infinite})])).iloc[0]
    assert tuple(found[["l2", "largest_error"]]) == (np.inf, np.inf)
    assert cells.judged(values_of(wrong=1, l2=None))["parity_rel_l2"] == np.inf


def test_a_fault_is_wrong_crashed_or_outside_the_compiler():
    def is_fault(status: str, detail: str = "", *more: str) -> bool:
        return programs.is_fault({"status": status, "status_detail": detail}, *more)

    assert is_fault("wrong") and is_fault("crash")
    assert is_fault("unsupported", "ran outside the compiler: aten::linalg_solve")
    assert not is_fault("ok") and not is_fault("unsupported", "the compiler refuses it")
    assert is_fault("timeout", "", "timeout") and not is_fault("timeout")


RELEASES = [
    Release("3", Status.UNSUPPORTED, "needs Python >=3.12"),
    Release("2", Status.OK, ms=2.0, ratio=Interval(1.0, None, None), compile_rounds_s=[1.0, 3.0]),
    Release("1", Status.OK, ms=1.0, ratio=Interval(0.5, 0.4, 0.6)),
    Release("0", Status.WRONG, "1 of 3 elements wrong"),
]
CHANGES = [
    Change("2", "1", "slower", "", Interval(2.0, 1.8, 2.2), 0, "", True),
    Change("1", "0", "fixed", "1 of 3", None, 0, ""),
]
KNOWN = Releases(
    "mha of jax", "jaxlib", "all", ReleaseSettings(), "1.0.0", "", RELEASES, CHANGES, "", 1.0, {}, {}, "jax", "mha",
)  # fmt: skip


def release_document(**changes: object) -> dict:
    return {**asdict(KNOWN), **changes}


def released(**changes: object):
    return programs.build_releases(Raw(releases=[release_document(**changes)]))


def test_a_row_has_the_outcome_the_time_and_the_change():
    frame = released().set_index("version")
    assert list(frame["status"]) == ["unsupported", "ok", "ok", "wrong"]
    assert frame.loc["2", "change"] == "slower" and frame.loc["2", "previous"] == "1"
    assert frame.loc["2", "change_low"] == 1.8 and frame.loc["1", "ratio"] == 0.5
    assert frame.loc["2", "compile_s"] == 2.0
    assert list(frame["same_program"]) == ["", "yes", "", ""]
    assert frame.loc["1", "change"] == "fixed" and frame.loc["0", "change"] == ""
    assert frame["title"].eq("MHA").all()


def test_a_program_that_could_not_be_written_is_unsupported_everywhere():
    frame = released(reason="no StableHLO", changes=[])
    assert frame["status"].eq("unsupported").all() and frame["status_detail"].eq("no StableHLO").all()


def test_a_search_for_the_largest_batch_is_beside_the_compilation_that_it_starts_from(asked, tmp_path):
    base = study.largest_batches(asked)[0]
    assert built(asked, tmp_path)["largest_batch"].isna().all()
    write(tmp_path / base.path / "ahead.json", COMPILED)
    write(tmp_path / base.largest_batch_path, {"fits_batch": 99, "oom_batch": None})
    found = only(built(asked, tmp_path), status="ok")
    assert found["largest_batch"] == 99 and math.isnan(found["smallest_refused_batch"])
