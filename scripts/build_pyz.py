#!/usr/bin/env python3
"""Builds ``dsv4-doctor.pyz``: the doctor with its dependencies in one file, for any host.

    scripts/build_pyz.py [--output dist/dsv4-doctor.pyz]
    scripts/build_pyz.py --lock

The dependencies come from the package index by the hashes in ``scripts/pyz/requirements.txt``,
which ``--lock`` resolves anew (with uv). The same commit gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PARTS = ROOT / "scripts/pyz"
LOCK = PARTS / "requirements.txt"
OLDEST = "3.10"

# Zip's own epoch: an archive says nothing of when it was made.
EPOCH = (1980, 1, 1, 0, 0, 0)
# What pip notes of its own work, and scripts that an archive cannot start.
_NOT_KEPT = re.compile(
    r"(^|/)(__pycache__|bin)/|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json)$"
    r"|\.(so|pyc|pyd)$"
)


def main() -> int:
    """Build the archive, or resolve its dependencies anew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist/dsv4-doctor.pyz")
    parser.add_argument("--lock", action="store_true", help="resolve the dependencies anew")
    options = parser.parse_args()
    if options.lock:
        lock()
        return 0
    with tempfile.TemporaryDirectory() as directory:
        site = Path(directory)
        install(site)
        entries = dict(contents(site))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write(options.output, entries)
    size = options.output.stat().st_size
    digest = hashlib.sha256(options.output.read_bytes()).hexdigest()
    print(f"{options.output}  {size / 1e6:.1f} MB  sha256 {digest}")
    return 0


def lock() -> None:
    """Write the hashes of the newest dependencies that the oldest Python can take."""
    header = (
        f"# Resolved for Python {OLDEST}, the oldest that the doctor runs on; "
        "written by scripts/build_pyz.py --lock.\n"
    )
    argv = ["uv", "pip", "compile", "--quiet", "--python-version", OLDEST, "--python-platform"]
    argv += ["linux", "--generate-hashes", "--only-binary", ":all:", "--no-header"]
    argv += ["--no-annotate", "--upgrade", str(ROOT / "pyproject.toml")]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    LOCK.write_text(header + done.stdout, encoding="utf-8")


def install(site: Path) -> None:
    """Install the locked dependencies into an empty directory."""
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    argv += ["--target", str(site), "--no-compile", "--no-deps", "--require-hashes"]
    argv += ["--only-binary", ":all:", "--python-version", OLDEST, "--platform", "any"]
    argv += ["--implementation", "py", "--abi", "none", "--requirement", str(LOCK)]
    # A user's own pip options, such as --user, would fight with --target.
    env = {**os.environ, "PIP_USER": "0"}
    subprocess.run(argv, check=True, env=env)


def contents(site: Path) -> Iterator[tuple[str, bytes]]:
    """Give every entry of the archive: dependencies, the doctor, and what starts it."""
    for directory in (site, ROOT / "doctor", ROOT / "build"):
        for file in sorted(directory.rglob("*")):
            name = file.relative_to(directory).as_posix()
            if file.is_file() and not _NOT_KEPT.search(name):
                yield name, file.read_bytes()
    for name in ("__main__.py", "dsv4_doctor_pyz.py"):
        yield name, (PARTS / name).read_bytes()


def write(output: Path, entries: dict[str, bytes]) -> None:
    """Write the archive: entries in order of their names, one time, one mode."""
    digest = hashlib.sha256()
    for name, data in sorted(entries.items()):
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    constant = f'DIGEST = "{digest.hexdigest()}"\n'.encode()
    entries = {**entries, "dsv4_doctor_pyz_digest.py": constant}
    temporary = output.with_name(f".{output.name}.partial")
    with temporary.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, data in sorted(entries.items()):
                info = zipfile.ZipInfo(name, EPOCH)
                info.external_attr = (stat.S_IFREG | 0o644) << 16
                info.create_system = 3
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, data, compresslevel=9)
    temporary.chmod(0o755)
    temporary.replace(output)


if __name__ == "__main__":
    sys.exit(main())
