"""A moment of a watch for a person: the signals, the GPUs, and what is raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from dsv4_doctor.formats.console import bare_table
from dsv4_doctor.formats.plain import one_line, printable
from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.watch.judging import shown
from dsv4_doctor.watch.sample import narrow

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dsv4_doctor.facts.gpu import Gpu
    from dsv4_doctor.watch.judging import Event
    from dsv4_doctor.watch.report import WatchReport

_STYLES = {"critical": ("✗", "bold red"), "warning": ("!", "bold yellow"), "info": ("i", "cyan")}


def render(report: WatchReport) -> RenderableType:
    """Return what is printed of a moment."""
    parts: list[RenderableType] = [_head(report), _signals(report)]
    if report.gpus:
        parts.append(_gpus(report.gpus))
    parts += [Text(f"Xid {each.code} of {each.pci}: {each.count}") for each in report.xids]
    parts += [_event(each) for each in report.raised]
    if not report.raised:
        parts.append(Text("nothing is raised", style="green"))
    parts += [Text(f"not told: {printable(each)}", style="dim") for each in report.untold]
    return Group(*parts)


def _head(report: WatchReport) -> Text:
    models = printable(", ".join(report.models)) or "no model named"
    text = Text.assemble(
        (printable(report.server), "bold"),
        (f"  {models}, {report.engines} engines  {report.taken_at}", "dim"),
    )
    backend = report.backend
    if backend.backends:
        expected = f", expected {backend.expected}" if backend.expected else ""
        style = "bold yellow" if backend.unexpected else ""
        text.append(f"\nattention: {printable(', '.join(backend.backends))}{expected}", style)
    return text


def _signals(report: WatchReport) -> RenderableType:
    table = bare_table()
    table.add_column("signal")
    table.add_column("now", justify="right")
    raised = {each.signal: each.level for each in report.raised}
    for name, signal in knowledge.signals().items():
        if name not in report.signals or signal.unit == "bool":
            continue
        style = _STYLES[raised[name]][1] if name in raised else ""
        table.add_row(signal.title, Text(shown(name, report.signals[name]), style=style))
    return table


def _gpus(gpus: tuple[Gpu, ...]) -> RenderableType:
    table = bare_table()
    for title in ("GPU", "name", "SM", "memory", "PCIe", "clocks"):
        table.add_column(title)
    for each in gpus:
        link = f"gen {each.link_generation or '?'} x{each.link_width or '?'}"
        table.add_row(
            str(each.index),
            Text(one_line(each.error or each.name)),
            "?" if each.utilization is None else f"{each.utilization} %",
            _memory(each),
            Text(link, style="bold yellow" if narrow(each) else ""),
            Text(", ".join(each.throttle or ()) or "full", style="red" if each.throttle else ""),
        )
    return table


def _memory(gpu: Gpu) -> str:
    if gpu.memory is None or gpu.memory_used is None:
        return "?"
    return f"{gpu.memory_used / (1 << 30):.1f} of {gpu.memory / (1 << 30):.1f} GiB"


def _event(event: Event) -> Text:
    mark, style = _STYLES[event.level]
    return Text.assemble(
        (f"{mark} {printable(event.says)}", style),
        (f"  {event.id}", "dim"),
        f"\n    {printable(event.do)}",
    )
