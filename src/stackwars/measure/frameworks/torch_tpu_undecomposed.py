"""TorchTPU's programs as exported, where a linear layer is one operation. No study has it any more.

Accepted runs have its rows, which the tables of the reference leave out.
"""

TITLE = "TorchTPU (undecomposed)"
DIALECT = "torch"
COLOUR = "#9b6fd0"
