"""``dsv4-doctor lint``: a command of ``vllm serve`` against what a release really takes."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.lint.documents import Form

if TYPE_CHECKING:
    from dsv4_doctor.lint.report import LintReport

STDIN = "-"
# A script or a manifest; what is larger is something else.
_MAX_SIZE = 8 << 20


class Format(str, Enum):
    """Output formats; each is a module ``lint_NAME`` under ``formats/``."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    MARKDOWN = "markdown"


def lint(  # noqa: PLR0913 - one parameter an option
    *,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE | -- vllm serve …",
            help="A file, - for standard input, or the command itself after --.",
        ),
    ] = None,
    vllm: Annotated[
        str | None,
        typer.Option(
            "--vllm",
            metavar="RELEASE|PATH",
            help="vLLM release, sdist or checkout; default: what the file installs.",
        ),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(metavar="NAME|ARCH", help="GPU that it is for, such as H200 or sm_90."),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Machine that it is for, from `dsv4-doctor snapshot`."),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="Model, where the command does not name it.")
    ] = "",
    form: Annotated[
        Form | None, typer.Option("--input", help="Kind of the file; default: by name and content.")
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Print the corrected command; the rest goes to stderr.")
    ] = False,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
) -> None:
    """Say what is wrong with the flags and variables of a server's command.

    Reads shell scripts, Dockerfiles, files of Compose and Kubernetes and units of systemd.

    Exit status: 0 nothing is wrong, 1 something is, 2 wrong command line or unreadable file.
    """
    if not command:
        msg = "nothing to look at: give a FILE, - for standard input, or -- vllm serve …"
        raise UsageError(msg)
    if gpu is not None and snapshot is not None:
        msg = "--gpu and --snapshot both name the GPU; give one of them"
        raise UsageError(msg)
    report = _report(command, form, vllm, gpu, snapshot, model)
    if fix and output is Format.TEXT:
        _print_fixed(report)
    else:
        _print(report, output)
    raise typer.Exit(report.exit_code)


def _report(  # noqa: PLR0913, PLR0917 - the options of the command
    command: list[str],
    form: Form | None,
    vllm: str | None,
    gpu: str | None,
    snapshot: str | None,
    model: str,
) -> LintReport:
    from dsv4_doctor.lint import documents  # noqa: PLC0415 - not for --help
    from dsv4_doctor.lint.choosing import report  # noqa: PLC0415

    name, root = "", Path()
    if len(command) == 1 and not any(sign.isspace() for sign in command[0]):
        name = command[0]
        servers = documents.read(_text(name), name, form)
        root = Path(name).parent if name != STDIN else root
    else:
        servers = documents.of_arguments(command)
    if not servers:
        msg = f"{name or 'the command line'}: no server of vLLM is started here"
        hint = "vllm serve, the module vllm.entrypoints.openai.api_server, or an image vllm-openai"
        raise InputError(msg, hint=f"what is looked for: {hint}")
    return report(servers, name, root, vllm=vllm, gpu=gpu, snapshot=snapshot, model=model)


def _text(name: str) -> str:
    try:
        if name == STDIN:
            content = sys.stdin.buffer.read(_MAX_SIZE + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(_MAX_SIZE + 1)
    except OSError as error:
        msg = f"{name}: {error.strerror or error}"
        raise InputError(msg, hint="a command is given after --: lint -- vllm serve …") from error
    if len(content) > _MAX_SIZE or b"\0" in content[:4096]:
        msg = f"{name}: no text that starts a server"
        raise InputError(msg)
    return content.decode("utf-8", "replace")


def _print_fixed(report: LintReport) -> None:
    from dsv4_doctor.formats.plain import printable  # noqa: PLC0415

    for server in report.servers:
        sys.stdout.write(server.command + "\n")
        left = list(server.fixed)
        for problem in server.problems:
            if problem.id in left and problem.fix is not None:
                left.remove(problem.id)
                sys.stderr.write(f"fixed: {printable(problem.title)}\n")
            else:
                sys.stderr.write(f"left: {printable(problem.title)}: {printable(problem.do)}\n")


def _print(report: LintReport, output: Format) -> None:
    if output is Format.JSON:
        from dsv4_doctor.formats import lint_json  # noqa: PLC0415 - JSON waits for no rich

        sys.stdout.write(lint_json.render(report))
    elif output is Format.SARIF:
        from dsv4_doctor.formats import lint_sarif  # noqa: PLC0415

        sys.stdout.write(lint_sarif.render(report))
    elif output is Format.MARKDOWN:
        from dsv4_doctor.formats import lint_markdown  # noqa: PLC0415

        sys.stdout.write(lint_markdown.render(report))
    else:
        from dsv4_doctor.formats import console, lint_text  # noqa: PLC0415

        lint_text.render(report, console.stdout())
