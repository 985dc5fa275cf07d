"""Calling an operator by the names in its schema; what it computes needs a GPU and torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dsv4_build.trial.inside import vllm


class Operator:
    """Stands for one of ``torch.ops``."""

    def __init__(self, *arguments: tuple[str, str, Any]) -> None:
        schema = SimpleNamespace(
            name="_C::kernel",
            arguments=[
                SimpleNamespace(
                    name=name,
                    type=kind,
                    default_value=default,
                    has_default_value=lambda default=default: default is not None,
                )
                for name, kind, default in arguments
            ],
        )
        self.default = SimpleNamespace(_schema=schema)

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """Return what it was called with."""
        return given


def test_arguments_go_where_the_schema_has_them() -> None:
    operator = Operator(("k", "Tensor", None), ("q", "Tensor", None))
    assert vllm._call(operator, {"q": 1, "k": 2, "not of this release": 3}) == (2, 1)


def test_what_is_not_known_is_left_to_the_operator_where_it_may_be() -> None:
    operator = Operator(
        ("q", "Tensor", None), ("s_aux", "Optional[Tensor]", None), ("sm_margin", "int", 4)
    )
    assert vllm._call(operator, {"q": 1}) == (1, None, 4)


def test_an_argument_that_must_be_known_and_is_not_is_named() -> None:
    operator = Operator(("q", "Tensor", None), ("window", "int", None))
    with pytest.raises(NotImplementedError, match="_C::kernel wants window"):
        vllm._call(operator, {"q": 1})
