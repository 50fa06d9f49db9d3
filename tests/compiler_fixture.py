"""SYNTHETIC replay, compile-ahead and program metrics for the paper's tests. Nothing was measured.

``write(folder, workloads, variant, pairs)`` writes replay.csv, split.csv, op_times.csv, gap_causes.csv,
compile_ahead.csv, largest_batch.csv, ir_metrics.csv, structure.csv and graphs of these comparisons for the
variants of :mod:`paper_fixture`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas

from stackwars.compilers.op_classes import CLASSES
from stackwars.measure.log_ratio import LogRatio
from stackwars.results import gap_causes, op_times, replays, split
from stackwars.results.combined import of_one_run
from stackwars.results.read_compilers import DEFAULT_PRECISION
from stackwars.study.comparisons import Comparison
from stackwars.study.config import load

OLD, NEW = "jaxlib-0.7.1", "jaxlib-0.10.2"
GIB = 2**30
NEWER = {"gpt2_small": 1.22, "bert_base": 1.16, "resnet50": 1.3}  # IR ratio of the newer compiler
EDIT = "explicit_layernorm"


@dataclass(frozen=True)
class Side:
    """What a framework's programs need. replay: its ratio over torch_xla's; memory, and cycles for a byte of
    it: over JAX's."""

    replay: float
    memory: float
    cycles: float
    batch: int
    operations: int


SIDES = {
    "jax": Side(1, 1.0, 1.0, 200, 40),
    "torch_xla": Side(1, 1.02, 1.1, 208, 25),
    "torch_xla_pending": Side(1.5, 1.25, 1.3, 150, 70),
    "torch_tpu": Side(1, 1.02, 1.1, 60, 25),
    "torch_tpu_undecomposed": Side(1, 1.0, 1.0, 200, 40),
}
SUCCESSOR = {
    "programs": ["torch_tpu", "torch_tpu_undecomposed"],
    "workloads": ["ffn", "mha", "vit_b16"],
}
"""The study of the successor, which has programs alone."""
SHARES = (0.6, 0.1, 0.1, 0.15, 0.0, 0.05)
"""Of each class in a profiled call of the first baseline; another program differs in its products."""
COLUMNS = {
    "replay": " ".join(replays.COLUMNS),
    "split": " ".join(split.COLUMNS),
    "op_times": " ".join(op_times.COLUMNS),
    "compile_ahead": (
        "workload title framework target compiler edit variant batch sequence status verdict decided_by"
        " message argument_bytes output_bytes temp_bytes alias_bytes hbm_bytes usable_bytes"
        " compile_s peak_rss_bytes estimated_cycles origin"
    ),
    "largest_batch": (
        "workload title framework target compiler sequence fits_batch oom_batch origin"
    ),
    "ir_metrics": (
        "workload title framework level status reason operations operations_by_kind"
        " reshapes transposes broadcasts layout_bytes depth canonical_hash origin"
    ),
    "structure": "workload title claim framework verdict evidence",
}


def write(folder: Path, workloads: dict, variant: str, pairs: list[Comparison]) -> None:
    """Write all files and the graphs; header only where nothing was run."""
    there = {} if variant == "nothing" else workloads
    models = {n: w for n, w in there.items() if w[1] == "model" and variant != "smoke"}
    sides = list(dict.fromkeys(side for pair in pairs for side in pair.sides))
    made = {
        "replay": (_replay, there, sides),
        "split": (_split, there, pairs),
        "op_times": (_op_times, {} if variant == "smoke" else there, sides),
        "compile_ahead": (_ahead, there, sides),
        "largest_batch": (_largest_batch, models, sides),
        "ir_metrics": (_metrics, there, sides),
        "structure": (_structure, there, sides),
    }
    for name, (rows_of, chosen, of) in made.items():
        rows = [row for w in chosen for row in rows_of(w, workloads[w], variant, of)]
        if name in ("compile_ahead", "largest_batch", "structure", "ir_metrics"):
            own = [w for w in chosen if w in SUCCESSOR["workloads"]]
            names = SUCCESSOR["programs"]
            rows += [row for w in own for row in rows_of(w, workloads[w], variant, names)]
        frame = pandas.DataFrame(rows, columns=COLUMNS[name].split())
        if name == "split":
            frame = split.decided(frame)
        frame.to_csv(folder / f"{name}.csv", index=False)
    read = (pandas.read_csv(folder / f"{name}.csv") for name in ("split", "replay", "op_times"))
    gap_causes.build(*read).to_csv(folder / "gap_causes.csv", index=False)
    (folder / "graphs").mkdir(exist_ok=True)
    if there:
        for name in load()["paper"]["graphs"]:
            (folder / "graphs" / f"{name}.pdf").write_bytes(_graph())


def ratio_of(name: str, workload: tuple, compiler: str, variant: str, framework: str) -> float:
    """A framework's replay over JAX's; the newer compiler turns GPT-2's sign."""
    if framework == "jax":
        return 1.0
    ratio = NEWER.get(name, workload[4] or 1.5) if compiler == NEW else workload[4] or 1.5
    return (1 / ratio if variant == "flipped" else ratio) * SIDES[framework].replay


def _spread(name: str, variant: str) -> float:
    if variant == "single":
        return math.nan
    return 0.06 if name == "gemm" else 0.02


def ratio_columns(name: str, value: float, half: float) -> dict[str, float]:
    """The columns of a ratio of 4 rounds whose logarithm has this half-width; of one round for NaN."""
    known = half == half
    error, freedom = (half / 3.182446, 3.0) if known else (None, None)
    return of_one_run(name, LogRatio(math.log(value), error, freedom))


def _ends(value: float, half: float) -> list[float]:
    return [value, value * math.exp(-half), value * math.exp(half)]


def _failure(name: str, variant: str) -> tuple[str, str]:
    if variant == "one_failed":
        return "error", "XlaRuntimeError: 50% of_it & more"
    if name == "llama3_8b":
        return "oom", "no cell of jax is ok"
    return "ok", ""


def _replay(name: str, workload: tuple, variant: str, sides: list[str]):
    title, _, _, base, *_ = workload
    status, detail = _failure(name, variant)
    half = _spread(name, variant)
    for compiler in (OLD, NEW):
        jax = (base or (0, 0, 9000.0))[2]
        programs = {f: jax * ratio_of(name, workload, compiler, variant, f) for f in sides}
        ratio = programs["torch_xla"] / jax
        if name == "bert_base":
            programs[f"torch_xla+{EDIT}"] = jax * (1 + 0.1 * (ratio - 1))
        for program, ms in programs.items():
            row = {
                **{"workload": name, "title": title, "framework": program, "compiler": compiler},
                **{"device": "cpu", "status": status, "status_detail": detail},
                **{"rounds": 1 if variant == "single" else 4, "gated": True, "origin": "measured"},
            }
            if status == "ok":
                ends = zip(("", "_low", "_high"), _ends(ms, half), strict=True)
                row |= {f"replay{end}_ms": value for end, value in ends}
                row |= {"parity_rel_l2": 4e-7, "native_rel_l2": 5e-7}
                if "+" in program:
                    row |= ratio_columns("edited", ms / (jax * ratio), half)
                else:
                    row["native_ms"] = ms * 1.01
            yield row


def _split(name: str, workload: tuple, variant: str, pairs: list[Comparison]):
    title, kind, *_ = workload
    status, _ = _failure(name, variant)
    half = _spread(name, variant)
    for compiler, pair in product((OLD, NEW), pairs):
        row = {
            **{"workload": name, "title": title, "kind": kind, "framework": pair.subject},
            **{"baseline": pair.baseline, "compiler": compiler, "device": "cpu", "rounds": 0},
        }
        if status == "ok":
            ratio = ratio_of(name, workload, compiler, variant, pair.subject)
            runtime = 2.0 if name == "layernorm" else 1.005
            row["rounds"] = 1 if variant == "single" else 4
            row |= ratio_columns("ir", ratio, half)
            row |= ratio_columns("native", ratio * runtime, half)
            if compiler == OLD:
                lead = ratio / runtime if ratio * runtime > 1 else runtime / ratio
                row |= ratio_columns("runtime", runtime, 1.4 * half)
                row |= ratio_columns("lead", lead, 2.2 * half)
                row |= ratio_columns("control", 1.3 if name == "mha" else 1.01, half)
        yield row


def _op_times(name: str, workload: tuple, variant: str, sides: list[str]):
    title, _, _, base, *_ = workload
    if _failure(name, variant)[0] != "ok":
        return
    jax = (base or (0, 0, 9000.0))[2]
    for compiler, framework in product((OLD, NEW), sides):
        whole = jax * ratio_of(name, workload, compiler, variant, framework)
        parts = [jax * share for share in SHARES]
        parts[0] += whole - jax
        # The profile of one program is of slower calls than those that were timed.
        excess = 0.3 if (name, framework) == ("layernorm", "jax") else 0.02
        for kind, ms in zip(CLASSES, parts, strict=True):
            yield {
                **{"workload": name, "title": title, "framework": framework, "compiler": compiler},
                **{"device": "cpu", "class": kind, "ms": ms, "share": ms / whole, "operations": 3},
                **{"calls": 5, "profiled_ms": whole, "call_ms": whole / (1 + excess)},
                **{"excess": excess, "adds_up": excess <= op_times.ADDS_UP, "origin": "measured"},
            }


def _variants(name: str, workload: tuple, variant: str) -> dict[str, tuple[int, float]]:
    """Variant -> batch and GiB."""
    sizes = {"base": (2, workload[5])}
    if variant != "smoke":
        if name in ("resnet50", "vit_b16"):
            sizes |= {"b8": (8, 1.4), "b64": (64, 4.5)}
        if name == "llama3_8b":
            sizes = {"base": (2, 30.4), "b8s512": (8, 32.2)}
    return sizes


def _ahead(name: str, workload: tuple, variant: str, sides: list[str]):
    for target in ("tpu-v6e", "tpu-v5e"):
        for compiler in (OLD, NEW):
            for size, (batch, gib) in _variants(name, workload, variant).items():
                for framework in sides:
                    yield _compiled(
                        [name, workload[0], framework, target, compiler, "", size, batch],
                        512 if "s512" in size else 64,
                        gib * SIDES[framework].memory
                        + (30 if variant == "flipped" and name == "gpt_neo_1p3b" else 0),
                        variant,
                    )
    for framework in sides:
        head = [name, workload[0], framework, "tpu-v6e", NEW, DEFAULT_PRECISION, "base", 2]
        yield _compiled(head, 64, 0.9 * workload[5] * SIDES[framework].memory, variant)


def _compiled(head: list, sequence: int, gib: float, variant: str) -> list:
    usable = 31.25 if head[3] == "tpu-v6e" else 15.75
    if variant == "one_failed" and head[2] == "torch_xla":
        told = ["error", "", "", "INTERNAL: 100% of_it & more\nstack"]
        return [*head, sequence, *told, *[math.nan] * 9, "measured"]
    over = gib > usable
    refused = over and head[4] == NEW
    by = "compiler" if refused else "bytes"
    message = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm." if refused else ""
    told = ["ok", "oom" if over else "fits", by, message]
    sizes = [gib * 0.7, gib * 0.01, gib * 0.3, gib * 0.01, gib]
    parts = [math.nan] * 4 + [gib * GIB] if refused else [v * GIB for v in sizes]
    cycles = math.nan if refused else 1e6 * gib * SIDES[head[2]].cycles
    rest = [usable * GIB, 4.0, GIB, cycles]
    return [*head, sequence, *told, *parts, *rest, "measured"]


def _largest_batch(name: str, workload: tuple, variant: str, sides: list[str]):
    if variant == "one_failed":
        return
    for compiler in (OLD, NEW):
        for framework in sides:
            fits = 0 if name == "llama3_8b" else SIDES[framework].batch
            if variant == "flipped" and framework == "torch_xla":
                fits = 90
            over = fits + 1 if name != "vit_b16" else math.nan if framework == "jax" else fits + 30
            sequence = math.nan if name in ("resnet50", "vit_b16") else 64
            head = [name, workload[0], framework, "tpu-v6e", compiler, sequence]
            yield [*head, fits, over, "measured"]


def _metrics(name: str, workload: tuple, variant: str, sides: list[str]):
    for framework in sides:
        for level in ("raw", "normalised", "optimised:tpu-v6e"):
            head = [name, workload[0], framework, level]
            if variant == "one_failed" and framework == "torch_xla":
                yield [*head, "error", "no program_was lowered", *[math.nan] * 8, "measured"]
                continue
            many = SIDES[framework].operations
            same = name == "gemm" and level != "raw" and framework != "torch_xla_pending"
            digest = "same" if same else f"{framework}{level}"
            digest = "" if level.startswith("optimised") else digest
            yield [
                *[*head, "ok", "", many, json.dumps({"add": many, "fusion": many // 4})],
                *[4, 3, 2, 2**20, 17, digest, "measured"],
            ]


def _structure(name: str, workload: tuple, variant: str, sides: list[str]):
    has = {
        "flattening": name not in ("conv", "layernorm"),
        "layernorm": name == "layernorm" or workload[1] == "model",
        "qkv": name == "mha" or (workload[1] == "model" and name != "resnet50"),
        "contraction": name not in ("conv", "layernorm"),
    }
    there = {
        "flattening": ("preserved", "flattened"),
        "layernorm": ("fine-grained", "high-level"),
        "qkv": ("combined", "combined" if name == "mha" else "separate"),
        "contraction": ("explicit", "prepared"),
    }
    for claim, (jax, torch) in there.items():
        if variant == "flipped":
            jax, torch = torch, jax
        if name == "gemm":
            jax = torch = "both"
        for framework in sides:
            # The other frameworks' programs have the form of JAX's.
            word = torch if framework in ("torch_xla", "torch_tpu") else jax
            word = word if has[claim] else "not applicable"
            if variant == "one_failed" and framework == "torch_xla":
                word = "no program"
            yield [name, workload[0], claim, framework, word, "of 4 dots 2"]


def _graph() -> bytes:
    """A drawing of the size that a page takes."""
    import io

    import matplotlib

    matplotlib.use("pdf")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(7.1, 3.0))
    figure.text(0.5, 0.5, "Synthetic graph")
    out = io.BytesIO()
    figure.savefig(out, format="pdf", metadata={"CreationDate": None})
    pyplot.close(figure)
    return out.getvalue()
