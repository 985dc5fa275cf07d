"""What decides an object's bytes and no compiler cache looks at, as one word for its key.

ccache (4.7.5 and 4.14.2) does not have nvcc's variables in its key: with ``NVCC_PREPEND_FLAGS=-G``
it gives the object of a build without it. And it looks at ``nvcc`` alone, which is a driver:
``cicc``, ``ptxas`` and ``cc1plus`` write the code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.plan import key
from dsv4_build.publish import sha256
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_build.view import View

_NVCC = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")
_TOOLKIT = (
    *("bin/nvcc", "bin/nvcc.profile", "bin/cudafe++", "bin/ptxas", "bin/fatbinary", "bin/nvlink"),
    *("nvvm/bin/cicc", "nvvm/libdevice/libdevice.10.bc"),
)
_HOST = {"CC": ("cc1", "as"), "CXX": ("cc1plus", "as")}

# Seconds for a compiler to name its own parts.
_LIMIT = 30.0


def fingerprint(environ: Mapping[str, str], view: View) -> str:
    """Return a SHA-256 over the programs that compile and the variables that they read.

    Args:
        environ: The whole environment of the build.
        view: How its programs see directories.

    Raises:
        BuildError: A program cannot be read.
    """
    programs = dict.fromkeys((*_toolkit(view.real(environ["CUDA_HOME"])), *_host(environ)))
    try:
        # Names without places: a team's machines have one toolkit in several directories.
        digests = sorted((each.name, sha256(each)) for each in programs)
    except OSError as error:
        msg = f"{error.filename}: cannot be read: {error.strerror}"
        raise BuildError(msg, hint="--cache off does without a compiler cache") from error
    # The name of the host compiler stands for where it is; its bytes are among the digests.
    flags = {name: environ.get(name, "") for name in _NVCC}
    return key(digests, flags)


def _toolkit(home: str) -> Iterator[Path]:
    parts = (Path(home, name) for name in _TOOLKIT)
    return (part for part in parts if part.is_file())


def _host(environ: Mapping[str, str]) -> Iterator[Path]:
    for variable, parts in _HOST.items():
        compiler = environ[variable]
        yield Path(compiler).resolve()
        for part in parts:
            yield from _part(compiler, part)


def _part(compiler: str, name: str) -> Iterator[Path]:
    """Give a part of gcc; another compiler has none of this name and is one program."""
    try:
        done = run([compiler, f"-print-prog-name={name}"], limit=_LIMIT)
    except ProcessError as error:
        msg = f"{compiler} does not tell its parts: {error}"
        raise BuildError(msg, hint="--cache off does without a compiler cache") from error
    path = Path(done.stdout.strip())
    if done.ok and path.is_absolute() and path.is_file():
        yield path.resolve()
