"""A feed-forward block: a linear layer, ReLU, and a linear layer back."""

import numpy as np

from stackwars.measure.workloads.ffn import FeedForward


class Relu(FeedForward):
    TITLE, TABLE, ORDER = "FFN (ReLU)", "I", 30

    def activate(self, hidden, xp):
        return xp.relu(hidden)

    def activate_exactly(self, hidden):
        return np.maximum(hidden, 0)

    def in_torch(self, sizes, torch):
        return self.of_torch(sizes, torch, torch.nn.functional.relu)


WORKLOAD = Relu()
