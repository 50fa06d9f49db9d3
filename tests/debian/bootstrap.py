"""Makes the tree of a bare Debian with debootstrap, from where this machine installs its own packages."""

import contextlib
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("python3", "git", "make", "ca-certificates")  # what the README asks of a user
TRIES, WAIT_S = 4, 20  # a mirror that fails for a moment; packages already fetched are kept
UNREACHED = "Couldn't download"  # debootstrap's words where the mirror failed
CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
LOCAL_CERTIFICATES = Path("/usr/local/share/ca-certificates")  # the package ca-certificates adds what is in it
# Mount and process namespaces of a command's own. setpriv: they also end when this process is killed.
ISOLATED = (
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
)


def available(release: str = "bookworm") -> str:
    """ "" where a bare Debian of this release can be made, else the reason why not."""
    if os.geteuid() != 0:
        return "a bare Debian can be made by root only"
    if shutil.which("debootstrap") is None and not installed("debootstrap"):
        return "debootstrap is not installed, and apt-get did not install it"
    # A new proc says whether the namespaces may mount.
    if subprocess.run([*ISOLATED, "--mount-proc", "true"], capture_output=True).returncode != 0:
        return "this machine does not let root mount anything (unshare --mount --pid fails)"
    if mirror(release) is None:
        return f"none of this machine's apt sources serves Debian {release}"
    return ""


def installed(package: str) -> bool:
    """Install a package of this machine's distribution; whether it is there now."""
    if shutil.which("apt-get") is None:
        return False
    quiet = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    subprocess.run(["apt-get", "-qq", "update"], **quiet)
    install = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", package]
    return subprocess.run(install, **quiet).returncode == 0


def sources(folder: Path = Path("/etc/apt")) -> list[str]:
    """The URIs of apt's sources, in either format, in apt's order."""
    found = []
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*.*"))]
    for file in filter(Path.is_file, files):
        text = file.read_text()
        if file.suffix == ".list":
            found += re.findall(r"^deb\s+(?:\[.*?\]\s*)?(\S+)", text, re.MULTILINE)
        elif file.suffix == ".sources":
            for uris in re.findall(r"^URIs:((?:.*\n)(?:[ \t].*\n)*)", text + "\n", re.MULTILINE):
                found += uris.split()
    return [uri.rstrip("/") for uri in dict.fromkeys(found) if uri.startswith("http")]


def mirror(release: str) -> str | None:
    """The first of the machine's own apt sources that serves this release of Debian."""
    for uri in sources():
        with contextlib.suppress(OSError):
            index = urllib.request.urlopen(f"{uri}/dists/{release}/InRelease", timeout=20)
            if b"\nLabel: Debian\n" in index.read(1000):
                return uri
    return None


def bootstrap(release: str, folder: Path, packages: Sequence[str] = PACKAGES) -> None:
    """Make a bare Debian with these packages in `folder`.

    :raises RuntimeError: with the last lines of debootstrap.
    """
    include = [f"--include={','.join(packages)}"] if packages else []
    for attempt in range(TRIES):
        if attempt:
            time.sleep(WAIT_S)
        made = subprocess.run(
            [*ISOLATED, "debootstrap", "--variant=minbase", *include, release, str(folder), str(mirror(release))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if made.returncode == 0 or UNREACHED not in made.stdout:
            break
    if made.returncode != 0:
        tail = "\n".join(made.stdout.splitlines()[-15:])
        raise RuntimeError(f"expected debootstrap to make {release}, it said:\n{tail}")
    # The network and its certificates are the machine's, not the system's.
    files = {os.environ.get(name, "") for name in CERTIFICATES}
    for file in {"/etc/ssl/certs/ca-certificates.crt", "/etc/resolv.conf", "/etc/hosts", *files}:
        if Path(file).is_file():
            inside = folder / file.lstrip("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.unlink(missing_ok=True)
            shutil.copyfile(file, inside)
    if LOCAL_CERTIFICATES.is_dir():
        shutil.copytree(LOCAL_CERTIFICATES, folder / LOCAL_CERTIFICATES.relative_to("/"), dirs_exist_ok=True)
