"""The maps by plain bisection in float64, one row at a time: slow, and written apart from the library."""

import math

import torch


def _root(excess, low, high):
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2


def entmax(row, alpha):
    z = row.double()
    if alpha == 1:
        return torch.softmax(z, 0)
    power = 1 / (alpha - 1)
    z = (alpha - 1) * z

    def p(tau):
        return torch.where(z > tau, z - tau, torch.zeros_like(z)).clamp_min(0) ** power * (z > tau)

    if alpha > 1:
        tau = _root(lambda t: p(t).sum() - 1, z.max() - 1, z.max())
    else:  # every z − τ is positive, and the sum grows with τ
        tau = _root(lambda t: 1 - p(t).sum(), z.min() - len(z) ** (1 - alpha) - 1, z.min() - 1e-300)
    return p(tau)


def normmax(row, alpha):
    z = row.double()

    def x(tau):
        return (z - tau).clamp_min(0)

    tau = _root(lambda t: (x(t) ** (alpha / (alpha - 1))).sum() - 1, z.max() - 1, z.max())
    p = x(tau) ** (1 / (alpha - 1)) * (z > tau)
    return p / p.sum()


def budget(row, total):
    z = row.double()
    tau = _root(lambda t: (z - t).clamp(0, 1).sum() - total, z.min() - 1, z.max())
    return (z - tau).clamp(0, 1)


def rows(function, scores, numbers):
    """``function`` of every row along the last dimension; ``numbers`` broadcasts with size 1 there."""
    flat = scores.reshape(-1, scores.shape[-1])
    numbers = torch.as_tensor(numbers, dtype=torch.float64).expand(*scores.shape[:-1], 1).reshape(-1)
    results = [function(row, number.item()) for row, number in zip(flat, numbers)]
    return torch.stack(results).reshape(scores.shape)


def entropy(p, alpha):
    """H_α, the Tsallis entropy of the paper."""
    p = p[p > 0]
    if alpha == 1:
        return -(p * p.log()).sum().item()
    return (1 - (p**alpha).sum().item()) / (alpha * (alpha - 1))


def loss(logits, target, alpha):
    """The Fenchel-Young loss of one row: H_α(p) + ⟨p, z⟩ − z_target."""
    z = logits.double()
    p = entmax(z[z > -math.inf], alpha)
    return entropy(p, alpha) + (p * z[z > -math.inf]).sum().item() - z[target].item()
