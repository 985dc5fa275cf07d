"""What short programs answer, where a build cannot go on without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Characters of a failed program's output that the message repeats: a linker names every symbol.
_MOST = 2000


def answer(  # noqa: PLR0913 - those of `run`, and what to say
    argv: Sequence[str],
    failing: str,
    *,
    limit: float,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    hint: str = "",
) -> str:
    """Run a program to its end and return what it wrote to standard output.

    Args:
        argv: Program and arguments.
        failing: What it means when it fails; the program's own words follow.
        limit: Seconds that it may take.
        env: Variables on top of the caller's environment.
        cwd: Working directory.
        hint: The way out.

    Raises:
        BuildError: It does not run, takes too long or ends with an error.
    """
    try:
        done = run(argv, limit=limit, env=env, cwd=cwd)
    except ProcessError as error:
        msg = f"{failing}: {error}"
        raise BuildError(msg, hint=hint) from error
    if not done.ok:
        said = (done.stderr.strip() or done.stdout.strip())[-_MOST:]
        msg = f"{failing}: {said or f'exit status {done.returncode}'}"
        raise BuildError(msg, hint=hint)
    return done.stdout
