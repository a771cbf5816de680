"""The maps that the entmax package finds by bisection, under its names.

The operators behind them solve for the threshold to the precision of the type, each in its own way.
``n_iter`` and ``ensure_sum_one`` are accepted so that calls need no change, and have no effect.
"""

from typing import Optional, Union

import torch
from torch import Tensor, nn

from .transform import entmax


def entmax_bisect(
    X: Tensor,
    alpha: Union[float, Tensor] = 1.5,
    dim: int = -1,
    n_iter: int = 50,
    ensure_sum_one: bool = True,
) -> Tensor:
    """α-entmax at any positive α; see :func:`filigree.entmax`, which is the same from α = 1 up.

    Args:
        X, dim: as for :func:`filigree.entmax`.
        alpha: as there, but may lie between 0 and 1 too, where the map is dense and its tails are
            heavier than those of softmax. α = 1 is softmax.
        n_iter, ensure_sum_one: accepted for compatibility; the result is exact and sums to 1.
    """
    if isinstance(alpha, Tensor):
        return torch.ops.filigree.entmax_any_alpha(X, alpha, dim)
    else:
        return torch.ops.filigree.entmax_any_alpha(X, alpha, dim)


def sparsemax_bisect(
    X: Tensor, dim: int = -1, n_iter: Optional[int] = 50, ensure_sum_one: bool = True
) -> Tensor:
    """The same as :func:`filigree.sparsemax`.

    ``n_iter`` and ``ensure_sum_one`` are accepted for compatibility.
    """
    return entmax(X, 2.0, dim)


def normmax_bisect(
    X: Tensor, alpha: Union[float, Tensor] = 2.0, dim: int = -1, n_iter: int = 50
) -> Tensor:
    """α-normmax: p = argmax over the simplex of ⟨p, x⟩ − ‖p‖_α.

    Differentiable, also twice, in ``X`` and in ``alpha``. Computed in float64.

    Args:
        X, dim: as for :func:`filigree.entmax`.
        alpha: of a shape as there. The larger, the more even the support. At 1 and below, the norm
            spreads nothing and the largest scores share the mass.
        n_iter: accepted for compatibility; the result is exact.
    """
    if isinstance(alpha, Tensor):
        return torch.ops.filigree.normmax(X, alpha, dim)
    else:
        return torch.ops.filigree.normmax(X, alpha, dim)


def budget_bisect(
    X: Tensor, budget: Union[float, Tensor] = 2.0, dim: int = -1, n_iter: int = 50
) -> Tensor:
    """The budget map: p = argmax of ⟨p, x⟩ − ½‖p‖² over 0 ≤ p ≤ 1 with Σp = ``budget``.

    A differentiable choice of ``budget`` entries. Differentiable in ``X`` and in ``budget``.
    Computed in float64.

    Args:
        X, dim: as for :func:`filigree.entmax`.
        budget: a number or a tensor, shaped as alpha there. More than there are entries that are
            not masked gives 1 to all of those.
        n_iter: accepted for compatibility; the result is exact.
    """
    if isinstance(budget, Tensor):
        return torch.ops.filigree.budget(X, budget, dim)
    else:
        return torch.ops.filigree.budget(X, budget, dim)


def set_number(module: nn.Module, name: str, value: Union[float, Tensor]) -> None:
    """Makes ``value`` the attribute ``name`` of ``module``: a parameter stays one, another tensor
    becomes a buffer outside the state_dict, so that it follows the module to its device."""
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(name, value, persistent=False)
    else:
        setattr(module, name, value if isinstance(value, Tensor) else float(value))


class _Bisect(nn.Module):
    def __init__(self, dim: int, n_iter: Optional[int]) -> None:
        super().__init__()
        self.dim = dim
        self.n_iter = n_iter

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class SparsemaxBisect(_Bisect):
    """:func:`sparsemax_bisect` as a module."""

    def __init__(self, dim: int = -1, n_iter: Optional[int] = None) -> None:
        super().__init__(dim, n_iter)

    def forward(self, X: Tensor) -> Tensor:
        return sparsemax_bisect(X, self.dim)


class EntmaxBisect(_Bisect):
    """:func:`entmax_bisect` as a module.

    ``alpha`` may be an ``nn.Parameter``, which then is one of the module's. To learn α in a range,
    use :class:`filigree.AdaptiveAlpha`.
    """

    def __init__(
        self, alpha: Union[float, Tensor] = 1.5, dim: int = -1, n_iter: int = 50
    ) -> None:
        super().__init__(dim, n_iter)
        set_number(self, "alpha", alpha)

    def forward(self, X: Tensor) -> Tensor:
        return entmax_bisect(X, self.alpha, self.dim)


class NormmaxBisect(_Bisect):
    """:func:`normmax_bisect` as a module. ``alpha`` may be an ``nn.Parameter``."""

    def __init__(
        self, alpha: Union[float, Tensor] = 2.0, dim: int = -1, n_iter: int = 50
    ) -> None:
        super().__init__(dim, n_iter)
        set_number(self, "alpha", alpha)

    def forward(self, X: Tensor) -> Tensor:
        return normmax_bisect(X, self.alpha, self.dim)


class BudgetBisect(_Bisect):
    """:func:`budget_bisect` as a module. ``budget`` may be an ``nn.Parameter``."""

    def __init__(
        self, budget: Union[float, Tensor] = 2.0, dim: int = -1, n_iter: int = 50
    ) -> None:
        super().__init__(dim, n_iter)
        set_number(self, "budget", budget)

    def forward(self, X: Tensor) -> Tensor:
        return budget_bisect(X, self.budget, self.dim)
