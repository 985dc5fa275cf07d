"""``libcuda.so`` to link against where no driver is installed, made from ``cuda.h``.

NVIDIA's own toolkits bring one in ``lib64/stubs``; the wheels do not. Every function of the driver
API is in it and returns the error that the header reserves for it, so that a program which really
loads the stub says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from pathlib import Path

SONAME = "libcuda.so.1"

_DECLARED = re.compile(r"\bCUDAAPI\s+(cu[A-Z]\w*)\s*\(")
_VERSIONED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(cu[A-Z]\w*)[ \t]+"
    r"(?:__CUDA_API_(PTDS|PTSZ)[ \t]*\([ \t]*(cu[A-Z]\w*)[ \t]*\)|(cu[A-Z]\w*))[ \t]*$",
    re.MULTILINE,
)
_ERROR = re.compile(r"\bCUDA_ERROR_STUB_LIBRARY\s*=\s*(\d+)")


def driver_functions(header: str) -> tuple[str, ...]:
    """Return every name that a program including ``cuda.h`` can ask the driver library for.

    The header renames functions to versions of them (``cuMemAlloc`` to ``cuMemAlloc_v2``) and, for
    per-thread default streams, to variants with ``_ptds`` or ``_ptsz``.
    """
    names = set(_DECLARED.findall(header))
    for macro, variant, inner, plain in _VERSIONED.findall(header):
        real = inner or plain
        names.update((macro, real))
        if variant:
            names.add(f"{real}_{variant.lower()}")
    return tuple(sorted(names))


def source(header: str) -> str:
    """Return the C source of the stub library.

    Raises:
        ValueError: The text is not ``cuda.h``: it declares no function or not the error code.
    """
    names = driver_functions(header)
    code = _ERROR.search(header)
    if not names or code is None:
        msg = "not cuda.h: no driver functions, or no CUDA_ERROR_STUB_LIBRARY"
        raise ValueError(msg)
    return "".join(f"int {name}(void) {{ return {code[1]}; }}\n" for name in names)


def build(header: Path, library: Path, compiler: str) -> None:
    """Compile the stub.

    Args:
        header: ``cuda.h`` of the toolkit.
        library: Where the stub goes.
        compiler: A C compiler.

    Raises:
        BuildError: The header is not ``cuda.h``, or the compiler failed.
    """
    library.parent.mkdir(parents=True, exist_ok=True)
    text = library.with_suffix(".c")
    try:
        text.write_text(source(header.read_text(encoding="utf-8", errors="replace")))
        done = run(
            [
                compiler,
                "-shared",
                "-fPIC",
                "-w",
                "-nostdlib",
                "-fno-builtin",
                f"-Wl,-soname,{SONAME}",
                "-Wl,--build-id=none",
                "-o",
                str(library),
                str(text),
            ],
            limit=60.0,
        )
    except (OSError, ValueError, ProcessError) as error:
        msg = f"{header}: no stub of the driver library could be made: {error}"
        raise BuildError(msg) from error
    finally:
        text.unlink(missing_ok=True)
    if not done.ok:
        msg = f"{compiler} could not make {library}:\n{done.stderr.strip()}"
        raise BuildError(msg)
