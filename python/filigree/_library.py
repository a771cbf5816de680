"""Loads the operators, torch.ops.filigree, into PyTorch."""

from pathlib import Path

import torch

_PATH = Path(__file__).parent / "libfiligree_torch.so"


def _is_loaded() -> bool:
    try:
        return hasattr(torch.ops.filigree, "entmax")
    except RuntimeError:  # how older versions of PyTorch say that there is no such operator
        return False


def load() -> None:
    """Registers the operators, unless this process has them already.

    An extension module that links the C++ library statically brings them too, and no operator may
    be registered twice.
    """
    if _is_loaded():
        return
    try:
        torch.ops.load_library(str(_PATH))
    except OSError as error:
        raise ImportError(
            f"{_PATH} does not fit PyTorch {torch.__version__} ({error}): "
            "build and install filigree again with the PyTorch that is to use it"
        ) from error
