"""The recurrence of `scan_rnn` by a loop in Python, which tracing unrolls: a program with every step in it.

Sizes, inputs, weights, counts and reference are those of `scan_rnn`. The compiler sees all steps at once, and
its program grows with the sequence.
"""

from stackwars.workloads import scan_rnn

TITLE, TABLE, KIND, ITEM, ORDER = "RNN, unrolled", "beyond", "basic", "steps", 410
FORM_OF = "scan_rnn"
SIZES = scan_rnn.SIZES
inputs, items = scan_rnn.inputs, scan_rnn.items
parameters, parameter_count = scan_rnn.parameters, scan_rnn.parameter_count
flops, minimum_bytes = scan_rnn.flops, scan_rnn.minimum_bytes
reference = scan_rnn.reference
