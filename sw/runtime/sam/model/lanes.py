"""Blocks that deal a stream out to lanes, and put lanes together again."""

from __future__ import annotations

import numpy as np

from gnarl.hw.sam.token import DONE, EMPTY
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Parents, Site


def parallelizer(site: Site, inputs: Inputs) -> Done:
    """Units in turn: a data or empty token with the stop behind it, or a stop without one.

    Where the latter would come behind a token that has no stop in its lane, and look like its own,
    an empty token comes first.
    """
    stream = inputs["i"]
    parents = Parents(stream)
    lanes = site.block["lanes"]
    is_open = parents.given & (parents.last == parents.heads)
    apart = np.zeros(len(parents.heads), bool)
    apart[lanes:] = ~parents.given[lanes:] & is_open[:-lanes]
    lengths = np.diff(np.append(parents.heads, len(stream) - 1)) + apart
    lane = np.repeat(np.arange(len(lengths)) % lanes, lengths)
    tokens = np.insert(stream.tokens, parents.heads[apart], EMPTY)
    return Done(
        {
            output: np.append(tokens[:-1][lane == number], DONE)
            for number, output in enumerate(site.block.outputs)
        }
    )


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
