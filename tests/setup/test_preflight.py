"""What set-up finds out about a machine before it builds anything."""

import ctypes
import os
import sys
import sysconfig
from pathlib import Path

import pytest

from running import python
from stackwars.core.launch import REPOSITORY
from stackwars.setup import environments, preflight
from stackwars.setup.preflight import Missing

LIBRARY = Missing("the shared library", ("libpython3.11",))
TEX = Missing("TeX: latexmk", ("latexmk", "texlive-science"))
INDEX = Missing("the package index")
COMPILER = Missing("what TorchInductor compiles with: g++", ("g++", "libpython3.11-dev"))
STYLES = "IEEEtran.cls IEEEtran.bst booktabs.sty siunitx.sty listings.sty microtype.sty hyperref.sty t1txtt.fd"
COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich", "dot")
UNREACHABLE = "http://127.0.0.1:9/simple"


@pytest.fixture
def debians_python(monkeypatch):
    """This Python, as if it were the distribution's."""
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """An apt-get that writes down its arguments, run as root; returns the file and a way to make it fail."""
    log, script = tmp_path / "apt.log", tmp_path / "bin" / "apt-get"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\necho "$*" >> {log}\n[ ! -e {tmp_path}/broken ] || '
        "{ echo E: no such package; exit 100; }\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return log


def found(monkeypatch, machine=(), later=(), after=None, optional=()):
    """Set what the checks find; after: what they find once packages were installed."""
    answers = [list(machine), list(machine if after is None else after)]
    monkeypatch.setattr(preflight, "missing_on_machine", lambda with_tex: answers.pop(0))
    monkeypatch.setattr(preflight, "optional_on_machine", lambda: list(optional))
    monkeypatch.setattr(preflight, "missing_for_environments", lambda studies: list(later))


def test_python_without_its_library_names_debians_package(monkeypatch, debians_python):
    def refuse(name):
        raise OSError(f"{name}: cannot open shared object file")

    assert preflight.check_shared_library() is None
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    missing = preflight.check_shared_library()
    assert missing.packages == (f"libpython{debians_python}",)
    assert f"libpython{debians_python}.so.1.0" in missing.what
    monkeypatch.setattr(sys, "base_prefix", "/opt/python")
    missing = preflight.check_shared_library()
    assert not missing.packages and "make PYTHON=" in missing.what, "another Python is to be replaced"


def test_python_without_venv_names_debians_package(monkeypatch, debians_python):
    real = preflight.importlib.util.find_spec
    hidden = lambda name: None if name == "ensurepip" else real(name)  # noqa: E731
    monkeypatch.setattr(preflight.importlib.util, "find_spec", hidden)
    assert preflight.check_venv().packages == (f"python{debians_python}-venv",)


def test_disk_that_is_too_small_says_how_much_is_needed(tmp_path):
    missing = preflight.check_disk({"jax": 0.9, "torch_xla": 1e9}, tmp_path / "not" / "there")
    assert "jax, torch_xla" in missing.what and "1000000000.9 GB free" in missing.what
    assert str(tmp_path) in missing.what and not missing.packages
    assert preflight.check_disk({"jax": 0.0}, tmp_path) is None


def test_index_that_does_not_answer_is_missing(monkeypatch):
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", UNREACHABLE)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert "PIP_INDEX_URL" in preflight.check_index().what


def test_index_is_asked_and_disk_looked_at_only_if_something_is_to_be_built(monkeypatch):
    monkeypatch.setattr(environments, "missing_gb", lambda studies: {})
    monkeypatch.setattr(preflight, "check_index", lambda: INDEX)
    monkeypatch.setattr(preflight, "HARNESS", REPOSITORY / "README.md")
    assert preflight.missing_for_environments(["tables"]) == []
    monkeypatch.setattr(environments, "missing_gb", lambda studies: {"torch_xla": 1e9} if studies else {})
    assert preflight.missing_for_environments([]) == []
    disk, index = preflight.missing_for_environments(["tables"])
    assert "torch_xla" in disk.what and index == INDEX


def test_all_that_is_missing_is_said_at_once_with_one_line_that_installs_it():
    lines = preflight.explain([LIBRARY, TEX, INDEX]).splitlines()
    for missing in (LIBRARY, TEX, INDEX):
        assert f"  - {missing.what}" in lines
    (line,) = [line for line in lines if "apt-get" in line]
    assert "apt-get" not in preflight.explain([INDEX])
    packages = "libpython3.11 latexmk texlive-science"
    assert line.strip() == (
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends " + packages
    )


def test_ordinary_user_is_told_and_nothing_is_installed(monkeypatch, apt):
    found(monkeypatch)
    preflight.main()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found(monkeypatch, [LIBRARY], [INDEX])
    with pytest.raises(SystemExit) as ended:
        preflight.main()
    assert LIBRARY.what in str(ended.value) and INDEX.what in str(ended.value)
    assert not apt.exists()


def test_root_installs_all_packages_in_one_go(monkeypatch, apt):
    found(monkeypatch, [LIBRARY, TEX], after=[], optional=[COMPILER])
    preflight.main()
    update, install = apt.read_text().splitlines()
    assert update == "-qq update"
    assert install.endswith(
        "--no-install-recommends libpython3.11 latexmk texlive-science g++ libpython3.11-dev"
    )


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (False, "this machine lacks\n  - the shared library"),
        (True, "E: no such package\nset-up: `apt-get update` failed"),
    ],
)
def test_root_is_told_what_stays_missing_and_that_the_installer_failed(monkeypatch, apt, broken, said):
    if broken:
        (apt.parent / "broken").touch()
    found(monkeypatch, [LIBRARY], after=[LIBRARY])
    with pytest.raises(SystemExit, match=said):
        preflight.main()


def test_set_up_goes_on_without_a_compiler_and_says_what_installs_it(monkeypatch, apt, capsys):
    (apt.parent / "broken").touch()
    found(monkeypatch, optional=[COMPILER])
    preflight.main()
    said = capsys.readouterr().err
    assert "E: no such package" in said and "will be unsupported" in said
    assert "sudo apt-get update && " in said and "g++ libpython3.11-dev" in said


def test_environments_of_the_studies_that_a_command_names_are_required(monkeypatch):
    found(monkeypatch)
    asked = []
    monkeypatch.setattr(preflight, "missing_for_environments", lambda studies: asked.append(studies) or [INDEX])
    monkeypatch.setenv("STUDIES", "tables  matrix")
    with pytest.raises(SystemExit) as ended:
        preflight.main()
    assert asked == [["tables", "matrix"]] and INDEX.what in str(ended.value)


def test_tex_can_be_left_out(monkeypatch):
    asked = []
    monkeypatch.setattr(preflight, "missing_on_machine", lambda with_tex: asked.append(with_tex) or [])
    monkeypatch.setattr(preflight, "missing_for_environments", lambda studies: [])
    monkeypatch.setattr(preflight, "optional_on_machine", list)
    monkeypatch.setenv("STACKWARS_WITHOUT_TEX", "1")
    preflight.main()
    assert asked == [False]


def test_check_needs_no_package_and_takes_seconds():
    # -S: without site-packages, as in a Python that nobody prepared; -I: without this one's paths.
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY / 'src')!r}); from stackwars.setup import preflight"
    python("-I", "-S", "-c", code, timeout=10)
    assert Path(preflight.__file__).is_file()


@pytest.mark.parametrize(("user", "works"), [(0, True), (0, False), (1000, False)])
def test_the_tests_browser_is_installed_by_root_or_its_line_is_printed(
    user, works, tmp_path, monkeypatch, capsys
):
    script, command = tmp_path / "apt-get", tmp_path / preflight.BROWSER
    created = f'echo "#!/bin/sh" >{command}; /bin/chmod +x {command}'
    script.write_text(f'#!/bin/sh\ncase "$*" in *install*chromium) {created if works else "exit 100"};; esac\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    preflight.install_browser()
    said = capsys.readouterr().err
    assert command.exists() == works == ("warning" not in said)
    assert works or ("apt-get install -y --no-install-recommends chromium" in said and "skipped" in said)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs the only commands of a machine: TeX with some styles, and Graphviz."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()

    def install(styles: str = STYLES, commands: tuple[str, ...] = COMMANDS) -> None:
        listed = "".join(f"echo /usr/share/texmf/{name}\n" for name in styles.split())
        for name in commands:
            path = tmp_path / "bin" / name
            path.write_text(f"#!/bin/sh\n{listed if name == 'kpsewhich' else 'true'}\n")
            path.chmod(0o755)

    return install


@pytest.mark.parametrize(
    ("styles", "commands", "wanted", "missing"),
    [
        (STYLES, COMMANDS, {}, []),
        ("", (), {}, list(COMMANDS)),
        ("", (), {"draw": False}, list(COMMANDS[:-1])),
        (STYLES.replace("siunitx.sty ", ""), COMMANDS[:2] + COMMANDS[3:], {}, ["bibtex", "siunitx.sty"]),
        ("", ("dot",), {"typeset": False}, []),  # a run that only draws
    ],
)
def test_commands_and_styles_are_missing_by_name(install, styles, commands, wanted, missing):
    install(styles, commands)
    expected = Missing(f"TeX and Graphviz: {', '.join(missing)}", preflight.PAPER_PACKAGES)
    assert preflight.check_tex(**wanted) == (expected if missing else None)


def test_compiler_and_header_are_missing_by_name_with_their_packages(monkeypatch, tmp_path, debians_python):
    monkeypatch.setenv("CXX", "a-compiler-nobody-has")
    monkeypatch.setattr(sysconfig, "get_path", lambda name, scheme: str(tmp_path))
    lacking = ["the C++ compiler a-compiler-nobody-has", f"{tmp_path}/Python.h"]
    assert preflight.missing_for_inductor() == lacking
    (missing,) = preflight.optional_on_machine()
    assert missing.packages == ("g++", f"libpython{debians_python}-dev") and ", ".join(lacking) in missing.what
    (tmp_path / "Python.h").touch()
    assert preflight.missing_for_inductor() == lacking[:1]
    monkeypatch.setenv("CXX", "sh")
    assert preflight.optional_on_machine() == []


def test_compiler_is_that_of_the_environment_or_gcc(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    assert preflight.cxx_compiler() == "g++"
    script = tmp_path / "c++"
    script.write_text("#!/bin/sh\necho 12.2.0\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    assert (preflight.cxx_compiler(), preflight.cxx_version()) == (str(script), "12.2.0")
