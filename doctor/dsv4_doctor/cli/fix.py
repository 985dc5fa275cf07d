"""``dsv4-doctor fix``: the remedies of a report as a script, or the safe ones taken."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.judging import Asked, prepare
from dsv4_doctor.errors import EXIT_FAILED, UsageError
from dsv4_doctor.files import STDOUT, deliver
from dsv4_doctor.fix import journal, script, variables
from dsv4_doctor.fix.apply import apply as take
from dsv4_doctor.fix.apply import sets_variables
from dsv4_doctor.fix.apply import undo as take_back
from dsv4_doctor.fix.steps import plan as steps_of
from dsv4_doctor.formats.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.fix.steps import Step


def fix(  # noqa: PLR0913 - one parameter an option
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print a shell script to read; the default.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Take the safe and reversible steps, after asking.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back what the last --apply did.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    purpose: options.PurposeOption = options.Purpose.ALL,
    arch: options.Archs = None,
    vllm: options.Vllm = None,
    feature: options.Features = None,
    python: options.Python = None,
    source: options.Source = None,
    select: options.Select = None,
    ignore: options.Ignore = None,
) -> None:
    """Turn what `check` found into steps: a script to review, or the safe steps taken.

    Never touches drivers, never uses root. Exit status: 0 done, 1 a step failed or was declined,
    2 wrong command line, 4 the doctor itself broke.
    """
    _fits_together(plan=plan, apply=apply, undo=undo, yes=yes, source=source)
    if undo:
        _undo(yes=yes)
        return
    choice, left_out = options.choose(select, ignore)
    asked = Asked(
        purpose=purpose.value,
        vllm=vllm,
        archs=tuple(arch or ()),
        features=tuple(feature or ()),
        python=python,
        source=source,
        choice=choice,
    )
    report, _ = prepare(asked)(left_out)
    steps = steps_of(report)
    if apply:
        _apply(steps, yes=yes)
    else:
        deliver(script.render(report, steps, sudo=_sudo(source)), STDOUT)


def _fits_together(*, plan: bool, apply: bool, undo: bool, yes: bool, source: str | None) -> None:
    if plan + apply + undo > 1:
        msg = "--plan, --apply and --undo exclude each other"
        raise UsageError(msg)
    if apply and source is not None:
        msg = "--apply changes this machine, and --from is about another one or another time"
        raise UsageError(msg, hint="leave --from out, or print the script with --plan")
    if yes and not (apply or undo):
        msg = "--yes goes with --apply or --undo"
        raise UsageError(msg)


def _sudo(source: str | None) -> bool:
    """Whether root steps need ``sudo``: not here as root; elsewhere nobody knows."""
    return source is not None or os.geteuid() != 0


def _apply(steps: Sequence[Step], *, yes: bool) -> None:
    chosen = [step for step in steps if step.applicable]
    for step in steps:
        if not step.applicable:
            _say(f"left to you: {step.text} ({_reason(step)}; {', '.join(step.ids)})")
    if not chosen:
        _say("no step that is safe and reversible; --plan shows all of them")
        return
    for step in chosen:
        if step.command is not None:
            _say(f"to do: {step.command.shell(sudo=False)} ({', '.join(step.ids)})")
    _agree(f"take {_steps(len(chosen))}", yes=yes)
    env_file = variables.place()
    with journal.opened(journal.place()) as written:
        take(steps, written, env_file, _say)
    if any(map(sets_variables, chosen)):
        _say(f"in the shell that builds or serves: . {env_file}")


def _undo(*, yes: bool) -> None:
    path = journal.place()
    if not path.exists():
        _say("nothing to take back: there is no journal")
        return
    with journal.opened(path) as written:
        done = written.last_run()
        if not done:
            _say("nothing to take back")
            return
        for each in reversed(done):
            _say(f"to take back: {each.path or ' '.join(each.argv)} (of {each.at})")
        _agree(f"take back {_steps(len(done))}", yes=yes)
        take_back(done, written, _say)


def _steps(count: int) -> str:
    return f"{count} step{'s' if count != 1 else ''}"


def _reason(step: Step) -> str:
    command = step.command
    if command is None:
        return "no command for it"
    if step.against:
        return f"another step sets {step.against}"
    if not step.plain:
        return "control characters in its command"
    return "needs root" if command.root else "not marked as safe"


def _agree(what: str, *, yes: bool) -> None:
    """Ask, where there is somebody to answer.

    Raises:
        UsageError: Nobody can answer.
        typer.Exit: Declined.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        msg = f"nobody can be asked whether to {what}: standard input is no terminal"
        raise UsageError(msg, hint="--yes goes on without asking")
    sys.stderr.write(f"{what}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        _say("nothing was changed")
        raise typer.Exit(EXIT_FAILED)


def _say(line: str) -> None:
    sys.stdout.write(one_line(line) + "\n")
    sys.stdout.flush()
