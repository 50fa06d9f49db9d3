"""What set-up builds and counts of the environments that are named by studies."""

import sys

import pytest

from running import python
from stackwars.core.launch import REPOSITORY
from stackwars.setup import environments, needed


@pytest.fixture(autouse=True)
def nothing_built(tmp_path, monkeypatch):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path))


def built(name: str) -> None:
    home = environments.folder(REPOSITORY / "envs" / f"{name}.txt")
    home.mkdir(parents=True)
    (home / "ready").touch()


def test_no_study_needs_no_disk():
    assert needed.missing_gb([]) == {} == needed.missing_gb([""])


def test_the_default_paper_takes_at_most_11_gb_and_not_what_others_need(monkeypatch):
    monkeypatch.setattr(needed, "_installer_links", lambda: True)
    sizes = needed.missing_gb(["tables"])
    assert set(sizes) == {"jax", "torch_xla", "xla-0.7.1", "xla-0.10.2"}
    assert sum(sizes.values()) <= 11
    assert "tensorflow" in needed.missing_gb(["tables", "stacks"])


def test_an_installer_that_cannot_link_takes_more(monkeypatch):
    sizes = {}
    for links in (True, False):
        monkeypatch.setattr(needed, "_installer_links", lambda links=links: links)
        sizes[links] = needed.sizes_gb()
    assert sizes[True]["torchax"] < 1 < 8 < sizes[False]["torchax"]
    assert all(sizes[True][name] <= sizes[False][name] for name in sizes[True])


def test_studies_are_set_up_by_name(monkeypatch):
    asked = []
    monkeypatch.setattr(environments, "ensure_all", lambda pins: asked.extend(path.stem for path in pins))
    monkeypatch.setattr(sys, "argv", ["needed", "releases"])
    needed.main()
    assert asked == ["jax", "torch_xla", "xla-0.10.2"]


def test_a_study_that_there_is_not_is_refused():
    done = python("-m", "stackwars.setup.needed", "tabels", check=False)
    assert done.returncode == 1 and "got tabels" in done.stderr and "tables" in done.stderr
