"""How often a claim's verdict turns between runs of one world: ``python -m stackwars.claims.stability``.

The world is the reference: every ratio is what its runs say together, runs differ from each other by its
spread, and rounds by what they did in the runs. Runs are drawn from it, every claim is decided for each
on its own, and they are looked at in pairs. Writes results/reference/stability.json.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from stackwars.claims import definitions
from stackwars.claims.decide import decisions
from stackwars.claims.verdicts import CONTRADICTED, SUPPORTED
from stackwars.findings.collect import write_findings
from stackwars.measure.log_ratio import LogRatio
from stackwars.results import ratios, runs, split
from stackwars.results.combined import (
    RATIO_KEYS,
    REPLAY_KEYS,
    SPLIT_KEYS,
    log_ratio,
    of_one_run,
)
from stackwars.results.folder import REFERENCE, STABILITY, Folder
from stackwars.results.values import is_missing

DRAWS = 120
_COPIED = (
    *("ahead", "largest_batch", "metrics", "structure", "held_out"),
    *("stacks", "beyond", "growth", "shapes", "sharding", "matrix", "fused"),
    *("matrix_effects", "matrix_subsets"),
)


def drawn_ratio(
    own: pd.Series, world: pd.Series, name: str, error: float, random: np.random.Generator
) -> LogRatio | None:
    """A ratio as one more run could have measured it.

    own: the row of the newest whole run, as many of whose rounds it has; world: that of the reference, whose
    spread has the errors of its runs in it; error: the root mean square of these.
    """
    found = log_ratio(own, name)
    if found is None or found.error is None or is_missing(world[f"{name}_ratio"]):
        return found
    spread = world[f"{name}_spread"]
    between = 0.0 if is_missing(spread) else max(0.0, spread**2 - error**2)
    rounds = round(found.freedom) + 1
    truth = math.log(world[f"{name}_ratio"]) + random.normal(0, math.sqrt(between))
    logs = random.normal(truth, error * math.sqrt(rounds), rounds)
    return LogRatio.of_rounds(list(np.exp(logs)))


def draw(newest: Path, reference: Folder, into: Folder, random: np.random.Generator) -> None:
    """The tables of one more run of the reference's world, into a folder."""
    own = Folder(newest)
    # A run of before there were studies does not tell them.
    shutil.copyfile(reference["context"], into["context"])
    for name in _COPIED:
        # What a run of before some study lacks is that of the reference.
        shutil.copyfile(own[name] if own[name].exists() else reference[name], into[name])
    frame = pd.read_csv(own["frame"])
    half = np.log(frame["first_high_ms"] / frame["first_ms"])
    factor = np.exp(random.normal(0, 1, len(frame)) * half.fillna(0) / 1.96)
    for column in ("first_ms", "first_low_ms", "first_high_ms"):
        frame[column] *= factor
    frame.to_csv(into["frame"], index=False)
    steady = _ratios(own, reference, frame, random)
    steady.to_csv(into["ratios"], index=False)
    _redrawn(own, reference, "replay", REPLAY_KEYS, ("edited",), random).to_csv(
        into["replay"], index=False
    )
    _split(own, reference, steady, random).to_csv(into["split"], index=False)


def _redrawn(
    own: Folder,
    reference: Folder,
    name: str,
    keys: list[str],
    terms: tuple[str, ...],
    random: np.random.Generator,
) -> pd.DataFrame:
    table, world = pd.read_csv(own[name]), pd.read_csv(reference[name]).set_index(keys)
    every = pd.concat(run.table(own[name].name) for run in runs.read(reference.measured))
    squares = every.groupby(keys)[[f"{term}_error" for term in terms]].agg(
        lambda errors: (errors**2).mean()
    )
    for index, row in table.iterrows():
        key = tuple(row[keys])
        for term in terms if key in world.index else ():
            error = math.sqrt(squares.loc[key, f"{term}_error"])
            drawn = drawn_ratio(row, world.loc[key], term, error, random)
            for column, value in of_one_run(term, drawn).items():
                table.loc[index, column] = value
    return table


def _ratios(
    own: Folder, reference: Folder, frame: pd.DataFrame, random: np.random.Generator
) -> pd.DataFrame:
    table = _redrawn(own, reference, "ratios", RATIO_KEYS, ratios.STAGES, random)
    for index, row in table.iterrows():
        for stage in ratios.STAGES:
            found = log_ratio(row, stage)
            table.loc[index, f"{stage}_p"] = found.p() if found else None
    return ratios.decided(table, frame)


def _split(
    own: Folder, reference: Folder, steady: pd.DataFrame, random: np.random.Generator
) -> pd.DataFrame:
    """Its native ratios are the drawn steady ratios, its IR effects what drawn runtime effects leave of them.

    The two move together from run to run, which the spread of the runtime effect shows.
    """
    table = _redrawn(own, reference, "split", SPLIT_KEYS, ("ir", "runtime", "control"), random)
    known = steady.set_index(["workload", "device", "framework", "baseline"])
    for index, row in table.iterrows():
        key = tuple(row[["workload", "device", "framework", "baseline"]])
        native = log_ratio(known.loc[key], "steady") if key in known.index else None
        ir, runtime = log_ratio(row, "ir"), log_ratio(row, "runtime")
        if native and ir and runtime:
            ir = LogRatio(native.log - runtime.log, ir.error, ir.freedom)
        terms = split.terms(native, ir if runtime else None)
        for name, ratio in ({"ir": ir} | terms).items():
            for column, value in of_one_run(name, ratio).items():
                table.loc[index, column] = value
    return split.decided(table)


def stability(reference: Path, draws: int, seed: int = 0) -> dict:
    """The content of stability.json: how many of the pairs of drawn runs turn, by claim."""
    claims = definitions.load()
    newest, random = runs.whole(runs.read(reference))[-1], np.random.default_rng(seed)
    verdicts: dict[str, list[str]] = {claim.id: [] for claim in claims.claims}
    with tempfile.TemporaryDirectory() as scratch:
        into = Folder(scratch, reference)
        for _ in range(draws):
            draw(newest.folder, Folder(reference), into, random)
            write_findings(into)
            for identity, decision in decisions(claims, into).items():
                verdicts[identity].append(decision.verdict)
    pairs = draws // 2
    turned = {
        identity: sum(
            {one, other} == {SUPPORTED, CONTRADICTED}
            for one, other in zip(found[::2], found[1::2], strict=False)
        )
        for identity, found in verdicts.items()
    }
    return {
        "runs": [run.identity for run in runs.read(reference)],
        "draws": draws,
        "pairs": pairs,
        "rate": sum(turned.values()) / (pairs * len(verdicts)),
        "turned": {identity: count for identity, count in turned.items() if count},
        "verdicts": {identity: dict(Counter(found)) for identity, found in verdicts.items()},
    }


def write(reference: Path, draws: int = DRAWS) -> None:
    """stability.json of a reference, and its rate on the terminal."""
    found = stability(reference, draws)
    (reference / STABILITY).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(
        f"{100 * found['rate']:.2f} % of {found['pairs']} pairs of runs x {len(found['verdicts'])} claims turn "
        f"from supported to contradicted or back: {found['turned'] or 'none'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    write(REFERENCE, parser.parse_args().draws)


if __name__ == "__main__":
    main()
