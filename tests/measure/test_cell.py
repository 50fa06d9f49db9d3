"""A cell's result from its processes."""

import gzip
import json

import jsonschema
import numpy as np
import pytest
import yaml

from measured import PROGRAM, process, process_folder, stopped, write_cell
from stackwars.measure.cell import SCHEMA, combine, derive
from stackwars.study.cells import Cell


def combined(tmp_path, *processes: dict) -> dict:
    folders = [process_folder(tmp_path / str(n), result) for n, result in enumerate(processes)]
    return combine(folders)


def derived(*processes: dict) -> dict:
    """What follows from these processes, one a round."""
    sizes = processes[0]["sizes"]
    in_rounds = [{**process, "repetition": number} for number, process in enumerate(processes)]
    return derive({"processes": in_rounds, "workload": "gemm", "sizes": sizes})


OOM = ("oom", "refused at build: no memory")


def test_ok_where_every_process_is(tmp_path):
    cell = combined(tmp_path, process(), process(repetition=1))
    assert (cell["status"], cell["status_detail"]) == ("ok", "")
    assert [p["repetition"] for p in cell["processes"]] == [0, 1]
    assert cell["versions"]["jax"] == "0.7.1"
    assert cell["wall_s"] == 20.0
    assert cell["peak_rss_bytes"] == 2**28 + 1


def test_first_bad_process_gives_the_status(tmp_path):
    bad = process(repetition=1, status=OOM)
    worse = process(repetition=2, status=("error", "ended by SIGKILL"))
    cell = combined(tmp_path, process(), bad, worse)
    assert (cell["status"], cell["status_detail"]) == OOM
    assert cell["derived"] is cell["ir"] is cell["output_sha256"] is None
    # The samples of the good process are still there.
    assert any(event["event"] == "steady" for event in cell["processes"][0]["events"])


@pytest.mark.parametrize("reason", ["width", "budget"])
def test_process_that_was_not_needed_is_left_out(tmp_path, reason):
    rest = [stopped(repetition=n, reason=reason) for n in (2, 3)]
    cell = combined(tmp_path, process(), process(repetition=1), *rest)
    assert (cell["status"], cell["stopped"]) == ("ok", reason)
    assert [p["repetition"] for p in cell["processes"]] == [0, 1]
    assert cell["wall_s"] == 20.0


def test_cell_whose_rounds_all_ran_says_so(tmp_path):
    assert combined(tmp_path, process(), process(repetition=1))["stopped"] == "rounds"


def test_cell_that_is_not_ok_has_no_reason_for_its_rounds(tmp_path):
    cell = combined(tmp_path, process(status=OOM), stopped(repetition=1))
    assert (cell["status"], cell["stopped"]) == ("oom", "")


def test_process_that_never_began_makes_a_cell(tmp_path):
    cell = combined(tmp_path, process(status=("error", "no log"), events=[]))
    assert (cell["versions"], cell["device_kind"]) == ({}, None)


def test_latencies_are_geometric_means_of_the_processes():
    found = derived(
        process(first_ms=100.0, second_ms=1.0, steady_ms=(1.0, 9.0, 2.0)),
        process(first_ms=400.0, second_ms=4.0, steady_ms=(8.0, 8.0, 8.0)),
    )
    assert found["first_ms"]["value"] == pytest.approx(200.0)
    assert found["second_ms"]["value"] == pytest.approx(2.0)
    # Medians 2 and 8 of the two processes.
    assert found["steady_ms"]["value"] == pytest.approx(4.0)
    assert found["steady_ms"]["low"] < 2.0 < 8.0 < found["steady_ms"]["high"]
    assert found["steady_calls"] == 6


def test_blocks_are_of_several_calls():
    found = derived(process(steady_ms=(2.0,) * 5, calls=16))
    assert (found["steady_ms"]["value"], found["steady_calls"]) == (pytest.approx(2.0), 80)


def test_blocks_that_waited_for_a_core_do_not_count():
    waits = (0.0, 0.5, 0.01, 0.5, 0.0, 0.5)
    found = derived(*[process(steady_ms=(1.0, 3.0, 1.0, 3.0, 1.0, 3.0), wait=waits)] * 2)
    assert found["gated"]
    assert found["steady_ms"]["value"] == pytest.approx(1.0)
    assert found["ungated_ms"]["value"] == pytest.approx(2.0)
    assert found["kept_share"] == pytest.approx(0.5)


def test_cell_that_never_had_the_machine_to_itself_counts_all_and_says_so():
    found = derived(*[process(steady_ms=(1.0, 3.0, 3.0), others=0.4)] * 3)
    assert not found["gated"]
    assert found["steady_ms"] == found["ungated_ms"]
    assert found["steady_ms"]["value"] == pytest.approx(3.0)


def test_warm_up_is_cut_off_and_what_most_processes_are_gives_the_class():
    steady = process(steady_ms=(1.0,) * 20, second_ms=1.0)
    warming = process(steady_ms=(5.0,) * 5 + (1.0,) * 15, second_ms=5.0)
    found = derived(steady, warming)
    assert found["steady_ms"]["value"] == pytest.approx(1.0)
    assert (found["steady_class"], found["warmup_points"]) == ("warm-up", 7)
    assert found["class_share"] == 0.5
    most = derived(steady, warming, steady)
    assert (most["steady_class"], most["class_share"]) == ("steady at once", pytest.approx(2 / 3))


def test_cache_hits_and_threads_are_the_maximum_over_processes():
    one, other = process(), process()
    other["events"][3]["cache_hits"], other["events"][5]["threads"] = 1, 5
    found = derived(one, other)
    assert (found["cache_hits_first"], found["cache_hits_second"], found["threads"]) == (1, 0, 5)


def test_one_process_has_no_interval():
    assert derived(process())["steady_ms"] == {
        "value": pytest.approx(1.0), "low": None, "high": None}  # fmt: skip


def test_compilations_are_the_maximum_over_processes():
    found = derived(process(compiles=(1, 0, 0)), process(compiles=(1, 1, 0)),
                    process(compiles=(2, 0, 3)))  # fmt: skip
    assert [found[f"compiles_{n}"] for n in ("first", "second", "steady")] == [2, 1, 3]


def test_split_of_the_first_call_sums_to_it():
    split = derived(process(first_ms=100.0))["first_split_ms"]
    assert split == pytest.approx({"trace": 10.0, "compile": 30.0, "execute": 60.0})


def test_throughput_is_of_the_steady_state():
    # The smoke GEMM: 16 rows and 2 x 16 x 32 x 64 floating-point operations in 1 ms.
    found = derived(process(steady_ms=(1.0,)))
    assert found["items_per_s"] == pytest.approx(16_000)
    assert found["gflop_per_s"] == pytest.approx(2 * 16 * 32 * 64 / 1e6)


def test_import_and_build_times_are_medians():
    found = derived(process(), process(started_s=5000.0))
    assert (found["import_s"], found["build_s"]) == pytest.approx((2.0, 0.5))


def test_program_is_read_back(tmp_path):
    ir = combined(tmp_path, process(), process(repetition=1))["ir"]
    assert (ir["precision"], ir["dtype"], ir["same_in_every_process"]) == ("HIGHEST", "f32", True)


def test_programs_that_differ_are_noted(tmp_path):
    folders = [process_folder(tmp_path / str(n), process(repetition=n)) for n in (0, 1)]
    other = PROGRAM.replace("HIGHEST", "DEFAULT").encode()
    (folders[1] / "stablehlo.mlir.gz").write_bytes(gzip.compress(other))
    assert combine(folders)["ir"]["same_in_every_process"] is False


@pytest.mark.parametrize(
    "changes", [{"status": ("lost", "")}, {"sizes": {"m": "16"}}, {"wall_s": "long"}]
)
def test_result_outside_the_schema_is_refused(tmp_path, changes):
    with pytest.raises((jsonschema.ValidationError, TypeError)):
        combined(tmp_path, process(**changes))


def test_schema_refuses_an_unknown_key(tmp_path):
    schema = yaml.safe_load(SCHEMA.read_text())
    cell = combined(tmp_path, process())
    jsonschema.validate(cell, schema)
    with pytest.raises(jsonschema.ValidationError, match="speed"):
        jsonschema.validate({**cell, "speed": 1.0}, schema)


def test_schema_knows_every_field_of_a_process_and_an_event(tmp_path):
    unknown = process(speed=1.0)
    with pytest.raises(jsonschema.ValidationError, match="speed"):
        combined(tmp_path / "process", unknown)
    unknown = process()
    unknown["events"][5]["warmth"] = 1.0
    with pytest.raises(jsonschema.ValidationError, match="warmth"):
        combined(tmp_path / "event", unknown)


def test_ok_cell_has_its_program_and_output(tmp_path):
    output = np.arange(4, dtype=np.float32)
    folder = write_cell(tmp_path, [process(), process(repetition=1)], output)
    assert gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode() == PROGRAM
    assert np.array_equal(np.load(folder / "output.npy"), output)
    assert json.loads((folder / "cell.json").read_text())["status"] == "ok"


def test_bad_cell_says_that_there_is_no_program(tmp_path):
    cell = Cell("torch_xla", "gemm", "cpu")
    folder = write_cell(tmp_path, [process(cell, status=("error", "first line\nsecond line"))])
    program = gzip.decompress((folder / "stablehlo.mlir.gz").read_bytes()).decode()
    assert program == "// no program: error: first line\n"
    assert (folder / "output.npy").read_bytes() == b""


def test_compile_time_that_a_framework_does_not_tell_is_empty():
    untold = process()
    for event in untold["events"]:
        if "compile_s" in event:
            event["compile_s"] = None
    split = derived(process(), untold)["first_split_ms"]
    assert split == {"trace": pytest.approx(10.0), "compile": None, "execute": None}
