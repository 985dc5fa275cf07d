"""Which vLLM release a pasted text is about, for a report that nobody named one for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from dsv4_doctor.snapshot import Snapshot


@dataclass(frozen=True)
class ToldRelease:
    """A release that was chosen from a text.

    Attributes:
        note: What chose it, for a reader.
    """

    release: str
    note: str


def told_release(snapshot: Snapshot) -> ToldRelease | None:
    """Return the release that a text names, else the newest one that pins the torch it names.

    Whoever triages a report asks whether that machine fits what runs on it. A snapshot of a
    machine says nothing here: what it is for is for its owner to say.
    """
    if not snapshot.origin or snapshot.python is None:
        return None
    vllm = snapshot.python.distribution("vllm")
    found = _nearest(vllm.version) if vllm is not None else None
    if vllm is not None and found is not None:
        same = found == vllm.version
        return ToldRelease(
            found,
            f"vLLM {vllm.version} is the one that the text names"
            + ("" if same else f", {found} the nearest known release before it")
            + "; --vllm holds the machine against another",
        )
    torch = snapshot.python.torch
    if torch is None:
        return None
    minor = _minor(torch.version)
    pins = load.torch_pins().items()
    alike = [(each, pin) for each, pin in pins if minor and _minor(pin) == minor]
    exact = [(each, pin) for each, pin in alike if pin == torch.version.partition("+")[0]]
    pinning = next((each for each, _ in exact or alike), None)
    if pinning is None:
        return None
    note = f"vLLM {pinning} is the newest known release for torch {minor}, which the text names"
    return ToldRelease(pinning, f"{note}; --vllm holds the machine against another")


def _minor(version: str) -> str | None:
    try:
        parsed = Version(version)
    except InvalidVersion:
        return None
    return f"{parsed.major}.{parsed.minor}"


def _nearest(text: str) -> str | None:
    """Return the newest known release that is not newer than a version, developers' ones too."""
    try:
        version = Version(text)
    except InvalidVersion:
        return None
    return next((each for each in load.release_names() if Version(each) <= version), None)
