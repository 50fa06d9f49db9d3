"""TorchTPU, the announced successor of torch_xla, in the form of its `torch.compile`: programs alone.

It runs on a TPU and nowhere else, and the authors have run it on none: it has no `Session`, and so no cells.
Its programs are made without a TPU (`measure/stablehlo/lower_torch_tpu.py`), and run and compile in others' XLA.
"""

TITLE = "TorchTPU"
DIALECT = "torch"
COLOUR = "#5b2a86"
