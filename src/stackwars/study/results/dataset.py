"""The tables of one source, this run or the reference, as the paper, the report and the claims read them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pandas as pd

from stackwars.core.outcome import Status
from stackwars.setup.device import CPU, CPUS, NODES
from stackwars.study.config import load
from stackwars.study.keys import Config
from stackwars.study.results import comparisons, schema
from stackwars.study.results.folder import REFERENCE_TABLES, Folder
from stackwars.study.results.runs import REFERENCE
from stackwars.study.results.schema import Tables
from stackwars.study.studies import Study, full_study, measured_studies

SIDES = ("framework", "subject")
DEVICES = (*CPUS, *NODES)
"""Devices of cells."""
SHORT_MS = 1.0
"""A call that takes less is judged on one core: with several, the others fall asleep between calls."""


def newest_runs(data: Dataset, table: pd.DataFrame, study: str, mode: str = schema.NATIVE) -> dict[str, str]:
    """Return the run that shows each workload of a study: the newest run with most of its ok rows.

    Among equals, a run that measured the study wins: another may have some of its workloads by chance. Times of two
    runs are not compared, so all rows of a workload come from one run. It has the empty name in this run's own tables.
    Rows of accelerators show no study: see `Dataset.rows`.
    """
    rows = of_study(data.study(study), table)
    if "device" in rows.columns:
        rows = rows[~rows["device"].isin(NODES)]
    if "mode" in rows.columns:
        rows = rows[rows["mode"] == mode]
    status = rows["status"] if "status" in rows.columns else pd.Series(Status.OK, index=rows.index)
    ran = rows.assign(ok=status == Status.OK)[status != Status.NOT_RUN]
    counts = ran.groupby(["workload", "run"])["ok"].sum().reset_index()
    counts["is_of_study"] = counts["run"].isin(run["run"] for run in data.runs_of(study))
    ordered = counts.sort_values(["ok", "is_of_study", "run"], kind="stable")
    return dict(zip(ordered["workload"], ordered["run"], strict=True))


def of_study(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a study: of its workloads, frameworks or programs, compilers and devices.

    Rows of growing sizes, several shapes or several devices name other frameworks.
    """
    nothing = pd.Series("", index=table.index)
    mode, device = table.get("mode", nothing), table.get("device", nothing)
    selected = table["workload"].isin(study.workloads)
    names = {*study.frameworks, *study.programs}
    for side in SIDES:
        if side in table.columns and names:
            selected &= table[side].isin(names) | mode.isin((schema.GROWTH, schema.SHAPES, schema.SHARDED))
    if "compiler" in table.columns and (study.compilers or study.targets):
        replayed = (mode == schema.REPLAY) | (table.get("target", device) == CPU)
        selected &= ~replayed | table["compiler"].isin(("", *study.compilers))
    if "target" in table.columns:
        # Programs that are divided among the chips of a slice have other targets.
        selected &= table["target"].isin(("", CPU, *study.targets)) | table["devices"].notna()
    if study.devices is not None:
        selected &= device.isin(study.devices) | ~device.isin(DEVICES)  # a target is no device of the grid
    return table[selected]


def in_order(workloads: Iterable[str], table: pd.DataFrame) -> pd.DataFrame:
    place = {workload: number for number, workload in enumerate(workloads)}
    ordered = table.sort_values("workload", key=lambda names: names.map(place), kind="stable")
    return ordered.reset_index(drop=True)


class Dataset(Tables):
    """A folder with the eight tables and the two summaries; a table is read on first use.

    is_reference: whether they are of the accepted runs and not of this one. measured: the folder of the
    measurements and audits, if it is another one.
    """

    def __init__(
        self, config: Config, folder: Path, is_reference: bool = False, measured: Path | None = None
    ) -> None:
        self.config, self.folder, self.is_reference = config, Path(folder), is_reference
        self.measured = Path(measured or folder)

    def study(self, name: str) -> Study:
        return full_study(self.config, name)

    def runs_of(self, study: str, device: str = CPU) -> list[dict]:
        """Return the accepted runs that measured a study and had this device, as the context describes them."""
        accepted = self.context.get("runs", []) if self.is_reference else []
        return [run for run in accepted if study in run["studies"] and device in run["devices"]]

    @cached_property
    def _over_kinds(self) -> pd.DataFrame:
        return comparisons.over_kinds(self.table("comparisons"))

    @cached_property
    def short_calls(self) -> set[tuple[str, str]]:
        """The workloads and frameworks whose calls took under SHORT_MS on all cores, in any run."""
        cells = self.table("cells")
        cells = cells[
            (cells["mode"] == schema.NATIVE) & (cells["device"] == CPU) & (cells["steady_ms"] < SHORT_MS)
        ]
        return set(zip(cells["workload"], cells["framework"], strict=True))

    def rows(self, name: str, study: str, mode: str = schema.NATIVE) -> pd.DataFrame:
        """Return the rows of a table that show a study, every workload's from one run (`newest_runs`).

        mode: selects rows of cells. Cells of an accelerator are from the newest run that has it. Rows are in
        the order of the study's workloads.
        """
        table = of_study(self.study(study), self.table(name))
        if name == "cells":
            table = table[table["mode"] == mode]
        shown = table["workload"].map(newest_runs(self, self.table(name), study, mode))
        is_shown = table["run"] == shown.fillna("")  # what this run did not run stays
        if name == "cells":
            # Rows of accelerators, each workload's from the newest run with the device, replace cells not run.
            device_runs = [(run["run"], name) for name in NODES for run in self.runs_of(study, name)]
            where = pd.MultiIndex.from_frame(table[["run", "device"]])
            ran = table[where.isin(device_runs) & (table["status"] != Status.NOT_RUN)]
            ran = ran[ran["run"] == ran.groupby(["workload", "device"])["run"].transform("max")]
            keys = ["workload", "framework", "device"]
            has_run = pd.MultiIndex.from_frame(table[keys]).isin(pd.MultiIndex.from_frame(ran[keys]))
            is_shown = (is_shown & ~has_run) | table.index.isin(ran.index)
        return in_order(self.study(study).workloads, table[is_shown])

    def comparisons(self, study: str | None = None, **where: str) -> pd.DataFrame:
        """Return the comparisons of a study (or of all) with these values, in the order of the workloads.

        Each has one row, with what holds on every kind of machine; its column EACH_KIND has the row of each kind.

        >>> data.comparisons("tables", quantity="steady", device="cpu")  # doctest: +SKIP
        """
        table = self._over_kinds
        for column, value in where.items():
            table = table[table[column] == value]
        if study is None:
            return in_order(self.config.workloads, table)
        return in_order(self.study(study).workloads, of_study(self.study(study), table))


class Sources:
    """This run and the reference: a study is shown from this run if it measured it, else from the reference."""

    def __init__(self, run: Dataset, reference: Dataset, measured: list[str]) -> None:
        """measured: the studies that this run measured."""
        self.run, self.reference, self._measured = run, reference, measured

    def dataset_for(self, study: str) -> Dataset:
        return self.run if study in self._measured else self.reference

    def checked(self) -> Dataset:
        """Return where the values of programs are shown from: this run if it checked one, else the reference."""
        return self.reference if self.run.table("values").empty else self.run

    def origin(self, study: str) -> str:
        """Return one line that says where a study's results are from."""
        if not self.dataset_for(study).is_reference:
            return "Measured in this run."
        runs = self.reference.runs_of(study)
        if not runs:
            return "No accepted run has this study."
        kinds = len({run["machine"] for run in runs})
        on = "one kind" if kinds == 1 else f"{kinds} kinds"
        number = "one accepted run" if len(runs) == 1 else f"{len(runs)} accepted runs"
        return f"From the reference: {number} of this study, on {on} of machine."


def sources(config: Config, folder: Folder) -> Sources:
    """Return the tables of a folder of results and those of the reference, which may be the same.

    The reference has the configuration of the file: what a run overrides does not change it.
    """
    is_reference = config.source == "reference"
    run = Dataset(config, folder.results, is_reference, folder.measured)
    if is_reference:
        return Sources(run, run, [])
    reference = Dataset(load(source="reference"), REFERENCE_TABLES, True, REFERENCE)
    return Sources(run, reference, measured_studies(config))
