"""Classes of made-up profiles, and the gaps between two programs that they make up."""

import json
import math

import pandas as pd
import pytest

import measured
from stackwars.compilers.op_classes import CLASSES
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.process_value import plain
from stackwars.results import gap_causes, op_times
from stackwars.results.combined import of_one_run
from stackwars.results.folder import Folder
from stackwars.results.whole_study import Source

XLA = "jaxlib-0.7.1"
WHERE = {"workload": "gemm", "compiler": XLA, "device": "cpu"}


def operation(kind: str, ms: float) -> dict:
    return {"class": kind, "seconds": ms / 1e3}


def profile(programs: dict[str, dict[str, float]], wall_ms=10.0) -> dict:
    """A profile.json whose programs have one operation of each class with these ms."""
    return {
        **WHERE,
        "preset": "smoke",
        "repetition": 0,
        "programs": {
            name: {
                "calls": 5,
                "wall_s": wall_ms / 1e3,
                "operations": {f"{kind}.1": operation(kind, ms) for kind, ms in classes.items()},
            }
            for name, classes in programs.items()
        },
    }


def table(*profiles: dict, timed: dict[str, float]) -> pd.DataFrame:
    """op_times.csv where these are the ms of a timed call of the same process."""
    values = {("gemm", name, "cpu", XLA): {0: plain(ms)} for name, ms in timed.items()}
    return op_times.build(list(profiles), values, "measured")


def test_classes_and_dispatch_make_up_the_profiled_call():
    one = profile({"jax": {"products": 6.0, "transposes": 1.0}})
    one["programs"]["jax"]["operations"]["dot.7"] = operation("products", 2.0)
    found = table(one, timed={"jax": 10.5}).set_index("class")
    assert list(found.index) == list(CLASSES)
    assert found.ms.to_dict() == pytest.approx(
        dict.fromkeys(CLASSES, 0.0) | {"products": 8.0, "transposes": 1.0, "dispatch": 1.0}
    )
    assert found.share.sum() == pytest.approx(1)
    assert found.operations.to_dict() == dict.fromkeys(CLASSES, 0) | {
        "products": 2,
        "transposes": 1,
    }
    assert set(found.profiled_ms) == {10.0}
    assert set(found.call_ms) == {10.5}


@pytest.mark.parametrize(("timed", "adds_up"), [(9.2, True), (8.9, False), (11.2, False)])
def test_a_profile_far_from_the_timed_call_says_so(timed, adds_up):
    found = table(profile({"jax": {"products": 9.0}}), timed={"jax": timed}).iloc[0]
    assert found.excess == pytest.approx(10 / timed - 1)
    assert found.adds_up == adds_up


def test_a_program_without_a_timed_call_does_not_add_up():
    found = table(profile({"jax": {"products": 9.0}}), timed={}).iloc[0]
    assert pd.isna(found.excess)
    assert not found.adds_up


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """No run but this one."""
    monkeypatch.setattr(op_times, "sources", lambda folder: [Source("", tmp_path)])


@pytest.mark.usefixtures("alone")
def test_results_without_a_profile_give_headers_alone(tmp_path):
    for name in ("replayed", "split", "replay"):
        columns = ["workload", "framework", "device", "compiler", "value_ms", "ir_ratio"]
        pd.DataFrame(columns=columns).to_csv(tmp_path / f"{name}.csv", index=False)
    config = measured.config()
    op_times.write(config, Folder(tmp_path))
    gap_causes.write(config, Folder(tmp_path))
    assert list(pd.read_csv(tmp_path / "op_times.csv")) == list(op_times.COLUMNS)
    assert list(pd.read_csv(tmp_path / "gap_causes.csv")) == list(gap_causes.COLUMNS)


@pytest.mark.usefixtures("alone")
def test_profiles_of_a_folder_are_read(tmp_path):
    config = measured.config()
    config["comparisons"] = [
        {"subject": "torch_xla", "baseline": "jax", "of": ["cells", "programs"]}
    ]
    config["compilers"] = {XLA: {"environment": "xla-0.7.1", "native": True}}
    home = tmp_path / "replay" / "cpu" / XLA / "gemm"
    home.mkdir(parents=True)
    (home / "profile.json").write_text(json.dumps(profile({"jax": {"products": 9.0}})))
    pd.DataFrame(
        [
            {
                **WHERE, "framework": "jax", "repetition": 0, "value_ms": 10.0, "gated": True,
                "ungated_ms": 12.0, "kept_share": 1.0, "class": "steady at once",
                "warmup_points": 0, "steady_blocks": 3,
            }
        ]
    ).to_csv(tmp_path / "replayed.csv", index=False)  # fmt: skip
    op_times.write(config, Folder(tmp_path))
    found = pd.read_csv(tmp_path / "op_times.csv")
    assert len(found) == len(CLASSES)
    assert set(found.call_ms) == {10.0}
    assert found.adds_up.all()


def test_what_this_run_has_not_profiled_is_of_one_that_profiled_it_itself(tmp_path):
    def accepted(run: str, *rows: tuple[str, str, str | None]) -> Source:
        (tmp_path / run).mkdir()
        found = pd.DataFrame(rows, columns=["workload", "framework", "run"])
        found.assign(origin="measured").to_csv(tmp_path / run / "op_times.csv", index=False)
        return Source(run, tmp_path / run)

    own = table(profile({"jax": {"products": 9.0}}), timed={"jax": 10.0})
    runs = [
        accepted("new", ("gemm", "jax", None), ("mha", "jax", "older"), ("mha", "numpy", "older")),
        accepted("old", ("mha", "jax", None), ("mha", "torch_xla", None), ("ffn", "jax", None)),
    ]
    found = op_times.whole(own, runs)
    rows = found[["workload", "framework", "run", "origin"]].drop_duplicates()
    assert list(rows.itertuples(index=False, name=None)) == [
        ("gemm", "jax", "", "measured"),
        ("mha", "jax", "old", "reference"),
        ("mha", "torch_xla", "old", "reference"),
        ("ffn", "jax", "old", "reference"),
    ]


TIMES = {
    "jax": {"products": 6.0, "elementwise": 3.0},
    "torch_xla": {"products": 6.0, "transposes": 11.0, "elementwise": 2.0},
}


def gaps(ratio=2.0, edits=(), programs=TIMES, timed=(10.0, 20.0)) -> pd.DataFrame:
    """The gap of torch_xla's program over JAX's; edits: {edited program: edited / own}."""
    walls = {"jax": 10.0, "torch_xla": 20.0}
    profiles = [profile({name: classes}, walls[name]) for name, classes in programs.items()]
    effect = of_one_run("ir", LogRatio(math.log(ratio), 0.01, 3.0))
    head = {**WHERE, "title": "GEMM", "ir_verdict": "slower", "baseline": "jax"}
    split = pd.DataFrame([{**head, "framework": "torch_xla", **effect}])
    rows = [
        {**WHERE, "framework": name, **of_one_run("edited", LogRatio(math.log(r), 0.01, 3.0))}
        for name, r in dict(edits).items()
    ] or [{**WHERE, "framework": "jax"}]
    replay = pd.DataFrame(rows)
    return gap_causes.build(
        split, replay, table(*profiles, timed=dict(zip(walls, timed, strict=True)))
    )


def test_a_gap_is_divided_among_the_classes():
    found = gaps().set_index("class")
    assert found.difference_ms["transposes"] == pytest.approx(11)
    assert found.difference_ms["elementwise"] == pytest.approx(-1)
    assert found.share.sum() == pytest.approx(1)
    assert found.share["transposes"] == pytest.approx(1.1)
    assert set(found["where"]) == {"transposes"}
    assert found.gap_ms.tolist() == pytest.approx([10.0] * len(CLASSES))
    assert found.adds_up.all()
    assert set(found.why) == {""}


def test_edits_that_the_table_lacks_are_of_the_newest_run_that_has_them(tmp_path):
    rows = {
        "here": {"jax": 1.0, "jax+a": 0.5},
        "new": {"jax+a": 0.6, "jax+b": 0.7, "torch_xla": 1.0},
        "old": {"jax+b": 0.8, "jax+c": 0.9},
    }
    tables = {
        run: pd.DataFrame([{**WHERE, "framework": f, "edited_ratio": r} for f, r in found.items()])
        for run, found in rows.items()
    }
    for run in ("new", "old"):
        (tmp_path / run).mkdir()
        tables[run].to_csv(tmp_path / run / "replay.csv", index=False)
    accepted = [Source(run, tmp_path / run) for run in ("new", "old")]
    found = gap_causes.with_edits(tables["here"], accepted)
    assert dict(zip(found["framework"], found["edited_ratio"], strict=True)) == {
        "jax": 1.0, "jax+a": 0.5, "jax+b": 0.7, "jax+c": 0.9,
    }  # fmt: skip


@pytest.mark.parametrize("ratio", [1.09, 1 / 1.09])
def test_ten_percent_is_no_gap(ratio):
    assert gaps(ratio).empty


def test_a_gap_that_the_profiles_show_the_other_way_is_nowhere():
    found = gaps(1 / 2)
    assert set(found["where"]) == {""}
    assert found.share.isna().all()


def test_a_gap_of_a_program_without_a_profile_is_one_row():
    found = gaps(programs={"jax": TIMES["jax"]})
    assert found[["class", "where"]].values.tolist() == [["", ""]]
    assert found.difference_ms.isna().all()


def test_a_profile_that_does_not_add_up_is_told():
    assert not gaps(timed=(10.0, 12.0)).adds_up.any()


def test_the_edit_that_closes_most_is_the_cause():
    two = {"torch_xla+a": 0.52, "torch_xla+a+b": 0.5}
    found = gaps(edits=two).iloc[0]
    # The one with fewer edits, though the other closes a little more.
    assert (found.why, found.tried) == ("torch_xla+a", "torch_xla+a+b")
    assert found.closed == pytest.approx(1)


def test_an_edit_of_the_baseline_counts_towards_the_subject():
    assert gaps(edits={"jax+a": 1.9}).iloc[0].why == "jax+a"


def test_an_edit_that_closes_little_explains_nothing():
    found = gaps(edits={"torch_xla+a": 0.85}).iloc[0]
    assert (found.why, found.tried) == ("", "torch_xla+a")
    assert found.closed == pytest.approx(math.log(0.85) / math.log(0.5))
