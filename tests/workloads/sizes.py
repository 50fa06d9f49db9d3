"""Sizes for the tests: FULL are those of the study, SMALL build and compile in a second or two."""

_LANGUAGE = {"batch": 2, "sequence": 64}
_BASE = {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072}
_NARROW = {"batch": 2, "sequence": 8, "layers": 2, "hidden": 32, "heads": 4, "intermediate": 64}
_FFN = {"batch": 128, "sequence": 64, "features": 256, "hidden": 1024}
_NARROW_FFN = {"batch": 4, "sequence": 8, "features": 32, "hidden": 64}
_GRADIENTS = {"batch": 32, "features": 256, "hidden": 512, "classes": 10}
_NARROW_GRADIENTS = {"batch": 4, "features": 16, "hidden": 32, "classes": 5}
_EXPERTS = {"tokens": 512, "features": 256, "hidden": 1024, "experts": 8, "chosen": 2}
_NARROW_EXPERTS = {"tokens": 16, "features": 32, "hidden": 64, "experts": 8, "chosen": 2}
_ATTENTION = {"batch": 1, "sequence": 1024, "features": 512, "heads": 8, "window": 128}
_NARROW_ATTENTION = {"batch": 2, "sequence": 16, "features": 32, "heads": 4, "window": 4}
_NEWTON, _NARROW_NEWTON = {"unknowns": 512, "systems": 16}, {"unknowns": 16, "systems": 4}
_RNN = {"sequence": 256, "batch": 16, "features": 256, "hidden": 256}
_NARROW_RNN = {"sequence": 8, "batch": 2, "features": 12, "hidden": 16}

FULL = {
    "gemm": {"m": 128, "k": 256, "n": 1024},
    "ffn": _FFN,
    "ffn_relu": _FFN,
    "mha": {**_LANGUAGE, "features": 768, "heads": 12},
    "layernorm": {**_LANGUAGE, "features": 768},
    "conv": {"batch": 32, "height": 56, "width": 56, "channels_in": 64, "channels_out": 64},
    "two_matmuls": {"rows": 256, "features": 1024, "hidden": 2048},
    "elementwise_chain": {"elements": 10_000_000},
    "mlp_postnorm": {"batch": 8, "sequence": 256, "features": 512, "hidden": 2048},
    "resnet50": {
        **{"batch": 2, "image": 224, "stem": 64, "width": 256, "labels": 1000},
        **{"depth_1": 3, "depth_2": 4, "depth_3": 6, "depth_4": 3},
    },
    "bert_base": {**_LANGUAGE, **_BASE, "vocabulary": 30522, "positions": 512},
    "gpt2_small": {**_LANGUAGE, **_BASE, "vocabulary": 50257, "positions": 1024},
    "vit_b16": {"batch": 2, "image": 224, "patch": 16, **_BASE, "labels": 1000},
    "gpt_neo_1p3b": {
        **_LANGUAGE,
        **{"layers": 24, "hidden": 2048, "heads": 16, "intermediate": 8192},
        **{"vocabulary": 50257, "positions": 2048, "window": 256},
    },
    "llama3_8b": {
        **_LANGUAGE,
        **{"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "intermediate": 14336},
        **{"vocabulary": 128256, "positions": 131072},
    },
    "per_example_grad": _GRADIENTS,
    "per_example_loop": _GRADIENTS,
    "moe": _EXPERTS,
    "moe_sorted": _EXPERTS,
    "attention_window": _ATTENTION,
    "attention_blocked": _ATTENTION,
    "newton": _NEWTON,
    "newton_readback": _NEWTON,
    "scan_rnn": _RNN,
    "unrolled_rnn": _RNN,
}

SMALL = {
    "gemm": {"m": 16, "k": 32, "n": 64},
    "ffn": _NARROW_FFN,
    "ffn_relu": _NARROW_FFN,
    "mha": {"batch": 2, "sequence": 8, "features": 48, "heads": 12},
    "layernorm": {"batch": 2, "sequence": 8, "features": 48},
    "conv": {"batch": 2, "height": 8, "width": 10, "channels_in": 3, "channels_out": 4},
    "two_matmuls": {"rows": 8, "features": 32, "hidden": 64},
    "elementwise_chain": {"elements": 10_000},
    "mlp_postnorm": {"batch": 2, "sequence": 8, "features": 32, "hidden": 64},
    "resnet50": {
        **{"batch": 2, "image": 32, "stem": 8, "width": 16, "labels": 10},
        **{"depth_1": 1, "depth_2": 2, "depth_3": 1, "depth_4": 1},
    },
    "bert_base": {**_NARROW, "vocabulary": 100, "positions": 16},
    "gpt2_small": {**_NARROW, "vocabulary": 100, "positions": 16},
    "vit_b16": {
        **{"batch": 2, "image": 32, "patch": 8, "layers": 2, "hidden": 32, "heads": 4},
        **{"intermediate": 64, "labels": 10},
    },
    # A window below the sequence: the local layers differ from the global ones.
    "gpt_neo_1p3b": {**_NARROW, "vocabulary": 100, "positions": 16, "window": 4},
    # Heads 16 wide: of the 8 pairs some are kept, some interpolated and some stretched.
    "llama3_8b": {
        **_NARROW,
        **{"sequence": 16, "hidden": 64, "kv_heads": 2, "intermediate": 96},
        **{"vocabulary": 100, "positions": 131072},
    },
    "per_example_grad": _NARROW_GRADIENTS,
    "per_example_loop": _NARROW_GRADIENTS,
    "moe": _NARROW_EXPERTS,
    "moe_sorted": _NARROW_EXPERTS,
    "attention_window": _NARROW_ATTENTION,
    "attention_blocked": _NARROW_ATTENTION,
    "newton": _NARROW_NEWTON,
    "newton_readback": _NARROW_NEWTON,
    "scan_rnn": _NARROW_RNN,
    "unrolled_rnn": _NARROW_RNN,
}

_DECODER = {"layers": 2, "hidden": 32, "heads": 4, "intermediate": 64, "vocabulary": 100}

# Those whose calls update what they keep.
UPDATING = {
    "train_mlp": {"batch": 8, "features": 24, "hidden": 32, "classes": 5},
    "train_transformer": {"batch": 2, "sequence": 8, **_DECODER},
    "decode": {"batch": 2, "positions": 16, "past": 5, **_DECODER},
}

NOT_IN_JAX = {"newton_readback"}
NOT_IN_TENSORFLOW = {"gpt_neo_1p3b", "llama3_8b", "newton_readback"}
NOT_IN_TENSORFLOWS_XLA = {*NOT_IN_TENSORFLOW, "moe_sorted"}
NOT_IN_TORCHAX = {"moe_sorted", "newton_readback"}
