"""Systems of equations with one symmetric positive definite matrix, by iterating until its inverse has
converged.

The Newton-Schulz iteration (Schulz, 1933) is X <- X (2 I - A X), from X = A^T / (|A|_1 |A|_inf), while the
largest element of |I - A X| is not below TOLERANCE; the output is X times the right-hand sides. How often the
loop runs depends on the values of A, so a compiler needs a loop whose end it does not know, and a framework
without one has to read the residual back to decide (`newton_readback`). The two products of a step are A X,
which the test needs too, and X (2 I - A X).

**The number of iterations** must not depend on rounding. A is I + B B^T / n, B standard normal: its
eigenvalues are between 1 and about 5, and as n grows they settle, as does the residual of each step. Each
step squares I - A X, so the last residual above the tolerance and the first below it are far apart: of the
sizes of the study and of the tests and of both sets of inputs, none is within a factor MARGIN of the
tolerance (tests/workloads/test_workload_newton.py checks that, and that float32 and float64 count the same).
In float32 the residual is off by about 1e-6, a thousandth of the tolerance.

**The reference** is the same iteration in float64, not the exact inverse: the iteration stops with a residual
of up to the tolerance, in every precision the same one.
"""

import numpy as np

from stackwars.workloads import values

TITLE, TABLE, KIND, ITEM, ORDER = "Newton-Schulz", "beyond", "basic", "unknowns", 380
SIZES = {
    "unknowns": "rows and columns of the matrix",
    "systems": "right-hand sides, columns of the output",
}
TOLERANCE = 1e-3  # of the largest element of |I - A X|
MARGIN = 1.5


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """a (unknowns, unknowns), symmetric positive definite, and b (unknowns, systems), float32."""
    unknowns = sizes["unknowns"]
    factor = values.activations("factor", (unknowns, unknowns), seed).astype(np.float64)
    a = np.eye(unknowns) + factor @ factor.T / unknowns
    b = values.activations("b", (unknowns, sizes["systems"]), seed)
    return {"a": a.astype(np.float32), "b": b}


def items(sizes: dict[str, int]) -> int:
    """Unknowns of a system."""
    return sizes["unknowns"]


def parameters(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """No weights."""
    return {}


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights: none."""
    return 0


def flops(sizes: dict[str, int]) -> int:
    """Zero: how many products there are depends on the values of the inputs."""
    return 0


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of the matrix, the right-hand sides and the output, each once."""
    return 4 * sizes["unknowns"] * (sizes["unknowns"] + 2 * sizes["systems"])


def reference(weights: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The output (unknowns, systems) in float64."""
    inverse, _ = iterated(inputs["a"].astype(np.float64))
    return inverse @ inputs["b"].astype(np.float64)


def iterated(a: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """The approximate inverse, in the precision of a, and max|I - A X| before each step and after the last."""
    identity = np.eye(len(a), dtype=a.dtype)
    x = a.T / (np.abs(a).sum(0).max() * np.abs(a).sum(1).max())
    residuals = [float(np.abs(identity - a @ x).max())]
    while residuals[-1] >= TOLERANCE:
        x = x @ (2 * identity - a @ x)
        residuals.append(float(np.abs(identity - a @ x).max()))
    return x, residuals
