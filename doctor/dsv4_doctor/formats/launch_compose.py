"""A plan of a start as a compose file, with the image of the release."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from dsv4_doctor.formats.launch_shell import refusal

if TYPE_CHECKING:
    from dsv4_doctor.launch.plan import Plan

_CACHE = "~/.cache/huggingface:/root/.cache/huggingface"


def render(plan: Plan) -> str:
    """Return the file, or comments that say why there is none."""
    if not plan.fits:
        return refusal(plan)
    name = plan.argv[2]
    # A directory of this machine has to be there under the same name inside.
    volumes = [_CACHE, *([f"{name}:{name}:ro"] if PurePath(name).is_absolute() else [])]
    lines = [
        "services:",
        "  vllm:",
        f"    image: {_text(f'vllm/vllm-openai:v{plan.release}')}",
        '    entrypoint: ["vllm", "serve"]',
        "    command:",
        f"      - {_text(name)}",
        *(f"      - {_text(word)}" for each in plan.parameters for word in each.words),
        "    ipc: host",
        '    ports: ["8000:8000"]',
        "    volumes:",
        *(f"      - {_text(each)}" for each in volumes),
        "    deploy:",
        "      resources:",
        "        reservations:",
        "          devices:",
        "            - driver: nvidia",
        f"              count: {plan.gpus.used}",
        "              capabilities: [gpu]",
    ]
    return "\n".join([*lines, ""])


def _text(text: str) -> str:
    """A quoted scalar of YAML, in which what compose would replace is written twice."""
    return '"' + "".join(map(_character, text.replace("$", "$$"))) + '"'


def _character(each: str) -> str:
    if each in '"\\':
        return f"\\{each}"
    return each if each.isprintable() else f"\\U{ord(each):08x}"
