"""Edits of the synthetic results of :mod:`paper_fixture`, for :mod:`claim_worlds`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas

import studies_fixture
from compiler_fixture import ratio_columns
from stackwars.audits import audit_entries

BASIC = ["gemm", "ffn", "ffn_relu", "mha", "layernorm", "conv"]
MODELS = ["resnet50", "bert_base", "gpt2_small", "vit_b16", "gpt_neo_1p3b"]
OLD, NEW = "jaxlib-0.7.1", "jaxlib-0.10.2"
GIB = 2**30
Edit = Callable[[Path], None]


def as_it_is(folder: Path) -> None:
    """The fixture already is such a world."""


def edit(name: str, where: dict[str, object], **values: object) -> Edit:
    """Set columns of the rows of <name>.csv that have these values (one of them, for a list); a
    function gets the rows."""

    def apply(folder: Path) -> None:
        table = pandas.read_csv(folder / f"{name}.csv")
        rows = pandas.Series(True, index=table.index)
        for column, wanted in where.items():
            rows &= table[column].isin(wanted if isinstance(wanted, list) else [wanted])
        assert rows.any(), (name, where)
        for column, value in values.items():
            new = value(table[rows]) if callable(value) else value
            if isinstance(new, str) and column in table.columns:
                table[column] = table[column].astype(object)
            table.loc[rows, column] = new
        table.to_csv(folder / f"{name}.csv", index=False)

    return apply


def both(*edits: Edit) -> Edit:
    """One edit after the other."""

    def apply(folder: Path) -> None:
        for one in edits:
            one(folder)

    return apply


def ratio(stage: str, workloads: list[str], value: float, device: str = "cpu") -> Edit:
    """PyTorch over JAX, decided."""
    return edit(
        "ratios",
        {"workload": workloads, "framework": "torch_xla", "device": device},
        **{
            f"{stage}_ratio": value,
            f"{stage}_ratio_low": value * 0.98,
            f"{stage}_ratio_high": value * 1.02,
            f"{stage}_verdict": "slower" if value > 1 else "faster",
        },
    )


def on_tpu(folder: Path) -> None:
    """The CPU's cells and ratios, once more as those of a TPU."""
    frame, ratios = (pandas.read_csv(folder / f"{name}.csv") for name in ("frame", "ratios"))
    copied = frame[(frame.device == "cpu") & frame.framework.isin(["jax", "torch_xla"])]
    frame = pandas.concat([frame[frame.device != "tpu"], copied.assign(device="tpu")])
    frame.to_csv(folder / "frame.csv", index=False)
    pandas.concat([ratios, ratios.assign(device="tpu")]).to_csv(folder / "ratios.csv", index=False)


def stack(workload: str, framework: str, value: float) -> Edit:
    """A stack's steady state over the baseline's, decided."""
    where = {"workload": workload, "framework": framework}
    return edit("stacks", where, **studies_fixture.ratio(value, 0.01))


def everywhere(framework: str, value: float) -> Edit:
    """The same on every workload."""
    return both(*(stack(workload, framework, value) for workload in studies_fixture.WORKLOADS))


def trained(workload: str, value: float) -> Edit:
    """A training step in torch_xla over JAX's, decided."""
    where = {"workload": workload, "framework": "torch_xla"}
    return edit("beyond", where, **studies_fixture.ratio(value, 0.01))


def in_form(workload: str, value: float, stage: str = "steady") -> Edit:
    """One form of a function over the other, in every framework, decided."""
    word = "slower" if value > 1 else "faster"
    ends = {f"form_{stage}_low": value * 0.95, f"form_{stage}_high": value * 1.05}
    changed = {f"form_{stage}_ratio": value, f"form_{stage}_verdict": word, **ends}
    return edit("beyond", {"workload": workload, "status": "ok"}, **changed)


def parts(word: str) -> Edit:
    """What each workload's time depends on most."""
    share = {"share": 0.8, "share_low": 0.7, "share_high": 0.9}
    rest = {"share": 0.1, "share_low": 0.0, "share_high": 0.2}
    others = [part for part in ("frontend", "compiler", "both") if part != word]
    return both(
        edit("matrix_effects", {"effect": word}, **share),
        edit("matrix_effects", {"effect": others}, **rest),
    )


def over_previous(compiler: str, word: str, value: float) -> Edit:
    """What a compiler takes over the one before it, for every program."""
    ends = {"previous_low": value * 0.95, "previous_high": value * 1.05}
    values = {"previous_ratio": value, "previous_verdict": word, **ends}
    return edit("matrix", {"compiler": compiler}, **values)


def cells(
    framework: str, workloads: list[str] | None = None, device: str = "cpu", **values
) -> Edit:
    """Columns of ok cells in the frame."""
    where = {"framework": framework, "device": device, "status": "ok"}
    return edit("frame", where | ({"workload": workloads} if workloads else {}), **values)


def split(workloads: list[str] | None, compiler: str | list[str], **values: object) -> Edit:
    """Columns of the split where there is a replay."""
    there = [*(workloads or [*BASIC, *MODELS])]
    return edit("split", {"workload": there, "compiler": compiler}, **values)


def ahead(workloads: list[str], frameworks: list[str], compilers: list[str], **values) -> Edit:
    """Columns of compilations for the original's device."""
    where = {"workload": workloads, "framework": frameworks, "compiler": compilers}
    return edit("compile_ahead", where | {"target": "tpu-v6e"}, **values)


def at_default_precision(**values: object) -> Edit:
    """Columns of the programs whose products were edited to the default precision."""
    return edit("compile_ahead", {"edit": "default_precision"}, **values)


def form(claim: str, framework: str, verdict: str) -> Edit:
    """The form of a framework's programs, of those that the claim is about."""
    where = {"claim": claim, "framework": framework}
    known = ["preserved", "flattened", "fine-grained", "high-level", "combined", "separate"]
    known += ["explicit", "prepared", "both"]
    return edit("structure", where | {"verdict": known}, verdict=verdict)


def in_products(framework: str, side: int) -> Edit:
    """A framework's products in the form of the baseline's (0) or of the subject's (1)."""
    forms = {"flattening": ("preserved", "flattened"), "contraction": ("explicit", "prepared")}
    return both(*(form(claim, framework, words[side]) for claim, words in forms.items()))


def program(workload: str, framework: str, **values: object) -> Edit:
    """Columns of a program as it was emitted."""
    return edit(
        "ir_metrics", {"workload": workload, "framework": framework, "level": "raw"}, **values
    )


def compiled(framework: str, **values: object) -> Edit:
    """Columns of a framework's programs as they were compiled for the original's device."""
    return edit("ir_metrics", {"framework": framework, "level": "optimised:tpu-v6e"}, **values)


def effect(compiler: str, word: str, value: float) -> Edit:
    """LayerNorm's IR effect."""
    ends = {"ir_ratio": value, "ir_ratio_low": value * 0.98, "ir_ratio_high": value * 1.02}
    return split(["layernorm"], compiler, ir_verdict=word, **ends)


def pretransposed(share: float) -> Edit:
    """BERT-Base's edited program as one with pretransposed weights, which closes this share."""

    def apply(folder: Path) -> None:
        table = pandas.read_csv(folder / "replay.csv")
        edited = table.framework.str.contains("+", regex=False)
        for at in table[edited].index:
            here = table[
                (table.workload == table.workload[at]) & (table.compiler == table.compiler[at])
            ]
            ms = here.set_index("framework").replay_ms
            new = ms["torch_xla"] - share * (ms["torch_xla"] - ms["jax"])
            table.loc[at, "replay_ms"] = new
            for column, value in ratio_columns("edited", new / ms["torch_xla"], 0.01).items():
                table.loc[at, column] = value
        table.loc[edited, "framework"] = "torch_xla+pretransposed_weights"
        table.to_csv(folder / "replay.csv", index=False)

    return apply


def audited(last: str) -> Edit:
    """Two audits that were run, the second with this verdict."""
    entries = [
        audit_entries.entry("fences", "pass", {}, "x"),
        audit_entries.entry("clock", last, {}, "x"),
    ]
    return lambda folder: audit_entries.write(entries, folder / "audits.json")
