"""The filters of the paper's templates: numbers with units, and lists of findings as words."""

from __future__ import annotations

from collections.abc import Callable

from stackwars import latex
from stackwars.compiler_sources import compiler_title
from stackwars.sources import framework_title


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
    """The shares of several findings from the least to the greatest, as percentages."""
    shares = sorted(finding["share"] for finding in found)
    ends = dict.fromkeys((percent(shares[0]), percent(shares[-1])))
    return latex.Latex(" to ".join(ends))


def _title(finding: dict) -> latex.Latex:
    return latex.escape(finding["title"])


def _framework(finding: dict) -> latex.Latex:
    return latex.escape(framework_title(finding["framework"]))


def _published_ratio(finding: dict) -> latex.Latex:
    return latex.number(finding["published_ratio"])


def _slowdown(finding: dict) -> latex.Latex:
    return latex.number(finding["second_over_steady"])


def _signed_duration(milliseconds: float) -> str:
    sign = "$-$" if milliseconds < 0 else ""
    return sign + latex.duration(abs(milliseconds))


def _generations(finding: dict) -> str:
    return f"{latex.number(finding['older'])} on the older, {latex.number(finding['newer'])} on the newer"


def _runtime(finding: dict) -> str:
    return _signed_duration(finding["runtime_ms"])


def _compiler(finding: dict) -> latex.Latex:
    return latex.escape(compiler_title(finding["compiler"]))


def _share(finding: dict) -> latex.Latex:
    return percent(finding["share"])


def _edit(finding: dict) -> str:
    """``PyTorch, explicit layernorm (jaxlib 0.7.1)``."""
    return f"{latex.escape(finding['program'])} ({_compiler(finding)})"


def _batches(finding: dict) -> str:
    return f"{finding['torch_batch']:.0f} against JAX's {finding['jax_batch']:.0f}"


FILTERS: dict[str, Callable[..., object]] = {
    "num": latex.number,
    "plain": latex.plain,
    "duration": latex.duration,
    "gib": latex.gibibytes,
    "sci": latex.scientific,
    "series": latex.series,
    "percent": percent,
    "ratio": ratio_text,
    "framework": framework_title,
    "titles": lambda found: latex.series(f["title"] for f in found),
    "with_ratios": lambda found: _series(found, "{} at {}", _title, ratio_text),
    "with_ratio": lambda found: _series(
        found, "{} at {}", _title, lambda f: latex.number(f["ratio"])
    ),
    "with_both": lambda found: _series(
        found, "{} (there {}, here {})", _title, _published_ratio, ratio_text
    ),
    "with_slowdown": lambda found: _series(
        found, r"{} at {} times the steady latency", _title, _slowdown
    ),
    "share_range": share_range,
    "with_generations": lambda found: _series(found, "{} ({})", _title, _generations),
    "with_runtime": lambda found: _series(found, "{} ({})", _title, _runtime),
    "with_share": lambda found: _series(found, "{} with {}", _title, _share),
    "with_compilers": lambda found: _series(found, "{} in {}", ratio_text, _compiler),
    "with_edits": lambda found: _series(found, "{} of {} ({})", _edit, _title, _share),
    "with_programs": lambda found: _series(found, "{} of {}", _edit, _title),
    "with_batches": lambda found: _series(found, "{} ({})", _title, _batches),
    "who": lambda f: latex.Latex(f"{_title(f)} under {_framework(f)}"),
    "with_framework": lambda found: _series(found, "{} under {}", _title, _framework),
    "with_status": lambda found: _series(
        found, "{} under {} ({})", _title, _framework, lambda f: latex.escape(f["status"])
    ),
}
