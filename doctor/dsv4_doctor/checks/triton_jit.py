"""What Triton needs in a running server: a C compiler, and an assembler that knows the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import Ptxas
    from dsv4_doctor.report import Status


@check(
    "triton.jit.compiler",
    "C compiler for Triton",
    reads=("compilers", "environment", "host"),
    reports=("vllm-project/vllm#2997", "vllm-project/vllm#27890"),
    fix="Install gcc, also where vLLM came as a wheel.",
)
def compiler(context: Context) -> Iterator[Finding]:
    """Whether Triton finds a C compiler when a server compiles its first kernel.

    It takes ``CC``, else gcc, else clang on PATH. In an image without one the first request ends
    with "Failed to find C compiler".
    """
    if not context.target.serves:
        return
    compilers = context.need("compilers", context.snapshot.compilers)
    given = (context.snapshot.environment or {}).get("CC")
    plain = {each.path.rpartition("/")[2]: each for each in compilers.found}
    found = given if given and "CC" not in compilers.absent else None
    if found is None and not given:
        named = plain.get("gcc") or plain.get("clang")
        found = named.path if named is not None else None
    status: Status = "fail" if context.target.purpose == "serve" else "warn"
    yield Finding(
        "triton.jit.compiler",
        "pass" if found else status,
        f"Triton compiles its launchers with {found}"
        if found
        else (f"CC={given} is not there" if given else "Triton finds no C compiler"),
        found=found or "none",
        expected="CC, or gcc or clang on PATH",
        evidence=(Evidence(found or given or "none", "CC" if given else "PATH"),),
        source=(stack.rule("triton.compiler").source,),
        remedy=None
        if found
        else Remedy(
            "install a C compiler" + (", or unset CC" if given else ""),
            remedies.install_package(context.snapshot.host, debian="gcc", redhat="gcc"),
        ),
    )


@check(
    "triton.jit.ptxas",
    "Triton's assembler and the GPU",
    reads=("gpus", "python", "toolkits"),
    reports=("vllm-project/vllm#34470",),
    fix="Name the ptxas of a newer toolkit in TRITON_PTXAS_PATH or TRITON_PTXAS_BLACKWELL_PATH.",
)
def ptxas(context: Context) -> Iterator[Finding]:
    """Whether the ptxas that Triton runs assembles for the GPUs that are wanted.

    Triton brings a ptxas of its own, which may be older than the GPU: "Value 'sm_110a' is not
    defined for option 'gpu-name'". A toolkit on PATH does not help: only a variable changes it.
    """
    if not context.target.serves:
        return
    tools = context.need("python", context.snapshot.python).ptxas
    if not tools:
        return
    for arch in selection.wanted_archs(context):
        yield _assembles(context, arch, _tool(tools, arch))


def _tool(tools: tuple[Ptxas, ...], arch: Arch) -> Ptxas:
    wanted = [each for each in tools if each.blackwell == _from("triton.blackwell", arch)]
    return (wanted or list(tools))[0]


def _from(rule: str, arch: Arch) -> bool:
    """Whether a rule that begins with one architecture holds for this one."""
    return arch.number >= Arch.parse(stack.rule(rule).archs[0]).number


def _assembles(context: Context, arch: Arch, tool: Ptxas) -> Finding:
    name = f"{arch.base.sm}a" if _from("triton.exact", arch) else arch.base.sm
    good = name in tool.archs
    variable = "TRITON_PTXAS_BLACKWELL_PATH" if tool.blackwell else "TRITON_PTXAS_PATH"
    status: Status = "unknown" if tool.error and not tool.archs else ("pass" if good else "fail")
    title = f"Triton's ptxas {'assembles' if good else 'does not know'} {name}"
    return Finding(
        "triton.jit.ptxas",
        status,
        f"whether Triton's ptxas knows {name} could not be told" if status == "unknown" else title,
        found=tool.error or ", ".join(tool.archs),
        expected=name,
        evidence=(Evidence(tool.error or ", ".join(tool.archs), f"{tool.path} --help"),),
        source=(stack.rule("triton.ptxas").source, stack.rule("triton.exact").source),
        remedy=_other_ptxas(context, name, variable) if status == "fail" else None,
    )


def _other_ptxas(context: Context, name: str, variable: str) -> Remedy:
    toolkits = context.snapshot.toolkits
    fitting = [each for each in (toolkits.found if toolkits else ()) if name in each.archs]
    if not fitting:
        return Remedy(
            f"install a CUDA toolkit that knows {name}, and name its ptxas in {variable}",
            remedies.install_toolkit(context.release.main_cuda.value).commands,
        )
    path = f"{fitting[0].root}/bin/ptxas"
    return Remedy(f"use {path}, which knows {name}", (Command(env={variable: path}),))


@check(
    "triton.jit.libcuda",
    "libcuda for Triton",
    reads=("gpus", "python"),
    reports=("llm-d/llm-d#1063",),
    fix="Name the directory of libcuda.so.1 in TRITON_LIBCUDA_PATH, or run ldconfig.",
)
def libcuda(context: Context) -> Iterator[Finding]:
    """Whether Triton's linker finds the driver's library where there is a GPU.

    Triton links its launchers against libcuda.so.1 in the directories that ldconfig lists. Some
    container platforms mount it outside of them: "/usr/bin/ld: cannot find -l:libcuda.so.1".
    """
    if not context.target.serves or not context.snapshot.gpus:
        return
    python = context.need("python", context.snapshot.python)
    if python.libcuda is None or python.distribution("triton") is None:
        return
    there, elsewhere = python.libcuda, python.libcuda_elsewhere
    title = (
        f"Triton links against libcuda in {there[0]}" if there else "Triton finds no libcuda.so.1"
    )
    if not there and elsewhere:
        title += f": it is in {elsewhere[0]}, which ldconfig does not list"
    yield Finding(
        "triton.jit.libcuda",
        "pass" if there else "fail",
        title,
        found=", ".join(there) or "none",
        expected="libcuda.so.1 in a directory that ldconfig lists, or TRITON_LIBCUDA_PATH",
        evidence=(Evidence(", ".join((*there, *elsewhere)) or "none", "ld.so.cache, variables"),),
        source=(stack.rule("triton.libcuda").source,),
        remedy=None if there else _link_libcuda(elsewhere),
    )


def _link_libcuda(elsewhere: tuple[str, ...]) -> Remedy:
    if not elsewhere:
        return Remedy(
            "start the container with its GPUs, so that the runtime mounts libcuda.so.1",
        )
    return Remedy(
        f"tell Triton where it is, or have ldconfig list {elsewhere[0]}",
        (
            Command(env={"TRITON_LIBCUDA_PATH": elsewhere[0]}),
            Command(argv=("ldconfig", elsewhere[0]), root=True),
        ),
    )


@check(
    "triton.install.single",
    "one triton",
    reads=("python",),
    fix="Remove both and install the one that torch asks for.",
)
def single(context: Context) -> Iterator[Finding]:
    """Whether there is one triton only.

    ``triton``, ``pytorch-triton`` and ``triton-nightly`` install the same files: the last one
    wins, and removing one takes the other's files away.
    """
    python = context.need("python", context.snapshot.python)
    found = [each for each in python.distributions if each.name in {"triton", "pytorch-triton"}]
    if not found:
        return
    good = len(found) == 1
    named = ", ".join(f"{each.name} {each.version}" for each in found)
    yield Finding(
        "triton.install.single",
        "pass" if good else "warn",
        f"{named} is the only triton" if good else f"several tritons in one place: {named}",
        found=named,
        expected="one triton",
        evidence=tuple(Evidence(f"{each.name} {each.version}", each.location) for each in found),
        remedy=None
        if good
        else Remedy(
            "remove all of them, then install the one that torch asks for",
            (
                Command(
                    argv=(
                        python.executable,
                        "-m",
                        "pip",
                        "uninstall",
                        "-y",
                        *dict.fromkeys(each.name for each in found),
                    ),
                ),
                remedies.pip_install(
                    python.executable,
                    f"triton{context.release.triton.value if context.release.triton else ''}",
                ),
            ),
        ),
    )
