"""A verdict about compilers or frontends: whether it survives without each of them."""

from claims_fixture import claim, config, dataset
from stackwars.study.claims.decide import decide
from stackwars.study.results import effects
from stackwars.study.studies import full_study

STUDY = full_study(config(), effects.STUDY)
WORKLOADS = STUDY.workloads[:5]
QUERY = {
    "table": "effects", "study": effects.STUDY, "where": {"subset": "all", "effect": "compiler"}, "field": "largest",
    "supports": ["compiler"], "contradicts": ["frontend"], "leave_out": ["compiler", "frontend"],
}  # fmt: skip
LEVELS = [("compiler", name) for name in STUDY.compilers] + [("frontend", name) for name in STUDY.programs]


def effect(subset: str, words: dict[str, str]) -> list[dict]:
    """Return a row a workload: which effect is the largest on it."""
    return [
        {"subset": subset, "workload": name, "effect": "compiler", "largest": word}
        for name, word in words.items()
    ]


def decided(folder, of_all: dict[str, str], **without: dict[str, str]):
    """Decide by these words; each level that is not named leaves them as they are."""
    rows = effect("all", of_all)
    for factor, level in LEVELS:
        rows += effect(effects.without(factor, level), without.get(level, of_all))
    return decide(claim(QUERY), dataset(folder, effects=rows))


def words(supports: int, others: str = "frontend") -> dict[str, str]:
    """Return the largest effects of five workloads."""
    return {name: "compiler" if place < supports else others for place, name in enumerate(WORKLOADS)}


def test_a_verdict_that_survives_every_level_needs_a_bare_majority_without_each(tmp_path):
    found = decided(tmp_path, words(4), **{"iree-3.13": words(3), "torchax": words(3)})
    assert (found.verdict, found.margin) == ("supported", "4 of 5, needs 3 + 1")


def test_a_level_that_carries_the_majority_is_named(tmp_path):
    found = decided(tmp_path, words(4), **{"jaxlib-0.10.2": words(2), "jax": words(2, "not separated")})
    assert found.verdict == "not decided"
    assert found.margin == "4 of 5, needs 3 + 1; not without jaxlib-0.10.2: 2 of 5; not without jax: 2 of 5"
    against = decided(tmp_path, words(1), **{"iree-3.13": words(3)})
    assert (against.verdict, against.margin) == (
        "not decided",
        "1 of 5, needs 3 + 1; not without iree-3.13: 2 of 5",
    )


def test_a_workload_without_a_row_leaves_its_vote_open(tmp_path):
    left = dict.fromkeys(WORKLOADS[:2], "compiler")
    found = decided(tmp_path, words(5), **{"iree-3.13": left})
    assert found.margin == "5 of 5, needs 3 + 1; not without iree-3.13: 2 of 5"
    table = dataset(tmp_path, effects=effect("all", words(5)))
    assert decide(claim(QUERY), table).verdict == "not decided"


def test_a_verdict_that_is_open_anyway_names_no_level(tmp_path):
    found = decided(tmp_path, words(3), **{"iree-3.13": words(1)})
    assert (found.verdict, found.margin) == ("not decided", "3 of 5, needs 3 + 1")
