"""LLaMA has no form in TensorFlow: transformers, whose model the other dialects run, has none."""


def build(sizes, seed, put):
    """Raises NotImplementedError: there is no such model."""
    raise NotImplementedError("transformers has no TensorFlow form of this model")
