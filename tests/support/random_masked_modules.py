"""Random PyTorch modules that mask scores: forms of masks, of what is masked, and of what follows,
with corners."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch.nn import functional

TRAITS = (
    "added",
    "added input",
    "added to product",
    "as numbers",
    "attention",
    "broadcast",
    "buffer",
    "causal",
    "columns",
    "empty row",
    "filled",
    "full row",
    "heads",
    "input",
    "made inside",
    "nan to num",
    "part",
    "reshaped",
    "size 0",
    "size 1",
    "sparse factor",
    "sum of broadcasts",
    "transposed",
    "twice",
    "two masks",
    "weights",
)
"""What modules may have that is hard to get right."""


@dataclass
class MaskedCase:
    """A module, its inputs, and its traits."""

    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    traits: set[str]


def random_masked_module(seed: int) -> MaskedCase:
    """A module of one or two softmaxes with masks."""
    return _Maker(Random(seed)).case()


def _both(first: Any, second: Any, is_scaled: bool) -> Any:
    """What masks scores by one mask, then by another."""
    factor = 0.5 if is_scaled else 1.0
    return lambda x, m: second(first(x, m) * factor, m)


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._noise = torch.Generator().manual_seed(random.getrandbits(32))
        self._traits: set[str] = set()

    def case(self) -> MaskedCase:
        random = self._random
        rows, columns = (random.choice((0, 1, 1, 2, 2, 3, 3, 5, 5, 6, 6)) for _ in range(2))
        if random.random() < 0.5:
            columns = rows
        width = random.choice((1, 2, 4))
        heads = random.choice(((), (), (), (2,), (1,), (2, 1)))
        if heads:
            self._traits.add("heads")
        if 0 in (rows, columns):
            self._traits.add("size 0")
        if 1 in (rows, columns, width, *heads):
            self._traits.add("size 1")
        query = self._numbers(*heads, rows, width)
        key, value = (self._numbers(*heads, columns, width) for _ in range(2))
        if not heads and random.random() < 0.25:
            self._traits.add("sparse factor")
            query = (query * (self._numbers(rows, width) > 0)).to_sparse_csr()
        mask = self._mask(rows, columns, heads)
        is_twice = random.random() < 0.3
        steps = [self._steps(mask, rows, columns) for _ in range(1 + is_twice)]
        if is_twice:
            self._traits.add("twice")
        mask, taken = self._wrapped(mask)
        is_input = self._traits & {"input"}

        def forward(self: Any, query: Any, key: Any, value: Any, mask: Any = None) -> Any:
            known = taken(self.mask if mask is None else mask)
            return tuple(step(query, key, value, known) for step in steps)

        made = type("Masked", (torch.nn.Module,), {"forward": forward})()
        inputs = (query, key, value)
        if "added input" in self._traits:
            inputs = (*inputs, torch.zeros(mask.shape).masked_fill(~mask, -math.inf))
        elif is_input:
            inputs = (*inputs, mask)
        else:
            made.register_buffer("mask", mask)
        return MaskedCase(made, inputs, self._traits)

    def _numbers(self, *shape: int) -> torch.Tensor:
        """Multiples of 1/4, large ones too, so that some weights are 0."""
        scale = self._random.choice((4, 4, 4, 0.5))
        return torch.randint(-8, 9, shape, generator=self._noise).double() / scale

    def _mask(self, rows: int, columns: int, heads: tuple[int, ...]) -> torch.Tensor:
        random = self._random
        shape: tuple[int, ...] = (rows, columns)
        kind = random.random()
        if kind < 0.15 and columns > 1:
            shape = random.choice(((columns,), (1, columns)))
            self._traits.add("broadcast")
        elif kind < 0.3 and rows > 1:
            shape = (rows, 1)
            self._traits.add("broadcast")
        elif kind < 0.45 and heads:
            shape = (*heads, rows, columns)
        elif kind < 0.6 and heads and max(heads) > 1:
            shape = (*(1 for _ in heads[1:]), *heads[:1], 1, columns)[-len(heads) - 2 :]
            shape = (*heads, 1, columns)
        density = random.choice((0.0, 0.3, 0.6, 1.0))
        mask = torch.rand(shape, generator=self._noise) < density
        place = random.choice(("input", "buffer"))
        self._traits.add(place)
        if place == "input" and not mask.all() and random.random() < 0.4:
            self._traits.add("added input")
        if not mask.expand(*heads, rows, columns).any(-1).all():
            self._traits.add("empty row")
        if mask.expand(*heads, rows, columns).all(-1).any():
            self._traits.add("full row")
        return mask

    def _wrapped(self, mask: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """What a module has in place of a mask, and what makes the mask of it."""
        random = self._random
        rest = torch.rand(1, generator=self._noise) < 0.5
        if random.random() < 0.15:
            self._traits.add("reshaped")
            shape = mask.shape
            return mask.flatten(), lambda known: known.reshape(shape)
        if random.random() < 0.2:
            self._traits.add("part")
            dim = random.randrange(mask.dim())
            more = rest.expand(*(1 if at == dim else size for at, size in enumerate(mask.shape)))
            length, start = mask.shape[dim], random.choice((0, 1))
            parts = [more, mask] if start else [mask, more]
            if random.random() < 0.5:
                return torch.cat(parts, dim), lambda known: known.narrow(dim, start, length)
            return torch.cat(parts, dim), lambda known: known.split(
                [start, length, 1 - start], dim
            )[1]
        return mask, lambda known: known

    def _steps(self, mask: torch.Tensor, rows: int, columns: int) -> Any:
        random = self._random
        masking, scoring = self._masking(mask, rows, columns), self._scoring()
        if random.random() < 0.2:
            self._traits.add("two masks")
            masking = _both(masking, self._masking(mask, rows, columns), random.random() < 0.5)
        if random.random() < 0.2 and "sparse factor" not in self._traits:
            self._traits.add("attention")
            if "added input" not in self._traits and random.random() < 0.3:
                self._traits.add("as numbers")
                return lambda q, k, v, m: functional.scaled_dot_product_attention(
                    q, k, v, m.to(q.dtype)
                )
            return lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m)
        if random.random() < 0.15 and not self._traits & {"sparse factor", "heads"}:
            self._traits.add("added to product")
            return self._added_to_product(masking, scoring)
        dim = -1
        if random.random() < 0.2:
            self._traits.add("columns")
            dim = -2
        ending = random.choice(("product", "product", "weights", "safe product", "safe weights"))
        if "safe" in ending:
            self._traits.add("nan to num")
        if "weights" in ending:
            self._traits.add("weights")

        def step(query: Any, key: Any, value: Any, known: Any) -> Any:
            weights = masking(scoring(query, key), known).softmax(dim)
            if ending == "safe weights":
                return torch.nan_to_num(weights)
            if ending == "weights":
                return weights
            product = (weights if dim == -1 else weights.mT) @ (
                value if dim == -1 else query_of(query)
            )
            return torch.nan_to_num(product) if ending == "safe product" else product

        def query_of(query: Any) -> Any:
            return query.to_dense() if query.layout is not torch.strided else query

        return step

    def _added_to_product(self, masking: Any, scoring: Any) -> Any:
        """What adds masked scores, their softmax, or a comparison of theirs to a product."""
        kind = self._random.choice(("scores", "weights", "comparison"))

        def step(query: Any, key: Any, value: Any, known: Any) -> Any:
            if kind == "comparison":
                added = (value[:, :1] > 0).to(value.dtype).T
            else:
                added = masking(scoring(query, key), known)
            return torch.addmm(
                added.softmax(-1) if kind == "weights" else added, query, value.T, beta=0.5
            )

        return step

    def _scoring(self) -> Any:
        random = self._random
        kind = random.random()
        factor = random.choice((1, 0.5, 0.25))
        if kind < 0.25 and "sparse factor" not in self._traits:
            self._traits.add("sum of broadcasts")
            return lambda q, k: functional.leaky_relu(q.sum(-1, True) + k.sum(-1, True).mT, 0.25)
        if kind < 0.5:
            return lambda q, k: (q @ k.mT) * factor
        return lambda q, k: q @ k.mT

    def _masking(self, mask: torch.Tensor, rows: int, columns: int) -> Any:
        random = self._random
        is_transposed = mask.dim() == 2 and rows == columns and random.random() < 0.3
        is_transposed = is_transposed and mask.shape == (rows, columns)
        if is_transposed:
            self._traits.add("transposed")

        def turned(known: Any) -> Any:
            return known.T if is_transposed else known

        kinds = ["fill", "fill", "complement", "where"]
        if "added input" in self._traits:
            kinds = ["added input"]
        if "buffer" in self._traits:
            kinds += ["added", "added"]
        if rows == columns:
            kinds.append("causal")
        kind = random.choice(kinds)
        if kind == "causal":
            self._traits |= {"causal", "made inside"}
            return lambda x, m: (
                x + torch.triu(torch.full((rows, columns), -math.inf, dtype=x.dtype), diagonal=1)
            )
        if kind == "added input":
            if random.random() < 0.5:
                return lambda x, m: turned(m) + x
            return lambda x, m: x + turned(m)[None].to(x.dtype)[0]
        if kind == "added":
            self._traits.add("added")
            bias = random.choice((0.0, 0.5))
            return lambda x, m: (
                x + torch.full(mask.shape, bias, dtype=x.dtype).masked_fill(~m, -math.inf)
            )
        self._traits.add("filled")
        if kind == "complement":
            return lambda x, m: x.masked_fill(turned(m), -math.inf)
        if kind == "where":
            return lambda x, m: torch.where(turned(m), x, -math.inf)
        return lambda x, m: x.masked_fill(~turned(m), -math.inf)
