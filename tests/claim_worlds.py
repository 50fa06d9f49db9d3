"""SYNTHETIC worlds in which a claim holds, and in which it does not. No number was ever measured.

WORLDS has for every claim two edits of the results of :mod:`paper_fixture`, and the section of the
paper (or its table of claims) in which a sentence must then read otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from claim_edits import (
    BASIC,
    GIB,
    MODELS,
    NEW,
    OLD,
    Edit,
    ahead,
    as_it_is,
    at_default_precision,
    audited,
    both,
    cells,
    compiled,
    edit,
    effect,
    everywhere,
    form,
    in_form,
    in_products,
    on_tpu,
    over_previous,
    parts,
    pretransposed,
    program,
    ratio,
    split,
    stack,
    trained,
)


@dataclass(frozen=True)
class World:
    """What makes a claim hold and fail, and where in the paper one reads it."""

    holds: Edit
    fails: Edit
    section: str


PAIR = ["jax", "torch_xla"]
TRAINED = ["train_mlp", "train_transformer"]
NOT_DENSE = ["moe", "moe_sorted", "attention_window", "attention_blocked", "newton", "scan_rnn"]
NO_YNN, IREE = "jaxlib-0.10.2-no-ynn", "iree-3.13"
TPU = ["ffn", "mha", "resnet50", "bert_base", "gpt2_small"]
BERT = ("first_ms", "first_low_ms", "first_high_ms")
TWICE = {"compiles_second": 1, "steady_class": "warm-up", "warmup_points": 2}
TOO_LARGE = {"verdict": "oom", "decided_by": "compiler", "hbm_bytes": 40 * GIB}
SMALL = {"verdict": "fits", "decided_by": "compiler", "hbm_bytes": 2 * GIB}
BYTES = [*BASIC, *MODELS, "llama3_8b"]
WORLDS = {
    "tpu_faster_steady": World(
        both(on_tpu, ratio("steady", TPU, 2.0, "tpu")),
        both(on_tpu, ratio("steady", TPU, 0.5, "tpu")),
        "published",
    ),
    "tpu_second_run": World(
        both(on_tpu, cells("torch_xla", device="tpu", second_ms=lambda r: r.steady_ms * 100)),
        on_tpu,
        "published",
    ),
    "tpu_gemm_first": World(
        both(on_tpu, ratio("first", ["gemm"], 0.01, "tpu")),
        both(on_tpu, ratio("first", ["gemm"], 0.5, "tpu")),
        "published",
    ),
    "faster_steady_basic": World(
        ratio("steady", ["ffn", "mha"], 1.5), ratio("steady", ["mha"], 0.5), "latency"
    ),
    "gemm_steady_pytorch": World(
        ratio("steady", ["gemm"], 0.5), ratio("steady", ["gemm"], 1.5), "latency"
    ),
    "faster_steady_models": World(
        ratio("steady", MODELS, 1.5), ratio("steady", ["gpt2_small"], 0.7), "latency"
    ),
    "gemm_first_pytorch": World(
        ratio("first", ["gemm"], 0.5), ratio("first", ["gemm"], 1.5), "latency"
    ),
    "block_first_pytorch": World(
        ratio("first", ["ffn", "ffn_relu", "mha"], 0.5), ratio("first", ["mha"], 1.5), "latency"
    ),
    "longer_first_models": World(
        ratio("first", MODELS, 1.5), ratio("first", MODELS, 0.7), "latency"
    ),
    "two_runs_pytorch": World(cells("torch_xla", **TWICE), as_it_is, "slow_runs"),
    "second_run_models": World(
        cells("torch_xla", second_ms=lambda rows: rows.steady_ms * 100), as_it_is, "transferred"
    ),
    "one_run_jax": World(as_it_is, cells("jax", **TWICE), "slow_runs"),
    "bert_longest_first": World(
        cells("jax", ["bert_base"], **dict(zip(BERT, (9000.0, 8000.0, 9900.0), strict=True))),
        as_it_is,
        "latency",
    ),
    "bert_first_pytorch": World(
        ratio("first", ["bert_base"], 0.5), ratio("first", ["bert_base"], 2.0), "latency"
    ),
    "program_is_reason": World(
        as_it_is,
        split(None, OLD, native_verdict="slower", source_verdict="the runtime"),
        "answer",
    ),
    "primitive_slower": World(
        both(effect(OLD, "slower", 1.4), effect(NEW, "slower", 1.4)),
        both(effect(OLD, "faster", 0.7), effect(NEW, "faster", 0.7)),
        "programs",
    ),
    "one_ir_many_speeds": World(
        as_it_is,
        split(None, [OLD, NEW], ir_ratio=1.01, ir_ratio_low=0.97, ir_ratio_high=1.05),
        "ours",
    ),
    "memory_jax": World(
        as_it_is,
        ahead(BYTES, ["torch_xla"], [NEW], hbm_bytes=lambda rows: rows.hbm_bytes * 0.9),
        "conclusion",
    ),
    "temporaries_jax": World(
        as_it_is,
        ahead(BYTES, ["torch_xla"], [NEW], temp_bytes=lambda rows: rows.temp_bytes * 0.9),
        "published",
    ),
    "room_jax": World(
        both(
            edit("largest_batch", {"framework": "torch_xla"}, fits_batch=90, oom_batch=91),
            edit("largest_batch", {"framework": "jax"}, fits_batch=200, oom_batch=201),
        ),
        as_it_is,
        "fits",
    ),
    "oom_pytorch": World(
        ahead(["vit_b16", "gpt_neo_1p3b"], ["torch_xla"], [NEW], **TOO_LARGE), as_it_is, "fits"
    ),
    "oom_llama_both": World(
        ahead(["llama3_8b"], PAIR, [NEW], **TOO_LARGE),
        ahead(["llama3_8b"], PAIR, [NEW], **SMALL),
        "fits",
    ),
    "what_ran_fits": World(as_it_is, ahead(["gemm"], ["jax"], [NEW], **TOO_LARGE), "fits"),
    "flattening": World(as_it_is, form("flattening", "torch_xla", "preserved"), "programs"),
    "layernorm_form": World(as_it_is, form("layernorm", "torch_xla", "fine-grained"), "programs"),
    "qkv_combined": World(
        form("qkv", "jax", "combined"), form("qkv", "jax", "separate"), "programs"
    ),
    "contraction": World(as_it_is, form("contraction", "jax", "prepared"), "programs"),
    "layernorm_longer": World(
        as_it_is, program("layernorm", "torch_xla", operations=90), "published"
    ),
    "bert_larger_graph": World(program("bert_base", "jax", operations=99), as_it_is, "published"),
    "smaller_graphs": World(cells("torch_xla", compiles_first=3), as_it_is, "published"),
    "flattening_costs": World(compiled("torch_xla", layout_bytes=2**21), as_it_is, "published"),
    "fusion": World(
        as_it_is, compiled("torch_xla", operations_by_kind='{"fusion": 90}'), "published"
    ),
    "outputs_agree": World(
        as_it_is,
        edit(
            "frame",
            {"workload": "mha", "framework": "torch_xla", "device": "cpu"},
            **{"status": "invalid", "parity_rel_l2": 1e-3},
        ),
        "ours",
    ),
    "harness_passes": World(audited("pass"), audited("fail"), "ours"),
    "first_is_first": World(as_it_is, cells("jax", ["mha"], cache_hits_first=1), "ours"),
    "one_core_agrees": World(
        both(ratio("steady", BASIC, 1.5), ratio("steady", BASIC, 1.5, "cpu-1t")),
        both(ratio("steady", ["mha"], 1.5), ratio("steady", ["mha"], 0.7, "cpu-1t")),
        "latency",
    ),
    "steady_compiles_nothing": World(as_it_is, cells("jax", ["mha"], compiles_steady=1), "ours"),
    "pending_two_runs": World(as_it_is, cells("torch_xla_pending", compiles_second=0), "slow_runs"),
    "compiling_dominates": World(
        as_it_is,
        edit("frame", {"device": "cpu", "status": "ok"}, first_trace_ms=1e6),
        "latency",
    ),
    "control_holds": World(as_it_is, split(None, OLD, control_verdict="off"), "matrix"),
    "runtime_against_pytorch": World(
        as_it_is, split(["layernorm"], OLD, runtime_verdict="faster"), "ours"
    ),
    "generation_turns": World(
        as_it_is,
        both(
            split(["gpt2_small"], NEW, ir_verdict="faster", ir_ratio=0.7),
            split(["gemm"], OLD, ir_verdict="no difference found"),
            split(["gemm"], NEW, ir_verdict="no difference found"),
        ),
        "matrix",
    ),
    "pretransposed_weights_close": World(pretransposed(0.9), pretransposed(0.2), "matrix"),
    "gemm_same_program": World(
        as_it_is,
        edit(
            "ir_metrics",
            {"workload": "gemm", "framework": "torch_xla", "level": "normalised"},
            canonical_hash="another",
        ),
        "programs",
    ),
    "memory_close": World(
        ahead(BYTES, ["torch_xla"], [NEW], hbm_bytes=lambda rows: rows.hbm_bytes / 1.02),
        as_it_is,
        "ours",
    ),
    "default_precision_smaller": World(
        as_it_is,
        at_default_precision(hbm_bytes=lambda rows: rows.hbm_bytes / 0.9),
        "ours",
    ),
    "generations_agree_fit": World(as_it_is, ahead(["gemm"], ["jax"], [OLD], **TOO_LARGE), "fits"),
    "compiling_pays_chain": World(
        as_it_is, stack("elementwise_chain", "torch_inductor", 2.5), "ours"
    ),
    "compiling_not_products": World(stack("two_matmuls", "torch_inductor", 2.5), as_it_is, "ours"),
    "native_faster": World(as_it_is, everywhere("torch_inductor", 2.5), "ours"),
    "freezing_pays": World(as_it_is, everywhere("torch_inductor_frozen", 2.5), "ours"),
    "xla_pays_tensorflow": World(as_it_is, everywhere("tensorflow_xla", 2.5), "ours"),
    "torchax_keeps_pace": World(as_it_is, stack("mha", "torchax", 2.5), "ours"),
    "jax_returns_early": World(
        as_it_is, edit("stacks", {"framework": "jax"}, returned_ms=0.99), "ours"
    ),
    "xla_over_numpy": World(as_it_is, everywhere("numpy", 0.5), "ours"),
    "lecture_directions": World(
        stack("two_matmuls", "torch_eager", 0.5),
        stack("elementwise_chain", "torch_eager", 0.5),
        "ours",
    ),
    "compiler_more_than_frontend": World(parts("compiler"), parts("frontend"), "ours"),
    "ynn_pays": World(
        over_previous(NO_YNN, "slower", 1.5), over_previous(NO_YNN, "faster", 0.7), "ours"
    ),
    "iree_slower": World(
        over_previous(IREE, "slower", 1.5), over_previous(IREE, "faster", 0.7), "ours"
    ),
    "training_agrees": World(
        as_it_is,
        edit(
            "beyond",
            {"workload": "train_mlp", "framework": "torch_xla"},
            **{"status": "invalid", "steady_verdict": None, "losses_apart": 0.1},
        ),
        "beyond",
    ),
    "training_slower": World(as_it_is, both(*(trained(w, 0.5) for w in TRAINED)), "ours"),
    "not_dense_slower": World(as_it_is, both(*(trained(w, 0.5) for w in NOT_DENSE)), "ours"),
    "transformation_over_loop": World(as_it_is, in_form("per_example_loop", 0.5), "ours"),
    "sparse_experts_pay": World(as_it_is, in_form("moe_sorted", 2.0), "ours"),
    "blocks_pay": World(as_it_is, in_form("attention_blocked", 2.0), "ours"),
    "readback_costs": World(as_it_is, in_form("newton_readback", 0.5), "ours"),
    "unrolling_costs_first": World(as_it_is, in_form("unrolled_rnn", 0.5, "first"), "ours"),
    "depth_costs_at_most_in_proportion": World(
        as_it_is,
        edit(
            "growth", {"workload": "decode"}, compile_cost_ms=lambda r: r.compile_cost_ms * r.value
        ),
        "ours",
    ),
    "division_keeps_output": World(
        as_it_is, edit("sharding", {"frontend": "torch_xla"}, status="invalid"), "ours"
    ),
    "same_collectives": World(
        as_it_is, edit("sharding", {"frontend": "torch_xla"}, all_gather=3), "ours"
    ),
    "llama_fits_four_chips": World(
        as_it_is, edit("sharding", {"workload": "llama3_8b"}, verdict="oom"), "ours"
    ),
    "new_shapes_compile": World(
        as_it_is, edit("shapes", {"framework": "jax", "turn": 2}, compiles=1), "ours"
    ),
    "successor_keeps_form": World(as_it_is, in_products("torch_tpu", 0), "ours"),
    "successor_has_other_form": World(as_it_is, in_products("torch_tpu_undecomposed", 1), "ours"),
    "successor_norm_and_qkv": World(
        both(form("qkv", "torch_tpu", "combined"), form("layernorm", "torch_tpu", "fine-grained")),
        form("layernorm", "torch_tpu", "high-level"),
        "ours",
    ),
}
