"""Blocks that deal a stream out to lanes, and put lanes together again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.sam.token import DONE, EMPTY, PAYLOAD_BITS
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Parents, Site, Stream


def parallelizer(site: Site, inputs: Inputs) -> Done:
    """Units in turn: a data or empty token with the stop behind it, or a stop without one.

    Where the latter would come behind a token that has no stop in its lane, and look like its own,
    an empty token comes first.
    """
    dealt = _dealt(inputs["i"], site.block["lanes"])
    return Done(
        {
            output: np.append(dealt.tokens[dealt.lane == number], DONE)
            for number, output in enumerate(site.block.outputs)
        }
    )


def crdparallelizer(site: Site, inputs: Inputs) -> Done:
    """Tokens by bits of their coordinates; stops to every lane."""
    crd, stream, lanes = inputs["crd"], inputs["i"], site.block["lanes"]
    site.require_same(crd, stream, ("crd", "i"))
    lane = (crd.words >> site.block["shift"]) % lanes
    is_own = ~crd.is_data | (lane == np.arange(lanes)[:, None])
    outputs = zip(site.block.outputs, is_own, strict=True)
    return Done({output: stream.tokens[own] for output, own in outputs})


@dataclass(frozen=True)
class _Dealt:
    """Tokens but for the last, done, in the stream's order: with those that are put in front of
    stops, whose ``place`` in the stream is -1; and the lane of each."""

    tokens: np.ndarray
    place: np.ndarray
    lane: np.ndarray


def _dealt(stream: Stream, lanes: int) -> _Dealt:
    parents = Parents(stream)
    is_open = parents.given & (parents.last == parents.heads)
    apart = np.zeros(len(parents.heads), bool)
    apart[lanes:] = ~parents.given[lanes:] & is_open[:-lanes]
    lengths = np.diff(np.append(parents.heads, len(stream) - 1)) + apart
    lane = np.repeat(np.arange(len(lengths)) % lanes, lengths)
    heads = parents.heads[apart]
    tokens = np.insert(stream.tokens, heads, EMPTY)
    return _Dealt(tokens[:-1], np.insert(np.arange(len(stream)), heads, -1)[:-1], lane)


def _is_data(tokens: np.ndarray) -> np.ndarray:
    """Whether tokens are data or empty."""
    return (tokens >> PAYLOAD_BITS & 1) == 0


def valserializer(site: Site, inputs: Inputs) -> Done:
    """A value for each coordinate, of the lane that it was dealt to."""
    coordinates = inputs["crd"]
    dealt = _dealt(coordinates, site.block["lanes"])
    out = coordinates.tokens.copy()
    for number in range(site.block["lanes"]):
        mine = dealt.lane == number
        lane, tokens, place = inputs[f"i{number}"], dealt.tokens[mine], dealt.place[mine]
        found = lane.tokens[:-1]
        is_data = _is_data(tokens)
        if (
            len(found) != len(tokens)
            or (np.where(_is_data(found), -1, found) != np.where(is_data, -1, tokens)).any()
        ):
            site.fail(
                f"lane {number} has other stops than what crd deals to it: must have a value for "
                "each coordinate"
            )
        own = is_data & (place >= 0)
        out[place[own]] = found[own]
    return Done({"out_val": out})


def serializer(site: Site, inputs: Inputs) -> Done:
    """Fibers of the lanes in turn."""
    lanes = [inputs[name] for name in site.block.inputs]
    fibers = sum(len(lane.stops) for lane in lanes)
    for number, lane in enumerate(lanes):
        due = -(-(fibers - number) // len(lanes))
        if len(lane.stops) != due:
            site.fail(
                f"lane {number} has {len(lane.stops)} of {fibers} fibers: must be {due}, one in "
                "its turn"
            )
        if lane.lengths[-1]:
            site.fail(f"lane {number} has data after its last stop: must have a stop before done")
    # Every fiber of every lane: where it lies there, and where it comes to lie.
    lengths = np.zeros(fibers, np.int64)
    for number, lane in enumerate(lanes):
        lengths[number :: len(lanes)] = lane.lengths[:-1] + 1
    starts = np.cumsum(lengths) - lengths
    out = np.empty(int(lengths.sum()) + 1, np.int64)
    out[-1] = DONE
    for number, lane in enumerate(lanes):
        mine = slice(number, None, len(lanes))
        begins = np.cumsum(lengths[mine]) - lengths[mine]
        places = np.arange(len(lane) - 1) + np.repeat(starts[mine] - begins, lengths[mine])
        out[places] = lane.tokens[:-1]
    return Done({"o": out})
