"""The table of licences: from metadata, for every pinned package."""

import re

import pytest

from stackwars.core.launch import REPOSITORY
from stackwars.setup import licences


def test_the_committed_page_names_every_pinned_package():
    rows = re.findall(r"^\| (\S+) \| .+ \| (.+) \|$", licences.PAGE.read_text(), re.MULTILINE)
    named = {package: names for package, names in rows if package not in ("package", "---")}
    pins = licences.pinned(REPOSITORY / "envs")
    assert named == {package: ", ".join(names) for package, names in pins.items()}, (
        "docs/licences.md names other packages; fix: .venv/bin/python -m stackwars.setup.licences"
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("License-Expression: MIT OR Apache-2.0", "MIT OR Apache-2.0"),
        ("License: BSD-3-Clause\nClassifier: License :: OSI Approved :: BSD License", "BSD-3-Clause"),
        ("License: Copyright (c) 2018 X\nClassifier: License :: OSI Approved :: BSD License", "BSD License"),
        ("License: =====\nClassifier: License :: Public Domain", "Public Domain"),
        ("Summary: nothing", "not stated"),
    ],
)
def test_a_licence_is_read_from_the_metadata(tmp_path, lines, expected):
    home = tmp_path / "some_thing-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Some_Thing\nVersion: 1.0\n{lines}\n")
    assert licences.installed([tmp_path]) == {"some-thing": expected}
    assert f"| some-thing | {expected} | jax |\n" in licences.page(
        {"some-thing": ["jax"]}, {"some-thing": expected}
    )


def test_releases_have_one_name_and_packages_one_row(tmp_path):
    (tmp_path / "releases").mkdir()
    for name in ("jax", "releases/jaxlib-1", "releases/jaxlib-2"):
        (tmp_path / f"{name}.txt").write_text("ml_dtypes==1.0 \\\n    --hash=sha256:0\nnumpy==2.0\n")
    both = ["jax", "releases"]
    assert licences.pinned(tmp_path) == {"ml-dtypes": both, "numpy": both}
