"""Gives values rows, step by step, and makes the commands. Source: Infinity Stream, section 3.4.

Values come to rows when they are needed, and leave them for good behind their last use. Where rows
are short, the value that is needed last leaves them for a while: constants and what main memory has
are forgotten, others are stored there first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hw.lib.errors import CapacityError
from hw.sram_compute.config import LAYOUTS, SramConfig
from hw.sram_compute.isa import Opcode
from sw.compiler.sram_compute.lower.commands import Commands
from sw.compiler.sram_compute.lower.lattice import Stored
from sw.compiler.sram_compute.lower.movement import everywhere
from sw.compiler.sram_compute.lower.rows import Rows
from sw.compiler.sram_compute.lower.steps import (
    Calculate,
    Fill,
    Keep,
    Move,
    Step,
    Value,
    reads,
    result_of,
)
from sw.compiler.sram_compute.tiles import Tiling
from sw.workloads.loops.scalar_type import BY_NAME

_NEVER = 1 << 60

_SPILLED = LAYOUTS - 1
"""The entry of the layout override table that spilled values have; arrays share the others."""


@dataclass
class Allocated:
    """Commands, and where in memory the values lie that were stored for a while, in so many
    ``lines``. ``returns``: how often a value was loaded once more."""

    commands: Commands
    spills: list[Stored] = field(default_factory=list)
    lines: int = 0
    returns: int = 0


def allocate(
    steps: Sequence[Step],
    arrays: Mapping[str, Stored],
    tiling: Tiling,
    config: SramConfig,
    first_free_line: int,
) -> Allocated:
    """Raises ``CapacityError`` where a step's operands and scratch need more rows than there are.
    O(steps x values in rows)."""
    allocator = _Allocator(_needed(steps), arrays, tiling, config, first_free_line)
    return allocator.run()


def _needed(steps: Sequence[Step]) -> list[Step]:
    """Without those whose result nothing reads."""
    used: set[Value] = set()
    kept: list[Step] = []
    for step in reversed(steps):
        result = result_of(step)
        if result is None or result in used:
            kept.append(step)
            used.update(reads(step))
    return kept[::-1]


class _Allocator:
    def __init__(
        self,
        steps: list[Step],
        arrays: Mapping[str, Stored],
        tiling: Tiling,
        config: SramConfig,
        first_free_line: int,
    ) -> None:
        self._steps = steps
        self._arrays = arrays
        self._tiling = tiling
        self._config = config
        self._uses: defaultdict[Value, list[int]] = defaultdict(list)
        for number in reversed(range(len(steps))):
            for value in reads(steps[number]):
                self._uses[value].append(number)  # the next one is the last of the list
        self._rows = Rows(config.wordlines)
        self._places: dict[Value, int] = {}
        self._copies: dict[Value, Stored] = {}
        self._first_free_line = first_free_line
        self._locked: list[Value] = []
        self._known: set[Value] = set()
        self._everywhere = everywhere(tiling)
        self._allocated = Allocated(Commands())
        self._layouts: dict[int, dict[str, Any]] = {}

    def run(self) -> Allocated:
        for number, step in enumerate(self._steps):
            self._step(number, step)
        self._allocated.commands.add(Opcode.END)
        return self._allocated

    def _step(self, number: int, step: Step) -> None:
        operands = list(dict.fromkeys(reads(step)))
        self._locked = operands
        for operand in operands:
            self._bring(operand)
        for operand in operands:
            uses = self._uses[operand]
            while uses and uses[-1] <= number:
                uses.pop()
        scratch = self._scratch(step)
        result = result_of(step)
        if result is not None:
            self._place_result(step, result, scratch)
            self._copies.pop(result, None)
        self._emit(step, scratch)
        if scratch is not None:
            self._rows.give(*scratch)
        for value in (*operands, *([] if result is None else [result])):
            if not self._uses[value] and value in self._places:
                self._release(value)
        self._locked = []

    def _place_result(self, step: Step, result: Value, scratch: tuple[int, int] | None) -> None:
        if result in self._places:
            return
        if isinstance(step, Calculate) and step.may_replace:
            for operand in (step.a, step.b):
                if operand in self._places and not self._uses[operand]:
                    if operand.rows == result.rows:
                        self._places[result] = self._places.pop(operand)
                        return
        self._place(result)

    def _place(self, value: Value) -> None:
        self._places[value] = self._take(value.rows, from_above=value.rows == 1)
        self._locked = [*self._locked, value]

    def _take(self, length: int, *, from_above: bool = False) -> int:
        """Free rows, which are made where there are none."""
        while (first := self._rows.find(length, from_above=from_above)) is None:
            self._make_room(length)
        self._rows.take(first, length)
        return first

    def _make_room(self, length: int) -> None:
        candidates = [value for value in self._places if value not in self._locked]
        if not candidates:
            raise CapacityError(
                f"a step needs {length} rows beside its operands: {self._config.wordlines} "
                "wordlines are too few"
            )
        self._leave(max(candidates, key=self._next_use))

    def _next_use(self, value: Value) -> tuple[int, bool]:
        uses = self._uses[value]
        return uses[-1] if uses else _NEVER, not self._is_dirty(value)

    def _is_dirty(self, value: Value) -> bool:
        return value.constant is None and value.array is None and value not in self._copies

    def _leave(self, value: Value) -> None:
        """For a while."""
        self._known.add(value)
        if self._is_dirty(value):
            copy = self._spill(value)
            self._copies[value] = copy
            self._transfer(Opcode.STORE, copy, value, {"is_signed": 0})
        self._release(value)

    def _release(self, value: Value) -> None:
        self._rows.give(self._places.pop(value), value.rows)

    def _spill(self, value: Value) -> Stored:
        """Room in memory for all of the lattice."""
        bits = next(bits for bits in (8, 16, 32) if value.rows <= bits)
        type = BY_NAME[f"uint{bits}"]
        used = set(self._copies.values())
        for slot in self._allocated.spills:
            if slot.type == type and slot not in used:
                return slot
        first = self._first_free_line + self._allocated.lines
        found = Stored(type, self._tiling.shape, first)
        self._allocated.spills.append(found)
        self._allocated.lines += found.lines
        return found

    def _bring(self, value: Value) -> None:
        """To rows, if it is in none."""
        if value in self._places:
            return
        self._place(value)
        row = self._places[value]
        if value.constant is not None:
            self._fill(row, value.rows, value.constant)
        elif value in self._copies:
            self._transfer(Opcode.LOAD, self._copies[value], value, {})
        else:
            assert value.array is not None
            self._transfer(Opcode.LOAD, self._arrays[value.array], value, {})
        self._allocated.returns += value in self._known and value.constant is None

    def _transfer(
        self, opcode: Opcode, stored: Stored, value: Value, fields: Mapping[str, Any]
    ) -> None:
        names = list(self._arrays.values())
        entry = names.index(stored) % _SPILLED if stored in names else _SPILLED
        layout = stored.layout(self._tiling)
        if self._layouts.get(entry) != layout:
            self._layouts[entry] = layout
            self._allocated.commands.add(Opcode.LAYOUT, layout=entry, **layout)
        self._allocated.commands.add(
            opcode, layout=entry, row=self._places[value], n=value.rows, **fields
        )

    def _scratch(self, step: Step) -> tuple[int, int] | None:
        """Rows of an operation, taken."""
        length = step.operation.scratch_rows(step.n) if isinstance(step, Calculate) else 0
        return (self._take(length, from_above=True), length) if length else None

    def _fill(self, row: int, count: int, bits: int) -> None:
        self._allocated.commands.add(Opcode.FILL, d=row, n=count, value=bits, **self._everywhere)

    def _emit(self, step: Step, scratch: tuple[int, int] | None) -> None:
        add = self._allocated.commands.add
        match step:
            case Calculate(operation, n, result, a, b, e):
                d = self._places[result] + step.result_offset
                first = self._row(a, result) + step.a_offset
                if operation.name == "move" and first == d:
                    return
                rows = (
                    first,
                    self._row(b, result),
                    d,
                    self._row(e, result),
                    0 if scratch is None else scratch[0],
                )
                add(
                    Opcode.COMPUTE,
                    entry=self._config.rom.entry(operation, n),
                    n=n,
                    bases=rows,
                )
            case Move(operand, result, movements):
                for each in movements:
                    source = result if each.within else operand
                    add(
                        each.opcode,
                        a=self._places[source],
                        d=self._places[result],
                        n=result.rows,
                        **each.fields,
                    )
            case Fill(result, bits):
                self._fill(self._places[result], result.rows, bits)
            case Keep(operand, array):
                self._transfer(Opcode.STORE, self._arrays[array], operand, {"is_signed": 0})

    def _row(self, value: Value | None, result: Value) -> int:
        """Of an operand, whose rows the result may have taken over."""
        if value is None:
            return 0
        return self._places[value] if value in self._places else self._places[result]
