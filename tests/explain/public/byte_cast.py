"""tensorflow/tensorflow 121242: floats that unsigned bytes cannot hold."""

import numpy as np


def inputs():
    return {"x": np.asarray([-1.0, -0.5, 0.5, 1.5, 255.0, 256.0], np.float32)}


def jax(x):
    return x.astype("uint8")


def torch(x):
    import torch

    return x.to(torch.uint8)


def tensorflow(x):
    import tensorflow as tf

    return tf.cast(x, tf.uint8)
