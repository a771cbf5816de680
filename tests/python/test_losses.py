"""The losses, against their definition and PyTorch's cross-entropy."""

import copy
import io
import math
import pickle
from functools import partial

import filigree
import oracle
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

INF = math.inf
LOSSES = [
    filigree.SparsemaxLoss,
    filigree.Entmax15Loss,
    filigree.SparsemaxBisectLoss,
    filigree.EntmaxBisectLoss,
    filigree.NormmaxBisectLoss,
    filigree.EntmaxLoss,
    partial(filigree.EntmaxLoss, 1),
    partial(filigree.EntmaxBisectLoss, nn.Parameter(torch.tensor(1.3, dtype=torch.float64))),
]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(5)


def logits(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("alpha", (1, 1.001, 1.3, 1.5, 2, 3))
def test_loss_is_its_definition(alpha):
    X = 2 * torch.randn(5, 7, dtype=torch.float64)
    y = torch.tensor([0, 6, 2, 3, 3])
    expected = torch.tensor([oracle.loss(x, c, alpha) for x, c in zip(X, y)], dtype=torch.float64)
    assert torch.allclose(filigree.entmax_bisect_loss(X, y, alpha), expected, atol=1e-9)
    if alpha == 1.5:
        assert torch.allclose(filigree.entmax15_loss(X, y), expected, atol=1e-9)
    if alpha == 2:
        assert torch.allclose(filigree.sparsemax_loss(X, y, k=3), expected, atol=1e-9)
        assert torch.allclose(filigree.sparsemax_bisect_loss(X, y), expected, atol=1e-9)


@pytest.mark.parametrize("alpha", (1.2, 2, 5))
def test_normmax_loss_is_its_definition(alpha):
    X = 2 * torch.randn(5, 7, dtype=torch.float64)
    y = torch.tensor([0, 6, 2, 3, 3])
    P = oracle.rows(oracle.normmax, X, alpha)
    expected = (P * X).sum(-1) + 1 - P.norm(alpha, -1) - X[range(5), y]
    assert torch.allclose(filigree.normmax_bisect_loss(X, y, alpha), expected, atol=1e-9)


@pytest.mark.parametrize("reduction", ("none", "mean", "sum"))
@pytest.mark.parametrize("label_smoothing", (0.0, 0.1))
@pytest.mark.parametrize("ignore_index", (-100, -1, 2))
def test_alpha_1_is_cross_entropy(reduction, label_smoothing, ignore_index):
    X = logits(4, 6, 5)
    y = torch.randint(6, (4, 5))
    y[1, 2:] = ignore_index
    arguments = dict(
        reduction=reduction, label_smoothing=label_smoothing, ignore_index=ignore_index
    )
    ours, theirs = X.detach().clone().requires_grad_(), X.detach().clone().requires_grad_()
    loss = filigree.entmax_loss(ours, y, 1, dim=1, **arguments)
    expected = F.cross_entropy(theirs, y, **arguments)
    assert torch.allclose(loss, expected)
    loss.sum().backward()
    expected.sum().backward()
    assert torch.allclose(ours.grad, theirs.grad)


@pytest.mark.parametrize("Loss", LOSSES)
def test_reductions(Loss):
    X, y = torch.randn(6, 4, dtype=torch.float64), torch.randint(4, (6,))
    rows = Loss(reduction="none")(X, y)
    assert rows.shape == (6,) and (rows >= 0).all()
    assert torch.allclose(Loss(reduction="sum")(X, y), rows.sum())
    assert torch.allclose(Loss(reduction="mean")(X, y), rows.mean())
    assert torch.allclose(Loss(reduction="elementwise_mean")(X, y), rows.mean())
    assert torch.allclose(Loss()(X, y), rows.mean())


@pytest.mark.parametrize("Loss", LOSSES)
@pytest.mark.parametrize("ignore_index", (-100, -1, 2))
def test_ignored_rows_count_for_nothing(Loss, ignore_index):
    X, y = logits(6, 4), torch.tensor([0, 1, 3, 1, 0, 3])
    kept = Loss()(X[:4], y[:4])
    y[4:] = ignore_index
    assert torch.allclose(Loss(ignore_index=ignore_index)(X, y), kept)
    rows = Loss(ignore_index=ignore_index, reduction="none")(X, y)
    assert (rows[4:] == 0).all()
    rows.sum().backward()
    assert (X.grad[4:] == 0).all() and (X.grad[:4] != 0).any()


@pytest.mark.parametrize("Loss", LOSSES)
def test_targets_of_any_rank(Loss):
    X, y = torch.randn(2, 3, 4, 5), torch.randint(5, (2, 3, 4))
    rows = Loss(reduction="none")(X.view(-1, 5), y.view(-1))
    assert torch.allclose(Loss(reduction="none")(X, y), rows.view(2, 3, 4))
    assert torch.allclose(Loss()(X, y), rows.mean())
    moved = Loss(reduction="none", dim=1)(X.movedim(-1, 1), y)
    assert torch.allclose(moved, rows.view(2, 3, 4))


@pytest.mark.parametrize("Loss", LOSSES)
def test_gradients_are_right_once_and_twice(Loss):
    y = torch.tensor([0, 1, 3, -100])
    for smoothing in (0.0, 0.2):
        loss = Loss(label_smoothing=smoothing)
        X = logits(4, 5)
        assert gradcheck(loss, (X, y))
        assert gradgradcheck(loss, (X, y))


@pytest.mark.parametrize(
    "function", (filigree.entmax_bisect_loss, filigree.entmax_loss, filigree.normmax_bisect_loss)
)
@pytest.mark.parametrize("alpha", (1.1, 1.5, 2.0, 2.7))
def test_the_gradient_reaches_alpha(function, alpha):
    y = torch.tensor([0, 1, 3])
    alpha = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda X, a: function(X, y, a), (logits(3, 5), alpha))
    assert gradgradcheck(lambda X, a: function(X, y, a), (logits(3, 5), alpha))


@pytest.mark.parametrize("Loss", LOSSES)
def test_masked_classes_leave_the_loss_finite(Loss):
    X, y = torch.randn(3, 6), torch.tensor([0, 1, 2])
    X[:, 3:] = -INF
    X.requires_grad_()
    loss = Loss(reduction="none")
    assert torch.allclose(loss(X, y), loss(X[:, :3], y), atol=1e-6)
    smoothed = Loss(label_smoothing=0.1)(X, y)
    assert torch.isfinite(smoothed)
    smoothed.backward()
    assert torch.isfinite(X.grad).all() and (X.grad[:, 3:] == 0).all()


@pytest.mark.parametrize("Loss", LOSSES)
def test_special_rows(Loss):
    X = torch.tensor([[-INF, -INF, -INF], [1, 2, 3], [math.nan, 0, 1], [0, 1, -INF]])
    X.requires_grad_()
    rows = Loss(reduction="none")(X, torch.tensor([1, 1, 1, 2]))
    assert rows[0] == 0 and torch.isfinite(rows[1]) and rows[2].isnan() and rows[3] == INF
    rows[:2].sum().backward()
    assert (X.grad[0] == 0).all() and torch.isfinite(X.grad[1]).all()


@pytest.mark.parametrize("Loss", LOSSES)
def test_a_certain_row_has_loss_zero(Loss):
    X = torch.tensor([[30.0, 0, 1]])
    assert Loss()(X, torch.tensor([0])) < 1e-9
    assert Loss(reduction="none")(X, torch.tensor([0])) >= 0


@pytest.mark.parametrize("Loss", LOSSES)
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_half_types_are_computed_in_float32(Loss, dtype):
    X, y = torch.randn(3, 50).to(dtype), torch.tensor([0, 1, 2])
    assert torch.equal(Loss()(X, y), Loss()(X.float(), y).to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(Loss()(X, y), Loss()(X.float(), y))


def test_functions_return_a_tensor_unless_asked_for_the_support_size():
    X, y = torch.randn(4, 6), torch.tensor([0, 1, 2, 3])
    for loss, transform in (
        (filigree.sparsemax_loss, filigree.sparsemax),
        (filigree.entmax15_loss, filigree.entmax15),
    ):
        assert isinstance(loss(X, y), torch.Tensor)
        values, support = loss(X, y, return_support_size=True)
        assert torch.equal(values, loss(X, y))
        assert torch.equal(support, (transform(X) > 0).sum(-1))
    for Loss in (filigree.SparsemaxLoss, filigree.Entmax15Loss):
        value, support = torch.jit.script(Loss(return_support_size=True))(X, y)
        assert torch.equal(value, Loss()(X, y)) and support.shape == (4,)


@pytest.mark.parametrize("Loss", LOSSES)
def test_modules_can_be_scripted_saved_copied_and_pickled(Loss):
    X, y = torch.randn(4, 6), torch.tensor([0, 1, 2, -100])
    module = Loss(reduction="sum", label_smoothing=0.1)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    buffer.seek(0)
    copies = [torch.jit.load(buffer), copy.deepcopy(module), pickle.loads(pickle.dumps(module))]
    assert all(torch.equal(copied(X, y), module(X, y)) for copied in copies)


def test_functions_can_be_scripted():
    X, y = torch.randn(4, 6), torch.tensor([0, 1, 2, 3])
    for function in (
        filigree.sparsemax_loss,
        filigree.entmax15_loss,
        filigree.sparsemax_bisect_loss,
        filigree.entmax_bisect_loss,
        filigree.normmax_bisect_loss,
        filigree.entmax_loss,
    ):
        assert torch.equal(torch.jit.script(function)(X, y), function(X, y))


def test_wrong_arguments_are_refused():
    X, y = torch.randn(4, 6), torch.tensor([0, 1, 2, 6])
    for Loss in LOSSES:
        with pytest.raises(ValueError, match="reduction must be"):
            Loss(reduction="average")
        with pytest.raises(IndexError, match="target 6 is outside"):
            Loss()(X, y)
        with pytest.raises(RuntimeError, match="does not fit"):
            Loss()(X, y[:3])
    with pytest.raises(RuntimeError, match="alpha must be at least 1"):
        filigree.normmax_bisect_loss(X, y.clamp(max=5), 0.5)
