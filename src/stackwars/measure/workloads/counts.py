"""Counting by hand: shapes of common layers' weights, floating-point operations of products.

A multiply-add counts as two operations. Only matrix products and convolutions are counted, as in the usual
model-FLOPs figures; normalisation, activation and softmax add a few per cent.
"""

Shapes = dict[str, tuple[int, ...]]


def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> Shapes:
    """Return the shapes of a fully connected layer: weight (outputs, inputs), bias (outputs)."""
    return {f"{name}.weight": (outputs, inputs)} | ({f"{name}.bias": (outputs,)} if bias else {})


def norm(name: str, width: int) -> Shapes:
    """Return the shapes of a layer normalisation: weight (width), bias (width)."""
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def embedding(name: str, rows: int, width: int) -> Shapes:
    """Return the shape of a table of `rows` vectors: weight (rows, width)."""
    return {f"{name}.weight": (rows, width)}


def matmul(rows: int, inner: int, columns: int) -> int:
    """Return the operations of (rows x inner) by (inner x columns)."""
    return 2 * rows * inner * columns


def attention(batch: int, queries: int, keys: int, width: int) -> int:
    """Return the operations of q k^T and of the weighted sum of v over all heads, `width` wide together.

    Masked positions count: neither compiler leaves them out.
    """
    return 2 * batch * matmul(queries, width, keys)


def encoder(batch: int, sequence: int, width: int, inner: int) -> int:
    """Return the operations of a transformer layer with equal heads: projections, attention, two products."""
    rows = batch * sequence
    feed_forward = 2 * matmul(rows, width, inner)
    return matmul(rows, width, 4 * width) + attention(batch, sequence, sequence, width) + feed_forward


def convolution(positions: int, kernel: int, channels_in: int, channels_out: int) -> int:
    """Return the operations of a square convolution with `positions` output positions, the batch included.

    Products with the padding count too.
    """
    return matmul(positions, kernel * kernel * channels_in, channels_out)


def unread(rows: int, used: int, width: int) -> int:
    """Return the values of an embedding table of `rows` x `width` that a call with `used` rows skips."""
    return max(rows - used, 0) * width
