"""The declaration of a workload, with defaults.

A workload is a module of this folder with a subclass of `Workload`, whose one instance it calls WORKLOAD. It
needs NumPy alone. The class has the computation in every Python API (*dialect*), each form in a method that
gets its framework and is called only by the process that runs that dialect:

    in_jax(sizes, jax, weights, *inputs)
    in_tensorflow(sizes, tf, weights, *inputs)
    in_numpy(sizes, weights, *inputs)
                        the output
    in_arrays(sizes, xp, weights, *inputs)
                        the output in those of the three that have no other method; xp has operations
                        under NumPy's names (XP of in_jax and in_tensorflow, NUMPY here)
    in_torch(sizes, torch)
                        a torch module, made on the meta device; its parameters have the names of `parameters`
    NO_FORM             {dialect: the reason why there is no form}

A method uses the shapes of its arguments: it is also called with inputs of other sizes.

The form in NumPy also takes float64: its results then are the expected values of every form.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from stackwars.core.compilers import INPUT_SETS
from stackwars.measure.workloads import values

Sizes = Mapping[str, int]
Shapes = dict[str, tuple[int, ...]]
Arrays = dict[str, np.ndarray]
Leaves = Iterable[tuple[str, np.ndarray]]
"""Names in torch, and arrays in its layout."""
Put = Callable[[np.ndarray], Any]
Axes = tuple[str | int, ...]
"""The extents of an array: names of sizes, and numbers."""

ARRAY_DIALECTS = ("jax", "tensorflow", "numpy")
GELU_SCALE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715
_ROOT = 1 / math.sqrt(2)


class ProgramFileError(ValueError):
    """A mistake in a program file, in one line: file, line, what was expected, and how to fix it."""


def shape(axes: Axes, sizes: Sizes) -> tuple[int, ...]:
    """Return the extents as numbers."""
    return tuple(sizes[axis] if isinstance(axis, str) else axis for axis in axes)


def precise(array: np.ndarray) -> np.ndarray:
    """Return the array with floating-point values converted to float64."""
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def float64(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Return the arrays with floating-point values converted to float64."""
    return {name: precise(array) for name, array in arrays.items()}


class Operations(SimpleNamespace):
    """The operations of an array dialect under NumPy's names, for forms that several dialects share."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"xp.{name}: expected an operation that {self.dialect} has; fix: add it to its Operations, or give the "
            f"workload a method in_{self.dialect}"
        )


def _gelu(x):
    """Return GELU by SciPy's erf: a workload that uses it imports SciPy in its `preload`."""
    from scipy.special import erf

    return 0.5 * x * (1 + erf(x * _ROOT))


def _gelu_tanh(x):
    """Return GELU by tanh (Hendrycks and Gimpel, 2016)."""
    return 0.5 * x * (1 + np.tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x)))


def _normalised(x, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon)


def _sigmoid(x):
    """Return SciPy's sigmoid: a workload that uses it imports SciPy in its `preload`."""
    from scipy.special import expit

    return expit(x)


def softmax(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


_SAME = (
    *("arange", "concatenate", "exp", "matmul", "mean", "reshape", "sqrt", "square", "sum"),
    *("tanh", "where", "zeros"),
)
NUMPY = Operations(
    dialect="numpy",
    **{name: getattr(np, name) for name in _SAME},
    gelu=_gelu,
    gelu_tanh=_gelu_tanh,
    normalised=_normalised,
    relu=lambda x: np.maximum(x, 0),
    sigmoid=_sigmoid,
    softmax=softmax,
)


class Workload:
    """A computation, defined once; SIZES explains its sizes."""

    TITLE: str
    TABLE: str
    """The table of the paper that it belongs to."""
    ORDER: int
    """Its place in the tables."""
    KIND = "basic"
    SIZES: ClassVar[dict[str, str]] = {
        "batch": "sequences in a call",
        "sequence": "positions in a sequence",
        "features": "width of the input",
    }
    """{name: meaning} of its sizes; the first is the number of items in a call."""
    DEFAULTS: ClassVar[dict[str, int] | None] = None
    """Sizes of a program file if the preset has none; None for any other workload."""
    INPUTS: ClassVar[dict[str, Axes]] = {"x": ("batch", "sequence", "features")}
    INTEGERS: ClassVar[dict[str, str]] = {}
    """{input: size} of inputs that are int32, uniform on [0, size); others are float32."""
    OUTPUT: Axes | None = None
    """The output's extents; None if they equal the first input's."""
    NO_FORM: ClassVar[dict[str, str]] = {}
    FORM_OF = ""
    """The workload that computes the same in another form."""
    STATE = ""
    """The state that its calls update in place, in words."""
    TRAINS = False
    """True if a call is a step of training, see `adamw.Training`."""
    TENSOR_PARALLEL: ClassVar[dict[str, int]] = {}
    """How its weights are divided among devices, see `parallel`."""
    FLAT: tuple[str, ...] = ()
    """Array dialects whose form takes weights as `flat`; the others take them as `tree`."""
    GRAPH_BREAKS = False
    """True if its torch module reads values back while it runs."""
    DEVICE_LOOP = False
    """True if its torch module has a loop whose body is a separate graph."""
    SIZES_FROM_VALUES = False
    """True if sizes depend on values in TensorFlow."""
    IS_REFERENCE_TESTED = True
    """True if tests compare every form with the reference."""
    SETS_DIFFER = True
    """True if two sets of inputs differ, and so their outputs."""
    BUILDER = "in"
    """The modules that build its forms: `<BUILDER>_<dialect>` of this folder."""

    def problems(self, sizes: Sizes) -> dict[str, str]:
        """Return {size: what it should be} for sizes that do not fit each other."""
        return {}

    def refuse_problems(self, sizes: Sizes) -> None:
        """Raise ValueError for the first problem of the sizes."""
        for size, expected in self.problems(sizes).items():
            raise ValueError(
                f"sizes: {size}: expected {expected}, got {sizes[size]}; fix: change one of the two sizes"
            )

    def inputs(self, sizes: Sizes, seed: int) -> Arrays:
        """Return the inputs of a call: float32 with mean 0 and standard deviation 1, and INTEGERS.

        Raises ValueError for sizes that have problems.
        """
        self.refuse_problems(sizes)
        extents = {name: shape(axes, sizes) for name, axes in self.INPUTS.items()}
        return {
            name: values.tokens(name, one, seed, sizes[self.INTEGERS[name]])
            if name in self.INTEGERS
            else values.activations(name, one, seed)
            for name, one in extents.items()
        }

    def input_sets(self, sizes: Sizes, seed: int) -> list[Arrays]:
        """Return the inputs between which calls alternate: those of the seed and of the next seed."""
        return [self.inputs(sizes, seed + number) for number in range(INPUT_SETS)]

    def items(self, sizes: Sizes) -> int:
        """Return how many items a call has, for items per second."""
        return sizes[next(iter(self.SIZES))]

    def parameters(self, sizes: Sizes) -> Shapes:
        """Return names and shapes of the weights, as torch has them."""
        return {}

    def parameter_count(self, sizes: Sizes) -> int:
        """Return how many values the weights have together."""
        return sum(map(math.prod, self.parameters(sizes).values()))

    def flops(self, sizes: Sizes) -> int:
        """Return the floating-point operations of products and convolutions in a call; a multiply-add is two.

        0 if it has none, or if their number depends on values.
        """
        return 0

    def minimum_bytes(self, sizes: Sizes) -> int:
        """Return the bytes of the weights that a call reads, its inputs and its output, each once."""
        read = self.parameter_count(sizes) - self.unread_values(sizes)
        return 4 * (read + self.input_values(sizes) + self.output_values(sizes))

    def unread_values(self, sizes: Sizes) -> int:
        """Return how many values of the weights a call never reads, such as rows of an embedding's table."""
        return 0

    def input_values(self, sizes: Sizes) -> int:
        """Return how many values the inputs have together."""
        return sum(math.prod(shape(axes, sizes)) for axes in self.INPUTS.values())

    def output_values(self, sizes: Sizes) -> int:
        """Return how many values the output has."""
        first = next(iter(self.INPUTS.values()))
        return math.prod(shape(first if self.OUTPUT is None else self.OUTPUT, sizes))

    def parity_rel_l2(self, sizes: Sizes) -> float:
        """Return its own limit of the relative L2 error between frameworks; 0.0 without one."""
        return 0.0

    def state(self, sizes: Sizes, seed: int) -> Arrays:
        """Return what the calls update besides weights, as it is at first.

        A form in an array dialect has it after the weights; in JAX it returns (new state, output).
        """
        return {}

    def weights(self, sizes: Sizes, seed: int) -> Arrays:
        """Return the weights by their names in torch, in torch's layout."""
        return dict(self.leaves(sizes, seed))

    def leaves(self, sizes: Sizes, seed: int) -> Leaves:
        """Yield the weights one at a time."""
        return ((name, values.leaf(name, extents, seed)) for name, extents in self.parameters(sizes).items())

    @property
    def has_reference(self) -> bool:
        """Whether it has expected values: results of its form in NumPy, computed in float64."""
        return "numpy" not in self.NO_FORM

    def reference(
        self, sizes: Sizes, weights: Arrays, sets: list[Arrays], state: Arrays
    ) -> tuple[list, Arrays]:
        """Return (output of a call for each set of inputs, state after the last) of the form in NumPy, in float64."""
        function, state = self.form("numpy", sizes, NUMPY), float64(state)
        arranged = self.arranged("numpy", float64(weights).items(), lambda array: array)
        leading = (arranged, state) if state else (arranged,)
        return [function(*leading, *float64(one).values()) for one in sets], state

    def expected(self, sizes: Sizes, seed: int, calls: int | None = None) -> tuple[list, Arrays] | None:
        """Return (output of each call, {name: what the calls update, after the last}) of the reference, in float64.

        An output is an array, or a tuple of arrays if a call has several results. Names are as in `Session.state`.
        Calls alternate between the inputs of the seed and of the next seed; by default a workload that updates has
        one call, and any other two. None without a reference.
        """
        if not self.has_reference:
            return None
        sets = self.input_sets(sizes, seed)
        count = calls or (1 if self.STATE else INPUT_SETS)
        called = [sets[call % INPUT_SETS] for call in range(count)]
        outputs, state = self.reference(sizes, self.weights(sizes, seed), called, self.state(sizes, seed))
        # Whole numbers stay as they are: they are compared exactly.
        outputs = [
            tuple(map(precise, output)) if isinstance(output, tuple) else precise(output) for output in outputs
        ]
        return outputs, state

    def modules(self) -> list[str]:
        """Return the modules that declare it."""
        return [type(self).__module__]

    def has_form(self, dialect: str) -> bool:
        """Return whether it has a form in the dialect, or says why it has none."""
        names = [f"in_{dialect}", *(["in_arrays"] if dialect in ARRAY_DIALECTS else [])]
        return dialect in self.NO_FORM or any(hasattr(self, name) for name in names)

    def preload(self, dialect: str) -> None:
        """Import what the form needs and what takes seconds to import, before a process is timed or forked."""

    def form(self, dialect: str, sizes: Sizes, xp: Any, *framework: Any) -> Callable:
        """Return the function of an array dialect: `in_<dialect>` with the framework, else `in_arrays` with xp."""
        own = getattr(self, f"in_{dialect}", None)
        method, library = (own, framework) if own else (self.in_arrays, (xp,))

        def function(*given):
            return method(sizes, *library, *given)

        return function

    def divided_in_jax(self, sizes: Sizes, xp: Any, jax: Any, weights: Any, *inputs: Any) -> Any:
        """Return the output of the form in JAX on one of several devices.

        Raises NotImplementedError if the workload does not say what its devices send.
        """
        raise NotImplementedError("it would have to be written with what its devices send")

    def place(self, dialect: str, sizes: Sizes, seed: int, put: Put) -> Any:
        """Return the weights on the device, as the form in an array dialect takes them."""
        return self.arranged(dialect, self.leaves(sizes, seed), put)

    def arranged(self, dialect: str, leaves: Leaves, put: Put) -> Any:
        """Return these weights, each put in its turn, as the form in an array dialect takes them."""
        return flat(leaves, put) if dialect in self.FLAT else tree(leaves, put)

    def build_in_place(
        self, dialect: str, function: Callable, sizes: Sizes, seed: int, put: Put
    ) -> tuple[Any, Callable]:
        """Return (weights, function) where arrays are updated in place."""
        weights = self.place(dialect, sizes, seed, put)
        state = {name: put(value) for name, value in self.state(sizes, seed).items()}
        if not state:
            return weights, function

        def updating(weights, *inputs):
            return function(weights, state, *inputs)

        updating.leaves = lambda weights: state
        return weights, updating

    def holder_in_torch(self, module: Any) -> Any:
        """Return the part of the torch module whose parameters have the names of `parameters`."""
        return module

    def finish_in_torch(self, module: Any, sizes: Sizes, seed: int, put: Put) -> None:
        """Finish the torch module once it has its weights."""


def make_module(torch: Any, forward: Callable | None, **parts: Any) -> Any:
    """Return a torch module with these layers and parameters, whose forward is `forward(module, *inputs)`.

    forward: None for a module that only holds its parts.
    """
    module = type("Form", (torch.nn.Module,), {"forward": forward} if forward else {})()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def tree(leaves: Leaves, put: Put) -> dict[str, Any]:
    """Return weights as `nested` dictionaries.

    A matrix (outputs, inputs) becomes "kernel" (inputs, outputs), as code for functions has it. Everything else
    keeps its name and layout, embeddings too. `put` gets a transposed view: it copies anyhow, and faster.
    """
    parameters: dict[str, Any] = {}
    for name, value in leaves:
        if value.ndim == 2 and not name.endswith(values.EMBEDDINGS):
            name, value = f"{name.removesuffix('weight')}kernel", value.T
        parameters[name] = put(value)
    return nested(parameters)


def nested(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Return weights as dictionaries, one for each part of a torch name: "up.bias" is ["up"]["bias"]."""
    result: dict[str, Any] = {}
    for name, value in weights.items():
        *path, last = name.split(".")
        owner = result
        for part in path:
            owner = owner.setdefault(part, {})
        owner[last] = value
    return result


def flat(leaves: Leaves, put: Put) -> dict[str, Any]:
    """Return weights as {torch name: array in torch's layout}."""
    return {name: put(value) for name, value in leaves}


def torch_names(parameters: Mapping[str, Any], path: str = "") -> Arrays:
    """Invert `tree`: return {torch name: host array in torch's layout}."""
    result: Arrays = {}
    for last, value in parameters.items():
        if isinstance(value, Mapping):
            result |= torch_names(value, f"{path}{last}.")
        elif last == "kernel":
            result[f"{path}weight"] = value.T
        else:
            result[f"{path}{last}"] = value
    return result


def check_weights(found: list[tuple[str, tuple[int, ...]]], expected: Shapes, fix: str) -> None:
    """Raise ValueError unless a model has the weights of `parameters`, once each and in these shapes.

    found: names and shapes of the model's weights. fix: what can be wrong besides `parameters`.
    """
    shapes, names = dict(found), [name for name, _ in found]
    doubled = sorted(name for name in shapes if names.count(name) > 1)
    missing, left = sorted(expected.keys() - shapes.keys()), sorted(shapes.keys() - expected.keys())
    common = expected.keys() & shapes.keys()
    differ = sorted(name for name in common if tuple(expected[name]) != shapes[name])
    if missing or left or doubled or differ:
        raise ValueError(
            "weights of the model: expected those that parameters(sizes) names, once each; "
            f"missing {missing}, left over {left}, doubled {doubled}, of another shape {differ}; "
            f"fix: parameters(), {fix}"
        )
