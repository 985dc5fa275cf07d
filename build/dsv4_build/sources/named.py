"""What the cache has of vLLM itself, by the names that a command line gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.sources.git import COMMIT
from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.sources.store import Store


def checkout_place(store: Store, commit: str) -> Path:
    """Return where the checkout of a commit is, or would be."""
    return store.root / "checkouts" / f"vllm-{commit}"


def find(store: Store, text: str) -> Path | None:
    """Return the sdist of a release or the checkout of a commit, ``None`` for nothing."""
    release = text.removeprefix("v")
    if release in load.release_names():
        return store.archive(load.release(release).sdist_sha256)
    if COMMIT.fullmatch(text) and checkout_place(store, text).is_dir():
        return checkout_place(store, text)
    return None
