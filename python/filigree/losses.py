"""The losses: what cross-entropy is to softmax, for the other transforms.

The loss functions named as in the entmax package give one loss a row, like theirs; the modules
reduce, and so does :func:`entmax_loss`, which takes the arguments of ``F.cross_entropy``. All may
be 0: exactly where the transform gives the target the whole mass. Gradients reach logits and alpha.
"""

from typing import Optional, Union

import torch
from torch import Tensor, nn
from torch.jit import Final

from .root_finding import set_number
from .transform import entmax_with_threshold


def _reduction_number(reduction: str) -> int:
    if reduction == "mean" or reduction == "elementwise_mean":
        return 1
    elif reduction == "sum":
        return 2
    elif reduction == "none":
        return 0
    raise ValueError(
        "reduction must be 'none', 'mean' ('elementwise_mean') or 'sum', not '" + reduction + "'"
    )


def entmax_loss(
    X: Tensor,
    target: Tensor,
    alpha: Union[float, Tensor] = 1.5,
    dim: int = -1,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """The α-entmax loss L = ⟨p − e_y, x⟩ + H_α(p) with p = entmax(x, α) and the target class y.

    A convex loss for classes with ∂L/∂x = p − e_y; α = 1 is cross-entropy, α = 2 the sparsemax
    loss. L ≥ 0, and L = 0 as soon as the target's score leads by 1/(α−1). Differentiable, also
    twice, in ``X`` and ``alpha``.

    Args:
        X: logits, with the classes along ``dim``; types as for :func:`filigree.entmax`. −inf masks
            a class: the loss stays finite, except where the target itself is masked.
        target: the class of every row, integers, of the shape of ``X`` without ``dim``.
        alpha: as for :func:`filigree.entmax`.
        dim: the dimension of the classes, by default the last; 1 for what ``F.cross_entropy`` takes.
        reduction: 'none' (the shape of ``target``), 'mean' over the rows that are not ignored (also
            called 'elementwise_mean'), or 'sum'.
        ignore_index: rows with this target, any integer, have loss and gradient 0.
        label_smoothing: the target e_y becomes (1 − s) e_y + s/C over the C unmasked classes.

    Raises:
        IndexError: a target that is no class and not ``ignore_index``.
        RuntimeError: shapes and values that do not fit.
    """
    number = _reduction_number(reduction)
    if isinstance(alpha, Tensor):
        return torch.ops.filigree.entmax_loss(
            X, target, alpha, dim, number, ignore_index, label_smoothing
        )
    else:
        return torch.ops.filigree.entmax_loss(
            X, target, alpha, dim, number, ignore_index, label_smoothing
        )


def _normmax_loss(
    X: Tensor,
    target: Tensor,
    alpha: Union[float, Tensor],
    dim: int = -1,
    reduction: str = "none",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    number = _reduction_number(reduction)
    if isinstance(alpha, Tensor):
        return torch.ops.filigree.normmax_loss(
            X, target, alpha, dim, number, ignore_index, label_smoothing
        )
    else:
        return torch.ops.filigree.normmax_loss(
            X, target, alpha, dim, number, ignore_index, label_smoothing
        )


def sparsemax_loss(
    X: Tensor, target: Tensor, k: Optional[int] = None, return_support_size: bool = False
):
    """The sparsemax loss of every row, the α-entmax loss with α = 2.

    Args:
        X: logits with the classes last, any shape before.
        target: the class of every row; −100 gives loss 0.
        k: accepted for compatibility; the result is exact without it.
        return_support_size: also return the number of classes with p > 0, of the shape of
            ``target``. Not in scripted code.

    Returns:
        The losses, of the shape of ``target``; or (losses, support size).
    """
    return _loss_per_row(X, target, 2.0, return_support_size)


def entmax15_loss(
    X: Tensor, target: Tensor, k: Optional[int] = None, return_support_size: bool = False
):
    """The 1.5-entmax loss of every row. Arguments and result: as for :func:`sparsemax_loss`."""
    return _loss_per_row(X, target, 1.5, return_support_size)


def _loss_per_row(X: Tensor, target: Tensor, alpha: float, return_support_size: bool):
    # A scripted function has one type of result, so this branch exists outside scripts only.
    if not torch.jit.is_scripting():
        if return_support_size:
            _, _, support = entmax_with_threshold(X.detach(), alpha)
            return entmax_loss(X, target, alpha, reduction="none"), support.squeeze(-1)
    assert not return_support_size, "in scripts, use filigree.entmax_with_threshold"
    return entmax_loss(X, target, alpha, reduction="none")


def sparsemax_bisect_loss(X: Tensor, target: Tensor, n_iter: Optional[int] = 50) -> Tensor:
    """The same as :func:`sparsemax_loss`; ``n_iter`` is accepted for compatibility."""
    return entmax_loss(X, target, 2.0, reduction="none")


def entmax_bisect_loss(
    X: Tensor, target: Tensor, alpha: Union[float, Tensor] = 1.5, n_iter: int = 50
) -> Tensor:
    """The α-entmax loss of every row, α ≥ 1: :func:`entmax_loss` with reduction 'none'.

    ``alpha`` is as for :func:`filigree.entmax`. ``n_iter`` is accepted for compatibility.
    """
    return entmax_loss(X, target, alpha, reduction="none")


def normmax_bisect_loss(
    X: Tensor, target: Tensor, alpha: Union[float, Tensor] = 2.0, n_iter: int = 50
) -> Tensor:
    """The normmax loss of every row, L = ⟨p − e_y, x⟩ + 1 − ‖p‖_α with p = normmax(x, α), α ≥ 1.

    Arguments: as for :func:`entmax_bisect_loss`. Computed in float64.
    """
    return _normmax_loss(X, target, alpha)


class _Loss(nn.Module):
    def __init__(
        self, ignore_index: int, reduction: str, label_smoothing: float, dim: int
    ) -> None:
        super().__init__()
        _reduction_number(reduction)
        self.ignore_index = int(ignore_index)
        self.reduction = reduction
        self.label_smoothing = float(label_smoothing)
        self.dim = dim

    def extra_repr(self) -> str:
        return f"ignore_index={self.ignore_index}, reduction={self.reduction!r}, dim={self.dim}"


class EntmaxLoss(_Loss):
    """:func:`entmax_loss` as a module. ``alpha`` may be an ``nn.Parameter``."""

    def __init__(
        self,
        alpha: Union[float, Tensor] = 1.5,
        dim: int = -1,
        reduction: str = "mean",
        ignore_index: int = -100,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(ignore_index, reduction, label_smoothing, dim)
        set_number(self, "alpha", alpha)

    def forward(self, X: Tensor, target: Tensor) -> Tensor:
        return entmax_loss(
            X,
            target,
            self.alpha,
            self.dim,
            self.reduction,
            self.ignore_index,
            self.label_smoothing,
        )


class EntmaxBisectLoss(EntmaxLoss):
    """:class:`EntmaxLoss` with the arguments of the entmax package.

    Args:
        alpha, ignore_index, label_smoothing, dim: as for :func:`entmax_loss`.
        n_iter: accepted for compatibility; the result is exact.
        reduction: 'elementwise_mean' (or 'mean'), 'sum', 'none'.
    """

    def __init__(
        self,
        alpha: Union[float, Tensor] = 1.5,
        n_iter: int = 50,
        ignore_index: int = -100,
        reduction: str = "elementwise_mean",
        label_smoothing: float = 0.0,
        dim: int = -1,
    ) -> None:
        super().__init__(alpha, dim, reduction, ignore_index, label_smoothing)
        self.n_iter = n_iter


class SparsemaxBisectLoss(EntmaxLoss):
    """The sparsemax loss; arguments as for :class:`EntmaxBisectLoss`, without alpha."""

    def __init__(
        self,
        n_iter: int = 50,
        ignore_index: int = -100,
        reduction: str = "elementwise_mean",
        label_smoothing: float = 0.0,
        dim: int = -1,
    ) -> None:
        super().__init__(2.0, dim, reduction, ignore_index, label_smoothing)
        self.n_iter = n_iter


class NormmaxBisectLoss(_Loss):
    """The normmax loss of :func:`normmax_bisect_loss`; arguments as for :class:`EntmaxBisectLoss`."""

    def __init__(
        self,
        alpha: Union[float, Tensor] = 2.0,
        n_iter: int = 50,
        ignore_index: int = -100,
        reduction: str = "elementwise_mean",
        label_smoothing: float = 0.0,
        dim: int = -1,
    ) -> None:
        super().__init__(ignore_index, reduction, label_smoothing, dim)
        self.n_iter = n_iter
        set_number(self, "alpha", alpha)

    def forward(self, X: Tensor, target: Tensor) -> Tensor:
        return _normmax_loss(
            X,
            target,
            self.alpha,
            self.dim,
            self.reduction,
            self.ignore_index,
            self.label_smoothing,
        )


class _FixedAlphaLoss(_Loss):
    return_support_size: Final[bool]

    def __init__(
        self,
        alpha: float,
        k: Optional[int],
        ignore_index: int,
        reduction: str,
        return_support_size: bool,
        label_smoothing: float,
        dim: int,
    ) -> None:
        super().__init__(ignore_index, reduction, label_smoothing, dim)
        self.k = k
        self.return_support_size = return_support_size
        self._alpha = alpha

    def forward(self, X: Tensor, target: Tensor):
        loss = entmax_loss(
            X,
            target,
            self._alpha,
            self.dim,
            self.reduction,
            self.ignore_index,
            self.label_smoothing,
        )
        if self.return_support_size:
            _, _, support = entmax_with_threshold(X.detach(), self._alpha, self.dim)
            return loss, support.squeeze(self.dim)
        else:
            return loss


class SparsemaxLoss(_FixedAlphaLoss):
    """The sparsemax loss.

    Args:
        k: accepted for compatibility; the result is exact without it.
        ignore_index, label_smoothing, dim: as for :func:`entmax_loss`.
        reduction: 'elementwise_mean' (or 'mean'), 'sum', 'none'.
        return_support_size: also return the number of classes with p > 0 in every row.
    """

    def __init__(
        self,
        k: Optional[int] = None,
        ignore_index: int = -100,
        reduction: str = "elementwise_mean",
        return_support_size: bool = False,
        label_smoothing: float = 0.0,
        dim: int = -1,
    ) -> None:
        super().__init__(
            2.0, k, ignore_index, reduction, return_support_size, label_smoothing, dim
        )


class Entmax15Loss(_FixedAlphaLoss):
    """The 1.5-entmax loss; arguments as for :class:`SparsemaxLoss`."""

    def __init__(
        self,
        k: Optional[int] = 100,
        ignore_index: int = -100,
        reduction: str = "elementwise_mean",
        return_support_size: bool = False,
        label_smoothing: float = 0.0,
        dim: int = -1,
    ) -> None:
        super().__init__(
            1.5, k, ignore_index, reduction, return_support_size, label_smoothing, dim
        )
