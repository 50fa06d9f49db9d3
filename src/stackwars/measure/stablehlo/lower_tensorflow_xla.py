"""TensorFlow's StableHLO of a workload from variables that were never written."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from stackwars.measure.frameworks import tensorflow_xla
from stackwars.measure.stablehlo import arguments
from stackwars.measure.stablehlo.arguments import Entry, Leaf, Lowered, ProgramSource, Result
from stackwars.measure.workloads import values

PACKAGES = ("tensorflow",)
_ALIAS = re.compile(r"parameter_number = (\d+) : i64}, output_index = array<i64: (\d+)>")
"""An argument that shares its memory with a result: a variable that is assigned to."""


def lower(source: ProgramSource) -> Lowered:
    """Return the program.

    `build` makes its weights with `arguments.leaf`. TensorFlow exports programs of initialised variables only: these
    have untouched memory. The arguments are the inputs, then the captured weights and the model's own constants. A
    variable that is assigned to is also a result.
    """
    import tensorflow as tf

    tensorflow_xla.use_precision(source.precision)
    placed: list[tuple[Entry, Any]] = []

    def put(array: np.ndarray) -> Any:
        if not isinstance(array, Leaf):
            return tf.Variable(tf.constant(array), trainable=False)
        empty = tf.raw_ops.Empty(shape=array.shape, dtype=tf.float32, init=False)
        variable = tf.Variable(empty, trainable=False)
        placed.append((arguments.of_array(array), variable))
        return variable

    parameters, traced = source.build(source.sizes, source.seed, put)
    function = tf.function(lambda *inputs: traced(parameters, *inputs), jit_compile=True)
    specs = [tf.TensorSpec(array.shape, values.native_dtype(array)) for array in source.inputs.values()]
    text = tensorflow_xla.program(function, specs)
    known = {id(variable.handle): entry for entry, variable in placed}
    concrete = function.get_concrete_function(*specs)
    captured = concrete.captured_inputs
    variables = {id(variable.handle): variable for variable in concrete.graph.variables}
    used = [Entry("input", name) for name in source.inputs]
    # A captured tensor that is no weight belongs to the model itself.
    used += [known.get(id(one)) or arguments.of_array(variables.get(id(one), one).numpy()) for one in captured]
    leaves = traced.leaves(parameters) if hasattr(traced, "leaves") else {}
    names = {id(leaf.handle): name for name, leaf in leaves.items()}
    results = dict(enumerate(arguments.outputs(len(concrete.outputs))))
    for argument, result in _ALIAS.findall(text):
        results[int(result)] = Result(names.get(id(captured[int(argument) - len(source.inputs)]), ""))
    return Lowered(text, used, tuple(results[place] for place in sorted(results)))
