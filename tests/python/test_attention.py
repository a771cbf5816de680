"""entmax_attention against the transform between two products."""

import io
import math

import pytest
import torch

import filigree

HEADS, ALPHAS = 4, torch.tensor([1.0, 1.2, 1.5, 2.0])


def tensors(queries=20, keys=30, dtype=torch.float64):
    torch.manual_seed(0)
    lengths = [queries, keys, keys]
    return [torch.randn(2, HEADS, n, 16, dtype=torch.float64).to(dtype) for n in lengths]


def by_parts(query, key, value, alpha, mask=None):
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    return filigree.entmax(scores, alpha) @ value


def gradients(function, query, key, value, alpha):
    leaves = [t.detach().requires_grad_() for t in (query, key, value, alpha)]
    function(*leaves).square().sum().backward()
    return [leaf.grad for leaf in leaves]


def test_output_and_gradients_are_those_of_its_parts():
    inputs = [*tensors(), ALPHAS.double()]
    torch.testing.assert_close(filigree.entmax_attention(*inputs), by_parts(*inputs))
    actual = gradients(filigree.entmax_attention, *inputs)
    for a, e in zip(actual, gradients(by_parts, *inputs)):
        torch.testing.assert_close(a, e)


def test_masks_mean_what_they_say():
    query, key, value = tensors()
    beyond = torch.arange(30) >= torch.tensor([30, 11]).view(2, 1, 1, 1)
    after = torch.arange(30) > torch.arange(20).unsqueeze(1) + 10
    expected = by_parts(query, key, value, 1.5, beyond | after)
    actual = filigree.entmax_attention(
        query, key, value, 1.5, key_lengths=torch.tensor([30, 11]), causal=True
    )
    torch.testing.assert_close(actual, expected)
    bias = torch.zeros(2, 1, 20, 30, dtype=torch.float64).masked_fill(beyond | after, -math.inf)
    torch.testing.assert_close(filigree.entmax_attention(query, key, value, 1.5, bias=bias), expected)


def test_weights_come_dense_and_as_rows():
    query, key, value = tensors(dtype=torch.float32)
    output, weights = filigree.entmax_attention_with_weights(query, key, value, ALPHAS)
    torch.testing.assert_close(weights @ value, output)
    same, offsets, keys, values = filigree.entmax_attention_with_rows(query, key, value, ALPHAS)
    assert torch.equal(same, output)
    rows = torch.sparse_csr_tensor(offsets, keys, values, (2 * HEADS * 20, 30))
    assert torch.equal(rows.to_dense().view_as(weights), weights)


def test_scripts():
    class Attention(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return filigree.entmax_attention(q, k, v, 1.5, causal=True)

    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Attention()), file)
    file.seek(0)
    inputs = tensors()
    assert torch.equal(torch.jit.load(file)(*inputs), Attention()(*inputs))


def test_half_types_and_autocast():
    inputs = tensors(dtype=torch.bfloat16)
    wide = [t.float() for t in inputs]
    expected = filigree.entmax_attention(*wide, ALPHAS)
    assert torch.equal(filigree.entmax_attention(*inputs, ALPHAS), expected.bfloat16())
    with torch.autocast("cpu"):
        assert torch.equal(filigree.entmax_attention(*inputs, ALPHAS), expected)


def test_what_does_not_fit_is_named():
    query, key, value = tensors()
    with pytest.raises(RuntimeError, match="one per head"):
        filigree.entmax_attention(query, key, value, torch.ones(3))
    with pytest.raises(RuntimeError, match="scale must be positive"):
        filigree.entmax_attention(query, key, value, scale=0.0)
