"""The attention of a decoder with a sparse mask: each position sees a few others.

Source: Zaheer et al., "Big Bird: Transformers for Longer Sequences", NeurIPS 2020.
"""

import torch


class Attention(torch.nn.Module):
    """A head of attention: softmax(Q·K^T / sqrt(width)) · V, where Q, K and V are projections, and
    scores count where the mask is true."""

    def __init__(self, width, mask):
        super().__init__()
        self.query = torch.nn.Linear(width, width)
        self.key = torch.nn.Linear(width, width)
        self.value = torch.nn.Linear(width, width)
        self.scale = width**-0.5
        self.register_buffer("mask", mask)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).T * self.scale
        scores = scores.masked_fill(~self.mask, -torch.inf)
        return torch.softmax(scores, dim=-1) @ self.value(x)


class Head(torch.nn.Module):
    """A head of attention alone, of queries, keys and values, with the mask as an input."""

    def forward(self, query, key, value, mask):
        scores = query @ key.T * query.shape[1] ** -0.5
        scores = scores.masked_fill(~mask, -torch.inf)
        return torch.softmax(scores, dim=-1) @ value


def bigbird():
    """64 positions, 16 wide, in blocks of 8: a block sees its neighbours, the first block and two
    at random; the first one sees all."""
    torch.manual_seed(0)
    mask = bigbird_mask(length=64, block=8)
    return Attention(16, mask).eval(), (torch.randn(64, 16),)


def head():
    """The same without projections."""
    torch.manual_seed(0)
    mask = bigbird_mask(length=64, block=8)
    return Head(), (*(torch.randn(64, 16) for _ in range(3)), mask)


def bigbird_mask(length, block):
    """Truth values [length, length]."""
    blocks = torch.arange(length // block)
    near = (blocks[:, None] - blocks).abs() <= 1
    near[0] = near[:, 0] = True
    for row in near:
        row[torch.randperm(len(blocks))[:2]] = True
    return near.repeat_interleave(block, 0).repeat_interleave(block, 1)
