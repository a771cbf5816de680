"""Uses the package; the argument is the folder that it must come from."""

import sys
from pathlib import Path

import filigree
import torch

assert Path(sys.argv[1]).resolve() in Path(filigree.__file__).resolve().parents, filigree.__file__
X = torch.tensor([[1.0, 1.0, -5.0]], requires_grad=True)
assert filigree.entmax15(X).tolist() == [[0.5, 0.5, 0.0]]
filigree.EntmaxBisectLoss()(X, torch.tensor([0])).backward()
assert X.grad.tolist() == [[-0.5, 0.5, 0.0]]
