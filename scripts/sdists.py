"""vLLM's source distributions, from the package index that pip is configured with.

Nothing of them is run: pip itself would, to learn their metadata.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests
from packaging.version import Version
from pypi_simple import PYPI_SIMPLE_ENDPOINT, NoSuchProjectError, PyPISimple

from dsv4_doctor.errors import DoctorError, InputError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pypi_simple import DistributionPackage

PROJECT = "vllm"
# Seconds without an answer, and between two pieces of one.
TIMEOUT = (20.0, 60.0)


class UnreachableError(DoctorError):
    """The package index does not answer: nothing can be said of what it has."""


def index() -> str:
    """Return the URL of the package index: pip's, or else that of PyPI."""
    return os.environ.get("PIP_INDEX_URL") or _configured() or PYPI_SIMPLE_ENDPOINT


def _configured() -> str:
    """What pip's configuration files say, empty when they say nothing."""
    command = (sys.executable, "-m", "pip", "config", "get", "global.index-url")
    try:
        found = run(command, limit=20)
    except ProcessError:
        return ""
    return found.stdout.strip() if found.ok else ""


def fetch(release: str, directory: Path, sha256: str = "") -> Path:
    """Return a release's source distribution in a directory, downloaded when it is not there.

    Args:
        release: Such as ``0.24.0``.
        directory: Where it is, or will be.
        sha256: What it must be; empty for whatever the index says it is.

    Raises:
        InputError: The index has no such release, no source distribution of it, or another one.
        UnreachableError: The index does not answer.
    """
    directory.mkdir(parents=True, exist_ok=True)
    there = directory / f"{PROJECT}-{release}.tar.gz"
    if sha256 and there.is_file() and _digest(there) == sha256:
        return there
    with _client() as client:
        package = _sdist(release, client.get_project_page(PROJECT, timeout=TIMEOUT).packages)
        given = package.digests.get("sha256", "")
        if sha256 and given != sha256:
            msg = f"vLLM {release}: the package index has a file with SHA-256 {given}"
            raise InputError(msg, hint=f"the knowledge was read from {sha256}")
        client.download_package(package, there, timeout=TIMEOUT)
    return there


def newer_than(release: str) -> list[str]:
    """Return the releases with a source distribution that came later, oldest first.

    Raises:
        InputError: The index has no vLLM.
        UnreachableError: The index does not answer.
    """
    with _client() as client:
        packages = client.get_project_page(PROJECT, timeout=TIMEOUT).packages
    found = {Version(each.version) for each in packages if each.version and _is_sdist(each)}
    return [
        str(each) for each in sorted(found) if each > Version(release) and not each.is_prerelease
    ]


@contextmanager
def _client() -> Iterator[PyPISimple]:
    """Give a client of the index, and say in words of this project what went wrong."""
    try:
        with PyPISimple(index()) as client:
            yield client
    except requests.RequestException as error:
        msg = f"the package index cannot be reached: {error}"
        raise UnreachableError(msg, hint="without a network, give the files themselves") from error
    except (NoSuchProjectError, ValueError) as error:
        # Its own errors of what an index must not do are values: no digest, or a wrong one.
        msg = f"the package index: {error}"
        raise InputError(msg) from error


def _is_sdist(package: DistributionPackage) -> bool:
    return package.package_type == "sdist" and package.filename.endswith(".tar.gz")


def _sdist(release: str, packages: list[DistributionPackage]) -> DistributionPackage:
    files = [each for each in packages if each.version == release]
    for each in files:
        if _is_sdist(each):
            return each
    if files:
        msg = f"vLLM {release} has no source distribution on the package index, only wheels"
        raise InputError(msg, hint="what it needs can be read from a checkout: --vllm PATH")
    msg = f"the package index has no vLLM {release}"
    raise InputError(msg)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
