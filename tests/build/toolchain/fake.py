"""A toolkit small enough for a test: wheels with scripts in place of programs."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

from dsv4_build.compilers import HostCompiler
from dsv4_build.toolchain.pins import Part, Pins, Selection, cuda_13_0

COMPILER = HostCompiler("gcc", "g++", "g++ 12", "the test")

CUDA_H = """\
#define CUDA_VERSION 13000
#define cuMemAlloc cuMemAlloc_v2
#define cuStreamSync __CUDA_API_PTSZ(cuStreamSync)
typedef enum { CUDA_ERROR_STUB_LIBRARY = 34, } CUresult;
CUresult CUDAAPI cuInit(unsigned int Flags);
CUresult CUDAAPI cuMemAlloc(void** pointer, unsigned long size);
CUresult CUDAAPI cuStreamSync(void* stream);
"""

_VERSION = "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V{version}'\n"

# Answers --version, and writes what it is asked to make.
_NVCC = """\
#!/bin/sh
if [ "$1" = --version ]; then echo 'release 13.0, V13.0.88'; exit; fi
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then echo '// release 13.0, V{cicc}' > "$2"; exit; fi
  shift
done
"""


def programs(*, ptxas: str = "13.0.88", cicc: str = "13.0.88") -> dict[str, str]:
    """Return the files of a toolkit, as they are below its root in a wheel."""
    files = {f"bin/{name}": _VERSION.format(version="13.0.88") for name in ("cudafe++", "nvlink")}
    files["bin/fatbinary"] = _VERSION.format(version="13.0.88")
    files["bin/ptxas"] = _VERSION.format(version=ptxas)
    files["bin/nvcc"] = _NVCC.replace("{cicc}", cicc)
    files["include/cuda.h"] = CUDA_H
    files["lib/libcudart.so.13"] = "library"
    files["lib/libnvrtc-builtins.alt.so.13.0"] = "library"
    return files


def wheel(directory: Path, name: str, version: str, files: dict[str, str]) -> str:
    """Write a wheel and return its SHA-256."""
    path = directory / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    members = {f"nvidia/cu13/{file}": content for file, content in files.items()}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    members[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = "".join(f"{file},sha256={_digest(text)},{len(text)}\n" for file, text in members.items())
    members[f"{info}/RECORD"] = f"{rows}{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in members.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = (0o100755 if "/bin/" in file else 0o100644) << 16
            archive.writestr(entry, content)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def selection(directory: Path, files: dict[str, str] | None = None) -> Selection:
    """Return pins of two wheels that are in a directory."""
    contents = programs() if files is None else files
    library = {name: text for name, text in contents.items() if name.startswith("lib/")}
    others = {name: text for name, text in contents.items() if name not in library}
    parts = []
    for name, version, each in (
        ("nvidia-cuda-nvcc", "13.0.88", others),
        ("nvidia-cuda-runtime", "13.0.96", library),
    ):
        digest = wheel(directory, name, version, each)
        parts.append(Part(name, version, "compile", {"x86_64": digest, "aarch64": digest}))
    return Selection(pins(tuple(parts)), "compile", "x86_64")


def pins(parts: tuple[Part, ...]) -> Pins:
    """Return CUDA 13.0 made of other parts."""
    return replace(cuda_13_0(), parts=parts)
