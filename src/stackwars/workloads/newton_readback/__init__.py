"""The iteration of `newton`, with the residual read back at every step to decide in Python whether to go on.

Sizes, inputs and reference are those of `newton`: so is the number of steps, and the output. What differs is
that the host waits for the device once a step. A framework that traces a whole call before it runs anything
has no value to read, and no form of this.
"""

from stackwars.workloads import newton

TITLE, TABLE, KIND, ITEM, ORDER = "Newton-Schulz, read back", "beyond", "basic", "unknowns", 390
FORM_OF = "newton"
SIZES = newton.SIZES
inputs, items = newton.inputs, newton.items
parameters, parameter_count = newton.parameters, newton.parameter_count
flops, minimum_bytes = newton.flops, newton.minimum_bytes
reference = newton.reference
