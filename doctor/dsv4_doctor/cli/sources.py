"""``dsv4-doctor sources``: vLLM and what its build would fetch, kept for use without a network."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import build_options, options
from dsv4_doctor.cli.building import take_facts
from dsv4_doctor.cli.options import Format
from dsv4_doctor.errors import EXIT_FAILED

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.sources.store import Store
    from dsv4_build.sources.verify import Entry

sources = typer.Typer(
    help="Sources of a build: brought once, verified, carried to machines without a network.",
    no_args_is_help=True,
)

Vllm = Annotated[
    str,
    typer.Option("--vllm", metavar="RELEASE|PATH|COMMIT", help="vLLM; default: as of check."),
]


@sources.command()
def pull(
    *,
    vllm: Vllm = "",
    mirror: build_options.GitMirror = None,
    leave_out: options.LeaveOut = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Bring vLLM and every repository that its CMake would fetch, submodules included.

    Exit status: 0 all is there, 1 something is missing, 2 wrong command line.
    """
    from dsv4_build.sources import pull as pulling  # noqa: PLC0415 - not needed for --help
    from dsv4_build.sources import text, warm  # noqa: PLC0415

    how = pulling.Options(_say(), mirror, tuple(leave_out or ()))
    result = warm.bring(_store(), pulling.pull(_store(), vllm or _default(), how), how)
    if output is Format.JSON:
        _json(result.to_json())
    else:
        sys.stdout.write(text.pulled(result))
    if not result.complete:
        raise typer.Exit(EXIT_FAILED)


@sources.command("list")
def list_(*, output: options.Output = Format.TEXT) -> None:
    """List what the cache has."""
    from dsv4_build.sources import verify as verifying  # noqa: PLC0415

    _show(tuple(verifying.entries(_store())), output)


@sources.command()
def verify(*, output: options.Output = Format.TEXT) -> None:
    """Compute every digest of the cache anew.

    Exit status: 0 all is as it was brought, 1 something is not.
    """
    from dsv4_build.sources import verify as verifying  # noqa: PLC0415

    found = tuple(verifying.verify(_store(), os.environ))
    _show(found, output)
    if any(each.error for each in found):
        raise typer.Exit(EXIT_FAILED)


@sources.command()
def lock(  # noqa: PLR0913 - one parameter an option
    *,
    arch: options.Archs = None,
    vllm: Vllm = "",
    recipe: build_options.Recipe = None,
    toolchain: Annotated[
        build_options.Toolchain, typer.Option(help="CUDA toolkit, as of build.")
    ] = build_options.Toolchain.AUTO,
    leave_out: options.LeaveOut = None,
    exclude_newer: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Build requirements as of this time, as of build."),
    ] = None,
    file: Annotated[Path, typer.Option("--output", metavar="FILE", help="The lock.")] = Path(
        "dsv4-build.lock"
    ),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail when the lock does not match.")
    ] = False,
) -> None:
    """Write everything that the result of a build depends on into a lock, or check one.

    Exit status: 0 written or equal, 1 something is missing or differs, 2 wrong command line.
    """
    from dsv4_build.request import BuildRequest  # noqa: PLC0415
    from dsv4_build.sources import locking  # noqa: PLC0415

    request = BuildRequest(
        archs=tuple(arch or ()),
        out=Path("dist"),
        vllm=vllm or None,
        recipe=recipe,
        toolchain=toolchain.value,
        leave_out=tuple(leave_out or ()),
        exclude_newer=exclude_newer,
        lock=file,
        update_lock=not check,
    )
    locking.write(request, take_facts)
    sys.stdout.write(f"{file}\n")


@sources.command()
def pack(
    *,
    bundle: Annotated[Path, typer.Argument(metavar="FILE", help="NAME.tar, .tar.gz or .tar.xz")],
    vllm: Annotated[
        list[str] | None,
        typer.Option("--vllm", metavar="RELEASE|PATH|COMMIT", help="vLLM; repeatable."),
    ] = None,
    leave_out: options.LeaveOut = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Write sources that were pulled into one file, the same bytes each time.

    Exit status: 0 written, 1 something is missing, 2 wrong command line.
    """
    from dsv4_build.sources import bundle as bundling  # noqa: PLC0415
    from dsv4_build.sources import offered, text  # noqa: PLC0415

    store = _store()
    say = _say()
    with store.locked(say):
        chosen = [offered.find(store, each, leave_out or ()) for each in vllm or (_default(),)]
        for each in chosen:
            if each.archive is None:
                say(f"{each.place} is a checkout: the file has what it fetches, not the checkout")
        archives = [each.archive for each in chosen if each.archive is not None]
        pins = [pin for each in chosen for pin in each.resolved.pins]
        crates = offered.crates_of(store, chosen, say)
        packed = bundling.pack(store, archives, pins, bundle, crates)
    if output is Format.JSON:
        _json(packed.to_json())
    else:
        sys.stdout.write(text.packed(packed))


@sources.command("import")
def import_(
    *,
    bundle: Annotated[Path, typer.Argument(metavar="FILE", help="What sources pack wrote.")],
    output: options.Output = Format.TEXT,
) -> None:
    """Check a file of packed sources, all of it, and put it into the cache.

    Exit status: 0 all is in the cache, 1 the cache cannot be written, 2 a broken file.
    """
    from dsv4_build.sources import text, unbundle  # noqa: PLC0415

    content = unbundle.unpack(_store(), bundle, os.environ, _say())
    if output is Format.JSON:
        _json(json.loads(content.to_bytes()))
    else:
        sys.stdout.write(text.imported(content))


def _show(found: tuple[Entry, ...], output: Format) -> None:
    from dsv4_build.sources import text  # noqa: PLC0415
    from dsv4_build.sources.verify import to_json  # noqa: PLC0415

    if output is Format.JSON:
        _json(to_json(found))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in text.entries(found)))


def _store() -> Store:
    from dsv4_build.cache import cache_root  # noqa: PLC0415
    from dsv4_build.sources.store import Store  # noqa: PLC0415

    return Store(cache_root() / "sources")


def _say() -> Callable[[str], None]:
    from dsv4_build.progress import Progress  # noqa: PLC0415

    return Progress().say


def _default() -> str:
    from dsv4_doctor.knowledge import load  # noqa: PLC0415

    return load.default_release().name


def _json(data: object) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
