"""One of the two builds, in a process of its own, under circumstances that it is given.

Started as ``python -m dsv4_build.reproduce.child ORDER``; ORDER is a file that
:mod:`dsv4_build.reproduce.verify` wrote. What was built is written beside it.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dsv4_build.reproduce import disguise
from dsv4_build.reproduce.circumstances import Circumstances
from dsv4_build.request import BuildRequest, Surroundings
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, DoctorError


def order(request: BuildRequest, around: Surroundings, what: Circumstances) -> dict[str, Any]:
    """Return what a child has to be told, as plain data."""
    paths = {name: value for name, value in asdict(request).items() if isinstance(value, Path)}
    return {
        "request": {**asdict(request), **{name: str(path) for name, path in paths.items()}},
        "paths": sorted(paths),
        "cache": str(around.cache),
        "circumstances": asdict(what),
    }


def main(argv: list[str]) -> int:
    """Build, and write what came of it."""
    told = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
    request = _request(told["request"], told["paths"])
    what = Circumstances(**told["circumstances"])
    try:
        _put_into(what)
        built = _build(request, Path(told["cache"]), what)
    except DoctorError as error:
        sys.stderr.write(f"error: {error}\n" + f"  {error.hint}\n" * bool(error.hint))
        return EXIT_FAILED
    Path(argv[0]).with_suffix(".built").write_text(json.dumps(built), encoding="utf-8")
    return EXIT_OK


def _request(values: dict[str, Any], paths: list[str]) -> BuildRequest:
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(value)
        elif name in paths:
            values[name] = Path(value)
    return BuildRequest(**values)


def _put_into(what: Circumstances) -> None:
    if what.user is not None:
        disguise.become(what.user, what.hostname or "")
    if what.cpus is not None:
        os.sched_setaffinity(0, what.cpus)
    os.umask(what.umask)
    os.environ.update(what.environ)
    os.environ.pop("PYTHONPATH", None)


def _build(request: BuildRequest, cache: Path, what: Circumstances) -> dict[str, Any]:
    from dsv4_build import engine  # noqa: PLC0415 - starts threads; a disguise comes before them
    from dsv4_doctor.cli.building import preflight, take_facts  # noqa: PLC0415

    around = replace(Surroundings.here(), cache=cache, imposed=what.imposed)
    return engine.build(request, take_facts(request), preflight, around=around).to_json()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
