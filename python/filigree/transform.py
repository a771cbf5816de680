"""α-entmax at any α, and what it finds on the way: the threshold and the support size."""

from typing import Optional, Tuple, Union

import torch
from torch import Tensor


def entmax(X: Tensor, alpha: Union[float, Tensor] = 1.5, dim: int = -1) -> Tensor:
    """α-entmax: a softmax that can give exact zeros.

    p = argmax over the simplex of ⟨p, x⟩ + H_α(p), that is p_i = [(α−1) x_i − τ]_+^{1/(α−1)} with
    the τ for which Σp = 1. α = 1 is softmax, α = 2 is sparsemax; the larger α, the more zeros.
    The result is exact to the precision of its type at every α ≥ 1, with no iteration to choose.

    Differentiable, also twice, in ``X`` and in ``alpha``. Works under ``torch.jit.script``, and
    under ``torch.autocast``, where it returns float32 as softmax does.

    Args:
        X: scores of any shape and strides; float32, float64, bfloat16 or float16. Half types are
            computed in float32. −inf masks an entry. A row masked throughout gives zeros with zero
            gradients; a NaN stays in its own row; entries of +inf share the whole mass.
        alpha: at least 1. A number, or a tensor that broadcasts over ``X`` and has size 1 along
            ``dim``. For attention scores [batch, head, query, key] reduced over the keys, a plain
            [head] tensor gives every head its own. Best kept in float32.
        dim: the dimension that is to sum to 1.

    Returns:
        p, of the shape and type of ``X``.

    Raises:
        RuntimeError: ``alpha`` below 1, or of a shape that does not fit.

    Example:
        >>> entmax(torch.tensor([1.0, 1.0, -5.0]), 1.5)
        tensor([0.5000, 0.5000, 0.0000])
    """
    if isinstance(alpha, Tensor):
        return torch.ops.filigree.entmax(X, alpha, dim)
    else:
        return torch.ops.filigree.entmax(X, alpha, dim)


def entmax_with_threshold(
    X: Tensor, alpha: Union[float, Tensor] = 1.5, dim: int = -1
) -> Tuple[Tensor, Tensor, Tensor]:
    """``entmax`` together with its threshold and the size of its support.

    Args: as for :func:`entmax`.

    Returns:
        p: as from :func:`entmax`.
        tau: the τ of every row, in float32 (float64 for float64 scores); size 1 along ``dim``. For
            α = 1, log Σ exp x; +inf for a row that is masked throughout. Not differentiable.
        support: the number of entries with p > 0, int64; size 1 along ``dim``.
    """
    if isinstance(alpha, Tensor):
        return torch.ops.filigree.entmax_with_threshold(X, alpha, dim)
    else:
        return torch.ops.filigree.entmax_with_threshold(X, alpha, dim)


def attention_weights(
    scores: Tensor,
    alpha: Union[float, Tensor] = 1.5,
    scale: float = 1.0,
    key_lengths: Optional[Tensor] = None,
    causal: bool = False,
    dropout: float = 0.0,
    seed: int = 0,
) -> Tensor:
    """Attention weights from attention scores in one go: scale, mask, α-entmax, dropout.

    As ``entmax(scale * scores)`` with masked entries at −inf, followed by dropout, but masks are
    given as what they are: what lies behind a sequence's end and above the diagonal is not read, and
    costs nothing. Differentiable once, in ``scores`` and ``alpha``.

    Args:
        scores: [batch, head, query, key]; types as for :func:`entmax`.
        alpha: a number, or a tensor with one value, or with one per head.
        scale: positive, usually 1/√d.
        key_lengths: [batch] integers: only so many first keys exist. ``None``: all.
        causal: query i sees keys 0 … i + (keys − queries).
        dropout: the probability of a weight to be dropped; the others are divided by 1 − dropout.
        seed: names the mask of the dropout. Take another one for every call.

    Returns:
        The weights, of the shape and type of ``scores``, 0 where masked.
    """
    if isinstance(alpha, Tensor):
        given = alpha
    else:
        given = torch.full([1], alpha, dtype=torch.float64)
    return torch.ops.filigree.attention_weights(
        scores, given, scale, key_lengths, causal, dropout, seed
    )
