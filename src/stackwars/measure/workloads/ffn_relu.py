"""A feed-forward block: a linear layer, ReLU, and a linear layer back."""

from stackwars.measure.workloads.ffn import FeedForward


class Relu(FeedForward):
    TITLE, TABLE, ORDER = "FFN (ReLU)", "I", 30
    ACTIVATION = "relu"


WORKLOAD = Relu()
