"""``dsv4-doctor launch``: from a model and a machine to the start command, with its reasons."""

from __future__ import annotations

import os
import sys
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.plan import Plan


class Format(str, Enum):
    """Output formats of a plan; each is a module ``launch_NAME`` under ``formats/``."""

    TEXT = "text"
    JSON = "json"
    SHELL = "shell"
    COMPOSE = "compose"
    SYSTEMD = "systemd"


class Goal(str, Enum):
    """What a server is made for."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    CONTEXT = "context"


def launch(  # noqa: PLR0913 - one parameter an option
    *,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="PATH|NAME",
            help="config.json, its directory, a download, or a published name; - for stdin.",
        ),
    ],
    goal: Annotated[Goal, typer.Option(help="What the server is made for.")] = Goal.THROUGHPUT,
    vllm: Annotated[
        str | None,
        typer.Option(
            "--vllm",
            metavar="RELEASE|PATH",
            help="vLLM release, sdist or checkout; default: the newest with all features.",
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The machine, from `dsv4-doctor snapshot`; default: this one."
        ),
    ] = None,
    gpu: Annotated[
        str | None, typer.Option(metavar="NAME", help="Plan for this GPU, such as H200.")
    ] = None,
    gpus: Annotated[int, typer.Option(metavar="N", help="With --gpu: how many.")] = 1,
    length: Annotated[
        int | None,
        typer.Option(
            "--max-model-len", metavar="N", help="Tokens that a request must be able to have."
        ),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
) -> int:
    """Plan how to start a model: each parameter with its reason, and what fits into memory.

    Exit status: 0 there is a command, 1 the model does not fit or is not served here, 2 wrong
    command line or an unreadable file.
    """
    from dsv4_doctor.launch.planning import plan  # noqa: PLC0415 - after the options are checked
    from dsv4_doctor.launch.serving import default, serving  # noqa: PLC0415
    from dsv4_doctor.launch.source import find  # noqa: PLC0415

    if gpu is not None and snapshot is not None:
        msg = "--gpu and --snapshot are two machines: give one"
        raise UsageError(msg)
    if gpu is None and gpus != 1:
        msg = "--gpus says how many of --gpu there are: give both"
        raise UsageError(msg)
    source = find(model, os.environ)
    known = source.published
    used = serving(vllm) if vllm is not None else default(known.vllm if known else None)
    made = plan(source, _machine(snapshot, gpu, gpus, model), used, goal.value, length)
    _print(made, output)
    return EXIT_OK if made.fits else EXIT_FAILED


def _machine(snapshot: str | None, gpu: str | None, gpus: int, model: str) -> Machine:
    from dsv4_doctor.launch import machine  # noqa: PLC0415

    if gpu is not None:
        return machine.named(gpu, gpus)
    from dsv4_doctor.cli.judging import Asked, start_facts  # noqa: PLC0415

    facts = start_facts(Asked(source=snapshot, model=model))()
    return machine.of(facts, snapshot or "this machine")


def _print(plan: Plan, output: Format) -> None:
    # Only the text waits for rich.
    module = import_module(f"dsv4_doctor.formats.launch_{output.value}")
    if output is Format.TEXT:
        from dsv4_doctor.formats import console  # noqa: PLC0415

        module.render(plan, console.stdout())
    else:
        sys.stdout.write(module.render(plan))
