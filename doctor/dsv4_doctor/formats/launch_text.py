"""A plan of a start for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from dsv4_doctor.formats.console import bare_table
from dsv4_doctor.formats.launch_shell import lines
from dsv4_doctor.formats.plain import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from dsv4_doctor.launch.plan import Memory, Plan

_GIB = 1 << 30
_VERDICTS = {"given": "in the command", "default": "default", "choice": "yours", "none": "no such"}


def render(plan: Plan, console: Console) -> None:
    """Print what is planned, or why nothing is."""
    _head(plan, console)
    if not plan.fits:
        _refusal(plan, console)
        return
    console.print()
    for line in lines(plan):
        console.print(Text(one_line(line)), soft_wrap=True)
    _parameters(plan, console)
    if plan.memory is not None:
        _memory(plan.memory, console)
    _sequences(plan, console)
    _alternatives(plan, console)
    _advice(plan, console)


def _head(plan: Plan, console: Console) -> None:
    model, gpus = plan.model, plan.gpus
    size = f"{model.weights / _GIB:.2f} GiB"
    console.print(
        Text(f"{one_line(model.name)}: {one_line(model.precision)}, {size}", style="bold")
    )
    link = {True: ", NVLink", False: ", no NVLink", None: ""}[gpus.nvlink]
    console.print(
        f"{gpus.count} x {one_line(gpus.name)} ({gpus.arch}, {gpus.memory / _GIB:.1f} GiB{link}),"
        f" vLLM {plan.release}, for {plan.goal}"
    )
    how = "its checkpoint" if model.measured else "its structure"
    notes = [
        f"the size of the weights is by {how}; the structure is from {model.source}",
        *plan.notes,
    ]
    if model.dtypes:
        sizes = (f"{name} {size / _GIB:.2f} GiB" for name, size in model.dtypes.items())
        notes.append(f"by data type: {', '.join(sizes)}")
    for note in notes:
        console.print(Text(one_line(note), style="dim"))


def _refusal(plan: Plan, console: Console) -> None:
    console.print()
    for each in plan.obstacles:
        console.print(Text(f"✗ {one_line(each)}", style="red"))
    if plan.machines:
        console.print(Text("what would do:", style="bold"))
    for each in plan.machines:
        console.print(f"  {one_line(each)}")


def _parameters(plan: Plan, console: Console) -> None:
    _title("why", console)
    for each in plan.parameters:
        _reason(each.flag, each.reason, each.source, console)
    if plan.left_out:
        _title("left out", console)
    for left in plan.left_out:
        _reason(left.flag, left.reason, left.source, console)


def _reason(flag: str, reason: str, source: str, console: Console) -> None:
    line = Text(f"{flag}: ", style="bold").append(one_line(reason), style="not bold")
    console.print(line.append(f"  {source}", style="dim not bold"))


def _memory(memory: Memory, console: Console) -> None:
    _title("memory of the fullest GPU, GiB", console)
    rows = (
        ("weights", memory.weights, ""),
        ("CUDA, NCCL, modules", memory.context, "estimate"),
        ("activations", memory.activation, "estimate"),
        ("CUDA graphs", memory.cuda_graphs, "estimate"),
        (f"KV cache ({memory.kv_dtype})", memory.kv_cache, "what is left"),
        ("left alone", memory.headroom, "--gpu-memory-utilization"),
        ("together", memory.total, ""),
    )
    table = bare_table()
    table.show_header = False
    table.add_column()
    table.add_column(justify="right")
    for name, size, note in rows:
        table.add_row(name, f"{size / _GIB:.2f}", Text(note, style="dim"))
    console.print(table)
    console.print(
        f"one more token of a long request: {memory.kv_per_token / 1024:.1f} KiB; a request of the"
        f" whole length may take {memory.kv_per_request / _GIB:.2f} GiB"
    )


def _sequences(plan: Plan, console: Console) -> None:
    _title("what fits", console)
    console.print(
        f"longest request: {plan.longest:,} tokens; of the length given,"
        f" {plan.concurrency:.2f} at once a copy, as vLLM will log it"
    )
    console.print(
        f"at most {plan.running:,} sequences run at once in a copy; memory holds, over all copies:"
    )
    for each in plan.sequences:
        console.print(f"  {each.tokens:>9,} tokens: {each.sequences:,} while they generate")


def _alternatives(plan: Plan, console: Console) -> None:
    if not plan.alternatives:
        return
    _title("other ways to use the GPUs", console)
    for each in plan.alternatives:
        name = f"TP {each.tensor} x DP {each.data}{' + EP' if each.expert_parallel else ''}"
        longest = f"{each.longest:,} tokens" if each.longest else "does not fit"
        console.print(
            f"  {name}: {longest}, {each.sequences:,} sequences of 8,192,"
            f" weights {each.weights / _GIB:.1f} GiB"
        )


def _advice(plan: Plan, console: Console) -> None:
    _title("what articles recommend", console)
    for each in plan.advice:
        line = Text(f"{each.claim} ", style="bold")
        line.append(
            f"[{_VERDICTS[each.verdict]}{f': {each.flag}' if each.flag else ''}] ", style="cyan"
        )
        console.print(
            line.append(each.text, style="not bold").append(f"  {each.source}", style="dim")
        )


def _title(text: str, console: Console) -> None:
    console.print()
    console.print(Text(text, style="bold"))
