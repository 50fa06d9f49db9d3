"""A token of the decoder in NumPy, its cache written in place."""

from stackwars.workloads import fill_tree, transformer
from stackwars.workloads.decode import cache
from stackwars.workloads.decode import parameters as shapes


def build(sizes, seed, put):
    """The weights, and the function of them, a token and its position."""
    kept = {name: put(value) for name, value in cache(sizes, seed).items()}

    def function(parameters, token, position):
        return transformer.decoded(parameters, kept, token, int(position), sizes["heads"])

    function.leaves = lambda parameters: kept
    return fill_tree.flat(shapes(sizes), seed, put), function
