"""Blocks that repeat, hold and drop tokens, and those between coordinates and points."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.hw.sam.token import DONE
from gnarl.sw.runtime.sam.model.tokens import STOP, Done, Inputs, Parents, Site, Stream


def repsiggen(site: Site, inputs: Inputs) -> Done:
    """A signal for each token: data, the same stop, or done."""
    crd = inputs["crd"]
    return Done({"out_repsig": np.where(crd.is_data, 0, crd.tokens)})


def repeat(site: Site, inputs: Inputs) -> Done:
    """Each reference for every signal of its fiber."""
    ref, repsig = inputs["ref"], inputs["repsig"]
    out = _repeated(site, ref, repsig, ("ref", "repsig"))
    site.require_stops(Parents(ref), repsig, ("ref", "repsig"))
    return Done({"out_ref": out})


def _repeated(site: Site, refs: Stream, signals: Stream, names: tuple[str, str]) -> np.ndarray:
    """The repeated references."""
    parents = Parents(refs)
    site.require_levels(parents.stops)
    site.require_fibers(parents, signals, names)
    empty = ~parents.given & (signals.lengths[:-1] > 0)
    if empty.any() or signals.lengths[-1]:
        at = int(np.argmax(np.append(empty, True)))
        site.fail(f"fiber {at} of {names[1]} has data, but {names[0]} has no token for it")
    lengths = signals.lengths[:-1] + 1
    out = np.empty(len(signals), np.int64)
    out[:-1] = np.repeat(refs.tokens[parents.heads], lengths)
    out[signals.stops] = parents.stops
    out[-1] = DONE
    return out


def crdhold(site: Site, inputs: Inputs) -> Done:
    """Each outer coordinate for every inner one of its fiber."""
    outer, inner = inputs["outer"], inputs["inner"]
    site.require_stops(Parents(outer), inner, ("outer", "inner"))
    held = _repeated(site, outer, inner, ("outer", "inner"))
    return Done({"out_outer": held, "out_inner": inner.tokens})


def crddrop(site: Site, inputs: Inputs) -> Done:
    """The outer coordinates whose inner fiber has something; the inner stream as it is."""
    outer, inner = inputs["outer"], inputs["inner"]
    parents = Parents(outer)
    site.require_stops(parents, inner, ("outer", "inner"))
    kept = np.ones(len(outer), bool)
    kept[parents.heads] = (inner.lengths[:-1] > 0) | ~parents.given
    return Done({"out_outer": outer.tokens[kept], "out_inner": inner.tokens})


def valdrop(site: Site, inputs: Inputs) -> Done:
    """The pairs whose value is not 0."""
    crd, val = inputs["crd"], inputs["val"]
    site.require_same(crd, val, ("crd", "val"))
    bits, format = site.words_of("val", val), parse_format(site.format)
    if isinstance(format, FloatFormat):
        bits = bits & np.uint32((1 << format.width - 1) - 1)
    kept = (bits != 0).any(axis=1)
    kept[val.ends] = True
    return Done({"out_crd": crd.tokens[kept], "out_val": val.tokens[kept]})


def crdtopoint(site: Site, inputs: Inputs) -> Done:
    """The outer and the inner coordinate of each inner one, without stops."""
    held = crdhold(site, inputs)
    inner = inputs["inner"]
    kept = np.ones(len(inner), bool)
    kept[inner.stops] = False
    return Done({name: tokens[kept] for name, tokens in held.outputs.items()})


def pointtocrd(site: Site, inputs: Inputs) -> Done:
    """Points of ascending outer coordinate as two levels, of one fiber of fibers."""
    outer, inner = inputs["outer"], inputs["inner"]
    if len(outer.stops) or len(inner.stops):
        site.fail("points have no stops: both streams must be data and a done token")
    if len(outer) != len(inner):
        site.fail(f"outer has {len(outer)} tokens, inner has {len(inner)}: must be the same")
    points = len(outer) - 1
    first = np.flatnonzero(np.diff(outer.tokens[:-1], prepend=-1))
    # A stop comes before each new outer coordinate but the first, and at the end.
    ends = np.append(first[1:], points) + np.arange(max(len(first), 1))
    is_data = np.ones(points + len(ends) + 1, bool)
    is_data[ends] = is_data[-1] = False
    out_inner = np.full(len(is_data), STOP)
    out_inner[is_data] = inner.tokens[:-1]
    out_inner[ends[-1]] = STOP + 1
    out_inner[-1] = DONE
    out_outer = np.concatenate([outer.tokens[first], [STOP, DONE]])
    return Done({"out_outer": out_outer, "out_inner": out_inner})
