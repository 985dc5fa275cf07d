"""vLLM's source distributions, from the package index that pip is configured with."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypi_simple import DistributionPackage, PyPISimple

_PROJECT = "vllm"
# Seconds without an answer, and between two pieces of one.
_TIMEOUT = (20.0, 60.0)
_BY_HAND = "or give the file itself: --vllm PATH/vllm-{release}.tar.gz"


@contextmanager
def download(release: str, sha256: str) -> Iterator[tuple[Path, str]]:
    """Give a release's source distribution in a directory of its own, and its URL.

    Args:
        sha256: What it must be; it is checked while it is read.

    Raises:
        BuildError: The index does not answer, or has another file or none.
    """
    with tempfile.TemporaryDirectory() as directory, _client(release) as client:
        package = _sdist(client, release)
        if package.digests.get("sha256", sha256) != sha256:
            msg = f"vLLM {release}: the package index has another file than the known sdist"
            raise BuildError(msg, hint=f"the known one has SHA-256 {sha256}")
        package.digests["sha256"] = sha256
        file = Path(directory) / package.filename
        client.download_package(package, file, timeout=_TIMEOUT)
        yield file, package.url


@contextmanager
def _client(release: str) -> Iterator[PyPISimple]:
    """Give a client of the index, and say in words of this project what went wrong."""
    hint = _BY_HAND.format(release=release)
    try:
        import requests  # noqa: PLC0415 - of the extra "build"
        from pypi_simple import PYPI_SIMPLE_ENDPOINT, NoSuchProjectError, PyPISimple  # noqa: PLC0415
    except ImportError as error:
        msg = "downloading a source distribution needs pypi-simple"
        raise BuildError(msg, hint=f"install dsv4-doctor[build], {hint}") from error
    index = os.environ.get("PIP_INDEX_URL") or _configured() or PYPI_SIMPLE_ENDPOINT
    try:
        with PyPISimple(index) as client:
            yield client
    except requests.RequestException as error:
        msg = (
            f"vLLM {release} is not in the cache, and the package index cannot be reached: {error}"
        )
        raise BuildError(msg, hint=hint) from error
    except (NoSuchProjectError, ValueError) as error:
        # Its own errors of what an index must not do are values: no digest, or a wrong one.
        msg = f"the package index: {error}"
        raise BuildError(msg, hint=hint) from error


def _configured() -> str:
    """What pip's configuration files say, empty when they say nothing."""
    command = (sys.executable, "-m", "pip", "config", "get", "global.index-url")
    try:
        found = run(command, limit=20)
    except ProcessError:
        return ""
    return found.stdout.strip() if found.ok else ""


def _sdist(client: PyPISimple, release: str) -> DistributionPackage:
    for each in client.get_project_page(_PROJECT, timeout=_TIMEOUT).packages:
        if each.version == release and each.package_type == "sdist":
            return each
    msg = f"the package index has no source distribution of vLLM {release}"
    raise BuildError(
        msg, hint=f"a checkout does, too: --vllm PATH; {_BY_HAND.format(release=release)}"
    )
