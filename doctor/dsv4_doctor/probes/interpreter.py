"""Which Python environment is meant, and what its interpreter says of itself."""

from __future__ import annotations

import ast
import os
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import files, programs
from dsv4_doctor.probes.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Seconds; the probe of the toolkits waits for this, too, and then asks nvcc.
_LIMIT = 2.5

# Printed as a Python literal: a child that imports json or sysconfig takes twice as long.
_QUESTION = "import sys; print((sys.version, sys.prefix, sys.base_prefix, sys.abiflags, sys.path))"


class InterpreterError(Exception):
    """An interpreter is not there or does not answer; the message names it."""


@dataclass(frozen=True)
class Choice:
    """The interpreter of the environment to look at.

    Attributes:
        executable: Its path, not resolved: a virtual environment's is a link.
        chosen_by: ``--python``, ``VIRTUAL_ENV``, ``CONDA_PREFIX`` or ``own``.
        own: Whether it is the one that runs this.
    """

    executable: str
    chosen_by: str
    own: bool = False


@dataclass(frozen=True)
class Interpreter:
    """One interpreter.

    Attributes:
        version: Such as ``3.12.3``.
        prefix: Of the environment.
        sites: Directories of installed packages, in order of ``sys.path``.
        include: Where ``Python.h`` belongs, in the base installation.
        virtual: Whether the environment is not the base installation itself.
    """

    version: str
    prefix: str
    sites: tuple[str, ...]
    include: str
    virtual: bool = False


_known: dict[str, Shared[Interpreter]] = {}


def choose(python: str | None, environ: Mapping[str, str]) -> Choice:
    """Choose the environment: the one asked for, an activated one, else the running one.

    Args:
        python: Interpreter, its name on PATH, or the directory of an environment.
        environ: Environment variables.

    Raises:
        InterpreterError: There is no such interpreter.
    """
    own = Choice(sys.executable, "own", own=True)
    if python is not None:
        inside = Path(python) / "bin/python"
        name = str(inside) if files.is_directory(python) else python
        found = programs.find(name, programs.directories(environ, "PATH"))
        if found is None:
            msg = f"{name}: not a Python interpreter that can be run"
            raise InterpreterError(msg)
        return Choice(found, "--python", own=found == sys.executable)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = environ.get(variable)
        executable = str(Path(prefix or "", "bin/python"))
        if not prefix or not programs.executable(executable):
            continue
        if os.path.realpath(prefix) == os.path.realpath(sys.prefix):
            return own
        return Choice(executable, variable)
    return own


def describe(choice: Choice) -> Interpreter:
    """Return what an interpreter says of itself; another one is started for it, once.

    Raises:
        InterpreterError: It does not start, does not end in time, or prints something else.
    """
    if choice.own:
        return _interpreter(sys.version, sys.prefix, sys.base_prefix, sys.abiflags, sys.path)
    shared = _known.setdefault(choice.executable, Shared(partial(_ask, choice.executable)))
    return shared.get()


def begin(python: str | None, environ: Mapping[str, str]) -> None:
    """Ask already: who calls :func:`describe` for the same interpreter later waits less, or not.

    Args:
        python: As for :func:`choose`.
        environ: Environment variables.
    """
    with suppress(InterpreterError):
        choice = choose(python, environ)
        if not choice.own:
            threading.Thread(target=_begin, args=(choice,), daemon=True).start()


def _begin(choice: Choice) -> None:
    # What is wrong with it is told to those who need the answer.
    with suppress(InterpreterError):
        describe(choice)


def parse_answer(text: str) -> Interpreter:
    """Read the last line that the question printed; start-up files may print before it.

    Raises:
        ValueError: It is not the answer.
    """
    try:
        version, prefix, base, flags, path = ast.literal_eval(text.strip().rpartition("\n")[2])
        return _interpreter(str(version), str(prefix), str(base), str(flags), map(str, path))
    except (SyntaxError, TypeError, IndexError, RecursionError, MemoryError) as error:
        msg = f"not an answer: {error!r}"
        raise ValueError(msg) from error


def _ask(executable: str) -> Interpreter:
    try:
        done = process.run([executable, "-I", "-c", _QUESTION], limit=_LIMIT)
        return parse_answer(done.stdout)
    except process.ProcessError as error:
        raise InterpreterError(str(error)) from error
    except ValueError as error:
        said = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2][:200]
        msg = f"{executable}: not a Python interpreter that answers: {said or 'no output'}"
        raise InterpreterError(msg) from error


def _interpreter(
    version: str, prefix: str, base_prefix: str, flags: str, path: Iterable[str]
) -> Interpreter:
    number = version.split(maxsplit=1)[0]
    # What sysconfig.get_path("include") gives, which reads the whole build configuration for it.
    short = ".".join(number.split(".")[:2])
    include = Path(base_prefix, "include", f"python{short}{flags}")
    sites = [each for each in path if Path(each).name in {"site-packages", "dist-packages"}]
    return Interpreter(
        number, prefix, tuple(dict.fromkeys(sites)), str(include), prefix != base_prefix
    )
