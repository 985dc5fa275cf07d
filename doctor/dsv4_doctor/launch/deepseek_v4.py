"""What DeepSeek-V4 asks for on the command line, by vLLM's own recipes and source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.models import family

if TYPE_CHECKING:
    from dsv4_doctor.launch.choose import Candidate
    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.parameters import Command
    from dsv4_doctor.launch.shape import Shape

_NEW_INDEX = "--attention-config.indexer_kv_dtype"
_OLD_INDEX = "--attention-config.use_fp4_indexer_cache"


def indexer_flag(command: Command) -> tuple[str, str] | None:
    """Return the flag and value that keep the indexer's keys as MXFP4, ``None`` for none.

    Releases that still work by the older flag may have the newer one, too, without effect.
    """
    old = command.flags.get(_OLD_INDEX)
    if old is not None and old.status == "":
        return _OLD_INDEX, "True"
    return (_NEW_INDEX, "mxfp4") if command.has(_NEW_INDEX, "mxfp4") else None


def cache(command: Command) -> None:
    """Add what the cache must be."""
    command.add("--trust-remote-code", True, "trust-remote-code")
    command.add("--kv-cache-dtype", family().kv_cache_dtype.value, "kv-cache-dtype")
    command.add("--block-size", family().block_size.value, "block-size")


def kernels(command: Command, shape: Shape, machine: Machine, candidate: Candidate) -> None:
    """Add the kernels that this GPU and this checkpoint have."""
    index = indexer_flag(command)
    if machine.arch.major == 10 and candidate.setup.fp4_index and index is not None:
        command.add(*index, "indexer-mxfp4")
    elif machine.arch.major == 12:
        command.omit(_NEW_INDEX, "indexer-sm120")
    _experts(command, shape, machine, candidate)
    _graphs(command, machine, candidate)


def _experts(command: Command, shape: Shape, machine: Machine, candidate: Candidate) -> None:
    if machine.arch.major != 10:
        command.omit("--moe-backend", "moe-auto")
    elif not candidate.setup.split.expert_parallel:
        command.omit("--moe-backend", "moe-needs-ep")
    elif shape.precision.name.startswith("fp4"):
        command.add("--moe-backend", "deep_gemm_mega_moe", "moe-mega")
    elif shape.precision.name.startswith("nvfp4") and shape.heads > 64:
        command.add("--moe-backend", "flashinfer_cutedsl", "moe-nvfp4")
    elif shape.precision.name.startswith("nvfp4"):
        command.omit("--moe-backend", "moe-nvfp4-flash")
    else:
        command.omit("--moe-backend", "moe-not-fp4", precision=shape.precision.name)


def _graphs(command: Command, machine: Machine, candidate: Candidate) -> None:
    if machine.arch.major == 9 and candidate.setup.utilization > 0.92:
        value: dict[str, object] = {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}
        command.add("--compilation-config", value, "graphs-decode-only")
    elif candidate.setup.split.data > 1:
        value = {"cudagraph_mode": "FULL_AND_PIECEWISE", "custom_ops": ["all"]}
        command.add("--compilation-config", value, "graphs-dep")


def parsers(command: Command) -> None:
    """Add what turns the model's text into tool calls and reasoning."""
    command.add("--tokenizer-mode", "deepseek_v4", "tokenizer-mode")
    command.add("--tool-call-parser", "deepseek_v4", "tool-parser")
    command.add("--enable-auto-tool-choice", True, "auto-tool")
    command.add("--reasoning-parser", "deepseek_v4", "reasoning-parser")


def drafts(shape: Shape, machine: Machine) -> bool:
    """Whether the checkpoint's own draft can be used on this machine."""
    return bool(shape.draft) and shape.compressed is not None and machine.arch.major != 12


def draft(command: Command, shape: Shape, machine: Machine, *, wanted: bool) -> None:
    """Add the draft that the checkpoint brings, where few requests wait for each token."""
    if not shape.draft:
        return
    if machine.arch.major == 12:
        command.omit("--speculative-config", "draft-sm120", draft=shape.draft)
        return
    if not wanted:
        command.omit("--speculative-config", "draft-throughput", draft=shape.draft)
        return
    if shape.draft == "dspark":
        value: dict[str, object] = {
            "method": "dspark",
            "num_speculative_tokens": 7,
            "draft_sample_method": "probabilistic",
        }
        command.add("--speculative-config", value, "draft-dspark")
        return
    tokens = 1 if machine.arch.major == 9 else 2
    value = {"method": "mtp", "num_speculative_tokens": tokens}
    command.add("--speculative-config", value, "draft-mtp")
