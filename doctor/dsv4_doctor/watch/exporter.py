"""The signals as metrics of Prometheus, with the alerts that are raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import metrics as knowledge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.watch.watcher import Moment

PREFIX = "dsv4_watch_"
ALERT = f"{PREFIX}alert"
AGE = f"{PREFIX}last_look_timestamp_seconds"


class Exporter:
    """A collector of prometheus-client that gives what the last look said.

    A signal that could not be told is not there, so that a rule on it says nothing.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self._moment: Moment | None = None
        self._taken = 0.0

    def take(self, moment: Moment, taken: float) -> None:
        """Take a look; ``taken`` in seconds since 1970."""
        self._moment, self._taken = moment, taken

    def collect(self) -> Iterator[Any]:
        """Give the metrics."""
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - an extra

        moment = self._moment
        if moment is None:
            return
        for name, signal in knowledge.signals().items():
            if name in moment.reading.signals:
                family = GaugeMetricFamily(PREFIX + name, signal.title, labels=["server"])
                family.add_metric([self.server], moment.reading.signals[name])
                yield family
        raised = {each.id for each in moment.raised}
        alerts = GaugeMetricFamily(ALERT, "Rules of the watch", labels=["server", "id", "level"])
        for rule in knowledge.rules():
            alerts.add_metric([self.server, rule.id, rule.level], float(rule.id in raised))
        yield alerts
        age = GaugeMetricFamily(AGE, "When the last look was", labels=["server"])
        age.add_metric([self.server], self._taken)
        yield age


def place(text: str) -> tuple[str, int]:
    """Return host and port of ``PORT`` or ``HOST:PORT``; without a host it is this machine only.

    Raises:
        UsageError: There is no port in it.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 <= int(port) < 65536:
        msg = f"{text!r} is no place to listen"
        raise UsageError(msg, hint="PORT, or HOST:PORT such as 0.0.0.0:9400")
    return host.strip("[]") or "127.0.0.1", int(port)


def serve(exporter: Exporter, host: str, port: int) -> tuple[Any, int]:
    """Serve the metrics in a thread and return its server and the port that it listens on.

    Raises:
        UsageError: The place cannot be listened on.
    """
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - an extra

    registry = CollectorRegistry()
    registry.register(exporter)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        msg = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise UsageError(msg) from error
    return server, server.server_port
