"""The directories that a build and a server write to, with the file systems that hold them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.resources import Place
from dsv4_doctor.probes import files, mounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.probes.mounts import Mount

_FILESYSTEM = Path("/")


def survey(
    environ: Mapping[str, str],
    directory: str,
    filesystem: Path = _FILESYSTEM,
    model: str | None = None,
) -> tuple[Place, ...]:
    """Return the places, in the order in which a build and a server come to need them.

    Args:
        environ: Names some of them.
        directory: Where a build would take place: the current one.
        filesystem: Where ``/proc`` and ``/sys`` are, and ``/dev/shm``.
        model: What is to be served; a name that is no directory is downloaded into the cache.
    """
    mounted = mounts.parse(files.read(filesystem / "proc/self/mountinfo") or "")
    return tuple(
        _place(role, path, by, mounted, filesystem)
        for role, path, by in (
            ("build", directory, ""),
            _first(environ, "temporary", ("TMPDIR", "TEMP", "TMP"), "/tmp"),  # noqa: S108
            ("shared memory", str(filesystem / "dev/shm"), ""),
            *_caches(environ, model),
        )
    )


def _caches(environ: Mapping[str, str], model: str | None) -> list[tuple[str, str, str]]:
    """Return model and compile caches by the rules of the programs that write them.

    huggingface_hub ``constants.py``, vLLM ``envs.py``, Triton ``knobs.py``, FlashInfer
    ``jit/env.py``; vLLM sets DeepGEMM's below its own unless ``DG_JIT_CACHE_DIR`` says otherwise.
    """
    home = environ.get("HOME") or "~"
    shared = environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
    models = environ.get("HF_HOME") or f"{shared}/huggingface"
    own = environ.get("VLLM_CACHE_ROOT") or f"{shared}/vllm"
    triton = environ.get("TRITON_HOME") or home
    flashinfer = environ.get("FLASHINFER_WORKSPACE_BASE") or home
    hub = "HF_HOME" if environ.get("HF_HOME") else ""
    root = "VLLM_CACHE_ROOT" if environ.get("VLLM_CACHE_ROOT") else ""
    base = "FLASHINFER_WORKSPACE_BASE" if environ.get("FLASHINFER_WORKSPACE_BASE") else ""
    kept = _first(environ, "model", ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"), f"{models}/hub", hub)
    return [
        ("model", model, "--model") if model and files.exists(Path(model)) else kept,
        ("cache of vLLM", own, root),
        _first(environ, "cache of Triton", ("TRITON_CACHE_DIR",), f"{triton}/.triton/cache"),
        ("cache of FlashInfer", f"{flashinfer}/.cache/flashinfer", base),
        _first(environ, "cache of DeepGEMM", ("DG_JIT_CACHE_DIR",), f"{own}/deep_gemm", root),
    ]


def _first(
    environ: Mapping[str, str], role: str, names: Sequence[str], default: str, by: str = ""
) -> tuple[str, str, str]:
    chosen = next((name for name in names if environ.get(name)), None)
    return (role, environ[chosen], chosen) if chosen else (role, default, by)


def _place(role: str, path: str, by: str, mounted: Sequence[Mount], filesystem: Path) -> Place:
    wanted = Path(path).expanduser() if path.startswith("~") else Path(path)
    there = _nearest(Path(os.path.realpath(wanted)))
    mount = mounts.of(str(there), mounted)
    size, free, files_free = _space(there)
    options = mount.options if mount is not None else frozenset()
    return Place(
        role=role,
        path=str(wanted),
        chosen_by=by,
        mount=mount.point if mount is not None else "",
        filesystem=mount.filesystem if mount is not None else "",
        size=size,
        free=free,
        files_free=files_free,
        executable="noexec" not in options,
        writable="ro" not in options and os.access(there, os.W_OK | os.X_OK),
        disk=mounts.disk(mount, filesystem / "sys") if mount is not None else None,
    )


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest directory above it that exists."""
    return next((each for each in (path, *path.parents) if files.exists(each)), Path("/"))


def _space(path: Path) -> tuple[int | None, int | None, int | None]:
    """Return size and free bytes, and files that may still be made."""
    try:
        told = os.statvfs(path)
    except OSError:
        return None, None, None
    # A file system that makes its inodes as it needs them counts none.
    files_free = told.f_favail if told.f_files else None
    return told.f_blocks * told.f_frsize, told.f_bavail * told.f_frsize, files_free
