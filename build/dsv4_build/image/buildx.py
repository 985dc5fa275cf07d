"""BuildKit, through ``docker buildx``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from dsv4_build.image import archive
from dsv4_build.image.engines import DOCKERFILE, TARGET, Task, environment, options
from dsv4_build.process import Job, run_logged

_BASE = "dsv4-base"


class Buildx:
    """``docker buildx build``."""

    name = "docker"

    def build(self, task: Task, layout: Path) -> None:
        """See :class:`~dsv4_build.image.engines.Engine`."""
        output = f"type=oci,tar=false,dest={layout},rewrite-timestamp=true"
        self._run(task, output)

    def load(self, layout: Path, reference: str, log: Path) -> None:
        """See :class:`~dsv4_build.image.engines.Engine`."""
        with tempfile.TemporaryDirectory(prefix="dsv4-image-") as folder:
            file = Path(folder, "image.tar")
            archive.write(layout, file, reference)
            run_logged(Job(["docker", "load", "--input", str(file)], environment(0), log))

    def push(self, task: Task, layout: Path, reference: str) -> str:  # noqa: ARG002
        """See :class:`~dsv4_build.image.engines.Engine`.

        BuildKit pushes from its own cache, which has just made the layout.
        """
        with tempfile.TemporaryDirectory(prefix="dsv4-image-") as folder:
            told = Path(folder, "metadata.json")
            output = (
                f"type=image,name={reference},push=true,oci-mediatypes=true,rewrite-timestamp=true"
            )
            self._run(task, output, f"--metadata-file={told}", cached=True)
            metadata = json.loads(told.read_text(encoding="utf-8"))
            return str(metadata.get("containerimage.digest", ""))

    def _run(self, task: Task, output: str, *more: str, cached: bool | None = None) -> None:
        base = task.base
        contexts: list[str] = []
        reference = base.reference
        if base.local:
            reference = _BASE
            contexts = ["--build-context", f"{_BASE}=oci-layout://{base.name}@{base.digest}"]
        args = {**task.args, "BASE": reference, "SOURCE_DATE_EPOCH": str(task.epoch)}
        argv = [
            *("docker", "buildx", "build", f"--target={TARGET}", "--progress=plain"),
            # They name the builder and the moment, which no second build has.
            *("--provenance=false", "--sbom=false"),
            *([] if (task.cached if cached is None else cached) else ["--no-cache"]),
            *contexts,
            *options("--build-arg", args),
            *options("--label", task.labels),
            *options("--annotation", task.annotations),
            *(f"--output={output}", *more, f"--file={task.context / DOCKERFILE}"),
            str(task.context),
        ]
        run_logged(Job(argv, environment(task.epoch), task.log), task.on_line)
