"""Writing the archive that ``docker load`` takes from an OCI layout, the same bytes each time."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from typing import IO, TYPE_CHECKING

from dsv4_doctor.files import atomically
from dsv4_doctor.images.layer import plain
from dsv4_doctor.images.layout import open_image

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_doctor.binary.source import Source


def write(layout: Path, file: Path, reference: str | None = None) -> None:
    """Write an archive, complete as soon as it has its name.

    Args:
        reference: Name that the image gets where it is loaded.

    Raises:
        OSError: It cannot be written.
        InputError: The layout is damaged.
    """
    with open_image(layout) as image:
        atomically(
            file, lambda target: _write(target, image.manifest, image.layers, layout, reference)
        )


def _write(
    target: IO[bytes],
    manifest: dict[str, dict[str, str]],
    layers: tuple[tuple[str, Source], ...],
    layout: Path,
    reference: str | None,
) -> None:
    name = manifest["config"]["digest"].partition(":")[2]
    config = (layout / "blobs/sha256" / name).read_bytes()
    names = [f"{digest.partition(':')[2]}.tar" for digest, _ in layers]
    listed = {
        "Config": f"{name}.json",
        "RepoTags": [reference] if reference else [],
        "Layers": names,
    }
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, f"{name}.json", io.BytesIO(config), len(config))
        for entry, (_, source) in zip(names, layers, strict=True):
            # A tar has its sizes before its contents.
            with tempfile.TemporaryFile() as spool:
                for piece in plain(source, entry):
                    spool.write(piece)
                size = spool.tell()
                spool.seek(0)
                _add(archive, entry, spool, size)
        data = json.dumps([listed]).encode()
        _add(archive, "manifest.json", io.BytesIO(data), len(data))


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    archive.addfile(info, content)
