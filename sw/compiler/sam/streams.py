"""What the streams of a graph are fibers of: the loops around each token, found block by block.

Two streams with the same loops have the same control tokens. Loops are identified by what makes
their coordinates: the same set, found in two ways by unions and intersections, is the same loop.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partialmethod
from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import CRD, DEALERS, DENSE
from gnarl.hw.sam.graph import Block, Graph


@dataclass(frozen=True)
class Fibers:
    """One level of nesting: the loop over ``index``, whose coordinates ``origin`` identifies.

    ``base`` is the origin of the level before coordinates were dropped from it.
    """

    index: str
    origin: Hashable
    base: Hashable


Loops = tuple[Fibers, ...]
Output = tuple[str, str]

UNION, INTERSECT = "union", "intersect"
_LANE, _RESIDUE = "lane", "residue"
"""What begins the origin of coordinates that are dealt in turn, or by their residues."""


@dataclass(frozen=True)
class StreamTable:
    """``loops`` around the tokens of every output, outermost first, by block and output.

    coordinates
        the outputs that carry the coordinates of the innermost loop, by loops.
    """

    loops: dict[Output, Loops]
    coordinates: dict[Loops, list[Output]]


def trace(graph: Graph) -> StreamTable:
    """The loops of every stream. ``WorkloadError`` names the block and port that do not fit.

    O(blocks · depth).
    """
    tracer = _Tracer(graph)
    for block in graph.topological():
        tracer.visit(block)
    return tracer.table


def before_drops(loops: Loops) -> tuple[Hashable, ...]:
    """The loops as they were before any coordinates were dropped."""
    return tuple(fibers.base for fibers in loops)


def is_complete(fibers: Fibers) -> bool:
    """Whether the loop has every coordinate of its index."""
    return isinstance(fibers.origin, tuple) and fibers.origin[0] == DENSE


class _Tracer:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._sure: set[Output] = set()  # references that are never missing
        self.table = StreamTable({}, {})

    def visit(self, block: Block) -> None:
        rule = getattr(self, f"_{block.type}", None)
        if rule is not None:
            for output, loops in rule(block).items():
                self.table.loops[block.name, output] = loops
                if block.outputs[output].kinds == (CRD,):
                    self.table.coordinates.setdefault(loops, []).append((block.name, output))
        for output in block.outputs:
            if self._is_sure(block, output):
                self._sure.add((block.name, output))

    def _is_sure(self, block: Block, output: str) -> bool:
        if block.type in ("root", "fiberlookup", "bitvectorlookup", "bitvectorexpand"):
            return True
        if block.type in (*DEALERS, "serializer"):
            return all(self._source(block, port) in self._sure for port in block.inputs)
        if not output.startswith("out_ref"):
            return False
        lane = output.removeprefix("out_")
        if self._source(block, lane) not in self._sure:
            return False
        if block.type in ("union", "bitvectorunion"):
            own = self.table.loops[self._source(block, lane)][-1]
            return own.origin == self.table.loops[block.name, output][-1].origin
        return True

    def _source(self, block: Block, port: str) -> Output:
        edge = self._graph.drivers[block.name, port]
        return edge.source, edge.output

    def _in(self, block: Block, port: str, depth: int = 0) -> Loops:
        """Loops of an input, which must be at least ``depth`` deep."""
        loops = self.table.loops[self._source(block, port)]
        if len(loops) < depth:
            source = ".".join(self._source(block, port))
            _fail(
                block,
                port,
                f"is fed by {source}, which lies in {_depth(loops)}; must lie in at least {depth}",
            )
        return loops

    def _same(self, block: Block, one: str, other: str, inner: Loops, outer: Loops) -> None:
        """Two inputs must lie in the same loops; ``outer`` those of port ``one``."""
        if inner != outer:
            _fail(
                block,
                other,
                f"lies in loops ({names(inner)}) where {one} has ({names(outer)}); "
                "they must be the same, with the same coordinates",
            )

    def _named(self, block: Block, port: str, fibers: Fibers, index: str) -> None:
        if index and fibers.index and index != fibers.index:
            _fail(block, port, f"has index {fibers.index}; must have index {index}, as the block")

    def _walked(self, block: Block, port: str, *beside: str) -> Loops:
        """Loops of an input with coordinates of the block's index, and of those read beside it."""
        loops = self._in(block, port, 1)
        for other in beside:
            self._same(block, port, other, self._in(block, other), loops)
        self._named(block, port, loops[-1], block["index"])
        return loops

    # One rule for each type of block: from the loops of its inputs to those of its outputs.

    def _root(self, block: Block) -> dict[str, Loops]:
        return {"out_ref": ()}

    def _fiberlookup(self, block: Block) -> dict[str, Loops]:
        outer = self._in(block, "ref")
        origin: Hashable = ("lookup", block.name)
        if block["format"] == DENSE and self._source(block, "ref") in self._sure:
            origin = (DENSE, block["index"] or block.name)
        inner = (*outer, Fibers(block["index"], origin, origin))
        return {"out_crd": inner, "out_ref": inner}

    def _bitvectorlookup(self, block: Block) -> dict[str, Loops]:
        origin = ("lookup", block.name)
        inner = (*self._in(block, "ref"), Fibers(block["index"], origin, origin))
        return {"out_bv": inner, "out_ref": inner}

    def _bitvectorexpand(self, block: Block) -> dict[str, Loops]:
        loops = self._walked(block, "bv", "ref")
        return {"out_crd": loops, "out_ref": loops}

    def _locate(self, block: Block) -> dict[str, Loops]:
        return {"out_ref": self._walked(block, "crd", "ref")}

    def _repsiggen(self, block: Block) -> dict[str, Loops]:
        return {"out_repsig": self._walked(block, "crd")}

    def _repeat(self, block: Block) -> dict[str, Loops]:
        loops = self._in(block, "repsig", 1)
        self._same(block, "repsig", "ref", self._in(block, "ref"), loops[:-1])
        self._named(block, "repsig", loops[-1], block["index"])
        return {"out_ref": loops}

    def _join(self, block: Block, kind: str, first: str) -> dict[str, Loops]:
        lanes = [self._walked(block, f"{first}{lane}", f"ref{lane}") for lane in "01"]
        self._same(block, f"{first}0", f"{first}1", lanes[1][:-1], lanes[0][:-1])
        fibers = Fibers(
            lanes[0][-1].index,
            _joined(kind, lanes[0][-1].origin, lanes[1][-1].origin),
            _joined(kind, lanes[0][-1].base, lanes[1][-1].base),
        )
        if lanes[0][-1].index != lanes[1][-1].index:
            self._named(block, f"{first}1", lanes[1][-1], lanes[0][-1].index)
        loops = (*lanes[0][:-1], fibers)
        return {"out_crd": loops, "out_ref0": loops, "out_ref1": loops}

    _intersect = partialmethod(_join, kind=INTERSECT, first="crd")
    _union = partialmethod(_join, kind=UNION, first="crd")
    _bitvectorintersect = partialmethod(_join, kind=INTERSECT, first="bv")
    _bitvectorunion = partialmethod(_join, kind=UNION, first="bv")

    def _arrayvals(self, block: Block) -> dict[str, Loops]:
        return {"out_val": self._in(block, "ref")}

    def _alu(self, block: Block) -> dict[str, Loops]:
        loops = self._in(block, "val0")
        self._same(block, "val0", "val1", self._in(block, "val1"), loops)
        return {"out_val": loops}

    def _function(self, block: Block) -> dict[str, Loops]:
        return {"out_val": self._in(block, "val")}

    def _fold(self, block: Block) -> dict[str, Loops]:
        return {"out_val": self._in(block, "val")}

    def _reduce(self, block: Block) -> dict[str, Loops]:
        loops = self._in(block, "val", 1)
        if (block.name, "crd") in self._graph.drivers:
            self._same(block, "val", "crd", self._in(block, "crd"), loops[:-1])
        return {"out_val": loops[:-1]}

    def _spaccumulator(self, block: Block) -> dict[str, Loops]:
        order = block["order"]
        loops = self._in(block, "crd0", order + 1)
        self._same(block, "crd0", "val", self._in(block, "val"), loops)
        for place in range(1, order + 1):
            port = f"crd{place}"
            self._same(block, "crd0", port, self._in(block, port), loops[: len(loops) - place])
        summed = len(loops) - order - 1
        inner = loops[:summed]
        outputs = {}
        for place in reversed(range(order)):
            index = loops[-1 - place].index
            origin: Hashable = ("sums", block.name, place)
            if block[f"full{place}"]:
                origin = (DENSE, index)
            inner = (*inner, Fibers(index, origin, origin))
            outputs[f"out_crd{place}"] = inner
        return {**outputs, "out_val": inner}

    def _crddrop(self, block: Block) -> dict[str, Loops]:
        outer, inner = self._in(block, "outer", 1), self._in(block, "inner", 1)
        self._same(block, "outer", "inner", inner[:-1], outer)
        dropped = Fibers(outer[-1].index, ("drop", block.name), outer[-1].base)
        return {"out_outer": (*outer[:-1], dropped), "out_inner": inner}

    def _crdhold(self, block: Block) -> dict[str, Loops]:
        outer, inner = self._in(block, "outer", 1), self._in(block, "inner", 1)
        self._same(block, "outer", "inner", inner[:-1], outer)
        return {"out_outer": inner, "out_inner": inner}

    def _valdrop(self, block: Block) -> dict[str, Loops]:
        loops = self._in(block, "crd", 1)
        self._same(block, "crd", "val", self._in(block, "val"), loops)
        dropped = Fibers(loops[-1].index, ("drop", block.name), loops[-1].base)
        inner = (*loops[:-1], dropped)
        return {"out_crd": inner, "out_val": inner}

    def _crdtopoint(self, block: Block) -> dict[str, Loops]:
        outer, inner = self._in(block, "outer", 1), self._in(block, "inner", 1)
        self._same(block, "outer", "inner", inner[:-1], outer)
        origin = ("points", inner)
        points = (Fibers(inner[-1].index, origin, origin),)
        return {"out_outer": points, "out_inner": points}

    def _pointtocrd(self, block: Block) -> dict[str, Loops]:
        outer, inner = self._in(block, "outer", 1), self._in(block, "inner", 1)
        self._same(block, "outer", "inner", inner, outer)
        outside, inside = ((kind, block.name) for kind in ("outer", "inner"))
        crd = (Fibers("", outside, outside),)
        return {"out_outer": crd, "out_inner": (*crd, Fibers(inner[-1].index, inside, inside))}

    def _parallelizer(self, block: Block) -> dict[str, Loops]:
        return _in_lanes(block, _LANE, self._in(block, "i", 1))

    def _crdparallelizer(self, block: Block) -> dict[str, Loops]:
        loops = self._in(block, "crd", 1)
        self._same(block, "crd", "i", self._in(block, "i"), loops)
        _, lanes, _ = _divided(loops[-1], _RESIDUE)
        if 1 << block["shift"] != lanes:
            shift = lanes.bit_length() - 1
            _fail(block, "crd", f"is of {lanes} lanes already; must have shift = {shift}")
        return _in_lanes(block, _RESIDUE, loops)

    def _serializer(self, block: Block) -> dict[str, Loops]:
        lanes = [self._in(block, f"i{lane}", 2) for lane in range(block["lanes"])]
        outer = [(*loops[:-2], _merged(loops[-2])) for loops in lanes]
        for lane, loops in enumerate(outer):
            self._same(block, "i0", f"i{lane}", loops, outer[0])
        inner = [loops[-1] for loops in lanes]
        origin: Hashable = ("lanes", tuple(fibers.origin for fibers in inner))
        if all(is_complete(fibers) for fibers in inner):
            origin = inner[0].origin
        base: Hashable = ("lanes", tuple(fibers.base for fibers in inner))
        if all(fibers.base == fibers.origin for fibers in inner):
            base = origin
        return {"o": (*outer[0], Fibers(inner[0].index, origin, base))}

    def _valserializer(self, block: Block) -> dict[str, Loops]:
        whole = self._in(block, "crd", 1)
        for lane in range(block["lanes"]):
            loops = self._in(block, f"i{lane}", 1)
            merged = (*loops[:-1], _merged(loops[-1]))
            self._same(block, "crd", f"i{lane}", merged, whole)
            if _dealt(loops[-1]) != (block["lanes"], lane, merged[-1]):
                _fail(block, f"i{lane}", f"is of another lane: must be of lane {lane}")
        return {"out_val": whole}


def lane_of(fibers: Fibers) -> tuple[int, int] | None:
    """The lane that a loop's coordinates were dealt to in turn, and of how many; ``None``: to
    none."""
    lane, lanes, _ = _divided(fibers, _LANE)
    return (lane, lanes) if lanes > 1 else None


def residue_of(fibers: Fibers) -> tuple[int, int, Fibers] | None:
    """The lane that a loop's coordinates were dealt to by their residues, and of how many, and the
    loop before; ``None``: they were not."""
    lane, lanes, before = _divided(fibers, _RESIDUE)
    return (lane, lanes, before) if lanes > 1 else None


def undivided(fibers: Fibers) -> Fibers:
    """The loop whose coordinates were dealt to lanes in turn, if they were."""
    return _divided(fibers, _LANE)[2]


def _divided(fibers: Fibers, how: str) -> tuple[int, int, Fibers]:
    """The lane that a loop was dealt to by a tree of blocks, of how many, and the loop before."""
    lane, lanes = 0, 1
    while (dealt := _dealt(fibers, how)) is not None:
        ways, way, fibers = dealt
        lane, lanes = way + ways * lane, ways * lanes
    return lane, lanes, fibers


def _dealt(fibers: Fibers, how: str = _LANE) -> tuple[int, int, Fibers] | None:
    """How many ways a loop has been dealt, which one this is, and the loop before: in turn, or by
    coordinate."""
    origin = fibers.origin
    return origin[1:] if isinstance(origin, tuple) and origin[0] == how else None


def _in_lanes(block: Block, how: str, loops: Loops) -> dict[str, Loops]:
    """Loops by output of a block that deals the innermost one of ``loops``; see ``_dealt``."""
    *outer, dealt = loops
    origins = ((how, block["lanes"], lane, dealt) for lane in range(block["lanes"]))
    inner = (Fibers(dealt.index, origin, origin) for origin in origins)
    return {f"o{lane}": (*outer, fibers) for lane, fibers in enumerate(inner)}


def _merged(fibers: Fibers) -> Fibers:
    dealt = _dealt(fibers)
    return fibers if dealt is None else dealt[2]


def _joined(kind: str, one: Hashable, other: Hashable) -> Hashable:
    """The set that two sets make; nested ones of a kind are one, whatever their order."""
    members: set[Hashable] = set()
    for origin in (one, other):
        if isinstance(origin, tuple) and origin[0] == kind:
            members |= origin[1]
        else:
            members.add(origin)
    complete: set[Hashable] = {
        member for member in members if isinstance(member, tuple) and member[0] == DENSE
    }
    if kind == UNION and complete:
        members = complete
    if kind == INTERSECT and members - complete:
        members -= complete
    return next(iter(members)) if len(members) == 1 else (kind, frozenset(members))


def names(loops: Loops) -> str:
    """Indices of the loops, for errors."""
    return ", ".join(fibers.index or "?" for fibers in loops)


def _depth(loops: Loops) -> str:
    return "no loop" if not loops else f"{len(loops)} loop{'s' * (len(loops) > 1)}"


def _fail(block: Block, port: str, problem: str) -> NoReturn:
    raise WorkloadError(f"graph: {block.type} {block.name}: {port} {problem}")
