"""``dsv4-doctor watch``: a running server of vLLM and the GPUs under it."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.options import Format
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.watch.backend import Used
    from dsv4_doctor.watch.notify import Teller
    from dsv4_doctor.watch.report import WatchReport
    from dsv4_doctor.watch.watcher import Moment, Watcher

_SHORTEST = 0.1


def watch(  # noqa: PLR0913 - one parameter an option
    *,
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The server, such as localhost:8000.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Two looks, --interval apart; no rule has to hold long.")
    ] = False,
    interval: Annotated[float, typer.Option(metavar="SECONDS", help="Between two looks.")] = 5.0,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="For one answer, from first to last byte.")
    ] = 5.0,
    no_gpu: Annotated[
        bool, typer.Option("--no-gpu", help="The server's GPUs are not those of this machine.")
    ] = False,
    log: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The server's log: it tells the attention backend."),
    ] = None,
    expect_backend: Annotated[
        str, typer.Option(metavar="NAME", help="Such as FA3 or FLASHMLA_SPARSE_DSV4; with --log.")
    ] = "",
    export: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="Serve the signals to Prometheus, too."),
    ] = None,
    webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="Send every event there as JSON.")
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Run this on every event, with DSV4_EVENT_* set."),
    ] = None,
    warmup: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Send the prefixes of this file twice, and end."),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="With --warmup; default: the one that is served.")
    ] = "",
    alert_rules: Annotated[
        bool, typer.Option("--alert-rules", help="Print the alert rules for Prometheus.")
    ] = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print the dashboard for Grafana.")
    ] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """Watch a server's metrics with NVML beside them, by rules with hysteresis.

    Exit status: 0 nothing is raised at the end, 1 something is, 2 wrong command line, 3 the server
    could not be read; of --warmup 1 when a prefix got no answer.
    """
    if alert_rules or dashboard:
        _generated(alert_rules=alert_rules, dashboard=dashboard)
        return
    if url is None:
        msg = "no server: give its URL, such as localhost:8000"
        raise UsageError(msg)
    if interval < _SHORTEST or timeout < _SHORTEST:
        msg = f"--interval and --timeout are at least {_SHORTEST:g} seconds"
        raise UsageError(msg)
    if expect_backend and log is None:
        from dsv4_doctor.watch.backend import HOW  # noqa: PLC0415 - for the message

        msg = "--expect-backend needs --log"
        raise UsageError(msg, hint=HOW)
    from dsv4_doctor.watch.exposition import need_prometheus  # noqa: PLC0415 - not for --help

    need_prometheus()
    if warmup is not None:
        raise typer.Exit(_warmed(url, warmup, model, timeout, output))
    from dsv4_doctor.watch import backend  # noqa: PLC0415

    used = backend.used(log, expect_backend)
    watcher = _watcher(url, timeout, used, once=once, no_gpu=no_gpu)
    tellers = _tellers(url, webhook, command)
    with ExitStack() as stack:
        show = _shower(url, used, output, stack, once=once, no_gpu=no_gpu)
        take = _exported(url, export, stack)
        last = _run(watcher, interval, once=once, then=(take, _told(tellers), show))
    raise typer.Exit(_status(last))


def _generated(*, alert_rules: bool, dashboard: bool) -> None:
    if alert_rules and dashboard:
        msg = "--alert-rules and --dashboard are two files; ask for one of them"
        raise UsageError(msg)
    if alert_rules:
        from dsv4_doctor.watch import alerts  # noqa: PLC0415

        sys.stdout.write(alerts.render())
    else:
        from dsv4_doctor.watch import dashboard as grafana  # noqa: PLC0415

        sys.stdout.write(grafana.render())


def _watcher(url: str, timeout: float, used: Used, *, once: bool, no_gpu: bool) -> Watcher:
    from dsv4_doctor.watch import judging, scrape, watcher  # noqa: PLC0415

    return watcher.Watcher(
        scrape.address(url, "/metrics"),
        limit=timeout,
        used=used,
        gpus=(lambda: None) if no_gpu else watcher.gpus_of_this_machine,
        xids=(lambda: None) if no_gpu else watcher.xids_of_this_machine,
        judge=judging.Judge(patient=not once),
    )


def _tellers(url: str, webhook: str | None, command: str | None) -> tuple[Teller, ...]:
    from dsv4_doctor.watch import notify  # noqa: PLC0415

    found = []
    if webhook is not None:
        found.append(notify.webhook(webhook, url))
    if command is not None:
        found.append(notify.command(command, url))
    return tuple(found)


def _told(tellers: tuple[Teller, ...]) -> Callable[[Moment], None]:
    def tell(moment: Moment) -> None:
        for event in moment.events:
            for teller in tellers:
                problem = teller(event)
                if problem:
                    sys.stderr.write(f"{event.id}: could not be told: {problem}\n")

    return tell


def _exported(url: str, export: str | None, stack: ExitStack) -> Callable[[Moment], None]:
    if export is None:
        return lambda _moment: None
    from dsv4_doctor.watch import exporter  # noqa: PLC0415

    collector = exporter.Exporter(url)
    server, port = exporter.serve(collector, *exporter.place(export))
    stack.callback(server.shutdown)
    stack.callback(server.server_close)
    sys.stderr.write(f"metrics for Prometheus on port {port}\n")
    return lambda moment: collector.take(moment, time.time())


def _shower(  # noqa: PLR0913 - what a report is made of
    url: str, used: Used, output: Format, stack: ExitStack, *, once: bool, no_gpu: bool
) -> Callable[[Moment], None]:
    """Return what shows a moment: JSON, a picture that is renewed, or lines."""
    from dsv4_doctor.watch.report import report  # noqa: PLC0415

    def made(moment: Moment) -> WatchReport:
        return report(url, moment, used, asked_gpus=not no_gpu)

    if output is Format.JSON:
        from dsv4_doctor.formats import watch_json  # noqa: PLC0415 - JSON waits for no rich

        def write(moment: Moment) -> None:
            sys.stdout.write(watch_json.render(made(moment), indent=2 if once else None))
            sys.stdout.flush()

        return write
    from dsv4_doctor.formats import console, watch_text  # noqa: PLC0415

    screen = console.stdout()
    if once or not screen.is_terminal:
        return lambda moment: screen.print(watch_text.render(made(moment)))
    from rich.live import Live  # noqa: PLC0415 - on a terminal only

    live = stack.enter_context(Live(console=screen, auto_refresh=False))
    return lambda moment: live.update(watch_text.render(made(moment)), refresh=True)


def _run(
    watcher: Watcher, interval: float, *, once: bool, then: tuple[Callable[[Moment], None], ...]
) -> Moment:
    """Look until interrupted, or twice; the first of two is not shown, it makes rates possible."""
    moment = watcher.look()
    looks = 1
    while True:
        for each in then if not once or looks > 1 else then[:-1]:
            each(moment)
        if once and looks > 1:
            return moment
        try:
            time.sleep(interval)
        except KeyboardInterrupt:
            if once:
                raise
            return moment
        moment = watcher.look()
        looks += 1


def _status(moment: Moment) -> int:
    if moment.look.page is None:
        return EXIT_UNKNOWN
    return EXIT_FAILED if moment.raised else EXIT_OK


def _warmed(url: str, file: str, model: str, timeout: float, output: Format) -> int:
    from dsv4_doctor.formats import warmup_text  # noqa: PLC0415
    from dsv4_doctor.watch import exposition, scrape, warmup  # noqa: PLC0415

    texts = warmup.prefixes(file)
    metrics = scrape.address(url, "/metrics")
    if not model:
        try:
            served = exposition.read(scrape.get(metrics, timeout).body).models
        except scrape.ScrapeError as error:
            msg = f"{url}: {error}"
            raise UsageError(
                msg, hint="which model is served is in its metrics; or --model"
            ) from error
        if len(served) != 1:
            msg = f"{url} serves {len(served)} models; say which with --model"
            raise UsageError(msg)
        model = served[0]
    done = warmup.warm(metrics._replace(path=""), metrics, model, texts, timeout)
    if output is Format.JSON:
        sys.stdout.write(warmup_text.as_json(done))
    else:
        sys.stdout.write(warmup_text.render(done))
    return EXIT_FAILED if done.failed else EXIT_OK
