"""A graph in which what lies inside a loop is there once a lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import prod

from gnarl.hw.sam.graph import Block, Edge
from gnarl.hw.sam.unit import WRITERS
from gnarl.sw.compiler.sam.lane_sums import is_full
from gnarl.sw.compiler.sam.streams import Output
from gnarl.sw.workloads.tensor.lanes import ways_of


class LaneGraph:
    """Blocks and edges, those inside the loop once a lane.

    Lanes beyond those of a block are dealt by a tree of blocks, of ``ways`` at each level: unit u
    goes to lane u modulo ``lanes`` all the same.
    """

    def __init__(self, lanes: int, room: int | None) -> None:
        self._lanes, self._room = lanes, room
        self._ways = ways_of(lanes)
        self.blocks: list[Block] = []
        self.edges: list[Edge] = []
        self._dealt: dict[tuple[Output, int], list[Output]] = {}
        self._merged: dict[Output, Output] = {}
        self._shared: dict[tuple[Output, int], list[Output]] = {}
        self._sums: dict[str, Mapping[str, Output]] = {}

    def add_block(self, block: Block, is_inside: bool) -> None:
        if not is_inside:
            self.blocks.append(block)
            return
        for lane, name in enumerate(_lanes(block.name, self._lanes)):
            own = {"lane": lane} if block.type in WRITERS else {}
            self.blocks.append(Block(name, block.type, {**block.parameters, **own}))

    def copy(self, edge: Edge) -> None:
        """An edge inside the loop."""
        sources, targets = (_lanes(end, self._lanes) for end in (edge.source, edge.target))
        for source, target in zip(sources, targets, strict=True):
            self.edges.append(replace(edge, source=source, target=target))

    def deal(self, edge: Edge) -> None:
        """An edge into the loop, in turn."""
        dealt = self._streams(edge.source, edge.output, len(self._ways))
        for (source, output), target in zip(dealt, _lanes(edge.target, self._lanes), strict=True):
            self.edges.append(replace(edge, source=source, output=output, target=target))

    def deal_by_coordinate(self, edge: Edge, crd: Edge) -> None:
        """An edge into the loop, by the coordinates that another edge brings."""
        shares = self._shares(edge.source, edge.output, crd, len(self._ways))
        for (source, output), target in zip(shares, _lanes(edge.target, self._lanes), strict=True):
            self.edges.append(replace(edge, source=source, output=output, target=target))

    def _shares(self, source: str, output: str, crd: Edge, level: int) -> list[Output]:
        """A stream as it is dealt by coordinates down to a level of the tree: one block for each
        output and level, by the next bits of what ``crd`` brings, which is dealt likewise."""
        if level == 0:
            return [(source, output)]
        key = (source, output), level
        if key not in self._shared:
            ways, shift = self._ways[level - 1], (prod(self._ways[: level - 1])).bit_length() - 1
            streams = self._shares(source, output, crd, level - 1)
            coordinates = self._shares(crd.source, crd.output, crd, level - 1)
            shares = []
            for number, (stream, own) in enumerate(zip(streams, coordinates, strict=True)):
                name = _numbered(f"share_{source}_{output}", level - 1, number)
                parameters = {"lanes": ways, "shift": shift}
                self.blocks.append(Block(name, "crdparallelizer", parameters))
                self.edges.append(Edge(*own, name, "crd", crd.depth))
                self.edges.append(Edge(*stream, name, "i"))
                shares.append([(name, f"o{way}") for way in range(ways)])
            self._shared[key] = [each[way] for way in range(ways) for each in shares]
        return self._shared[key]

    def add_up(self, edge: Edge, accumulator: Block, index: str) -> None:
        """An edge of an accumulator that each lane has: what neighbours give is added, in pairs and
        pairs of pairs. ``index``: that of the innermost coordinates."""
        name = accumulator.name
        if name not in self._sums:
            lanes = _lanes(name, self._lanes)
            sums = [{output: (lane, output) for output in accumulator.outputs} for lane in lanes]
            numbers = count()
            while len(sums) > 1:
                sums = [
                    self._added(accumulator, index, f"{name}_{next(numbers)}", one, other)
                    for one, other in zip(sums[::2], sums[1::2], strict=True)
                ]
            (self._sums[name],) = sums
        source, output = self._sums[name][edge.output]
        self.edges.append(replace(edge, source=source, output=output))

    def _added(
        self,
        accumulator: Block,
        index: str,
        label: str,
        one: Mapping[str, Output],
        other: Mapping[str, Output],
    ) -> dict[str, Output]:
        """What two give, at the coordinates that either has."""
        added, values = dict(one), [one["out_val"], other["out_val"]]
        if not is_full(accumulator):
            join = f"join_{label}"
            self.blocks.append(Block(join, "union", {"index": index}))
            for place, each in enumerate((one, other)):
                self.edges.append(Edge(*each["out_crd0"], join, f"crd{place}"))
                self.edges.append(Edge(*each["out_val"], join, f"ref{place}"))
            added["out_crd0"] = join, "out_crd"
            values = [(join, "out_ref0"), (join, "out_ref1")]
        add = f"add_{label}"
        self.blocks.append(Block(add, "alu", {"op": "add"}))
        self.edges += [Edge(*value, add, f"val{place}") for place, value in enumerate(values)]
        return {**added, "out_val": (add, "out_val")}

    def merge(self, edge: Edge) -> None:
        """An edge out of the loop."""
        self._merge(edge, "serializer", "o", lambda level: [])

    def merge_values(self, edge: Edge, crd: Edge) -> None:
        """An edge of a value for each coordinate of the loop, which ``crd`` brings to a lane."""
        self._merge(
            edge,
            "valserializer",
            "out_val",
            lambda level: self._streams(crd.source, crd.output, level),
        )

    def _streams(self, source: str, output: str, level: int) -> list[Output]:
        """A stream as it is dealt down to a level of the tree, by parallelizers that all have in
        common who take it: one for each output and level."""
        if level == 0:
            return [(source, output)]
        key = (source, output), level
        if key not in self._dealt:
            ways, dealt = self._ways[level - 1], []
            for number, stream in enumerate(self._streams(source, output, level - 1)):
                name = _numbered(f"deal_{source}_{output}", level - 1, number)
                self.blocks.append(Block(name, "parallelizer", {"lanes": ways}))
                self.edges.append(Edge(*stream, name, "i", self._room))
                dealt.append([(name, f"o{way}") for way in range(ways)])
            self._dealt[key] = [each[way] for way in range(ways) for each in dealt]
        return self._dealt[key]

    def _merge(
        self, edge: Edge, type: str, port: str, coordinates: Callable[[int], Sequence[Output]]
    ) -> None:
        """Feeds the target of an edge from a tree of blocks, one for each output; ``coordinates``:
        those that each block of a level has, if it has some."""
        output = edge.source, edge.output
        if output not in self._merged:
            streams = [(name, edge.output) for name in _lanes(edge.source, self._lanes)]
            for level in reversed(range(len(self._ways))):
                ways, merged = self._ways[level], []
                for number in range(len(streams) // ways):
                    name = _numbered(f"merge_{edge.source}_{edge.output}", level, number)
                    self.blocks.append(Block(name, type, {"lanes": ways}))
                    for stream in coordinates(level)[number : number + 1]:
                        self.edges.append(Edge(*stream, name, "crd", self._room))
                    for way, stream in enumerate(streams[number :: len(streams) // ways]):
                        self.edges.append(Edge(*stream, name, f"i{way}"))
                    merged.append((name, port))
                streams = merged
            (self._merged[output],) = streams
        source, output_port = self._merged[output]
        self.edges.append(replace(edge, source=source, output=output_port))


def _numbered(name: str, level: int, number: int) -> str:
    return f"{name}_{number}" if level else name


def _lanes(name: str, lanes: int) -> list[str]:
    return [f"{name}_lane{lane}" for lane in range(lanes)]
