"""A base made by mmdebstrap and an image made by buildah, once in a session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.build.conftest import CommandLine, command
from tests.doctor.images.builders import Image

MISSING = [each for each in ("buildah", "mmdebstrap") if shutil.which(each) is None]
if os.geteuid() != 0:
    MISSING.append("root, to make a base and to change into it")

_UNWANTED = ("doc", "man", "info", "locale", "lintian", "i18n", "bug")


@dataclass(frozen=True)
class Engine:
    """An engine with a storage of its own.

    Attributes:
        root: Where everything is.
    """

    root: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["buildah", *arguments], capture_output=True, text=True, check=False, timeout=300
        )


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Buildah that needs no cgroups, away from the storage of this machine."""
    if not os.environ.get("DSV4_IMAGE_REQUIRED"):
        if MISSING:
            pytest.skip(f"real images need {', '.join(MISSING)}")
        if os.environ.get("DSV4_TESTS_ONLY"):
            pytest.skip("one interpreter is enough: what is in an image is the image's own")
    root = tmp_path_factory.mktemp("engine")
    made = Engine(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUILDAH_ISOLATION", "chroot")
        patch.setenv("CONTAINERS_STORAGE_CONF", str(root / "storage.conf"))
        for driver in ("overlay", "vfs"):
            (root / "storage.conf").write_text(
                f'[storage]\ndriver = "{driver}"\n'
                f'graphroot = "{root}/{driver}"\nrunroot = "{root}/run-{driver}"\n'
            )
            if made.run("info").returncode == 0:
                break
        yield made
        made.run("rm", "--all")
        for each in root.glob("*/overlay"):
            subprocess.run(["umount", "--recursive", str(each)], check=False, capture_output=True)
        # Gigabytes, of which pytest would keep those of three sessions.
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def base(engine: Engine) -> Path:
    """Debian with Python, as an OCI layout, fit for nothing else."""
    tar = engine.root / "base.tar"
    subprocess.run(
        [
            *("mmdebstrap", "--quiet", "--variant=essential", "--include=python3-venv"),
            *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in _UNWANTED),
            *("bookworm", str(tar)),
        ],
        check=True,
        capture_output=True,
        timeout=300,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    env = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    made = Image([tar.read_bytes()], compression="none", env=env).write(engine.root / "base")
    tar.unlink()
    return made


@dataclass(frozen=True)
class Made:
    """What the command said of an image, and where it is."""

    done: CommandLine
    layout: Path
    wheel: Path

    @property
    def manifest(self) -> dict[str, object]:
        index = json.loads((self.layout / "index.json").read_text())
        name = index["manifests"][0]["digest"].replace(":", "/")
        manifest: dict[str, object] = json.loads((self.layout / "blobs" / name).read_text())
        return manifest

    @property
    def config(self) -> dict[str, object]:
        name = str(self.manifest["config"]["digest"]).replace(":", "/")  # type: ignore[index]
        config: dict[str, object] = json.loads((self.layout / "blobs" / name).read_text())
        return config


@pytest.fixture(scope="session")
def made(base: Path, engine: Engine, smoke_command: tuple[CommandLine, Path]) -> Made:
    """The smoke wheel in an image, built twice and compared."""
    (wheel,) = smoke_command[1].glob("*.whl")
    layout = engine.root / "made"
    done = command(
        *("image", str(wheel), "--output", f"oci:{layout}", "--base", f"oci:{base}"),
        *("--jit", "none", "--engine", "buildah", "--verify-reproducible"),
        *("--require", "fa3,paged-v2,sm_90a"),
    )
    return Made(done, layout, wheel)
