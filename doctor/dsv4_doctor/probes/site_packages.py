"""The installed distributions of a Python environment, read from the names of directories.

``importlib.metadata`` opens every distribution to find one; here only those are opened that matter.
"""

from __future__ import annotations

import json
import os
import re
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from dsv4_doctor.facts.python import Distribution
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What a vLLM build or server depends on in its exact version; normalised names.
NAMES = frozenset(
    (
        "apache-tvm-ffi",
        "cmake",
        "compressed-tensors",
        "cuda-bindings",
        "cuda-toolkit",
        "deep-ep",
        "deep-gemm",
        "flash-attn",
        "flash-attn-3",
        "flash-attn-4",
        "flash-mla",
        "flashinfer-cubin",
        "flashinfer-jit-cache",
        "flashinfer-python",
        "grpcio-tools",
        "jinja2",
        "ninja",
        "numpy",
        "packaging",
        "pip",
        "pytorch-triton",
        "ray",
        "regex",
        "setuptools",
        "setuptools-rust",
        "setuptools-scm",
        "tilelang",
        "tokenizers",
        "torch",
        "torchaudio",
        "torchvision",
        "transformers",
        "triton",
        "vllm",
        "vllm-flash-attn",
        "wheel",
        "xformers",
        "xgrammar",
    )
)
# NVIDIA's wheels of CUDA libraries and compilers.
PREFIX = "nvidia-"

_METADATA = {".dist-info": "METADATA", ".egg-info": "PKG-INFO"}
_VERSION_LINE = re.compile(r"Version:[ \t]*([\w.+!-]+)[ \t]*")
# The head of METADATA holds name and version; a long description follows.
_HEAD = 4 << 10
# Packages whose binaries fit one version of another package; their requirements are read, for
# which 4 KiB do not suffice: those of vLLM 0.24.0 take 5.
_TIED = frozenset(
    ("flash-attn", "flashinfer-python", "torch", "torchaudio", "torchvision", "vllm", "xformers")
)
_TIED_HEAD = 64 << 10
_REQUIRES = re.compile(r"Requires-Dist:[ \t]*(([A-Za-z0-9._-]+).*)")


@dataclass(frozen=True)
class Scan:
    """What a look through the directories of installed packages found.

    Attributes:
        distributions: Those that matter, by name; of several of one name the one installed last
            comes first.
        roots: Directories that packages are imported from: the given ones, eggs in them, and
            source trees that ``.pth`` files add, as an editable installation does.
    """

    distributions: tuple[Distribution, ...]
    roots: tuple[Path, ...]


def normalise(name: str) -> str:
    """Return a distribution's name as PyPA's specification normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def matters(name: str) -> bool:
    """Whether a distribution of this normalised name is one that is looked for."""
    return name in NAMES or name.startswith(PREFIX)


def split_name(stem: str) -> tuple[str, str]:
    """Split ``NAME-VERSION`` of a metadata directory; the version is empty when there is none.

    Eggs append tags: ``flash_attn-2.6.3-py3.10-linux-x86_64``.
    """
    name, _, rest = stem.partition("-")
    return normalise(name), rest.partition("-")[0]


def parse_paths(text: str) -> list[str]:
    """Return the directories that a ``.pth`` file names; it also holds comments and code."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("#", "import ", "import\t"))]


def parse_version(text: str) -> str | None:
    """Return the version in the head of METADATA, which ends with the first empty line."""
    for line in takewhile(str.strip, text.splitlines()):
        match = _VERSION_LINE.fullmatch(line)
        if match:
            return match[1]
    return None


def parse_requires(text: str) -> tuple[str, ...]:
    """Return the requirements in the head of METADATA that matter, less those of extras."""
    found = []
    for line in takewhile(str.strip, text.splitlines()):
        match = _REQUIRES.match(line)
        if match and "extra ==" not in line and matters(normalise(match[2])):
            found.append(match[1].strip())
    return tuple(found)


def parse_origin(text: str) -> str | None:
    """Return the address in ``direct_url.json``, without what may be a secret in it."""
    try:
        url = json.loads(text)["url"]
        return re.sub(r"//[^/@]*@", "//", url).partition("?")[0]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def parse_editable(text: str) -> str | None:
    """Return the source tree of an editable installation in ``direct_url.json``."""
    try:
        data = json.loads(text)
        address = urlparse(data["url"])
        editable = data.get("dir_info", {}).get("editable")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return unquote(address.path) if editable and address.scheme == "file" else None


def scan(sites: Iterable[str]) -> Scan:
    """Look through directories of installed packages."""
    roots: list[Path] = []
    for site in sites:
        roots.extend([Path(site), *_added(Path(site))])
    roots = list(dict.fromkeys(roots))
    found = [each for root in roots for each in _distributions(root)]
    # The order of roots is that of sys.path: what comes first is imported.
    found.sort(key=lambda each: (each[1].name, roots.index(each[2]), -each[0]))
    # setuptools imports most editable trees through a finder, which no .pth file names.
    trees = (_editable(root, each) for _, each, root in found if each.name in _TIED)
    roots += [tree for tree in trees if tree is not None and tree not in roots]
    return Scan(tuple(each for _, each, _ in found), tuple(roots))


def metadata_of(roots: Iterable[Path], name: str) -> Path | None:
    """Return the metadata directory (or file) of a distribution that would be imported.

    Args:
        roots: Directories that packages are imported from, in order.
        name: Of the distribution, in any spelling.
    """
    wanted = normalise(name)
    for root in roots:
        if root.suffix == ".egg" and split_name(root.stem)[0] == wanted:
            return root / "EGG-INFO"
        found = [
            root / each
            for each in sorted(files.names(root))
            if each.endswith(tuple(_METADATA)) and split_name(each.rpartition(".")[0])[0] == wanted
        ]
        whole = [each for each in found if files.is_file(each) or _metadata_file(each)]
        if whole:
            return max(whole, key=lambda each: each.stat().st_mtime)
    return None


def _metadata_file(directory: Path) -> bool:
    return files.is_file(directory / _METADATA[directory.suffix])


def _added(site: Path) -> Iterator[Path]:
    """Yield the eggs and source trees that a directory adds to ``sys.path``."""
    for name in sorted(files.names(site)):
        if name.endswith(".egg") and files.is_directory(site / name):
            yield site / name
        elif name.endswith(".pth"):
            for line in parse_paths(files.read(site / name) or ""):
                if "\0" not in line and files.is_directory(site / line):
                    yield (site / line).resolve()


def _distributions(root: Path) -> Iterator[tuple[float, Distribution, Path]]:
    """Yield the distributions of one directory, each with the time of its installation.

    A metadata directory without its file is what an interrupted removal leaves behind; pip renames
    one to ``~ame`` while it works. Neither is an installed distribution.
    """
    if root.suffix == ".egg":
        yield from _distribution(root, root.stem, f"{root}/EGG-INFO/PKG-INFO")
    for name in files.names(root):
        stem, dot, suffix = name.rpartition(".")
        file = _METADATA.get(dot + suffix)
        if file is None or stem.startswith("~"):
            continue
        path = f"{root}/{name}"
        yield from _distribution(root, stem, path if files.is_file(path) else f"{path}/{file}")


def _distribution(
    root: Path, stem: str, metadata: str
) -> Iterator[tuple[float, Distribution, Path]]:
    name, version = split_name(stem)
    if not matters(name):
        return
    tied = name in _TIED
    text = files.read(metadata, _TIED_HEAD if tied else _HEAD)
    # Broken metadata still leaves the version in the directory's name.
    version = (parse_version(text) if text else None) or version
    if text is None or not version:
        return
    requires = parse_requires(text) if tied else ()
    note = files.read(f"{metadata.rpartition('/')[0]}/direct_url.json") if tied else None
    origin = parse_origin(note) if note else None
    found = Distribution(name, version, str(root), requires, origin)
    yield os.stat(metadata).st_mtime, found, root  # noqa: PTH116 - one of many


def _editable(root: Path, dist: Distribution) -> Path | None:
    if dist.origin is None or not dist.origin.startswith("file:"):
        return None
    metadata = metadata_of([root], dist.name)
    tree = parse_editable(files.read(metadata / "direct_url.json") or "") if metadata else None
    return Path(tree) if tree and "\0" not in tree and files.is_directory(tree) else None
