"""The model's blocks against token-level references in plain Python, on random legal streams."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.functions.function import Function
from gnarl.hw.lib.operation import Operation
from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.hw.sam.graph import Block
from gnarl.sw.runtime.sam.model.streams import BLOCKS
from gnarl.sw.runtime.sam.model.tokens import Limits, Site, Stream
from tests.support.sam import cases, reference
from tests.support.sam.tokens import format_stream

Make = Callable[[random.Random], cases.Case]
RUNS = 25


def _specs() -> list[tuple[str, dict[str, Any], str, Make]]:
    """Type of block, parameters, format, and what makes cases."""
    found: list[tuple[str, dict[str, Any], str, Make]] = [
        ("fiberlookup", {"format": "dense"}, "float32", cases.lookup_dense),
        ("fiberlookup", {}, "float32", cases.lookup_compressed),
        ("bitvectorlookup", {}, "float32", cases.lookup_bitvector),
        ("bitvectorexpand", {}, "float32", cases.expand_bitvector),
        (
            "bitvectorintersect",
            {},
            "float32",
            cases._bitvectors_joined(reference.intersect),
        ),
        ("bitvectorunion", {}, "float32", cases._bitvectors_joined(reference.union)),
        ("locate", {}, "float32", cases.locate),
        ("repeat", {}, "float32", cases.repeat),
        ("repsiggen", {}, "float32", cases.repeat_signals),
        ("intersect", {}, "float32", cases._joined(reference.intersect)),
        ("union", {}, "float32", cases._joined(reference.union)),
        ("crddrop", {}, "float32", cases.drop_coordinates),
        ("crdhold", {}, "float32", cases.hold_coordinates),
        ("crdtopoint", {}, "float32", cases.to_points),
        ("pointtocrd", {}, "float32", cases.from_points),
        ("parallelizer", {"lanes": cases.LANES}, "float32", cases.deal),
        ("crdparallelizer", {"lanes": cases.CRD_LANES}, "float32", cases.deal_by_crd),
        ("serializer", {"lanes": cases.LANES}, "float32", cases.collect),
        ("fiberwrite", {"format": "dense"}, "float32", cases.write_dense),
    ]
    for keep in (False, True):
        empties = {"keep_empty": keep}
        found.append(
            ("fiberwrite", empties, "float32", partial(cases.write_compressed, keep_empty=keep))
        )
        bitvector = {"format": "bitvector", **empties}
        make = partial(cases.write_bitvector, keep_empty=keep)
        found.append(("fiberwrite", bitvector, "float32", make))
    for format in ("float32", "bfloat16", "fixed16.8"):
        found.append(("arrayvals", {}, format, partial(cases.array_values, format=format)))
        found.append(("valdrop", {}, format, partial(cases.drop_values, format=format)))
        lanes = {"lanes": cases.LANES}
        make = partial(cases.collect_values, format=format)
        found.append(("valserializer", lanes, format, make))
        found.append(("valwrite", {}, format, partial(cases.write_values, format=format)))
        for op in ("add", "sub", "mul", "max", "min"):
            make = partial(cases.alu, format=format, code=Operation[op.upper()])
            found.append(("alu", {"op": op}, format, make))
        for op in ("add", "max"):
            for has_crd in (False, True):
                make = partial(
                    cases.reduce, format=format, code=Operation[op.upper()], has_crd=has_crd
                )
                found.append(("reduce", {"op": op}, format, make))
        for full in ((False,), (True,), *((a, b) for a in (False, True) for b in (False, True))):
            parameters = {"order": len(full)}
            parameters |= {f"full{place}": flag for place, flag in enumerate(full)}
            make = partial(cases.accumulate, format=format, full=full)
            found.append(("spaccumulator", parameters, format, make))
    for which in Function:
        make = partial(cases.function, format="float32", which=which)
        found.append(("function", {"op": which.name.lower()}, "float32", make))
    return found


SPECS = _specs()


def test_every_block_with_inputs_is_there():
    assert {kind for kind, *_ in SPECS} == set(BLOCK_TYPES) - {"root"}


@pytest.mark.parametrize("kind, parameters, format, make", SPECS)
def test_blocks(kind: str, parameters: dict[str, Any], format: str, make: Make):
    rng = random.Random(f"{kind} {parameters} {format}")
    block = Block("b", kind, parameters)
    words = {array.name: array.words for array in block.arrays}
    for _ in range(RUNS):
        case = make(rng)
        arrays = {
            f"b_{name}": np.array(rows, np.uint32).reshape(-1, words[name])
            for name, rows in case.reads.items()
        }
        settings = {("b", name): value for name, value in case.settings.items()}
        site = Site(block, format, arrays, settings, Limits())
        inputs = {name: Stream(np.array(tokens)) for name, tokens in case.inputs.items()}
        done = BLOCKS[kind](site, inputs)
        shown = {name: format_stream(tokens) for name, tokens in done.outputs.items()}
        assert shown == {name: format_stream(tokens) for name, tokens in case.outputs.items()}
        assert {name: one.tolist() for name, one in done.written.items()} == case.writes
        assert done.counts == case.counts
