"""The rows of programs.csv: emitted, compiled for targets and slices, and of replays."""

import json
import math

import pytest

from made_tables import OLD, measured_replay, only
from measured import config
from stackwars.core.hlo import COLLECTIVES
from stackwars.study import programs as study
from stackwars.study import sharding
from stackwars.study.programs import ReplayCell
from stackwars.study.results import programs, schema
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
def asked() -> dict:
    """One workload, one target, one compiler, a variant and a search for the largest batch."""
    chosen = config(workloads=["bert_base"], measure=["targets"])
    preset = chosen["presets"]["smoke"]
    preset |= {"variants": {"bert_base": ["b8"]}, "largest_batch": ["bert_base"]}
    chosen["aot_compilations"] = [{"target": "tpu-v6e", "compiler": OLD}]
    return chosen


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


def test_a_compiled_program_leaves_out_constants_and_parameters(asked, tmp_path):
    base = study.compilations(asked)[0]
    write(tmp_path / base.path / "ahead.json", COMPILED)
    found = only(built(asked, tmp_path), status="ok")
    assert json.loads(found["operations_by_kind"]) == {"fusion": 4, "erf": 2, "transpose": 1}
    counts = found[["operations", "fusions", "transposes", "reshapes", "layout_bytes", "depth"]]
    assert tuple(counts) == (7, 4, 1, 0, 64, 5)


@pytest.mark.parametrize(("seconds", "code"), [(7, 9), (None, math.nan)])
def test_the_bytes_of_the_code_are_unknown_if_no_code_was_generated(asked, tmp_path, seconds, code):
    write(tmp_path / study.compilations(asked)[0].path / "ahead.json", COMPILED | {"compile_s": seconds})
    assert only(built(asked, tmp_path), status="ok")["code_bytes"] == pytest.approx(code, nan_ok=True)


def test_a_compilation_without_optimised_hlo_has_its_message(asked, tmp_path):
    base = study.compilations(asked)[0]
    failed = {"status": "timeout", "message": "after 900 s", "hlo": None}
    write(tmp_path / base.path / "ahead.json", COMPILED | failed)
    found = only(built(asked, tmp_path), status="timeout")
    assert found["status_detail"] == "after 900 s"
    assert math.isnan(found["estimated_cycles"]) and math.isnan(found["operations"])


def test_a_search_for_the_largest_batch_is_beside_the_compilation_that_it_starts_from(asked, tmp_path):
    base = study.largest_batches(asked)[0]
    assert built(asked, tmp_path)["largest_batch"].isna().all()
    write(tmp_path / base.path / "ahead.json", COMPILED)
    write(tmp_path / base.largest_batch_path, {"fits_batch": 99, "oom_batch": None})
    found = only(built(asked, tmp_path), status="ok")
    assert found["largest_batch"] == 99 and math.isnan(found["smallest_refused_batch"])


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


def test_programs_of_a_replay_have_what_its_compiler_made_of_them(tmp_path):
    result = measured_replay({"jax": (1.0, 1.0), "torch_xla": (1.0, 1.0)})
    result["programs"]["jax"] |= {"compile_s": [1.0, 3.0], "optimised": {"fusions": 4, "ynn": 1, "copies": 0}}
    result["programs"]["torch_xla"] |= {"status": "unsupported", "status_detail": "no such operation"}
    raw = Raw(replays={ReplayCell("cpu", OLD, "gemm"): result})
    table = built(config(workloads=[]), tmp_path, raw).set_index("framework")
    found = table.loc["jax", ["target", "compiler", "compile_s", "fusions", "ynn", "copies"]]
    assert tuple(found) == ("cpu", OLD, 2.0, 4, 1, 0)
    assert tuple(table.loc["torch_xla", ["status", "status_detail"]]) == ("unsupported", "no such operation")
