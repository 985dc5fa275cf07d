"""The Python interpreter and its headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator


@check(
    "python.version.release",
    "Python version",
    reads=("python",),
    fix="Make an environment with a Python that the release supports and name it with --python.",
)
def version(context: Context) -> Iterator[Finding]:
    """Whether the release runs on this Python.

    pip then takes an older release without a word, or finds none at all.
    """
    python = context.need("python", context.snapshot.python)
    requires = context.release.requires_python
    good = accepts(SpecifierSet(requires.value), python.version)
    yield Finding(
        "python.version.release",
        "pass" if good else "fail",
        f"Python {python.version} {'fits' if good else 'does not fit'} vLLM {context.release.name}",
        found=f"{python.executable}: {python.version} (chosen by {python.chosen_by})",
        expected=f"Python {requires.value}",
        evidence=(Evidence(python.version, python.executable),),
        source=(requires.source(f"requires-python {requires.value}"),),
        remedy=None
        if good
        else Remedy(
            f"make an environment with a Python that fits {requires.value},"
            " and name it with --python"
        ),
    )


@check(
    "python.headers.present",
    "Python.h",
    reads=("host", "python"),
    reports=("vllm-project/vllm#27890", "sgl-project/sglang#18644", "theroyallab/tabbyAPI#456"),
    fix="Install the development package of this Python.",
)
def headers(context: Context) -> Iterator[Finding]:
    """Whether Python.h of this interpreter is there.

    A build includes it, and so does Triton when it compiles its first kernel in a running server.
    The header belongs to the base interpreter, also in a virtual environment.
    """
    python = context.need("python", context.snapshot.python)
    good = python.headers is not None
    minor = selection.version(python.version)
    debian = f"python{minor.major}.{minor.minor}-dev"
    yield Finding(
        "python.headers.present",
        "pass" if good else "fail",
        "Python.h is there" if good else f"Python.h of Python {python.version} is missing",
        found=python.headers or "none",
        expected=f"{python.headers_expected}/Python.h",
        evidence=(
            Evidence("there" if good else "not there", f"{python.headers_expected}/Python.h"),
        ),
        remedy=None
        if good
        else Remedy(
            "install the development package of this Python",
            remedies.install_package(
                context.snapshot.host,
                debian=debian,
                redhat=f"python{minor.major}.{minor.minor}-devel",
            ),
        ),
    )
