"""A small tree in the shapes that vLLM has given to its flags and variables."""

from __future__ import annotations

from dsv4_doctor.knowledge.extract.tree import SourceTree

SERVE = """\
from vllm.entrypoints.cli_args import make_arg_parser


class ServeSubcommand:
    name = "serve"

    def subparser_init(self, subparsers):
        other_parser = subparsers.add_parser("bench")
        other_parser.add_argument("--num-prompts")
        serve_parser = subparsers.add_parser(self.name, help="serve")
        serve_parser.add_argument("model_tag", nargs="?")
        serve_parser.add_argument("--config", help="a file")
        serve_parser = make_arg_parser(serve_parser)
        return serve_parser
"""

CLI_ARGS = '''\
import json
import ssl
from dataclasses import field
from typing import Any, Literal

import vllm.envs as envs
from vllm.config import config
from vllm.engine.arg_utils import AsyncEngineArgs


@config
class BaseFrontendArgs:
    root_path: str | None = None
    """A path."""
    template_kwargs: dict[str, Any] | None = None

    @classmethod
    def _customize(cls, kwargs):
        kwargs["template_kwargs"]["type"] = json.loads
        return kwargs

    @classmethod
    def add_cli_args(cls, parser):
        from vllm.engine.arg_utils import get_kwargs

        kwargs = cls._customize(get_kwargs(cls))
        group = parser.add_argument_group(title=cls.__name__)
        for key, value in kwargs.items():
            group.add_argument(f"--{key.replace('_', '-')}", **value)
        return parser


@config
class FrontendArgs(BaseFrontendArgs):
    port: int = 8000
    """A port."""
    level: Literal["info", "debug"] = "info"
    origins: list[str] = field(default_factory=lambda: ["*"])
    ssl_cert_reqs: int = int(ssl.CERT_NONE)
    log_stack: bool = envs.VLLM_DEV
    middleware: list[str] = field(default_factory=list)

    @classmethod
    def _customize(cls, kwargs):
        kwargs = super()._customize(kwargs)
        kwargs["origins"]["type"] = json.loads
        del kwargs["origins"]["nargs"]
        kwargs["middleware"]["action"] = "append"
        kwargs["middleware"]["type"] = str
        if "nargs" in kwargs["middleware"]:
            del kwargs["middleware"]["nargs"]
        return kwargs


def make_arg_parser(parser):
    parser.add_argument("--headless", action="store_true", default=False, help="no head")
    parser = FrontendArgs.add_cli_args(parser)
    parser = AsyncEngineArgs.add_cli_args(parser)
    return parser


def run(args):
    print(args.root_path, args.template_kwargs, args.port, args.level, args.origins)
    print(args.ssl_cert_reqs, args.log_stack, args.middleware, self.args.headless)
    print(engine_args.disable_log)
'''

ARG_UTILS = """\
import argparse
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm.config import AttentionConfig, CacheConfig, LoadFormat, ModelConfig
from vllm.parser import FlexibleArgumentParser, human_readable_int

if TYPE_CHECKING:
    from vllm.config import QuantizationMethods
else:
    QuantizationMethods = str

_OLD = "--old-way is deprecated and has no effect. It will be removed."


def literal_to_kwargs(type_hints):
    kwarg = "metavar" if contains_type(type_hints, str) else "choices"


def get_kwargs(cls):
    if name in ("max_tokens",):
        kwargs[name]["type"] = human_readable_int
    elif type_hints == {bool, str, type(None)}:
        kwargs[name]["const"] = True


@dataclass
class EngineArgs:
    model: str = ModelConfig.model
    dtype: str = ModelConfig.dtype
    quantization: str | None = None
    load_format: str = "auto"
    hf_token: bool | str | None = None
    block_size: int | None = None
    max_tokens: int | None = None
    enable_prefix_caching: bool | None = None
    cache_dtype: str = "auto"
    attention_config: AttentionConfig = None
    swap_space: float = 4
    old_way: bool = False
    forgotten: int = 0

    @staticmethod
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        cache_kwargs = get_kwargs(CacheConfig)
        group = parser.add_argument_group("ModelConfig")
        if not ("serve" in sys.argv):
            group.add_argument("--model", **model_kwargs["model"])
        group.add_argument("--dtype", **model_kwargs["dtype"])
        group.add_argument("--quantization", "-q", **model_kwargs["quantization"])
        group.add_argument("--load-format", choices=[each.value for each in LoadFormat])
        group.add_argument("--hf-token", **model_kwargs["hf_token"])
        group.add_argument("--block-size", type=int, choices=[8, 16, None], default=16)
        group.add_argument("--max-tokens", **{**cache_kwargs["max_tokens"], "default": None})
        group.add_argument("--enable-prefix-caching", **cache_kwargs["enable_prefix_caching"])
        group.add_argument("--cache-dtype", **cache_kwargs["cache_dtype"])
        parser.add_argument("--attention-config", "-ac", **vllm_kwargs(AttentionConfig))
        parser.add_argument("--swap-space", type=float, default=EngineArgs.swap_space)
        parser.add_argument("--old-way", action="store_true")
        parser.add_argument("--forgotten", type=int, default=0, help="nobody reads it")
        parser.add_argument("--backend", type=lambda s: s.lower(), default=make_default())
        return parser

    def create(self):
        return (self.model, self.dtype, self.quantization, self.load_format, self.hf_token,
                self.block_size, self.max_tokens, self.enable_prefix_caching, self.
                cache_dtype, self.attention_config, self.swap_space, self.old_way, args.backend)


@dataclass
class AsyncEngineArgs(EngineArgs):
    disable_log: bool = False

    @staticmethod
    def add_cli_args(parser, async_args_only: bool = False):
        if not async_args_only:
            parser = EngineArgs.add_cli_args(parser)
        parser.add_argument(
            "--disable-log",
            action=argparse.BooleanOptionalAction,
            default=AsyncEngineArgs.disable_log,
            help="[DEPRECATED] Use another.",
            deprecated=True,
        )
        current_platform.pre_register_and_update(parser)
        return parser


def vllm_kwargs(cls):
    return {}
"""

CONFIG = '''\
from dataclasses import dataclass as config, field
from enum import Enum
from typing import Annotated, ClassVar, Literal, Optional, Union

from pydantic import Field

CacheDType = Literal["auto", "fp8"]
LongDType = Literal[CacheDType, "int8"]
QuantizationMethods = Literal["awq", "gptq"]
BASE = 2


class LoadFormat(str, Enum):
    AUTO = "auto"
    DUMMY = "dummy"


@config
class PassConfig:
    fuse: bool = True
    """Deprecated: it is ignored. This has no effect."""


@config
class AttentionConfig:
    backend: Literal["A", "B"] | None = None
    passes: PassConfig = field(default_factory=PassConfig)
    _hidden: int = 0


@config
class ModelConfig:
    SIZE: ClassVar[int] = 1
    model: str = "org/" + "name"
    dtype: Union[Literal["half", "float"], str] = "half"
    quantization: Optional[QuantizationMethods] = None
    hf_token: bool | str | None = None


@config
class CacheConfig:
    max_tokens: int = Field(default=BASE * 1024, ge=1)
    enable_prefix_caching: bool = True
    cache_dtype: Annotated[LongDType, "a note"] = "auto"
'''

PARSER = """\
class EnableDisableAction(BooleanOptionalAction):
    _inverse_prefixes = {"--enable-": "--disable-", "--disable-": "--enable-"}


def human_readable_int(value: str) -> int:
    return int(value)


class FlexibleArgumentParser(ArgumentParser):
    def parse_args(self, args=None):
        if "--config" in args:
            args = self.pull(args)

        def create_nested_dict(keys, value):
            return {}
"""

ENVS = """\
import os
from collections.abc import Callable

MODES = ["fast", "safe"]

environment_variables: dict[str, Callable] = {
    "VLLM_PORT": lambda: int(os.getenv("VLLM_PORT", "0")) if os.getenv("VLLM_PORT") else None,
    "VLLM_ROOT": lambda: os.path.expanduser(os.getenv("VLLM_ROOT", make_root())),
    "VLLM_MODE": env_with_choices("VLLM_MODE", "safe", MODES, case_sensitive=False),
    "VLLM_SAMPLER": lambda: (
        bool(int(os.environ["VLLM_SAMPLER"])) if "VLLM_SAMPLER" in os.environ else True
    ),
    "VLLM_RENAMED": lambda: os.environ.get("OTHER_NAME"),
    "MAX_JOBS": lambda: os.getenv("MAX_JOBS", None),
}
"""

FILES = {
    "vllm/entrypoints/cli/serve.py": SERVE,
    "vllm/entrypoints/cli_args.py": CLI_ARGS,
    "vllm/engine/arg_utils.py": ARG_UTILS,
    "vllm/config/__init__.py": CONFIG,
    "vllm/parser.py": PARSER,
    "vllm/envs.py": ENVS,
    "vllm/worker.py": (
        "import os\nos.environ['SET_ONLY'] = '1'\nx = os.environ['READ_HERE']\n"
        "if 'ASKED_FOR' in os.environ:\n    pass\n"
    ),
    "setup.py": "import os\njobs = envs.MAX_JOBS\nargs = os.environ.get('CMAKE_ARGS', '-x')\n",
    "CMakeLists.txt": 'if(DEFINED ENV{SOME_SRC_DIR})\n  set(X "$ENV{SOME_SRC_DIR}")\nendif()\n',
}


def tree(**changed: str) -> SourceTree:
    """Return the tree, some of its files with other content."""
    content = {name: text.encode() for name, text in {**FILES, **changed}.items()}
    return SourceTree("a tree", "0.24.0", "0" * 64, content)


def line_of(file: str, text: str) -> int:
    """Return the line of the first that holds a text."""
    lines = FILES[file].splitlines()
    return next(at for at, line in enumerate(lines, start=1) if text in line)
