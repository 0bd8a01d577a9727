"""Decides which statements of a nest run in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from gnarl.sw.compiler.sram_compute.tdfg.plan import Step, plan, refusals
from gnarl.sw.compiler.sram_compute.tdfg.shared_locals import assigned_and_used, sharing_locals
from gnarl.sw.workloads.loops.ir.nest import Array, AugmentedStore, Load, Nest, Store
from gnarl.sw.workloads.loops.ir.parts import nodes


@dataclass(frozen=True, eq=False)
class Part:
    """Neighbouring statements of a nest's body, which run in one place.

    nest
        the nest with these alone.
    steps
        what memory does, or would if it did not refuse.
    refusal
        why memory does not, "file:line:column: …"; ``None`` where it does.
    optimised
        the same as ``steps``, cheaper, in several manners, the best first.
    """

    nest: Nest
    steps: tuple[Step, ...]
    refusal: str | None = None
    optimised: tuple[tuple[Step, ...], ...] = ()

    @property
    def plans(self) -> tuple[tuple[Step, ...], ...]:
        """All of these, the best first: which of them is the fastest depends on sizes."""
        return (*self.optimised, self.steps)


def elsewhere(nest: Nest, refusal: str) -> Part:
    """What does not run in memory."""
    return Part(nest, (), refusal)


def with_used_arrays(nest: Nest) -> Nest:
    """Removes arrays that the body does not mention."""
    used = {
        each.array for each in nodes(nest.body) if isinstance(each, Load | Store | AugmentedStore)
    }
    kept = (each for each in nest.parameters if each.name in used or not isinstance(each, Array))
    return replace(nest, parameters=tuple(kept))


def planned(nest: Nest, *, reassociate: bool, serial: bool = False) -> tuple[Part, ...]:
    """A part for each statement of a nest's body; of statements that share locals, the last has
    what memory does for all. ``serial``: as ``plan`` has it. O(statements x depth)."""
    parts = []
    for group in sharing_locals(nest.body):
        own = replace(nest, body=group)
        steps = plan(own, reassociate=reassociate, streams=False, serial=serial)
        refused = refusals(steps)
        reason = refused[0].reason if refused else None
        for number, statement in enumerate(group, 1):
            done = steps if number == len(group) else ()
            parts.append(Part(replace(nest, body=(statement,)), done, reason))
    return tuple(parts)


def placed(nest: Nest, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts in order, of which neighbours run in different places: what memory computes there, all
    else on the core."""
    joined = tuple(
        _joined(list(group)) for _, group in groupby(parts, lambda part: part.refusal is None)
    )
    if len(joined) > 1 and share_locals([part.nest for part in joined]):
        reason = next(part.refusal for part in joined if part.refusal is not None)
        return (elsewhere(nest, reason),)
    return joined


def _joined(parts: list[Part]) -> Part:
    body = tuple(each for part in parts for each in part.nest.body)
    steps = tuple(step for part in parts for step in part.steps)
    manners = zip(*(part.optimised for part in parts), strict=True)
    optimised = tuple(tuple(step for plan in manner for step in plan) for manner in manners)
    refusals = [part.refusal for part in parts if part.refusal is not None]
    refusal = several(refusals) if refusals else None
    return Part(replace(parts[0].nest, body=body), steps, refusal, optimised)


def several(refusals: Iterable[str]) -> str:
    """Refusals as one, each once."""
    return "; ".join(dict.fromkeys(refusals))


def share_locals(nests: Iterable[Nest]) -> bool:
    """Whether one may read what another one has assigned."""
    names = [assigned_and_used(nest.body) for nest in nests]
    return any(
        assigned & mentioned
        for number, (assigned, _) in enumerate(names)
        for other, (_, mentioned) in enumerate(names)
        if other != number
    )
