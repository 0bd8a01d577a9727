"""Loops as blocks: lookups, joiners, repeats and locates that walk operands index by index."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gnarl.hw.sam.block_types import BITVECTOR, DENSE
from gnarl.sw.compiler.sam.builder import Node, Stream
from gnarl.sw.compiler.sam.iteration import (
    All,
    Coordinates,
    Intersection,
    Level,
    Operand,
    Presence,
    Union,
    is_full,
    is_sure,
    never_empty,
    visited,
)
from gnarl.sw.compiler.sam.table.table import VALUES, TableBuilder


@dataclass(frozen=True)
class Loop:
    """A loop over ``index``: its coordinates ``crd``, one fiber for each turn of the loop outside.

    full
        every coordinate is there.
    never_empty
        each fiber has a coordinate.
    """

    index: str
    crd: Stream
    full: bool
    never_empty: bool


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first, and the operands' positions in the innermost one.

    references
        by operand number, the position of the last level that was walked; operands that are not
        there have not begun.
    present
        what is known of operands that may be missing here.
    """

    loops: tuple[Loop, ...]
    references: dict[int, Stream]
    present: Presence


@dataclass(frozen=True)
class Computed:
    """What was computed beside a nest: its own loops, and the values in the innermost one."""

    loops: tuple[Loop, ...]
    val: Stream


@dataclass(frozen=True)
class _Lane:
    """Coordinates, and the references that go with them, by operand number; never without one."""

    crd: Stream
    references: dict[int, Stream]


ALL = -1  # as an operand's number: the lane of every coordinate, which no operand reads


class Walker:
    """Descends into loops, and places what that takes in a fusion table."""

    def __init__(self, table: TableBuilder) -> None:
        self._table = table
        self._computed: dict[int, Computed] = {}

    def start(self, operands: Collection[Operand]) -> Nest:
        """No loops yet; every operand is there."""
        return Nest((), {}, frozenset(frozenset({operand.number}) for operand in operands))

    def computed(self, nest: Nest, operand: Operand, streams: Computed) -> Nest:
        """The nest with an operand beside it that was computed in its loops."""
        self._computed[operand.number] = streams
        references = dict(nest.references)
        if not operand.indices:
            references[operand.number] = streams.val
        return Nest(nest.loops, references, nest.present | {frozenset({operand.number})})

    def root(self, loops: tuple[Loop, ...], label: str, column: str = "") -> Stream:
        """Reference 0 in the innermost of ``loops``."""
        if not loops:
            return self._table.root
        return self.repeat(self.root(loops[:-1], label, column), loops[-1], label, column)

    def repeat(self, stream: Stream, loop: Loop, label: str, column: str = "") -> Stream:
        """The stream's tokens, each once for every coordinate of the next inner loop."""
        signal = self._table.place(
            loop.index, "", "repsiggen", f"repsig_{loop.index}", {"crd": loop.crd}, index=loop.index
        )
        return self._table.place(
            loop.index,
            column,
            "repeat",
            f"repeat_{label}_{loop.index}",
            {"ref": stream, "repsig": signal.out_repsig},
            tensor=label,
            index=loop.index,
        ).out_ref

    def every(self, loops: tuple[Loop, ...], index: str) -> Node:
        """A lookup of every coordinate of ``index``, in the innermost of ``loops``."""
        return self._table.place(
            index,
            "",
            "fiberlookup",
            f"all_{index}",
            {"ref": self.root(loops, "")},
            index=index,
            format=DENSE,
        )

    def values(self, nest: Nest, operand: Operand) -> Stream:
        """The operand's values in the innermost loop; all its levels have been walked."""
        reference = self._reference(nest, operand)
        if operand.number in self._computed:
            return reference
        return self._table.place(
            VALUES,
            operand.column,
            "arrayvals",
            f"vals_{operand.tensor}",
            {"ref": reference},
            tensor=operand.tensor,
        ).out_val

    def descend(
        self, nest: Nest, index: str, found: Coordinates, operands: Collection[Operand]
    ) -> Nest:
        """A loop over the coordinates ``found``; all ``operands`` follow, in the order given."""
        lane = self._lane(nest, index, found)
        present = nest.present
        loop = Loop(index, lane.crd, is_full(found, present), never_empty(found, present))
        references: dict[int, Stream] = {}
        for operand in operands:
            number = operand.number
            if number in lane.references:
                references[number] = lane.references[number]
                continue
            begun = number in nest.references
            if not begun and index not in operand.indices:
                continue
            if number in self._computed and index in operand.indices:
                assert loop.full, "a stream beside a loop has all of its coordinates"
                references[number] = self._beside(operand, operand.indices.index(index))
                continue
            reference = self._reference(nest, operand)
            walked = self._walked(nest, operand, index, lane, operands)
            if walked is not None:
                references[number] = walked
                continue
            repeated = self.repeat(reference, loop, operand.tensor, operand.column)
            references[number] = repeated
            if index in operand.indices:
                level = operand.indices.index(index)
                references[number] = self._table.place(
                    index,
                    operand.column,
                    "locate",
                    f"locate_{operand.tensor}_{index}",
                    {"crd": lane.crd, "ref": repeated},
                    tensor=operand.tensor,
                    level=level,
                    index=index,
                ).out_ref
        moved = frozenset(lane.references)
        kept = frozenset(one for one in present if not one & moved)
        return Nest((*nest.loops, loop), references, kept | visited(found, present))

    def _walked(
        self,
        nest: Nest,
        operand: Operand,
        index: str,
        lane: _Lane,
        operands: Collection[Operand],
    ) -> Stream | None:
        """The reference to an operand's level over ``index`` where the lane has it already, since
        it walks the same level of the same tensor."""
        if index not in operand.indices:
            return None
        level = operand.indices.index(index)
        for other in operands:
            if (
                other.number in lane.references
                and other.number not in self._computed
                and other.tensor == operand.tensor
                and other.indices[level : level + 1] == (index,)
                and self._reference(nest, other) == self._reference(nest, operand)
            ):
                return lane.references[other.number]
        return None

    def _reference(self, nest: Nest, operand: Operand) -> Stream:
        if operand.number in nest.references:
            return nest.references[operand.number]
        return self.root(nest.loops, operand.tensor, operand.column)

    def _lane(self, nest: Nest, index: str, found: Coordinates) -> _Lane:
        match found:
            case All():
                node = self.every(nest.loops, index)
                return _Lane(node.out_crd, {ALL: node.out_ref})
            case Level():
                return self._level(nest, index, found)
        kind = "intersect" if isinstance(found, Intersection) else "union"
        lanes = _merged(self._bitvector_lanes(nest, index, found, kind))
        # In pairs, and pairs of pairs: fewer joiners than one after the other, and a shorter way.
        while len(lanes) > 1:
            rest = lanes[len(lanes) // 2 * 2 :]
            pairs = zip(lanes[::2], lanes[1::2], strict=False)
            lanes = [self._join(index, kind, one, other) for one, other in pairs] + rest
        return lanes[0]

    def _beside(self, operand: Operand, level: int) -> Stream:
        """What goes with a level's coordinates: values, or the coordinates themselves where there
        is another level inside."""
        streams = self._computed[operand.number]
        return streams.val if level == len(streams.loops) - 1 else streams.loops[level].crd

    def _level(self, nest: Nest, index: str, level: Level) -> _Lane:
        operand = level.operand
        if level.is_stream:
            crd = self._computed[operand.number].loops[level.number].crd
            return _Lane(crd, {operand.number: self._beside(operand, level.number)})
        if level.format == BITVECTOR:
            words = self._words(nest, index, level)
            node = self._table.place(
                index,
                operand.column,
                "bitvectorexpand",
                f"expand_{operand.tensor}_{index}",
                {"bv": words.crd, "ref": words.references[operand.number]},
                index=index,
            )
        else:
            node = self._lookup("fiberlookup", nest, index, level, format=level.format)
        return _Lane(node.out_crd, {operand.number: node.out_ref})

    def _words(self, nest: Nest, index: str, level: Level) -> _Lane:
        node = self._lookup("bitvectorlookup", nest, index, level)
        return _Lane(node.out_bv, {level.operand.number: node.out_ref})

    def _lookup(self, type: str, nest: Nest, index: str, level: Level, **parameters: str) -> Node:
        operand = level.operand
        return self._table.place(
            index,
            operand.column,
            type,
            f"lookup_{operand.tensor}_{index}",
            {"ref": self._reference(nest, operand)},
            tensor=operand.tensor,
            level=level.number,
            index=index,
            **parameters,
        )

    def _bitvector_lanes(
        self, nest: Nest, index: str, found: Intersection | Union, kind: str
    ) -> list[_Lane]:
        """The lanes to join; pairs of bitvectors are joined word by word.

        A missing operand has no words at all, so only those that are never missing are paired.
        """
        paired: list[Level] = []
        for part in found.parts:
            if isinstance(part, Level) and part.format == BITVECTOR:
                if is_sure(part.operand, nest.present):
                    paired.append(part)
        if len(paired) % 2:
            paired.pop()
        lanes = []
        for one, other in zip(paired[::2], paired[1::2], strict=True):
            first, second = self._words(nest, index, one), self._words(nest, index, other)
            node = self._table.join(
                f"bitvector{kind}",
                index,
                (first.crd, first.references[one.operand.number]),
                (second.crd, second.references[other.operand.number]),
            )
            references = {one.operand.number: node.out_ref0, other.operand.number: node.out_ref1}
            lanes.append(_Lane(node.out_crd, references))
        rest = [part for part in found.parts if not any(part is one for one in paired)]
        return [*lanes, *(self._lane(nest, index, part) for part in rest)]

    def _join(self, index: str, kind: str, one: _Lane, other: _Lane) -> _Lane:
        """Joiners take one reference a lane: as many side by side as the longer lane has."""
        ones, others = list(one.references.items()), list(other.references.items())
        if len(ones) > len(others):
            ones = _apart(one, other)
        else:
            others = _apart(other, one) or others
        count = max(len(ones), len(others))
        references: dict[int, Stream] = {}
        crd = None
        for place in range(count):
            first, second = ones[min(place, len(ones) - 1)], others[min(place, len(others) - 1)]
            node = self._table.join(kind, index, (one.crd, first[1]), (other.crd, second[1]))
            crd = crd or node.out_crd
            references.setdefault(first[0], node.out_ref0)
            references.setdefault(second[0], node.out_ref1)
        assert crd is not None
        if len(references) > 1:
            references.pop(ALL, None)
        return _Lane(crd, references)


def _apart(lane: _Lane, other: _Lane) -> list[tuple[int, Stream]]:
    """The references of a lane that the other one lacks."""
    return [each for each in lane.references.items() if each[0] not in other.references]


def _merged(lanes: list[_Lane]) -> list[_Lane]:
    """Those of the same coordinates as one: an operand that is there twice is walked once, and
    meets nothing that waits for what was made of itself."""
    references: dict[Stream, dict[int, Stream]] = {}
    for lane in lanes:
        references.setdefault(lane.crd, {}).update(lane.references)
    return [_Lane(crd, each) for crd, each in references.items()]
