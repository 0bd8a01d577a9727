"""Indices of what is gathered: affine in cells, or loaded. Source: Infinity Stream, section 3.1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, affine_of, named, number
from gnarl.sw.compiler.sram_compute.tdfg.graph import Indirect
from gnarl.sw.compiler.sram_compute.tdfg.statements import Read, reject
from gnarl.sw.workloads.loops.ir.nest import Binary, Cast


@dataclass(frozen=True)
class Gather:
    """A load whose elements are no box of its array.

    cells
        of each loop variable that has a dimension its value, in cells x0, x1, ….
    loops
        all variables of loops whose iterations lie side by side.
    outer
        names that are numbers in the whole region.
    """

    load: Read
    cells: Mapping[str, Affine]
    loops: Collection[str]
    outer: Collection[str]

    def indices(self) -> tuple[list[Affine | Indirect], list[Read]]:
        """Indices, and the loads that some of them are. Raises ``NotTensor``."""
        gathered: list[Affine | Indirect] = []
        loads: list[Read] = []
        for index in self.load.indices:
            affine = affine_of(index)
            if affine is not None:
                gathered.append(self._in_cells(affine))
            else:
                indirect, loaded = self._indirect(index)
                gathered.append(indirect)
                loads.append(loaded)
        return gathered, loads

    def _indirect(self, index: Any) -> tuple[Indirect, Read]:
        name, place = self.load.array, self.load.place
        offset = number(0)
        if isinstance(index, Binary) and index.operator == "+":
            left, right = affine_of(index.left), affine_of(index.right)
            if (left is None) != (right is None):
                offset = left or right or offset
                index = index.right if right is None else index.left
        while isinstance(index, Cast) and index.type.holds(index.operand.type):
            index = index.operand
        if not isinstance(index, Read):
            reject(place, f"{name} is read where {type(index).__name__.lower()} says")
        inner = [affine_of(each) for each in index.indices]
        if any(each is None for each in inner):
            reject(place, f"{name} is read through two levels of indices: must be one")
        places = tuple(self._in_cells(each) for each in inner if each is not None)
        return Indirect(index.array, places, self._in_cells(offset)), index

    def _in_cells(self, index: Affine) -> Affine:
        shifted = Affine(index.constant)
        for name, factor in index.terms:
            if name in self.loops and name not in self.cells:
                reject(
                    self.load.place,
                    f"{name} has no dimension of its own where {self.load.array} is read",
                )
            if name not in self.cells and name not in self.outer:
                reject(self.load.place, f"an index of {self.load.array} has {name}")
            shifted = shifted + self.cells.get(name, named(name)) * factor
        return shifted
