"""A plan of a start as a unit of systemd. How a word is written stands in systemd.syntax(7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.formats.launch_shell import refusal

if TYPE_CHECKING:
    from dsv4_doctor.launch.plan import Plan


def render(plan: Plan) -> str:
    """Return the unit, or comments that say why there is none."""
    if not plan.fits:
        return refusal(plan)
    start = " ".join(_word(each) for each in plan.argv[:3])
    rest = [f"    {' '.join(_word(word) for word in each.words)}" for each in plan.parameters]
    command = " \\\n".join([f"ExecStart=/usr/bin/env {start}", *rest])
    lines = [
        "[Unit]",
        f"Description=vLLM {plan.release}",
        "After=network-online.target",
        "Wants=network-online.target",
        "",
        "[Service]",
        command,
        "Restart=on-failure",
        # Loading hundreds of gigabytes is no hang.
        "TimeoutStartSec=infinity",
        "LimitNOFILE=65535",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join([*lines, ""])


def _word(text: str) -> str:
    if text and all((each.isalnum() and each.isascii()) or each in "-_./=:,@+" for each in text):
        return text
    return '"' + "".join(_character(each) for each in text) + '"'


def _character(each: str) -> str:
    if each in '"\\':
        return f"\\{each}"
    # What systemd would replace is written twice.
    if each in "%$":
        return each * 2
    return each if each.isprintable() else "".join(f"\\x{byte:02x}" for byte in _bytes(each))


def _bytes(each: str) -> bytes:
    return each.encode("utf-8", "surrogateescape")
