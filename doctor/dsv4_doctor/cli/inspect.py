"""``dsv4-doctor inspect``: what is inside a wheel or shared object, and whether it is enough."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor import installed
from dsv4_doctor.binary.inspection import Options, inspect_files, inspect_path
from dsv4_doctor.binary.requirements import (
    archs_of_requirements,
    decide,
    families_of,
    needs_linkage,
    parse_requirements,
)
from dsv4_doctor.binary.sizes import sizes_by_arch, sizes_by_family
from dsv4_doctor.binary.verdicts import parse_driver, parse_gpus
from dsv4_doctor.cli.options import Python
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, UsageError
from dsv4_doctor.formats.inspection_view import View

if TYPE_CHECKING:
    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.package import Package
    from dsv4_doctor.images.image import ImageSummary

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")


class Format(str, Enum):
    """Output formats of an inspection."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def inspect(  # noqa: PLR0913 - one parameter an option
    *,
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A wheel, .so, .o, .a, .cubin, .fatbin, program, a directory of them, an OCI "
            "layout or archive of an image, or the name of an installed distribution.",
        ),
    ],
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            metavar="THING",
            help="What must be inside: fa3, paged-v2, sm_90a, torch==2.11, cuda>=13, "
            "glibc<=2.28, ...; commas, or repeated.",
        ),
    ] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Read every kernel name, and list all families.")
    ] = False,
    gpu: Annotated[
        list[str] | None,
        typer.Option(
            "--gpu", metavar="GPU", help="Say what runs on this GPU: sm_90, 9.0; repeatable."
        ),
    ] = None,
    driver_cuda: Annotated[
        str | None,
        typer.Option(
            "--driver-cuda",
            metavar="VERSION",
            help="CUDA version of the driver there; decides which PTX it can compile.",
        ),
    ] = None,
    by_arch: Annotated[
        bool, typer.Option("--by-arch", help="Say how many bytes are for which architecture.")
    ] = False,
    by_family: Annotated[
        bool,
        typer.Option("--by-family", help="Say how much machine code is in which kernel family."),
    ] = False,
    linkage: Annotated[
        bool, typer.Option("--linkage", help="Say how it is linked, and what is wrong with that.")
    ] = False,
    torch: Annotated[
        str | None,
        typer.Option(
            "--torch",
            metavar="PATH|auto",
            help="Look for undefined symbols in this torch, or in the installed one (auto).",
        ),
    ] = None,
    diff: Annotated[
        Path | None,
        typer.Option(
            "--diff",
            metavar="OLDER",
            help="Say what differs from this older wheel, directory or file. With --kernels, also "
            "which kernels.",
        ),
    ] = None,
    python: Python = None,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
) -> None:
    """Say for which GPUs a binary has code, and prove which kernels are in it.

    Needs no GPU, no CUDA and no torch. Exit status: 0 everything required is present, 1 something
    is missing or could not be told, or a label of an image is false, 2 wrong command line or
    unreadable input. With --diff: 0 the same, 1 something differs.
    """
    if diff is not None:
        raise typer.Exit(_compare(diff, Path(what), kernels, output))
    requirements = parse_requirements(require or ())
    shows_linkage = linkage or torch is not None
    options = Options(
        kernels=kernels or by_family,
        prove=families_of(requirements),
        prefer=archs_of_requirements(requirements),
        gpus=parse_gpus(gpu or ()),
        driver=parse_driver(driver_cuda),
        linkage=shows_linkage or needs_linkage(requirements),
        torch=_torch(torch, python),
    )
    inspection, image = _inspect(what, python, options)
    decisions = decide(inspection, requirements)
    # Read for a requirement, it is not what was asked to be shown.
    shown = inspection if shows_linkage else replace(inspection, linkage=None)
    view = View(
        inspection=shown,
        decisions=decisions,
        by_arch=sizes_by_arch(inspection) if by_arch else None,
        by_family=sizes_by_family(inspection) if by_family else None,
        image=image,
    )
    _print(view, output)
    raise typer.Exit(_status(view))


def _inspect(
    what: str, python: str | None, options: Options
) -> tuple[Inspection, ImageSummary | None]:
    from dsv4_doctor.images.image import image_path  # noqa: PLC0415 - not needed for --diff

    image = image_path(what)
    if image is not None:
        from dsv4_doctor.images.inspection import inspect_image  # noqa: PLC0415

        if options.linkage:
            msg = f"{what}: how objects in an image are linked is not looked at"
            raise UsageError(msg, hint="inspect the wheel, or the distribution inside the image")
        return inspect_image(image, options)
    return _inspect_files(what, python, options), None


def _inspect_files(what: str, python: str | None, options: Options) -> Inspection:
    path = Path(what)
    # Only what can be no path but a name is looked for among the installed distributions.
    if path.exists() or not _NAME.fullmatch(what):
        return inspect_path(path, options)
    found = installed.find(what, python)
    if found.editable:
        return inspect_path(found.root, options)
    package = _package(found.metadata) if options.linkage else None
    return inspect_files(found.root, found.files, options, package)


def _package(metadata: Path) -> Package:
    from dsv4_doctor.binary.package import of_installed  # noqa: PLC0415 - only for linkage

    return of_installed(metadata)


def _compare(before: Path, after: Path, kernels: bool, output: Format) -> int:
    from dsv4_doctor.binary.difference import compare  # noqa: PLC0415 - what is rarely asked for
    from dsv4_doctor.formats import difference_text  # noqa: PLC0415

    found = compare(before, after, kernels=kernels)
    if output is Format.JSON:
        sys.stdout.write(difference_text.render_json(found))
    else:
        sys.stdout.write(difference_text.render(found, markdown=output is Format.MARKDOWN))
    return EXIT_FAILED if found.files else EXIT_OK


def _torch(torch: str | None, python: str | None) -> Path | None:
    if torch != "auto":
        return None if torch is None else Path(torch)
    found = installed.find("torch", python)
    return found.root if found.editable else found.root / "torch"


def _status(view: View) -> int:
    lies = view.image is not None and any(each.status == "false" for each in view.image.claims)
    if view.decisions or lies:
        met = all(decision.status == "present" for decision in view.decisions)
        return EXIT_OK if met and not lies else EXIT_FAILED
    return EXIT_USAGE if any(each.error for each in view.inspection.objects) else EXIT_OK


def _print(view: View, output: Format) -> None:
    if output is Format.JSON:
        from dsv4_doctor.formats import inspection_json  # noqa: PLC0415 - no rich for JSON

        sys.stdout.write(inspection_json.render(view))
    elif output is Format.MARKDOWN:
        from dsv4_doctor.formats import inspection_markdown  # noqa: PLC0415

        sys.stdout.write(inspection_markdown.render(view))
    else:
        from dsv4_doctor.formats import console, inspection_text  # noqa: PLC0415

        inspection_text.render(view, console.stdout())
