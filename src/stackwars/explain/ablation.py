"""Compile a program under other flags, and without single passes: what each does to its values and its time.

Passes are those that changed this program, named by XLA's dumps. A variant may end its process: the worker says so
and goes on. A pass without which the optimised program is the same is not timed.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import XLA
from stackwars.explain.trial_outcomes import REFUSED, RIGHT, WRONG, Expected, Outcome, judge, outcome_of
from stackwars.explain.trials import CALLS, start
from stackwars.explain.workers import CompilerSpec, Crashed, Refused, TimedOut, Worker

BASE = "base"
SAME = 1e-4
"""Largest error of results that are only compared with those without a flag: rounding in another order."""
DISABLE, ALL_OFF = "xla_disable_hlo_passes", "xla_disable_all_hlo_passes"
YNN = "xla_cpu_experimental_ynn_fusion_type"
YNN_TYPES = ("DOT", "ELTWISE", "REDUCE", "INDIVIDUAL_DOT", "INDIVIDUAL_CONVOLUTION")
XLA_FLAGS: tuple[tuple[str, Any], ...] = (
    (YNN, ""),
    *((YNN, f"LIBRARY_FUSION_TYPE_{name}") for name in YNN_TYPES),
    ("xla_backend_optimization_level", "0"),
    ("xla_backend_optimization_level", "1"),
    ("xla_cpu_enable_fast_math", True),
    ("xla_cpu_multi_thread_eigen", False),
    ("xla_cpu_prefer_vector_width", "128"),
    ("xla_cpu_prefer_vector_width", "512"),
    ("xla_cpu_max_isa", "AVX2"),
    ("xla_cpu_parallel_codegen_split_count", "1"),
    ("xla_cpu_enable_concurrency_optimized_scheduler", False),
    ("xla_cpu_experimental_xnn_fusion_type", ""),
    ("xla_cpu_experimental_onednn_fusion_type", ""),
    ("xla_cpu_use_fusion_emitters", False),
    ("xla_llvm_disable_expensive_passes", True),
    ("xla_allow_excess_precision", False),
    (ALL_OFF, True),
)
"""Options and values, which must be of Python's types; a release does not know all of them."""
IREE_FLAGS: tuple[tuple[str, Any], ...] = (
    *(("iree-opt-level", f"O{level}") for level in (0, 1, 3)),
    ("iree-opt-data-tiling", "false"),
    ("iree-dispatch-creation-enable-split-reduction", "true"),
    ("iree-dispatch-creation-enable-aggressive-fusion", "true"),
    ("iree-llvmcpu-enable-ukernels", "all"),
    ("iree-llvmcpu-reassociate-fp-reductions", "false"),
    ("iree-llvmcpu-disable-vector-peeling", "true"),
    ("iree-llvmcpu-distribution-size", "1"),
    ("iree-global-opt-propagate-transposes", "false"),
    ("iree-opt-generalize-matmul", "true"),
    ("iree-opt-const-eval", "false"),
)
UNKNOWN_FLAG = re.compile(r"No such compile option|Unknown command line argument|is not a valid enum value")
NO_PASS = re.compile(r"pipeline-(?:start|end)|(?:adding|removing)_.*")
_METADATA = re.compile(r", metadata=\{[^}]*\}|HloModule [^\n]*")
_DUMP = re.compile(r"\.after_([\w-]+?)(?:\.before_([\w-]+))?\.txt$")


@dataclass
class Variant:
    """name: as in a row. options: added to the compiler's. A pass is left out, or a flag is set."""

    name: str
    options: dict[str, Any]
    is_pass: bool = False
    outcome: Outcome = field(default_factory=lambda: Outcome(REFUSED))
    compile_s: float | None = None
    changed: bool = True


def ablate(
    spec: CompilerSpec,
    text: str,
    arrays: Sequence[np.ndarray],
    expected: Expected | None = None,
    *,
    seconds: float = 0.1,
    budget_s: float = 180,
    timeout_s: float = 60,
    cap_gib: float | str = "auto",
) -> list[dict[str, Any]]:
    """Return a row for each variant: variant, flag, outcome, ratio, compile_s, changed.

    expected: the right results; without them the outcome `differs` says that results are not those of the first row,
    the program as it is. seconds: for timing each variant; 0 to time none. ratio: of paired rounds to the first row.
    None for what is not known. Flags that this compiler does not have give no row.
    """
    end = time.monotonic() + budget_s
    keys = {f"argument {number}": array for number, array in enumerate(arrays)}
    with Worker(spec, cap_gib=cap_gib, timeout_s=timeout_s) as worker:
        ablation = _Ablation(worker, text, keys, expected)
        tried = []
        for variant in ablation.variants():
            if time.monotonic() > end:
                break
            if ablation.compile(variant):
                tried.append(variant)
        ratios = ablation.time(tried, seconds) if seconds else {}
    outcomes = {RIGHT: "ok", WRONG: "wrong" if expected else "differs"}
    return [
        {
            "variant": variant.name,
            "flag": " ".join(f"{name}={value}" for name, value in variant.options.items()),
            "outcome": outcomes.get(variant.outcome.kind, variant.outcome.kind),
            "ratio": ratios.get(variant.name),
            "compile_s": variant.compile_s,
            "changed": variant.changed,
        }
        for variant in tried
    ]


def cures(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the variants under which a fault is gone: YNN off, single passes left out, other flags, all passes off."""
    right = [row for row in rows if row["outcome"] == "ok" and row["variant"] != BASE]
    names = [row["variant"] for row in right]
    if f"{YNN}=" in names:
        right = [row for row in right if f"{YNN}=LIBRARY" not in row["variant"]]

    def rank(row: dict[str, Any]) -> int:
        order = (
            row["variant"] == f"{YNN}=",
            row["variant"].startswith("-"),
            not row["variant"].startswith(ALL_OFF),
        )
        return [*order, True].index(True)

    return [{"flag": row["flag"], "outcome": "right"} for row in sorted(right, key=rank)]


def passes(worker: Worker, text: str, ran: bool = False) -> list[str]:
    """Return the passes that changed a program. ran: and then those that were next to run after one of these."""
    with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
        try:
            worker.compile("dump", text, {"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*"})
            worker.drop("dump")
        except (Crashed, TimedOut, Refused, MemoryError):
            pass  # what was dumped before is there
        changed, after = passes_of(sorted(path.name for path in Path(folder).iterdir()))
        return [*changed, *after] if ran else changed


def passes_of(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the passes that changed a program, and others that were next to run, by the names of a dump's files.

    >>> passes_of(["module_1.jit.0001.simplification.after_algsimp.before_dce.txt", "module_1.jit.debug_options"])
    (['algsimp'], ['dce'])
    """
    found = [match.groups() for name in names if (match := _DUMP.search(name))]
    changed = [after for after, _ in found if not NO_PASS.fullmatch(after)]
    others = [
        before for _, before in found if before and before not in changed and not NO_PASS.fullmatch(before)
    ]
    return list(dict.fromkeys(changed)), list(dict.fromkeys(others))


class _Ablation:
    """Variants of a program in one worker."""

    def __init__(
        self, worker: Worker, text: str, keys: dict[str, np.ndarray], expected: Expected | None
    ) -> None:
        self._worker, self._text, self._keys, self._expected = worker, text, keys, expected
        self._is_xla = worker.spec.module == XLA
        self._base, self._base_program = Variant(BASE, {}), ""
        self._compiled: set[str] = set()

    def variants(self) -> Iterator[Variant]:
        """Yield the program as it is, under each flag, and without each pass."""
        yield Variant(BASE, {})
        before = self._worker.spec.options.get(DISABLE, "")
        for name, value in XLA_FLAGS if self._is_xla else IREE_FLAGS:
            yield Variant(f"{name}={value}", {name: value})
        # A pass that crashes leaves no dump; it may be the next of one that does.
        ran = not self._base_program
        for name in passes(self._worker, self._text, ran) if self._is_xla else ():
            yield Variant(f"-{name}", {DISABLE: f"{before},{name}".strip(",")}, is_pass=True)

    def compile(self, variant: Variant) -> bool:
        """Compile a variant, run it and judge its results; return whether the compiler has its flag."""
        try:
            variant.compile_s = self._start(variant)
            program = self._program(variant)
            if variant.name == BASE:
                self._base, self._base_program = variant, program
            variant.changed = variant.name != BASE and (not program or program != self._base_program)
            if variant.is_pass and not variant.changed:
                variant.outcome = self._base.outcome
                self._worker.drop(variant.name)
            else:
                variant.outcome = self._judge(variant)
        except (Crashed, TimedOut, Refused, MemoryError) as error:
            variant.outcome = outcome_of(error)
            if isinstance(error, Crashed | TimedOut):
                self._compiled.clear()
            return not UNKNOWN_FLAG.search(variant.outcome.detail)
        return True

    def time(self, tried: list[Variant], seconds: float) -> dict[str, float]:
        """Return the ratio to the program as it is of the variants that ran and can differ in time."""
        ran = [one for one in tried if one.outcome.kind in (RIGHT, WRONG)]
        chosen = [one for one in ran if one.name == BASE or one.changed or not one.is_pass]
        if not chosen or chosen[0].name != BASE:
            return {}
        try:
            for variant in chosen:
                if variant.name not in self._compiled:
                    self._start(variant)
            found = self._worker.time([one.name for one in chosen], seconds)
        except (Crashed, TimedOut, Refused, MemoryError):
            return {}  # each ran alone; together they do not, and the rows stand without times
        base = found[BASE].wall_ns
        return {name: float(np.median(one.wall_ns / base)) for name, one in found.items()}

    def _start(self, variant: Variant) -> float:
        seconds = start(self._worker, variant.name, self._text, self._keys, variant.options)
        self._compiled.add(variant.name)
        return seconds

    def _program(self, variant: Variant) -> str:
        """Return the optimised program; "" of a compiler that does not show it."""
        return _METADATA.sub("", self._worker.hlo(variant.name)) if self._is_xla else ""

    def _judge(self, variant: Variant) -> Outcome:
        calls = [self._worker.run(variant.name) for _ in range(CALLS)]
        if self._expected is None:
            self._expected = Expected(calls[0], [SAME] * len(calls[0]), [None] * len(calls[0]))
        return judge(calls, self._expected)
