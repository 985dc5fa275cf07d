"""vLLM's paged_attention_v2 and FlashAttention-3 against attention in plain PyTorch.

The reference is computed in float64 on the CPU, with nothing but matrix products and softmax. Every
function returns the largest absolute error and how large it may be.

An output is a mean of values, weighted by probabilities. The kernels sum scores in float32, and
round in the type of the inputs; each rounding loses at most u of what it rounds, which is never
more than the same mean of the values' sizes. So an element may be off by the number of roundings
times u times that mean, which is computed with the reference.
"""

from __future__ import annotations

import importlib
from typing import Any

# FlashAttention-3 rounds probabilities and the output: its products are exact in the tensor cores.
# Twice that leaves room for float32 and for exp2.approx.
FLASH_ROUNDINGS = 4

# paged_attention_v2 rounds probabilities, products, three sums of a vector of eight, the result of
# a partition and the output: attention/dtype_float16.cuh, attention_kernels.cuh. One for the rest.
PAGED_ROUNDINGS = 8

# Heads of queries and of keys and values, so that a group of queries shares one.
HEADS, KV_HEADS = 8, 2
HEAD = 128
BLOCK = 16


def paged_attention_v2(_module: Any) -> tuple[float, float]:
    """Run sequences of one, two and three partitions of 512 tokens, in float16."""
    torch = importlib.import_module("torch")
    lengths, partition = [1, 700, 1300], 512
    generator = torch.Generator().manual_seed(0)
    query = _normal(torch, generator, (len(lengths), HEADS, HEAD), torch.float16)
    keys, values, tables = _paged(torch, generator, lengths, torch.float16)
    # As the kernel wants them: 16 bytes of a key together, values with tokens innermost.
    packed = 16 // query.element_size()
    key_cache = keys.permute(0, 2, 3, 1).reshape(-1, KV_HEADS, HEAD // packed, packed, BLOCK)
    key_cache = key_cache.permute(0, 1, 2, 4, 3).contiguous()
    value_cache = values.permute(0, 2, 3, 1).contiguous()
    out = torch.empty_like(query, device="cuda")
    parts = -(-max(lengths) // partition)
    sums = torch.empty((len(lengths), HEADS, parts), dtype=torch.float32, device="cuda")
    one = torch.ones((), dtype=torch.float32, device="cuda")
    arguments = {
        "out": out,
        "exp_sums": sums,
        "max_logits": torch.empty_like(sums),
        "tmp_out": torch.empty((*sums.shape, HEAD), dtype=query.dtype, device="cuda"),
        "query": query.cuda(),
        "key_cache": key_cache.cuda(),
        "value_cache": value_cache.cuda(),
        "num_kv_heads": KV_HEADS,
        "scale": HEAD**-0.5,
        "block_tables": tables.cuda(),
        "seq_lens": torch.tensor(lengths, dtype=torch.int32, device="cuda"),
        "block_size": BLOCK,
        "max_seq_len": max(lengths),
        "alibi_slopes": None,
        "kv_cache_dtype": "auto",
        "k_scale": one,
        "v_scale": one,
        "tp_rank": 0,
        "blocksparse_local_blocks": 0,
        "blocksparse_vert_stride": 0,
        "blocksparse_block_size": 64,
        "blocksparse_head_sliding_step": 0,
    }
    _call(torch.ops._C.paged_attention_v2, arguments)
    torch.cuda.synchronize()
    expected = [
        _attention(torch, query[i, None], *_own(keys, values, tables[i], length))
        for i, length in enumerate(lengths)
    ]
    return _judged(torch, out, torch.cat(expected, 1), PAGED_ROUNDINGS)


def flash_varlen(_module: Any) -> tuple[float, float]:
    """Run sequences of several lengths one after another, causal, in bfloat16."""
    torch = importlib.import_module("torch")
    return _flash(torch, paged=False, splits=1)


def flash_paged(_module: Any) -> tuple[float, float]:
    """Run with keys and values in blocks, as vLLM serves."""
    torch = importlib.import_module("torch")
    return _flash(torch, paged=True, splits=1)


def flash_split(_module: Any) -> tuple[float, float]:
    """Run with the keys split among blocks of the GPU, whose results are then combined."""
    torch = importlib.import_module("torch")
    return _flash(torch, paged=False, splits=3)


def _flash(torch: Any, *, paged: bool, splits: int) -> tuple[float, float]:
    asked, lengths = [1, 70, 200], [900, 70, 330]
    generator = torch.Generator().manual_seed(1)
    query = _normal(torch, generator, (sum(asked), HEADS, HEAD), torch.bfloat16)
    keys, values, tables = _paged(torch, generator, lengths, torch.bfloat16)
    own = [_own(keys, values, tables[i], length) for i, length in enumerate(lengths)]
    arguments = {
        "q": query.cuda(),
        "cu_seqlens_q": _offsets(torch, asked),
        "max_seqlen_q": max(asked),
        "max_seqlen_k": max(lengths),
        "softmax_scale": HEAD**-0.5,
        "is_causal": True,
        "window_size_left": -1,
        "window_size_right": -1,
        "softcap": 0.0,
        "is_rotary_interleaved": True,
        "num_splits": splits,
        "sm_margin": 0,
        "cp_world_size": 1,
        "cp_rank": 0,
    }
    if paged:
        arguments |= {
            "k": keys.cuda(),
            "v": values.cuda(),
            "page_table": tables.cuda(),
            "seqused_k": torch.tensor(lengths, dtype=torch.int32, device="cuda"),
        }
    else:
        arguments |= {
            "k": torch.cat([each[0] for each in own]).cuda(),
            "v": torch.cat([each[1] for each in own]).cuda(),
            "cu_seqlens_k": _offsets(torch, lengths),
        }
    out = _call(torch.ops._vllm_fa3_C.fwd, arguments)[0]
    torch.cuda.synchronize()
    rows = zip(query.split(asked), own, strict=True)
    expected = [_attention(torch, q, k, v, causal=True) for q, (k, v) in rows]
    return _judged(torch, out, torch.cat(expected, 1), FLASH_ROUNDINGS)


def _call(operator: Any, arguments: dict[str, Any]) -> Any:
    """Call an operator by the names in its own schema, which differs among releases."""
    schema = operator.default._schema
    given: list[Any] = []
    for each in schema.arguments:
        if each.name in arguments:
            given.append(arguments[each.name])
        elif str(each.type).startswith("Optional"):
            given.append(None)
        elif each.has_default_value():
            given.append(each.default_value)
        else:
            msg = f"{schema.name} wants {each.name}, which this test does not know"
            raise NotImplementedError(msg)
    return operator(*given)


def _attention(torch: Any, query: Any, keys: Any, values: Any, *, causal: bool = False) -> Any:
    """Return attention of one sequence in float64, of the values and of their sizes.

    The shape is ``[2, queries, heads, head]``.
    """
    group = HEADS // KV_HEADS
    q = query.double().transpose(0, 1)
    k, v = (each.double().transpose(0, 1).repeat_interleave(group, 0) for each in (keys, values))
    scores = q @ k.transpose(1, 2) * HEAD**-0.5
    if causal:
        # The last query sees the last key.
        seen = torch.ones(scores.shape[1:], dtype=torch.bool).tril(k.shape[1] - q.shape[1])
        scores = scores.masked_fill(~seen, float("-inf"))
    weights = scores.softmax(-1)
    return torch.stack([(weights @ v).transpose(0, 1), (weights @ v.abs()).transpose(0, 1)])


def _paged(torch: Any, generator: Any, lengths: list[int], dtype: Any) -> tuple[Any, Any, Any]:
    """Return caches ``[blocks, block, kv heads, head]`` and tables that name blocks in disorder."""
    each = -(-max(lengths) // BLOCK)
    count = each * len(lengths)
    shape = (count, BLOCK, KV_HEADS, HEAD)
    keys, values = (_normal(torch, generator, shape, dtype) for _ in range(2))
    order = torch.randperm(count, generator=generator).int()
    return keys, values, order.reshape(len(lengths), each)


def _own(keys: Any, values: Any, table: Any, length: int) -> tuple[Any, Any]:
    """Return the keys and values of one sequence, ``[length, kv heads, head]``."""
    return keys[table.long()].flatten(0, 1)[:length], values[table.long()].flatten(0, 1)[:length]


def _offsets(torch: Any, lengths: list[int]) -> Any:
    sums = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    return torch.tensor(sums, dtype=torch.int32, device="cuda")


def _normal(torch: Any, generator: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return torch.randn(shape, generator=generator, dtype=torch.float32).to(dtype)


def _judged(torch: Any, out: Any, expected: Any, roundings: int) -> tuple[float, float]:
    """Return error and tolerance of the element with the largest ratio of the two."""
    mean, size = expected
    errors = (out.double().cpu() - mean).abs().nan_to_num(nan=float("inf")).flatten()
    allowed = (size * (roundings * torch.finfo(out.dtype).eps / 2)).flatten()
    worst = int((errors / allowed).argmax())
    return float(errors[worst]), float(allowed[worst])
