"""Blocks that bring two operands together: intersections and unions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnarl.hw.sam.token import EMPTY
from gnarl.sw.runtime.sam.model.lookup import expand
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Site, Steps, Stream
from gnarl.sw.workloads.refusals import first_true

# Fibers are numbered above the bits of a token.
_FIBER_SHIFT = 34


def intersect(site: Site, inputs: Inputs) -> Done:
    """What both lanes have."""
    merged = _Merged(site, inputs)
    outputs = merged.take(merged.both)
    step = merged.steps_of_intersection()
    first = np.flatnonzero(np.diff(step, prepend=-1))
    gives = dict.fromkeys(outputs, step[merged.both])
    return Done(outputs, Steps(int(step[-1]) + 1, _needs(merged, first), gives))


def union(site: Site, inputs: Inputs) -> Done:
    """What either lane has; the other's reference is an empty token."""
    merged = _Merged(site, inputs)
    every = np.arange(len(merged))
    return Done(merged.take(every), Steps(len(merged), _needs(merged, every)))


def _needs(merged: _Merged, at: np.ndarray) -> dict[str, np.ndarray]:
    """The heads of both lanes."""
    left, right = merged.heads[0][at], merged.heads[1][at]
    return {"crd0": left, "ref0": left, "crd1": right, "ref1": right}


class _Merged:
    """The tokens of two lanes in the order in which a joiner sees them, equal ones as one.

    both
        which of them both lanes have.
    heads
        for each lane, the place of the token it offers when each is seen.
    """

    def __init__(self, site: Site, inputs: Inputs) -> None:
        crd0, ref0, crd1, ref1 = (inputs[name] for name in ("crd0", "ref0", "crd1", "ref1"))
        site.require_same(crd0, ref0, ("crd0", "ref0"))
        site.require_same(crd1, ref1, ("crd1", "ref1"))
        _require_same_stops(site, crd0, crd1)
        self._refs = ref0.tokens, ref1.tokens
        keys = [_keys(site, crd, name) for crd, name in ((crd0, "crd0"), (crd1, "crd1"))]
        count = len(crd0)
        merged = np.concatenate(keys)
        order = np.argsort(merged, kind="stable")
        merged = merged[order]
        first = np.flatnonzero(np.diff(merged, prepend=-1))
        self._crd = merged[first] & (1 << _FIBER_SHIFT) - 1
        place = order[first]
        self._in0 = place < count
        # Equal keys lie side by side, the one of lane 0 before the other.
        double = np.diff(first, append=len(merged)) == 2
        self._in1 = double | ~self._in0
        self.both = np.flatnonzero(double)
        self.heads = tuple(np.cumsum(lane) - lane for lane in (self._in0, self._in1))

    def __len__(self) -> int:
        return len(self._crd)

    def take(self, at: np.ndarray) -> dict[str, np.ndarray]:
        """Tokens of the outputs, of those merged tokens."""
        refs = []
        for lane, present in enumerate((self._in0, self._in1)):
            taken = self._refs[lane][self.heads[lane][at]]
            refs.append(np.where(present[at], taken, EMPTY))
        return {"out_crd": self._crd[at], "out_ref0": refs[0], "out_ref1": refs[1]}

    def steps_of_intersection(self) -> np.ndarray:
        """The step in which each is taken: two neighbours, one of each lane, may go together."""
        alone = np.ones(len(self), bool)
        alone[self.both] = False
        follows = np.zeros(len(self), bool)
        follows[1:] = alone[1:] & alone[:-1] & (self._in0[1:] != self._in0[:-1])
        begins = np.where(follows, 0, np.arange(len(self)))
        distance = np.arange(len(self)) - np.maximum.accumulate(begins)
        return np.cumsum(distance % 2 == 0) - 1


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
