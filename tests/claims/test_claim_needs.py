"""The needs of one claim, and its verdict from these alone."""

import shutil

import pytest

from claims_fixture import claim, claims, config
from measured import process, write_cell, write_results
from stackwars.study import programs
from stackwars.study.cells import Cell
from stackwars.study.claims.decide import decide_one, format_verdict
from stackwars.study.claims.definitions import ClaimError
from stackwars.study.claims.needs import check, needed_cells, needed_files, needed_programs, restricted
from stackwars.study.config import validate
from stackwars.study.programs import Program
from stackwars.study.results.folder import Folder
from stackwars.study.studies import narrowed


def needed(identity: str) -> tuple[list[Cell], set[str], list[Program]]:
    """Return the cells, the files of other kinds, and the programs that a claim needs."""
    claim = claims().claim(identity)
    files = {str(path) for path in needed_files(config(), claim)}
    return needed_cells(config(), claim), files, needed_programs(config(), claim)


@pytest.mark.parametrize("claim", claims().claims, ids=lambda claim: claim.id)
def test_every_claim_needs_something_in_every_preset(claim):
    check(config().changed(preset="smoke"), claim)
    assert any(needed(claim.id))


def test_a_claim_about_gemm_needs_two_cells():
    cells = [Cell("jax", "gemm", "cpu"), Cell("torch_xla", "gemm", "cpu")]
    assert needed("gemm_first_pytorch") == (cells, set(), [])


def test_a_claim_about_the_split_needs_replays_of_one_generation():
    cells, replays, found = needed("program_is_reason")
    assert {cell.framework for cell in cells} == {"jax", "torch_xla"}
    workloads = config().studies["tables"].workloads
    assert replays == {f"replay/cpu/jaxlib-0.7.1/{workload}/replay.json" for workload in workloads}
    assert found == []
    assert {path.split("/")[2] for path in needed("primitive_slower")[1]} == {"jaxlib-0.7.1"}
    every = {path.split("/")[2] for path in needed("ynn_pays")[1]}
    assert every == set(config().studies["matrix"].compilers)


def test_a_claim_about_a_target_needs_compilations_for_it_alone():
    cells, compilations, _ = needed("memory_jax")
    assert cells == []
    assert {path.split("/")[1:3] == ["tpu-v6e", "jaxlib-0.10.2"] for path in compilations} == {True}
    assert {path.split("/")[4] for path in compilations} == set(config().studies["targets"].workloads)
    rooms = about(quantity="largest_batch", device="tpu-v6e", subject="torch_xla", kind="model")
    assert len([path for path in rooms if path.endswith("largest_batch.json")]) == 12


def about(**where) -> set[str]:
    """Return the files that a claim about the comparisons with these values would need."""
    study = "targets" if where.get("device", "cpu") in config().targets else "tables"
    query = {"study": study, "where": where, "supports": ["same"], "contradicts": ["different"]}
    return {str(path) for path in needed_files(config(), claim(query))}


def test_a_claim_about_form_needs_programs_alone():
    cells, files, found = needed("layernorm_form")
    assert (cells, files) == ([], set())
    assert {p.framework for p in found} == {"jax", "torch_xla"}
    _, _, likened = needed("successor_keeps_form")
    assert {p.framework for p in likened} == {"jax", "torch_xla", "torch_tpu"}


def test_a_claim_about_another_form_of_a_workload_needs_both():
    assert {cell.workload for cell in needed("sparse_experts_pay")[0]} == {"moe", "moe_sorted"}


def test_a_claim_about_growth_or_division_needs_their_processes_alone():
    _, files, _ = needed("depth_costs_at_most_in_proportion")
    assert {path.split("/")[0] for path in files} == {"growth"}
    assert {path.split("/")[0] for path in needed("same_collectives")[1]} == {"sharded"}
    query = {"table": "programs", "study": "sharding", "supports": ["fits"], "contradicts": ["oom"]}
    slices = claim({**query, "where": {"level": "optimised", "workload": "llama3_8b", "target": "tpu-v6e-4"}})
    assert {str(path).split("/")[0] for path in needed_files(config(), slices)} == {"ahead"}


def test_a_study_of_other_frameworks_needs_no_more_than_it_has():
    row = {"environments": {"cpu": "jax"}}
    pair = {"subject": "theirs", "baseline": "ours", "compare": ["cells"]}
    other = config().changed(
        frameworks={"ours": row, "theirs": row}, comparisons=[pair], workloads=["gemm", "layernorm"],
        devices=["cpu"], studies={"ours": {"frameworks": ["ours", "theirs"]}},
    )  # fmt: skip
    for one in claims().claims:
        assert {cell.framework for cell in needed_cells(other, one)} <= {"ours", "theirs"}
        assert not programs.replays(restricted(other, one))


def test_one_claim_is_decided_from_its_cells_alone(tmp_path):
    folder = write_results(tmp_path / "results")
    smoke = config().changed(preset="smoke")
    for compiled, verdict in ((1, "supported"), (0, "contradicted")):
        cell = Cell("torch_xla_pending", "bert_base", "cpu")
        shutil.rmtree(folder / cell.path, ignore_errors=True)
        write_cell(folder, [process(cell, compiles=(1, compiled, 0))])
        row = decide_one("pending_two_runs", smoke, Folder(tmp_path / verdict, folder))
        assert row["verdict"] == verdict
        assert "BERT-Base" in row["evidence"]
        line = f"pending_two_runs: {verdict}, {row['margin']}\n  With inputs"
        assert format_verdict(row).startswith(line)


def without_torch_xla() -> dict:
    """What the committed configuration has without the subject of its main comparison."""
    rows = config().frameworks.items()
    kept = {name: row for name, row in rows if name != "torch_xla" and row.environments}
    pairs = [row for row in config().comparisons if row.subject in kept]
    studies = {name: narrowed(row, set(kept), set()) for name, row in config().studies.items()}
    return {"frameworks": kept, "comparisons": pairs, "studies": studies}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workloads": ["ffn"]}, "query.where: expected workloads of the configured ffn, got {"),
        ({"devices": ["tpu"]}, "query.where: expected devices of the configured tpu, got {"),
        (without_torch_xla(), "query.where.subject: expected one of the configured jax"),
    ],
    ids=["workload", "device", "framework"],
)
def test_a_claim_about_what_is_not_asked_for_is_refused(changes, said, tmp_path):
    lone = validate(config().changed(**changes).document())
    with pytest.raises(ClaimError) as caught:
        decide_one("gemm_first_pytorch", lone, Folder(tmp_path))
    assert f"gemm_first_pytorch: {said}" in str(caught.value)


def test_a_claim_about_a_study_that_is_not_configured_is_refused(tmp_path):
    left = {name: row for name, row in config().studies.items() if name != "sharding"}
    lone = config().changed(studies=left, measure=list(left))
    said = r"same_collectives: query.study: expected one of the configured tables, .*, got \"sharding"
    with pytest.raises(ClaimError, match=said):
        decide_one("same_collectives", lone, Folder(tmp_path))
