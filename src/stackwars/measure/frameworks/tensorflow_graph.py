"""TensorFlow: `tf.function` without XLA, its graph optimised by Grappler and run operation by operation."""

from __future__ import annotations

from dataclasses import replace

from stackwars.measure.frameworks import Counters, tensorflow_xla

TITLE = "TensorFlow (graph)"
DIALECT = tensorflow_xla.DIALECT
COLOUR = "#8c5a2b"


class Session(tensorflow_xla.Session):
    """tensorflow_xla's session, but each operation of the graph runs its own kernel, and no executable is made."""

    JIT_COMPILE = False

    def counters(self) -> Counters:
        return replace(super().counters(), compiles=None)

    def stablehlo(self) -> str:
        return "// no program: without XLA, TensorFlow runs a graph of its own operations\n"
