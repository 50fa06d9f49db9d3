"""Compilations that are taken from the reference: only the same ones, never all, and never against a check."""

import gzip
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from stackwars.compilers import ahead_reference, ahead_supervisor, largest_batch
from stackwars.compilers.ahead_reference import Source
from stackwars.compilers.ahead_supervisor import CompileJob
from stackwars.study import programs
from stackwars.study.config import load
from stackwars.workflow.jobs import KINDS

V6E = {"platform": "tpu", "topology": "v6e:1x1", "usable_hbm_bytes": {"jaxlib-1": 100, "jaxlib-2": 200}}
H100 = {"platform": "cuda", "topology": "1x1x1", "description": "h100.txtpb", "usable_hbm_bytes": {}}
JOB = CompileJob("toy", "jax", "base", {"batch": 1}, "tpu-v6e", V6E, "jaxlib-1", 900)
PROGRAM = "module @toy {}"
NAMES = [f"ahead/t/c/jax/{n}/base/ahead.json" for n in range(12)]


def key(version="1", program="p", pins="a==1\n", **changes) -> str:
    path = Path("pins.txt")
    path.write_text(pins)
    return ahead_reference.key(version, {**asdict(JOB), **changes}, program, path)


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def source(**changes) -> Source:
    fields = {
        "root": "run",
        "reference": "ref",
        "names": NAMES,
        "versions": {"ahead": "1", "largest_batch": "1"},
    }
    return Source(**{**fields, **changes})


def document(**changes) -> dict:
    result = {
        **{"status": "ok", "verdict": "fits", "decided_by": "compiler", "hbm_bytes": 5, "code_bytes": 2},
        **{"argument_bytes": 1, "output_bytes": 1, "temp_bytes": 3, "alias_bytes": 0, "hlo": {"depth": 1}},
        **{"assumed_code_bytes": None, "message": "", "hlo_problem": "", "wall_s": 40.0, "compile_s": 39.0},
        **{"run": "2026-11-25T1248", "key": "k"},
    }
    return {**result, **changes}


def put(path: Path, content: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_the_key_changes_with_all_that_decides_a_result_and_with_nothing_else():
    same = key()
    assert key(timeout_s=1) == same
    other = {**V6E, "usable_hbm_bytes": {"jaxlib-1": 100, "jaxlib-2": 5}, "environments": {"jaxlib-2": "x"}}
    assert key(target_row=other) == same
    changed = [
        key(version="2"), key(program="q"), key(pins="a==2\n"), key(sizes={"batch": 2}),
        key(assumed_code_bytes=1), key(compiler="jaxlib-2"), key(target_row={**V6E, "topology": "v6e:2x2"}),
        key(target_row={**V6E, "usable_hbm_bytes": {"jaxlib-1": 99}}), key(target_row=H100),
    ]  # fmt: skip
    assert len({same, *changed}) == 1 + len(changed)


def test_only_the_same_compilation_is_found_and_none_that_an_accident_decided():
    path = Path("ref", NAMES[0])
    one = source()
    assert one.find(Path("run", NAMES[0]), "k") is None
    put(path, document())
    assert one.find(Path("run", NAMES[0]), "k") == document()
    assert one.find(Path("run", NAMES[0]), "other") is None
    for status, compile_s, is_found in [
        ("timeout", None, False), ("unsupported", None, False), ("error", None, False), ("error", 3.0, True),
    ]:  # fmt: skip
        put(path, document(status=status, compile_s=compile_s))
        assert bool(one.find(Path("run", NAMES[0]), "k")) is is_found
    put(path, {"key": "k", "probes": [document(), document(status="timeout")]})
    assert one.find(Path("run", NAMES[0]), "k") is None


def drawn(one: Source) -> set[str]:
    return {name for name in NAMES if not one.is_taken(Path(one.root, name))}


def test_two_of_a_run_are_compiled_all_the_same_and_others_in_another_run():
    for name in NAMES[:10]:
        put(Path("ref", name), document())
    found = [drawn(source(root=f"run{n}")) for n in range(12)]
    assert {len(one) for one in found} == {2}
    assert len({frozenset(one) for one in found}) > 1, "each folder has a seed of its own"
    assert not set.union(*found) & set(NAMES[10:]), "what the reference lacks checks nothing"
    assert drawn(source(root="run0")) == found[0], "the seed stays with the folder"


def test_a_run_that_grows_keeps_two_that_were_compiled():
    for name in NAMES:
        put(Path("ref", name), document())
    for few in range(2, 12):
        small, whole = source(root=f"run{few}", names=NAMES[:few]), source(root=f"run{few}")
        before = {name for name in NAMES[:few] if not small.is_taken(Path(small.root, name))}
        late = drawn(whole) & set(NAMES[:few])
        assert late <= before, "what was taken over is not drawn afterwards"


def test_nothing_is_taken_over_if_all_is_to_be_compiled():
    put(Path("ref", NAMES[0]), document())
    assert not any(source(recompile=True).is_taken(Path("run", name)) for name in NAMES)


def test_what_is_taken_over_has_its_origin_and_keeps_its_times():
    found = ahead_reference.taken(document(check={"differences": {}}))
    assert (found["origin"], found["run"], found["wall_s"]) == ("reference", "2026-11-25T1248", 40.0)
    assert "check" not in found
    assert ahead_reference.provenance(found) == {"taken_from": "2026-11-25T1248", "checked": ""}
    assert ahead_reference.provenance(document()) == {"taken_from": "", "checked": ""}


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, []), ({"wall_s": 1.0, "compile_s": 2.0, "message": "m"}, []), ({"hbm_bytes": 6}, ["hbm_bytes"]),
        ({"verdict": "oom"}, ["verdict"]), ({"code_bytes": 3}, ["code_bytes"]), ({"hlo": {"depth": 2}}, ["hlo"]),
    ],
)  # fmt: skip
def test_a_check_compares_bytes_and_verdicts(changes, differs):
    found = ahead_reference.compared(document(**changes), document())
    assert list(found["check"]["differences"]) == differs
    assert found["check"]["run"] == "2026-11-25T1248"
    assert ahead_reference.provenance(found)["checked"] == ("differs" if differs else "agrees")


def test_a_compilation_that_stops_at_its_buffers_may_have_been_faster_than_the_stop():
    earlier = document(assumed_code_bytes=2, decided_by="bytes")
    found = ahead_reference.compared(document(assumed_code_bytes=2, code_bytes=7, hlo=None), earlier)
    assert not found["check"]["differences"]
    assert ahead_reference.compared({**found, "temp_bytes": 9}, earlier)["check"]["differences"]


def test_a_search_is_compared_by_its_edge():
    earlier = {"probes": [], "fits_batch": 9, "oom_batch": 10, "run": "r"}
    assert not ahead_reference.compared({**earlier, "probes": [1]}, earlier)["check"]["differences"]
    assert ahead_reference.compared({**earlier, "oom_batch": 11}, earlier)["check"]["differences"] == {
        "oom_batch": [10, 11]
    }


def test_a_check_that_differs_refuses_what_was_taken_over_and_nothing_else():
    taken = {Path("a"): ahead_reference.taken(document())}
    wrong = {Path("b"): ahead_reference.compared(document(hbm_bytes=6), document())}
    right = {Path("b"): ahead_reference.compared(document(), document())}
    ahead_reference.refuse_differing({**taken, **right})
    ahead_reference.refuse_differing(wrong)
    with pytest.raises(ValueError, match=r"b: expected .*hbm_bytes 5, got 6.* recompile=true"):
        ahead_reference.refuse_differing({**taken, **wrong})


def test_what_was_taken_over_is_removed_to_be_compiled():
    put(Path("run", NAMES[0]), ahead_reference.taken(document()))
    kept = put(Path("run", NAMES[1]), document())
    put(Path("run/ahead/t/c/jax/0/largest_batch.json"), ahead_reference.taken({"probes": []}))
    assert ahead_reference.remove_taken(Path("run")) == 2
    assert list(Path("run").rglob("*.json")) == [kept]
    assert ahead_reference.remove_taken(Path("elsewhere")) == 0


@pytest.fixture
def compilation(monkeypatch):
    """A program, its pins, and a compiler that counts what it is asked; returns (program, pins, count)."""
    program, pins, asked = Path("program.mlir.gz"), Path("pins.txt"), []
    program.write_bytes(gzip.compress(PROGRAM.encode(), mtime=0))
    pins.write_text("a==1\n")

    def compile_into(job, pins, program, output):
        asked.append(output)
        return json.loads(put(output / "ahead.json", document(hbm_bytes=6, key="")).read_text())

    monkeypatch.setattr(ahead_supervisor, "compile_into", compile_into)
    return program, pins, asked


def test_a_taken_compilation_runs_no_compiler_and_says_where_its_text_is(compilation):
    program, pins, asked = compilation
    output = Path("run", NAMES[0]).parent
    digest = ahead_supervisor.hashlib.sha256(PROGRAM.encode()).hexdigest()
    known = ahead_reference.key("1", asdict(JOB), digest, pins)
    for name in NAMES[:3]:
        put(Path("ref", name), document(key=known))
    while not source().is_taken(output / "ahead.json"):
        Path("run/ahead/seed").unlink()
    result = ahead_supervisor.compile_or_take(JOB, pins, program, output, source())
    assert result["origin"] == "reference" and result["hbm_bytes"] == 5 and not asked
    assert json.loads((output / "ahead.json").read_text()) == result
    text = gzip.decompress((output / "optimised.hlo.gz").read_bytes()).decode()
    assert "2026-11-25T1248" in text and f"{output}/ahead.json --config recompile=true" in text
    checked = ahead_supervisor.compile_or_take(JOB, pins, program, output, source(recompile=True))
    assert asked == [output] and checked["check"]["differences"] == {"hbm_bytes": [5, 6]}
    assert json.loads((output / "ahead.json").read_text()) == checked
    pins.write_text("a==2\n")
    other = ahead_supervisor.compile_or_take(JOB, pins, program, output, source())
    assert len(asked) == 2 and "check" not in other and other["key"] != known


def test_the_committed_reference_has_the_keys_of_this_configuration():
    """The reference's programs are those of today's lowering: without a change of them, nothing is compiled."""
    config, root = load(), ahead_supervisor.Path(__file__).parents[2]
    reference = root / "results" / "reference"
    found = 0
    for one in programs.compilations(config):
        path = reference / one.path / "ahead.json"
        arguments = reference / one.program.path / "arguments.json"
        result = json.loads(path.read_text())
        code = None
        if not programs.finished(config, one):
            base = reference / programs.code_source(config, one).path / "ahead.json"
            code = json.loads(base.read_text())["code_bytes"] or 0
        job = {**asdict(CompileJob(**programs.ahead_job(config, one))), "assumed_code_bytes": code}
        pins = root / programs.compiler_pins(config, one.compiler, one.target)
        program = json.loads(arguments.read_text())["program_sha256"]
        assert result["key"] == ahead_reference.key(KINDS["ahead"].version, job, program, pins), path
        found += 1
    for one in programs.largest_batches(config):
        result = json.loads((reference / one.largest_batch_path).read_text())
        base = json.loads((reference / one.path / "ahead.json").read_text())
        job = asdict(largest_batch.LargestBatchJob(**programs.largest_batch_job(config, one)))
        pins = [programs.compiler_pins(config, one.compiler, one.target)]
        pins.append(programs.lower_pins(config, one.program.framework))
        version = KINDS["largest_batch"].version
        assert result["key"] == ahead_reference.key(version, job, base["key"], *(root / p for p in pins))
        found += 1
    assert found > 100
