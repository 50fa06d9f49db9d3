"""Classes of series that were made to be of a class."""

import numpy as np
import pytest
from scipy.signal import lfilter

from measure.steady_rates import SERIES, rates
from stackwars.measure.steady import AT_ONCE, NONE, SLOWING, WARM_UP, classify


@pytest.fixture(scope="module")
def quiet():
    return rates(100, noise=0.02, spikes=0.0, seed=5)


@pytest.fixture(scope="module")
def loud():
    return rates(100, noise=0.05, spikes=0.03, seed=5)


@pytest.mark.parametrize("series", SERIES)
def test_class_is_found_under_2_percent_noise(quiet, series):
    assert quiet[series] >= 0.95


@pytest.mark.parametrize("series", SERIES)
def test_class_is_mostly_found_under_5_percent_noise_with_spikes(loud, series):
    assert loud[series] >= 0.8


def noisy(*levels, noise=0.01):
    random = np.random.default_rng(3)
    return [level * np.exp(random.normal(0, noise)) for level in levels]


@pytest.mark.parametrize(
    ("series", "found"),
    [
        *(((*[300] * calls, *[100] * 40), (WARM_UP, calls, calls)) for calls in (2, 3, 10)),
        ((900, *[100] * 20, *[120] * 20), (SLOWING, 1, 21)),
        ((900, *[85] * 16, *[120] * 8, *[100] * 40), (NONE, 1, 25)),  # it wandered before it settled
        ((900, *[100] * 40), (AT_ONCE, 1, 1)),
        ((*[100] * 40,), (AT_ONCE, 0, 0)),  # the first call need not be slow
    ],
)
def test_class_tells_the_slow_calls_and_where_the_steady_part_begins(series, found):
    assert classify(noisy(*series)) == found


@pytest.mark.parametrize(
    ("series", "noise", "kind"),
    [
        ((900, *np.linspace(100, 107, 60)), 0.02, SLOWING),
        (np.linspace(200, 100, 40), 0.01, NONE),  # still falling
        ((900, *[100] * 12, *[110] * 30), 0.001, SLOWING),
        ((900, *[100] * 20, *[103] * 20), 0.001, AT_ONCE),  # within 5 % is one level
    ],
)
def test_trends_and_steps_are_seen(series, noise, kind):
    assert classify(noisy(*series, noise=noise)).kind == kind


def test_noise_that_follows_itself_is_taken_for_no_step():
    random = np.random.default_rng(3)

    def kind():
        noise = lfilter([np.sqrt(1 - 0.5**2)], [1, -0.5], random.normal(0, 0.05, 60))
        return classify([1000, *(100 * np.exp(noise))]).kind

    assert np.mean([kind() == AT_ONCE for _ in range(100)]) >= 0.75


def test_scale_does_not_matter():
    series = noisy(900, 300, *[100] * 30)
    small = classify([value / 1e5 for value in series])
    assert small == classify(series) == (WARM_UP, 2, 2)


@pytest.mark.parametrize(
    ("series", "kind", "start"),
    [
        ([2000, 101, 100], AT_ONCE, 1),
        ([2000, 900, 100], NONE, 2),  # one call is not half of three
        ([2000, 104, 100, 99], AT_ONCE, 1),
        ([2000, 900, 100, 103], WARM_UP, 2),
        ([9591, 670, 660, 679, 643, 665, 702], AT_ONCE, 1),
        ([9591, 2670, 660, 679, 643, 665, 702], WARM_UP, 2),
        ([9591, 670, 660, 1679, 643, 665, 702], AT_ONCE, 1),
        ([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0], AT_ONCE, 0),
    ],
)
def test_short_series_have_a_class(series, kind, start):
    found = classify(series)
    assert (found.kind, found.start) == (kind, start)


@pytest.mark.parametrize("length", range(3, 30))
def test_no_length_is_refused(length):
    assert classify(noisy(900, *[100] * (length - 1))).kind == AT_ONCE


@pytest.mark.parametrize("series", [[], [1.0, 2.0], [1.0, 0.0, 2.0]])
def test_times_are_needed(series):
    with pytest.raises(ValueError, match="at least one block"):
        classify(series)
