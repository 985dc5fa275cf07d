"""Taking the steps that are safe and reversible, and taking them back."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.errors import EXIT_FAILED, DoctorError
from dsv4_doctor.files import write_atomically
from dsv4_doctor.fix import variables
from dsv4_doctor.fix.journal import Done

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsv4_doctor.fix.journal import Journal
    from dsv4_doctor.fix.steps import Step

# Seconds for one program: the largest of them downloads some tens of megabytes.
LIMIT = 600.0


class FixError(DoctorError):
    """A step could not be taken or taken back; the message says which one, and why."""

    exit_code = EXIT_FAILED


def apply(
    steps: Sequence[Step], journal: Journal, env_file: Path, say: Callable[[str], object]
) -> None:
    """Take the applicable steps, each written down before it is taken.

    Args:
        steps: Those of a plan for this machine; the others are left alone.
        journal: Where they are written down.
        env_file: File for the variables.
        say: Takes a line on what was done.

    Raises:
        FixError: A step failed; those before it are in the journal and can be taken back.
    """
    run = uuid.uuid4().hex[:12]
    chosen = [step for step in steps if step.applicable]
    variable_steps = [step for step in chosen if sets_variables(step)]
    if variable_steps:
        _write_variables(run, variable_steps, journal, env_file)
        say(f"written: {env_file}")
    for step in chosen:
        if step.command is not None and not sets_variables(step):
            done = _begun(run, step.ids, argv=step.command.argv, undo=step.command.undo)
            say(f"running: {' '.join(done.argv)}")
            _attempt(done, journal, partial(_run, done.argv))
            say(f"done: {' '.join(done.argv)}")


def undo(done: Sequence[Done], journal: Journal, say: Callable[[str], object]) -> None:
    """Take back the steps of one run, the last first.

    Raises:
        FixError: A file was changed since, or a program failed; what is left is still in the
            journal.
    """
    for each in reversed(done):
        if each.path:
            _restore(each)
            say(f"taken back: {each.path}")
        elif each.taken:
            _run(each.undo)
            say(f"taken back: {' '.join(each.argv)}")
        else:
            say(
                f"interrupted, so perhaps not done at all: {' '.join(each.argv)};"
                f" to take it back: {' '.join(each.undo)}"
            )
        journal.end(each, "undone")


def sets_variables(step: Step) -> bool:
    """Whether a step sets or unsets variables, rather than running a program."""
    return step.command is not None and not step.command.argv


def _begun(
    run: str,
    findings: tuple[str, ...],
    *,
    argv: tuple[str, ...] = (),
    undo: tuple[str, ...] = (),
    file: tuple[str, str | None, str] = ("", None, ""),
) -> Done:
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    path, before, after = file
    return Done(uuid.uuid4().hex[:12], run, at, findings, path, before, after, argv, undo)


def _attempt(done: Done, journal: Journal, action: Callable[[], object]) -> None:
    """Write a step down, take it, and write down how it went."""
    journal.begin(done)
    try:
        action()
    except DoctorError:
        journal.end(done, "failed")
        raise
    journal.end(done, "taken")


def _write_variables(run: str, steps: Sequence[Step], journal: Journal, env_file: Path) -> None:
    before = _content(env_file)
    after = variables.merged(before, [step.command for step in steps if step.command is not None])
    if after == before:
        return
    try:
        env_file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{env_file.parent}: cannot be made: {error.strerror or error}"
        raise FixError(msg) from error
    ids = tuple(dict.fromkeys(name for step in steps for name in step.ids))
    done = _begun(run, ids, file=(str(env_file), before, after))
    _attempt(done, journal, lambda: write_atomically(env_file, after.encode()))


def _restore(done: Done) -> None:
    path = Path(done.path)
    now = _content(path)
    if now == done.before:
        return
    if now != done.after:
        msg = f"{path}: changed since dsv4-doctor wrote it, so it is left as it is"
        raise FixError(msg, hint="edit it by hand, or remove it and try again")
    if done.before is None:
        path.unlink()
    else:
        write_atomically(path, done.before.encode())


def _content(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise FixError(msg) from error


def _run(argv: Sequence[str]) -> None:
    try:
        done = process.run(argv, limit=LIMIT)
    except process.ProcessError as error:
        raise FixError(str(error)) from error
    if not done.ok:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        msg = f"{' '.join(argv)}: exit status {done.returncode}: {' '.join(said)}"
        raise FixError(msg)
