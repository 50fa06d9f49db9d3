"""The gradients of `per_example_grad`, one example after the other in a loop of Python's.

Each turn of the loop asks the framework for the gradient of one example, and the results are stacked: what is
written where a framework has no transformation that vectorises a gradient, or where nobody thinks of it.
Under a compiler that traces, the loop is unrolled, and the program grows with the batch. Sizes, inputs,
weights and reference are those of `per_example_grad`, so the two can be compared directly; the batch of 32 is
one whose unrolled program still compiles in seconds.
"""

from stackwars.workloads import per_example_grad as vectorised

TITLE, TABLE, KIND = "Per-example gradients, loop", "beyond", "basic"
ITEM, ORDER = vectorised.ITEM, 330
FORM_OF = "per_example_grad"
SIZES = vectorised.SIZES

inputs, items = vectorised.inputs, vectorised.items
parameters, parameter_count = vectorised.parameters, vectorised.parameter_count
flops, minimum_bytes = vectorised.flops, vectorised.minimum_bytes
reference = vectorised.reference
