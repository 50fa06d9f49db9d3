"""The decoder's training step in NumPy, its gradients written out."""

from stackwars.workloads import fill_tree, train_numpy, transformer
from stackwars.workloads.train_transformer import parameters as shapes


def build(sizes, seed, put):
    """The weights, and the step."""

    def gradients(weights, tokens):
        return transformer.loss_and_gradients(weights, tokens, sizes["heads"])

    return train_numpy.stepping(fill_tree.flat(shapes(sizes), seed, put), gradients)
