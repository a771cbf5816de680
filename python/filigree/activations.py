"""Sparsemax (α = 2) and 1.5-entmax, under the names of the entmax package."""

from typing import Optional, Tuple

import torch
from torch import Tensor, nn
from torch.jit import Final

from .transform import entmax, entmax_with_threshold


def sparsemax(
    X: Tensor, dim: int = -1, k: Optional[int] = None, return_support_size: bool = False
):
    """Sparsemax, the Euclidean projection onto the simplex: α-entmax with α = 2.

    Args:
        X: scores; see :func:`filigree.entmax` for types, masks and derivatives.
        dim: the dimension that is to sum to 1.
        k: accepted for compatibility. It guides a partial sort elsewhere; here nothing is sorted,
            and the result is exact without it.
        return_support_size: also return the number of entries with p > 0 (int64, size 1 along
            ``dim``). Scripted code calls :func:`filigree.entmax_with_threshold` instead.

    Returns:
        p, or (p, support size).
    """
    return _entmax(X, 2.0, dim, return_support_size)


def entmax15(
    X: Tensor, dim: int = -1, k: Optional[int] = None, return_support_size: bool = False
):
    """1.5-entmax, half-way between softmax and sparsemax: α-entmax with α = 1.5.

    Arguments and result: as for :func:`sparsemax`.
    """
    return _entmax(X, 1.5, dim, return_support_size)


def _entmax(X: Tensor, alpha: float, dim: int, return_support_size: bool):
    # A scripted function has one type of result, so this branch exists outside scripts only.
    if not torch.jit.is_scripting():
        if return_support_size:
            p, _, support = entmax_with_threshold(X, alpha, dim)
            return p, support
    assert not return_support_size, "in scripts, use filigree.entmax_with_threshold"
    return entmax(X, alpha, dim)


class _FixedAlpha(nn.Module):
    return_support_size: Final[bool]

    def __init__(
        self, alpha: float, dim: int, k: Optional[int], return_support_size: bool
    ) -> None:
        super().__init__()
        self.dim = dim
        self.k = k
        self.return_support_size = return_support_size
        self._alpha = alpha

    def forward(self, X: Tensor):
        if self.return_support_size:
            p, _, support = entmax_with_threshold(X, self._alpha, self.dim)
            return p, support
        else:
            return entmax(X, self._alpha, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Sparsemax(_FixedAlpha):
    """:func:`sparsemax` as a module; the arguments are the same."""

    def __init__(
        self, dim: int = -1, k: Optional[int] = None, return_support_size: bool = False
    ) -> None:
        super().__init__(2.0, dim, k, return_support_size)


class Entmax15(_FixedAlpha):
    """:func:`entmax15` as a module; the arguments are the same."""

    def __init__(
        self, dim: int = -1, k: Optional[int] = None, return_support_size: bool = False
    ) -> None:
        super().__init__(1.5, dim, k, return_support_size)


# Programs written for the entmax package reach for these two as well.
def _sparsemax_threshold_and_support(
    X: Tensor, dim: int = -1, k: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    """The τ of p = [X − τ]_+ and the support size."""
    _, tau, support = entmax_with_threshold(X, 2.0, dim)
    return tau, support


def _entmax_threshold_and_support(
    X: Tensor, dim: int = -1, k: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    """The τ of p = [X − τ]_+², so that X are the scores halved, and the support size."""
    _, tau, support = entmax_with_threshold(2 * X, 1.5, dim)
    return tau, support
