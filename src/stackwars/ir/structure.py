"""The four claims about the front ends' programs, each decided by a rule over the normalised IR.

Every rule looks at one program of one framework and answers with a word below. "Not applicable" means that the
program has nothing that the claim is about.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from stackwars.ir import queries
from stackwars.ir.module import entry, shape, walk
from stackwars.ir.patterns import attentions, norms
from stackwars.ir.queries import TRANSPOSE

CLAIMS = ("flattening", "layernorm", "qkv", "contraction")
PRESERVED, FLATTENED = "preserved", "flattened"  # batch and sequence before a matrix product
FINE_GRAINED, HIGH_LEVEL = "fine-grained", "high-level"  # layer normalisation
COMBINED, SEPARATE = "combined", "separate"  # projections of queries, keys and values
EXPLICIT, PREPARED = "explicit", "prepared"  # contraction in place, or after moving the operands
BOTH = "both"
NOT_APPLICABLE = "not applicable"
NO_PROGRAM = "no program"


def decide(module: ir.Module) -> dict[str, str]:
    """Return the words of the four claims, decided for a normalised program; in the order of CLAIMS.

    Dots are those that contract something; one that does not only multiplies elements.
    """
    main = entry(module)
    dots = [op for op in walk(main) if queries.is_product(op)]
    words = _flattening(dots), _layernorm(main), _qkv(main), _contraction(dots)
    return dict(zip(CLAIMS, words, strict=True))


def _flattening(dots: list[ir.Operation]) -> str:
    """Decide whether dots without batching dimensions read a reshape that merged leading dimensions.

    The others count as preserving if an operand brings two or more dimensions, of extents over
    1, that are not contracted. Batched products (the scores of attention) do not count: they merge batch and heads.
    """
    flat = [dot for dot in dots if not queries.is_batched(dot) and queries.merges(dot)]
    preserved = [dot for dot in dots if dot not in flat and _keeps(dot)]
    return _either(len(preserved), PRESERVED, len(flat), FLATTENED)


def _layernorm(main: ir.Operation) -> str:
    """Decide whether normalisation over the last axis is batch_norm_training or arithmetic."""
    high_level, arithmetic = norms(main)
    return _either(arithmetic, FINE_GRAINED, high_level, HIGH_LEVEL)


def _qkv(main: ir.Operation) -> str:
    """Decide how many projections the queries, keys and values of an attention come from."""
    sizes = [len(block) for block in attentions(main)]
    return _either(sizes.count(1), COMBINED, sum(size > 1 for size in sizes), SEPARATE)


def _contraction(dots: list[ir.Operation]) -> str:
    """Decide whether dots contract operands of rank over 2 in place, or read moved ones.

    Moved: directly the result of a transpose, or of a reshape that merged leading dimensions (also
    batch and heads). Splitting the features into heads, or joining them again, is neither.
    """
    moved = [dot for dot in dots if queries.reads(dot, TRANSPOSE) or queries.merges(dot)]
    explicit = [dot for dot in dots if dot not in moved and _rank(dot) > 2]
    return _either(len(explicit), EXPLICIT, len(moved), PREPARED)


def _either(first: int, one: str, second: int, other: str) -> str:
    """Return the word of the majority: BOTH if they are as many, NOT_APPLICABLE if there are none."""
    if not first and not second:
        return NOT_APPLICABLE
    if first == second:
        return BOTH
    return one if first > second else other


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
