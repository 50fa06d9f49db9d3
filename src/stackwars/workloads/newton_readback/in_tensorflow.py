"""The Newton-Schulz iteration with its residual read back has no form in a `tf.function`."""


def build(sizes, seed, put):
    """Raises NotImplementedError."""
    raise NotImplementedError(
        "tf.function traces a whole call before it runs anything: the residual has no value that Python could "
        "decide with while it traces. A loop that the device decides is `newton`."
    )
