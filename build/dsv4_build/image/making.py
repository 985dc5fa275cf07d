"""Making an image: read the wheel, write the context, build, look inside, put it where it goes."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build.image import compare, context, delivery, engines, facts, sbom, steps
from dsv4_build.image.described import arguments, epoch, labels_of
from dsv4_build.process import ChildFailedError
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.images.image import read_image
from dsv4_doctor.images.inspection import inspect_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsv4_build.image.engines import Engine, Task
    from dsv4_build.image.facts import Wheel
    from dsv4_build.image.request import ImageRequest
    from dsv4_build.progress import Progress
    from dsv4_build.request import Surroundings
    from dsv4_build.toolchain.pins import Selection
    from dsv4_doctor.images.image import ImageSummary

SCHEMA = "dsv4-doctor/image/1"


@dataclass(frozen=True)
class Made:
    """An image that was made.

    Attributes:
        output: Where it is, as it was asked for.
        engine: What built it.
        summary: What it is made of, and that its labels are true.
        reproduced: Whether a second build gave the same digest, ``None`` when none was made.
        pushed: Digest that the registry has, empty when nothing was pushed.
        sbom: File with the bill of materials, empty for none.
        notes: What a reader should know of how this came about.
    """

    output: str
    engine: str
    wheel: Wheel
    summary: ImageSummary
    reproduced: bool | None
    pushed: str
    sbom: str
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the result in the schema ``dsv4-doctor/image/1``."""
        return {
            "schema": SCHEMA,
            "output": self.output,
            "engine": self.engine,
            "wheel": {"path": str(self.wheel.path), "sha256": self.wheel.sha256},
            "image": self.summary.to_json(),
            "reproduced": self.reproduced,
            "pushed": self.pushed,
            "sbom": self.sbom,
            "notes": list(self.notes),
        }


def make(request: ImageRequest, around: Surroundings, show: Progress) -> Made:
    """Make an image.

    Raises:
        UsageError: The request does not fit together.
        InputError: The wheel, the lock or the base cannot be read.
        BuildError: A step failed; nothing carries the name that was asked for.
    """
    _fits(request)
    show.step("wheel", str(request.wheel))
    wheel = facts.read(request.wheel, request.require)
    engine = engines.make(engines.find(request.engine))
    delivery.require_place(request.output)
    notes = tuple(_notes(request, wheel))
    for note in notes:
        show.say(note)
    toolkit = _toolkit(request, wheel, around, show)
    with delivery.staging(request.output) as stage:
        log = around.cache / f"image-{wheel.sha256[:12]}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="dsv4-context-") as folder:
            show.step("context", f"{wheel.name} {wheel.version}, the doctor, the definition")
            context.write(Path(folder), request, wheel, toolkit[1] if toolkit else None)
            task = _task(request, wheel, Path(folder), log, show)
            return _build(_Run(request, wheel, engine, task, stage, show, notes), toolkit)


def write_context(
    request: ImageRequest, target: Path, around: Surroundings, show: Progress
) -> None:
    """Write the directory that an engine builds from, for somebody who calls it himself.

    Raises:
        UsageError: Something is there already.
        InputError: The wheel, the lock or the base cannot be read.
        BuildError: It cannot be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        msg = f"--context {target}: something is there already"
        raise UsageError(msg)
    wheel = facts.read(request.wheel, request.require)
    toolkit = _toolkit(request, wheel, around, show)
    context.write(target, request, wheel, toolkit[1] if toolkit else None)
    args = {**arguments(request, wheel, target), "BASE": request.base.reference}
    lines = (f"{name}={value}\n" for name, value in sorted(args.items()))
    (target / "arguments.env").write_text("".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class _Run:
    request: ImageRequest
    wheel: Wheel
    engine: Engine
    task: Task
    stage: Path
    show: Progress
    notes: tuple[str, ...]


def _build(run: _Run, toolkit: tuple[Selection, Path] | None) -> Made:
    request, show = run.request, run.show
    layout = run.stage / "first"
    with _explained(run.task.log):
        show.step("image", f"by {run.engine.name}, on {request.base.name}")
        run.engine.build(run.task, layout)
        reproduced = _again(run, layout) if request.verify else None
    show.step("proof", "what is inside, and whether its labels are true")
    with read_image(layout) as contents:
        _, summary = inspect_contents(layout, contents)
        text = sbom.render(
            contents,
            run.wheel,
            toolkit[0] if toolkit else None,
            request.output.place,
            run.task.epoch,
        )
    lies = [each for each in summary.claims if each.status == "false"]
    if lies:
        lines = "\n".join(f"  {each.label} {each.value}: {each.reason}" for each in lies)
        msg = f"proof: the image is not what its labels say\n{lines}"
        raise BuildError(msg, hint=f"nothing was put to {request.output.place}")
    pushed = ""
    with _explained(run.task.log):
        if request.output.kind != "reference":
            delivery.deliver(layout, request.output)
        elif request.push:
            show.step("push", request.output.place)
            pushed = run.engine.push(run.task, layout, request.output.place)
        else:
            run.engine.load(layout, request.output.place, run.task.log)
    return Made(
        output=f"{request.output.kind}:{request.output.place}",
        engine=run.engine.name,
        wheel=run.wheel,
        summary=summary,
        reproduced=reproduced,
        pushed=pushed,
        sbom=delivery.write_sbom(text, request),
        notes=run.notes,
    )


def _again(run: _Run, layout: Path) -> bool:
    """Build a second time and compare.

    Raises:
        BuildError: It gave another image; the message says what differs.
    """
    run.show.step("again", "a second time, and compare")
    second = run.stage / "second"
    run.engine.build(run.task, second)
    different = compare.differences(layout, second)
    if different:
        lines = "\n".join(f"  {line}" for line in different)
        msg = f"two builds of the same inputs gave two images\n{lines}"
        hint = (
            "without --lock, --wheels and --apt-snapshot what is fetched may have changed meanwhile"
        )
        raise BuildError(msg, hint=hint)
    return True


def _task(request: ImageRequest, wheel: Wheel, folder: Path, log: Path, show: Progress) -> Task:
    labels = labels_of(request, wheel)
    return engines.Task(
        context=folder,
        base=request.base,
        args=arguments(request, wheel, folder),
        labels=labels,
        # What a registry shows without pulling anything.
        annotations=labels,
        epoch=epoch(),
        # A step that was taken over would compare with itself; what is resolved is resolved now.
        cached=not (request.verify or (wheel.needs and request.lock is None)),
        log=log,
        on_line=_announce(show),
    )


def _announce(show: Progress) -> Callable[[str], None]:
    def on_line(line: str) -> None:
        if step := steps.begun(line):
            show.say(step)

    return on_line


def _toolkit(
    request: ImageRequest, wheel: Wheel, around: Surroundings, show: Progress
) -> tuple[Selection, Path] | None:
    if request.jit != "pypi":
        return None
    from dsv4_build.image.toolkit import assemble  # noqa: PLC0415 - what most do not need

    show.step("toolkit", "for kernels that are compiled in a running server")
    return assemble(wheel.machine, around, show.say)


def _fits(request: ImageRequest) -> None:
    if request.push and request.output.kind != "reference":
        msg = f"--push needs the name of an image, not {request.output.kind}:{request.output.place}"
        raise UsageError(msg, hint="--output REGISTRY/NAME:TAG")


def _notes(request: ImageRequest, wheel: Wheel) -> Iterator[str]:
    if wheel.needs and request.lock is None:
        yield (
            "no --lock: what the wheel needs is resolved now, and may be something else tomorrow; "
            f"uv pip compile --generate-hashes --no-emit-package {wheel.name} makes one"
        )
    if request.jit == "none":
        yield "--jit none: kernels of DeepGEMM and FlashInfer cannot be compiled in this image"


@contextmanager
def _explained(log: Path) -> Iterator[None]:
    try:
        yield
    except ChildFailedError as error:
        what, way = engines.way_out(error.lines)
        msg = f"{what}\n  {error}" if what else str(error)
        raise BuildError(msg, hint=way or f"the engine's output is in {log}") from error
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        msg = f"{place}{error.strerror or error}"
        raise BuildError(msg, hint="nothing was left under the name that was asked for") from error
