"""An example of every block: the streams that go in, and what comes out of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import wiring

from gnarl.hw.sam.block_types import (
    BITVECTOR,
    COMPRESSED,
    DENSE,
)
from gnarl.hw.sam.blocks.joins.bitvector_expand import BitvectorExpand
from gnarl.hw.sam.blocks.joins.bitvector_join import BitvectorIntersect, BitvectorUnion
from gnarl.hw.sam.blocks.joins.intersect import Intersect
from gnarl.hw.sam.blocks.joins.union import Union
from gnarl.hw.sam.blocks.lookups.array_vals import ArrayVals
from gnarl.hw.sam.blocks.lookups.bitvector_lookup import BitvectorLookup
from gnarl.hw.sam.blocks.lookups.compressed_lookup import CompressedLookup
from gnarl.hw.sam.blocks.lookups.dense_lookup import DenseLookup
from gnarl.hw.sam.blocks.lookups.locate import Locate
from gnarl.hw.sam.blocks.lookups.root import Root
from gnarl.hw.sam.blocks.streams.crd_drop import CrdDrop
from gnarl.hw.sam.blocks.streams.crd_hold import CrdHold
from gnarl.hw.sam.blocks.streams.crd_parallelizer import CrdParallelizer
from gnarl.hw.sam.blocks.streams.crd_to_point import CrdToPoint
from gnarl.hw.sam.blocks.streams.parallelizer import Parallelizer
from gnarl.hw.sam.blocks.streams.point_to_crd import PointToCrd
from gnarl.hw.sam.blocks.streams.repeat import Repeat
from gnarl.hw.sam.blocks.streams.repeat_signal_generator import RepeatSignalGenerator
from gnarl.hw.sam.blocks.streams.serializer import Serializer
from gnarl.hw.sam.blocks.streams.val_drop import ValDrop
from gnarl.hw.sam.blocks.streams.val_serializer import ValSerializer
from gnarl.hw.sam.blocks.values.alu import Alu
from gnarl.hw.sam.blocks.values.fold import Fold
from gnarl.hw.sam.blocks.values.function_block import FunctionBlock
from gnarl.hw.sam.blocks.values.reduce import Reduce
from gnarl.hw.sam.blocks.values.sparse_accumulator import SparseAccumulator
from gnarl.hw.sam.blocks.writers.bitvector_writer import BitvectorWriter
from gnarl.hw.sam.blocks.writers.compressed_writer import CompressedWriter
from gnarl.hw.sam.blocks.writers.dense_writer import DenseWriter
from gnarl.hw.sam.blocks.writers.value_writer import ValueWriter


@dataclass(frozen=True)
class Example:
    """Streams of a block, as text; ``arrays`` are what it reads, ``written`` what it writes.

    Words of a row are separated by colons.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)
    arrays: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A type of block with these parameters, the component that it is then, and an example."""

    component: type[wiring.Component]
    example: Example
    parameters: Mapping[str, Any] = field(default_factory=dict)


ENTRIES: dict[str, tuple[Entry, ...]] = {
    "root": (Entry(Root, Example({}, {"out_ref": "0 D"})),),
    "fiberlookup": (
        Entry(
            DenseLookup,
            Example(
                {"ref": "0 N S0 1 S1 D"},
                {"out_crd": "0 1 S0 S1 0 1 S2 D", "out_ref": "0 1 S0 S1 2 3 S2 D"},
                settings={"size": 2},
            ),
            {"format": DENSE},
        ),
        Entry(
            CompressedLookup,
            Example(
                {"ref": "0 N S0 S0 1 S1 D"},
                {"out_crd": "0 2 S0 S1 S1 1 S2 D", "out_ref": "0 1 S0 S1 S1 2 S2 D"},
                arrays={"seg": "0:2 2:3", "crd": "0 2 1"},
            ),
            {"format": COMPRESSED},
        ),
    ),
    "bitvectorlookup": (
        Entry(
            BitvectorLookup,
            Example(
                {"ref": "0 1 S0 D"},
                {"out_bv": "5 2 S0 0 4 S1 D", "out_ref": "0 2 S0 3 3 S1 D"},
                settings={"words": 2},
                arrays={"bv": "5:0 2:2 0:3 4:3"},
            ),
        ),
    ),
    "bitvectorexpand": (
        Entry(
            BitvectorExpand,
            Example(
                {"bv": "5 2 S0 S1 D", "ref": "0 2 S0 S1 D"},
                {"out_crd": "0 2 33 S0 S1 D", "out_ref": "0 1 2 S0 S1 D"},
            ),
        ),
    ),
    "bitvectorintersect": (
        Entry(
            BitvectorIntersect,
            Example(
                {"bv0": "13 S0 D", "ref0": "1 S0 D", "bv1": "12 S0 D", "ref1": "3 S0 D"},
                {"out_crd": "2 3 S0 D", "out_ref0": "2 3 S0 D", "out_ref1": "3 4 S0 D"},
            ),
        ),
    ),
    "bitvectorunion": (
        Entry(
            BitvectorUnion,
            Example(
                {"bv0": "5 S0 D", "ref0": "0 S0 D", "bv1": "6 S0 D", "ref1": "0 S0 D"},
                {"out_crd": "0 1 2 S0 D", "out_ref0": "0 N 1 S0 D", "out_ref1": "N 0 1 S0 D"},
            ),
        ),
    ),
    "locate": (
        Entry(
            Locate,
            Example(
                {"crd": "0 3 S0 1 S1 D", "ref": "1 1 S0 N S1 D"},
                {"out_ref": "4 7 S0 N S1 D"},
                settings={"size": 4},
            ),
        ),
    ),
    "repeat": (
        Entry(
            Repeat,
            Example(
                {"ref": "5 S0 S0 6 S1 D", "repsig": "0 0 S1 S1 0 S2 D"},
                {"out_ref": "5 5 S1 S1 6 S2 D"},
            ),
        ),
    ),
    "repsiggen": (
        Entry(
            RepeatSignalGenerator,
            Example({"crd": "4 7 S0 N S1 D"}, {"out_repsig": "0 0 S0 0 S1 D"}),
        ),
    ),
    "intersect": (
        Entry(
            Intersect,
            Example(
                {
                    "crd0": "0 2 4 S0 D",
                    "ref0": "0 1 2 S0 D",
                    "crd1": "2 3 S0 D",
                    "ref1": "0 1 S0 D",
                },
                {"out_crd": "2 S0 D", "out_ref0": "1 S0 D", "out_ref1": "0 S0 D"},
            ),
        ),
    ),
    "union": (
        Entry(
            Union,
            Example(
                {
                    "crd0": "0 2 4 S0 D",
                    "ref0": "0 1 2 S0 D",
                    "crd1": "2 3 S0 D",
                    "ref1": "0 1 S0 D",
                },
                {
                    "out_crd": "0 2 3 4 S0 D",
                    "out_ref0": "0 1 N 2 S0 D",
                    "out_ref1": "N 0 1 N S0 D",
                },
            ),
        ),
    ),
    "arrayvals": (
        Entry(
            ArrayVals,
            Example(
                {"ref": "0 N 2 S0 S1 D"},
                {"out_val": "10 0 12 S0 S1 D"},
                arrays={"vals": "10 11 12"},
            ),
        ),
    ),
    "alu": (
        Entry(
            Alu,
            Example(
                {"val0": "5 N S0 1 S1 D", "val1": "2 3 S0 N S1 D"}, {"out_val": "3 -3 S0 1 S1 D"}
            ),
            {"op": "sub"},
        ),
    ),
    "function": (
        Entry(
            FunctionBlock,
            Example({"val": "-2 0.5 S0 N S1 D"}, {"out_val": "0 0.5 S0 0 S1 D"}),
            {"op": "relu"},
        ),
    ),
    "reduce": (
        Entry(
            Reduce,
            Example(
                {"val": "1 2 S0 S0 3 S1 S1 4 S2 D", "crd": "0 1 2 S0 S0 5 S1 D"},
                {"out_val": "3 0 3 S0 S0 4 S1 D"},
            ),
        ),
    ),
    "fold": (
        Entry(
            Fold,
            Example(
                {"val": "1|2|4|8 N S0 3|0|0|-1 S1 D"},
                {"out_val": "15 0 S0 2 S1 D"},
            ),
            {"block": "j:4", "index": "j"},
        ),
    ),
    "spaccumulator": (
        Entry(
            SparseAccumulator,
            Example(
                {
                    "crd0": "0 2 3 S0 2 3 S1 1 S2 D",
                    "crd1": "0 2 S0 2 S1 D",
                    "val": "50 5 10 S0 4 8 S1 7 S2 D",
                },
                {"out_crd0": "0 2 3 S0 1 S1 D", "out_val": "50 9 18 S0 7 S1 D"},
                settings={"size0": 4},
            ),
            {"order": 1},
        ),
        Entry(
            SparseAccumulator,
            Example(
                {
                    "crd0": "1 S0 0 S1 1 S2 D",
                    "crd1": "0 3 S0 0 S1 D",
                    "crd2": "4 6 S0 D",
                    "val": "1 S0 2 S1 10 S2 D",
                },
                {
                    "out_crd0": "1 S0 0 S1 D",
                    "out_crd1": "0 3 S0 D",
                    "out_val": "11 S0 2 S1 D",
                },
                settings={"size0": 2, "size1": 4},
            ),
            {"order": 2},
        ),
    ),
    "crddrop": (
        Entry(
            CrdDrop,
            Example(
                {"outer": "0 1 2 S0 D", "inner": "7 8 S0 S0 9 S1 D"},
                {"out_outer": "0 2 S0 D", "out_inner": "7 8 S0 S0 9 S1 D"},
            ),
        ),
    ),
    "crdhold": (
        Entry(
            CrdHold,
            Example(
                {"outer": "0 1 2 S0 D", "inner": "0 2 S0 S0 2 S1 D"},
                {"out_outer": "0 0 S0 S0 2 S1 D", "out_inner": "0 2 S0 S0 2 S1 D"},
            ),
        ),
    ),
    "valdrop": (
        Entry(
            ValDrop,
            Example(
                {"crd": "0 1 2 S0 D", "val": "1.5 0 -2 S0 D"},
                {"out_crd": "0 2 S0 D", "out_val": "1.5 -2 S0 D"},
            ),
        ),
    ),
    "crdtopoint": (
        Entry(
            CrdToPoint,
            Example(
                {"outer": "0 1 2 S0 D", "inner": "0 2 S0 S0 2 S1 D"},
                {"out_outer": "0 0 2 D", "out_inner": "0 2 2 D"},
            ),
        ),
    ),
    "pointtocrd": (
        Entry(
            PointToCrd,
            Example(
                {"outer": "0 0 2 D", "inner": "0 2 2 D"},
                {"out_outer": "0 2 S0 D", "out_inner": "0 2 S0 2 S1 D"},
            ),
        ),
    ),
    "parallelizer": (
        Entry(
            Parallelizer,
            Example({"i": "0 1 2 S0 S0 3 S1 D"}, {"o0": "0 2 S0 3 S1 D", "o1": "1 N S0 D"}),
            {"lanes": 2},
        ),
    ),
    "crdparallelizer": (
        Entry(
            CrdParallelizer,
            Example(
                {"crd": "4 7 9 S0 S0 D", "i": "0 1 2 S0 S0 D"},
                {"o0": "0 S0 S0 D", "o1": "1 2 S0 S0 D"},
            ),
            {"lanes": 2},
        ),
    ),
    "serializer": (
        Entry(
            Serializer,
            Example({"i0": "1 2 S0 4 S2 D", "i1": "3 S1 D"}, {"o": "1 2 S0 3 S1 4 S2 D"}),
            {"lanes": 2},
        ),
    ),
    "valserializer": (
        Entry(
            ValSerializer,
            Example(
                {"crd": "4 7 9 S0 S0 D", "i0": "0 2 S0 D", "i1": "1 0 S0 D"},
                {"out_val": "0 1 2 S0 S0 D"},
            ),
            {"lanes": 2},
        ),
    ),
    "fiberwrite": (
        Entry(DenseWriter, Example({"crd": "0 1 S0 D"}), {"format": DENSE}),
        Entry(
            CompressedWriter,
            Example(
                {"crd": "0 2 S0 S0 1 S1 D"},
                written={"seg": "0:2 2:2 2:3", "crd": "0 2 1"},
                counts={"fibers": 3, "entries": 3},
            ),
            {"format": COMPRESSED, "keep_empty": True},
        ),
        Entry(
            BitvectorWriter,
            Example(
                {"crd": "0 33 S0 S0 1 S1 D"},
                settings={"words": 2},
                written={"bv": "1:0 2:1 2:2 0:3"},
                counts={"rows": 4, "entries": 3},
            ),
            {"format": BITVECTOR, "keep_empty": False},
        ),
    ),
    "valwrite": (
        Entry(
            ValueWriter,
            Example(
                {"val": "1.5 N S0 S0 2 S1 D"}, written={"vals": "1.5 0 2"}, counts={"entries": 3}
            ),
        ),
    ),
}
"""For each type of block, the components that it may become."""
