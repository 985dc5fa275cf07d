"""The directory that an engine builds from: everything in it comes from the inputs alone."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.image import doctor_files
from dsv4_build.image.request import left_out_at_run_time
from dsv4_build.publish import sha256
from dsv4_doctor.errors import BuildError, InputError

if TYPE_CHECKING:
    from dsv4_build.image.facts import Wheel
    from dsv4_build.image.request import ImageRequest

# Where pip takes packages from; a proxy is the engine's own business.
PIP = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT")
_NAME = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")


def definition() -> Path:
    """Return the directory with the Dockerfile and its scripts.

    Raises:
        BuildError: It was not installed.
    """
    here = Path(__file__).resolve()
    for place in (here.parents[3] / "docker", here.parent / "docker"):
        if (place / "Dockerfile").is_file():
            return place
    msg = "the Dockerfile was not installed with dsv4-doctor"
    raise BuildError(msg, hint="install dsv4-doctor from its wheel or a checkout")


def write(root: Path, request: ImageRequest, wheel: Wheel, toolkit: Path | None) -> None:
    """Fill an empty directory with everything that the image is made of.

    Args:
        toolkit: An assembled CUDA toolkit to put into the image, ``None`` for none.

    Raises:
        InputError: The lock or the directory of wheels does not do.
        BuildError: The disk is full, or the directory cannot be written.
    """
    try:
        for name in ("wheel", "packages", "toolkit", "doctor/doctor", "source"):
            (root / name).mkdir(parents=True)
        shutil.copytree(definition(), root / "docker", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(root / "docker/entrypoint", root / "doctor/entrypoint")
        _place(wheel.path, root / "wheel" / wheel.path.name)
        _packages(root / "packages", request, wheel)
        for file, data in doctor_files.contents():
            target = root / "doctor/doctor" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if toolkit is not None:
            # Hard links where they can be: it has gigabytes.
            kit, left_out = root / "toolkit/cuda", left_out_at_run_time
            shutil.copytree(toolkit, kit, symlinks=True, copy_function=_place, ignore=left_out)
        _one_form(root)
    except OSError as error:
        msg = f"{root}: the build context cannot be written: {error.strerror or error}"
        raise BuildError(msg, hint="TMPDIR names the directory above it") from error


def _packages(root: Path, request: ImageRequest, wheel: Wheel) -> None:
    if request.lock is not None:
        (root / "requirements.txt").write_text(_lock(request.lock, wheel), encoding="utf-8")
    elif wheel.needs:
        (root / "resolve").write_text(f"{wheel.name}\n", encoding="utf-8")
    if request.wheels is not None:
        found = sorted(request.wheels.glob("*.whl"))
        if not found:
            msg = f"--wheels {request.wheels}: no wheels in it"
            raise InputError(msg)
        (root / "wheels").mkdir()
        for each in found:
            _place(each, root / "wheels" / each.name)
    given = {name: os.environ[name] for name in PIP if os.environ.get(name)}
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(given.items())]
    (root / "pip.env").write_text("".join(lines), encoding="utf-8")


def _lock(path: Path, wheel: Wheel) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        msg = f"{path}: the lock cannot be read: {error}"
        raise InputError(msg) from error
    how = f"uv pip compile --generate-hashes --no-emit-package {wheel.name} -o {path} {wheel.path}"
    if "--hash=" not in text:
        msg = f"{path}: a lock needs the hash of every package"
        raise InputError(msg, hint=how)
    lines = text.replace("\\\n", " ").splitlines()
    names = {m[1].lower().replace("_", "-").replace(".", "-") for m in map(_NAME.match, lines) if m}
    if wheel.name in names:
        msg = f"{path}: locks {wheel.name} itself, which comes from the wheel"
        raise InputError(msg, hint=how)
    return text


def digest(root: Path) -> str:
    """Return a SHA-256 over names, permissions and contents of a directory of the context."""
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file():
            mode = path.stat().st_mode & 0o111
            total.update(f"{path.relative_to(root)}\0{mode}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def lock_digest(request: ImageRequest) -> str:
    """Return the SHA-256 of the lock, empty without one."""
    return sha256(request.lock) if request.lock is not None else ""


def _place(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _one_form(root: Path) -> None:
    """Give everything the permissions that it has in the image, whatever the caller's umask."""
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            # What is linked here lies elsewhere, too, and is not ours to change.
            if not path.is_symlink() and path.stat().st_nlink == 1:
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
