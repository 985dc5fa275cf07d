"""Settings that stand between a build and what it downloads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_REPLACING = ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_NO_INDEX", "UV_NO_INDEX")
# Indexes that hold the wheels of one project, and of others only some old releases.
_PARTIAL = r"download\.pytorch\.org|wheels\.vllm\.ai|flashinfer\.ai|pypi\.nvidia\.com"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"


@check(
    "env.index.replaced",
    "index of packages",
    reads=("environment", "resources"),
    reports=("QwenLM/Qwen3-VL#188",),
    fix="Name the index as an extra one instead of one that replaces PyPI.",
)
def index(context: Context) -> Iterator[Finding]:
    """Whether an index with the wheels of one project replaces PyPI for everything.

    An isolated build takes cmake, setuptools and ninja from the same index: that of PyTorch holds
    a few old releases of them, and pip says that no version satisfies the requirement.
    """
    environ = context.snapshot.environment or {}
    if not context.target.builds:
        return
    resources = context.snapshot.resources
    settings = {name: environ[name] for name in _REPLACING if environ.get(name)}
    if resources is not None and resources.package_indexes:
        settings |= resources.package_indexes
    bad = {name: value for name, value in settings.items() if _cuts_off(name, value)}
    if not bad:
        return
    name, value = next(iter(bad.items()))
    yield Finding(
        "env.index.replaced",
        "warn",
        f"{name}={value} replaces PyPI for the tools of the build, too",
        found=", ".join(f"{each}={text}" for each, text in bad.items()),
        expected="PyPI or a full mirror of it, and others as extra indexes",
        evidence=tuple(Evidence(text, each) for each, text in bad.items()),
        remedy=Remedy(
            "name it as an extra index: PIP_EXTRA_INDEX_URL, --extra-index-url, or uv's --index",
            (Command(unset=(name,)),) if name in _REPLACING else (),
        ),
    )


def _cuts_off(name: str, value: str) -> bool:
    if name.endswith("NO_INDEX"):
        return value.strip().lower() in {"1", "true", "yes", "on"}
    return re.search(_PARTIAL, value) is not None


@check(
    "env.proxy.form",
    "proxies",
    reads=("environment",),
    reports=("vllm-project/vllm#7368",),
    fix="Set https_proxy to an address with its scheme, in lower case.",
)
def proxy(context: Context) -> Iterator[Finding]:
    """Whether the variables for a proxy reach git and pip.

    The build clones over https: a proxy for http alone does not serve it. An address without
    ``http://`` in front is read differently by each program. Whether the proxy lets a clone
    through is known only by trying.
    """
    environ = context.snapshot.environment or {}
    if not context.target.builds:
        return
    fault = _fault(environ)
    if fault is None:
        return
    name, text = fault
    yield Finding(
        "env.proxy.form",
        "warn",
        text,
        found=f"{name}={environ[name]}",
        expected="https_proxy with an address such as http://host:port",
        evidence=(Evidence(environ[name], name),),
        remedy=Remedy(
            "set the proxy for https, too, with its scheme; then test it: git ls-remote"
            " https://github.com/NVIDIA/cutlass.git",
        ),
    )


def _fault(environ: Mapping[str, str]) -> tuple[str, str] | None:
    https = environ.get("https_proxy") or environ.get("HTTPS_PROXY")
    every = environ.get("all_proxy") or environ.get("ALL_PROXY")
    for name in ("http_proxy", "HTTP_PROXY"):
        if environ.get(name) and not https and not every:
            return name, f"{name} is set, https_proxy is not: git clones without the proxy"
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"):
        value = environ.get(name, "")
        if value and not re.match(_SCHEME, value):
            return name, f"{name} has no scheme: http:// must stand before {value}"
    return None
