"""A moment of a watch as a document."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dsv4_doctor.facts.driver import Xid  # noqa: TC001 - as below
from dsv4_doctor.facts.gpu import Gpu  # noqa: TC001 - the schema is made of the annotations
from dsv4_doctor.watch.backend import Used  # noqa: TC001 - as above
from dsv4_doctor.watch.judging import Event  # noqa: TC001 - as above

if TYPE_CHECKING:
    from dsv4_doctor.watch.watcher import Moment

SCHEMA = "dsv4-doctor/watch/1"
NO_GPU = "no GPU was asked: NVML is not here, or the server runs elsewhere (--no-gpu)"
NO_LOG = "Xid errors: the kernel's log may not be read by this user"


@dataclass(frozen=True)
class WatchReport:
    """What one look says.

    Attributes:
        server: Address that was asked.
        taken_at: UTC, as ISO 8601.
        models: Names of the models that it serves.
        engines: How many engines its metrics tell of.
        cache: Labels of ``vllm:cache_config_info``: the settings of the cache.
        signals: By id, those that could be told.
        untold: Why others could not.
        backend: What the server's log says of the attention backend.
        gpus: As NVML has them.
        xids: Errors of GPUs in the kernel's log since the watch began.
        events: What this look raised or took back.
        raised: What is raised.
    """

    server: str
    taken_at: str
    models: tuple[str, ...]
    engines: int
    cache: dict[str, str]
    signals: dict[str, float]
    untold: tuple[str, ...]
    backend: Used
    gpus: tuple[Gpu, ...]
    xids: tuple[Xid, ...]
    events: tuple[Event, ...]
    raised: tuple[Event, ...]


def report(server: str, moment: Moment, used: Used, *, asked_gpus: bool = True) -> WatchReport:
    """Return a moment as a document.

    Args:
        server: Address that was asked.
        moment: The look.
        used: What the log says of the attention backend.
        asked_gpus: Whether this machine's GPUs are those of the server.
    """
    look, page = moment.look, moment.look.page
    untold = [*moment.reading.untold]
    if look.gpus is None:
        untold.append(NO_GPU)
    if asked_gpus and look.xids is None:
        untold.append(NO_LOG)
    if used.note:
        untold.append(used.note)
    return WatchReport(
        server=server,
        taken_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        models=page.models if page else (),
        engines=page.engines if page else 0,
        cache=dict(page.info) if page else {},
        signals=dict(moment.reading.signals),
        untold=tuple(untold),
        backend=used,
        gpus=look.gpus or (),
        xids=moment.xids,
        events=moment.events,
        raised=moment.raised,
    )
