"""Features of a model that are alike, with their candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.block_estimates import Estimates, cold_share, estimate
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.compiler.cuda.templates.template import Template
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, FeatureKind
from gnarl.sw.workloads.embedding.statistics import FeatureStatistics, from_factors

_STEP = 1.25
"""Ratio between numbers that are taken to be different."""

CandidatesOf = Callable[[Feature, int], Iterable[Schedule]]
"""Schedules that a feature may have, with so many threads in a block."""


@dataclass(frozen=True)
class FeatureGroup:
    """Features of equal kind and rows, and of nearly equal statistics: they get equal schedules.

    features
        their numbers.
    example, statistics
        the first of them, and its statistics.
    cold
        see ``cold_share``.
    """

    features: tuple[int, ...]
    example: Feature
    statistics: FeatureStatistics
    estimates: Estimates
    cold: float


def feature_candidates(
    feature: Feature, block_threads: int, workers: str = "blocks"
) -> tuple[Schedule, ...]:
    """Every schedule that can compute the feature, of every template with such workers that suits
    it, in a fixed order.

    Raises ``WorkloadError`` naming feature, dim, types and each template's reason if there is none.
    """
    kinds = [kind for kind in templates().values() if kind.workers == workers]
    candidates = tuple(
        schedule
        for kind in kinds
        if kind.suits(feature)
        for schedule in kind.candidates(feature, block_threads)
    )
    if candidates:
        return candidates
    reasons = []
    for kind in kinds:
        first = Schedule(kind.name, tuple((each.name, each.values[0]) for each in kind.parameters))
        reasons.append(f"{kind.name}: {kind.refusal(first, feature, block_threads)}")
    raise WorkloadError(
        f"feature {feature.name}: no template takes dim {feature.dim} of {feature.table_type} "
        f"with {block_threads} threads a block ({'; '.join(reasons)})"
    )


def group_features(
    model: EmbeddingModel,
    block_threads: int,
    statistics: Sequence[FeatureStatistics] | None = None,
    batch: int = 256,
    candidates_of: CandidatesOf = feature_candidates,
) -> list[FeatureGroup]:
    """Groups features, in the order of their first ones. Without statistics: what the features'
    factors say."""
    if statistics is None:
        expected = {
            factors: from_factors(factors) for factors in {f.factors for f in model.features}
        }
        statistics = [expected[feature.factors] for feature in model.features]
    numbers: dict[tuple[FeatureKind, int, tuple[int | None, ...]], list[int]] = {}
    for number, (feature, known) in enumerate(zip(model.features, statistics, strict=True)):
        numbers.setdefault((feature.kind, feature.rows, _rounded(known)), []).append(number)
    candidates: dict[tuple[FeatureKind, int], tuple[Schedule, ...]] = {}
    estimates: dict[tuple[object, ...], Estimates] = {}
    groups = []
    for (kind, rows, _), members in numbers.items():
        example, known = model.features[members[0]], statistics[members[0]]
        if (kind, rows) not in candidates:
            candidates[kind, rows] = tuple(candidates_of(example, block_threads))
        key = (kind, known, candidates[kind, rows])
        if key not in estimates:
            estimates[key] = estimate(example, candidates[kind, rows], known, block_threads, batch)
        cold = cold_share(example, known, batch)
        groups.append(FeatureGroup(tuple(members), example, known, estimates[key], cold))
    return groups


def _rounded(statistics: FeatureStatistics) -> tuple[int | None, ...]:
    """Equal for statistics that differ by what samples of one distribution may differ."""
    values = (statistics.mean, statistics.std, statistics.coverage)
    return tuple(round(math.log(value, _STEP)) if value > 0 else None for value in values)


@dataclass(frozen=True)
class BlockSize:
    """A configuration with a size of blocks, and a model's features in groups for it."""

    config: CudaConfig
    groups: list[FeatureGroup]


def block_sizes(
    model: EmbeddingModel,
    config: CudaConfig,
    statistics: Sequence[FeatureStatistics] | None = None,
    batch: int = 256,
    candidates_of: CandidatesOf | None = None,
) -> list[BlockSize]:
    """For each size of blocks that a choice is among; arguments are those of ``group_features``.

    Candidates are those of the configuration's workers, unless ``candidates_of`` says else. Sizes
    with which no template takes some feature are left out, unless that is all of them. The
    last results without statistics are kept: estimates of hundreds of groups take seconds. Raises
    ``WorkloadError`` as ``feature_candidates`` does.
    """
    if statistics is None and candidates_of is None:
        return _expected_sizes(model, config, batch, tuple(templates().values()))
    own = partial(feature_candidates, workers=config.workers)
    return _block_sizes(model, config, statistics, batch, candidates_of or own)


@lru_cache(maxsize=8)
def _expected_sizes(
    model: EmbeddingModel, config: CudaConfig, batch: int, _: tuple[Template, ...]
) -> list[BlockSize]:
    """Block sizes estimated from the features' factors, with these templates."""
    own = partial(feature_candidates, workers=config.workers)
    return _block_sizes(model, config, None, batch, own)


def _block_sizes(
    model: EmbeddingModel,
    config: CudaConfig,
    statistics: Sequence[FeatureStatistics] | None,
    batch: int,
    candidates_of: CandidatesOf,
) -> list[BlockSize]:
    sizes: list[BlockSize] = []
    refused: list[WorkloadError] = []
    for sized in config.sized:
        arguments = (sized.block_threads, statistics, batch, candidates_of)
        try:
            sizes.append(BlockSize(sized, group_features(model, *arguments)))
        except WorkloadError as error:
            refused.append(error)
    if not sizes:
        raise refused[0]
    return sizes


def schedule_set(
    model: EmbeddingModel,
    size: BlockSize,
    of_group: Sequence[Schedule],
    blocks_per_sm: int,
    origin: str,
) -> ScheduleSet:
    """The schedules of the whole model, from a schedule for each group."""
    of_feature = {
        number: schedule
        for group, schedule in zip(size.groups, of_group, strict=True)
        for number in group.features
    }
    return ScheduleSet.of(
        [of_feature[number] for number in range(len(of_feature))],
        model=model.digest,
        arch=size.config.arch,
        block_threads=size.config.block_threads,
        blocks_per_sm=blocks_per_sm,
        origin=origin,
    )
