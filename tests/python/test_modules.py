"""The modules: what they share with PyTorch's own (scripts, pickles, copies, parameters, autocast)."""

import copy
import io
import pickle

import filigree
import pytest
import torch
from torch import nn


def transforms():
    return [
        filigree.Sparsemax(),
        filigree.Sparsemax(dim=1, k=3),
        filigree.Entmax15(),
        filigree.SparsemaxBisect(),
        filigree.SparsemaxBisect(n_iter=24),
        filigree.EntmaxBisect(),
        filigree.EntmaxBisect(alpha=2),
        filigree.EntmaxBisect(torch.tensor([1.2, 1.5, 1.9])),
        filigree.EntmaxBisect(nn.Parameter(torch.full((3,), 1.3))),
        filigree.NormmaxBisect(),
        filigree.NormmaxBisect(nn.Parameter(torch.tensor(1.7))),
        filigree.BudgetBisect(),
        filigree.BudgetBisect(torch.tensor(1.5)),
        filigree.AdaptiveAlpha(3),
    ]


@pytest.fixture
def X():
    torch.manual_seed(3)
    return torch.randn(2, 3, 4, 5)


def saved_and_loaded(script):
    buffer = io.BytesIO()
    torch.jit.save(script, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


@pytest.mark.parametrize("module", transforms(), ids=str)
def test_modules_can_be_scripted_saved_and_loaded(module, X):
    script = saved_and_loaded(torch.jit.script(module))
    assert torch.equal(script(X), module(X))


@pytest.mark.parametrize("module", transforms(), ids=str)
def test_modules_can_be_traced(module, X):
    trace = saved_and_loaded(torch.jit.trace(module, (torch.zeros_like(X),)))
    assert torch.equal(trace(X), module(X))


@pytest.mark.parametrize("module", transforms(), ids=str)
def test_modules_can_be_copied_and_pickled(module, X):
    for copied in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(copied(X), module(X))
        assert [name for name, _ in copied.named_parameters()] == [
            name for name, _ in module.named_parameters()
        ]


@pytest.mark.parametrize("Map", (filigree.Sparsemax, filigree.Entmax15))
def test_modules_return_the_support_size_on_request(Map, X):
    module = Map(dim=1, return_support_size=True)
    script = saved_and_loaded(torch.jit.script(module))
    for P, support in (module(X), script(X)):
        assert torch.equal(P, Map(dim=1)(X))
        assert torch.equal(support, (P > 0).sum(1, keepdim=True))


@pytest.mark.parametrize(
    "function",
    (
        filigree.sparsemax,
        filigree.entmax15,
        filigree.entmax,
        filigree.entmax_with_threshold,
        filigree.sparsemax_bisect,
        filigree.entmax_bisect,
        filigree.normmax_bisect,
        filigree.budget_bisect,
    ),
)
def test_functions_can_be_scripted(function, X):
    actual, expected = torch.jit.script(function)(X), function(X)
    if isinstance(expected, torch.Tensor):
        actual, expected = [actual], [expected]
    assert all(torch.equal(a, b) for a, b in zip(actual, expected))


def test_scripts_take_numbers_and_tensors_for_alpha(X):
    @torch.jit.script
    def both(X: torch.Tensor, alpha: torch.Tensor):
        return filigree_entmax(X, 1.3), filigree_entmax(X, alpha)

    number, tensor = both(X, torch.tensor(1.3, dtype=torch.float64))
    assert torch.equal(number, tensor)


filigree_entmax = filigree.entmax  # scripts find functions among the globals of their module


def test_a_parameter_alpha_belongs_to_the_module(X):
    module = filigree.EntmaxBisect(alpha=nn.Parameter(torch.full((3,), 1.3)))
    module(X).square().sum().backward()
    assert set(module.state_dict()) == {"alpha"}
    assert module.alpha.grad.shape == (3,)


def test_a_tensor_alpha_follows_the_module_and_stays_out_of_the_state_dict(X):
    module = filigree.EntmaxBisect(torch.tensor([1.2, 1.5, 1.9])).double()
    assert module.alpha.dtype == torch.float64
    assert not module.state_dict()


def test_adaptive_alpha_follows_its_definition(X):
    torch.manual_seed(4)
    module = filigree.AdaptiveAlpha(2000)
    assert abs(module.a.mean().item()) < 0.1 and abs(module.a.std().item() - 1) < 0.1
    module = filigree.AdaptiveAlpha(3, low=1.5, high=4)
    assert torch.allclose(module.alpha, 1.5 + 2.5 * torch.sigmoid(module.a))
    assert torch.equal(module(X), filigree.entmax(X, module.alpha))
    assert list(module.state_dict()) == ["a"]


def test_adaptive_alpha_takes_other_layouts(X):
    module = filigree.AdaptiveAlpha(3)
    first = copy.deepcopy(module)
    first.head_dim = 0
    assert torch.equal(first(X[0]), module(X)[0])
    rows_first = copy.deepcopy(module)
    rows_first.head_dim, rows_first.dim = 2, 1  # [batch, key, head, query]
    assert torch.equal(rows_first(X.permute(0, 3, 1, 2)), module(X).permute(0, 3, 1, 2))


def test_adaptive_alpha_stays_exact_in_a_half_precision_model(X):
    module = filigree.AdaptiveAlpha(3).bfloat16()
    assert module.alpha.dtype == torch.float32
    assert module(X.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("low,high", ((0.5, 2), (2, 2), (2, 1)))
def test_adaptive_alpha_refuses_a_range_that_is_none(low, high):
    with pytest.raises(ValueError, match="alpha must range"):
        filigree.AdaptiveAlpha(3, low, high)


def under_autocast(device, dtype, X):
    results = []
    for module in transforms():
        module, X = module.to(device), X.to(device)
        with torch.autocast(device, dtype=dtype):
            half = torch.matmul(X, torch.eye(5, device=device))
            assert half.dtype == dtype
            results.append((module(half), module(half.float())))
    return results


def test_autocast_computes_in_float32_and_returns_it(X):
    for actual, expected in under_autocast("cpu", torch.bfloat16, X):
        assert actual.dtype == torch.float32
        assert torch.equal(actual, expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_autocast_on_cuda_computes_in_float32_and_returns_it(dtype, X):
    for actual, expected in under_autocast("cuda", dtype, X):
        assert actual.dtype == torch.float32
        assert torch.equal(actual, expected)


def test_gradients_under_autocast_reach_half_precision_inputs():
    X = torch.randn(2, 5).bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        filigree.entmax15(X)[:, 0].sum().backward()
    assert X.grad.dtype == torch.bfloat16 and X.grad.abs().sum() > 0
