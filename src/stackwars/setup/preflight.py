"""Whether this machine can set up and run the study, found out before anything is built or measured.

Imported by a Python that has nothing but its standard library: that which `.venv` is to be made with.
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

from stackwars.setup import cxx, environments, tex

INDEX_TIMEOUT_S = 15
HARNESS = environments.REPOSITORY / ".venv" / "ready"
HARNESS_GB = 0.6


@dataclass(frozen=True)
class Missing:
    """What is missing, in a sentence. packages: Debian's packages that bring it; none where none does."""

    what: str
    packages: tuple[str, ...] = ()


def missing_on_machine(with_tex: bool = True) -> list[Missing]:
    """What every run needs and this machine lacks."""
    found = [shared_library(), venv(), typesetting() if with_tex else None]
    return [one for one in found if one]


def useful_on_machine() -> list[Missing]:
    """What this machine lacks and a run can do without: the cells that need it are `unsupported` then."""
    lacking = cxx.missing()
    if not lacking:
        return []
    what = f"what TorchInductor compiles with: {', '.join(lacking)}"
    return [Missing(what, cxx.packages()) if _is_debians() else _other_python(what)]


def missing_for_environments() -> list[Missing]:
    """What the environments that are not built yet need and this machine lacks."""
    wanted = environments.absent()
    if not HARNESS.exists():
        wanted |= {"harness": HARNESS_GB}
    found = [disk(wanted, environments.root()), index()] if wanted else []
    return [one for one in found if one]


def shared_library() -> Missing | None:
    """torch_xla's extension module is linked against libpython, which a Python can do without."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    if ".so" not in name:  # a Python built without it knows the static library's name only
        name = f"libpython{_version()}.so.1.0"
    try:
        ctypes.CDLL(name)
    except OSError as error:
        what = f"the shared library {name}, which torch_xla is linked against ({error})"
        return Missing(what, (f"libpython{_version()}",)) if _is_debians() else _other_python(what)
    return None


def venv() -> Missing | None:
    """Debian's python3 leaves venv's installer out."""
    if all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        return None
    what = "the modules venv and ensurepip, which make environments"
    return Missing(what, (f"python{_version()}-venv",)) if _is_debians() else _other_python(what)


def typesetting() -> Missing | None:
    """TeX, the styles of the paper, and Graphviz, which draws its graphs."""
    lacking = tex.missing()
    if not lacking:
        return None
    return Missing(f"TeX and Graphviz: {', '.join(lacking)}", tuple(tex.PACKAGES.split()))


def disk(wanted: dict[str, float], folder: Path) -> Missing | None:
    """Room for the environments that are not built yet: {name: GB}, in `folder`."""
    needed = sum(wanted.values())
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free / 1e9
    if free >= needed:
        return None
    return Missing(
        f"disk space for the environments {', '.join(wanted)}: expected {needed:.1f} GB free in "
        f"{existing}, found {free:.1f} GB (STACKWARS_ENVS=<folder> puts them elsewhere)"
    )


def index() -> Missing | None:
    """Whether the package index answers; not asked where there is no pip yet to ask it with."""
    asked = [sys.executable, "-m", "pip", "index", "versions", "uv"]
    limits = ["--timeout", str(INDEX_TIMEOUT_S), "--retries", "0", "--disable-pip-version-check"]
    wheel = _bundled_pip()
    if wheel is None and importlib.util.find_spec("pip") is None:
        return None
    environ = {**os.environ, "PYTHONPATH": str(wheel)} if wheel else dict(os.environ)
    with tempfile.TemporaryDirectory() as empty:  # nothing of the folder that set-up is run in
        done = subprocess.run([*asked, *limits], env=environ, cwd=empty, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return Missing(
        f"the package index: pip could not ask it for a package within {INDEX_TIMEOUT_S} s "
        f"({said[-1] if said else 'no word'}); check the network, or name another index "
        "(PIP_INDEX_URL for pip, UV_DEFAULT_INDEX for uv)"
    )


def install_line(found: list[Missing]) -> str:
    """The one line that installs all that packages bring; empty where nothing of it is missing."""
    packages = [package for one in found for package in one.packages]
    if not packages:
        return ""
    return f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def explain(found: list[Missing]) -> str:
    """What is missing, and what to do about it."""
    lines = ["set-up: this machine lacks", *(f"  - {one.what}" for one in found)]
    if line := install_line(found):
        lines += ["On Debian or Ubuntu this line installs what packages bring:", f"  {line}"]
    return "\n".join([*lines, "Then give the same command again."])


def install(found: list[Missing], needed: bool = True) -> None:
    """As root on Debian or Ubuntu: install the packages.

    Where it fails it says apt-get's own words, and ends if the packages are needed.
    """
    packages = [package for one in found for package in one.packages]
    if not packages or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    _say(f"installing {' '.join(packages)} ...")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(
            ["apt-get", "-qq", *arguments], env=environ,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            tail = "\n".join(done.stdout.strip().splitlines()[-8:])
            said = f"{tail}\nset-up: `apt-get {arguments[0]}` failed; it said the lines above"
            if needed:
                sys.exit(said)
            _say(f"warning: {said}")
            return


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _is_debians() -> bool:
    """Whether this Python is the distribution's, so that its packages fit it."""
    return sys.base_prefix == "/usr"


def _other_python(what: str) -> Missing:
    return Missing(f"{what}: {sys.executable} was built without; name another: make PYTHON=<path>")


def _bundled_pip() -> Path | None:
    """The wheel of pip that this Python makes environments with, which runs without being installed."""
    folders = [sysconfig.get_config_var("WHEEL_PKG_DIR")]
    if spec := importlib.util.find_spec("ensurepip"):
        folders.append(Path(spec.origin).parent / "_bundled")
    wheels = [wheel for folder in folders if folder for wheel in Path(folder).glob("pip-*.whl")]
    return max(wheels, default=None)


def _say(text: str) -> None:
    print(f"[set-up] {text}", file=sys.stderr, flush=True)


def main() -> None:
    """`python -m stackwars.setup.preflight`: install what is missing where that is possible, else say it all.

    Possible is: packages, as root, with apt-get. Exits with 1 where anything that is needed stays missing. With
    STACKWARS_WITHOUT_TEX=1 TeX and Graphviz are left out: no paper can be made then.
    """
    with_tex = not os.environ.get("STACKWARS_WITHOUT_TEX")
    found, useful = missing_on_machine(with_tex), useful_on_machine()
    if found or useful:
        install([*found, *useful], needed=bool(found))
        found, useful = missing_on_machine(with_tex), useful_on_machine()
    later = missing_for_environments()
    if HARNESS.exists():
        # Some targets need none of what is not built yet.
        for one in later:
            _say(f"warning: an environment that is not built yet lacks {one.what}")
        later = []
    if found or later:
        sys.exit(explain([*found, *useful, *later]))
    for one in useful:
        _say(f"warning: this machine lacks {one.what}. Cells that need it will be unsupported.")
    if line := install_line(useful):
        _say(f"on Debian or Ubuntu this line installs it: {line}")


if __name__ == "__main__":
    main()
