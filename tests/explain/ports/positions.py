"""huggingface/transformers 5285: positions that begin at 0, where RoBERTa's begin after its padding index, at 2."""

KIND = "position offset"


def inputs(batch=4, sequence=24, words=100, width=32):
    return {
        "ids": ("int32", (batch, sequence), words),
        "word": (words, width),
        "position": (sequence + 4, width),
    }


def jax(ids, word, position):
    from jax import numpy

    return numpy.tanh(word[ids] + position[numpy.arange(ids.shape[1])])


def torch(ids, word, position):
    import torch
    from torch.nn.functional import embedding

    places = torch.arange(2, ids.shape[1] + 2, device=ids.device)
    return torch.tanh(embedding(ids, word) + embedding(places, position))
