"""Whether this machine has what TorchInductor compiles with."""

import sysconfig

from stackwars.setup import cxx


def test_compiler_and_header_are_missing_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "a-compiler-nobody-has")
    monkeypatch.setattr(sysconfig, "get_path", lambda name, scheme: str(tmp_path))
    assert cxx.missing() == ["the C++ compiler a-compiler-nobody-has", f"{tmp_path}/Python.h"]
    (tmp_path / "Python.h").touch()
    assert cxx.missing() == ["the C++ compiler a-compiler-nobody-has"]


def test_compiler_is_that_of_the_environment_or_gcc(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    assert cxx.compiler() == "g++"
    script = tmp_path / "c++"
    script.write_text("#!/bin/sh\necho 12.2.0\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    assert (cxx.compiler(), cxx.version()) == (str(script), "12.2.0")
