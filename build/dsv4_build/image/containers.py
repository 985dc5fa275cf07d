"""buildah, and podman, which has buildah inside."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.image import sealing
from dsv4_build.image.engines import DOCKERFILE, TARGET, Task, environment, options
from dsv4_build.process import Job, run_logged

if TYPE_CHECKING:
    from dsv4_build.image.request import Base

_NAME = "dsv4-doctor-layout"


@dataclass(frozen=True)
class Containers:
    """One of the two.

    Attributes:
        name: Of the program.
    """

    name: str

    def build(self, task: Task, layout: Path) -> None:
        """See :class:`~dsv4_build.image.engines.Engine`."""
        with tempfile.TemporaryDirectory(prefix="dsv4-image-") as folder:
            identity = Path(folder, "id")
            base, epoch = self._base(task), str(task.epoch)
            argv = [
                *(self.name, "build", "--layers", f"--target={TARGET}"),
                *(f"--timestamp={epoch}", "--format=oci", "--identity-label=false"),
                *([] if task.cached else ["--no-cache"]),
                *options("--build-arg", {**task.args, "BASE": base, "SOURCE_DATE_EPOCH": epoch}),
                *(f"--iidfile={identity}", f"--file={task.context / DOCKERFILE}"),
                str(task.context),
            ]
            self._run(task, argv)
            image = identity.read_text(encoding="utf-8").strip()
            self._run(task, [self.name, "push", "--quiet", image, f"oci:{layout}"])
        sealing.seal(layout, task)

    def load(self, layout: Path, reference: str, log: Path) -> None:
        """See :class:`~dsv4_build.image.engines.Engine`."""
        image = self._pull(layout, log)
        run_logged(Job([self.name, "tag", image, reference], environment(0), log))

    def push(self, task: Task, layout: Path, reference: str) -> str:
        """See :class:`~dsv4_build.image.engines.Engine`."""
        image = self._pull(layout, task.log)
        with tempfile.TemporaryDirectory(prefix="dsv4-image-") as folder:
            digest = Path(folder, "digest")
            target = f"docker://{reference}"
            self._run(task, [self.name, "push", f"--digestfile={digest}", image, target])
            return digest.read_text(encoding="utf-8").strip()

    def _base(self, task: Task) -> str:
        base: Base = task.base
        return self._pull(Path(base.name), task.log) if base.local else base.reference

    def _pull(self, layout: Path, log: Path) -> str:
        """Put an image into the engine's storage and return its identity there."""
        lines: list[str] = []
        with tempfile.TemporaryDirectory(prefix="dsv4-image-") as folder:
            # The path becomes a name, in which capital letters and much else are refused.
            Path(folder, _NAME).symlink_to(layout.absolute())
            argv = [self.name, "pull", "--quiet", f"oci:{_NAME}"]
            run_logged(Job(argv, environment(0), log, Path(folder)), lines.append)
        # Warnings come before it.
        return lines[-1].strip()

    def _run(self, task: Task, argv: list[str]) -> None:
        run_logged(Job(argv, environment(task.epoch), task.log), task.on_line)
