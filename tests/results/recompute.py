"""Recompute every interval of comparisons.csv from the accepted runs: `python recompute.py RUNS COMPARISONS`.

NumPy, SciPy and pandas alone, no code of src/. Ratios are from rounds.csv, kinds of machine from context.json. An
estimate is (logarithm, variance, dof, rounds, alternating).
"""

# fmt: off
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, special

KEY = ["quantity", "workload", "device", "compiler", "baseline_compiler", "variant",
       "subject", "baseline", "baseline_workload"]
NUMBERS = ("cpu_model", "cpu_family", "cpu_model_number", "cpu_stepping", "cpu_flags_digest", "cores")
FACTORS = {"native": (1, 0), "everything else": (1, -1), "margin": (-1, 2)}
ALTERNATING = {"interleaved": True, "call": None}

def families(found, key_of=lambda key: (key[0], *key[2:4], key[5])):
    result = defaultdict(list)
    for key in found:
        result[key_of(key)].append(key)
    return result.values()

def kind(context):
    peak = context.get("peaks", {}).get("cpu", {"gflop_per_s": 1})
    return *map(context["machine"].get, NUMBERS), peak.get("last_cache_bytes"), 2 * np.log2(peak["gflop_per_s"]) // 1

def prior(variances, dofs):  # Smyth (2004)
    if len(variances) < 3:
        return 0.0, 0.0
    s, d = np.maximum(variances, 1e-3 * np.median(variances) + 1e-12), np.array(dofs, float)
    z = np.log(s) - special.digamma(d / 2) + np.log(d / 2)
    excess, most = z.var(ddof=1) - special.polygamma(1, d / 2).mean(), d.sum()
    if excess <= special.polygamma(1, most / 2):
        return d @ s / most, most
    half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, most / 2, xtol=1e-12)
    return np.exp(z.mean() + special.digamma(half) - np.log(half)), 2 * half

def moderate(s, d, lent):
    return (d * s + lent[0] * lent[1]) / (d + lent[1]), d + lent[1]

def total(parts):  # Satterthwaite (1946)
    v = sum(x for x, _ in parts)
    return (v, v**2 / sum(x**2 / d for x, d in parts)) if v > 0 else (0.0, min(d for _, d in parts))

def combined(a, one, b, other):
    known = None not in (one[1], other[1])
    sums = total([(a * a * one[1], one[2]), (b * b * other[1], other[2])]) if known else (None, None)
    return a * one[0] + b * other[0], *sums, min(one[3], other[3]), bool(one[4] and other[4])

def estimates(rounds, asked):
    found = {}
    for key, rows in rounds.groupby(KEY, sort=False):
        logs, n = np.log(rows["ratio"]), rows["rounds"].sum()
        error = logs.sem() if rows["round"].notna().all() else rows["error"].iloc[0]
        alternating = ALTERNATING.get(rows["basis"].iloc[0], False)
        found[key] = (logs.mean(), None if np.isnan(error) else error**2, n - 1, n, alternating)
    for key in asked:
        quantity, workload, device, compiler, other_compiler, _, one, other, _ = key
        steady, over_one, over_other = (
            found.get(("steady", workload, device, "", "", "", *sides, ""))
            for sides in ((one, other), (one, "jax"), (other, "jax")))
        replay = found.get(("replay", workload, device, compiler, "", "", one, other, ""))
        without = found.get(("replay", workload, device, other_compiler, "", "", one, other, ""))
        if quantity == "removal" and replay and without and abs(without[0]) >= np.log(1.1):
            found[key] = combined(np.sign(without[0]) / 2, without, -np.sign(without[0]), replay)
        if quantity == "pairwise" and over_one and over_other:
            found[key] = combined(1, over_one, -1, over_other)
        if quantity in FACTORS and key not in found and steady and replay:  # no native calls beside the replay
            a, b = FACTORS[quantity]
            found[key] = combined(a, steady, b, replay) if b else steady
    return found

def pooled(members):
    """Runs of fixed kinds: {key: [(kind, log, variance, rounds)]} to {(key, kind): (log, error, dof)}."""
    result = {}
    runs = {k: pd.DataFrame(rows, columns=["kind", "y", "v", "n"]) for k, rows in members.items()}
    kinds = {k: runs[k].groupby("kind", sort=False)["y"].agg(["mean", "size", "var"]) for k in members}
    unit = {k: max((runs[k]["v"] * runs[k]["n"]).mean(), 1e-12) for k in members}
    free = {k: len(runs[k]) - len(kinds[k]) for k in members}
    square = {k: (kinds[k]["var"].fillna(0) * (kinds[k]["size"] - 1)).sum() / max(free[k], 1) for k in members}
    for keys in families(members, lambda key: (key[0], key[2])):
        some = [k for k in keys if free[k]]
        lent = prior([square[k] / unit[k] for k in some], [free[k] for k in some])
        for k in keys:
            if free[k] + lent[1]:
                variance, freedom = moderate(square[k], free[k], (lent[0] * unit[k], lent[1]))
                variance = max(variance, runs[k]["v"].mean())
                for name, (mean, size, _) in kinds[k].iterrows():
                    result[k, name] = mean, np.sqrt(variance / size), freedom
    return result

def decided(quantity, low, high, opposite):
    within, excludes = (low >= -np.log(1.05)) & (high <= np.log(1.05)), (low > 0) | (high < 0)
    if quantity == "scaling":
        low, high = low / np.log(2), high / np.log(2)
        return (low > 1) | (low <= 0) & (high <= 0.1) | (low > 0) & (high <= 1)
    if quantity == "control":
        return excludes | (low >= -np.log(1.03)) & (high <= np.log(1.03))
    return excludes & ~opposite | (quantity not in ("margin", "removal")) & within & ~excludes

def intervals(ratios):
    """Benjamini & Yekutieli (2005), one level a quantity and device: {(key, kind): (log, error, dof)} to ends."""
    result = {}
    for places in families(ratios, lambda place: (place[0][0], place[0][2])):
        log, error, dof = np.array([ratios[place] for place in places], float).T
        other = [ratios.get((("undisturbed", *key[1:]), kind), (0.0,))[0] for key, kind in places]
        quantity = places[0][0][0]
        opposite = (log * np.array(other) < 0) & (quantity == "steady")
        count = len(places)
        while True:
            half = special.stdtrit(dof, 1 - 0.05 * max(count, 1) / len(places) / 2) * error
            words = decided(quantity, log - half, log + half, opposite)
            if words.sum() >= count:
                break
            count = words.sum()
        result |= dict(zip(places, np.exp([log - half, log + half]).T, strict=True))
    return result

def read(path):
    table = pd.read_csv(path, dtype=dict.fromkeys(KEY, object))
    return table.assign(**{name: table[name].fillna("") if name in table else "" for name in KEY})

def main(folder, comparisons):
    table = read(comparisons)
    printed, runs = table.set_index(KEY)[["low", "high"]].dropna().sort_values("low"), []
    for run in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        context, rounds = json.loads((run / "context.json").read_text()), read(run / "rounds.csv")
        rounds = rounds[~rounds["quantity"].isin(("process", "throughput")) & rounds["ratio"].notna()]
        runs.append((kind(context), estimates(rounds, printed.index)))
    members, ratios = {}, {}
    # Earlier runs have comparisons that are made no more: they lend no variance between runs to the others.
    made = set(table[KEY].itertuples(index=False, name=None))
    for key in dict.fromkeys(key for _, found in runs for key in found if key in made):
        known = [(machine, *found[key]) for machine, found in runs if key in found]
        known = [one for one in known if one[5]] or known
        members[key] = [(*one[:3], one[4]) for one in known if one[2] is not None]
        # The newest run, or that of each kind.
        for machine, log, variance, freedom, *_ in known if key[0].endswith("_cpu") else known[-1:]:
            if variance is not None:
                ratios[key, machine] = (log, np.sqrt(variance), freedom)
    found = pooled({key: values for key, values in members.items() if values})
    keys = {key for key, _ in found}
    ratios = {place: ratio for place, ratio in ratios.items() if place[0] not in keys} | found
    # The kinds of a comparison are in the order of their intervals: their names are the source's.
    again = pd.DataFrame(
        [(*key, *ends) for (key, _), ends in intervals(ratios).items()], columns=[*KEY, "low", "high"])
    both = [one.assign(place=one.groupby(KEY).cumcount()).set_index([*KEY, "place"])
            for one in (printed.reset_index(), again.sort_values("low"))]
    ends, again = both[0], both[1].reindex(both[0].index)
    wrong = ~np.isclose(again, ends, rtol=1e-6, atol=0).all(axis=1)
    print(f"{len(ends)} intervals recomputed, {wrong.sum()} differ")
    for key, row in again[wrong].iterrows():
        print(*key, "expected", *row, "got", *ends.loc[key])
    return int(wrong.any())

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
