"""Blocks that compute: two-operand arithmetic, functions, reductions."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.operation import Operation
from gnarl.hw.sam.graph import own_shape
from gnarl.hw.sam.token import DONE
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.runtime.sam.model.tokens import (
    STOP,
    Done,
    Inputs,
    Parents,
    Site,
    Stream,
    totals_of,
)


def alu(site: Site, inputs: Inputs) -> Done:
    """One operation for each pair of values; empty tokens are the word 0."""
    left, right = inputs["val0"], inputs["val1"]
    site.require_same(left, right, ("val0", "val1"))
    unit = arithmetic(site.format)
    one, other = site.shape("val0"), site.shape("val1")
    whole = one.joined(other)
    numbers = unit.apply(
        Operation[site.block["op"].upper()],
        unit.numbers(site.words_of("val0", left)[:, one.places(whole)]),
        unit.numbers(site.words_of("val1", right)[:, other.places(whole)]),
    )
    return _given(site, unit.words(numbers), left)


def function(site: Site, inputs: Inputs) -> Done:
    """A function of each value."""
    # Its tables are made on import, and few graphs need them.
    from gnarl.hw.lib.functions.function import Function
    from gnarl.sw.golden.functions import apply

    values = inputs["val"]
    op = Function[site.block["op"].upper()]  # type: ignore[misc, valid-type]
    return _given(site, apply(op, site.words_of("val", values), site.format), values)


def fold(site: Site, inputs: Inputs) -> Done:
    """The words of each block along an index put together: neighbours in pairs, and pairs of
    pairs."""
    values = inputs["val"]
    unit = arithmetic(site.format)
    operation = Operation[site.block["op"].upper()]
    groups = np.array(own_shape(site.block).groups(site.block["index"]))
    numbers = unit.numbers(site.words_of("val", values)[:, groups])
    while numbers.shape[2] > 1:
        numbers = unit.apply(operation, numbers[:, :, ::2], numbers[:, :, 1::2])
    return _given(site, unit.words(numbers[:, :, 0]), values)


def _given(site: Site, words: np.ndarray, source: Stream) -> Done:
    """A stream of these words, with the ends of that they come from."""
    out = site.payloads(words)
    out[source.ends] = source.tokens[source.ends]
    return Done({"out_val": out})


def reduce(site: Site, inputs: Inputs) -> Done:
    """The total of each fiber, then its stop one level lower.

    With the coordinates of the level outside, there is a total for each of those, and none for a
    stop on its own. Without, there is one for every stop.
    """
    values = inputs["val"]
    stops = values.tokens[values.stops]
    lengths = values.lengths[:-1]
    given = np.ones(len(stops), bool)
    parents = Parents(inputs["crd"]) if "crd" in inputs else None
    if parents is not None:
        site.require_stops(parents, values, ("crd", "val"))
        given = parents.given
    if values.lengths[-1]:
        site.fail("val has data after its last stop: must have a stop before done")
    words = site.words_of("val", values)[values.is_data]
    totals = site.payloads(totals_of(words, lengths, site.block["op"], site.format))

    ended = stops > STOP
    last = np.cumsum(given.astype(np.int64) + ended) - 1
    out = np.empty(int(last[-1]) + 2 if len(last) else 1, np.int64)
    out[last[ended]] = stops[ended] - 1
    first = last - ended
    out[first[given]] = totals[given]
    out[-1] = DONE
    return Done({"out_val": out})
