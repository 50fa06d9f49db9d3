"""The iteration as a loop of XLA's, written with torch_xla's builder.

torch_xla 2.9.0's own form of PyTorch's `while_loop` is no use here. It numbers a loop's parameters in the
order in which lowering meets the tensors of the body, which is neither that of the state nor the condition's:
with this state it refuses the loop, returns other values without a word, or does not end, as the state is
ordered.
"""

import torch_xla.core.xla_op_registry as registry
from torch_xla.core.xla_builder import Op

from stackwars.workloads.newton import TOLERANCE


def _unfinished(x, product, a, identity):
    """Whether the largest element of |identity - product| is not below the tolerance."""
    residual = identity - product
    residual = residual.max(-residual)  # the builder has no absolute value
    largest = residual.reduce(Op.zero(x.builder(), x.shape().dtype), Op.max, [0, 1])
    return largest >= largest.scalar_like(TOLERANCE)


def _step(x, product, a, identity):
    x = x @ (identity + identity - product)
    return x, a @ x, a, identity


def _loop(x, product, a, identity):
    return Op.mkwhile((x, product, a, identity), _unfinished, _step).get_tuple_element(0)


iterated = registry.register("newton_schulz", _loop)
"""The approximate inverse of a, from (x, a @ x, a, identity), all (unknowns, unknowns) on an XLA device."""
