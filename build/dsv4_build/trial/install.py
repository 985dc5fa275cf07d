"""Installing a wheel into a clean environment, and loading its modules there.

The environment has nothing but the wheel; what it was built against, torch above all, is found in
the interpreter's own environment through a ``.pth`` file.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import installers
from dsv4_build.answers import answer
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_build.trial.run import Module, Spec, run_child
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.plan import Plan
    from dsv4_build.trial.run import Outcome

# Seconds: unpacking half a gigabyte onto a slow disk, and importing torch with ten modules.
INSTALL_LIMIT = 600.0
LOAD_LIMIT = 300.0

# A process that is killed while it makes an environment takes no longer than this.
_VENV_LIMIT = 60.0

# A library that is no Python module has been loaded when this is found out.
_NO_MODULE = "does not define module export function"

_PTH = "built-against.pth"

# Machines that build need have no driver: its library is no part of any wheel.
_DRIVER = "libcuda.so.1"

# Below a toolkit: what modules are linked with where there is no driver.
_STUB = "lib64/stubs/libcuda.so"

_PURELIB = "import json, sysconfig; print(json.dumps([sysconfig.get_paths()['purelib']]))"
_SITES = "import json, site; print(json.dumps(site.getsitepackages()))"
_SUFFIXES = "import importlib.machinery as m, json; print(json.dumps(m.EXTENSION_SUFFIXES))"


@dataclass(frozen=True)
class Loaded:
    """What became of the modules of a wheel in a clean environment.

    Attributes:
        modules: Those that load.
        stubbed: Those that load only with the toolkit's stand-in for the driver's library, since
            this machine has no driver. Whether every function that they call exists is not known.
        untried: Those that cannot be loaded on this machine, whatever is in them, and why.
    """

    modules: tuple[str, ...]
    stubbed: tuple[str, ...] = ()
    untried: tuple[tuple[str, str], ...] = ()


def require_means(python: str) -> None:
    """Refuse a machine on which no wheel could be tried out, before hours are spent on one.

    Raises:
        BuildError: There is no installer, or the interpreter makes no environments.
    """
    installer(python, Path("wheel"))
    _ask(python, "import json, venv; print(json.dumps([]))")


def try_out(plan: Plan, wheel: Path, scratch: Path, log: Path) -> Loaded:
    """Install a wheel without an index or dependencies, and load every extension module of it.

    Args:
        scratch: Where the environment goes.
        log: Takes what the installer prints.

    Raises:
        BuildError: It does not install, or a module does not load.
    """
    base = plan.choices.python.executable
    python = _environment(base, scratch)
    site = Path(_ask(python, _PURELIB)[0])
    try:
        run_logged(Job(installer(python, wheel), os.environ, log, limit=INSTALL_LIMIT))
    except ChildFailedError as error:
        msg = f"proof: the wheel does not install into a clean environment: {error}"
        raise BuildError(msg) from error
    if plan.tree.release is not None:
        paths = "".join(f"{each}\n" for each in _ask(base, _SITES))
        (site / _PTH).write_text(paths, encoding="utf-8")
    modules = extension_modules(site, _ask(python, _SUFFIXES))
    spec = Spec(tuple(modules), torch=plan.tree.release is not None)
    loaded = judge(run_child(python, spec, limit=LOAD_LIMIT))
    stub = Path(plan.choices.toolchain.root, _STUB)
    if not loaded.untried or not stub.is_file():
        return loaded
    wanted = {name for name, _ in loaded.untried}
    again = replace(spec, modules=tuple(each for each in modules if each.key in wanted), lazy=True)
    place = scratch / "driver"
    place.mkdir()
    (place / _DRIVER).symlink_to(stub.resolve())
    env = {"LD_LIBRARY_PATH": str(place)}
    stubbed = judge(run_child(python, again, limit=LOAD_LIMIT, env=env))
    return Loaded(loaded.modules, stubbed.modules, stubbed.untried)


def extension_modules(site: Path, suffixes: Sequence[str]) -> list[Module]:
    """Return the extension modules below a directory that an interpreter could import.

    Args:
        suffixes: Of the interpreter; a module for another Python has none of them.
    """
    found: list[Module] = []
    for file in sorted(site.rglob("*.so")):
        stem = file.name.partition(".")[0]
        if file.name.removeprefix(stem) in suffixes:
            found.append(Module(stem, str(file), str(file.relative_to(site))))
    return found


def judge(outcomes: Sequence[Outcome]) -> Loaded:
    """Return what loaded.

    Raises:
        BuildError: Something did not, for another reason than a driver that is not there.
    """
    problems = {each.name: each.problem for each in outcomes if _NO_MODULE not in each.problem}
    failed = {name: each for name, each in problems.items() if each and _DRIVER not in each}
    if failed:
        lines = "\n".join(f"  {name}: {each}" for name, each in failed.items())
        msg = f"proof: modules of the wheel do not load in a clean environment\n{lines}"
        raise BuildError(msg)
    return Loaded(
        tuple(each.name for each in outcomes if not problems.get(each.name)),
        untried=tuple((name, each) for name, each in problems.items() if each),
    )


def installer(python: str, wheel: Path) -> list[str]:
    """Return the command that installs a wheel into an environment.

    Raises:
        BuildError: Neither pip nor uv is there.
    """
    return installers.install(
        python,
        ["--no-index", "--no-deps", str(wheel)],
        otherwise="the wheel cannot be tried out",
        configured=False,
    )


def _environment(base: str, place: Path) -> str:
    answer(
        [base, "-I", "-m", "venv", "--without-pip", str(place)],
        "proof: no clean environment can be made",
        limit=_VENV_LIMIT,
        hint="on Debian and Ubuntu the package python3-venv has what it takes",
    )
    return str(place / "bin" / "python")


def _ask(python: str, program: str) -> list[str]:
    try:
        done = run([python, "-I", "-c", program], limit=_VENV_LIMIT)
        answer: list[str] = json.loads(done.stdout) if done.ok else []
    except (ProcessError, ValueError) as error:
        msg = f"{python} cannot be asked for a trial of the wheel: {error}"
        raise BuildError(msg) from error
    if not done.ok:
        last = done.stderr.strip().rpartition("\n")[2]
        msg = f"{python} cannot be asked for a trial of the wheel: {last}"
        raise BuildError(msg)
    return answer
