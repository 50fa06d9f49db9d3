"""The committed runs: anybody can compute every interval again from what is kept beside it."""

import pandas as pd
import pytest

from stackwars.core import documents
from stackwars.study.config import load
from stackwars.study.results import comparisons, effects, runs, schema, tables
from stackwars.study.results.folder import Folder
from stackwars.study.results.runs import REFERENCE
from stackwars.study.studies import of_tables

CONFIG = load()
MATRIX = CONFIG.studies[effects.STUDY]
TWIN = "torch_tpu_undecomposed"
ACCEPTED = CONFIG.changed(
    comparisons=[*CONFIG.comparisons, {"subject": TWIN, "baseline": "jax", "compare": ["programs"]}],
    frameworks={**CONFIG.frameworks, TWIN: {"programs": "torch_tpu"}},
    studies={**CONFIG.studies, effects.STUDY: MATRIX.changed(programs=[*MATRIX.programs, TWIN])},
)
"""The configuration with a framework that was dropped on 28 November 2026, as the accepted runs had it."""
RUNS = runs.read()


def recorded(table: pd.DataFrame, run: runs.Run, name: str) -> pd.DataFrame:
    """Return the columns that the run's file has: one that was added later is in no run accepted before."""
    header = pd.read_csv(run.folder / f"{name}.csv", nrows=0).columns
    return table[[column for column in table if column in header]]


def assert_rows_known(found: pd.DataFrame, known: pd.DataFrame, keys: list[str]) -> None:
    """Check that the rows that are found are the same among the known ones; numbers by 1e-9."""
    found, known = (
        table.set_index([table[key].astype(str) for key in keys]).sort_index() for table in (found, known)
    )
    assert found.index.is_unique and known.index.is_unique
    options = {"check_dtype": False, "rtol": 1e-9, "atol": 1e-12}
    pd.testing.assert_frame_equal(found, known.loc[found.index, found.columns], **options)


@pytest.mark.parametrize("run", RUNS, ids=[run.identity for run in RUNS])
def test_comparisons_and_effects_follow_from_the_rounds_of_the_run(run):
    parts = {name: run.table(name) for name in ("rounds", "cells", "programs")}
    found, known = comparisons.build(ACCEPTED, **parts), run.table("comparisons")
    # Runs accepted earlier have other quantities, and programs at another precision.
    known = known[known["quantity"].isin(schema.QUANTITIES) & ~known["subject"].str.contains("+", regex=False)]
    is_timed = not set(run.context["studies"]) <= {CONFIG.odd_sizes.study, "memory", "releases", "successor"}
    assert len(found) == len(known) and bool(len(known)) == is_timed
    assert_rows_known(recorded(found, run, "comparisons"), known, schema.COMPARISON_KEYS)
    # Of the matrix, a run has the effects of the workloads that it measured whole.
    matrix, known = ACCEPTED.changed(measure=[effects.STUDY]), run.table("effects")
    found = effects.build(matrix, parts["cells"], parts["rounds"])
    found = effects.over_all(found[found["workload"].isin(set(known["workload"]) - {"all"})])
    found = found[found["subset"].isin(known["subset"])]
    assert len(found) == len(known)
    assert_rows_known(recorded(found, run, "effects"), known, schema.KEYS["effects"])


@pytest.fixture(scope="module")
def newest():
    """The newest run that measured the first study: the measurements in the reference are its own."""
    return [run for run in RUNS if of_tables(CONFIG).name in run.context["studies"]][-1]


@pytest.fixture(scope="module")
def again(tmp_path_factory, newest):
    """The tables and context that follow from the committed measurements of the studies of that run."""
    names = newest.context["studies"]
    folder = Folder(tmp_path_factory.mktemp("made"), REFERENCE)
    tables.write(CONFIG.changed(measure=names, studies={name: CONFIG.studies[name] for name in names}), folder)
    return folder


@pytest.mark.parametrize("name", ["cells", "programs", "rounds", "comparisons", "profile", "values"])
def test_tables_follow_from_the_committed_measurements(newest, again, name):
    keys = schema.KEYS[name] + (["round", "basis"] if name == "rounds" else [])
    found = schema.read(again[name])
    assert len(found) > (40 if name in ("programs", "values") else 100)  # its programs without those of targets
    assert_rows_known(recorded(found, newest, name), newest.table(name), keys)


def test_the_context_follows_from_the_committed_measurements(newest, again):
    found = documents.read(again["context"])
    names = (
        "machine",
        "date_utc",
        "git_revision",
        "git_dirty",
        "versions",
        "devices",
        "peak",
        "peaks",
        "protocol",
    )
    assert {name: found[name] for name in names} == {name: newest.context[name] for name in names}
    assert sorted(path.name for path in again.results.iterdir()) == sorted({*runs.OF_A_RUN} - {"claims.csv"})


def test_no_cell_of_the_newest_run_is_without_its_measurements(newest, again):
    known = newest.table("cells")
    kept = known[known["workload"].isin(of_tables(CONFIG).workloads) & known["status"].ne("not run")]
    assert_rows_known(recorded(kept, newest, "cells"), schema.read(again["cells"]), schema.CELL_KEYS)
