"""What XLA is set to is recorded as a process has it, whoever set it."""

import pytest

from frameworks.probed import run_code
from stackwars.measure import child

CODE = """
import sys
from stackwars.measure import frameworks
from stackwars.measure.child import surroundings

frameworks.load(sys.argv[1]).Session("cpu", "highest")
print(surroundings()["xla_flags"].split())
"""


def test_flags_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_one=1")
    assert child.surroundings()["xla_flags"] == "--xla_one=1"
    monkeypatch.delenv("XLA_FLAGS")
    assert child.surroundings()["xla_flags"] == ""


@pytest.mark.env
@pytest.mark.parametrize(
    ("framework", "flags"), [("torch_xla", "['--xla_cpu_enable_fast_math=false']"), ("jax", "[]")]
)
def test_flags_that_a_framework_sets_when_it_is_imported_are_recorded(framework, flags):
    done = run_code(framework, CODE, framework, XLA_FLAGS="")
    assert done.stdout.splitlines()[-1] == flags, done.stderr[-2000:]
