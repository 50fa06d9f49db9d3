"""A bare Debian in a folder, with what the README asks of a user and nothing else.

Commands run in it by chroot. Every command has a mount and a process namespace of its own, so its mounts
and whatever it leaves running end with it, however it ends. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bootstrap import CERTIFICATES, ISOLATED, PACKAGES, available, bootstrap
from checkout import copy_checkout

__all__ = ["Debian", "available", "bootstrap", "remove"]

PATH = "/usr/local/bin:/usr/bin:/bin"
ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CACHE = "/var/cache/uv"


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
