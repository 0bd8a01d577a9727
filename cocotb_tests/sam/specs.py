"""The blocks that are tested, by group: each group is one design, every block in it is one test."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from amaranth.lib import wiring

from cocotb_tests.sam.skipping_join import SkippingJoin, case_of_skipping_join
from gnarl.hw.lib.formats import parse_format
from gnarl.hw.lib.functions.function import Function
from gnarl.hw.lib.operation import Operation
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
from gnarl.hw.sam.token import LEVEL_BITS
from tests.hw.sam.formal.mutant import MUTATIONS, Mutant
from tests.support.sam import cases
from tests.support.sam.cases import ACCUMULATOR_WORDS, ARRAY_WORDS, CRD_LANES, LANES, Case
from tests.support.sam.tokens import parse_stream

WIDTH = 32
_GROUP, _RUNS = "SAM_BLOCKS", "SAM_RUNS"


@dataclass(frozen=True)
class Spec:
    """A component, and a random run of it."""

    make: Callable[[], wiring.Component]
    case: Callable[[random.Random], Case]


def _root(rng: random.Random) -> Case:
    return Case({}, {"out_ref": parse_stream("0 D")})


def _index_blocks() -> dict[str, Spec]:
    return {
        "root": Spec(lambda: Root(WIDTH), _root),
        "dense_lookup": Spec(lambda: DenseLookup(WIDTH), cases.lookup_dense),
        "compressed_lookup": Spec(
            lambda: CompressedLookup(WIDTH, False, ARRAY_WORDS), cases.lookup_compressed
        ),
        "bitvector_lookup": Spec(
            lambda: BitvectorLookup(WIDTH, ARRAY_WORDS), cases.lookup_bitvector
        ),
        "locate": Spec(lambda: Locate(WIDTH), cases.locate),
        "repeat": Spec(lambda: Repeat(WIDTH, LEVEL_BITS), cases.repeat),
        "repeat_signals": Spec(
            lambda: RepeatSignalGenerator(WIDTH, LEVEL_BITS), cases.repeat_signals
        ),
        "intersect": Spec(lambda: Intersect(WIDTH, WIDTH, WIDTH), cases.intersect),
        "union": Spec(lambda: Union(WIDTH, WIDTH, WIDTH), cases.union),
        "skipping_join": Spec(lambda: SkippingJoin(WIDTH, ARRAY_WORDS), case_of_skipping_join),
        "bitvector_expand": Spec(lambda: BitvectorExpand(WIDTH), cases.expand_bitvector),
        "bitvector_intersect": Spec(lambda: BitvectorIntersect(WIDTH), cases.intersect_bitvectors),
        "bitvector_union": Spec(lambda: BitvectorUnion(WIDTH), cases.union_bitvectors),
        "crd_drop": Spec(lambda: CrdDrop(WIDTH, WIDTH), cases.drop_coordinates),
        "crd_hold": Spec(lambda: CrdHold(WIDTH), cases.hold_coordinates),
        "crd_to_point": Spec(lambda: CrdToPoint(WIDTH), cases.to_points),
        "point_to_crd": Spec(lambda: PointToCrd(WIDTH), cases.from_points),
        "parallelizer": Spec(lambda: Parallelizer(WIDTH, LANES), cases.deal),
        "crd_parallelizer": Spec(
            lambda: CrdParallelizer(WIDTH, WIDTH, CRD_LANES), cases.deal_by_crd
        ),
        "crd_parallelizer_of_higher_bits": Spec(
            lambda: CrdParallelizer(WIDTH, WIDTH, CRD_LANES, 3), partial(cases.deal_by_crd, shift=3)
        ),
        "serializer": Spec(lambda: Serializer(WIDTH, LANES), cases.collect),
        "compressed_writer": Spec(
            lambda: CompressedWriter(WIDTH, ARRAY_WORDS, False),
            partial(cases.write_compressed, keep_empty=False),
        ),
        "compressed_writer_of_all": Spec(
            lambda: CompressedWriter(WIDTH, ARRAY_WORDS, True),
            partial(cases.write_compressed, keep_empty=True),
        ),
        "bitvector_writer": Spec(
            lambda: BitvectorWriter(WIDTH, ARRAY_WORDS, False),
            partial(cases.write_bitvector, keep_empty=False),
        ),
        "bitvector_writer_of_all": Spec(
            lambda: BitvectorWriter(WIDTH, ARRAY_WORDS, True),
            partial(cases.write_bitvector, keep_empty=True),
        ),
        "dense_writer": Spec(lambda: DenseWriter(WIDTH), cases.write_dense),
    }


def _value_blocks(name: str) -> dict[str, Spec]:
    format = parse_format(name)
    found = {
        "array_values": Spec(
            lambda: ArrayVals(WIDTH, format.width, ARRAY_WORDS),
            partial(cases.array_values, format=name),
        ),
        "drop_values": Spec(
            lambda: ValDrop(WIDTH, format), partial(cases.drop_values, format=name)
        ),
        "val_serializer": Spec(
            lambda: ValSerializer(WIDTH, format.width, LANES),
            partial(cases.collect_values, format=name),
        ),
        "value_writer": Spec(
            lambda: ValueWriter(format, WIDTH, ARRAY_WORDS),
            partial(cases.write_values, format=name),
        ),
        "relu": Spec(
            lambda: FunctionBlock(format, "relu"),
            partial(cases.function, format=name, which=Function.RELU),
        ),
    }
    for stages, code in ((1, Operation.ADD), (3, Operation.MUL), (2, Operation.SUB)):
        op = code.name.lower()
        found[f"alu_{op}"] = Spec(
            partial(Alu, format, stages, op), partial(cases.alu, format=name, code=code)
        )
    for code, has_crd, stages in (
        (Operation.ADD, False, 1),
        (Operation.ADD, True, 1),
        (Operation.MAX, True, 1),
        (Operation.ADD, True, 4),
        (Operation.MAX, False, 2),
    ):
        op = code.name.lower()
        found[f"reduce_{op}" + "_owed" * has_crd + _pipelined(stages)] = Spec(
            partial(Reduce, format, op, WIDTH if has_crd else None, stages),
            partial(cases.reduce, format=name, code=code, has_crd=has_crd),
        )
    for full, stages in (
        ((False,), 1),
        ((True,), 1),
        ((False, False), 1),
        ((True, True), 1),
        ((False, True), 1),
        ((True, False), 1),
        ((False,), 4),
        ((False, True), 2),
    ):
        ending = "".join("_full" if one else "_sparse" for one in full)
        found[f"accumulator{ending}" + _pipelined(stages)] = Spec(
            partial(SparseAccumulator, format, WIDTH, len(full), ACCUMULATOR_WORDS, full, stages),
            partial(cases.accumulate, format=name, full=full),
        )
    return found


def _blocks_of_values() -> dict[str, Spec]:
    """Blocks of four words of 8 bits, as tokens in tests have 32."""
    name, words = "float8_e4m3", 4
    format = parse_format(name)
    found = {
        "array_values": Spec(
            lambda: ArrayVals(WIDTH, format.width, ARRAY_WORDS, words=words),
            partial(cases.array_values, format=name, words=words),
        ),
        "drop_values": Spec(
            lambda: ValDrop(WIDTH, format, words),
            partial(cases.drop_values, format=name, words=words),
        ),
        "relu": Spec(
            lambda: FunctionBlock(format, "relu", words),
            partial(cases.function, format=name, which=Function.RELU, words=words),
        ),
        "accumulator": Spec(
            lambda: SparseAccumulator(
                format, WIDTH, 1, ACCUMULATOR_WORDS, (True,), 3, value_words=words
            ),
            partial(cases.accumulate, format=name, full=(True,), words=words),
        ),
    }
    for label, places in cases.PLACES.items():
        found[f"alu_{label}"] = Spec(
            partial(Alu, format, 2, "mul", places),
            partial(cases.alu, format=name, code=Operation.MUL, places=places),
        )
        found[f"value_writer_{label}"] = Spec(
            partial(ValueWriter, format, WIDTH, ARRAY_WORDS, places[1]),
            partial(cases.write_values, format=name, places=places[1]),
        )
    for code, stages in ((Operation.ADD, 1), (Operation.MAX, 3)):
        op = code.name.lower()
        for label, groups in cases.GROUPS.items():
            found[f"fold_{op}_{label}"] = Spec(
                partial(Fold, format, op, groups, stages),
                partial(cases.fold, format=name, code=code, groups=groups),
            )
        found[f"reduce_{op}"] = Spec(
            partial(Reduce, format, op, WIDTH, stages, words),
            partial(cases.reduce, format=name, code=code, has_crd=True, words=words),
        )
    return found


def _pipelined(stages: int) -> str:
    return f"_of_{stages}_stages" if stages > 1 else ""


def _float_blocks() -> dict[str, Spec]:
    return _value_blocks("float32") | {
        "exp": Spec(
            lambda: FunctionBlock(parse_format("float32"), "exp"),
            partial(cases.function, format="float32", which=Function.EXP),
        )
    }


def _broken_blocks() -> dict[str, Spec]:
    """A block that breaks the rules of streams, in every way."""
    return {
        mutation: Spec(
            partial(Mutant, Repeat(WIDTH, LEVEL_BITS), "out_ref", mutation), cases.repeat
        )
        for mutation in MUTATIONS
    }


GROUPS: dict[str, Callable[[], dict[str, Spec]]] = {
    "index": _index_blocks,
    "float32": _float_blocks,
    "fixed32": partial(_value_blocks, "fixed32.0"),
    "blocks": _blocks_of_values,
}

BROKEN = "broken"


def specs_of(group: str) -> dict[str, Spec]:
    """Specs of a group, by name."""
    return _broken_blocks() if group == BROKEN else GROUPS[group]()


def environment(group: str, runs: int) -> dict[str, str]:
    """Variables that tell the tests inside the simulator what they test, and how long."""
    return {_GROUP: group, _RUNS: str(runs)}


def specs_under_test() -> dict[str, Spec]:
    """The group under test, inside the simulator."""
    return specs_of(os.environ[_GROUP])


def runs_of_each() -> int:
    """How many runs each block is tested with, inside the simulator."""
    return int(os.environ[_RUNS])
