"""Addresses of git repositories, and where in the cache each has its place."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from dsv4_doctor.errors import InputError

_URL = re.compile(
    r"(?:(?P<scheme>https?|ssh|git)://(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+)(?::\d+)?/"
    r"|[\w.-]+@(?P<scp>[A-Za-z0-9.-]+):)(?P<path>[^\s?#]+)"
)
# One part of a path: nothing that a file system or a command line reads in its own way.
_PART = re.compile(r"[A-Za-z0-9_~+][A-Za-z0-9._~+-]*")


@dataclass(frozen=True)
class Address:
    """A repository, whatever way its URL is spelled.

    Attributes:
        host: In lower case.
        path: ``owner/name``, in lower case: the large hosts make no difference either.
    """

    host: str
    path: str

    @property
    def place(self) -> str:
        """Where its copy is, relative to the git directory of a cache."""
        return f"{self.host}/{self.path}.git"

    def called(self, name: str) -> bool:
        """Whether a person means this repository by ``owner/name``."""
        return name.lower().removesuffix(".git") in {self.path, f"{self.host}/{self.path}"}


def parse(url: str) -> Address:
    """Return which repository a URL names.

    Raises:
        InputError: No URL of a repository on a host: no scheme that reads local files or runs
            programs is accepted, since URLs also come from ``.gitmodules``.
    """
    match = _URL.fullmatch(url)
    if match is None:
        msg = f"{url}: no address of a git repository (https, ssh, git)"
        raise InputError(msg)
    path = match["path"].strip("/").removesuffix(".git").lower()
    host = (match["host"] or match["scp"]).lower()
    parts = [host, *path.split("/")]
    if len(parts) < 2 or not all(_PART.fullmatch(part) for part in parts):
        msg = f"{url}: no address of a git repository: its path has unusual parts"
        raise InputError(msg)
    return Address(host, path)


def join(parent: str, url: str) -> str:
    """Return the URL of a submodule, which may be relative to its parent's, as git reads it."""
    if not url.startswith(("./", "../")):
        return url
    match = _URL.fullmatch(parent)
    if match is None:
        return url
    # git takes the repository itself as the last part: "../x" is beside it.
    path = posixpath.normpath(posixpath.join("/" + match["path"].strip("/"), url))
    return parent[: match.start("path")] + path.lstrip("/")
