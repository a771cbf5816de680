"""Attention by α-entmax in one operator, in work and memory that follow the support."""

from typing import Optional, Tuple, Union

import torch
from torch import Tensor


def _alpha_tensor(alpha: Union[float, Tensor]) -> Tensor:
    if isinstance(alpha, Tensor):
        return alpha
    else:
        return torch.full([1], alpha, dtype=torch.float64)


def entmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    alpha: Union[float, Tensor] = 1.5,
    scale: Optional[float] = None,
    key_lengths: Optional[Tensor] = None,
    causal: bool = False,
    bias: Optional[Tensor] = None,
    dropout: float = 0.0,
    seed: int = 0,
) -> Tensor:
    """entmax(scale · query keyᵀ + bias, alpha) value, without ever holding all of the weights.

    On the CPU the scores exist for a block of queries at a time, the weights are kept compressed, and
    the work after the scores follows the support, forward and backward; where most weights are above
    0 (α near 1) the products are dense. Elsewhere it is the composition of tensor operations.
    Differentiable, also twice, in ``query``, ``key``, ``value``, ``alpha`` and ``bias``.

    Args:
        query: [batch, head, query, d]; float32, float64, bfloat16 or float16, any strides. Half types
            are computed in float32; so is everything under ``torch.autocast``.
        key, value: [batch, head, key, d] and [batch, head, key, e].
        alpha: at least 1. A number, or a tensor with one value, or with one per head.
        scale: of the scores, positive; 1/√d unless given.
        key_lengths: [batch] integers: only so many first keys exist. ``None``: all.
        causal: query i sees keys 0 … i + (keys − queries).
        bias: added to the scores, broadcasts over [batch, head, query, key]; −inf masks. If it
            requires a gradient, the composition does the work.
        dropout: the probability of a weight to be dropped; the others are divided by 1 − dropout.
        seed: names the mask of the dropout. Take another one for every call.

    Returns:
        [batch, head, query, e] of the type of ``query``. A query that sees nothing gives zeros.

    Raises:
        RuntimeError: shapes and values that do not fit.

    Example:
        >>> q, k, v = torch.randn(3, 2, 8, 1000, 64)     # each [2, 8, 1000, 64]
        >>> alpha = torch.full([8], 1.5, requires_grad=True)
        >>> entmax_attention(q, k, v, alpha).sum().backward()
    """
    return torch.ops.filigree.entmax_attention(
        query, key, value, _alpha_tensor(alpha), scale, key_lengths, causal, bias, dropout, seed
    )


def entmax_attention_with_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    alpha: Union[float, Tensor] = 1.5,
    scale: Optional[float] = None,
    key_lengths: Optional[Tensor] = None,
    causal: bool = False,
    bias: Optional[Tensor] = None,
    dropout: float = 0.0,
    seed: int = 0,
) -> Tuple[Tensor, Tensor]:
    """The output of :func:`entmax_attention` and the weights [batch, head, query, key].

    The weights are those before dropout and have no gradient.
    """
    return torch.ops.filigree.entmax_attention_with_weights(
        query, key, value, _alpha_tensor(alpha), scale, key_lengths, causal, bias, dropout, seed
    )


def entmax_attention_with_rows(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    alpha: Union[float, Tensor] = 1.5,
    scale: Optional[float] = None,
    key_lengths: Optional[Tensor] = None,
    causal: bool = False,
    bias: Optional[Tensor] = None,
    dropout: float = 0.0,
    seed: int = 0,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """The output of :func:`entmax_attention` and the weights above 0 as compressed rows.

    Returns:
        output: [batch, head, query, e].
        offsets, keys, weights: those of query i of head h of sequence b are number offsets[r] …
            offsets[r + 1] − 1, r = (b · heads + h) · queries + i, in order of keys. As arguments of
            ``torch.sparse_csr_tensor`` they make the matrix [batch · heads · queries, keys].
    """
    return torch.ops.filigree.entmax_attention_with_rows(
        query, key, value, _alpha_tensor(alpha), scale, key_lengths, causal, bias, dropout, seed
    )
