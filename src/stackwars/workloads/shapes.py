"""Names and shapes of the weights of common layers, as torch's ``state_dict`` gives them."""

Shapes = dict[str, tuple[int, ...]]


def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> Shapes:
    """A fully connected layer: weight (outputs, inputs), bias (outputs)."""
    return {f"{name}.weight": (outputs, inputs)} | ({f"{name}.bias": (outputs,)} if bias else {})


def norm(name: str, width: int) -> Shapes:
    """Layer normalisation: weight (width), bias (width)."""
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def embedding(name: str, rows: int, width: int) -> Shapes:
    """A table of ``rows`` vectors: weight (rows, width)."""
    return {f"{name}.weight": (rows, width)}
