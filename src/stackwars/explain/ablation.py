"""Compile a program under other flags, and without single passes: what each does to its values and its time.

Passes are those that changed this program, named by XLA's dumps. A variant may end its process: the worker says so
and goes on. A pass without which the optimised program is the same is not timed.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.judge import Expected, output_values
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import fixed
from stackwars.core.types import plain
from stackwars.explain.answer import Variant
from stackwars.explain.reduction import CALLS, judged

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
LOOSENING = ("xla_cpu_enable_fast_math=True",)
"""Flags that allow other values: a program that is right under one is so by accident."""
UNKNOWN_FLAG = re.compile(r"No such compile option|Unknown command line argument|is not a valid enum value")
NO_PASS = re.compile(r"pipeline-(?:start|end)|(?:adding|removing)_.*")
_METADATA = re.compile(r", metadata=\{[^}]*\}|HloModule [^\n]*")
_DUMP = re.compile(r"\.after_([\w-]+?)(?:\.before_([\w-]+))?\.txt$")


@dataclass
class _Setting:
    """name: of the variant. options: added to the compiler's. A pass is left out, or a flag is set."""

    name: str
    options: dict[str, Any]
    is_pass: bool = False
    outcome: Outcome = field(default_factory=lambda: Outcome(Status.NOT_RUN))
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
) -> list[Variant]:
    """Return a row for each variant, the program as it is first.

    expected: the right results; without them the outcome `differs` says that results are not those of the first row.
    seconds: for timing each variant; 0 to time none. ratio: of paired rounds to the first row; None for what is not
    known. Flags that this compiler does not have give no row.
    """
    end = time.monotonic() + budget_s
    with Worker(spec, cap_gib=cap_gib, timeout_s=timeout_s) as worker:
        ablation = _Ablation(worker, text, arrays, expected)
        tried = []
        for setting in ablation.settings():
            if time.monotonic() > end:
                break
            if ablation.try_setting(setting):
                tried.append(setting)
        ratios = ablation.time(tried, seconds) if seconds else {}
    differs = {} if expected else {Status.WRONG: "differs"}
    return [
        Variant(
            setting.name,
            " ".join(f"{name}={value}" for name, value in setting.options.items()),
            differs.get(setting.outcome.status, str(setting.outcome.status)),
            ratios.get(setting.name),
            setting.compile_s,
            setting.changed,
        )
        for setting in tried
    ]


def cures(rows: Sequence[Variant]) -> list[str]:
    """Return the flags under which a fault is gone: YNN off, single passes left out, other flags, all passes off.

    A flag that loosens values is none.
    """
    right = [row for row in rows if row.outcome == Status.OK and row.variant not in (BASE, *LOOSENING)]
    if any(row.variant == f"{YNN}=" for row in right):
        right = [row for row in right if f"{YNN}=LIBRARY" not in row.variant]
    right.sort(
        key=lambda row: (row.variant != f"{YNN}=", row.variant[0] != "-", row.variant.startswith(ALL_OFF))
    )
    return [row.flag for row in right]


def passes(worker: Worker, text: str, ran: bool = False) -> list[str]:
    """Return the passes that changed a program. ran: and then those that were next to run after one of these."""
    with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
        # What was dumped before a failure is there.
        with contextlib.suppress(Failed):
            worker.load("dump", text, {"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*"})
            worker.drop("dump")
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
    def __init__(
        self, worker: Worker, text: str, arrays: Sequence[np.ndarray], expected: Expected | None
    ) -> None:
        self._worker, self._text, self._expected = worker, text, expected
        self._arguments = [fixed(array, f"argument {number}") for number, array in enumerate(arrays)]
        self._base, self._base_program = _Setting(BASE, {}), ""

    def settings(self) -> Iterator[_Setting]:
        """Yield the program as it is, under each flag, and without each pass."""
        yield _Setting(BASE, {})
        is_xla, before = self._worker.spec.is_xla, self._worker.spec.options.get(DISABLE, "")
        for name, value in XLA_FLAGS if is_xla else IREE_FLAGS:
            yield _Setting(f"{name}={value}", {name: value})
        # A pass that crashes leaves no dump; it may be the next of one that does.
        ran = not self._base_program
        for name in passes(self._worker, self._text, ran) if is_xla else ():
            yield _Setting(f"-{name}", {DISABLE: f"{before},{name}".strip(",")}, is_pass=True)

    def try_setting(self, setting: _Setting) -> bool:
        """Compile a variant, call it and judge its results; return whether the compiler has its flag."""
        try:
            self._load(setting)
            # A compiler other than XLA does not show the optimised program.
            shown = self._worker.hlo(setting.name) if self._worker.spec.is_xla else ""
            program = _METADATA.sub("", shown)
            if setting.name == BASE:
                self._base, self._base_program = setting, program
            setting.changed = setting.name != BASE and (not program or program != self._base_program)
            if setting.is_pass and not setting.changed:
                setting.outcome = self._base.outcome
                self._worker.drop(setting.name)
            else:
                setting.outcome = self._judge(setting)
        except Failed as failed:
            setting.outcome = failed.outcome
            return not UNKNOWN_FLAG.search(setting.outcome.detail)
        return True

    def time(self, tried: list[_Setting], seconds: float) -> dict[str, float]:
        """Return the ratio to the program as it is of the variants that ran and can differ in time."""
        ran = [one for one in tried if one.outcome.status in (Status.OK, Status.WRONG, Status.NOT_JUDGED)]
        chosen = [one for one in ran if one.name == BASE or one.changed or not one.is_pass]
        if not chosen or chosen[0].name != BASE:
            return {}
        try:
            for setting in chosen:
                # A variant that ended the process took those before it along.
                if not self._worker.is_loaded(setting.name):
                    self._load(setting)
            times = self._worker.time([one.name for one in chosen], seconds)
        except Failed:
            return {}  # each ran alone; together they do not, and the rows stand without times
        base = times[BASE].wall_ns
        return {name: float(np.median(one.wall_ns / base)) for name, one in times.items()}

    def _load(self, setting: _Setting) -> None:
        setting.compile_s = self._worker.load(setting.name, self._text, setting.options)
        self._worker.place(setting.name, self._arguments)

    def _judge(self, setting: _Setting) -> Outcome:
        calls = [self._worker.call(setting.name) for _ in range(CALLS)]
        if self._expected is None:
            values = output_values(tuple(map(plain, calls[0])), 0)
            self._expected = Expected("the program as it is", limits=dict.fromkeys(values, SAME), values=values)
        return judged(calls, self._expected).outcome
