"""The four claims about the front ends' programs, each decided by a rule over the normalised IR.

Every rule looks at one program of one framework and answers with a word below and with the counts
that led to it. "Not applicable" means that the program has nothing that the claim is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir

from stackwars.ir import queries
from stackwars.ir.module import entry, shape, walk
from stackwars.ir.patterns import activation, attentions, norms
from stackwars.ir.queries import TRANSPOSE

FLATTENING, LAYERNORM, QKV, CONTRACTION = CLAIMS = ("flattening", "layernorm", "qkv", "contraction")
PRESERVED, FLATTENED = "preserved", "flattened"  # batch and sequence before a matrix product
FINE_GRAINED, HIGH_LEVEL = "fine-grained", "high-level"  # layer normalisation
COMBINED, SEPARATE = "combined", "separate"  # projections of queries, keys and values
EXPLICIT, PREPARED = "explicit", "prepared"  # contraction in place, or after moving the operands
BOTH = "both"
NOT_APPLICABLE = "not applicable"
NO_PROGRAM = "no program"


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict of a rule on one program: the claim, a word of this module, and the counts."""

    claim: str
    verdict: str
    evidence: str


def decide(module: ir.Module) -> list[ClaimVerdict]:
    """Return the four claims, decided for a normalised program; in the order of CLAIMS.

    Dots are those that contract something; one that does not only multiplies elements.
    """
    main = entry(module)
    dots = [op for op in walk(main) if queries.is_product(op)]
    return [_flattening(dots), _layernorm(main), _qkv(main), _contraction(dots)]


def _flattening(dots: list[ir.Operation]) -> ClaimVerdict:
    """Decide whether dots without batching dimensions read a reshape that merged leading dimensions.

    The others count as preserving if an operand brings two or more dimensions, of extents over
    1, that are not contracted. Batched products (the scores of attention) are evidence only: they
    merge batch and heads.
    """
    flat = [dot for dot in dots if queries.merges(dot, batching=False)]
    preserved = [dot for dot in dots if dot not in flat and _keeps(dot)]
    heads = sum(queries.merges(dot, batching=True) for dot in dots)
    batched = sum(queries.is_batched(dot) for dot in dots)
    evidence = (
        f"dots: {len(dots)}; reading merged leading dimensions: {len(flat)}, keeping two or more: "
        f"{len(preserved)}; batched: {batched}, of these reading batch and heads merged: {heads}"
        + _share(len(preserved), len(flat))
    )
    return ClaimVerdict(FLATTENING, _either(len(preserved), PRESERVED, len(flat), FLATTENED), evidence)


def _layernorm(main: ir.Operation) -> ClaimVerdict:
    """Decide whether normalisation over the last axis is batch_norm_training or arithmetic."""
    norm_counts = norms(main)
    evidence = (
        f"in arithmetic: {norm_counts.arithmetic}, as batch_norm_training: {norm_counts.batch_norm}; "
        f"by the root mean square, which takes off no mean: {norm_counts.rms}"
    )
    verdict = _either(norm_counts.arithmetic, FINE_GRAINED, norm_counts.batch_norm, HIGH_LEVEL)
    return ClaimVerdict(LAYERNORM, verdict, evidence)


def _qkv(main: ir.Operation) -> ClaimVerdict:
    """Decide how many projections the queries, keys and values of an attention come from."""
    blocks = attentions(main)
    sizes = [len(block) for block in blocks]
    shared = sum(len({activation(projection) for projection in block}) == 1 for block in blocks)
    spread = ", ".join(f"{n} ({sizes.count(n)} times)" for n in sorted(set(sizes)))
    evidence = f"attentions: {len(blocks)}" + (
        f"; projections of each for queries, keys and values: {spread}; reading one value: {shared}"
        if blocks
        else ""
    )
    combined, separate = sizes.count(1), sum(size > 1 for size in sizes)
    return ClaimVerdict(QKV, _either(combined, COMBINED, separate, SEPARATE), evidence)


def _contraction(dots: list[ir.Operation]) -> ClaimVerdict:
    """Decide whether dots contract operands of rank over 2 in place, or read moved ones.

    Moved: directly the result of a transpose, or of a reshape that merged leading dimensions (also
    batch and heads). Splitting the features into heads, or joining them again, is neither.
    """
    merged = [dot for dot in dots if any(queries.merges(dot, batching) for batching in (False, True))]
    transposed = [dot for dot in dots if queries.reads(dot, TRANSPOSE)]
    moved = {*merged, *transposed}
    explicit = [dot for dot in dots if dot not in moved and _rank(dot) > 2]
    evidence = (
        f"dots: {len(dots)}; with an operand of rank over 2, contracted in place: {len(explicit)}; "
        f"reading merged leading dimensions: {len(merged)}, a transpose: {len(transposed)}; "
        f"plain matrices: {len(dots) - len(explicit) - len(moved)}" + _share(len(explicit), len(moved))
    )
    return ClaimVerdict(CONTRACTION, _either(len(explicit), EXPLICIT, len(moved), PREPARED), evidence)


def _either(first: int, one: str, second: int, other: str) -> str:
    """Return the word of the majority: BOTH if they are as many, NOT_APPLICABLE if there are none."""
    if not first and not second:
        return NOT_APPLICABLE
    if first == second:
        return BOTH
    return one if first > second else other


def _share(first: int, second: int) -> str:
    """Return the share of the larger count, for the evidence; nothing if both are 0."""
    total = first + second
    return f"; decided by {100 * max(first, second) / total:.0f} % of {total}" if total else ""


def _keeps(dot: ir.Operation) -> bool:
    if queries.is_batched(dot):
        return False
    numbers = queries.dimensions(dot)
    contracting = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    return any(
        sum(extent > 1 for axis, extent in enumerate(shape(operand)) if axis not in contracted) > 1
        for operand, contracted in zip(dot.operands, contracting, strict=True)
    )


def _rank(dot: ir.Operation) -> int:
    return max(len(shape(operand)) for operand in dot.operands)
