"""Attention weights whose sparsity is learned."""

from typing import List

import torch
from torch import Tensor, nn

from .transform import entmax


class AdaptiveAlpha(nn.Module):
    """α-entmax over attention scores with one learned α for every head.

    α = low + (high − low) σ(a), with a parameter a for each head that starts as a draw from N(0, 1)
    (Correia, Niculae and Martins, 2019, "Adaptively Sparse Transformers"). The gradient decides
    between dense heads (α near 1, softmax) and sparse ones (α near 2, sparsemax); the sigmoid keeps
    α in its range, so that nothing needs clamping.

    Args:
        heads: the number of heads.
        low, high: the range of α, 1 ≤ low < high.
        dim: the dimension of the scores that is to sum to 1.
        head_dim: the dimension of the scores that counts the heads.

    Shape:
        Scores with size ``heads`` along ``head_dim``, by default [batch, head, query, key]; the
        weights have the same shape. −inf masks a key, and a query with every key masked gets zeros.

    Example:
        >>> transform = AdaptiveAlpha(heads=8)
        >>> weights = transform(torch.randn(32, 8, 50, 50))  # rows sum to 1
        >>> transform.alpha                                  # one per head, between 1 and 2
    """

    def __init__(
        self,
        heads: int,
        low: float = 1.0,
        high: float = 2.0,
        dim: int = -1,
        head_dim: int = 1,
    ) -> None:
        super().__init__()
        if not 1 <= low < high:
            raise ValueError(f"alpha must range from at least 1 upwards, not from {low} to {high}")
        self.low = float(low)
        self.high = float(high)
        self.dim = dim
        self.head_dim = head_dim
        self.a = nn.Parameter(torch.empty(heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.a)

    @property
    def alpha(self) -> Tensor:
        """The α of every head, shape [heads]; at least float32 even if the model is not."""
        a = self.a if self.a.dtype == torch.float64 else self.a.to(torch.float32)
        return self.low + (self.high - self.low) * torch.sigmoid(a)

    def forward(self, X: Tensor) -> Tensor:
        shape: List[int] = [1] * X.dim()
        shape[self.head_dim] = -1
        return entmax(X, self.alpha.view(shape), self.dim)

    def extra_repr(self) -> str:
        return f"heads={self.a.numel()}, low={self.low}, high={self.high}, dim={self.dim}"
