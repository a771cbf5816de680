"""First and second derivatives, against finite differences in float64."""

import copy
import math

import filigree
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

INF = math.inf


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(2)


def scores(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


MAPS_OF_SCORES = [
    filigree.sparsemax,
    filigree.entmax15,
    filigree.entmax,
    filigree.entmax_bisect,
    lambda X: filigree.entmax_bisect(X, 0.6),
    lambda X: filigree.entmax(X, 1),
    filigree.normmax_bisect,
    lambda X: filigree.normmax_bisect(X, 1.3),
    filigree.budget_bisect,
]


@pytest.mark.parametrize("function", MAPS_OF_SCORES)
def test_gradients_are_right_once_and_twice(function):
    X = scores(4, 6)
    assert gradcheck(function, (X,))
    assert gradgradcheck(function, (X,))


@pytest.mark.parametrize("alpha", (0.2, 0.75, 1.001, 1.2, 1.5, 2, 2.5))
def test_gradients_of_alpha_are_right_once_and_twice(alpha):
    alpha = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
    X = scores(4, 6)
    assert gradcheck(filigree.entmax_bisect, (X, alpha))
    assert gradgradcheck(filigree.entmax_bisect, (X, alpha))


@pytest.mark.parametrize("alpha", (1.1, 1.5, 2.2, 4))
def test_normmax_gradients_of_alpha_are_right_once_and_twice(alpha):
    alpha = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
    X = scores(4, 6)
    assert gradcheck(filigree.normmax_bisect, (X, alpha))
    assert gradgradcheck(filigree.normmax_bisect, (X, alpha))


def test_budget_gradient_of_the_total_is_right():
    total = torch.tensor([[0.7], [1.9], [3.2], [4.6]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(filigree.budget_bisect, (scores(4, 6), total))


@pytest.mark.parametrize("total", (0, 2, 6, 100))
def test_a_budget_that_leaves_no_choice_has_finite_gradients(total):
    X = (10 * torch.arange(12.0).view(2, 6)).requires_grad_()
    filigree.budget_bisect(X, total).square().sum().backward()
    assert torch.equal(X.grad, torch.zeros(2, 6))


@pytest.mark.parametrize(
    "function", (filigree.entmax_bisect, filigree.normmax_bisect, filigree.budget_bisect)
)
def test_gradients_per_row_of_a_tensor_of_numbers(function):
    numbers = torch.tensor([[1.2], [1.5], [2.0], [2.7]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(function, (scores(4, 6), numbers))


def test_masked_scores_get_zero_gradient():
    for function in MAPS_OF_SCORES:
        X = torch.randn(3, 6, dtype=torch.float64)
        X[:, ::2] = -INF
        X.requires_grad_()
        function(X)[:, 1].sum().backward()
        assert (X.grad[:, ::2] == 0).all()
        assert torch.isfinite(X.grad).all()


def test_second_derivatives_are_finite_at_zeros():
    X = torch.tensor([[5.0, 1.0, 0.0]], requires_grad=True)
    for function in (filigree.entmax15, filigree.entmax_bisect):
        (gradient,) = torch.autograd.grad(function(X).square().sum(), X, create_graph=True)
        (second,) = torch.autograd.grad(gradient.sum(), X)
        assert torch.isfinite(second).all()


def alpha_gradient(dtype, alpha):
    X = torch.tensor([[0.3, -1.1, 1.4, 0.2], [2.0, 0.1, -0.4, 0.0]], dtype=dtype)
    weights = torch.tensor([[1.0, 2.0, -1.0, 0.5], [0.3, -2.0, 1.0, 0.0]], dtype=dtype)
    alpha = torch.tensor(alpha, dtype=dtype, requires_grad=True)
    (filigree.entmax_bisect(X, alpha) * weights).sum().backward()
    return alpha.grad.item()


@pytest.mark.parametrize("step", (1e-6, 1e-4, 1e-3, 1e-2))
def test_float32_gradient_of_alpha_holds_near_one(step):
    # In float64 the difference quotient is good to 1e-5 here.
    X = torch.tensor([[0.3, -1.1, 1.4, 0.2], [2.0, 0.1, -0.4, 0.0]], dtype=torch.float64)
    weights = torch.tensor([[1.0, 2.0, -1.0, 0.5], [0.3, -2.0, 1.0, 0.0]], dtype=torch.float64)
    h = 1e-5 if step > 1e-5 else step / 2
    high, low = (
        (filigree.entmax(X, 1 + step + sign * h) * weights).sum().item() for sign in (1, -1)
    )
    # 1 + step is not a float32: ask at the float32 next to it, which is close enough.
    assert alpha_gradient(torch.float32, 1 + step) == pytest.approx((high - low) / (2 * h), rel=1e-2)
    assert alpha_gradient(torch.float32, 1 + step) == pytest.approx(
        alpha_gradient(torch.float64, 1 + step), rel=1e-3
    )


def test_gradient_of_alpha_at_one_is_the_limit_from_above():
    assert alpha_gradient(torch.float64, 1.0) == pytest.approx(
        alpha_gradient(torch.float64, 1 + 1e-7), rel=1e-5
    )


def test_changing_alpha_in_place_after_the_forward_is_noticed():
    X, alpha = scores(3, 5), torch.full((3, 1), 1.3, dtype=torch.float64)
    for function in (filigree.entmax, filigree.entmax_bisect):
        loss = function(X, alpha).square().sum()
        alpha += 0.5
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_gradients_have_the_type_of_what_they_belong_to():
    X = torch.randn(2, 3, 4, 5).bfloat16().requires_grad_()
    alpha = torch.tensor([1.2, 1.5, 1.9], requires_grad=True)
    filigree.entmax(X, alpha)[..., 0].sum().backward()
    assert X.grad.dtype == torch.bfloat16
    assert alpha.grad.dtype == torch.float32 and alpha.grad.shape == (3,)
    assert alpha.grad.abs().min() > 0


def test_a_learned_alpha_learns():
    transform = filigree.AdaptiveAlpha(2)
    before = copy.deepcopy(transform)
    X = torch.randn(1, 2, 3, 6)
    target = filigree.entmax(X, torch.tensor([1.1, 1.9]))
    optimizer = torch.optim.Adam(transform.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        (transform(X) - target).square().sum().backward()
        optimizer.step()
    assert (transform(X) - target).square().sum() < 0.01 * (before(X) - target).square().sum() + 1e-6
