"""TorchTPU's programs as exported, where a linear layer is one operation; no `Session`, as beside this file.

`torch.compile` writes the layer as a flattened input times a weight that it transposes at every call.
"""

TITLE = "TorchTPU (undecomposed)"
DIALECT = "torch"
COLOUR = "#9b6fd0"
