"""Extension modules for tests, made by the C compiler of this machine."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

_TEXT = """
#include <Python.h>
{before}
static PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, NULL}};
PyMODINIT_FUNC PyInit_{name}(void) {{ {body} return PyModule_Create(&definition); }}
"""


def extension(
    directory: Path, name: str, *, before: str = "", body: str = "", options: tuple[str, ...] = ()
) -> Path:
    """Compile a module that does ``body`` when it is loaded, and return its file.

    One that is called ``libcuda`` has the driver library's soname.
    """
    directory.mkdir(parents=True, exist_ok=True)
    source, target = directory / f"{name}.c", directory / f"{name}.so"
    source.write_text(_TEXT.format(before=before, name=name, body=body))
    include = sysconfig.get_path("include")
    argv = ["cc", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(target)]
    soname = ["-Wl,-soname,libcuda.so.1"] if name == "libcuda" else []
    subprocess.run([*argv, "-Wl,-z,lazy", "-Wl,--no-as-needed", *soname, *options], check=True)
    return target
