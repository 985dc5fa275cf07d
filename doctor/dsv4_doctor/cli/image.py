"""``dsv4-doctor image``: from a wheel to the image that a cluster pulls."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.options import Format
from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.engine import Built
    from dsv4_build.image.making import Made
    from dsv4_build.image.request import ImageRequest
    from dsv4_build.request import BuildRequest


class Jit(str, Enum):
    """Where the toolkit for run-time compilers comes from."""

    AUTO = "auto"
    BASE = "base"
    PYPI = "pypi"
    NONE = "none"


def image(  # noqa: PLR0913 - one parameter an option
    *,
    wheel: Annotated[Path, typer.Argument(metavar="WHEEL", help="What is to be served.")],
    output: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="oci:DIR, docker-archive:FILE, or the name of an image in the engine's storage.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="NAME@sha256:… or oci:DIR; default: NVIDIA's CUDA 13.0 image by its digest.",
        ),
    ] = None,
    jit: Annotated[
        Jit,
        typer.Option(
            help="The toolkit that DeepGEMM and FlashInfer compile with: the base's (auto), "
            "assembled from PyPI's parts, or none."
        ),
    ] = Jit.AUTO,
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="docker, podman or buildah; default: the first found."),
    ] = None,
    lock: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Requirements with hashes for what the wheel needs."),
    ] = None,
    wheels: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Take them from the wheels here, not from an index."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="THING", help="What must be inside, as for inspect; repeatable."),
    ] = None,
    push: Annotated[
        bool, typer.Option("--push", help="Push to the registry of its name; never by default.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify-reproducible", help="Build twice and compare, layer by layer."),
    ] = False,
    apt_snapshot: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="System packages as of this moment, such as 20260901T000000Z.",
        ),
    ] = None,
    sbom: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Bill of materials; default: beside a file or directory."
        ),
    ] = None,
    context: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the build context there, and build nothing."),
    ] = None,
    format_: options.Output = Format.TEXT,
) -> None:
    """Make an image of a wheel, look inside it, and put it where it is wanted.

    Exit status: 0 made and proved, 1 a step or the proof failed, 2 wrong command line or
    unreadable input, 4 the doctor itself broke.
    """
    from dsv4_build.image.request import (  # noqa: PLC0415 - not needed for --help
        ImageRequest,
        choose_jit,
        parse_base,
        parse_output,
    )

    if output is None and context is None:
        msg = "where to? Give --output oci:DIR, docker-archive:FILE or the name of an image"
        raise UsageError(msg)
    request = ImageRequest(
        wheel=wheel,
        output=parse_output(output or "none"),
        base=parse_base(base),
        jit=choose_jit(jit.value),
        engine=engine,
        lock=lock,
        wheels=wheels,
        require=tuple(require or ()),
        push=push,
        verify=verify,
        apt_snapshot=apt_snapshot,
        sbom=sbom,
    )
    if context is not None:
        _write_context(request, context)
    else:
        show(make(request), format_)


def make(request: ImageRequest) -> Made:
    """Make an image as the command line does, with its progress on standard error."""
    from dsv4_build.image import making  # noqa: PLC0415
    from dsv4_build.progress import Progress  # noqa: PLC0415
    from dsv4_build.request import Surroundings  # noqa: PLC0415
    from dsv4_doctor.cli.building import terminated_like_interrupted  # noqa: PLC0415

    with terminated_like_interrupted():
        return making.make(request, Surroundings.here(), Progress())


def from_build(
    output: str, base: str | None, jit: Jit, build: BuildRequest
) -> Callable[[Built], Made]:
    """Return what makes the image of a wheel that is still to be built.

    Raises:
        UsageError: It could not be made; said before anything is built.
        BuildError: There is no engine here.
    """
    from dsv4_build.image import delivery, engines  # noqa: PLC0415
    from dsv4_build.image.request import (  # noqa: PLC0415
        ImageRequest,
        choose_jit,
        parse_base,
        parse_output,
    )

    if build.only:
        msg = "--image needs a whole wheel, and --only gives objects"
        raise UsageError(msg)
    where, lies_on = parse_output(output), parse_base(base)
    delivery.require_place(where)
    engine = engines.find(None)

    def made(built: Built) -> Made:
        wheel = next(each.path for each in built.artifacts if each.path.endswith(".whl"))
        return make(ImageRequest(Path(wheel), where, lies_on, choose_jit(jit.value), engine))

    return made


def show(made: Made, output: Format) -> None:
    """Print a finished image on standard output."""
    from dsv4_build.image import image_text  # noqa: PLC0415

    if output is Format.JSON:
        sys.stdout.write(json.dumps(made.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write(image_text.render(made))


def _write_context(request: ImageRequest, target: Path) -> None:
    from dsv4_build.image import making  # noqa: PLC0415
    from dsv4_build.progress import Progress  # noqa: PLC0415
    from dsv4_build.request import Surroundings  # noqa: PLC0415

    making.write_context(request, target, Surroundings.here(), Progress())
    sys.stdout.write(f"{target}\n")
