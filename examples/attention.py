"""The attention of a decoder with a sparse mask: each position sees a few others.

Source: Zaheer et al., "Big Bird: Transformers for Longer Sequences", NeurIPS 2020.
"""

import torch


class Attention(torch.nn.Module):
    """A head of attention: softmax(Q·K^T / sqrt(width)) · V, where scores count where the mask is
    true."""

    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, query, key, value):
        scores = query @ key.T * query.shape[1] ** -0.5
        scores = scores.masked_fill(~self.mask, -torch.inf)
        return torch.softmax(scores, dim=-1) @ value


class Block(torch.nn.Module):
    """A head with projections of what comes in, and of what goes out, to which that is added."""

    def __init__(self, width, mask):
        super().__init__()
        self.query = torch.nn.Linear(width, width)
        self.key = torch.nn.Linear(width, width)
        self.value = torch.nn.Linear(width, width)
        self.attention = Attention(mask)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + self.out(self.attention(self.query(x), self.key(x), self.value(x)))


def bigbird():
    """A head of 64 positions, 16 wide."""
    mask = bigbird_mask(length=64, block=8)
    return Attention(mask), tuple(torch.randn(64, 16) for _ in range(3))


def block():
    """A block of 64 positions, 16 wide."""
    mask = bigbird_mask(length=64, block=8)
    return Block(16, mask).eval(), (torch.randn(64, 16),)


def bigbird_mask(length, block, first=1):
    """Truth values [length, length]: a block of positions sees its neighbours, the ``first`` blocks
    and two at random; the first ones see all."""
    torch.manual_seed(0)
    places = torch.arange(length // block)
    seen = (places[:, None] - places).abs() <= 1
    seen[:first] = seen[:, :first] = True
    for row in seen:
        row[torch.randperm(len(places))[:2]] = True
    return seen.repeat_interleave(block, 0).repeat_interleave(block, 1)
