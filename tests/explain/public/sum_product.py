"""Sum of a product of arrays of rank 7 (jax-ml/jax issues 40412 and 39257).

From 4,096 elements on, jaxlib 0.10.2 hands the reduction to YNN, which ends the process with SIGSEGV in the
first call. With fewer elements, 1 or 3 terms, or an extent of 2 for the axis `one`, it is right.
"""

ISSUE = "jax-ml/jax issue 40412"
TITLE = "jax-ml/jax 40412: sum of a product over an axis of seven"
PROGRAMS = ("jax", "torch_xla", "torchax", "torch_tpu", "tensorflow_xla")
FAULTS = {"jaxlib-0.10.2": dict.fromkeys(PROGRAMS, "crash")}
CURE = "xla_cpu_experimental_ynn_fusion_type=-reduce"
ORDER = 960
AXIS = 3


def inputs(outer=2, one=1, terms=2, side=8):
    shape = (outer, one, 2, terms, side, side, side)
    return {"u": shape, "v": shape}


def jax(u, v):
    return (u * v).sum(AXIS)


def torch(u, v):
    return (u * v).sum(AXIS)


def numpy(u, v):
    return (u * v).sum(AXIS)


def tensorflow(u, v):
    import tensorflow as tf

    return tf.reduce_sum(u * v, axis=AXIS)
