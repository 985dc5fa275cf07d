"""The programs that a source build calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.build_tools import BuildTool
    from dsv4_doctor.report import Status

# What process.run says of a program that hangs: nothing is known of it then.
_SILENT = "no answer within"

_WHY = {
    "cmake": "configures the build",
    "ninja": "runs the compilers",
    "git": "fetches the external projects and tells the version",
}


@check(
    "build.tools.present",
    "build tools",
    reads=("build_tools", "host", "python"),
    reports=("vllm-project/vllm#10188",),
    fix="Install cmake and ninja into the environment that builds, and git from the distribution.",
    gives=lambda: tuple(f"build.tools.{name}" for name in _WHY),
)
def present(context: Context) -> Iterator[Finding]:
    """Whether cmake, ninja and git are there and run, and cmake is new enough for the release.

    A build with isolation brings its own cmake and ninja, so their absence is a warning. One that
    is there and does not run, such as the cmake wheel 3.31.0 without its modules, is a failure.

    Findings: ``build.tools.cmake``, ``build.tools.ninja`` and ``build.tools.git``.
    """
    if not context.target.builds:
        return
    tools = {each.name: each for each in context.need("build_tools", context.snapshot.build_tools)}
    for name, why in _WHY.items():
        tool = tools.get(name)
        yield _finding(context, tool, why) if tool is not None else _not_looked_for(name)


def _not_looked_for(name: str) -> Finding:
    # The probe lists what it did not find, too; a text says only what it found.
    return Finding(
        f"build.tools.{name}",
        "unknown",
        f"{name}: could not be told",
        found="the snapshot says nothing of it",
        expected=name,
    )


def _finding(context: Context, tool: BuildTool, why: str) -> Finding:
    name = tool.name
    floor = context.release.cmake if name == "cmake" else None
    expected = f"{name} >= {floor.value}" if floor else name
    identifier = f"build.tools.{name}"
    source = (floor.source(expected),) if floor else ()
    if tool.path is None:
        return Finding(
            identifier,
            "warn",
            f"{name} not found: it {why}",
            found="none",
            expected=expected,
            evidence=(Evidence("none", "PATH and the interpreter's directory"),),
            source=source,
            remedy=_install(context, name, expected, tool),
        )
    old = floor is not None and selection.version(tool.version) < selection.version(floor.value)
    said = ", ".join(filter(None, (tool.version, tool.error))) or "no answer"
    status: Status = "pass"
    title = f"{name} {tool.version}"
    if tool.error is not None and _SILENT not in tool.error:
        status, title = "fail", f"{tool.path} is broken: {tool.error}"
    elif tool.version is None:
        status, title = "unknown", f"{name} does not tell its version"
    elif old:
        status, title = "fail", f"{name} {tool.version} is too old"
    return Finding(
        identifier,
        status,
        title,
        found=f"{tool.path}: {said}",
        expected=expected,
        evidence=(Evidence(said, f"{tool.path} --version"),),
        source=source,
        remedy=_install(context, name, expected, tool) if status == "fail" else None,
    )


def _install(context: Context, name: str, requirement: str, tool: BuildTool | None) -> Remedy:
    if name == "git":
        commands = remedies.install_package(context.snapshot.host, debian="git", redhat="git")
        return Remedy("install git", commands)
    python = context.snapshot.python
    wanted = requirement.replace(" ", "")
    if python is None:
        command = remedies.pip_install("python3", wanted)
    elif tool is not None and tool.path and tool.path.startswith(f"{python.prefix}/"):
        # What is there already would be replaced, and uninstalling would not bring it back.
        command = remedies.pip_install(python.executable, wanted)
    else:
        command = remedies.pip_install_tool(python, name, wanted)
    return Remedy(f"install {name} into the environment that builds", (command,))
