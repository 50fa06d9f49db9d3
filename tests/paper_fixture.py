"""SYNTHETIC results for the tests of the paper. No number here was ever measured.

``write(folder, variant)`` writes frame.csv, calls.csv, processes.csv, ratios.csv, context.json,
listings and the files of :mod:`compiler_fixture` with the shape of a real run.
Variants: full, smoke, one_failed (every torch_xla cell
failed), nothing (no cell was run), invalid (pairs that failed an audit), single (one round),
flipped (full with every steady ratio inverted), two_subjects (torch_xla_pending has programs too).
"""

from __future__ import annotations

import atexit
import json
import math
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pandas

import compiler_fixture
import studies_fixture
from stackwars.measure import PROTOCOL
from stackwars.results import held_out, losses, variance
from stackwars.results.ratios import COLUMNS as RATIO_COLUMNS
from stackwars.study.comparisons import CELLS, PROGRAMS, baseline, comparisons
from stackwars.study.config import load

# workload: title, kind, table, JAX (first, second, steady ms), torch/JAX steady ratio, GiB, GFLOP
WORKLOADS = {
    "gemm": ("GEMM", "basic", "I", (62.0, 1.3, 0.81), 1.02, 0.32, 0.067),
    "ffn": ("FFN", "basic", "I", (190.0, 62.0, 60.4), 1.31, 0.45, 8.6),
    "ffn_relu": ("FFN (ReLU)", "basic", "I", (150.0, 48.0, 47.1), 1.22, 0.45, 8.6),
    "mha": ("MHA", "basic", "I", (240.0, 9.1, 8.7), 1.44, 0.36, 0.62),
    "layernorm": ("LayerNorm", "basic", "I", (88.0, 0.6, 0.21), 0.71, 0.31, 0.0),
    "conv": ("Convolution", "basic", "I", (120.0, 75.0, 74.2), 1.01, 0.4, 7.4),
    "resnet50": ("ResNet-50", "model", "II", (3900.0, 101.0, 99.3), 2.02, 1.1, 16.4),
    "bert_base": ("BERT-Base", "model", "II", (2700.0, 143.0, 140.2), 1.91, 1.6, 22.3),
    "gpt2_small": ("GPT-2 Small", "model", "II", (3300.0, 451.0, 444.0), 0.76, 1.9, 31.8),
    "vit_b16": ("ViT-B/16", "model", "III", (2900.0, 391.0, 387.0), 1.25, 1.5, 70.1),
    "gpt_neo_1p3b": ("GPT-Neo 1.3B", "model", "III", (9800.0, 2600.0, 2560.0), 2.88, 6.9, 336.0),
    "llama3_8b": ("LLaMA-3.1 8B", "model", "III", None, None, 18.0, 1920.0),
}
VARIANTS = (
    "full",
    "smoke",
    "one_failed",
    "nothing",
    "invalid",
    "single",
    "flipped",
    "two_subjects",
)
STAGES = ("first", "second", "steady")
SPREAD = {"gemm": 0.06, "conv": 0.02}  # half-width of the log interval; 0.03 elsewhere
ONE_CORE = {
    "gemm": 1.5,
    "layernorm": 1.4,
}  # torch/JAX on cpu-1t, where it is another than on all cores
# Series of another class than "steady at once", or, under pending, "warm-up" of 2 points.
CLASSES = {
    ("layernorm", "jax"): ("warm-up", 2),
    ("ffn_relu", "torch_xla"): ("warm-up", 5),
    ("conv", "torch_xla"): ("slowing down", 1),
    ("mha", "torch_xla"): ("no steady state", 9),
    ("gpt_neo_1p3b", "torch_xla_pending"): ("steady at once", 1),
}
UNGATED = {("vit_b16", "jax"), ("vit_b16", "torch_xla")}  # cells without enough uncontended blocks
CONTENDED = {("resnet50", "torch_xla_pending")}


def write(folder: Path, variant: str = "full") -> Path:
    """Write every input of the paper's steps for one variant into ``folder``; returns it."""
    if variant not in VARIANTS:
        raise ValueError(f"expected one of {', '.join(VARIANTS)}; came {variant}")
    shutil.copytree(_made(variant), folder, dirs_exist_ok=True)
    return folder


@cache
def _made(variant: str) -> Path:
    """A folder with the files of a variant, made once: hundreds of tests begin with a copy."""
    folder = Path(tempfile.mkdtemp(prefix="stackwars-fixture-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    context = _context(variant)
    frame = pandas.DataFrame([_cell(*key, variant) for key in _grid()])
    frame["baseline"] = [baseline(context, framework) or "" for framework in frame.framework]
    frame[list(losses.COLUMNS)] = float("nan")  # nothing here is trained
    frame["nodes"] = ""  # nor measured on a cluster
    frame.to_csv(folder / "frame.csv", index=False)
    ratios = _ratios(frame, variant)
    ratios.to_csv(folder / "ratios.csv", index=False)
    _calls(frame, variant).to_csv(folder / "calls.csv", index=False)
    processes_of(frame, "steady_ms", variant).to_csv(folder / "processes.csv", index=False)
    (folder / "context.json").write_text(json.dumps(context))
    _variance(variant).to_csv(folder / "variance.csv", index=False)
    compared = "" if variant == "smoke" else "Of 30 claims, 28 are reproduced."
    pandas.DataFrame(columns=list(held_out.COLUMNS)).to_csv(folder / "held_out.csv", index=False)
    (folder / "reproduction.json").write_text(json.dumps({"schema": 1, "summary": compared}))
    _listings(folder / "listings", variant)
    compiler_fixture.write(folder, WORKLOADS, variant, comparisons(context, PROGRAMS))
    rounds = {"nothing": 0, "single": 1}.get(variant, 4)
    studies_fixture.write(folder, rounds)
    replay = pandas.read_csv(folder / "replay.csv").assign(gated=True)
    processes_of(replay, "replay_ms", variant).to_csv(folder / "replayed.csv", index=False)
    return folder


def _grid():
    """As the harness orders cells: by device, then workload, then framework."""
    for device, frameworks in {
        "cpu": ("jax", "torch_xla", "torch_xla_pending"),
        "cpu-1t": ("jax", "torch_xla"),
        "cuda": ("jax",),
        "tpu": ("jax", "torch_xla"),
    }.items():
        for workload, (_, kind, *_rest) in WORKLOADS.items():
            for framework in frameworks:
                # Models have no cells on one core, basic operations none with work pending.
                absent = "cpu-1t" if kind == "model" else "torch_xla_pending"
                if absent not in (device, framework):
                    yield workload, framework, device


def _status(workload: str, framework: str, device: str, variant: str) -> tuple[str, str]:
    if device in ("cuda", "tpu"):
        return "not run", f"no {device} on this machine"
    if variant == "nothing":
        return "not run", "asked for, never started"
    if variant == "one_failed" and framework.startswith("torch_xla"):
        return "error", "RuntimeError: 100% of_it & more\nlast line"
    if workload == "llama3_8b" and variant != "smoke":
        return "oom", "refused at build: 1.05e+09 bytes"
    if variant == "invalid" and workload == "mha":
        return "invalid", "outputs disagree: relative L2 error 3.1e-02 over 1e-05"
    if variant == "invalid" and workload == "gemm" and framework == "torch_xla":
        return "invalid", "below the floor: 0.0002 ms, at least 0.1 ms"
    return "ok", ""


def _times(workload: str, framework: str, device: str, variant: str) -> dict[str, float]:
    base = WORKLOADS[workload][3] or (21000.0, 9000.0, 8800.0)
    ratio = WORKLOADS[workload][4] or 1.5
    if device == "cpu-1t":
        ratio = ONE_CORE.get(workload, ratio)
        base = [1.8 * value for value in base]
    if variant == "flipped":
        ratio = 1 / ratio
    scale = 0.05 if variant == "smoke" else 1.0
    first, second, steady = (value * scale for value in base)
    if framework == "jax":
        return {"first": first, "second": second, "steady": steady}
    steady *= ratio
    own_first = first * (0.7 if workload == "gemm" else 1.2)
    slow_again = framework == "torch_xla_pending"
    return {
        "first": own_first * (1.5 if slow_again else 1),
        "second": own_first * 0.9 if slow_again else steady * 1.05,
        "steady": steady,
    }


def _cell(workload: str, framework: str, device: str, variant: str) -> dict:
    title, kind, table, _, _, memory, gflop = WORKLOADS[workload]
    status, detail = _status(workload, framework, device, variant)
    cell = {
        "workload": workload,
        "title": title,
        "kind": kind,
        "table": table,
        "framework": framework,
        "device": device,
        "preset": "smoke" if variant == "smoke" else "full",
        "status": status,
        "status_detail": detail,
        "origin": "measured",
    }
    ran = status != "not run"
    cell["rounds"] = (1 if variant == "single" or status == "oom" else 4) if ran else 0
    stopped = "decided" if kind == "basic" else "budget"
    cell["stop_reason"] = stopped if status in ("ok", "invalid") else ""
    ok = status == "ok"
    times = _times(workload, framework, device, variant)
    half = math.nan if variant == "single" else SPREAD.get(workload, 0.03)
    for stage in STAGES:
        value = times[stage] if ok else math.nan
        cell[f"{stage}_ms"] = value
        cell[f"{stage}_low_ms"] = value * math.exp(-half)
        cell[f"{stage}_high_ms"] = value * math.exp(half)
    twice = framework == "torch_xla_pending"
    usual = ("warm-up", 2) if twice else ("steady at once", 1)
    steady_class, warmup = CLASSES.get((workload, framework), usual)
    gated = (workload, framework) not in UNGATED
    trace = times["first"] * (0.15 if framework == "jax" else 0.3)
    heavy = memory * 2**30 * (1 if framework == "jax" else 1.15)
    numbers = {
        "steady_processes": cell["rounds"],
        "steady_calls": 180,
        "gated": gated,
        "kept_share": 0.97 if gated else 0.3,
        "steady_ungated_ms": times["steady"] * 1.02,
        "steady_ungated_low_ms": times["steady"] * 1.02 * math.exp(-2 * half),
        "steady_ungated_high_ms": times["steady"] * 1.02 * math.exp(2 * half),
        "steady_class": steady_class,
        "warmup_points": warmup,
        "returned_ms": times["steady"] * (0.1 if framework == "jax" else 0.98),
        "returned_share": 0.1 if framework == "jax" else 0.98,
        **dict.fromkeys(("graphs", "graph_breaks", "kernels"), math.nan),
        "used_cores": 1.0 if device == "cpu-1t" else 1.9,
        "threads": 1 if device == "cpu-1t" else 3,
        "cache_hits_first": 0,
        "items_per_s": 2000 / times["steady"],
        "gflop_per_s": gflop / times["steady"] * 1000,
        "peak_rss_bytes": heavy,
        "parity_rel_l2": math.nan if framework == "jax" else 8e-7,
        "compiles_first": 1,
        "compiles_second": 1 if twice else 0,
        "compiles_steady": 0,
        "first_trace_ms": trace,
        "first_compile_ms": math.nan if twice else times["first"] * 0.6,
        "first_execute_ms": times["first"] * 0.4 - trace,
        "floor_ms": times["steady"] * 0.3,
    }
    cell |= {key: value if ok else math.nan for key, value in numbers.items()}
    if status == "invalid":
        # An audit blanks the times; what was counted and checked stays.
        kept = {"peak_rss_bytes", "compiles_first", "compiles_second", "compiles_steady"}
        kept |= {
            "gated",
            "kept_share",
            "steady_class",
            "warmup_points",
            "used_cores",
            "threads",
            "cache_hits_first",
        }
        cell |= {key: numbers[key] for key in kept} | {"parity_rel_l2": math.inf}
    if status == "oom":
        cell["peak_rss_bytes"] = 4 * 2**30
    return cell | {
        "flops": gflop * 1e9,
        "parameter_bytes": heavy * 0.4,
        "wall_s": 12.0 if status != "not run" else math.nan,
        "dtype": "float32",
        "precision": "HIGHEST" if ok and cell["workload"] != "layernorm" else "",
    }


def _ratios(frame: pandas.DataFrame, variant: str) -> pandas.DataFrame:
    ok = frame[frame.status == "ok"].set_index(["workload", "device", "framework"])
    rows = []
    for workload, device, framework in ok.index:
        one = ok.loc[(workload, device, framework)]
        if (workload, device, one.baseline) not in ok.index:
            continue
        base = ok.loc[(workload, device, one.baseline)]
        half = math.nan if variant == "single" else SPREAD.get(workload, 0.03)
        row = {"workload": workload, "device": device, "framework": framework}
        row |= {"baseline": one.baseline, "rounds": one.rounds, "steady_rounds": one.rounds}
        row["steady_interleaved"] = framework == "torch_xla"
        row["steady_gated"] = one.gated and base.gated
        row["contended"] = (workload, framework) in CONTENDED
        for stage in STAGES:
            row |= stage_columns(stage, one[f"{stage}_ms"] / base[f"{stage}_ms"], half)
        row["steady_boot_low"] = row["steady_ratio"] * math.exp(-0.8 * half)
        row["steady_boot_high"] = row["steady_ratio"] * math.exp(0.8 * half)
        rows.append(row)
    return pandas.DataFrame(rows, columns=list(RATIO_COLUMNS))


def stage_columns(stage: str, ratio: float, half: float) -> dict:
    """A stage's columns of a ratio whose logarithm has this half-width."""
    known = half == half
    if not known:
        verdict = "not decided"
    elif abs(math.log(ratio)) > half:
        verdict = "slower" if ratio > 1 else "faster"
    else:
        close = abs(math.log(ratio)) + half <= math.log(1.05)
        verdict = "no difference found" if close else "unresolved"
    p = math.nan if not known else 0.0004 if verdict in ("slower", "faster") else 0.31
    values = {"p": p / 4, "p_holm": p, "verdict": verdict, "detectable": 1.4 * half}
    return {
        **{f"{stage}_{name}": value for name, value in values.items()},
        **compiler_fixture.ratio_columns(stage, ratio, half),
    }


def rewrite_series(folder: Path) -> None:
    """calls.csv and processes.csv once more, for a frame whose times were changed."""
    frame = pandas.read_csv(folder / "frame.csv")
    _calls(frame, "full").to_csv(folder / "calls.csv", index=False)
    processes_of(frame, "steady_ms", "full").to_csv(folder / "processes.csv", index=False)


def _calls(frame: pandas.DataFrame, variant: str) -> pandas.DataFrame:
    noise = random.Random(7)
    rows = []
    for _, cell in frame[frame.status == "ok"].iterrows():
        for repetition in range(1 if variant == "single" else 4):
            for call in range(1, 21):
                name = STAGES[min(call, 3) - 1]
                value = cell[f"{name}_ms"] * math.exp(noise.gauss(0, 0.03))
                key = (cell.workload, cell.framework, cell.device, repetition, call)
                rows.append((*key, value))
    names = ["workload", "framework", "device", "repetition", "call", "latency_ms"]
    return pandas.DataFrame(rows, columns=names)


def processes_of(cells: pandas.DataFrame, value: str, variant: str) -> pandas.DataFrame:
    """processes.csv or replayed.csv: four processes of each cell, each a percent above the one before."""
    keys = [name for name in ("workload", "framework", "device", "compiler") if name in cells]
    rows = [
        {**cell[keys], "repetition": n, "value_ms": ms, "gated": cell.gated, "ungated_ms": ms}
        for _, cell in cells[cells.status == "ok"].iterrows()
        for n in range(1 if variant == "single" else 4)
        for ms in [cell[value] * (1 + 0.01 * n)]
    ]
    columns = [*keys, "repetition", "value_ms", "gated", "ungated_ms"]
    return pandas.DataFrame(rows, columns=columns)


def _context(variant: str) -> dict:
    smoke = variant == "smoke"
    sizes = {name: {"batch": 2, "sequence": 4 if smoke else 64} for name in WORKLOADS}
    sizes["gemm"] = {"m": 8, "k": 16, "n": 8} if smoke else {"m": 128, "k": 256, "n": 1024}
    architecture = ("layers", "hidden", "heads", "kv_heads", "intermediate", "vocabulary")
    sizes["llama3_8b"] |= dict.fromkeys(architecture, 4 if smoke else 14336)
    return {
        "preset": "smoke" if smoke else "full",
        "protocol": PROTOCOL,
        "origin": "measured",
        "comparisons": [
            {"subject": "torch_xla", "baseline": "jax", "of": [CELLS, PROGRAMS]},
            {
                "subject": "torch_xla_pending",
                "baseline": "jax",
                "of": [CELLS, PROGRAMS] if variant == "two_subjects" else [CELLS],
            },
        ],
        "studies": {
            "tables": {
                "frameworks": ["jax", "torch_xla", "torch_xla_pending", "numpy"],
                "programs": ["jax", "torch_xla", "torch_xla_pending"],
                "compilers": [compiler_fixture.OLD, compiler_fixture.NEW],
                "workloads": list(WORKLOADS),
            },
            "successor": {"frameworks": [], "compilers": [], **compiler_fixture.SUCCESSOR},
        },
        "study": "tables",
        "beside": load()["paper"]["beside"],
        "native_compiler": compiler_fixture.OLD,
        "machine": {}
        if variant == "nothing"
        else {
            "cpu_model": "Synthetic(R) CPU_9000 & Co @ 2.00GHz",
            "cores": 2,
            "memory_bytes": 24 * 2**30,
            "kernel": "6.1.0-synthetic",
            "os": "Debian GNU/Linux 12 (bookworm)",
        },
        "date_utc": "2026-01-02T03:04:05Z",
        "git_revision": "0123456789abcdef0123456789abcdef01234567",
        "git_dirty": variant == "smoke",
        "versions": {
            "python": "3.11.2",
            "jax": "0.7.1",
            "jaxlib": "0.7.1",
            "flax": "0.12.0",
            "transformers(jax)": "4.57.6",
            "torch": "2.9.0",
            "torch_xla": "2.9.0",
        },
        "devices": {
            "cpu": {"present": True},
            "cpu-1t": {"present": True},
            "cuda": {"present": False, "reason": "jax found no CUDA device"},
            "tpu": {"present": False, "reason": "no TPU chip found"},
        },
        "peak": {"gflop_per_s": 101.0, "copy_gb_per_s": 11.2} if variant != "nothing" else {},
        "peaks": {
            "cpu": {"gflop_per_s": 101.0, "copy_gb_per_s": 11.2},
            "cpu-1t": {"gflop_per_s": 56.0, "copy_gb_per_s": 9.8},
        }
        if variant != "nothing"
        else {},
        "nodes": [],
        "settings": {
            "rounds_min": 1 if variant == "single" else 3,
            "rounds_max": 1 if variant == "single" else 8,
            "round_budget_s": 130,
            "block_calls": {"gemm": 16, "layernorm": 64},
            "input_sets": 2,
            "padding_bytes": 4096,
            "gate": 0.02,
            "interleaved_slice_seconds": 0.05,
            "interleaved_seconds": 3.0,
            "max_other_processes_share": 0.05,
            "min_uncontended_blocks": 3,
            "contended": 0.2,
            "level_band": 0.05,
            "negligible": 0.05,
            "power": 0.8,
            "bootstrap_draws": 2000,
            "seed": 0,
            "matmul_precision": "highest",
            "memory_cap_bytes": 0 if variant == "nothing" else 18 * 2**30,
            "timeout_s": 900,
            "steady_min_blocks": 3,
            "steady_max_blocks": 300,
            "steady_seconds": 1.0,
            "parity_rel_l2": 1e-5,
        },
        "wall_s": 0.0 if variant == "nothing" else 1800.0,
        "overhead_ratio": None if variant == "nothing" else 1.06,
        "sizes": sizes,
    }


def _variance(variant: str) -> pandas.DataFrame:
    """A column of levels for each quantity and device; of one run there are none above the round."""
    rows = [
        [quantity, device, level, math.nan if n > 2 or variant == "nothing" else 0.01 * (n + 1), 5]
        for quantity in variance.QUANTITIES
        for device in ("cpu", "cpu-1t")
        for n, level in enumerate(variance.LEVELS)
    ]
    return pandas.DataFrame(rows, columns=list(variance.COLUMNS))


def _listings(folder: Path, variant: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "style.tex").write_text(
        r"\lstdefinestyle{stablehlo}{basicstyle=\ttfamily\tiny,breaklines=true,columns=fullflexible}"
    )
    if variant == "nothing":
        return
    body = "%0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0]\n" * 12
    # One more than is asked for: what the paper does not name, it does not print.
    printed = load()["paper"]
    for name in ("ffn", *printed["listings"], *(f"forms-{name}" for name in printed["forms"])):
        one = "\\begin{lstlisting}[style=stablehlo]\n" + body + "\\end{lstlisting}\n"
        pane = "\\begin{minipage}[t]{0.485\\textwidth}\n" + one + "\\end{minipage}"
        (folder / f"{name}.tex").write_text(
            f"\\begin{{figure*}}\n{pane}\\hfill\n{pane}\n\\caption{{Synthetic listing.}}\n"
            f"\\label{{fig:listing-{name}}}\n\\end{{figure*}}\n"
        )


if __name__ == "__main__":
    import sys

    write(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "full")
