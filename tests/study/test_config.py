"""A configuration that cannot be used is refused with its key, what was expected and what came."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from stackwars.core.launch import REPOSITORY
from stackwars.measure import workloads
from stackwars.study import programs
from stackwars.study.config import CONFIG as FILE
from stackwars.study.config import PAGE, ConfigError, load, ordered, page, read, validate
from stackwars.study.keys import read_step


def down(config: dict, path: str) -> tuple[Any, Any]:
    """What holds the key, or the entry of a list, at the end of a path, and that key; slashes go down."""
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("/"))
    for parent in parents:
        config = config[parent]
    return config, last


def put(path: str, value: object) -> Callable[[dict], None]:
    """A change that sets one key, or one entry of a list."""

    def change(config: dict) -> None:
        holder, key = down(config, path)
        holder[key] = value

    return change


def drop(path: str) -> Callable[[dict], None]:
    """A change that removes one key."""

    def change(config: dict) -> None:
        holder, key = down(config, path)
        del holder[key]

    return change


# Through JSON, so that presets which share their sizes in YAML do not here.
CONFIG = json.loads(json.dumps(load().document()))
JAX = {"environments": {"cpu": "jax"}}
BOTH = ["cells", "programs"]
PENDING = {"subject": "torch_xla_pending", "baseline": "jax", "compare": ["cells"]}
OTHERS = [row for row in CONFIG["comparisons"] if row != PENDING]
TPU = {"subject": "torch_tpu", "baseline": "jax", "compare": ["programs"]}
GEMM = "presets/full/sizes/gemm"
REFUSED = [
    (put("growth/series/0/size", "depth"),
     "growth.series.0.size", "one of the sizes of decode, batch, layers", "depth"),
    (put("growth/shapes/0/frameworks", ["torch_tpu"]),
     "growth.shapes.0.frameworks", "frameworks with an environment for cpu", "torch_tpu"),
    (put("growth/shapes/0/values", [256, 64]),
     "growth.shapes.0.values", "with which window is at most the sequence, 64, in the preset full", 64),
    (put("sharding/batch/train_transformer", 6),
     "sharding.devices.1", "devices that divide the 6 of batch, with which train_transformer", 4),
    (put("presets/full/sizes/ffn/hidden", 1020),
     "sharding.slices.targets.tpu-v6e-8", "devices that divide the 1020 of up.weight", 8),
    (put("sharding/slices/targets/tpu-v6e-8", 4), "sharding.slices.targets.tpu-v6e-8", "the 8 chips of v6e:2x4", 4),
    (put("sharding/workloads/gemm", ["tensor"]), "sharding.devices.0", "workloads with TENSOR_PARALLEL", 2),
    (put("sharding/slices/frameworks", ["numpy"]),
     "sharding.slices.frameworks.0", "one of jax, torch_tpu, ", "numpy"),
    (put("odd_sizes/workloads/attention_blocked/0/window", 4),
     "odd_sizes.workloads.attention_blocked.0.window", "a divisor of the sequence, 35", 4),
    (put("odd_sizes/programs/0", "numpy"),
     "odd_sizes.programs", "frameworks that a comparison of programs has", "numpy"),
    (put("releases/versions/jaxlib/0", "0.3.0"),
     "releases.versions.jaxlib", "envs/lock_releases.py jaxlib-0.3.0 writes them", "0.3.0"),
    (put("presets/full/sizes/decode/past", 1024),
     "presets.full.sizes.decode.past", "fewer than positions, 1024", 1024),
    (put("frameworks/jaxx", JAX), "frameworks", "one of jax, jax_openvino, ", "jaxx"),
    (put("workloads", ["gemm", "gem"]), "workloads.1", "conv, ", "gem"),
    (put("comparisons/0/subject", "tf"), "comparisons.0.subject", "one of jax, torch_xla", "tf"),
    (put("comparisons/0/baseline", "torch_xla"),
     "comparisons.0.baseline", "another framework than the subject torch_xla", "torch_xla"),
    (put("comparisons/1", {**PENDING, "subject": "torch_xla"}),
     "comparisons.1.subject", "each subject compared once", "torch_xla"),
    (put("comparisons", OTHERS), "comparisons", "the cells of torch_xla_pending", "torch_xla"),
    (put("comparisons", [row for row in CONFIG["comparisons"] if row != TPU]),
     "comparisons", "the programs of torch_tpu", "torch_xla"),
    (drop("frameworks/torch_tpu/programs"),
     "frameworks.torch_tpu", "environments, one for each device that it has cells on; programs", "{}"),
    (put("comparisons", [*(row for row in CONFIG["comparisons"] if row != TPU), {**TPU, "compare": BOTH}]),
     "frameworks.torch_tpu", "environments, which a framework needs", "torch_tpu"),
    (put("frameworks/torch_xla/environments", {"tpu": "torch_xla-tpu"}),
     "frameworks.torch_xla", "programs or environments.cpu", "torch_xla-tpu"),
    (put("comparisons", [*OTHERS, {**PENDING, "compare": BOTH}]),
     "comparisons.compare", "a src/stackwars/measure/stablehlo/lower_<framework>.py", "torch_xla_pending"),
    (put("comparisons", [*OTHERS, {**PENDING, "baseline": "torch_xla", "compare": BOTH}]),
     "comparisons", "one baseline of all programs", '["jax", "torch_xla"]'),
    (put(f"{GEMM}/m", -128), "presets.full.sizes.gemm.m", "at least 1", -128),
    (drop(f"{GEMM}/m"), "presets.full.sizes.gemm", "the keys m", '["k", "n"]'),
    (drop(GEMM), "presets.full.sizes", "the keys gemm", "layernorm"),
    (put("presets/smoke/settings/timeout", 1), "presets.smoke.settings.timeout", "timeout_s", "timeout"),
    (drop("devices"), "the whole file", "the keys devices", "comparisons"),
    (put("settings/steady_max_blocks", 1),
     "settings.steady_min_blocks", "at most steady_max_blocks, 1 in preset full", 3),
    (put("settings/memory_cap_gib", "all"), "settings.memory_cap_gib", "auto", '"all"'),
    (put("presets/full/rounds/jaxx", 3), "presets.full.rounds", "one of gemm, ffn, ", "jaxx"),
    (put("compilers/iree-3.13/options", {"flag": [1]}),
     "compilers.iree-3.13.options.flag", "text, true, false or an integer", "[1]"),
    (put("settings/timeout_s", "900"), "settings.timeout_s", "a number", '"900"'),
    (put("compilers/newer", {"environment": "xla-0.10.2", "native": True}),
     "compilers", "at most one native", "newer"),
    (put("compilers/newer", {"environment": "xla-0.10.2", "module": "hlo"}), "compilers.newer.module", "xla", "hlo"),
    (put("aot_compilations", [{"target": "tpu-v9", "compiler": "jaxlib-0.7.1"}]),
     "aot_compilations.0.target", "one of tpu-v6e", "tpu-v9"),
    (put("targets/h100/description", "h200.txtpb"), "targets.h100.description", "one of h100.txtpb", "h200.txtpb"),
    (drop("targets/h100/description"), "targets.h100", "the keys description", "platform"),
    (put("aot_compilations/0/stop_after", "buffer_assignment"),
     "aot_compilations.0", "compiled to the end", "buffer_assignment"),
    (put("presets/full/variants/mha", ["large"]), "presets.full.variants.mha.0", "of the form ^b", "large"),
    (put("presets/full/variants/vit_b16", ["b8s4"]),
     "presets.full.variants.vit_b16.0", "of the form ^b[1-9][0-9]*$", "b8s4"),
    (put("presets/full/largest_batch", ["gemm"]), "presets.full.largest_batch.0", "one of ffn", "gemm"),
    (put("presets/full/sizes/attention_window/window", 2048),
     "presets.full.sizes.attention_window.window", "at most the sequence, 1024", 2048),
    (put("presets/full/sizes/attention_blocked/window", 100),
     "presets.full.sizes.attention_blocked.window", "a divisor of the sequence, 1024", 100),
    (put("presets/full/variants/attention_window", ["b8", "b8s64"]),
     "presets.full.variants.attention_window.1", "window of at most the sequence, 64", "b8s64"),
]  # fmt: skip


@pytest.mark.parametrize("preset", CONFIG["presets"])
def test_preset_has_exactly_the_sizes_of_every_workload(preset):
    sizes = CONFIG["presets"][preset]["sizes"]
    names = [name for name in sizes if "@" not in name]
    # The sizes of a file of functions are optional: it has defaults.
    required = [name for name in workloads.names() if name in names or workloads.load(name).DEFAULTS is None]
    assert names == required, f"fix: presets.{preset}.sizes, in the order of ORDER"
    own = [name for name in CONFIG["workloads"] if "@" not in name]
    assert own == [name for name in sizes if name in own]
    for name, given in sizes.items():
        assert set(given) == set(workloads.load(name).SIZES) or ("@" in name and given)


@pytest.mark.parametrize(("change", "key", "expected", "got"), REFUSED)
def test_refused(change, key, expected, got):
    config = copy.deepcopy(CONFIG)
    change(config)
    with pytest.raises(ConfigError) as raised:
        validate(config)
    message = str(raised.value)
    assert message.startswith(f"config: {key}: expected ")
    wanted, _, given = message.partition(", got ")
    assert expected in wanted
    assert str(got) in given


def test_reference_is_of_the_full_preset_only():
    load(source="reference")
    with pytest.raises(ConfigError, match=r"config: preset: expected full, the preset of .*got \"smoke\""):
        load(source="reference", preset="smoke")


def test_workload_without_the_dialect_of_a_framework_that_is_asked_for_it_is_refused(monkeypatch):
    monkeypatch.setattr("stackwars.measure.frameworks.torch_xla_pending.DIALECT", "flax")
    expected = r"workloads: expected workloads with a form in flax, .*_pending .*got \"resnet50\""
    with pytest.raises(ConfigError, match=expected):
        load()
    assert "gemm" not in CONFIG["frameworks"]["torch_xla_pending"]["workloads"]
    load(workloads=["gemm"])


def test_empty_file_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("# nothing\n")
    with pytest.raises(ConfigError, match=r"the whole file: expected a mapping of keys, got null"):
        load(path)


def test_half_written_workload_is_named_with_its_file(tmp_path, monkeypatch):
    (tmp_path / "half_written.py").write_text("import numpy\nWORKLOAD = \n")
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(tmp_path)])
    with pytest.raises(ConfigError, match=r"^workload half_written: .*half_written.py: .*; fix: that file$"):
        load()


@pytest.mark.parametrize(
    ("inputs", "given", "sizes"),
    [
        ("rows=3, width=4", {}, {"rows": 3, "width": 4}),
        ("rows=3, width=4", {"width": 7}, {"rows": 3, "width": 7}),
        ("", {}, {}),
    ],
)
def test_a_program_file_needs_its_name_in_a_study_alone(tmp_path, monkeypatch, inputs, given, sizes):
    text = f"def inputs({inputs}):\n    return {{'x': (3,)}}\n\n\ndef jax(x):\n    return x\n"
    (tmp_path / "fresh.py").write_text(text)
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(tmp_path)])
    document = read(REPOSITORY / "config" / "config.yaml") | {"preset": "smoke", "measure": ["matrix"]}
    document["studies"]["matrix"]["workloads"].append("fresh")
    if given:
        document["presets"]["smoke"]["sizes"]["fresh"] = given
    config = validate(document)
    assert "fresh" in config.workloads and config.chosen.sizes["fresh"] == sizes
    known = {(replay.workload, replay.compiler) for replay in programs.replays(config.changed(preset="full"))}
    assert {compiler for name, compiler in known if name == "fresh"} == set(config.compilers)


def test_a_step_reads_what_was_validated(tmp_path):
    config = load(preset="smoke")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config.document()))
    assert read_step(path) == config


def test_the_page_of_keys_is_current():
    is_current = PAGE.read_text(encoding="utf-8") == page()
    assert is_current, "config/README.md says something else; fix: .venv/bin/python -m stackwars.study.config"
    for key in ("settings.seed", "presets.<name>.sizes", "growth.series[].values"):
        assert f"`{key}`" in page()


def test_a_study_of_a_merged_file_does_not_become_the_original_s():
    merged = {"studies": {"matrix": {}, "added": {}, **load().studies}}
    assert next(iter(merged["studies"])) == "matrix"
    names = [*ordered(merged, FILE)["studies"]]
    assert names == [*load().studies, "added"]
    # What is wrong is left to the validation.
    assert ordered({"studies": 3}, FILE) == {"studies": 3}
