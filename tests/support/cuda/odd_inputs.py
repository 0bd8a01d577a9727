"""Inputs of bags whose lengths do not go together, and odd ones that do, drawn on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from tests.support.cuda.torch_embedding import dyadic

MODEL = EmbeddingModel(
    "odd",
    (
        Feature("sums", 20, 4),
        Feature("means", 10, 4, "mean"),
        Feature("weighted", 12, 8, weighted=True),
        Feature("maxima", 9, 4, "max"),
    ),
)


@dataclass(frozen=True)
class Bags:
    """What one feature looks up: arguments of ``embedding_bag``."""

    values: torch.Tensor
    offsets: torch.Tensor | None
    weights: torch.Tensor | None

    def changed(self, **parts: torch.Tensor | None) -> Bags:
        return replace(self, **parts)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Kind:
    """One way to be odd.

    change
        of the inputs of a feature.
    refused
        a part of the text, if they are refused; else they are looked up.
    last
        what ``include_last_offset`` must be for it, if that matters.
    feature
        which must be changed, if that matters.
    as_arrays
        whether runs of programs take such inputs, too, to look them up or to refuse them.
    """

    change: Callable[[Bags, np.random.Generator], Bags]
    refused: str = ""
    last: bool | None = None
    feature: str = ""
    as_arrays: bool = True


@dataclass(frozen=True)
class Case:
    """A batch in which one feature is odd. ``by_lengths``: modules are given lengths of bags in
    place of offsets."""

    kind: str
    odd: str
    include_last_offset: bool
    by_lengths: bool
    tables: dict[str, torch.Tensor]
    bags: dict[str, Bags] = field(default_factory=dict)


def _offsets(bags: Bags) -> torch.Tensor:
    assert bags.offsets is not None
    return bags.offsets


def _with_tail(bags: Bags, rng: np.random.Generator) -> Bags:
    """Rows of a tail need not be of the table."""
    tail = torch.from_numpy(rng.integers(0, 1 << 40, int(rng.integers(1, 5))))
    weights = bags.weights
    if weights is not None:
        weights = torch.cat([weights, torch.full(tail.shape, torch.nan)])
    return bags.changed(values=torch.cat([bags.values, tail]), weights=weights)


def _shifted(bags: Bags, rng: np.random.Generator) -> Bags:
    """No offset is beyond the values."""
    return bags.changed(offsets=_offsets(bags).clamp(min=1))


def _decreasing(bags: Bags, rng: np.random.Generator) -> Bags:
    offsets = _offsets(bags).clone()
    offsets[2] = offsets[1] - 1
    return bags.changed(offsets=offsets)


def _at(place: int, value: int) -> Callable[[Bags, np.random.Generator], Bags]:
    def change(bags: Bags, rng: np.random.Generator) -> Bags:
        offsets = _offsets(bags).clone()
        offsets[place] = value
        return bags.changed(offsets=offsets)

    return change


def _weights(count: Callable[[int], int]) -> Callable[[Bags, np.random.Generator], Bags]:
    return lambda bags, rng: bags.changed(weights=torch.ones(count(len(bags.values))))


def _two_dimensional(bags: Bags, rng: np.random.Generator) -> Bags:
    samples = 3
    values = bags.values[:1].expand(samples, 2).contiguous()
    weights = None if bags.weights is None else torch.full((samples, 2), 0.5)
    return Bags(values, None, weights)


def _no_values(bags: Bags, rng: np.random.Generator) -> Bags:
    weights = None if bags.weights is None else bags.weights[:0]
    return Bags(bags.values[:0], torch.zeros_like(_offsets(bags)), weights)


KINDS = {
    "plain": Kind(lambda bags, rng: bags),
    "values past the last offset": Kind(_with_tail, last=True),
    "all values past the last offset": Kind(
        lambda bags, rng: bags.changed(offsets=torch.zeros_like(_offsets(bags))), last=True
    ),
    "no values": Kind(_no_values),
    "last offset beyond the values": Kind(_at(-1, 1000), "must be "),
    "offset beyond 32 bits": Kind(_at(-1, 2**32 + 1), "must be "),
    "offsets begin after 0": Kind(_shifted, "[0] = 1: must be 0"),
    "offsets begin before 0": Kind(_at(0, -1), "[0] = -1: must be 0"),
    "offsets decrease": Kind(_decreasing, "as the one before"),
    "no offsets": Kind(
        lambda bags, rng: bags.changed(offsets=_offsets(bags)[:0]),
        " is empty",
        True,
        as_arrays=False,
    ),
    "another batch size": Kind(
        lambda bags, rng: bags.changed(offsets=torch.cat([_offsets(bags), _offsets(bags)[-1:]])),
        "samples",
        feature="means",
    ),
    "values of 32 bits": Kind(lambda bags, rng: bags.changed(values=bags.values.int())),
    "offsets of 32 bits": Kind(lambda bags, rng: bags.changed(offsets=_offsets(bags).int())),
    "real offsets": Kind(
        lambda bags, rng: bags.changed(offsets=_offsets(bags).float()), "must be "
    ),
    "fewer weights than values": Kind(_weights(lambda n: n - 1), "weights of ", feature="weighted"),
    "more weights than values": Kind(_weights(lambda n: n + 1), "weights of ", feature="weighted"),
    "weights past the last offset only": Kind(
        lambda bags, rng: _with_tail(bags, rng).changed(weights=bags.weights),
        "weights of ",
        True,
        "weighted",
    ),
    "two dimensions": Kind(_two_dimensional, as_arrays=False),
    "two dimensions with offsets": Kind(
        lambda bags, rng: _two_dimensional(bags, rng).changed(offsets=bags.offsets),
        "not supported with values [batch, length]",
        as_arrays=False,
    ),
    "neither offsets nor two dimensions": Kind(
        lambda bags, rng: bags.changed(offsets=None), "neither offsets nor lengths", as_arrays=False
    ),
}


HAVE_LENGTHS = {
    "plain",
    "values past the last offset",
    "all values past the last offset",
    "no values",
    "last offset beyond the values",
    "offset beyond 32 bits",
    "offsets decrease",
}
"""Kinds of which differences of offsets are as odd."""


def drawn(seed: int) -> Case:
    """A case of a random kind."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(KINDS)))
    kind = KINDS[name]
    odd = kind.feature or str(rng.choice([feature.name for feature in MODEL.features]))
    last = bool(rng.integers(2)) if kind.last is None else kind.last
    tables = {feature.name: dyadic(rng, feature.rows, feature.dim) for feature in MODEL.features}
    by_lengths = name in HAVE_LENGTHS and bool(rng.integers(2))
    case = Case(name, odd, last, by_lengths, tables)
    for feature in MODEL.features:
        bags = _bags(feature, last, rng)
        case.bags[feature.name] = kind.change(bags, rng) if feature.name == odd else bags
    return case


def _bags(feature: Feature, last: bool, rng: np.random.Generator) -> Bags:
    """Three samples, the first of which has an index and the last of which has none at times."""
    lengths = rng.integers([1, 0, 0], 5)
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
    count = int(offsets[-1])
    values = torch.from_numpy(rng.integers(0, feature.rows, count))
    weights = torch.from_numpy(rng.integers(1, 9, count).astype(np.float32) / 4)
    return Bags(values, offsets if last else offsets[:-1], weights if feature.weighted else None)


def pytorchs(case: Case, feature: Feature) -> torch.Tensor:
    """What ``embedding_bag`` gives for a feature; raises what it raises.

    Means of values past the last offset are those without them: PyTorch counts them in the divisor,
    though not in the sum.
    """
    bags = case.bags[feature.name]
    values, weights = bags.values, bags.weights
    if bags.offsets is not None and len(bags.offsets) and case.include_last_offset:
        if 0 <= bags.offsets[-1] < len(values) and feature.pooling != "sum":
            values = values[: int(bags.offsets[-1])]
    return torch.nn.functional.embedding_bag(
        values,
        case.tables[feature.name],
        bags.offsets,
        mode=feature.pooling,
        per_sample_weights=weights,
        include_last_offset=case.include_last_offset,
    )
