"""Ports that several blocks have: of lanes, of nested streams, of hints."""

from __future__ import annotations

from typing import Any

from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.sam.token import token_stream


def nested_pair(outer_width: int, inner_width: int) -> dict[str, Any]:
    """Members of a block on two nested streams: ``outer``, ``inner``, the same out, ``fault``."""
    outer, inner = token_stream(outer_width), token_stream(inner_width)
    return {
        "outer": In(outer),
        "inner": In(inner),
        "out_outer": Out(outer),
        "out_inner": Out(inner),
        "fault": Out(1),
    }


def two_lanes(width: int, ref0_width: int, ref1_width: int) -> dict[str, Any]:
    """Members of a block that joins two lanes: ``crd0``, ``ref0``, ``crd1``, ``ref1``, what comes
    out of them, ``fault``."""
    crd, ref0, ref1 = (token_stream(bits) for bits in (width, ref0_width, ref1_width))
    return {
        "crd0": In(crd),
        "ref0": In(ref0),
        "crd1": In(crd),
        "ref1": In(ref1),
        "out_crd": Out(crd),
        "out_ref0": Out(ref0),
        "out_ref1": Out(ref1),
        "fault": Out(1),
    }


FIBER_BITS = 12
"""Bits of the number that tells fibers of one stream apart, counted from 0 and wrapping.

More fibers than a queue of 1024 tokens holds, so that a hint never means a later one.
"""


def skip_hint(width: int) -> data.StructLayout:
    """What an intersection tells the lookup of a lane, and the lookup may ignore.

    ``valid``: of fiber number ``fiber``, no coordinate below ``crd`` is needed any more, nor, where
    ``stop`` is set, any at all. Coordinates have ``width`` bits.
    """
    return data.StructLayout({"crd": width, "fiber": FIBER_BITS, "stop": 1, "valid": 1})
