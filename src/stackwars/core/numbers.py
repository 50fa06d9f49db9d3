"""Numbers as text: digits, percent, ratios with intervals, counts, times."""

from __future__ import annotations

import math


def digits(number: float) -> str:
    """Return a number with three significant digits, without an exponent.

    >>> digits(3763.2), digits(0.4471), digits(32.0)
    ('3,760', '0.447', '32')
    """
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.3g}"


def significant(number: float, most: int = 3) -> str:
    """Return a number with so many significant digits as plain decimals; no whole digit is rounded away.

    >>> [significant(number) for number in (0.34678, 1082.41, 9.996, 0)]
    ['0.347', '1082', '10.0', '0']
    """
    if number == 0:
        return "0"
    rounded = float(f"{number:.{most - 1}e}")
    return f"{number:.{max(0, most - 1 - math.floor(math.log10(abs(rounded))))}f}"


def general(number: float) -> str:
    """Return a number with three significant digits, or as a power of ten if plain decimals would be unreadable.

    >>> [general(number) for number in (1234.5, 2e-7, math.inf)]
    ['1234', '2.0e-7', 'infinite']
    """
    if math.isinf(number):
        return "infinite"
    if number == 0 or 1e-3 <= abs(number) < 1e5:
        return significant(number)
    mantissa, _, exponent = f"{number:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def shortened(number: float, most: int = 4) -> float:
    """Return a number rounded to so many significant digits, for data files; 0 for one that is not finite.

    >>> shortened(123.4567), shortened(0.00012345678), shortened(math.nan)
    (123.5, 0.0001235, 0.0)
    """
    return float(f"{number:.{most - 1}e}") if math.isfinite(number) else 0.0


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.834)
    '83 %'
    """
    return f"{100 * share:.0f} %"


def percent_interval(low: float | None, high: float | None) -> str:
    """Return the interval of a share in percent, behind a space; "" if it has none.

    >>> percent_interval(0.8, 0.911)
    ' [80, 91]'
    """
    return "" if low is None or high is None else f" [{100 * low:.0f}, {100 * high:.0f}]"


def ratio(value: float) -> str:
    """Return a ratio with two digits after the point, or none if it is large.

    >>> [ratio(value) for value in (1, 2.345, 48.12)]
    ['1.00', '2.35', '48']
    """
    return f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"


def ratio_interval(value: float, low: float | None, high: float | None) -> str:
    """Return a ratio with its interval, if it has one.

    >>> ratio_interval(2.05, 2.01, 2.1)
    '2.050 (2.010 to 2.100)'
    """
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} ({low:.3f} to {high:.3f})"


def milliseconds(value: float) -> str:
    """Return milliseconds with three significant digits.

    >>> [milliseconds(value) for value in (0.01234, 1.2, 123.4, 4321, -12.34)]
    ['0.0123', '1.20', '123', '4,321', '-12.3']
    """
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4}f}"


def count(value: int) -> str:
    """Return a count in at most five characters.

    >>> [count(value) for value in (300, 32769, 523964, 38_597_376)]
    ['300', '32769', '524k', '39M']
    """
    if value < 100_000:
        return str(value)
    return f"{value / 1000:.0f}k" if value < 10_000_000 else f"{value / 1e6:.0f}M"


def size(count: int) -> str:
    """Return bytes in the largest unit that makes the number at least 1, with three significant digits.

    >>> [size(value) for value in (12, 4096, 3_355_443, 8 << 30)]
    ['12 B', '4.00 KiB', '3.20 MiB', '8.00 GiB']
    """
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{significant(count / (1 << power))} {unit}"
    return f"{count} B"


def duration(seconds: float) -> str:
    """Return a time in a unit that suits its length.

    >>> [duration(value) for value in (28.4, 330, 2280, 25200)]
    ['28 s', '5.5 min', '38 min', '7 h']
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    if minutes < 90:
        return f"{minutes:.1f} min" if minutes < 10 else f"{minutes:.0f} min"
    return f"{minutes / 60:.2g} h"
