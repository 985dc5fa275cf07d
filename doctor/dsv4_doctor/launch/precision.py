"""In how many bits a checkpoint keeps its weights, by what its config.json says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from dsv4_doctor.launch.fields import Fields

_DTYPES = {"bfloat16": 16.0, "float16": 16.0, "float32": 32.0, "": 16.0}
# A block of 128 by 128 values has one scale of 32 bits.
_FP8 = 8 + 32 / (128 * 128)
# E2M1 with a scale of 8 bits for 32 values (MXFP4) or 16 values (NVFP4).
_MXFP4 = 4 + 8 / 32
_NVFP4 = 4 + 8 / 16
# AWQ and GPTQ: a scale of 16 bits and a zero point for each group of 128 values.
_GROUP_SCALES = 20 / 128


@dataclass(frozen=True)
class Precision:
    """Bits a weight, scales counted in.

    Attributes:
        name: For a reader: ``bf16``, ``fp8``, ``fp4 experts, fp8 rest``.
        experts: Routed experts.
        linear: The other matrices.
        rest: Embeddings, output head, routers and norms, which stay as they were trained.
        known: Whether the method is one that this table knows; else the size comes from the
            checkpoint alone.
    """

    name: str
    experts: float
    linear: float
    rest: float = 16.0
    known: bool = True


def precision(config: Fields) -> Precision:
    """Return the precision of a checkpoint.

    Raises:
        InputError: It names a type that is none.
    """
    dtype = config.text("torch_dtype") or config.text("dtype")
    if dtype not in _DTYPES:
        msg = f"{config.name}: torch_dtype {dtype!r} is none of bfloat16, float16, float32"
        raise InputError(msg)
    rest = _DTYPES[dtype]
    quantization = config.table("quantization_config")
    if not quantization.data:
        return Precision(dtype or "bf16", rest, rest, rest)
    return _quantized(config, quantization, rest)


def _quantized(config: Fields, quantization: Fields, rest: float) -> Precision:
    method = quantization.text("quant_method").lower()
    if method in {"fp8", "fbgemm_fp8", "deepseek_v4_fp8"}:
        expert = config.text("expert_dtype") or quantization.text("expert_dtype")
        if expert == "fp4":
            return Precision("fp4 experts, fp8 rest", _MXFP4, _FP8, rest)
        return Precision("fp8", _FP8, _FP8, rest)
    if method == "mxfp4":
        return Precision("mxfp4 experts", _MXFP4, rest, rest)
    if method.startswith("modelopt") or quantization.text("format").startswith("nvfp4"):
        return _modelopt(quantization.text("quant_algo").upper(), rest)
    bits = _bits(quantization, method)
    if bits is None:
        return Precision(method or "an unnamed quantization", rest, rest, rest, known=False)
    return Precision(f"{method} {bits:g} bits", bits + _GROUP_SCALES, bits + _GROUP_SCALES, rest)


def _modelopt(algorithm: str, rest: float) -> Precision:
    if algorithm == "FP8":
        return Precision("fp8", _FP8, _FP8, rest)
    # The published ones keep attention and shared experts in FP8 where the algorithm is mixed.
    linear = _NVFP4 if algorithm == "NVFP4" else _FP8
    return Precision("nvfp4 experts", _NVFP4, linear, rest)


def _bits(quantization: Fields, method: str) -> float | None:
    """The width that AWQ, GPTQ and compressed-tensors give, ``None`` where none is given."""
    value = quantization.data.get("bits", quantization.data.get("w_bit"))
    if method == "compressed-tensors":
        for group in quantization.table("config_groups").data.values():
            weights = group.get("weights") if isinstance(group, dict) else None
            if isinstance(weights, dict):
                value = weights.get("num_bits")
    usable = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 16
    return float(value) if usable and value is not None else None
