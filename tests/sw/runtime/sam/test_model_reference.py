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
from gnarl.hw.sam.graph import Block, own_shape
from gnarl.hw.sam.token import PAYLOAD_BITS
from gnarl.hw.sam.value_shape import ValueShape
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
        (
            "crdparallelizer",
            {"lanes": cases.CRD_LANES, "shift": 5},
            "float32",
            partial(cases.deal_by_crd, shift=5),
        ),
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
    assert {kind for kind, *_ in (*SPECS, *BLOCK_SPECS)} == set(BLOCK_TYPES) - {"root"}


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


WORDS, BLOCK_FORMAT = 4, "float8_e4m3"
"""So that a block fits in a token of the reference."""

SHAPES = {
    (0, 1, 2, 3): "i:2,k:2",
    (0, 0, 0, 0): "",
    (0, 0, 1, 1): "i:2",
    (0, 1, 0, 1): "k:2",
}
"""What has words at these places of a block of two along i and k."""

BLOCK = SHAPES[0, 1, 2, 3]


def _block_specs() -> list[tuple[str, dict[str, Any], dict[str, str], Make]]:
    """Type of block, parameters, shapes of the values of inputs, and what makes cases."""
    format, own = BLOCK_FORMAT, {"block": BLOCK}
    found: list[tuple[str, dict[str, Any], dict[str, str], Make]] = [
        ("arrayvals", own, {}, partial(cases.array_values, format=format, words=WORDS)),
        ("valdrop", {}, {"val": BLOCK}, partial(cases.drop_values, format=format, words=WORDS)),
        (
            "function",
            {"op": "relu"},
            {"val": BLOCK},
            partial(cases.function, format=format, which=Function.RELU, words=WORDS),
        ),
    ]
    for places in cases.PLACES.values():
        val0, val1 = map(SHAPES.__getitem__, places)
        make = partial(cases.write_values, format=format, places=places[1])
        found.append(("valwrite", own, {"val": val1}, make))
        make = partial(cases.alu, format=format, code=Operation.MUL, places=places)
        found.append(("alu", {"op": "mul"}, {"val0": val0, "val1": val1}, make))
    for op in ("add", "max"):
        code = Operation[op.upper()]
        folds = {"columns": (BLOCK, "k"), "rows": (BLOCK, "i"), "all": ("k:4", "k")}
        for label, (shape, index) in folds.items():
            make = partial(cases.fold, format=format, code=code, groups=cases.GROUPS[label])
            parameters = {"op": op, "block": shape, "index": index}
            found.append(("fold", parameters, {"val": shape}, make))
        make = partial(cases.reduce, format=format, code=code, has_crd=True, words=WORDS)
        found.append(("reduce", {"op": op}, {"val": BLOCK}, make))
    for full in ((False,), (True, False)):
        parameters = {"order": len(full)} | {f"full{place}": on for place, on in enumerate(full)}
        make = partial(cases.accumulate, format=format, full=full, words=WORDS)
        found.append(("spaccumulator", parameters, {"val": BLOCK}, make))
    return found


BLOCK_SPECS = _block_specs()


@pytest.mark.parametrize("kind, parameters, given, make", BLOCK_SPECS)
def test_blocks_of_values(kind: str, parameters: dict[str, Any], given: dict[str, str], make: Make):
    """The model has numbers of blocks in its tokens, the reference their words."""
    rng = random.Random(f"{kind} {parameters} {given}")
    block = Block("b", kind, parameters)
    shapes = {name: ValueShape.parse(text) for name, text in given.items()}
    words = {name: shape.words for name, shape in shapes.items()}
    out = WORDS
    if kind == "fold":
        out = own_shape(block).without(block["index"]).words
    for _ in range(RUNS):
        case = make(rng)
        arrays = {
            f"b_{name}": np.array(rows, np.uint32).reshape(-1, WORDS)
            for name, rows in case.reads.items()
        }
        settings = {("b", name): value for name, value in case.settings.items()}
        site = Site(block, BLOCK_FORMAT, arrays, settings, Limits(), shapes)
        inputs = {
            name: Stream(_numbered(site, tokens, words.get(name, 1)))
            for name, tokens in case.inputs.items()
        }
        done = BLOCKS[kind](site, inputs)
        got = {
            name: format_stream(_packed(site, tokens, out if "val" in name else 1))
            for name, tokens in done.outputs.items()
        }
        assert got == {name: format_stream(tokens) for name, tokens in case.outputs.items()}
        assert {name: one.tolist() for name, one in done.written.items()} == case.writes
        assert done.counts == case.counts


def _numbered(site: Site, tokens: list[int], words: int) -> np.ndarray:
    """Tokens with numbers of blocks in place of their words."""
    found = np.array(tokens, np.int64)
    is_data = found < 1 << PAYLOAD_BITS
    if words > 1 and is_data.any():
        rows = [reference.words_of(int(token), BLOCK_FORMAT, words) for token in found[is_data]]
        found[is_data] = site.blocks.add(np.array(rows, np.uint32))
    return found


def _packed(site: Site, tokens: np.ndarray, words: int) -> np.ndarray:
    """Inverse of ``_numbered``."""
    found = tokens.copy()
    is_data = found < 1 << PAYLOAD_BITS
    if words > 1:
        rows = site.blocks.at(found[is_data], words).tolist()
        found[is_data] = [reference.block_of(row, BLOCK_FORMAT) for row in rows]
    return found
