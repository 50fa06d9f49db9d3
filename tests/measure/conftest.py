"""The toy framework, whose processes end as a test says."""

import pytest

from toy_checkout import ToyCheckout


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> ToyCheckout:
    """A checkout with the toy framework; the tests of a module run in it one after the other."""
    return ToyCheckout(tmp_path_factory.mktemp("checkout"))
