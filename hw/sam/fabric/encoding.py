"""What a fabric is made of, and how its configuration says which graph it is to be.

A fabric has units of the types in ``UNIT_TYPES``. A unit can be a block in one of a few variants.
Blocks that may carry values beside coordinates and references come in two types, since values are
wide: ``intersect`` carries none, ``intersect_values`` anything. Every input of every unit can
listen to any output, of any other unit, that may carry what the input may take. The configuration
is a list of words, in the order of ``fields``: for each unit its variant, from 1, or 0 for a unit
that is not used; then for each of its inputs the number of the output it listens to, from 1 among
``sources`` of the input, or 0 for none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from gnarl.hw.lib.errors import CapacityError, ConfigError, ProgramError, Violation, quoted
from gnarl.hw.sam.block_types import (
    ALU_OPERATIONS,
    BITVECTOR,
    COMPRESSED,
    DENSE,
    FUNCTIONS,
    MAX_LANES,
    REDUCTIONS,
    SUM_LANES,
    VAL,
    Array,
    Port,
)
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Edge, Graph, own_shape
from gnarl.hw.sam.unit import OPERATIONS, WRITERS, Unit

WORD_BITS = 16
"""Bits of a word of the configuration."""


@dataclass(frozen=True)
class Variant:
    """A block that a unit can be: its parameters, and the optional inputs that are fed."""

    parameters: dict[str, Any]
    fed: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnitType:
    """A kind of unit: a type of block in some variants. ``name`` is that in ``config.fabric``.

    ``carries_values``: ports that may carry values or something else may carry values here, too.
    """

    name: str
    block: str
    variants: tuple[Variant, ...] = (Variant({}),)
    carries_values: bool = True

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The block of each variant, all others of its parameters being the defaults."""
        return tuple(Block(self.name, self.block, each.parameters) for each in self.variants)

    @cached_property
    def inputs(self) -> dict[str, Port]:
        """The inputs of all variants."""
        return {
            port.name: self._port(port)
            for block, variant in zip(self.blocks, self.variants, strict=True)
            for port in block.inputs.values()
            if not port.optional or port.name in variant.fed
        }

    @cached_property
    def outputs(self) -> dict[str, Port]:
        return {
            port.name: self._port(port) for block in self.blocks for port in block.outputs.values()
        }

    def _port(self, port: Port) -> Port:
        """``port`` with the kinds of streams that it may carry in this type of unit."""
        if self.carries_values or not port.mixes_values:
            return port
        return replace(port, kinds=tuple(kind for kind in port.kinds if kind != VAL))

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(dict.fromkeys(array for block in self.blocks for array in block.arrays))

    @cached_property
    def settings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for block in self.blocks for name in block.settings))

    @cached_property
    def counts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for block in self.blocks for name in block.counts))

    def variant_of(self, block: Block, fed: Sequence[str]) -> int | None:
        """The index of the variant that ``block`` is; ``None`` if it is none of them.

        ``fed``: its inputs that a graph feeds.
        """
        for place, variant in enumerate(self.variants):
            optional = [name for name, port in block.inputs.items() if port.optional]
            if (
                block.type == self.block
                and all(block[name] == value for name, value in variant.parameters.items())
                and [name for name in optional if name in fed] == list(variant.fed)
            ):
                return place
        return None


def _unit_types() -> list[UnitType]:
    plain = (
        "root",
        "bitvectorlookup",
        "bitvectorexpand",
        "bitvectorintersect",
        "bitvectorunion",
        "locate",
        "arrayvals",
        "crdhold",
        "valdrop",
        "crdtopoint",
        "pointtocrd",
        "valwrite",
    )
    mixing = ("repeat", "repsiggen", "intersect", "union", "crddrop")
    compressed = [Variant({"format": COMPRESSED, "keep_empty": keep}) for keep in (False, True)]
    bitvector = [Variant({"format": BITVECTOR, "keep_empty": keep}) for keep in (False, True)]
    accumulators = [
        {"order": order, **{f"full{place}": bool(full >> place & 1) for place in range(order)}}
        for order in (1, 2)
        for full in range(1 << order)
    ]
    return [
        *(UnitType(name, name) for name in plain),
        *(UnitType(name, name, carries_values=False) for name in mixing),
        *(UnitType(f"{name}_values", name) for name in mixing),
        UnitType(
            "fiberlookup",
            "fiberlookup",
            (Variant({"format": DENSE}), Variant({"format": COMPRESSED})),
        ),
        UnitType("alu", "alu", tuple(Variant({"op": op}) for op in ALU_OPERATIONS)),
        *(UnitType(f"function_{op}", "function", (Variant({"op": op}),)) for op in FUNCTIONS),
        *(
            UnitType(f"reduce_{op}", "reduce", (Variant({"op": op}), Variant({"op": op}, ("crd",))))
            for op in REDUCTIONS
        ),
        *(
            UnitType(_accumulator_name(each), "spaccumulator", (Variant(each),))
            for each in accumulators
        ),
        *(
            UnitType(f"{name}_{lanes}", name, (Variant({"lanes": lanes}),))
            for name in ("parallelizer", "serializer", "valserializer")
            for lanes in range(2, MAX_LANES + 1)
        ),
        *(
            UnitType(
                f"crdparallelizer_{lanes}",
                "crdparallelizer",
                (Variant({"lanes": lanes, "shift": 0}),),
            )
            for lanes in SUM_LANES
        ),
        UnitType("fiberwrite", "fiberwrite", (Variant({"format": DENSE}), *compressed)),
        UnitType("fiberwrite_bitvector", "fiberwrite", tuple(bitvector)),
    ]


def _accumulator_name(parameters: dict[str, Any]) -> str:
    full = "".join(f"_{name}" for name, value in parameters.items() if value is True)
    return f"spaccumulator_{parameters['order']}{full}"


UNIT_TYPES = {kind.name: kind for kind in _unit_types()}
"""Kinds of units by name: the types of blocks, those apart that would be costly in one."""


@dataclass(frozen=True)
class Field:
    """A word of the configuration: the variant of a unit, or what one of its inputs listens to."""

    unit: str
    input: str | None
    values: int

    @property
    def width(self) -> int:
        return (self.values - 1).bit_length()


@dataclass(frozen=True)
class Encoded:
    """A graph on a fabric.

    words
        uint32, for the window ``configuration``.
    units
        the unit that each block has become, by the block's name.
    graph
        the graph with the units' names in place of the blocks'.
    """

    words: npt.NDArray[np.uint32]
    units: dict[str, str]
    graph: Graph


def pool(config: SamConfig) -> dict[str, UnitType]:
    """Units of a fabric by name, in the order of ``UNIT_TYPES``: ``fiberlookup_0``, ….

    Raises ``ConfigError`` for names that are none of unit types, and for a pool without a root or a
    writer.
    """
    counts = config.fabric or {}
    violations = []
    for name, count in counts.items():
        if name not in UNIT_TYPES:
            problem = f": no unit {quoted(name)}; there are {', '.join(UNIT_TYPES)}"
        elif type(count) is not int or not 0 <= count <= 255:
            problem = f": {name} = {quoted(count)}: must be a whole number from 0 to 255"
        else:
            continue
        violations.append(Violation("fabric", problem))
    if violations:
        raise ConfigError(violations)
    units = {
        f"{name}_{number}": kind
        for name, kind in UNIT_TYPES.items()
        for number in range(counts.get(name, 0))
    }
    kinds = {kind.block for kind in units.values()}
    if "root" not in kinds or not kinds & set(WRITERS):
        problem = ": it must have at least one root and one fiberwrite or valwrite"
        raise ConfigError([Violation("fabric", problem)])
    return units


def fabric_units(config: SamConfig) -> tuple[Unit, ...]:
    """The units as the host sees them, with all that any of their variants has."""
    return tuple(
        Unit(
            name,
            tuple(kind.outputs),
            kind.settings,
            kind.arrays,
            kind.counts,
            kind.block in WRITERS,
            OPERATIONS.get(kind.block, ""),
        )
        for name, kind in pool(config).items()
    )


Sources = dict[tuple[str, str], tuple[tuple[str, str], ...]]


def sources(units: dict[str, UnitType]) -> Sources:
    """For each input, by unit and name, the outputs that it can listen to, in order."""
    outputs = [
        (source, output.name, set(output.kinds))
        for source, kind in units.items()
        for output in kind.outputs.values()
    ]
    carrying: dict[frozenset[Any], list[tuple[str, str]]] = {}
    listens = {}
    for name, kind in units.items():
        for port in kind.inputs.values():
            kinds = frozenset(port.kinds)
            if kinds not in carrying:
                carrying[kinds] = [
                    (source, output) for source, output, carried in outputs if carried & kinds
                ]
            listens[name, port.name] = tuple(
                output for output in carrying[kinds] if output[0] != name
            )
    return listens


def fields(units: dict[str, UnitType], listens: Sources | None = None) -> list[Field]:
    """The words of the configuration, in order.

    listens
        ``sources`` of ``units``, where it is known.
    """
    listens = listens or sources(units)
    found = []
    for name, kind in units.items():
        found.append(Field(name, None, len(kind.variants) + 1))
        found += [Field(name, input, len(listens[name, input]) + 1) for input in kind.inputs]
    return found


def encode(graph: Graph, config: SamConfig) -> Encoded:
    """Configuration of a fabric for ``graph``: each block becomes the first unit that is free.

    Raises ``CapacityError`` that says which units are short, and by how much; which stream needs a
    deeper queue than the fabric's; or which block has values of several words.
    """
    _require_depths(graph, config)
    _require_one_word(graph)
    units = pool(config)
    placed, variants = _place(graph, Counter(kind.name for kind in units.values()))
    listens = sources(units)
    values: dict[tuple[str, str | None], int] = {
        (placed[block.name], None): variants[block.name] + 1 for block in graph.blocks
    }
    for edge in graph.edges:
        target = placed[edge.target], edge.input
        source = placed[edge.source], edge.output
        if source not in listens[target]:
            raise CapacityError(f"graph: edge {edge}: the fabric has no such connection")
        values[target] = 1 + listens[target].index(source)
    words = [values.get((field.unit, field.input), 0) for field in fields(units, listens)]
    return Encoded(np.array(words, np.uint32), placed, _renamed(graph, placed))


def decode(words: npt.ArrayLike, config: SamConfig) -> Graph:
    """The graph that a fabric is with this configuration; its blocks have the units' names.

    Raises ``ProgramError`` for words that mean nothing.
    """
    units = pool(config)
    listens = sources(units)
    all_fields = fields(units, listens)
    given = [int(word) for word in np.asarray(words).reshape(-1)]
    if len(given) != len(all_fields):
        raise ProgramError(f"configuration: {len(given)} words, the fabric has {len(all_fields)}")
    blocks, edges = [], []
    for place, (field, word) in enumerate(zip(all_fields, given, strict=True)):
        if not 0 <= word < field.values:
            what = "variant" if field.input is None else f"source of {field.input}"
            raise ProgramError(
                f"configuration: word {place} = {word}: {what} of {field.unit}: "
                f"must be below {field.values}"
            )
        if word and field.input is None:
            variant = units[field.unit].variants[word - 1]
            blocks.append(Block(field.unit, units[field.unit].block, variant.parameters))
        elif word and field.input is not None:
            edges.append(Edge(*listens[field.unit, field.input][word - 1], field.unit, field.input))
    try:
        return Graph(tuple(blocks), tuple(edges))
    except ConfigError as error:
        raise ProgramError(f"configuration: {error}") from error


def _require_depths(graph: Graph, config: SamConfig) -> None:
    for edge in graph.edges:
        if edge.depth is not None and edge.depth > config.queue_depth:
            raise CapacityError(
                f"graph: edge {edge}: depth = {edge.depth}: must be at most {config.queue_depth}, "
                "queue_depth of the fabric"
            )


def _require_one_word(graph: Graph) -> None:
    for block in graph.blocks:
        if (shape := own_shape(block)).words > 1:
            raise CapacityError(
                f"graph: block {block.name}: has values of {shape}: must be of 1 word on a fabric"
            )


def _renamed(graph: Graph, names: dict[str, str]) -> Graph:
    return Graph(
        tuple(Block(names[block.name], block.type, block.parameters) for block in graph.blocks),
        tuple(
            Edge(names[edge.source], edge.output, names[edge.target], edge.input)
            for edge in graph.edges
        ),
    )


def _place(graph: Graph, there: Counter[str]) -> tuple[dict[str, str], dict[str, int]]:
    """The unit of each block, and its variant, among as many units of each type as are ``there``.

    Blocks that could be of several types take the first that is free, behind all others.
    """
    kinds = {block.name: _kinds_of(block, graph) for block in graph.blocks}
    taken: Counter[str] = Counter()
    placed, variants = {}, {}
    for name in sorted(kinds, key=lambda name: len(kinds[name])):
        free = [kind for kind in kinds[name] if taken[kind] < there[kind]]
        kind = next(iter(free or kinds[name]))
        placed[name], variants[name] = f"{kind}_{taken[kind]}", kinds[name][kind]
        taken[kind] += 1
    short = [
        f"{taken[name]} of {name}, the fabric has {there[name]}"
        for name in UNIT_TYPES
        if taken[name] > there[name]
    ]
    if short:
        raise CapacityError(f"graph: needs {'; '.join(short)}")
    return placed, variants


def _kinds_of(block: Block, graph: Graph) -> dict[str, int]:
    """The unit types that a block of a graph can be, the narrowest first, each with its variant."""
    edges = {
        name: graph.drivers[block.name, name]
        for name in block.inputs
        if (block.name, name) in graph.drivers
    }
    carries_values = any(
        block.inputs[name].mixes_values and graph.kind_of_stream(edge.source, edge.output) == VAL
        for name, edge in edges.items()
    )
    fitting = {
        kind.name: place
        for kind in UNIT_TYPES.values()
        if (kind.carries_values or not carries_values)
        and (place := kind.variant_of(block, list(edges))) is not None
    }
    assert fitting, f"{block.type} with {dict(block.parameters)} matches no unit type"
    return fitting
