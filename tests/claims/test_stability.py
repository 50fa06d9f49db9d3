"""How often two runs decide a claim differently."""

from claims_fixture import claim, config
from made_tables import accepted, comparison
from stackwars.study.claims import pages
from stackwars.study.claims.compare import Stability, between_runs

WORDS = {"quantifier": "every", "supports": ["slower"], "contradicts": ["faster"]}
STEADY = claim({**WORDS, "where": {"quantity": "steady"}})


def run(folder, name: str, studies: tuple = ("tables",), **ratios: float):
    """An accepted run with these steady ratios."""
    rows = [
        comparison(workload, ratio, verdict="slower" if ratio > 1 else "faster")
        for workload, ratio in ratios.items()
    ]
    return accepted(folder / name, studies=studies, comparisons=rows)


def test_every_pair_of_runs_is_compared_on_what_both_have(tmp_path):
    runs = [
        run(tmp_path, "2026-01", mha=2.0, ffn=2.0),
        run(tmp_path, "2026-02", mha=2.1, ffn=0.5),
        run(tmp_path, "2026-03", mha=1.9),
    ]
    assert between_runs(config(), [STEADY], runs) == Stability(1, 1, 1, pairs=3, pairs_differ=1)


def test_what_two_runs_have_alike_cannot_vary(tmp_path):
    runs = [run(tmp_path, name, mha=2.0) for name in ("2026-01", "2026-02")]
    assert between_runs(config(), [STEADY], runs).varying == 0
    counted = claim({**WORDS, "where": {"quantity": "hbm"}, "supports": ["more"], "contradicts": ["less"]})
    rows = [
        accepted(tmp_path / name, comparisons=[comparison("mha", ratio, quantity="hbm", verdict=word)])
        for name, ratio, word in (("2026-03", 2.0, "more"), ("2026-04", 0.5, "less"))
    ]
    assert between_runs(config(), [counted], rows).varying == 0


def test_a_run_that_did_not_measure_the_study_says_nothing_of_its_claims(tmp_path):
    runs = [run(tmp_path, "2026-01", mha=2.0), run(tmp_path, "2026-02", studies=("stacks",), mha=0.5)]
    assert between_runs(config(), [STEADY], runs) == Stability(0, 0, 0, 0, 0)


def test_the_page_says_of_those_that_can_vary_how_many_differ():
    text = " ".join(pages.stability(Stability(20, 7, 0, 1200, 31)).split())
    assert "20 rest on numbers that differ" in text and "7 of the 20 get another verdict" in text
    assert "(31 of 1,200 pairs), and none are supported by one" in text
