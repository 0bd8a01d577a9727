"""Empty fibers of results: where they may be, which coordinates go with them, and who records them.

A coordinate may be written whose fiber, a level further in, is empty. A stop does not distinguish
that fiber from one around it: below an empty fiber every level has a stop, too. The writers of the
levels above say which one it was, as long as each records a fiber for every stop that it takes.
Where drops have removed the coordinates of empty fibers, the fibers that are left are those with
coordinates. ``gnarl.sw.runtime.sam.written`` reads what is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.sam.block_types import DEALERS, DENSE
from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.compiler.sam.drops import in_lanes, is_dropped, value_writers, writers_of
from gnarl.sw.compiler.sam.iteration import MAX_KNOWN
from gnarl.sw.compiler.sam.streams import Output

Presence = frozenset[frozenset[str]]
"""What is known of lookups that may have no position: of each set, by name, one has."""

_LOOKUPS = ("fiberlookup", "bitvectorlookup")
_UNIONS = ("union", "bitvectorunion")
_PASSING = {**dict.fromkeys(DEALERS, "i"), "serializer": "i0", "repeat": "ref"}
"""The input whose references a block passes on."""
_INTERSECTIONS = ("intersect", "bitvectorintersect")


def recorded(graph: Graph) -> dict[str, bool]:
    """Whether each writer of a level, by name, records every fiber, or only those with coordinates.

    The outermost fiber is always recorded, and those below dense levels. Below others, fibers that
    may be empty are, whose coordinates are not dropped, and then, too, what says which of the
    stops further in belong to them. Lanes record what each unit that they were dealt has become:
    all of their fibers, and those of the levels around. O(blocks²).
    """
    is_recorded: dict[str, bool] = {}
    for tensor, levels in writers_of(graph).items():
        if len(value_writers(graph, tensor)) > 1:
            for level in levels:
                is_recorded |= {writer.name: True for writer in in_lanes(graph, level)}
        else:
            is_recorded |= _recorded(graph, levels)
    return is_recorded


def _recorded(graph: Graph, levels: list[Block]) -> dict[str, bool]:
    fibers, around = _Fibers(graph), frozenset[frozenset[str]]()
    gaps, dropped, keeps = list[bool](), list[bool](), list[bool]()
    for number, writer in enumerate(levels):
        edge = graph.drivers[writer.name, "crd"]
        output = edge.source, edge.output
        gap = writer["format"] != DENSE and not fibers.never_empty(output, around)
        around |= fibers.known(output)
        outer = levels[number - 1] if number else None
        gaps.append(gap)
        dropped.append(outer is not None and is_dropped(graph, outer))
        if outer is None or outer["format"] == DENSE:
            keeps.append(True)
        else:
            keeps.append(not dropped[-1] and (gap or number == 1))
    for number in reversed(range(2, len(levels))):
        if keeps[number] and not dropped[number] and any(gaps[1:number]):
            above = (n for n in reversed(range(number)) if levels[n]["format"] != DENSE)
            keeps[next(above, 0)] = True
    return {writer.name: kept for writer, kept in zip(levels, keeps, strict=True)}


class _Fibers:
    """What is known of fibers of coordinates, whatever the data. Below a position of a compressed
    or bitvector level of an operand a fiber is not empty."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def known(self, output: Output) -> Presence:
        """The lookups known to have each coordinate of a stream."""
        block = self._graph[output[0]]
        if block.type in _LOOKUPS:
            return frozenset({frozenset({block.name})})
        if block.type in ("crddrop", "valdrop", "bitvectorexpand"):
            port = "bv" if block.type == "bitvectorexpand" else output[1].removeprefix("out_")
            return self.known(self._source(block, port))
        if block.type in (*_UNIONS, *_INTERSECTIONS):
            one, other = (self.known(lane) for lane in self._lanes(block))
            if block.type in _INTERSECTIONS:
                return one | other
            if len(one) * len(other) <= MAX_KNOWN:
                return frozenset(left | right for left in one for right in other)
        return frozenset()

    def never_empty(self, output: Output, around: Presence) -> bool:
        """Whether no fiber of a stream is empty below a coordinate of the loop around, with what
        is known in the loops ``around``."""
        block = self._graph[output[0]]
        match block.type:
            case "fiberlookup" | "bitvectorlookup" | "union" | "bitvectorunion":
                parts = list(self._parts(output))
                filled = [part for part in parts if self._is_filled(part)]
                if self._one_is_there(filled, around):
                    return True
                lanes = self._lanes(block) if block.type in _UNIONS else []
                return any(self.never_empty(lane, around) for lane in lanes)
            case "bitvectorexpand":
                return self.never_empty(self._source(block, "bv"), around)
            case "crddrop" if output[1] == "out_inner":
                return self.never_empty(self._source(block, "inner"), around)
            case "spaccumulator":
                place = int(output[1].removeprefix("out_crd"))
                further = f"full{place + 1}"
                inside = place < block["order"] - 1 and not block[further]
                return bool(block[f"full{place}"] or inside)
            case "serializer":
                lanes = [self._source(block, port) for port in block.inputs]
                return all(self.never_empty(lane, around) for lane in lanes)
        return False

    def _parts(self, output: Output) -> Iterator[Block]:
        """The lookups that a union is of."""
        block = self._graph[output[0]]
        if block.type in _LOOKUPS:
            yield block
        elif block.type in _UNIONS:
            for lane in self._lanes(block):
                yield from self._parts(lane)
        elif block.type == "bitvectorexpand":
            yield from self._parts(self._source(block, "bv"))

    def _is_filled(self, lookup: Block) -> bool:
        """Whether no fiber is empty where there is a reference."""
        if _is_dense(lookup):
            return True
        outer = self._outer(lookup)
        return outer is not None and not _is_dense(outer)

    def _one_is_there(self, lookups: list[Block], around: Presence) -> bool:
        """Whether one of ``lookups`` has a reference, wherever the loop around is."""
        from_root, names = False, set[str]()
        for lookup in lookups:
            outer = self._outer(lookup)
            while outer is not None and outer.type == "locate":
                outer = self._outer(outer)
            from_root |= outer is None
            names |= set() if outer is None else {outer.name}
        return from_root or any(one <= names for one in around)

    def _outer(self, block: Block) -> Block | None:
        """The lookup or locate that gives a block's references; None: the root."""
        output = self._source(block, "ref")
        while (block := self._graph[output[0]]).type not in (*_LOOKUPS, "locate"):
            if block.type == "root":
                return None
            port = _PASSING.get(block.type)
            output = self._source(block, port or output[1].removeprefix("out_"))
        return block

    def _lanes(self, joiner: Block) -> list[Output]:
        kind = "bv" if joiner.type.startswith("bitvector") else "crd"
        return [self._source(joiner, f"{kind}{lane}") for lane in "01"]

    def _source(self, block: Block, port: str) -> Output:
        edge = self._graph.drivers[block.name, port]
        return edge.source, edge.output


def _is_dense(block: Block) -> bool:
    return block.type == "locate" or block.parameters.get("format") == DENSE
