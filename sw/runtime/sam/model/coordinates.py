"""Blocks that repeat, hold and drop tokens, and those between coordinates and points."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.hw.sam.token import DONE
from gnarl.sw.runtime.sam.model.tokens import STOP, Done, Inputs, Parents, Site, Steps, Stream


def repsiggen(site: Site, inputs: Inputs) -> Done:
    """A signal for each token: data, the same stop, or done."""
    crd = inputs["crd"]
    signals = np.where(crd.is_data, 0, crd.tokens)
    return Done({"out_repsig": signals}, Steps(len(crd)))


def repeat(site: Site, inputs: Inputs) -> Done:
    """Each reference for every signal of its fiber."""
    ref, repsig = inputs["ref"], inputs["repsig"]
    out, needs = _repeated(site, ref, repsig, ("ref", "repsig"))
    site.require_stops(Parents(ref), repsig, ("ref", "repsig"))
    return Done({"out_ref": out}, Steps(len(out), {"ref": needs}))


def _repeated(
    site: Site, refs: Stream, signals: Stream, names: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    """The repeated references, and the place of the reference that each of them is."""
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
    needs = np.full(len(signals), len(refs) - 1)
    needs[:-1] = np.repeat(parents.heads, lengths)
    return out, needs


def crdhold(site: Site, inputs: Inputs) -> Done:
    """Each outer coordinate for every inner one of its fiber."""
    outer, inner = inputs["outer"], inputs["inner"]
    parents = Parents(outer)
    site.require_stops(parents, inner, ("outer", "inner"))
    held, needs = _repeated(site, outer, inner, ("outer", "inner"))
    # A stop is known by what follows the coordinate.
    needs[inner.stops] += parents.given
    steps = Steps(len(inner), {"outer": needs})
    return Done({"out_outer": held, "out_inner": inner.tokens}, steps)


def crddrop(site: Site, inputs: Inputs) -> Done:
    """The outer coordinates whose inner fiber has something; the inner stream as it is."""
    outer, inner = inputs["outer"], inputs["inner"]
    parents = Parents(outer)
    site.require_stops(parents, inner, ("outer", "inner"))
    kept = np.ones(len(outer), bool)
    kept[parents.heads] = (inner.lengths[:-1] > 0) | ~parents.given
    # A coordinate passes with the first inner token of its fiber, a stop with the inner stop.
    passed = np.empty(len(outer), np.int64)
    passed[-1] = len(inner) - 1
    passed[parents.last] = inner.stops
    passed[parents.heads[parents.given]] = (inner.stops - inner.lengths[:-1])[parents.given]
    needs = np.full(len(inner), len(outer) - 1)
    needs[:-1] = np.repeat(parents.heads, inner.lengths[:-1] + 1)
    needs[inner.stops] = parents.last
    gives = {"out_outer": np.maximum.accumulate(passed)[kept]}
    steps = Steps(len(inner), {"outer": needs}, gives)
    return Done({"out_outer": outer.tokens[kept], "out_inner": inner.tokens}, steps)


def valdrop(site: Site, inputs: Inputs) -> Done:
    """The pairs whose value is not 0."""
    crd, val = inputs["crd"], inputs["val"]
    site.require_same(crd, val, ("crd", "val"))
    bits, format = val.words, parse_format(site.format)
    if isinstance(format, FloatFormat):
        bits = bits & np.uint32((1 << format.width - 1) - 1)
    kept = bits != 0
    kept[val.ends] = True
    places = np.flatnonzero(kept)
    steps = Steps(len(val), gives={"out_crd": places, "out_val": places})
    return Done({"out_crd": crd.tokens[places], "out_val": val.tokens[places]}, steps)


def crdtopoint(site: Site, inputs: Inputs) -> Done:
    """The outer and the inner coordinate of each inner one, without stops."""
    held = crdhold(site, inputs)
    inner = inputs["inner"]
    kept = np.ones(len(inner), bool)
    kept[inner.stops] = False
    places = np.flatnonzero(kept)
    steps = Steps(len(inner), held.steps.needs, {"out_outer": places, "out_inner": places})
    return Done({name: tokens[places] for name, tokens in held.outputs.items()}, steps)


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
    # A point is a step, and so is a stop.
    needs = np.minimum(np.cumsum(is_data) - is_data, points)
    begins = np.concatenate([[0], ends[:-1] + 1])[: len(first)]
    gives = {"out_outer": np.concatenate([begins, [ends[-1], ends[-1] + 1]])}
    steps = Steps(len(is_data), {"outer": needs, "inner": needs}, gives)
    return Done({"out_outer": out_outer, "out_inner": out_inner}, steps)
