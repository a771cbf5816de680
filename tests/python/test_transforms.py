"""What the transforms return: values, masks, types, dimensions, thresholds."""

import math

import filigree
import oracle
import pytest
import torch

INF = math.inf
EVERY_MAP = [
    filigree.sparsemax,
    filigree.entmax15,
    filigree.entmax,
    filigree.sparsemax_bisect,
    filigree.entmax_bisect,
    lambda X, dim=-1: filigree.entmax_bisect(X, 0.5, dim),
    lambda X, dim=-1: filigree.entmax_bisect(X, 1, dim),
    filigree.normmax_bisect,
    lambda X, dim=-1: filigree.budget_bisect(X, 1, dim),
]


def close(actual, expected, tolerance=1e-12):
    return torch.allclose(actual.double(), expected.double(), rtol=0, atol=tolerance)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


@pytest.mark.parametrize("alpha", (0.1, 0.5, 0.99, 1, 1 + 1e-6, 1.01, 1.3, 1.5, 1.9, 2, 3, 10))
def test_entmax_is_the_root_of_its_equation(alpha):
    X = 3 * torch.randn(6, 9, dtype=torch.float64)
    expected = oracle.rows(oracle.entmax, X, alpha)
    assert close(filigree.entmax_bisect(X, alpha), expected, 1e-9)
    if alpha >= 1:
        assert close(filigree.entmax(X, alpha), expected, 1e-9)


@pytest.mark.parametrize("alpha", (1.05, 1.2, 1.5, 2, 3, 10))
def test_normmax_is_the_root_of_its_equation(alpha):
    X = 3 * torch.randn(6, 9, dtype=torch.float64)
    expected = oracle.rows(oracle.normmax, X, alpha)
    assert close(filigree.normmax_bisect(X, alpha), expected, 1e-9)


@pytest.mark.parametrize("total", (0, 0.5, 1, 2, 3.7, 8, 9))
def test_budget_is_the_root_of_its_equation(total):
    X = 3 * torch.randn(6, 9, dtype=torch.float64)
    P = filigree.budget_bisect(X, total)
    assert close(P, oracle.rows(oracle.budget, X, total), 1e-9)
    assert close(P.sum(-1), torch.full((6,), float(total), dtype=torch.float64))


def test_sparsemax_and_entmax15_are_entmax_at_their_alpha():
    X = torch.randn(4, 30)
    assert torch.equal(filigree.sparsemax(X), filigree.entmax(X, 2))
    assert torch.equal(filigree.sparsemax_bisect(X, n_iter=1), filigree.entmax(X, 2))
    assert torch.equal(filigree.entmax15(X, k=3), filigree.entmax(X, 1.5))
    assert torch.equal(filigree.entmax_bisect(X, n_iter=1), filigree.entmax15(X))


def test_alpha_1_is_softmax():
    X = torch.randn(5, 8)
    for alpha in (1, 1.0, torch.tensor(1.0), torch.ones(5, 1)):
        assert close(filigree.entmax_bisect(X, alpha), torch.softmax(X, -1), 1e-6)


def test_normmax_up_to_alpha_1_gives_the_mass_to_the_largest():
    X = torch.tensor([[1.0, 3, 3, 0], [5, -INF, 2, 1]])
    expected = torch.tensor([[0, 0.5, 0.5, 0], [1, 0, 0, 0]])
    for alpha in (0.3, 1):
        assert torch.equal(filigree.normmax_bisect(X, alpha), expected)


@pytest.mark.parametrize("function", EVERY_MAP)
@pytest.mark.parametrize("dim", (0, 1, 2, -1, -2, -3))
def test_every_dimension_is_the_last_one_moved(function, dim):
    X = torch.randn(3, 4, 5, dtype=torch.float64)
    moved = function(X.movedim(dim, -1)).movedim(-1, dim)
    assert close(function(X, dim=dim), moved)


@pytest.mark.parametrize("function", (filigree.sparsemax, filigree.entmax15))
@pytest.mark.parametrize("dim", (0, 1, -2, -3))
def test_negative_dimensions_work_with_k(function, dim):
    X = torch.randn(3, 4, 5)
    assert torch.equal(function(X, dim=dim, k=2), function(X, dim=dim))


@pytest.mark.parametrize("function", EVERY_MAP)
def test_a_mask_is_as_if_the_entry_were_absent(function):
    X = torch.randn(4, 7, dtype=torch.float64)
    X[:, 4:] = -INF
    P = function(X)
    assert close(P[:, :4], function(X[:, :4]))
    assert (P[:, 4:] == 0).all()


@pytest.mark.parametrize("function", EVERY_MAP)
def test_a_row_masked_throughout_is_zero_with_zero_gradient(function):
    X = torch.randn(3, 5, dtype=torch.float64)
    X[1] = -INF
    X.requires_grad_()
    P = function(X)
    assert (P[1] == 0).all()
    P.square().sum().backward()
    assert (X.grad[1] == 0).all()
    assert torch.isfinite(X.grad).all()


def test_a_row_of_the_lowest_finite_number_is_uniform():
    X = torch.full((2, 4), torch.finfo(torch.float32).min)
    for function in EVERY_MAP:
        assert close(function(X), torch.full((2, 4), 0.25), 1e-6)


@pytest.mark.parametrize("function", EVERY_MAP)
def test_a_nan_stays_in_its_row(function):
    X = torch.randn(3, 5)
    clean = function(X)
    X[1, 2] = math.nan
    P = function(X)
    assert P[1].isnan().all()
    assert torch.equal(P[[0, 2]], clean[[0, 2]])


@pytest.mark.parametrize("function", EVERY_MAP)
def test_entries_of_infinity_share_the_mass(function):
    P = function(torch.tensor([[1.0, INF, 2, INF], [0, 0, 0, 0]]))
    assert torch.equal(P[0], torch.tensor([0, 0.5, 0, 0.5]))


@pytest.mark.parametrize("function", EVERY_MAP)
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_half_types_are_computed_in_float32(function, dtype):
    X = torch.randn(4, 50).to(dtype)
    P = function(X)
    assert P.dtype == dtype
    assert torch.equal(P, function(X.float()).to(dtype))


@pytest.mark.parametrize("function", EVERY_MAP)
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16, torch.float32))
def test_large_negative_logits_are_no_trouble(function, dtype):
    X = torch.tensor([[-1000.0, -1002, -1008, -2000]], dtype=dtype)
    assert torch.isfinite(function(X)).all()
    assert torch.equal(function(X), function(X + 1000))


def test_a_bfloat16_row_over_a_vocabulary_sums_to_one():
    X = torch.randn(2, 32000).bfloat16()
    assert close(filigree.entmax15(X).float().sum(-1), torch.ones(2), 5e-3)


@pytest.mark.parametrize("function", EVERY_MAP)
def test_empty_and_single_entries(function):
    assert function(torch.empty(0, 4)).shape == (0, 4)
    assert function(torch.empty(4, 0)).shape == (4, 0)
    assert torch.equal(function(torch.tensor([[3.0], [-9.0]])), torch.ones(2, 1))


def test_one_alpha_per_head():
    X = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    alpha = torch.tensor([1.0, 1.4, 2.0])
    expected = torch.stack([filigree.entmax(X[:, h], alpha[h]) for h in range(3)], dim=1)
    for given in (alpha, alpha.view(1, 3, 1, 1), alpha.view(3, 1, 1)):
        assert close(filigree.entmax(X, given), expected)
        assert close(filigree.entmax_bisect(X, given), expected)


def test_alphas_on_both_sides_of_one():
    X = torch.randn(4, 6, dtype=torch.float64)
    alpha = torch.tensor([[0.3], [1.0], [0.9], [1.7]], dtype=torch.float64)
    assert close(filigree.entmax_bisect(X, alpha), oracle.rows(oracle.entmax, X, alpha), 1e-9)


@pytest.mark.parametrize(
    "call",
    (
        lambda X: filigree.entmax(X, 0.5),
        lambda X: filigree.entmax(X, math.nan),
        lambda X: filigree.entmax_bisect(X, -0.5),
        lambda X: filigree.entmax(X, torch.full((7,), 1.5)),
        lambda X: filigree.budget_bisect(X, torch.full((2, 2), 1.5)),
        lambda X: filigree.entmax(X.long(), 1.5),
        lambda X: filigree.normmax_bisect(X.long()),
    ),
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(RuntimeError, match="entmax|normmax|budget"):
        call(torch.randn(3, 5))


@pytest.mark.parametrize("alpha", (1.2, 1.5, 2))
def test_threshold_and_support_size(alpha):
    X = torch.randn(2, 3, 40, dtype=torch.float64)
    P, tau, support = filigree.entmax_with_threshold(X, alpha)
    assert close(P, ((alpha - 1) * X - tau).clamp_min(0) ** (1 / (alpha - 1)), 1e-9)
    assert torch.equal(support, (P > 0).sum(-1, keepdim=True))
    assert close(filigree.entmax(X, alpha), P)


def test_support_size_on_request():
    X = torch.randn(3, 20)
    for function in (filigree.sparsemax, filigree.entmax15):
        P, support = function(X, dim=0, return_support_size=True)
        assert torch.equal(P, function(X, dim=0))
        assert torch.equal(support, (P > 0).sum(0, keepdim=True))


def test_attention_weights_equal_their_parts():
    scores = torch.randn(2, 3, 5, 5, dtype=torch.float64, requires_grad=True)
    alpha = torch.tensor([1.0, 1.5, 1.8], dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 2])
    seen = (torch.arange(5) < lengths[:, None])[:, None, None, :] & torch.ones(5, 5).tril().bool()
    expected = filigree.entmax((0.5 * scores).masked_fill(~seen, -INF), alpha)
    actual = filigree.attention_weights(scores, alpha, 0.5, lengths, causal=True)
    assert close(actual, expected)
    cotangent = torch.randn_like(scores)
    for a, b in zip(
        torch.autograd.grad(actual, (scores, alpha), cotangent),
        torch.autograd.grad(expected, (scores, alpha), cotangent),
    ):
        assert close(a, b)


def test_attention_weights_drop_the_asked_for_share_and_script():
    scores = torch.zeros(4, 2, 50, 50)
    scripted = torch.jit.script(filigree.attention_weights)
    dropped = scripted(scores, 1.5, 1.0, None, False, 0.3, 7)
    assert torch.equal(dropped, filigree.attention_weights(scores, dropout=0.3, seed=7))
    assert not torch.equal(dropped, filigree.attention_weights(scores, dropout=0.3, seed=8))
    assert abs((dropped == 0).double().mean() - 0.3) < 0.02
    assert close(dropped[dropped > 0], torch.tensor(0.02 / 0.7), 1e-6)
