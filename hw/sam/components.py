"""Makes the component of a block of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from amaranth.lib import wiring
from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.functions.function import Function, check_function
from gnarl.hw.sam.block_types import BITVECTOR, BITVECTOR_BITS, DENSE, REPSIG
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
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Graph, memory_violation, own_shape
from gnarl.hw.sam.value_shape import ONE_WORD, ValueShape

_FEW_IN_FLIGHT = 8
"""More than a local memory ever has under way, and room for stops among them."""

Widths = dict[str, int]
"""Bits of payload of a block's inputs that are fed, by name."""


def component(
    block: Block,
    widths: Widths,
    config: SamConfig,
    shapes: Mapping[str, ValueShape] = {},
) -> wiring.Component:
    """The hardware of ``block``, whose inputs carry ``widths``, with its ports' names.

    ``shapes``: what the values are that inputs carry, where they are more than a word.
    ``check_block`` has found that the configuration can have it.
    """
    if block.type in _OF_SHAPES:
        return _OF_SHAPES[block.type](block, shapes, config)
    return _COMPONENTS[block.type](block, widths, config)


def check_block(block: Block, config: SamConfig) -> None:
    """Raises ``ConfigError`` where there is no such block in this configuration."""
    if block.type == "bitvectorlookup" and config.index_bits != BITVECTOR_BITS:
        raise ConfigError(
            [
                f"block {block.name}: index_bits = {config.index_bits}: must be {BITVECTOR_BITS} "
                "for a bitvector level, whose rows hold its words"
            ]
        )
    if violation := memory_violation(block, config.memory):
        raise ConfigError([violation])
    if block.type == "function":
        try:
            check_function(config.number_format, getattr(Function, block["op"].upper()))
        except ValueError as error:
            raise ConfigError(
                [f"block {block.name}: format = {config.format!r}: {block['op']} is not supported"]
            ) from error


def input_widths(block: Block, graph: Graph, config: SamConfig) -> Widths:
    """Bits of payload of the streams that a graph feeds to a block."""
    found = {}
    for name in block.inputs:
        edge = graph.drivers.get((block.name, name))
        if edge is not None:
            kind = graph.kind_of_stream(edge.source, edge.output)
            words = graph.shape_of_stream(edge.source, edge.output).words
            found[name] = words * config.stream_width(kind)
    return found


def skips(block: Block, config: SamConfig) -> bool:
    """Whether a lookup gets hints."""
    return config.skip and bool(block.parameters.get("skip"))


def _in_flight(config: SamConfig) -> int:
    """Reads of an array that a block may have under way: no fewer than a shared memory allows."""
    return max(_FEW_IN_FLIGHT, 0 if config.memory == "local" else config.memory_in_flight)


def _rows(block: Block, config: SamConfig, name: str) -> int:
    """Rows of one of a block's arrays."""
    return config.rows_of(block.name, next(each for each in block.arrays if each.name == name))


def _lookup(block: Block, widths: Widths, config: SamConfig) -> wiring.Component:
    if block["format"] == DENSE:
        return DenseLookup(config.index_bits)
    return CompressedLookup(
        config.index_bits,
        skips(block, config),
        _rows(block, config, "crd"),
        _in_flight(config),
        _rows(block, config, "seg"),
    )


def _writer(block: Block, widths: Widths, config: SamConfig) -> wiring.Component:
    if block["format"] == DENSE:
        return DenseWriter(config.index_bits)
    if block["format"] == BITVECTOR:
        rows = _rows(block, config, "bv")
        return BitvectorWriter(config.index_bits, rows, block["keep_empty"])
    rows, segments = (_rows(block, config, array) for array in ("crd", "seg"))
    return CompressedWriter(config.index_bits, rows, block["keep_empty"], segments)


def _accumulator(block: Block, widths: Widths, config: SamConfig) -> wiring.Component:
    order = block["order"]
    full = tuple(block[f"full{place}"] for place in range(order))
    return SparseAccumulator(
        config.number_format,
        config.index_bits,
        order,
        config.accumulator_words,
        full,
        config.alu_stages,
        _words(widths, "val", config),
    )


def _words(widths: Widths, name: str, config: SamConfig) -> int:
    """Words of the values that an input carries."""
    return widths[name] // config.width


def _of_width(kind: Any) -> Callable[[Block, Widths, SamConfig], wiring.Component]:
    return lambda block, widths, config: kind(config.index_bits)


_COMPONENTS: dict[str, Callable[[Block, Widths, SamConfig], wiring.Component]] = {
    "root": _of_width(Root),
    "fiberlookup": _lookup,
    "bitvectorlookup": lambda block, widths, config: BitvectorLookup(
        config.index_bits, _rows(block, config, "bv"), _in_flight(config)
    ),
    "bitvectorexpand": _of_width(BitvectorExpand),
    "bitvectorintersect": _of_width(BitvectorIntersect),
    "bitvectorunion": _of_width(BitvectorUnion),
    "locate": _of_width(Locate),
    "repeat": lambda block, widths, config: Repeat(widths["ref"], widths["repsig"]),
    "repsiggen": lambda block, widths, config: RepeatSignalGenerator(
        widths["crd"], config.stream_width(REPSIG)
    ),
    "intersect": lambda block, widths, config: Intersect(
        config.index_bits, widths["ref0"], widths["ref1"]
    ),
    "union": lambda block, widths, config: Union(config.index_bits, widths["ref0"], widths["ref1"]),
    "arrayvals": lambda block, widths, config: ArrayVals(
        config.index_bits,
        config.width,
        _rows(block, config, "vals"),
        _in_flight(config),
        own_shape(block).words,
    ),
    "function": lambda block, widths, config: FunctionBlock(
        config.number_format, block["op"], _words(widths, "val", config)
    ),
    "reduce": lambda block, widths, config: Reduce(
        config.number_format,
        block["op"],
        widths.get("crd"),
        config.alu_stages,
        _words(widths, "val", config),
    ),
    "spaccumulator": _accumulator,
    "crddrop": lambda block, widths, config: CrdDrop(widths["outer"], widths["inner"]),
    "crdhold": _of_width(CrdHold),
    "valdrop": lambda block, widths, config: ValDrop(
        config.index_bits, config.number_format, _words(widths, "val", config)
    ),
    "crdtopoint": _of_width(CrdToPoint),
    "pointtocrd": _of_width(PointToCrd),
    "parallelizer": lambda block, widths, config: Parallelizer(widths["i"], block["lanes"]),
    "crdparallelizer": lambda block, widths, config: CrdParallelizer(
        widths["crd"], widths["i"], block["lanes"], block["shift"]
    ),
    "serializer": lambda block, widths, config: Serializer(widths["i0"], block["lanes"]),
    "valserializer": lambda block, widths, config: ValSerializer(
        widths["crd"], widths["i0"], block["lanes"]
    ),
    "fiberwrite": _writer,
}


def _alu(block: Block, shapes: Mapping[str, ValueShape], config: SamConfig) -> wiring.Component:
    left, right = (shapes.get(name, ONE_WORD) for name in ("val0", "val1"))
    whole = left.joined(right)
    places = left.places(whole), right.places(whole)
    return Alu(config.number_format, config.alu_stages, block["op"], places)


def _value_writer(
    block: Block, shapes: Mapping[str, ValueShape], config: SamConfig
) -> wiring.Component:
    places = shapes.get("val", ONE_WORD).places(own_shape(block))
    rows = _rows(block, config, "vals")
    return ValueWriter(config.number_format, config.index_bits, rows, places)


_OF_SHAPES: dict[str, Callable[[Block, Mapping[str, ValueShape], SamConfig], wiring.Component]] = {
    "alu": _alu,
    "fold": lambda block, shapes, config: Fold(
        config.number_format,
        block["op"],
        own_shape(block).groups(block["index"]),
        config.alu_stages,
    ),
    "valwrite": _value_writer,
}
"""What is made by the shapes of values, and not by widths alone."""
