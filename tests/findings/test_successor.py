"""Whose form the successor's programs have, and how far its two forms' largest batches are apart."""

import pandas
import pytest

from stackwars.findings.successor import Programs, successor_findings
from stackwars.study.comparisons import Comparison

PAIR = Comparison("torch_xla", "jax", ("programs",))
NAMES = ("torch_tpu", "torch_tpu_undecomposed")


def structure(framework: str, claim: str = "flattening", **verdicts: str) -> list[dict]:
    """Rows of structure.csv: of each workload the form of what the claim is about."""
    row = {"claim": claim, "framework": framework, "here": True}
    return [
        row | {"workload": workload, "title": workload.upper(), "verdict": verdict}
        for workload, verdict in verdicts.items()
    ]


def batches(*limits: tuple[int, int | None]) -> pandas.DataFrame:
    """Rows of largest_batch.csv: of each form the batch that fits and the one that does not."""
    columns = ["workload", "title", "compiler", "framework", "fits_batch", "oom_batch"]
    rows = [
        ("vit", "ViT", "jaxlib-0.10.2", name, *limit)
        for name, limit in zip(NAMES, limits, strict=False)
    ]
    return pandas.DataFrame(rows, columns=columns)


THERE = Programs(
    pandas.DataFrame(
        structure("jax", ffn="preserved", mha="preserved", gemm="both", conv="not applicable")
        + structure("torch_xla", ffn="flattened", mha="", gemm="both", conv="flattened")
    ),
    batches(),
)


@pytest.mark.parametrize(
    ("form", "verdict"),
    [
        ("flattened", "as the subject's"),
        ("preserved", "as the baseline's"),
        ("both", "as neither's"),
        ("not applicable", None),
        ("no program", None),
    ],
)
def test_form_is_compared_where_the_two_frontends_differ(form, verdict):
    # GEMM has the same form in both, the claim is not about Conv in one, and MHA has no program in the other.
    words = {"gemm": "both", "conv": "flattened", "mha": "flattened", "ffn": form}
    own = pandas.DataFrame(structure("torch_tpu", **words))
    found = successor_findings(Programs(own, batches()), THERE, PAIR)
    assert [(f["id"], f["verdict"]) for f in found] == (
        [("successor_form/ffn/flattening/torch_tpu", verdict)] if verdict else []
    )


def test_other_forms_are_compared_with_the_baseline_s_alone():
    there = structure(
        "jax", "layernorm", bert="fine-grained", vit="fine-grained", gemm="no program"
    )
    own = structure("torch_tpu", "layernorm", bert="fine-grained", vit="high-level", gemm="x")
    found = successor_findings(
        Programs(pandas.DataFrame(own), batches()),
        Programs(pandas.DataFrame(there), batches()),
        PAIR,
    )
    assert {f["id"]: f["verdict"] for f in found} == {
        "successor_like/bert/layernorm/torch_tpu": "same",
        "successor_like/vit/layernorm/torch_tpu": "different",
    }


def test_a_frontend_of_the_comparison_is_no_successor():
    own = pandas.DataFrame(structure("jax", ffn="preserved"))
    assert successor_findings(Programs(own, batches()), THERE, PAIR) == []


@pytest.mark.parametrize(
    ("first", "second", "verdict", "times"),
    [
        ((10, 21), (60, 80), "more", 3.0),
        ((60, 80), (10, 21), "less", 3.0),
        ((10, 21), (20, 40), "unresolved", None),
        ((10, 21), (60, None), "no data", None),
    ],
)
def test_two_largest_batches_are_apart_where_their_brackets_are(first, second, verdict, times):
    own = pandas.DataFrame([row for name in NAMES for row in structure(name, ffn="flattened")])
    *_, found = successor_findings(Programs(own, batches(first, second)), THERE, PAIR)
    assert (found["id"], found["verdict"]) == ("successor_batch/vit", verdict)
    assert found["times"] == (times and pytest.approx(times))
