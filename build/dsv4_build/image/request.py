"""What an image is asked for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

JitWish: TypeAlias = Literal["auto", "base", "pypi", "none"]
Jit: TypeAlias = Literal["base", "pypi", "none"]

_PINNED = re.compile(r"(?P<name>[\w.:/-]+?)@(?P<digest>sha256:[0-9a-f]{64})")
_REFERENCE = re.compile(r"[a-z0-9][\w.-]*(?::\d+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[\w.-]+)?")


@dataclass(frozen=True)
class Base:
    """The image that everything lies on.

    Attributes:
        name: Of the image, or the directory of an OCI layout.
        digest: Of its manifest or index.
        local: Whether it is a directory here.
    """

    name: str
    digest: str
    local: bool = False

    @property
    def reference(self) -> str:
        """Name and digest; a tag before a digest would only be ignored."""
        head, slash, last = self.name.rpartition("/")
        return f"{head}{slash}{last.partition(':')[0]}@{self.digest}"


@dataclass(frozen=True)
class Output:
    """Where an image goes.

    Attributes:
        kind: An OCI layout, an archive for ``docker load``, or a name in the engine and, with
            ``--push``, in its registry.
        place: Directory, file or name.
    """

    kind: Literal["oci", "docker-archive", "reference"]
    place: str

    @property
    def path(self) -> Path:
        """Directory or file of it."""
        return Path(self.place)


@dataclass(frozen=True)
class ImageRequest:
    """The command line of an image, as written.

    Attributes:
        wheel: What is to be served.
        output: Where the image goes.
        base: What it lies on.
        jit: Where the toolkit comes from that kernels are compiled with in a running server.
        engine: Which container engine, ``None`` for the first that is there.
        lock: Requirements with hashes, for all that the wheel needs.
        wheels: Directory to take them from, instead of an index.
        require: Features and architectures to prove in the wheel before, and in the image after.
        push: Whether a reference is pushed to its registry.
        verify: Whether it is built twice and compared.
        apt_snapshot: Moment of the distribution's archive, such as ``20260901T000000Z``.
        sbom: Where the bill of materials goes, ``None`` for beside a file or directory.
    """

    wheel: Path
    output: Output
    base: Base
    jit: Jit
    engine: str | None = None
    lock: Path | None = None
    wheels: Path | None = None
    require: Sequence[str] = ()
    push: bool = False
    verify: bool = False
    apt_snapshot: str | None = None
    sbom: Path | None = None


def parse_output(text: str) -> Output:
    """Read ``oci:DIR``, ``docker-archive:FILE`` or the name of an image.

    Raises:
        UsageError: It is none of them.
    """
    kinds: tuple[Literal["oci", "docker-archive"], ...] = ("oci", "docker-archive")
    for kind in kinds:
        place = text.removeprefix(f"{kind}:")
        if place not in {text, ""}:
            return Output(kind, place)
    if _REFERENCE.fullmatch(text) and not text.startswith("oci:"):
        return Output("reference", text)
    msg = f"--output {text}: neither oci:DIR, docker-archive:FILE nor the name of an image"
    raise UsageError(msg, hint="a name is REGISTRY/NAME:TAG, in lower case")


def parse_base(text: str | None) -> Base:
    """Read ``NAME@sha256:…`` or ``oci:DIR``; without any, NVIDIA's image by its known digest.

    Raises:
        UsageError: It has no digest, or the layout cannot be read.
    """
    if text is None:
        data = _bases()
        default = data["nvidia"][data["default"]]
        return Base(default["name"], default["digest"])
    if text.startswith("oci:"):
        path = Path(text.removeprefix("oci:"))
        try:
            index = json.loads((path / "index.json").read_text(encoding="utf-8"))
            digest = index["manifests"][0]["digest"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            msg = f"--base {text}: no OCI layout: {error}"
            raise UsageError(msg) from error
        return Base(str(path.absolute()), str(digest), local=True)
    match = _PINNED.fullmatch(text)
    if match is None:
        msg = f"--base {text}: needs its digest, NAME@sha256:…: a tag is another image tomorrow"
        hint = (
            f"docker buildx imagetools inspect {text}, or skopeo inspect docker://{text}, says it"
        )
        raise UsageError(msg, hint=hint)
    return Base(match["name"], match["digest"])


def choose_jit(wish: JitWish) -> Jit:
    """Decide where the toolkit comes from: NVIDIA's bases, and those that replace them, have it."""
    return "base" if wish == "auto" else wish


def left_out_at_run_time(_folder: str, names: list[str]) -> set[str]:
    """Return which of some names of a toolkit only building needs, as ``copytree`` asks for it."""
    rule = _bases()["toolkit"]
    return {
        name
        for name in names
        if any(fnmatchcase(name, pattern) for pattern in rule["leave_out"])
        and name not in rule["but"]
    }


@cache
def _bases() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        files(__package__).joinpath("bases.json").read_text(encoding="utf-8")
    )
    return data
