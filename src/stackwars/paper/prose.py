"""The filters of the paper's templates: numbers with units, and lists of findings as words."""

from __future__ import annotations

from collections.abc import Callable

from stackwars.frameworks import title
from stackwars.paper import latex
from stackwars.paper.claim_prose import became, spread
from stackwars.results.read_compilers import compiler_title


def ratio_text(finding: dict) -> latex.Latex:
    """``1.31 (1.27 to 1.35)``: a ratio with its interval, where it has one."""
    text = latex.number(finding["ratio"])
    if finding["low"] is None or finding["high"] is None:
        return text
    return latex.Latex(
        f"{text} ({latex.number(finding['low'])} to {latex.number(finding['high'])})"
    )


def percent(share: float) -> latex.Latex:
    """A share of 1 as a whole percentage."""
    return latex.Latex(rf"\qty{{{100 * share:.0f}}}{{\percent}}")


def _series(found: list[dict], pattern: str, *parts: Callable[[dict], str]) -> latex.Latex:
    """Findings as ``a, b and c``, each one its parts in the pattern."""
    return latex.series(latex.Latex(pattern.format(*(p(f) for p in parts))) for f in found)


def share_range(found: list[dict]) -> latex.Latex:
    """The shares of several findings from the minimum to the maximum, as percentages."""
    shares = sorted(finding["share"] for finding in found)
    ends = dict.fromkeys((percent(shares[0]), percent(shares[-1])))
    return latex.Latex(" to ".join(ends))


def _title(finding: dict) -> latex.Latex:
    return latex.escape(finding["title"])


def _framework(finding: dict) -> latex.Latex:
    return latex.escape(title(finding["framework"]))


def _published_ratio(finding: dict) -> latex.Latex:
    return latex.number(finding["published_ratio"])


def _slowdown(finding: dict) -> latex.Latex:
    return latex.number(finding["second_over_steady"])


def _generations(finding: dict) -> str:
    return f"{latex.number(finding['older'])} in the older, {latex.number(finding['newer'])} in the newer"


def _runtime(finding: dict) -> latex.Latex:
    return latex.number(finding["runtime_ratio"])


def _compiler(finding: dict) -> latex.Latex:
    return latex.escape(compiler_title(finding["compiler"]))


def _share(finding: dict) -> latex.Latex:
    return percent(finding["share"])


def _detectable(finding: dict) -> latex.Latex:
    """``1.31 (1.27 to 1.35; minimum detectable 3.1 %)``."""
    minimum = rf"\qty{{{latex.significant(100 * finding['detectable'], 2)}}}{{\percent}}"
    return latex.Latex(f"{ratio_text(finding)[:-1]}; minimum detectable {minimum})")


def _edited(finding: dict) -> str:
    """``turned weights in PyTorch's program``."""
    edits = latex.series(edit.replace("_", " ") for edit in finding["edits"])
    base = finding["framework"].partition("+")[0]
    return f"{edits} in {latex.escape(title(base))}'s program"


def _by_edit(found: list[dict], one: Callable[[dict], str]) -> latex.Latex:
    """Findings grouped by edit, then by workload: ``A in X's program on MHA (..) and FFN (..); B ...``.

    one: the text in the parentheses of each finding of a workload.
    """
    grouped: dict[str, dict[str, list[dict]]] = {}
    for finding in found:
        titles = grouped.setdefault(_edited(finding), {})
        titles.setdefault(_title(finding), []).append(finding)
    parts = []
    for edit, titles in grouped.items():
        said = (latex.Latex(f"{t} ({', '.join(map(one, here))})") for t, here in titles.items())
        parts.append(f"{edit} on {latex.series(said)}")
    return latex.Latex("; ".join(parts))


def _batches(finding: dict) -> str:
    return f"{finding['batch']:.0f} against {finding['baseline_batch']:.0f}"


FILTERS: dict[str, Callable[..., object]] = {
    "num": latex.number,
    "plain": latex.plain,
    "duration": latex.duration,
    "gib": latex.gibibytes,
    "sci": latex.scientific,
    "series": latex.series,
    "percent": percent,
    "ratio": ratio_text,
    "framework": title,
    "compiler": compiler_title,
    "file": latex.Latex,
    "became": became,
    "spread": spread,
    "titles": lambda found: latex.series(f["title"] for f in found),
    "with_ratios": lambda found: _series(found, "{} at {}", _title, ratio_text),
    "with_ratio": lambda found: _series(
        found, "{} at {}", _title, lambda f: latex.number(f["ratio"])
    ),
    "with_both": lambda found: _series(
        found, "{} (published {}, ours {})", _title, _published_ratio, ratio_text
    ),
    "with_slowdown": lambda found: _series(
        found, r"{} at {} times the steady latency", _title, _slowdown
    ),
    "with_second_over_first": lambda found: _series(
        found,
        "{} at {} ({} in the original)",
        _title,
        lambda f: latex.number(f["second_over_first"]),
        lambda f: latex.number(f["published_second_over_first"]),
    ),
    "with_warmup": lambda found: _series(
        found, "{} ({} points)", _title, lambda f: f"{f['warmup_points']:.0f}"
    ),
    "share_range": share_range,
    "with_generations": lambda found: _series(found, "{} ({})", _title, _generations),
    "with_runtime": lambda found: _series(found, "{} at {}", _title, _runtime),
    "with_share": lambda found: _series(found, "{} on {}", _share, _title),
    "with_compilers": lambda found: _series(found, "{} in {}", ratio_text, _compiler),
    "with_edits": lambda found: _by_edit(found, lambda f: f"{_share(f)} in {_compiler(f)}"),
    "with_programs": lambda found: _by_edit(found, lambda f: f"in {_compiler(f)}"),
    "with_detectable": lambda found: _series(found, "{} at {}", _title, _detectable),
    "with_cores": lambda found: _series(
        found,
        "{} ({} on all cores, {} on one)",
        _title,
        lambda f: latex.number(f["all_cores"]),
        lambda f: latex.number(f["one_core"]),
    ),
    "with_batches": lambda found: _series(found, "{} ({})", _title, _batches),
    "who": lambda f: latex.Latex(f"{_title(f)} under {_framework(f)}"),
    "with_framework": lambda found: _series(found, "{} under {}", _title, _framework),
    "with_status": lambda found: _series(
        found, "{} under {} ({})", _title, _framework, lambda f: latex.escape(f["status"])
    ),
}
