"""Unpacks dsv4-doctor.pyz once and starts what was unpacked.

Python keeps no compiled code for modules inside an archive, so that each start would compile
everything anew. What lies under the digest of the archive's own content is never changed.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def enter(archive: str) -> None:
    """Put the packages on the path and run the command line.

    Args:
        archive: The file that was started.
    """
    unpacked = unpack(archive)
    if unpacked is not None:
        sys.path[0] = str(unpacked)
    # Its import switches the collector off, as it does for the installed command.
    from dsv4_doctor.__main__ import main

    main()


def unpack(archive: str) -> Path | None:
    """Return the directory with the unpacked packages, ``None`` where none can be had.

    Where nothing can be written (a full disk, a read-only home) the archive itself serves.
    """
    # Written into the archive by scripts/build_pyz.py: the digest of all that lies beside it.
    from dsv4_doctor_pyz_digest import DIGEST

    wanted = os.environ.get("DSV4_DOCTOR_CACHE", "")
    if wanted == "off":
        return None
    try:
        root = Path(wanted) if wanted else _cache()
        place = root / f"pyz-{DIGEST}"
        if not place.is_dir():
            _write(archive, root, place)
        return place if _private(place) else None
    except (OSError, RuntimeError):
        return None


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "dsv4-doctor"


def _write(archive: str, root: Path, place: Path) -> None:
    # Only the first start needs these.
    import shutil
    import tempfile
    import zipfile

    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".pyz-", dir=root))
    try:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(temporary)
        temporary.rename(place)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        # Another doctor may have been faster; then its directory is as good.
        if not place.is_dir():
            raise


def _private(place: Path) -> bool:
    # Code that another user can change is not run.
    for path in (place, place.parent):
        status = path.stat()
        if status.st_uid not in {os.geteuid(), 0} or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
    return True
