"""The mixture of experts of `moe`, in which each expert computes its own tokens and no others.

How many tokens an expert has is known only when the router has chosen: shapes depend on values, unless tokens
are sorted by their experts, so that one array of a known shape has all experts' tokens one after the other.
Each dialect does what its users do: JAX sorts and has a product whose groups of rows have their own matrices
(`ragged_dot`), torch and NumPy loop over the experts and pick their rows. Where shapes have to be known
before a call, a compiler that cannot sort its way out refuses this or compiles again for every new number of
tokens.

On a CPU, JAX 0.7.1 has no such product: it makes of `ragged_dot` one of every row with every expert's matrix,
in which other experts' rows are 0. The operations counted here are those of the tokens' own experts. JAX's
program has experts times as many, which is chosen times those of `moe`.

Sizes, inputs, weights, reference, and the margin of the router's choice are those of `moe`.
"""

from stackwars.workloads import moe

TITLE, TABLE, KIND = "Mixture of experts, sorted", "beyond", "basic"
ITEM, ORDER = moe.ITEM, 350
FORM_OF = "moe"
SIZES = moe.SIZES

inputs, items = moe.inputs, moe.items
parameters, parameter_count = moe.parameters, moe.parameter_count
minimum_bytes, reference = moe.minimum_bytes, moe.reference


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the router and of each token's chosen experts; a multiply-add is two."""
    return moe.router_flops(sizes) + moe.expert_flops(sizes, sizes["tokens"] * sizes["chosen"])
