"""Two decoders of a language model whose positions see a few others.

Source: Brown et al., "Language Models are Few-Shot Learners", NeurIPS 2020 (GPT-3 Small: 12 heads,
each 64 wide); Zaheer et al., "Big Bird: Transformers for Longer Sequences", NeurIPS 2020.
"""

import torch


class Decoder(torch.nn.Module):
    """Attention of several heads, then a layer of four times the width, each behind a norm and
    added to what came in."""

    def __init__(self, width, heads, mask):
        super().__init__()
        self.heads = heads
        self.register_buffer("mask", mask)
        self.before_attention = torch.nn.LayerNorm(width)
        self.query = torch.nn.Linear(width, width)
        self.key = torch.nn.Linear(width, width)
        self.value = torch.nn.Linear(width, width)
        self.out = torch.nn.Linear(width, width)
        self.before_wide = torch.nn.LayerNorm(width)
        self.wide = torch.nn.Linear(width, 4 * width)
        self.narrow = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.out(self.attended(self.before_attention(x)))
        return x + self.narrow(torch.nn.functional.gelu(self.wide(self.before_wide(x))))

    def attended(self, x):
        length, width = x.shape
        query, key, value = (
            part(x).reshape(length, self.heads, width // self.heads).permute(1, 0, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(1, 2) * (width // self.heads) ** -0.5
        scores = scores.masked_fill(~self.mask, -torch.inf)
        found = torch.softmax(scores, dim=-1) @ value
        return found.permute(1, 0, 2).reshape(length, width)


def small():
    """Two decoders of two heads, 8 wide, on 32 positions in blocks of 8."""
    return model(length=32, width=16, heads=2, block=8)


def gpt3():
    """Two decoders of GPT-3 Small on 1,024 positions in blocks of 64, for which arrays must have
    rows: --set array_words=4194304."""
    return model(length=1024, width=768, heads=12, block=64)


def model(length, width, heads, block):
    """Decoders with random weights, and random positions."""
    torch.manual_seed(0)
    mask = bigbird_mask(length, block)
    network = torch.nn.Sequential(*(Decoder(width, heads, mask) for _ in range(2)))
    return network.eval(), (torch.randn(length, width),)


def bigbird_mask(length, block):
    """Truth values [length, length]: a block of positions sees its neighbours, the first two
    blocks, which see all, and two at random."""
    torch.manual_seed(0)
    places = torch.arange(length // block)
    seen = (places[:, None] - places).abs() <= 1
    seen[:2] = seen[:, :2] = True
    for row in seen:
        row[torch.randperm(len(places))[:2]] = True
    return seen.repeat_interleave(block, 0).repeat_interleave(block, 1)
