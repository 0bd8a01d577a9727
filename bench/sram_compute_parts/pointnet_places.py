"""Cycles of calls of ``pointnet.c`` in each place, on the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.cycles import cycles_of
from bench.sram_compute_parts.in_places import is_same
from bench.sram_compute_parts.pointnet_network import Call
from bench.sram_compute_parts.pointnet_parts import (
    NEAR_SIDE,
    rounds_in_memory,
    rounds_of,
    split,
)
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.workload import LoopWorkload

SOURCE = Path(__file__).with_name("pointnet.c")

AGGREGATE_OF = """
void aggregate_{n}(int centroids, int outputs, int width, const float y[centroids * {n}][outputs],
                   float pooled[centroids][width]) {{
    aggregate(centroids, {n}, outputs, width, 0, y, pooled);
}}
"""
"""With the number of neighbours in the source, as memory needs it."""


@dataclass(frozen=True)
class Cycles:
    """Cycles by engine, and whether everything that was run has the right bits."""

    places: Mapping[str, float]
    is_exact: bool = True

    @property
    def total(self) -> float:
        return sum(self.places.values())

    def __add__(self, other: Cycles) -> Cycles:
        places = Counter(self.places)
        places.update(other.places)
        return Cycles(places, self.is_exact and other.is_exact)

    def times(self, factor: float) -> Cycles:
        return Cycles({place: factor * each for place, each in self.places.items()}, self.is_exact)


NONE = Cycles({})


@dataclass(frozen=True, eq=False)
class Run:
    """A run of a program."""

    program: Program
    cycles: Cycles


@cache
def _nest(function: str, neighbours: int | None) -> Nest:
    text = SOURCE.read_text(encoding="utf-8")
    if neighbours is not None:
        text += AGGREGATE_OF.format(n=neighbours)
        function = f"aggregate_{neighbours}"
    return c_source.read_source(text, str(SOURCE), function)


def loops_of(call: Call) -> LoopWorkload:
    """The workload of a call, with what it is given, and all sizes: arrays that are given are
    loaded, even where all of them is written."""
    neighbours = int(call.scalars["neighbours"]) if call.function == "aggregate" else None
    nest = _nest(call.function, neighbours)
    extents = {each.name for each in nest.sizes}
    scalars = {} if neighbours else {name: np.asarray(each) for name, each in call.scalars.items()}
    extents_given = {name: int(scalars.pop(name)) for name in {*scalars} & extents}
    inputs = {**call.given, **scalars}
    sizes = bind(nest, {**call.wanted, **inputs}, extents_given).sizes
    return LoopWorkload(call.function, nest, inputs, sizes)


def _inputs(given: LoopWorkload) -> dict[str, Any]:
    return {**given.inputs, **(given.sizes or {})}


@dataclass
class Machine:
    """The model. ``known``: runs by place, of calls of the same function and sizes, whose cycles
    differ in no more than what data decide."""

    named: NamedConfiguration
    known: dict[tuple[object, ...], dict[str, Run | None]] = field(default_factory=dict)

    @property
    def bitlines(self) -> int:
        config = self.named.config
        assert isinstance(config, SramConfig)
        return config.tiles * config.bitlines

    def in_column(self, calls: Iterable[Call], column: str) -> Cycles:
        """All of them: ``core``; ``near`` or ``memory`` where they run there, else on the core; or
        ``auto``, where the compiler places them."""
        found = NONE
        for call in calls:
            found += self._in_column(call, column)
        return found

    def _in_column(self, call: Call, column: str) -> Cycles:
        if column == "auto":
            cycles = self._chosen(call)
        elif column == "memory":
            cycles = self._in_memory(call)
        elif column == "near":
            cycles = self._near(call)
        else:
            cycles = self._from_parts(call, column)
        if cycles is None:
            cycles = self._from_parts(call, "core")
        assert cycles is not None
        return cycles

    def _from_parts(self, call: Call, place: str) -> Cycles | None:
        """Extrapolates from the cycles of two parts, the second twice the first, as those of all
        rounds grow."""
        rounds = rounds_of(call, "near" if place == "near" else "core")
        if call.rounds <= 2 * rounds:
            return self._run(call, place)
        part, twice = (self._run(call.first(each), place) for each in (rounds, 2 * rounds))
        if part is None or twice is None:
            return None
        return part + (twice + part.times(-1)).times((call.rounds - rounds) / rounds)

    def _near(self, call: Call) -> Cycles | None:
        """Layers whose weights do not fit the banks in parts, one after the other."""
        found = NONE
        for each in split(call, NEAR_SIDE**2):
            cycles = self._from_parts(each, "near")
            if cycles is None:
                return None
            found += cycles
        return found

    def _in_memory(self, call: Call, place: str = "memory") -> Cycles | None:
        """Parts that fill the bitlines, one after the other."""
        rounds = rounds_in_memory(call, self.bitlines)
        found = NONE
        for each in split(call.first(rounds), self.bitlines):
            cycles = self._run(each, place)
            if cycles is None:
                return None
            found += cycles
        return found.times(call.rounds / rounds)

    def _chosen(self, call: Call) -> Cycles | None:
        """Cycles where the compiler places each part that fills the bitlines; what memory refuses
        is on the core."""
        if self._in_memory(call) is None:
            return self._from_parts(call, "auto")
        return self._in_memory(call, "auto")

    def _lowered(self, call: Call, place: str) -> Program | None:
        """``None`` where it does not run there."""
        given, config = loops_of(call), self.named.config
        with Device(self.named, "model") as device:
            try:
                fat = device.compile(given, place=place, reassociate=False)
                return device.target.compiler.lowered(fat, _inputs(given), config, quiet)
            except (WorkloadError, CapacityError):
                return None

    def _run(self, call: Call, place: str) -> Cycles | None:
        arrays = {**call.given, **call.wanted}
        shapes = tuple((name, array.shape) for name, array in sorted(arrays.items()))
        sizes = (call.function, shapes, *sorted(call.scalars.items()))
        known = self.known.setdefault(sizes, {})
        if place not in known:
            program = self._lowered(call, place)
            same = (
                each
                for each in known.values()
                if program is not None and each is not None and is_same(program, each.program)
            )
            measured = (
                None if program is None else next(same, None) or self._measured(call, program)
            )
            known[place] = measured
        run = known[place]
        return None if run is None else run.cycles

    def _measured(self, call: Call, program: Program) -> Run:
        """Measures from arrays in main memory and back to it, on a machine that has run nothing
        before."""
        with Device(self.named, "model") as device:
            result = device.run(program, _inputs(loops_of(call)))
        is_exact = all(
            np.array_equal(np.asarray(result.outputs[name]), array)
            for name, array in call.wanted.items()
        )
        return Run(program, Cycles(by_place(cycles_of(result), result.counters), is_exact))


def by_place(cycles: int, counters: Mapping[str, int]) -> dict[str, float]:
    """Cycles by engine; cycles in which main memory alone works count for the engine that it
    serves."""
    core, near = counters["cycles_core"], counters["cycles_near"]
    if counters["cycles_compute"] + counters["cycles_move"]:
        return {"core": core, "near": near, "memory": cycles - core - near}
    if near:
        return {"core": core, "near": cycles - core, "memory": 0}
    return {"core": cycles, "near": 0, "memory": 0}
