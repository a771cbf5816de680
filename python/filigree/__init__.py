"""α-entmax for PyTorch: attention weights and losses with exact zeros, and a learned α.

``entmax`` is the transform at any α ≥ 1; ``sparsemax``, ``entmax15``, ``entmax_bisect`` and the
other names of the entmax package are here as well, so that ``from filigree import entmax15`` takes
the place of ``from entmax import entmax15``. ``AdaptiveAlpha`` learns one α for every head.
"""

from . import _library

_library.load()  # before the modules below, which name the operators

from ._version import __version__  # noqa: E402
from .activations import Entmax15, Sparsemax, entmax15, sparsemax  # noqa: E402
from .adaptive import AdaptiveAlpha  # noqa: E402
from .attention import (  # noqa: E402
    entmax_attention,
    entmax_attention_with_rows,
    entmax_attention_with_weights,
)
from .losses import (  # noqa: E402
    Entmax15Loss,
    EntmaxBisectLoss,
    EntmaxLoss,
    NormmaxBisectLoss,
    SparsemaxBisectLoss,
    SparsemaxLoss,
    entmax15_loss,
    entmax_bisect_loss,
    entmax_loss,
    normmax_bisect_loss,
    sparsemax_bisect_loss,
    sparsemax_loss,
)
from .root_finding import (  # noqa: E402
    BudgetBisect,
    EntmaxBisect,
    NormmaxBisect,
    SparsemaxBisect,
    budget_bisect,
    entmax_bisect,
    normmax_bisect,
    sparsemax_bisect,
)
from .transform import attention_weights, entmax, entmax_with_threshold  # noqa: E402

__all__ = [
    "AdaptiveAlpha",
    "BudgetBisect",
    "Entmax15",
    "Entmax15Loss",
    "EntmaxBisect",
    "EntmaxBisectLoss",
    "EntmaxLoss",
    "NormmaxBisect",
    "NormmaxBisectLoss",
    "Sparsemax",
    "SparsemaxBisect",
    "SparsemaxBisectLoss",
    "SparsemaxLoss",
    "attention_weights",
    "budget_bisect",
    "entmax",
    "entmax15",
    "entmax15_loss",
    "entmax_attention",
    "entmax_attention_with_rows",
    "entmax_attention_with_weights",
    "entmax_bisect",
    "entmax_bisect_loss",
    "entmax_loss",
    "entmax_with_threshold",
    "normmax_bisect",
    "normmax_bisect_loss",
    "sparsemax",
    "sparsemax_bisect",
    "sparsemax_bisect_loss",
    "sparsemax_loss",
    "__version__",
]
