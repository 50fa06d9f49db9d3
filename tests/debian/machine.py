"""A bare Debian in a folder, with what the README asks of a user and nothing else.

Debootstrap makes it from where this machine installs its own packages. Commands run in it by chroot. Every command has
a mount and a process namespace of its own, so its mounts and whatever it leaves running end with it, however it ends.
Needs root.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from checkout import copy_checkout

PATH = "/usr/local/bin:/usr/bin:/bin"
ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CACHE = "/var/cache/uv"
PACKAGES = ("python3", "git", "make", "ca-certificates")  # what the README asks of a user
TRIES, WAIT_S = 4, 20  # a mirror that fails for a moment; packages already fetched are kept
UNREACHED = "Couldn't download"  # debootstrap's words where the mirror failed
CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
LOCAL_CERTIFICATES = Path("/usr/local/share/ca-certificates")  # the package ca-certificates adds what is in it
# Mount and process namespaces of a command's own. setpriv: they also end when this process is killed.
ISOLATED = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child")


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
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
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


def remove(folder: Path) -> None:
    """Delete a tree, unless something is mounted in it: that would be deleted too."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    inside = [point for point in mounted if Path(point).is_relative_to(folder.resolve())]
    if inside:
        raise RuntimeError(f"expected nothing to be mounted in {folder}; found {inside}")
    for _ in range(10):
        subprocess.run(["rm", "-rf", "--one-file-system", folder], stderr=subprocess.DEVNULL)
        if not folder.exists():
            return
        time.sleep(0.5)  # the processes of an interrupted command are still ending
    raise RuntimeError(f"expected to delete {folder}; it is still there")


def passed_on() -> dict[str, str]:
    """Variables of this process that say how the network is reached."""
    proxies = [f"{kind}_proxy" for kind in ("http", "https", "no")]
    names = {*CERTIFICATES, *proxies, *(name.upper() for name in proxies)}
    urls = {
        name: value for name, value in os.environ.items()
        if re.fullmatch(r"(PIP|UV)_\w*INDEX\w*", name) and value.startswith("http")
    }  # fmt: skip
    return {name: os.environ[name] for name in names if name in os.environ} | urls


class Debian:
    """A bare Debian while the context lasts; afterwards its folder is deleted, unless `keep`.

    pristine: a tree made by `bootstrap`, to be copied instead of making another. packages: those of another.
    """

    def __init__(
        self, folder: Path, release: str, pristine: Path | None = None, keep: bool = False,
        packages: Sequence[str] = PACKAGES,
    ) -> None:  # fmt: skip
        self.folder = folder.resolve()
        self.release, self.pristine, self.keep, self.packages = release, pristine, keep, packages
        self._binds: list[tuple[Path, Path]] = []
        self._cleaned = contextlib.ExitStack()

    def __enter__(self) -> Debian:
        try:
            if self.pristine is None:
                bootstrap(self.release, self.folder, self.packages)
            else:
                subprocess.run(["cp", "-a", str(self.pristine), str(self.folder)], check=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._cleaned.close()
        if not self.keep and self.folder.exists():
            remove(self.folder)

    def bind(self, host: Path, inside: str) -> None:
        """Show a folder of this machine at `inside`, to every later command."""
        point = self.folder / inside.lstrip("/")
        point.mkdir(parents=True, exist_ok=True)
        self._binds.append((host.resolve(), point))

    def share_cache(self, cache: Path, user: str = "root") -> dict[str, str]:
        """Show an installer's cache; return the variables with which it is used.

        The environments are put into it as well, until the context ends: files can be linked within one
        mount only, and copies would take 10 GB. The cache and they belong to `user`.
        """
        cache.mkdir(parents=True, exist_ok=True)
        environments = Path(tempfile.mkdtemp(prefix="bare-debian-", dir=cache))
        self._cleaned.callback(remove, environments)
        if user != "root":
            uid, gid = (int(field) for field in self._account(user)[2:4])
            os.chown(cache, uid, gid)
            os.chown(environments, uid, gid)
        self.bind(cache, CACHE)
        return {"UV_CACHE_DIR": CACHE, "STACKWARS_ENVS": f"{CACHE}/{environments.name}"}

    def checkout(self, inside: str, user: str = "root") -> None:
        """This repository's working tree as a git repository with one commit, owned by `user`."""
        target = self.folder / inside.lstrip("/")
        copy_checkout(target)
        # By this machine's git, because the tree may have none yet.
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
        for arguments in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "Working tree"]):
            subprocess.run(["git", "-C", str(target), *arguments], check=True)
        done = self.run(f"chown -R {user}: {shlex.quote(inside)}")
        if done.returncode != 0:
            raise RuntimeError(f"expected {user} to own {inside}, chown said:\n{done.stdout}")

    def add_user(self, name: str) -> None:
        """An ordinary user with a home."""
        done = self.run(f"useradd --create-home --shell /bin/bash {shlex.quote(name)}")
        if done.returncode != 0:
            raise RuntimeError(f"expected to add the user {name}: {done.stdout}")

    def run(
        self, command: str, user: str = "root", environ: dict[str, str] | None = None,
        log: Path | None = None, timeout: float = 3600,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Run a bash command from `/` with a clean environment; its output is in `stdout`, and in `log`.

        Raises subprocess.TimeoutExpired after `timeout` seconds; what it started is killed then.
        """
        variables = {
            "PATH": ROOT_PATH if user == "root" else PATH,
            "HOME": self._account(user)[5], "USER": user, "LANG": "C.UTF-8", "TERM": "dumb",
            **passed_on(), **(environ or {}),
        }  # fmt: skip
        settings = [f"{name}={value}" for name, value in variables.items()]
        enter = ["chroot", f"--userspec={user}", str(self.folder), "env", "-i", *settings]
        # The shell must stay: it is the namespace's first process, with which the kernel ends all others.
        inside = shlex.join([*enter, "bash", "-c", command]) + " && exit 0 || exit $?"
        script = "\n".join(["set -e; umask 022", *self._mounts(), inside])
        with log.open("a+") if log else tempfile.TemporaryFile("w+") as out:
            start = out.seek(0, os.SEEK_END)
            code = subprocess.run(
                [*ISOLATED, "bash", "-c", script],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=timeout,
            ).returncode  # fmt: skip
            out.seek(start)
            return subprocess.CompletedProcess(command, code, stdout=out.read())

    def _mounts(self) -> list[str]:
        """Commands that mount what a running Debian has, in the namespace of one command."""
        root = shlex.quote(str(self.folder))
        return [
            f"mount -t proc proc {root}/proc",
            f"mount --rbind /sys {root}/sys",
            f"mount -o remount,bind,ro {root}/sys",
            f"mount --bind /dev {root}/dev",
            f"mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts {root}/dev/pts",
            f"mount -t tmpfs -o mode=1777 tmpfs {root}/dev/shm",
            *(f"mount --bind {shlex.quote(str(a))} {shlex.quote(str(b))}" for a, b in self._binds),
        ]

    def _account(self, user: str) -> list[str]:
        """The user's fields of the system's own passwd file."""
        lines = (self.folder / "etc" / "passwd").read_text().splitlines()
        return next(fields for fields in (line.split(":") for line in lines) if fields[0] == user)
