"""Which toolkit wins, and what is odd about it: CUDA_HOME's text, distributions, HPC SDK, stubs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.toolkit import Toolkit
    from dsv4_doctor.report import Status

_DISTRIBUTION = ("/usr/lib/nvidia-cuda-toolkit", "/usr/lib/cuda")
_STRAY = {
    ":": "a colon, as in a list of directories",
    ";": "a semicolon",
    '"': "a quotation mark",
    "'": "a quotation mark",
    "~": "a tilde, which only a shell replaces",
}


@check(
    "cuda.home.text",
    "CUDA_HOME as text",
    reads=("toolkits",),
    reports=("vllm-project/vllm#36077",),
    fix="Set CUDA_HOME to one directory, without anything else.",
)
def text(context: Context) -> Iterator[Finding]:
    """Whether CUDA_HOME is the name of one directory and nothing else.

    Set like PATH (``:/usr/local/cuda``), quoted twice, or with a blank at its end, it goes into
    commands as it is: ":/usr/local/cuda-12.8/bin/nvcc: not found", and ninja ends with 127.
    """
    home = context.need("toolkits", context.snapshot.toolkits).cuda_home
    if home is None:
        return
    value = home.value
    stray = [words for sign, words in _STRAY.items() if sign in value]
    if re.search(r"^\s|\s$", value):
        stray.append("a blank at its beginning or end")
    clean = next((part for part in re.split(r"[:;]", value) if part.strip()), value)
    clean = clean.strip().strip("\"'").strip()
    yield Finding(
        "cuda.home.text",
        "fail" if stray else "pass",
        f"CUDA_HOME holds {', '.join(dict.fromkeys(stray))}: {value!r}"
        if stray
        else "CUDA_HOME is one directory",
        found=repr(value) if stray else value,
        expected="the name of one directory",
        evidence=(Evidence(repr(value), "environment"),),
        remedy=Remedy("set it to one directory", (Command(env={"CUDA_HOME": clean}),))
        if stray
        else None,
    )


@check(
    "cuda.toolkit.distribution",
    "toolkit of the distribution",
    reads=("toolkits",),
    reports=("vllm-project/vllm#4313",),
    fix="Remove the package nvidia-cuda-toolkit, or put the other toolkit first on PATH.",
)
def distribution(context: Context) -> Iterator[Finding]:
    """Whether the distribution's own nvcc stands beside another toolkit.

    Debian's package nvidia-cuda-toolkit puts nvcc into /usr/bin, where CMake finds it whatever
    CUDA_HOME says; it is usually older.
    """
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    own = [each for each in toolkits.found if not set(_DISTRIBUTION).isdisjoint(each.origins)]
    others = [each for each in toolkits.found if each not in own and each.nvcc is not None]
    if not own or not others:
        return
    picked = own[0].root in {toolkits.picks.path, toolkits.picks.cmake, toolkits.picks.torch}
    status: Status = "fail" if picked and context.target.builds else "warn"
    yield Finding(
        "cuda.toolkit.distribution",
        status,
        f"the distribution's nvcc {own[0].nvcc_version or ''} in /usr/bin stands beside"
        f" {others[0].root} ({others[0].release or 'no release told'})"
        + (" and is taken first" if picked else ""),
        found=", ".join(_named(each) for each in (*own, *others)),
        expected="one toolkit",
        evidence=tuple(Evidence(_named(each), each.root) for each in (*own, *others)),
        remedy=Remedy(
            f"take {others[0].root} first, or remove the package nvidia-cuda-toolkit",
            (
                Command(
                    env={
                        "CUDA_HOME": others[0].root,
                        "CUDACXX": f"{others[0].root}/bin/nvcc",
                        "PATH": f"{others[0].root}/bin:$PATH",
                    }
                ),
                Command(argv=("apt-get", "remove", "-y", "nvidia-cuda-toolkit"), root=True),
            ),
        ),
    )


def _named(toolkit: Toolkit) -> str:
    return f"nvcc {toolkit.nvcc_version or 'unknown'} in {toolkit.root}"


@check(
    "cuda.toolkit.math",
    "math headers of the toolkit",
    reads=("toolkits",),
    reports=("vllm-project/vllm#11191",),
    fix="Add the HPC SDK's math_libs to CPATH, or use a plain CUDA toolkit.",
)
def math(context: Context) -> Iterator[Finding]:
    """Whether the headers of the CUDA math libraries are where compilers look.

    NVIDIA's HPC SDK keeps them beside the toolkit: "fatal error: cusparse.h: No such file or
    directory".
    """
    if not context.target.builds:
        return
    toolkit = selection.toolkit(context)
    if toolkit is None or toolkit.math_libraries is None:
        return
    gone = [name for name in toolkit.missing if name.startswith("include/cu")]
    include = toolkit.math_libraries
    library = f"{include.rpartition('/')[0]}/lib64"
    yield Finding(
        "cuda.toolkit.math",
        "fail" if gone else "pass",
        f"{toolkit.root} of the HPC SDK has its math headers elsewhere: {', '.join(gone)}"
        if gone
        else "the math headers are in the toolkit",
        found=include,
        expected=f"{toolkit.root}/include",
        evidence=(Evidence(", ".join(gone) or "all there", f"{toolkit.root}/include"),),
        remedy=Remedy(
            "name the directory of the math headers and libraries, or use a plain CUDA toolkit",
            (
                Command(
                    env={"CPATH": f"{include}:$CPATH", "LIBRARY_PATH": f"{library}:$LIBRARY_PATH"}
                ),
            ),
        )
        if gone
        else None,
    )


@check(
    "cuda.toolkit.stub",
    "the driver's stub",
    reads=("toolkits",),
    fix="Reinstall the toolkit's cuda-driver-dev package.",
)
def stub(context: Context) -> Iterator[Finding]:
    """Whether the toolkit's stub of libcuda defines the driver's functions.

    A build machine without a driver links against it; an empty one ends with undefined ``cu…``
    symbols when the extension modules are linked.
    """
    if not context.target.builds:
        return
    toolkit = selection.toolkit(context)
    if toolkit is None or toolkit.stub_exports is None:
        return
    good = toolkit.stub_exports
    yield Finding(
        "cuda.toolkit.stub",
        "pass" if good else "fail",
        f"the stub of libcuda in {toolkit.root} {'defines' if good else 'does not define'} cuInit",
        found="cuInit" if good else "no function",
        expected="cuInit and the other functions of the driver",
        evidence=(
            Evidence("cuInit" if good else "none", f"{toolkit.root}/lib64/stubs/libcuda.so"),
        ),
        remedy=None
        if good
        else remedies.install_toolkit(toolkit.release or context.release.main_cuda.value),
    )
