"""SAM graphs: blocks, and the streams between them.

A graph says nothing of data: sizes and contents of tensors are set and loaded before a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import networkx as nx
from gnarl.hw.lib.errors import ConfigError, Violation, quoted
from gnarl.hw.sam.block_types import BLOCK_TYPES, VAL, Array, BlockType, Port, Setting
from gnarl.hw.sam.value_shape import MAX_BLOCK, ONE_WORD, ValueShape


@dataclass(frozen=True)
class Block:
    """A block of a graph: a unique ``name``, a type of ``BLOCK_TYPES``, and its parameters.

    Parameters that are not given have the type's defaults.
    """

    name: str
    type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = BLOCK_TYPES.get(self.type)
        if known is None:
            raise ConfigError(
                [
                    f"block {self.name}: no type {quoted(self.type)}; there are "
                    f"{', '.join(BLOCK_TYPES)}"
                ]
            )
        values = {parameter.name: parameter.default for parameter in known.parameters}
        for name, value in self.parameters.items():
            if name not in values:
                named = ", ".join(values) or "none"
                raise ConfigError(
                    [
                        f"block {self.name}: no parameter {quoted(name)} of {self.type}; there "
                        f"are {named}"
                    ]
                )
            values[name] = value
        for parameter in known.parameters:
            _check_parameter(self.name, parameter.name, values[parameter.name], parameter.allowed)
        object.__setattr__(self, "parameters", values)

    def __hash__(self) -> int:
        return hash((self.name, self.type))

    def __getitem__(self, parameter: str) -> Any:
        return self.parameters[parameter]

    @property
    def kind(self) -> BlockType:
        return BLOCK_TYPES[self.type]

    @cached_property
    def inputs(self) -> dict[str, Port]:
        return {port.name: port for port in self.kind.inputs(self.parameters)}

    @cached_property
    def outputs(self) -> dict[str, Port]:
        return {port.name: port for port in self.kind.outputs(self.parameters)}

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of what the host sets before a run."""
        return tuple(setting.name for setting in self.kind.settings(self.parameters))

    def setting(self, name: str) -> Setting:
        """The setting called ``name``; ``KeyError`` if there is none."""
        return {one.name: one for one in self.kind.settings(self.parameters)}[name]

    @property
    def arrays(self) -> tuple[Array, ...]:
        return self.kind.arrays(self.parameters)

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of what the host reads after a run."""
        return self.kind.counts(self.parameters)


DEPTHS = range(2, (1 << 16) + 1)
"""Depths that a queue may have."""


@dataclass(frozen=True)
class Edge:
    """A stream from an output of a block to an input of another. An output may feed several.

    depth
        tokens that the queue in front of the input holds, of ``DEPTHS``; None: as many as the
        configuration's ``queue_depth`` says.
    """

    source: str
    output: str
    target: str
    input: str
    depth: int | None = None

    def __str__(self) -> str:
        return f"{self.source}.{self.output} -> {self.target}.{self.input}"


@dataclass(frozen=True)
class Graph:
    """Blocks, each before those that it feeds where possible, and edges. Both in a fixed order."""

    blocks: tuple[Block, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        object.__setattr__(self, "edges", tuple(self.edges))
        violations = list(_violations(self))
        if violations:
            raise ConfigError(violations)

    def __getitem__(self, name: str) -> Block:
        return self._named[name]

    @cached_property
    def _named(self) -> dict[str, Block]:
        return {block.name: block for block in self.blocks}

    @cached_property
    def drivers(self) -> dict[tuple[str, str], Edge]:
        """The edge into each input, by block and input."""
        return {(edge.target, edge.input): edge for edge in self.edges}

    @cached_property
    def readers(self) -> dict[tuple[str, str], tuple[Edge, ...]]:
        """The edges out of each output that has some, by block and output."""
        found: dict[tuple[str, str], list[Edge]] = {}
        for edge in self.edges:
            found.setdefault((edge.source, edge.output), []).append(edge)
        return {output: tuple(edges) for output, edges in found.items()}

    def kind_of_stream(self, name: str, output: str) -> str:
        """What an output carries, a kind of ``block_types``; follows blocks that take several."""
        block = self[name]
        kinds = block.outputs[output].kinds
        if len(kinds) == 1:
            return kinds[0]
        edge = self.drivers.get((name, _SOURCES.get(output, output.removeprefix("out_"))))
        if edge is None:
            edge = self.drivers[name, next(iter(block.inputs))]
        return self.kind_of_stream(edge.source, edge.output)

    def shape_of_stream(self, name: str, output: str) -> ValueShape:
        """What a value is that an output carries."""
        return self._shapes[name, output]

    def words_of(self, name: str) -> int:
        """Most words of a value that a block is given, or reads."""
        block = self[name]
        shapes = [own_shape(block), *self.shapes_into(block).values()]
        if block.type == "alu":
            shapes.append(self._shapes[name, "out_val"])
        return max(shape.words for shape in shapes)

    def shapes_into(self, block: Block) -> dict[str, ValueShape]:
        """What the values are that a block is given, by the inputs that have an edge."""
        edges = {name: self.drivers.get((block.name, name)) for name in block.inputs}
        return {
            name: self._shapes[edge.source, edge.output]
            for name, edge in edges.items()
            if edge is not None
        }

    @cached_property
    def _shapes(self) -> dict[tuple[str, str], ValueShape]:
        found: dict[tuple[str, str], ValueShape] = {}
        for block in self._ordered:
            given = {
                name: found[edge.source, edge.output]
                for name in block.inputs
                if (edge := self.drivers.get((block.name, name))) is not None
            }
            for output, port in block.outputs.items():
                shape = _shape_given(block, output, given) if VAL in port.kinds else ONE_WORD
                found[block.name, output] = shape
        return found

    @property
    def blocks_along(self) -> dict[str, int]:
        """Words of blocks of values by the indices that they lie along."""
        return dict(sorted({dim for block in self.blocks for dim in own_shape(block).dims}))

    def index_of(self, name: str, output: str) -> str:
        """The index variable whose coordinates an output carries, or "" if none is known."""
        block = self[name]
        if block.parameters.get("index"):
            return block["index"]
        edge = self.drivers.get((name, _SOURCES.get(output, output.removeprefix("out_"))))
        return self.index_of(edge.source, edge.output) if edge else ""

    def with_depths(self, depths: Mapping[tuple[str, str], int]) -> Graph:
        """The graph with other depths of the queues in front of some inputs, by block and input."""
        edges = (
            replace(edge, depth=depths.get((edge.target, edge.input), edge.depth))
            for edge in self.edges
        )
        return Graph(self.blocks, tuple(edges))

    def networkx(self) -> nx.MultiDiGraph:
        """Nodes are names with ``block``; edges have ``output`` and ``input``."""
        graph = nx.MultiDiGraph()
        for block in self.blocks:
            graph.add_node(block.name, block=block)
        for edge in self.edges:
            graph.add_edge(edge.source, edge.target, output=edge.output, input=edge.input)
        return graph

    def topological(self) -> list[Block]:
        """Blocks after those that feed them, otherwise as they are. Raises ``ConfigError`` for a
        loop."""
        return list(self._ordered)

    @cached_property
    def _ordered(self) -> tuple[Block, ...]:
        places = {block.name: place for place, block in enumerate(self.blocks)}
        fed_by = [0] * len(self.blocks)
        for edge in self.edges:
            fed_by[places[edge.target]] += 1
        ready = [place for place, count in enumerate(fed_by) if not count]  # a heap
        found = []
        while ready:
            block = self.blocks[heappop(ready)]
            found.append(block)
            for name in block.outputs:
                for edge in self.readers.get((block.name, name), ()):
                    place = places[edge.target]
                    fed_by[place] -= 1
                    if not fed_by[place]:
                        heappush(ready, place)
        if len(found) < len(self.blocks):
            loop = " -> ".join(source for source, *_ in nx.find_cycle(self.networkx()))
            raise ConfigError([f"graph: blocks feed themselves: {loop}"])
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """JSON's types only."""
        return {
            "blocks": [
                {"name": block.name, "type": block.type, **block.parameters}
                for block in self.blocks
            ],
            "edges": [
                [
                    f"{edge.source}.{edge.output}",
                    f"{edge.target}.{edge.input}",
                    *([] if edge.depth is None else [edge.depth]),
                ]
                for edge in self.edges
            ],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Graph:
        """Inverse of ``to_dict``. Raises ``ConfigError`` that names the block or edge."""
        try:
            blocks = [
                Block(
                    entry["name"],
                    entry["type"],
                    {key: value for key, value in entry.items() if key not in ("name", "type")},
                )
                for entry in values["blocks"]
            ]
            edges = [_edge(*ends) for ends in values["edges"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError([Violation("graph", f": cannot be understood: {error!r}")]) from error
        return cls(tuple(blocks), tuple(edges))


_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
"""Names of blocks: public names in Verilog, C++ and Python."""

_SOURCES = {"o": "i0", "out_inner": "inner", "out_outer": "outer"}


def own_shape(block: Block) -> ValueShape:
    """What the values are that a block reads, writes or folds; of others one word."""
    return ValueShape.parse(block.parameters.get("block", ""))


def memory_violation(block: Block, memory: str) -> str:
    """Why a memory of this kind has no rows for a block's values; "" where it has."""
    words = own_shape(block).words
    if words == 1 or memory != "shared":
        return ""
    return (
        f"block {block.name}: memory = 'shared': must be 'local' or 'lines' for blocks of values, "
        f"whose rows have {words} words"
    )


def _shape_given(block: Block, output: str, given: Mapping[str, ValueShape]) -> ValueShape:
    """What a value is that an output carries, by those of the inputs."""
    match block.type:
        case "arrayvals":
            return own_shape(block)
        case "fold":
            return own_shape(block).without(block["index"])
        case "alu":
            try:
                return given["val0"].joined(given["val1"])
            except ValueError:  # see ``shape_violations``
                return given["val0"]
    source = _SOURCES.get(output, output.removeprefix("out_"))
    if source in given:
        return given[source]
    return max(given.values(), key=lambda shape: shape.words, default=ONE_WORD)


def shape_violations(graph: Graph) -> Iterator[str]:
    """Blocks that are given other values than they take."""
    seen: dict[str, tuple[int, Block]] = {}
    for block in graph.blocks:
        own, given = own_shape(block), graph.shapes_into(block)
        for index, words in own.dims:
            there, first = seen.setdefault(index, (words, block))
            if words != there:
                yield (
                    f"block {block.name}: block = {own.text!r}: must have {there} words along "
                    f"{index}, as {first.name}"
                )
        if block.type == "alu":
            try:
                whole = given["val0"].joined(given["val1"])
            except ValueError as error:
                yield f"block {block.name}: its values have {error}: must have the same"
                continue
            if whole.words > MAX_BLOCK:
                yield (
                    f"block {block.name}: its values have {whole}: must have {MAX_BLOCK:,} words "
                    "at most"
                )
        elif block.type == "fold":
            if given["val"] != own or block["index"] not in dict(own.dims):
                yield (
                    f"block {block.name}: folds {own} over {block['index'] or 'no index'}, and is "
                    f"given values of {given['val']}: must be the same, with that index"
                )
        elif block.type == "valwrite" and not set(given["val"].dims) <= set(own.dims):
            yield f"block {block.name}: val has values of {given['val']}: must be of {own}"


def _edge(source: str, target: str, depth: int | None = None) -> Edge:
    block, _, output = source.rpartition(".")
    reader, _, input = target.rpartition(".")
    return Edge(block, output, reader, input, depth)


def _check_parameter(block: str, name: str, value: Any, allowed: tuple[Any, ...] | type) -> None:
    if allowed is ValueShape:
        right, wanted = isinstance(value, str), "text"
        try:
            ValueShape.parse(value if right else "")
        except ValueError as error:
            right, wanted = False, str(error)
    elif isinstance(allowed, type):
        right = type(value) is allowed
        wanted = {int: "a whole number", str: "text"}[allowed]
    else:
        right = any(type(value) is type(one) and value == one for one in allowed)
        wanted = f"one of {', '.join(map(str, allowed))}"
    if not right:
        raise ConfigError([f"block {block}: {name} = {quoted(value)}: must be {wanted}"])


def _violations(graph: Graph) -> Iterable[str]:
    """Blocks that share a name, edges between ports that do not exist, inputs not fed once."""
    seen: set[str] = set()
    for block in graph.blocks:
        if block.name in seen or not _NAME.fullmatch(block.name):
            yield f"block {block.name}: its name must be an identifier of its own"
        seen.add(block.name)
    fed: set[tuple[str, str]] = set()
    for edge in graph.edges:
        for name, end, ends in (
            (edge.source, edge.output, "outputs"),
            (edge.target, edge.input, "inputs"),
        ):
            if name not in seen:
                yield f"edge {edge}: no such block: {name}"
            elif end not in getattr(graph[name], ends):
                there = ", ".join(getattr(graph[name], ends)) or "none"
                yield f"edge {edge}: {name} has no {end} among its {ends}; there are {there}"
        if (edge.target, edge.input) in fed:
            yield f"edge {edge}: the input has another edge already"
        fed.add((edge.target, edge.input))
        if edge.depth is not None and (type(edge.depth) is not int or edge.depth not in DEPTHS):
            yield (
                f"edge {edge}: depth = {quoted(edge.depth)}: must be a whole number from "
                f"{DEPTHS[0]} to {DEPTHS[-1]}"
            )
    for block in graph.blocks:
        for port in block.inputs.values():
            if not port.optional and (block.name, port.name) not in fed:
                yield f"block {block.name}: its input {port.name} has no edge"
