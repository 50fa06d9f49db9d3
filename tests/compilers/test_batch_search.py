"""The search for the largest batch that fits, against memories whose edge is known."""

from collections.abc import Callable

import pytest

from stackwars.compilers.largest_batch import CLOSE, LARGEST, BatchSearch, Probe, search

USABLE = 33_546_043_392
WEIGHTS = 435_000_000


def run(demand: Callable[[int], int], limit: int, base: int = 2, told: bool = True) -> tuple[BatchSearch, int]:
    """(what the search found, its number of tries). told: whether a refusal tells its bytes."""
    tried: list[int] = []

    def of(batch: int) -> Probe:
        fits = demand(batch) <= USABLE
        return Probe(batch, "fits" if fits else "oom", demand(batch) if fits or told else None)

    def probe(batch: int) -> Probe:
        assert batch not in tried and batch != base, "a batch was compiled twice"
        assert batch >= 1
        tried.append(batch)
        return of(batch)

    known = BatchSearch(USABLE, WEIGHTS, [of(base)])
    return search(known, limit, probe), len(tried)


def edge(demand: Callable[[int], int]) -> int:
    """The largest batch that fits, by halving over all of them."""
    low, high = 0, LARGEST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if demand(middle) <= USABLE else (low, middle)
    return low


def linear(batch: int) -> int:
    return WEIGHTS + 1_234_567 * batch


def stepped(batch: int) -> int:
    """Nothing up to what stays on chip, then a line with padding to eight."""
    return WEIGHTS + 200_000 * batch + (9_000_000 * -(-batch // 8) if batch > 16 else 0)


def quadratic(batch: int) -> int:
    return WEIGHTS + 100_000 * batch + 3_000 * batch**2


def jumping(batch: int) -> int:
    """A compiler that changes its mind half way to the edge."""
    return WEIGHTS + (1_000_000 if batch < 9000 else 2_500_000) * batch


@pytest.mark.parametrize("demand", [linear, stepped, quadratic, jumping])
def test_the_bracket_holds_the_edge(demand: Callable[[int], int]) -> None:
    for told in (True, False):
        for limit in range(1, 25):
            found, tries = run(demand, limit, told=told)
            assert tries <= limit
            assert found.fits <= edge(demand)
            assert found.oom is None or found.oom > edge(demand)
        assert found.oom - found.fits <= max(1, CLOSE * found.fits), (demand.__name__, told)


def test_a_line_needs_few_tries() -> None:
    found, tries = run(linear, limit=6)
    assert (found.fits, found.oom) == (edge(linear), edge(linear) + 1)
    assert tries <= 3


@pytest.mark.parametrize(("demand", "limit"), [(stepped, 4), (jumping, 6), (quadratic, 8)])
def test_other_memories_need_few_more(demand: Callable[[int], int], limit: int) -> None:
    found, _ = run(demand, limit)
    assert found.oom - found.fits <= max(1, CLOSE * found.fits)


def test_a_program_that_never_fits() -> None:
    found, tries = run(lambda batch: USABLE + batch, limit=6)
    assert (found.fits, found.oom) == (0, 1)
    assert tries <= 1


def test_a_program_that_fits_only_below_the_base() -> None:
    found, _ = run(lambda batch: WEIGHTS + 10**10 * batch, limit=6, base=8)
    assert (found.fits, found.oom) == (3, 4)


def test_a_program_that_always_fits() -> None:
    found, _ = run(lambda batch: WEIGHTS, limit=30)
    assert (found.fits, found.oom) == (LARGEST, None)


def test_a_compilation_that_tells_nothing_is_not_repeated() -> None:
    """The compiler dies from 700 on: the search stays below."""
    tried = []

    def probe(batch: int) -> Probe:
        assert batch not in tried
        tried.append(batch)
        return Probe(batch, "", None) if batch >= 700 else Probe(batch, "fits", linear(batch))

    known = search(BatchSearch(USABLE, WEIGHTS, [Probe(2, "fits", linear(2))]), 30, probe)
    assert (known.fits, known.oom) == (699, None)


def test_a_base_that_told_nothing() -> None:
    known = search(BatchSearch(None, None, [Probe(2, "", None)]), 5, lambda batch: Probe(batch, "fits", 5))
    assert (known.fits, known.oom) == (1, None)
