"""Lets features share code where that costs them little: kinds and schedules in use are branches of
the fused kernel, each of which takes time to compile and room in the instruction cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.workloads.embedding.model import FeatureKind

MAXIMUM_CODES = 96
"""Branches that a choice keeps to where it can."""

TOLERANCES = (0.02, 0.05, 0.1, 0.2)
"""How much more than its least a group's schedule may cost, tried in this order."""

Options = tuple[FeatureKind, Mapping[Schedule, float]]
"""What a group of features may run: their kind, and what each schedule costs them."""


def share_codes(options: Sequence[Options]) -> list[Schedule]:
    """For each group a schedule that costs hardly more than its best, few different ones in all.

    Deterministic; of schedules that suit equally many groups, those that cost least. Greedy set
    cover: O(codes * schedules * groups of a kind).
    """
    for tolerance in TOLERANCES:
        picks = _cover(options, tolerance)
        codes = {(kind, pick) for (kind, _), pick in zip(options, picks, strict=True)}
        if len(codes) <= MAXIMUM_CODES:
            break
    return picks


def _cover(options: Sequence[Options], tolerance: float) -> list[Schedule]:
    """Kind by kind, the schedule that suits most groups first."""
    suited: dict[FeatureKind, dict[Schedule, dict[int, float]]] = {}
    for group, (kind, costs) in enumerate(options):
        most = min(costs.values()) * (1 + tolerance)
        for schedule, cost in costs.items():
            if cost <= most:
                suited.setdefault(kind, {}).setdefault(schedule, {})[group] = cost
    picks: dict[int, Schedule] = {}
    for of_kind in suited.values():
        while of_kind:
            best = min(of_kind, key=lambda schedule: _rating(of_kind[schedule]))  # noqa: B023
            covered = of_kind.pop(best)
            picks.update(dict.fromkeys(covered, best))
            for costs_of in of_kind.values():
                for group in covered:
                    costs_of.pop(group, None)
            for schedule in [each for each, groups in of_kind.items() if not groups]:
                del of_kind[schedule]
    return [picks[group] for group in range(len(options))]


def _rating(costs: Mapping[int, float]) -> tuple[int, float]:
    return -len(costs), sum(costs.values())
