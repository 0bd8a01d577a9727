"""Blocks that bring two operands together: intersections and unions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from gnarl.hw.sam.token import EMPTY
from gnarl.sw.runtime.sam.model.lookup import expand
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Site, Steps, Stream, index_type
from gnarl.sw.workloads.refusals import first_true

# Fibers are numbered above the bits of a token.
_FIBER_SHIFT = 34


def intersect(site: Site, inputs: Inputs) -> Done:
    """What both lanes have."""
    merged = _Merged(site, inputs)
    outputs = merged.common()
    step = merged.steps_of_intersection()
    first = np.flatnonzero(np.diff(step, prepend=step.dtype.type(-1)))
    gives = dict.fromkeys(outputs, step[merged.both])
    return Done(outputs, Steps(int(step[-1]) + 1, _needs(merged, first), gives))


def union(site: Site, inputs: Inputs) -> Done:
    """What either lane has; the other's reference is an empty token."""
    merged = _Merged(site, inputs)
    return Done(merged.every(), Steps(len(merged), _needs(merged, slice(None))))


def _needs(merged: _Merged, at: np.ndarray | slice) -> dict[str, np.ndarray]:
    """The heads of both lanes."""
    left, right = (head[at] for head in merged.heads)
    return {"crd0": left, "ref0": left, "crd1": right, "ref1": right}


class _Merged:
    """The tokens of two lanes in the order in which a joiner sees them, equal ones as one.

    both
        which of them both lanes have.
    """

    def __init__(self, site: Site, inputs: Inputs) -> None:
        crd0, ref0, crd1, ref1 = (inputs[name] for name in ("crd0", "ref0", "crd1", "ref1"))
        site.require_same(crd0, ref0, ("crd0", "ref0"))
        site.require_same(crd1, ref1, ("crd1", "ref1"))
        _require_same_stops(site, crd0, crd1)
        self._crds = crd0.tokens, crd1.tokens
        self._refs = ref0.tokens, ref1.tokens
        few = int(len(crd1) < len(crd0))
        keys = [_keys(site, crd, name) for crd, name in ((crd0, "crd0"), (crd1, "crd1"))]
        before = np.searchsorted(keys[1 - few], keys[few])
        is_common = keys[1 - few][np.minimum(before, len(keys[1 - few]) - 1)] == keys[few]
        own = np.flatnonzero(is_common)
        common = own, before[own]
        self._common = common if few == 0 else common[::-1]
        # Places of the shorter lane's tokens, among which equal ones of the other count once.
        places = before + np.arange(len(before)) - (np.cumsum(is_common) - is_common)
        self.both = places[own]
        count = len(crd0) + len(crd1) - len(own)
        has, other_has = np.zeros(count, bool), np.ones(count, bool)
        has[places] = True
        other_has[places[~is_common]] = False
        self._has = (has, other_has) if few == 0 else (other_has, has)

    def __len__(self) -> int:
        return len(self._has[0])

    @cached_property
    def heads(self) -> tuple[np.ndarray, ...]:
        """For each lane, the place of the token it offers when each is seen."""
        kind = index_type(len(self))
        return tuple(np.cumsum(has, dtype=kind) - has for has in self._has)

    def common(self) -> dict[str, np.ndarray]:
        """Tokens of the outputs that both lanes have."""
        left, right = self._common
        refs = self._refs[0][left], self._refs[1][right]
        return {"out_crd": self._crds[0][left], "out_ref0": refs[0], "out_ref1": refs[1]}

    def every(self) -> dict[str, np.ndarray]:
        """Tokens of the outputs that either lane has."""
        crd, *refs = (np.full(len(self), EMPTY) for _ in range(3))
        for lane, has in enumerate(self._has):
            crd[has] = self._crds[lane]
            refs[lane][has] = self._refs[lane]
        return {"out_crd": crd, "out_ref0": refs[0], "out_ref1": refs[1]}

    def steps_of_intersection(self) -> np.ndarray:
        """The step in which each is taken: two neighbours, one of each lane, may go together."""
        has0, has1 = self._has
        alone = has0 ^ has1
        follows = np.zeros(len(self), bool)
        follows[1:] = alone[1:] & alone[:-1] & (has0[1:] != has0[:-1])
        distance = np.arange(len(self), dtype=index_type(len(self)))
        distance -= np.maximum.accumulate(np.where(follows, 0, distance))
        return np.cumsum(distance % 2 == 0, dtype=distance.dtype) - 1


def _require_same_stops(site: Site, crd0: Stream, crd1: Stream) -> None:
    left, right = crd0.tokens[crd0.ends], crd1.tokens[crd1.ends]
    if len(left) != len(right):
        site.fail(f"crd0 has {len(left) - 1} stops and crd1 has {len(right) - 1}: must be the same")
    if (at := first_true(left != right)) is not None:
        levels = [int(tokens[at]) & 15 for tokens in (left, right)]
        site.fail(f"fiber {at} ends in S{levels[0]} in crd0 and in S{levels[1]} in crd1")


def _keys(site: Site, crd: Stream, name: str) -> np.ndarray:
    """Numbers that ascend in a lane."""
    keys = crd.fiber << _FIBER_SHIFT | crd.tokens
    if (at := first_true(keys[1:] <= keys[:-1])) is not None:
        before, token = crd.tokens[at : at + 2]
        site.fail(
            f"token {at + 1} of {name} is {_shown(token)} after {_shown(before)}: coordinates must "
            "ascend"
        )
    return keys


def _shown(token: np.int64) -> str:
    return "N" if token == EMPTY else str(token)


def bitvectorintersect(site: Site, inputs: Inputs) -> Done:
    """The coordinates whose bits are set in both lanes."""
    return _bitvector_join(site, inputs, intersect)


def bitvectorunion(site: Site, inputs: Inputs) -> Done:
    """The coordinates whose bits are set in either lane."""
    return _bitvector_join(site, inputs, union)


def _bitvector_join(site: Site, inputs: Inputs, join: Callable[[Site, Inputs], Done]) -> Done:
    lanes: dict[str, Stream] = {}
    places = []
    for lane in "01":
        names = f"bv{lane}", f"ref{lane}"
        crd, ref, words = expand(site, inputs[names[0]], inputs[names[1]], names)
        lanes |= {f"crd{lane}": Stream(crd), f"ref{lane}": Stream(ref)}
        places.append(words)
    joined = join(site, lanes)
    # A step for each token that comes out, when the words of both lanes are there.
    needs: dict[str, np.ndarray] = {}
    for lane, words in zip("01", places, strict=True):
        heads = joined.steps.needs[f"crd{lane}"]
        gives = joined.steps.gives.get("out_crd")
        at = words[heads if gives is None else heads[gives]]
        needs |= {f"bv{lane}": at, f"ref{lane}": at}
    return Done(joined.outputs, Steps(len(joined.outputs["out_crd"]), needs))
