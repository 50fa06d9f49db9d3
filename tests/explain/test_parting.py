"""Where two programs part: ports with one difference, and what tells its kind."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from stackwars.core.launch import REPOSITORY
from stackwars.explain import page
from stackwars.explain.answer import CLASSIFIED, NOT_CLASSIFIED, Answer
from stackwars.explain.parting import ACTIVATIONS, term
from stackwars.study.workflow import explain

PORTS = sorted((REPOSITORY / "tests" / "explain" / "ports").glob("*.py"))


def kind(path: Path) -> str | None:
    """Return the kind of a port's difference; "" if it is of no known kind, None if there is none."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.KIND


def explained(path: Path, folder: Path) -> Answer:
    words = ["--compilers", "jaxlib-0.10.2", "--frontends", "jax,torch_xla", "--output", str(folder)]
    options = explain.parser().parse_args([str(path), *words])
    return explain.explain(explain.request(options, print))


@pytest.mark.env
@pytest.mark.parametrize("path", PORTS, ids=lambda path: path.stem)
def test_the_difference_of_a_port_is_named_with_lines_of_both_forms(path, tmp_path):
    answer = explained(path, tmp_path)
    found, wanted = answer.parting, kind(path)
    if wanted is None:
        assert found is None and answer.exit_status != page.NOT_RIGHT
        return
    assert (found.kind, found.verdict) == (wanted, CLASSIFIED if wanted else NOT_CLASSIFIED), found
    assert answer.exit_status == page.NOT_RIGHT and found.error > 0 and found.is_all == bool(wanted)
    for line in (found.line_a, found.line_b):
        assert line.startswith(f"ports/{path.name}:") or "/" in line, found


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


def test_what_a_term_does_to_a_value_tells_its_kind():
    x = normal(64, 32)
    mask = np.arange(64)[:, None] < np.arange(32)
    dropped = np.random.default_rng(1).random(x.shape) < 0.2
    cases = {
        "missing bias": x + normal(32),
        "scale": x * 0.125,
        "epsilon": x + 1e-6,
        "constant": x + 3,
        "missing mask": np.where(mask, -np.inf, x),
        "missing term": x + normal(64, 32)[::-1],
        "dropout left on": np.where(dropped, 0, x / 0.8),
        "activation": np.maximum(x, 0),
    }
    assert {name: term(y, x)[0] for name, y in cases.items()} == {name: name for name in cases}
    assert term(x + np.where(mask, -1e4, 0), x)[0] == "missing mask"
    # Zeros at a rate that their factor does not tell, and elements that are cut by their size, are neither.
    assert term(np.where(dropped, 0, x / 0.5), x)[0] != "dropout left on"
    assert term(np.minimum(x, 0.5), x)[0] == "missing term"


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_known_by_its_values(name):
    x = normal(16, 16)
    assert term(ACTIVATIONS[name](x), x) == ("activation", name)
