"""What an unread command line will ask for, so that the probes need not wait until it is read.

Reading it properly takes as long as a third of the probes. What is guessed here is compared with
what is asked for in the end; where it differs, the probes run again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dsv4_doctor.prober.arguments import last, values
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from collections.abc import Sequence


def guess(arguments: Sequence[str]) -> Request:
    """Return the request that a command line seems to make.

    Args:
        arguments: Of the command line, the command's name first.
    """
    tree = last(arguments, "--vllm")
    return Request(
        python=last(arguments, "--python"),
        tree=tree if tree is not None and os.path.isdir(tree) else None,  # noqa: PTH112 - faster
        deep="--deep" in arguments,
        archs=tuple(values(arguments, "--arch")),
        model=last(arguments, "--model"),
    )
