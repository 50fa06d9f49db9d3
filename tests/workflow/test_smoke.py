"""The smoke preset with the real frameworks, from a fresh checkout to the text of its PDF."""

import json
import re
import shutil

import pytest

import study
from checkout import overlay
from stackwars.setup.device import CPUS
from stackwars.study import cells, programs
from stackwars.study.claims import definitions
from stackwars.study.config import load
from stackwars.study.results import schema

pytestmark = [pytest.mark.slow, pytest.mark.env]
# They exercise every path: a listing, a replay, one core, programs without cells, a model. The other workloads and
# frameworks, odd sizes and IREE have the same paths, and tests of their own.
CHOSEN = ("layernorm", "bert_base")
STUDIES = {
    "stacks": {"frameworks": ["jax", "torch_xla", "numpy"]},
    "matrix": {
        "programs": ["jax", "torch_xla", "tensorflow_xla"],
        "compilers": ["jaxlib-0.7.1", "jaxlib-0.10.2"],
    },
}
LEFT_OUT = "torch_xla_pending"
PRESET = {
    "measure": ["tables", "targets", "stacks", "matrix"],
    "rounds": {LEFT_OUT: 0},
    "variants": {"bert_base": []},
}
WHOLE = load()
SMOKE_PRESET = WHOLE.presets["smoke"]
ASKED = load(
    preset="smoke",
    workloads=list(CHOSEN),
    presets=WHOLE.presets | {"smoke": SMOKE_PRESET.changed(**PRESET)},
    studies=WHOLE.studies | {name: WHOLE.studies[name].changed(**row) for name, row in STUDIES.items()},
)
REPLAYS = programs.replays(ASKED)
SMOKE = ("--config", "preset=smoke", f"workloads=[{','.join(CHOSEN)}]")


@pytest.fixture(scope="module")
def smoke(checkout, jax_python, torch_xla_python, reference_tables):
    """A checkout in which the smoke paper was built beside the tables of the reference, and what the run printed."""
    overlay(checkout.folder, {"presets": {"smoke": PRESET}, "studies": STUDIES})
    # Newer than all that they are made from, so that the run does not make them; claims are made from the others.
    tables = checkout.folder / "results/from-reference"
    shutil.copytree(reference_tables.results, tables, copy_function=shutil.copyfile)
    (tables / "claims.csv").touch()
    done = checkout.quietly(*SMOKE)
    assert done.returncode == 0, done.stdout[-5000:]
    return checkout, done.stdout


def rows(made, device="cpu"):
    cells_ = table(made, "cells")
    native = cells_[(cells_["mode"] == schema.NATIVE) & (cells_["device"] == device)]
    return native[native["framework"] != LEFT_OUT].set_index(["framework", "workload"])


def number_of_cells(*devices) -> int:
    return sum(cell.device in devices for cell in cells.asked(ASKED) if cell.framework != LEFT_OUT)


def table(made, name):
    return schema.read(made.folder / "results" / "smoke" / f"{name}.csv")


def test_every_cell_of_the_cpu_is_ok_and_agrees_or_has_no_such_model(smoke):
    frame = rows(smoke[0])
    assert len(frame) == number_of_cells("cpu")
    assert set(frame["status"]) == {"ok"}, frame[frame["status"] != "ok"].to_string()
    assert frame["parity_rel_l2"].max() <= 1e-5 and (frame["cache_hits_first"].fillna(0) == 0).all()
    assert set(frame.xs("layernorm", level="workload")["judge"]) == {"NumPy in float64"}
    numbers = frame[["first_ms", "second_ms", "steady_ms", "peak_rss_bytes"]]
    assert (numbers > 0).all(axis=None)
    compiled = frame.drop(index="numpy", level="framework")
    assert set(compiled["dtype"]) == {"f32"}
    assert set(compiled.drop(index="layernorm", level="workload")["precision"]) == {"HIGHEST"}


def test_the_cells_of_one_core_have_one_and_those_of_absent_devices_say_so(smoke):
    frame = rows(smoke[0], "cpu-1t")
    assert len(frame) == number_of_cells("cpu-1t")
    assert (frame["status"] == "ok").all(), frame[["status", "status_detail"]].to_string()
    assert (frame["cores"] <= 1.1).all()
    for device in ("cuda", "tpu"):
        frame = rows(smoke[0], device)
        absent = frame[frame["status"] == "not run"]
        assert absent["status_detail"].str.len().min() > 0
        assert len(frame) == number_of_cells(device)


def test_the_first_run_compiles_and_no_later_one(smoke):
    frame = rows(smoke[0])
    for framework in ("jax", "torch_xla"):
        assert (frame.loc[framework, "compiles_first"] >= 1).all()
        assert (frame.loc[framework, ["compiles_second", "compiles_steady"]] == 0).all(axis=None)


def test_operations_that_a_profile_names_are_in_the_optimised_programs_of_the_report(smoke):
    made, _ = smoke
    results = made.folder / "results" / "smoke"
    found = json.loads((results / "report_programs.json").read_text())["programs"]
    found = [one for one in found if one["workload"] in CHOSEN]
    assert {one["workload"] for one in found} == set(CHOSEN)
    form = next(one for one in found if one["workload"] == "layernorm")["forms"]["optimised"]
    replay = results / "replay" / "cpu" / form["compiler"] / "layernorm"
    profiled = json.loads((replay / "profile.json").read_text())["programs"]
    assert list(form["sides"]) == ["jax", "torch_xla"]
    for framework, side in form["sides"].items():
        seen = set(profiled[framework]["operations"])
        assert seen and seen <= {name for names in side["runs"] for name in names}
    # JAX tells where an operation comes from; torch_xla does not.
    forms = next(one for one in found if one["workload"] == "layernorm")["forms"]
    for name in ("as emitted", "optimised"):
        sources = [source for source in forms[name]["sides"]["jax"]["sources"] if source]
        assert any(source.startswith("workloads/layernorm.py:") for source in sources)
    assert forms["as emitted"]["sides"]["torch_xla"]["sources"] is None


def test_both_programs_are_replayed_in_both_generations_and_agree(smoke):
    replay = table(smoke[0], "cells")
    replay = replay[replay["mode"] == schema.REPLAY]
    asked = {
        (cell.workload, program.framework, cell.compiler)
        for cell in REPLAYS
        for program in programs.replayed(ASKED, cell.workload, cell.compiler)
    }
    found = set(zip(replay["workload"], replay["framework"], replay["compiler"], strict=True))
    assert found == asked
    assert (replay["status"] == "ok").all(), replay[["status", "status_detail"]].to_string()
    assert replay["parity_rel_l2"].max() <= 1e-5
    assert (replay["steady_ms"] > 0).all()
    compared = table(smoke[0], "comparisons")
    compared = compared[(compared["baseline"] == "jax") & (compared["device"] == "cpu")]
    ratios = {name: compared[compared["quantity"] == name] for name in ("replay", "everything else", "native")}
    pairs = {place for place in asked if place[1] != "jax"}
    replayed = ratios["replay"]
    assert set(zip(replayed["workload"], replayed["subject"], replayed["compiler"], strict=True)) == pairs
    # Programs of a framework without cells here have no native process in the rounds of a replay.
    divided = ratios["everything else"][ratios["everything else"]["ratio"].notna()]
    assert set(divided["compiler"]) == {programs.native_compiler(ASKED)}
    assert "torch_xla" in set(divided["subject"])
    keys = ["workload", "subject"]
    native, programs_ = ratios["native"].set_index(keys), replayed.set_index([*keys, "compiler"])
    for row in divided.itertuples():
        product = row.ratio * programs_.loc[(row.workload, row.subject, row.compiler), "ratio"]
        assert product == pytest.approx(native.loc[(row.workload, row.subject), "ratio"])
    controls = table(smoke[0], "comparisons").query("quantity == 'control'")
    assert {"jax", "torch_xla"} <= set(controls["subject"]) and (controls["subject_ms"] > 0).all()


def test_every_program_is_compiled_for_devices_that_are_not_here(smoke):
    ahead = compiled_for_targets(smoke[0])
    assert len(ahead) == len(programs.compilations(ASKED)) > 0
    assert (ahead["status"] == "ok").all(), ahead[["status", "status_detail"]].to_string()
    assert (ahead["verdict"] == "fits").all()
    needed = ahead["argument_bytes"] + ahead["output_bytes"] + ahead["temp_bytes"]
    assert (ahead["hbm_bytes"] == needed - ahead["alias_bytes"]).all()
    assert (ahead["peak_rss_bytes"] < 8 * 2**30).all()
    norm = ahead[(ahead["workload"] == "layernorm") & (ahead["target"] == "tpu-v6e")]
    # The input, scale and shift; a TPU pads them.
    assert len(norm) and (norm["argument_bytes"] >= 4 * (2 * 8 + 2) * 48).all()


def compiled_for_targets(made):
    found = table(made, "programs")
    return found[(found["level"] == schema.OPTIMISED) & (found["target"] != "cpu")]


def test_programs_are_counted_at_three_levels_and_their_structure_is_decided(smoke):
    found = table(smoke[0], "programs")
    found = found[found["level"] != schema.OPTIMISED].set_index(["workload", "framework", "level"]).sort_index()
    for one in programs.base_programs(ASKED):
        for level in (schema.RAW, schema.NORMALISED):
            row = found.loc[(one.workload, one.framework, level)]
            assert row["status"] == "ok" and row["operations"] > 0
    ahead = compiled_for_targets(smoke[0])
    ahead = ahead[(ahead["variant"] == "base") & (ahead["target"] == "tpu-v6e")]
    counted = ahead[ahead["operations"].notna()].set_index(["workload", "framework"])
    for one in programs.base_compilations(ASKED):
        assert one.target != "tpu-v6e" or (one.program.workload, one.program.framework) in counted.index
    normalised = found.xs(schema.NORMALISED, level="level")
    hashes = normalised["canonical_hash"]
    assert hashes["layernorm", "jax"] != hashes["layernorm", "torch_xla"]
    norm = normalised["layernorm"]
    assert (norm["layernorm", "jax"], norm["layernorm", "torch_xla"]) == ("fine-grained", "high-level")


def test_every_claim_is_decided_in_the_run_and_in_the_reference(smoke):
    results = smoke[0].folder / "results"
    for folder in ("smoke", "from-reference"):
        decided = schema.read(results / folder / "claims.csv")
        assert list(decided["id"]) == [claim.id for claim in definitions.load().claims]
        assert (decided["verdict"] != "").all()
    assert "claims" in json.loads((results / "smoke" / "reproduction.json").read_text())


def test_the_paper_says_what_it_is(smoke):
    text = smoke[0].text()
    first_page = text[:6000]
    assert "SMOKE RUN" in first_page
    for expected in ("Replication Report", "Preset smoke", "revision", "Compared with the reference"):
        assert expected in first_page, expected
    for version in ("jax 0.7.1", "torch_xla 2.9.0"):
        assert version in text.replace("torch xla", "torch_xla"), version
    frame = rows(smoke[0])
    for title in set(frame[frame["table"].isin(["I", "II", "III"])]["title"]):
        assert title in text, title
    for said in ("jaxlib 0.7.1", "jaxlib 0.10.2", "TPU v6e", "This run:"):
        assert said.lower() in text.lower(), said
    assert not re.search(r"(Table|Figure|Section)s? \?\?", text)
    assert "TABLE IV" in text and "REFERENCES" in text.upper()


def test_the_user_sees_how_far_it_is(smoke):
    output = smoke[1]
    measured = number_of_cells("cpu", "cpu-1t")
    replays = len(REPLAYS)
    lines = output.splitlines()[1:]  # Snakemake names the profile before it loads any logger
    assert max(map(len, lines)) <= 80
    places = [re.match(r"\[(\d+)/(\d+)(?:, .* left)?\] ", line) for line in lines]
    (last,) = {place[2] for place in places if place and int(place[1]) > measured}
    assert any(place and place[1] == last for place in places), "every job has a line"
    unwrapped = " ".join(output.split())
    assert unwrapped.count(": ok: first ") == measured
    assert unwrapped.count(": ok: series ") == replays


def test_an_audit_a_claim_and_the_same_paper_are_made_later_and_nothing_else(smoke):
    made, _ = smoke
    audit, claim = "results/smoke/audits/same/cpu/jax-layernorm.json", "claim_layernorm_form"
    before = (made.folder / "paper.pdf").read_bytes()
    done = made.snakemake("all", audit, claim, "--forcerun", "typeset", *SMOKE)
    assert done.returncode == 0, done.stdout[-5000:]
    wanted = ("all", "audit", claim, "claim_decision", "program_forms", "typeset")
    assert study.jobs(done.stdout) == dict.fromkeys(wanted, 1)
    assert (made.folder / "paper.pdf").read_bytes() == before
    found = json.loads((made.folder / audit).read_text())
    assert len(found["ratios"]) == found["trials"] * load().presets["smoke"].settings.rounds
    assert "layernorm_form: supported" in done.stdout


def test_an_edited_workload_touches_what_is_made_from_it_alone(smoke):
    made, _ = smoke
    changed = "layernorm"
    compiled = [c for c in programs.compilations(ASKED) if c.program.workload == changed]
    lowered = {c.program for c in compiled}
    for compiler, workload, variant in programs.checks(ASKED):
        if workload == changed:
            lowered |= set(programs.checked(ASKED, workload, compiler, variant))
    expected = {
        "cell": sum(c.device in CPUS and c.workload == changed for c in cells.asked(ASKED)),
        **{"lower": len(lowered), "ahead": len(compiled)},
        "replay": sum(replay.workload == changed for replay in REPLAYS),
    }
    path = made.folder / "src" / "stackwars" / "measure" / "workloads" / f"{changed}.py"
    text = path.read_text()
    study.write(path, "\nEDITED = True\n")
    planned = study.planned(made.snakemake("-n", *SMOKE).stdout)
    path.write_text(text)
    assert {rule: planned.get(rule, 0) for rule in expected} == expected and "largest_batch" not in planned
