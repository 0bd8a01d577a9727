"""Blocks that bring two operands together: intersections and unions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnarl.hw.sam.token import EMPTY
from gnarl.sw.runtime.sam.model.lookup import expand
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Site, Stream
from gnarl.sw.workloads.refusals import first_true

# Fibers are numbered above the bits of a token.
_FIBER_SHIFT = 34


def intersect(site: Site, inputs: Inputs) -> Done:
    """What both lanes have."""
    return Done(_Merged(site, inputs).common())


def union(site: Site, inputs: Inputs) -> Done:
    """What either lane has; the other's reference is an empty token."""
    return Done(_Merged(site, inputs).every())


class _Merged:
    """The tokens of two lanes in the order in which a joiner sees them, equal ones as one."""

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
        count = len(crd0) + len(crd1) - len(own)
        has, other_has = np.zeros(count, bool), np.ones(count, bool)
        has[places] = True
        other_has[places[~is_common]] = False
        self._has = (has, other_has) if few == 0 else (other_has, has)

    def __len__(self) -> int:
        return len(self._has[0])

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
    for lane in "01":
        names = f"bv{lane}", f"ref{lane}"
        crd, ref = expand(site, inputs[names[0]], inputs[names[1]], names)
        lanes |= {f"crd{lane}": Stream(crd), f"ref{lane}": Stream(ref)}
    return join(site, lanes)
