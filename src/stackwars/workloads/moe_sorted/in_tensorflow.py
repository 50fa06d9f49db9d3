"""The mixture of experts that computes only each expert's own tokens has no form in TensorFlow that XLA
takes.
"""


def build(sizes, seed, put):
    """Raises NotImplementedError."""
    raise NotImplementedError(
        "tf.dynamic_partition and tf.dynamic_stitch take rows apart by expert; where the parts have sizes that "
        "depend on values, TensorFlow 2.21 does not compile the second with XLA (Reading input as constant "
        "from a dynamic tensor is not yet supported). The dense form is `moe`."
    )
