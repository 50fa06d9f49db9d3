"""Check that this machine can set up and run the study, before anything is built or measured.

Standard library only: the Python that runs this will create `.venv`.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stackwars.core.launch import REPOSITORY
from stackwars.setup import environments

INDEX_TIMEOUT_S = 15
HARNESS = REPOSITORY / ".venv" / "ready"
HARNESS_GB = 0.7
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
BROWSER = "chromium"
"""The command, and the Debian package, of the browser in which the tests open the report."""
PAPER_PACKAGES = (
    "texlive-latex-recommended", "texlive-publishers", "texlive-science", "texlive-fonts-recommended", "latexmk",
    "graphviz",
)  # fmt: skip
_TEX_COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich")
_TEX_FILES = ("IEEEtran.cls", "IEEEtran.bst", "booktabs.sty", "siunitx.sty", "listings.sty", "microtype.sty",
              "hyperref.sty", "t1txtt.fd")  # fmt: skip


@dataclass(frozen=True)
class Missing:
    """A missing part of this machine. packages: the Debian packages that provide it, if any."""

    what: str
    packages: tuple[str, ...] = ()


MISSING_BROWSER = Missing(f"{BROWSER}, in which the tests open the report: they are skipped", (BROWSER,))


def missing_on_machine(with_tex: bool = True) -> list[Missing]:
    """Return the missing parts that every run needs."""
    checks = [check_shared_library(), check_venv(), check_tex() if with_tex else None]
    return [missing for missing in checks if missing]


def optional_on_machine() -> list[Missing]:
    """Return the missing parts that only some cells need: without them these are `unsupported`."""
    missing = missing_for_inductor()
    if not missing:
        return []
    return [_of_python(f"what TorchInductor compiles with: {', '.join(missing)}", inductor_packages())]


def missing_for_environments(studies: list[str]) -> list[Missing]:
    """Return the missing parts that the environments that these studies still have to build need."""
    sizes = environments.missing_gb(studies)
    if not HARNESS.exists():
        sizes |= {"harness": HARNESS_GB}
    checks = [check_disk(sizes, environments.root()), check_index()] if sizes else []
    return [missing for missing in checks if missing]


def check_shared_library() -> Missing | None:
    """Check for libpython, which torch_xla's extension module is linked against and a Python may not have."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    if ".so" not in name:  # a Python built without it only knows the name of the static library
        name = f"libpython{PYTHON}.so.1.0"
    try:
        ctypes.CDLL(name)
    except OSError as error:
        what = f"the shared library {name}, which torch_xla is linked against ({error})"
        return _of_python(what, (f"libpython{PYTHON}",))
    return None


def check_venv() -> Missing | None:
    """Check for the installer of venv, which Debian packages separately."""
    if all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        return None
    return _of_python("the modules venv and ensurepip, which create environments", (f"python{PYTHON}-venv",))


def check_tex(typeset: bool = True, draw: bool = True) -> Missing | None:
    """Check for the commands and style files of TeX, to typeset, and for Graphviz, to draw."""
    needed = (_TEX_COMMANDS if typeset else ()) + (("dot",) if draw else ())
    missing = [command for command in needed if shutil.which(command) is None]
    if typeset and "kpsewhich" not in missing:
        listed = subprocess.run(["kpsewhich", *_TEX_FILES], capture_output=True, text=True).stdout.split()
        present = {Path(line).name for line in listed}
        missing += [file for file in _TEX_FILES if file not in present]
    return Missing(f"TeX and Graphviz: {', '.join(missing)}", PAPER_PACKAGES) if missing else None


def cxx_compiler() -> str:
    """Return the C++ compiler, which TorchInductor uses too: $CXX, or g++."""
    return os.environ.get("CXX", "g++")


def cxx_version() -> str:
    command = [cxx_compiler(), "-dumpfullversion", "-dumpversion"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def missing_for_inductor() -> list[str]:
    """Return which of the C++ compiler and Python's header are missing."""
    missing = [] if shutil.which(cxx_compiler()) else [f"the C++ compiler {cxx_compiler()}"]
    # TorchInductor looks for the header of an environment's base Python.
    header = Path(sysconfig.get_path("include", scheme="posix_prefix"), "Python.h")
    return missing if header.is_file() else [*missing, str(header)]


def inductor_packages() -> tuple[str, ...]:
    """Return the Debian packages of the C++ compiler and the header, for Debian's own Python of this version."""
    return "g++", f"libpython{PYTHON}-dev"


def check_disk(sizes: dict[str, float], folder: Path) -> Missing | None:
    """Check for room in `folder` for the environments that are not built yet: {name: GB}."""
    needed = sum(sizes.values())
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free / 1e9
    if free >= needed:
        return None
    return Missing(
        f"disk space for the environments {', '.join(sizes)}: expected {needed:.1f} GB free in "
        f"{existing}, got {free:.1f} GB (STACKWARS_ENVS=<folder> puts them elsewhere)"
    )


def check_index() -> Missing | None:
    """Check that the package index answers; skip the check if there is no pip yet."""
    command = [sys.executable, "-m", "pip", "index", "versions", "uv"]
    limits = ["--timeout", str(INDEX_TIMEOUT_S), "--retries", "0", "--disable-pip-version-check"]
    wheel = _bundled_pip()
    if wheel is None and importlib.util.find_spec("pip") is None:
        return None
    environ = {**os.environ, "PYTHONPATH": str(wheel)} if wheel else dict(os.environ)
    with tempfile.TemporaryDirectory() as empty:  # so that pip sees no file of the current folder
        done = subprocess.run([*command, *limits], env=environ, cwd=empty, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return Missing(
        f"the package index: pip could not ask it for a package within {INDEX_TIMEOUT_S} s "
        f"({errors[-1] if errors else 'no message'}); check the network, or name another index "
        "(PIP_INDEX_URL for pip, UV_DEFAULT_INDEX for uv)"
    )


def install_line(missing: list[Missing]) -> str:
    """Return the line that installs all packages, or "" if there are none."""
    packages = [package for one in missing for package in one.packages]
    if not packages:
        return ""
    return f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def explain(missing: list[Missing]) -> str:
    lines = ["set-up: this machine lacks", *(f"  - {one.what}" for one in missing)]
    if line := install_line(missing):
        lines += ["On Debian or Ubuntu this line installs the packages:", f"  {line}"]
    return "\n".join([*lines, "Then give the same command again."])


def explain_browser() -> str:
    """Return that the tests' browser is missing, and the line that installs it."""
    return f"this machine lacks {MISSING_BROWSER.what}. On Debian: {install_line([MISSING_BROWSER])}"


def install(missing: list[Missing], required: bool = True) -> None:
    """Install the packages, as root on Debian or Ubuntu; do nothing otherwise.

    If apt-get fails, print its last lines, and exit if the packages are required.
    """
    packages = [package for one in missing for package in one.packages]
    if not packages or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    _print(f"installing {' '.join(packages)} ...")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(
            ["apt-get", "-qq", *arguments], env=environ,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            tail = "\n".join(done.stdout.strip().splitlines()[-8:])
            message = f"{tail}\nset-up: `apt-get {arguments[0]}` failed with the lines above"
            if required:
                sys.exit(message)
            _print(f"warning: {message}")
            return


def install_browser() -> None:
    """Install the tests' browser, or print how to. Never fails: only the report's tests need it."""
    if shutil.which(BROWSER) is None:
        install([MISSING_BROWSER], required=False)
    if shutil.which(BROWSER) is None:
        _print(f"warning: {explain_browser()}")


def _of_python(what: str, packages: tuple[str, ...]) -> Missing:
    """Return a missing part of this Python: only Debian's own Python gets it from Debian's packages."""
    if sys.base_prefix == "/usr":
        return Missing(what, packages)
    return Missing(f"{what}: {sys.executable} was built without; fix: name another Python, make PYTHON=<path>")


def _bundled_pip() -> Path | None:
    """Return the wheel of pip with which this Python creates environments; it runs without being installed."""
    folders = [sysconfig.get_config_var("WHEEL_PKG_DIR")]
    if spec := importlib.util.find_spec("ensurepip"):
        folders.append(Path(spec.origin).parent / "_bundled")
    wheels = [wheel for folder in folders if folder for wheel in Path(folder).glob("pip-*.whl")]
    return max(wheels, default=None)


def _print(text: str) -> None:
    print(f"[set-up] {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Install what is missing if that is possible, else print the whole list and exit with 1 if any is required.

    STUDIES names the studies whose environments will be built. With STACKWARS_WITHOUT_TEX=1, TeX and Graphviz are not
    checked: no paper can be built then.
    """
    with_tex = not os.environ.get("STACKWARS_WITHOUT_TEX")
    required, optional = missing_on_machine(with_tex), optional_on_machine()
    if required or optional:
        install([*required, *optional], required=bool(required))
        required, optional = missing_on_machine(with_tex), optional_on_machine()
    later = missing_for_environments(os.environ.get("STUDIES", "").split())
    if required or later:
        sys.exit(explain([*required, *optional, *later]))
    for one in optional:
        _print(f"warning: this machine lacks {one.what}. Cells that need it will be unsupported.")
    if line := install_line(optional):
        _print(f"on Debian or Ubuntu this line installs it: {line}")


if __name__ == "__main__":
    install_browser() if sys.argv[1:] == ["browser"] else main()
