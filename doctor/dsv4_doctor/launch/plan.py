"""A plan: the command, the memory that it was made for, and what else there is to say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__

if TYPE_CHECKING:
    from dsv4_doctor.launch.parameters import LeftOut, Parameter

SCHEMA = "dsv4-doctor/launch/1"


@dataclass(frozen=True)
class Model:
    """What is to be served.

    Attributes:
        name: As the command names it.
        architecture: Of its config.json.
        attention: ``gqa``, ``mla`` or ``deepseek_v4``.
        precision: Of its weights.
        context: Longest sequence in tokens.
        weights: Bytes of the whole checkpoint.
        measured: Whether the checkpoint itself gave that; else it was computed.
        source: Where the structure was read.
        dtypes: Bytes by data type, where the headers of its files were read.
    """

    name: str
    architecture: str
    attention: str
    precision: str
    context: int
    weights: int
    measured: bool
    source: str
    dtypes: dict[str, int]


@dataclass(frozen=True)
class Gpus:
    """On what.

    Attributes:
        name: Of the GPU.
        arch: Such as ``sm_90``.
        memory: Bytes of one.
        count: How many there are.
        used: How many the command uses.
        nvlink: Whether NVLink joins them, ``None`` when it is not known.
    """

    name: str
    arch: str
    memory: int
    count: int
    used: int
    nvlink: bool | None


@dataclass(frozen=True)
class Memory:
    """Bytes of the fullest GPU, by what they are for.

    Attributes:
        total: All of it.
        headroom: What the server leaves alone.
        weights: What it holds of them.
        context: CUDA, NCCL and loaded modules, estimated.
        activation: Peak of a step, estimated.
        cuda_graphs: Estimated.
        kv_cache: What is left.
        kv_dtype: In which type it is kept.
        kv_per_token: Bytes that one more token of a long request takes.
        kv_per_request: Bytes that a request of the whole length may take, as vLLM counts it.
    """

    total: int
    headroom: int
    weights: int
    context: int
    activation: int
    cuda_graphs: int
    kv_cache: int
    kv_dtype: str
    kv_per_token: int
    kv_per_request: int


@dataclass(frozen=True)
class Fits:
    """How many sequences of a length are held at once, over all copies, while they generate."""

    tokens: int
    sequences: int


@dataclass(frozen=True)
class Alternative:
    """Another way to use the GPUs.

    Attributes:
        tensor: Tensor-parallel size.
        data: Data-parallel size.
        expert_parallel: Whether experts are spread.
        longest: Longest request that fits, in tokens; 0 when the model does not fit.
        sequences: Sequences of 8,192 tokens at once.
        weights: Bytes a GPU.
    """

    tensor: int
    data: int
    expert_parallel: bool
    longest: int
    sequences: int
    weights: int


@dataclass(frozen=True)
class Advised:
    """Something that articles recommend, for this release and this machine.

    Attributes:
        id: Short name.
        claim: What is recommended.
        verdict: ``given``, ``default``, ``choice`` or ``none``.
        flag: The parameter of the release that does it, empty for none.
        text: What to do.
        source: Where that stands.
    """

    id: str
    claim: str
    verdict: str
    flag: str
    text: str
    source: str


@dataclass(frozen=True)
class Plan:
    """The whole answer.

    Attributes:
        release: vLLM release.
        goal: ``throughput``, ``latency`` or ``context``.
        fits: Whether there is a command.
        obstacles: Why there is none.
        machines: The smallest machines that would do, where there is none.
        argv: The command, word by word.
        longest: Longest request in tokens.
        running: How many sequences one copy schedules at once, whatever memory there is.
        concurrency: How many of them fit, as vLLM logs it at its start, a copy.
        notes: What a reader should know.
    """

    release: str
    goal: str
    model: Model
    gpus: Gpus
    fits: bool
    obstacles: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    memory: Memory | None = None
    longest: int = 0
    running: int = 0
    concurrency: float = 0.0
    sequences: tuple[Fits, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    advice: tuple[Advised, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON has it."""
        tool = {"name": "dsv4-doctor", "version": __version__}
        return {"schema": SCHEMA, "tool": tool, **asdict(self)}
