"""Why a workload is slower in one frontend: a page for each, from rows that other views show too.

Every number is chosen here, this run's before the reference's, and so are the sentences; the page draws them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.numbers import percent, percent_interval, shortened, significant
from stackwars.core.ratio import SLOWER, geometric_mean
from stackwars.explain.answer import CAUSE
from stackwars.measure import frameworks, workloads
from stackwars.publish.paper.figures.ratios import MATRIX, TABLES
from stackwars.setup.device import CPU
from stackwars.study.comparisons import CELLS, PROGRAMS, comparisons
from stackwars.study.printed import OPTIMISED
from stackwars.study.programs import BASE, native_compiler
from stackwars.study.results import runs, schema
from stackwars.study.results.comparisons import LARGE
from stackwars.study.results.dataset import Sources
from stackwars.study.results.effects import ALL
from stackwars.study.results.names import base_compiler, compiler_title
from stackwars.study.results.verdicts import DECIDED, DUE_TO_PROGRAM, DUE_TO_REST

MARK = "\N{DAGGER}"
"""Mark of a number that comes from the reference, not from the reported run."""
_SHARES = {
    DUE_TO_PROGRAM: "The emitted program is the larger factor",
    DUE_TO_REST: "Everything else is the larger factor",
}
_NEXT_REASON = re.compile(" this (?!layout)")
"""Each reason of a cause begins with `this`, and may say `in this layout`."""


class Pages:
    """The rows of a document, and the pages that are made of them."""

    def __init__(self, sources: Sources, document: Row) -> None:
        """document: what `gather` has of comparisons, compiled, causes, effects and studies."""
        self._sources, self._document, self._config = sources, document, sources.run.config
        pairs = comparisons(self._config, PROGRAMS) or comparisons(self._config, CELLS)
        self.subject, self.baseline = (pairs[0].subject, pairs[0].baseline) if pairs else ("", "")
        self._pair = (self.subject, self.baseline)
        self._sides = {"subject": self.subject, "baseline": self.baseline}
        self._native = native_compiler(self._config) or ""

    @cached_property
    def pages(self) -> dict[str, Row]:
        """Return {workload: its page} of the workloads that the pair has a number of."""
        every = {workload: self.page(workload) for workload in self._config.workloads}
        compiled = having(self._document["compiled"], variant=BASE)
        others = {row["workload"] for row in compiled if row["framework"] in self._pair}
        others |= {row["workload"] for row in self._document["comparisons"] if self._is_of_one(row)}
        return {workload: page for workload, page in every.items() if workload in others or page["compilers"]}

    def _is_of_one(self, row: Row) -> bool:
        """Return whether a comparison is the steady ratio of a framework over one of the pair."""
        if row.get("device") != CPU or "ratio" not in row:
            return False
        over_baseline = row["quantity"] == schema.STEADY and row["baseline"] == self.baseline
        return over_baseline or (
            row["quantity"] == schema.PAIRWISE and self.subject in (row["subject"], row["baseline"])
        )

    @cached_property
    def machines(self) -> list[str]:
        """Return the kinds of machine with a ratio of the pair: this run's (""), then from fast to slow."""
        rows = having(self._document["comparisons"], device=CPU, **self._sides)
        shown = (schema.STEADY, schema.REPLAY, schema.EVERYTHING_ELSE)
        every = {one["machine"] for row in rows if row["quantity"] in shown for one in row["kinds"]}
        return sorted(runs.by_speed(every), key=bool)

    def overview(self) -> list[Row]:
        """Return a row for each page: its native ratio on each kind of machine, and the cause in words.

        A workload of Figure 1 also has its ratios in each compiler; is_drawn: whether one of them is large.
        """
        studies = [self._sources.run.study(name) for name in (TABLES, MATRIX) if name in self._config.studies]
        figure = {workload for study in studies for workload in study.workloads}
        result = []
        for workload, page in self.pages.items():
            row = {"workload": workload, "title": page["title"]}
            if native := self._compared(schema.STEADY, workload):
                row["native"] = picked(native, "verdict", "kinds")
                if native["verdict"] in DECIDED:
                    row["cause"] = self._cause_words(workload)
            if workload in figure and page["compilers"]:
                row["compilers"] = [picked(one, "compiler", "kinds") for one in page["compilers"]]
                ratios = [one["ratio"] for drawn in row["compilers"] for one in drawn["kinds"]]
                row["is_drawn"] = any(max(ratio, 1 / ratio) > LARGE for ratio in ratios)
            result.append(row)
        return result

    def page(self, workload: str) -> Row:
        """Return the page of a workload: the verdict in sentences, and the parts, empty if there is nothing."""
        margin = self._compared(schema.MARGIN, workload, compiler=self._native)
        factors = [
            self._compared(quantity, workload, compiler=self._native)
            for quantity in (schema.REPLAY, schema.EVERYTHING_ELSE)
        ]
        compilers = [
            _shown(row)
            for name in self._config.compilers
            if (row := self._compared(schema.REPLAY, workload, compiler=name))
        ]
        return {
            "title": workloads.load(workload).TITLE,
            "sentences": [
                verdict_sentence(self._compared(schema.STEADY, workload), *self._pair),
                *share_sentence(margin, *factors),
                *cause_sentence(self._cause(workload)),
                *effects_sentence(self._effects(workload)),
            ],
            "waterfall": self._waterfall(workload),
            "compilers": compilers,
            "options": list(self._options(compilers)),
            "commands": self._commands(workload),
        }

    def _compared(self, quantity: str, workload: str, **where: str) -> Row | None:
        """Return the comparison of the pair on the CPU with a ratio: of this run, or else of the reference."""
        rows = self._ratios(quantity, workload, **where)
        return min(rows, key=lambda row: "reference" in row, default=None)

    def _ratios(self, quantity: str, workload: str, **where: str) -> list[Row]:
        where |= {"quantity": quantity, "workload": workload, "device": CPU, **self._sides}
        return [row for row in having(self._document["comparisons"], **where) if "ratio" in row]

    def _cause(self, workload: str) -> Row | None:
        """Return the cause of the gap between the pair's programs: in the native compiler, or else in another one."""
        rows = having(self._document["causes"], workload=workload, verdict=CAUSE)
        found = [row for row in rows if {row["subject"], row["baseline"]} == set(self._pair)]
        return min(found, key=lambda row: row["compiler"] != self._native, default=None)

    def _cause_words(self, workload: str) -> str:
        """Return why the native ratio is not 1, in a few words; "" if that is not known."""
        cause = self._cause(workload)
        margin = self._compared(schema.MARGIN, workload, compiler=self._native)
        if margin and margin["verdict"] == DUE_TO_REST and margin.get("native_verdict", SLOWER) in DECIDED:
            return _marked(margin, "not the program")
        if cause is None or cause["compiler"] != self._native:
            return ""
        return _marked(
            cause, f"{cause['what']}, {cause['places'].partition(',')[0]}, {percent(cause['closed'])}"
        )

    def _options(self, compilers: list[Row]) -> Iterator[str]:
        """Yield what each option that the configuration sets in a compiler does to the ratio of both programs.

        compilers: their ratios, by compiler.
        """
        by_name = {row["compiler"]: row for row in compilers}
        for name, row in by_name.items():
            flags, base = self._config.compilers[name].options, by_name.get(base_compiler(name))
            if flags and base and base is not row:
                text = " ".join(f"{flag}={value}" for flag, value in flags.items())
                with_it, without = (on_machines(one) for one in (row, base))
                compiler = compiler_title(base["compiler"])
                yield _marked(
                    row,
                    f"With {text}, the ratio of both programs in {compiler} is {with_it}; without it {without}.",
                )

    def _effects(self, workload: str) -> list[Row]:
        rows = having(self._document["effects"], workload=workload, subset=ALL)
        return [row for row in rows if "factor" in row]

    def _waterfall(self, workload: str) -> Row | None:
        """Return the steps from the baseline's call to the subject's, in ms: the program, then everything else.

        Times and ratios are of the newest run with both: one run's ms times ratios pooled over runs would be a time
        that nobody measured.
        """
        every = [
            self._ratios(quantity, workload, compiler=self._native)
            for quantity in (schema.NATIVE_CALLS, schema.REPLAY)
        ]
        for is_other in (False, True):  # both of one source: this run if it has them
            native, replay = (_first(rows, is_other) for rows in every)
            if native is None or replay is None:
                continue
            calls, replays = self._rounds(native).dropna(subset=["baseline_ms"]), self._rounds(replay)
            if runs := set(calls["run"]) & set(replays["run"]):
                run = max(runs)
                steps = _steps(calls[calls["run"] == run], replays[replays["run"] == run])
                return {"compiler": self._native, "run": run, "steps": steps, **mark_of(native)}
        return None

    def _rounds(self, row: Row) -> pd.DataFrame:
        """Return the rounds of a comparison that have a ratio."""
        table = self._sources.dataset_for(row["studies"][0]).table("rounds")
        for name in ("quantity", "workload", "device", "compiler", "subject", "baseline"):
            table = table[table[name] == row.get(name, "")]
        return table.dropna(subset=["ratio"])

    def _commands(self, workload: str) -> list[list[str]]:
        """Return [what it does, the command] of what measures and searches the pair's numbers here."""
        every = [self._sources.run.study(name) for name in self._config.studies]
        known = [study for study in every if workload in study.workloads]
        names = [self.baseline, self.subject]
        measured = [study.name for study in known if study.has_cell(self.subject, workload, CPU)]
        replayed = [study.name for study in known if self._native in study.compilers]
        result = []
        for text, studies, files in (
            ("Measure both", measured, [f"{CPU}/{name}/{workload}/cell.json" for name in names]),
            ("Replay both programs", replayed, [f"replay/{CPU}/{self._native}/{workload}/replay.json"]),
            (
                "Have what the compiler makes of both in the next report",
                measured,
                [f"{CPU}/{name}/{workload}/{OPTIMISED}" for name in names],
            ),
        ):
            if studies:
                study = self._document["studies"][studies[0]]
                targets = " ".join(f"{study['folder']}/{path}" for path in files)
                result.append([text, f".venv/bin/snakemake --cores 1 {study['option']}{targets}"])
        sides = f"COMPILERS={self._native} FRONTENDS={','.join(names)}"
        result.append(["Search the cause", f"make explain PROGRAM={workload} {sides}"])
        result.append(["Find the release that changed it", f"make releases PROGRAM={workload}"])
        return [*result, ["Check the values", f"make study STUDIES=values WORKLOADS={workload}"]]


def _steps(calls: pd.DataFrame, replays: pd.DataFrame) -> list[Row]:
    """Return the steps of a waterfall from the rounds of native calls and of replays, all of one run."""
    start, native, program = (
        geometric_mean(list(values)).value
        for values in (calls["baseline_ms"], calls["ratio"], replays["ratio"])
    )
    middle, end = start * program, start * native
    steps = [
        ("baseline", 0.0, start),
        ("program", start, middle),
        (schema.EVERYTHING_ELSE, middle, end),
        ("subject", 0.0, end),
    ]
    return [{"name": name, "from": shortened(before), "to": shortened(after)} for name, before, after in steps]


def _first(rows: list[Row], is_other: bool) -> Row | None:
    return next((row for row in rows if ("reference" in row) == is_other), None)


def having(rows: Iterable[Row], **where: object) -> list[Row]:
    """Return the rows with these values; a column that a row lacks is empty."""
    return [row for row in rows if all(row.get(name, "") == value for name, value in where.items())]


def mark_of(row: Row) -> Row:
    """Return {"reference": True} if a row is of the reference in the report of another run, else nothing."""
    return {"reference": True} if "reference" in row else {}


def picked(row: Row, *names: str) -> Row:
    """Return these columns of a row, those that it has, and whether it is of the reference."""
    return {name: row[name] for name in names if name in row} | mark_of(row)


def _shown(row: Row) -> Row:
    """Return a comparison without its rounds, which the page shows by run."""
    return {name: value for name, value in row.items() if name not in ("each", "studies")}


def verdict_sentence(row: Row | None, subject: str, baseline: str) -> str:
    """Return who is slower, by the steady ratio of two frameworks on each kind of machine.

    row: None if they were not compared.
    """
    one, other = (frameworks.title(name) if name else "the other" for name in (subject, baseline))
    if row is None:
        return f"No steady state of {one} was compared with that of {other}."
    verdict = row["verdict"]
    who = f"{one} is {verdict} than {other}" if verdict in DECIDED else f"{one} over {other}, {verdict}"
    return _marked(row, f"{who}: its steady state takes {on_machines(row, ' times as long')}.")


def on_machines(row: Row, unit: str = "") -> str:
    """Return a ratio on each kind of machine: `2.51 [2.40, 2.62] on machines of 362 to 512 GFLOP/s and 1.87 ...`."""
    return " and ".join(
        f"{significant(one['ratio'])}{_interval(one)}{unit}{_place(one)}" for one in row["kinds"]
    )


def _interval(row: Row) -> str:
    return f" [{significant(row['low'])}, {significant(row['high'])}]" if "low" in row else ""


def _place(one: Row) -> str:
    return f" on machines of {one['machine']}" if one["machine"] else ""


def share_sentence(margin: Row | None, program: Row | None, rest: Row | None) -> Iterator[str]:
    """Yield which factor of a native ratio is the larger one, and both on each kind of machine; nothing if no ratio
    divides into them.
    """
    if margin is None or margin.get("native_verdict", SLOWER) not in DECIDED:
        return
    other = "Whether the emitted program or everything else is the larger factor is not separated from noise"
    rests = {one["machine"]: significant(one["ratio"]) for one in rest["kinds"]} if rest else {}
    factors = "; ".join(
        f"the program {significant(one['ratio'])}, everything else {rests[one['machine']]}{_place(one)}"
        for one in (program["kinds"] if program else ())
        if one["machine"] in rests
    )
    yield _marked(margin, f"{_SHARES.get(margin['verdict'], other)}{': ' * bool(factors)}{factors}.")


def cause_sentence(cause: Row | None) -> Iterator[str]:
    """Yield what a search of the gap between the two programs found, with the reason that it gives first."""
    if cause is None:
        return
    compiler = compiler_title(cause["compiler"])
    closed = f"{percent(cause['closed'])}{percent_interval(cause.get('closed_low'), cause.get('closed_high'))}"
    first = _NEXT_REASON.split(cause.get("reason", ""))[0]
    yield _marked(
        cause,
        f"In {compiler}, where {frameworks.title(cause['subject'])}'s program is slower, the cause is {cause['what']} "
        f"({cause['places']}), without which {closed} of the gap is gone{': ' * bool(first)}{first}.",
    )


def effects_sentence(effects: list[Row]) -> Iterator[str]:
    """Yield by what factors frontend and compiler move the time of a workload."""
    if not effects:
        return
    rows = sorted(effects, key=lambda row: -row["factor"])
    factors = ", ".join(f"{row['effect']} {significant(row['factor'])}" for row in rows)
    largest = rows[0].get("largest", "")
    is_named = largest in {row["effect"] for row in rows}
    named = f"{largest} is the largest" if is_named else "none is clearly the largest"
    yield _marked(rows[0], f"Typical effect on a time, over all frontends and compilers: {factors} ({named}).")


def _marked(row: Row, text: str) -> str:
    """Return a sentence, with the sign of a number of the reference in the report of another run."""
    return f"{text} {MARK}" if "reference" in row else text
