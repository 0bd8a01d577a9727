"""Fibers one behind the other, whose lengths alone are in memory: which the access unit runs."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.tmu.programs import check

HEAD = """batch, count, rows, dim = sizes('batch', 'count', 'rows', 'dim')


@nest
def f(lengths: int32[batch], indices: int32[count], x: float32[rows, dim],
      out: float32[batch, dim]{more}):
"""
ENDS = ", ends: int32[batch]"
VALUES = {
    "lengths": np.array([2, 0, 3], np.int32),
    "indices": np.array([1, 0, 2, 2, 1, 3, 0, 1, 3, 2, 2, 0], np.int32),
    "x": np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32),
}
BAG = ["for p in range(start, end):", "    for e in range(dim):", "        {sum}"]
SUM = "out[b, e] += x[indices[p], e]"


def loop(
    end: str, begin: str = "0", after: str = "end", behind: str = "", twice: str = ""
) -> list[str]:
    """``twice``: a loop around, which ``start`` begins ``"outside"`` or ``"inside"`` of."""
    body = [f"end = {end}", *BAG, f"start = {after}", *filter(None, [behind])]
    lines = ["for b in range(batch):", *(f"    {line}" for line in body)]
    if not twice:
        return [f"start = {begin}", *lines]
    first = [f"start = {begin}"]
    inside = first + lines if twice == "inside" else lines
    around = ["for again in range(2):", *(f"    {line}" for line in inside)]
    return around if twice == "inside" else first + around


TAKEN = {
    "length behind": loop("start + lengths[b]"),
    "length before": loop("lengths[b] + start"),
    "all of one length": loop("start + 2"),
    "a counter": loop("start + b"),
    "anew in a loop around": loop("start + lengths[b]", twice="inside"),
}
LEFT = {
    "one more": loop("start + lengths[b] + 1"),
    "twice itself": loop("start + start"),
    "without itself": loop("lengths[b] + b"),
    "not from 0": loop("start + lengths[b]", begin="1"),
    "not to its end": loop("start + lengths[b]", after="end - 1"),
    "read again": loop("start + lengths[b]", behind="ends[b] = start"),
    "on and on in a loop around": loop("start + lengths[b]", twice="outside"),
}


@pytest.mark.parametrize("opt", [0, 2, 4])
@pytest.mark.parametrize("name", [*TAKEN, *LEFT])
def test_what_accumulates(name: str, opt: int) -> None:
    lines = (TAKEN | LEFT)[name]
    body = "".join(f"    {line}\n" for line in lines).replace("{sum}", SUM)
    head = HEAD.format(more=ENDS if "ends[" in body else "")
    run = check(read_source(head + body, "file.py"), VALUES, TmuConfig(lanes=4), opt)
    layers = access_of(run.program.launches[0]).layers
    assert any(unit.accumulates for layer in layers for unit in layer.units) == (name in TAKEN)
