"""What a model's linear layers by themselves explain of the difference between its two programs."""

import pytest

from stackwars.publish.paper.tables import products
from stackwars.study import cells
from stackwars.study.config import load

SIZES = {name: cells.sizes(load(), name) for name in ("bert_base", "gpt2_small", "vit_b16", "linear@vit_down")}


def test_layers_of_a_model_are_counted_by_the_shapes_of_its_weights():
    bert = products.layers("bert_base", SIZES["bert_base"])
    assert bert[128, 768, 3072] == bert[128, 3072, 768] == 12
    assert bert[128, 768, 768] == 12 * 4
    gpt2 = products.layers("gpt2_small", SIZES["gpt2_small"])
    assert gpt2[128, 768, 2304] == gpt2[128, 768, 768] == gpt2[128, 768, 3072] == gpt2[128, 3072, 768] == 12


def test_an_image_model_has_a_row_for_each_patch_and_one():
    down = products.layer(SIZES["linear@vit_down"])
    assert down == (394, 3072, 768) and products.layers("vit_b16", SIZES["vit_b16"])[down] == 12


@pytest.mark.parametrize(("model", "sign"), [("bert_base", 1), ("gpt2_small", -1)])
def test_the_framework_with_out_in_weights_pays(model, sign, monkeypatch):
    times = {
        ("jax", "linear"): 5.0,
        ("torch_xla", "linear"): 19.0,
        ("jax", model): 100.0,
        ("torch_xla", model): 300.0,
    }

    class Data:
        config = load()

        def study(self, name):
            compilers = ("jaxlib-0.7.1",)
            workloads = ("linear",) if name == products.STUDY else (model,)
            return type("Study", (), {"compilers": compilers, "workloads": workloads})

    def replays(data, study):
        return {(w, "jaxlib-0.7.1", f): {"steady_ms": ms} for (f, w), ms in times.items()}

    monkeypatch.setattr(products, "_replays", replays)
    (row,) = products.predicted(
        type("Sources", (), {"dataset_for": lambda self, study: Data(), "run": Data()})()
    )
    assert row["layers_ms"] == pytest.approx(sign * 12 * 14.0)
    assert row["measured_ms"] == 200.0 and row["share"] == pytest.approx(sign * 0.84)
