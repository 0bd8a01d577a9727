"""Programs in phases, one launch each: arrays come in, are computed on, and go back to memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import NEAR_COMMANDS, Opcode
from gnarl.hw.sram_compute.microcode.sequence import extent
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.program import Command, assemble, command, disassemble
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.runtime.sram_compute.model.microprograms import microprograms
from gnarl.sw.runtime.sram_compute.model.transfer import Layout, line_mapping

LOAD, COMPUTE, STORE = "load", "compute", "store"

_TRANSFERS = (Opcode.LOAD, Opcode.STORE)


@dataclass(frozen=True)
class _Touched:
    """What commands read or write: rows of arrays, lines of banks' words, lines of memory."""

    rows: frozenset[int] = frozenset()
    words: frozenset[int] = frozenset()
    lines: frozenset[int] = frozenset()

    def meets(self, other: _Touched) -> bool:
        return bool(self.rows & other.rows or self.words & other.words or self.lines & other.lines)

    def with_all(self, other: _Touched) -> _Touched:
        return _Touched(self.rows | other.rows, self.words | other.words, self.lines | other.lines)


@dataclass
class _Phase:
    """Commands of a launch, with the entries of the layout table that they need."""

    commands: list[Command] = field(default_factory=list)
    layouts: dict[int, Command] = field(default_factory=dict)

    def add(self, each: Command, layouts: dict[int, Command]) -> None:
        if each.opcode in _TRANSFERS:
            entry = layouts[each.fields["layout"]]
            if self.layouts.get(each.fields["layout"]) is not entry:
                self.commands.append(entry)
                self.layouts[each.fields["layout"]] = entry
        self.commands.append(each)


def in_phases(program: Program, *, loads_first: bool) -> Program | None:
    """The program of one launch as two: all but what brings results to memory, then that; or where
    ``loads_first``, as three, of which the first brings all arrays in. Each but the last keeps what
    is in banks, so all must run on one machine, in order.

    ``None`` where commands cannot change places: an array comes in where something has been
    computed or to where something has been stored, a result's rows are of use after it is stored,
    or something runs on the core, to which all arrays go through memory.
    """
    (launch,) = program.launches
    config = SramConfig.from_dict(launch.config)
    names = [LOAD, COMPUTE, STORE] if loads_first else [COMPUTE, STORE]
    phases = {name: _Phase() for name in names}
    layouts: dict[int, Command] = {}
    before = {name: _Touched() for name in (LOAD, COMPUTE, STORE)}
    for _, each in disassemble(launch.sections["commands"]):
        if each.opcode == Opcode.CORE:
            return None
        if each.opcode == Opcode.LAYOUT:
            layouts[each.fields["layout"]] = each
        elif each.opcode != Opcode.END:
            touched = _touched(config, each, layouts)
            name = _phase(each)
            name = name if name in phases else COMPUTE
            if name != STORE and before[STORE].meets(touched):
                return None
            if name == LOAD and before[COMPUTE].meets(touched):
                return None
            before[name] = before[name].with_all(touched)
            phases[name].add(each, layouts)
    return replace(
        program,
        launches=tuple(
            _launch(launch, name, [*phases[name].commands, _end(name)]) for name in names
        ),
    )


def _phase(each: Command) -> str:
    if each.opcode == Opcode.LOAD or each.opcode == Opcode.COPY and not each.fields["is_store"]:
        return LOAD
    return STORE if each.opcode in (Opcode.STORE, Opcode.COPY) else COMPUTE


def _end(name: str) -> Command:
    return command(Opcode.END, keeps=name != STORE)


def _launch(launch: Launch, name: str, commands: Iterable[Command]) -> Launch:
    return replace(launch, name=name, sections={**launch.sections, "commands": assemble(commands)})


def _touched(config: SramConfig, each: Command, layouts: dict[int, Command]) -> _Touched:
    """Of loops of engines nothing: the compiler loads their words before the first one that
    accesses them, and stores them behind the last one that writes them."""
    fields = each.fields
    if each.opcode in _TRANSFERS:
        lines = line_mapping(Layout(layouts[fields["layout"]].fields, 1)).lines
        return _Touched(_span(fields["row"], fields["n"]), lines=frozenset(lines.tolist()))
    if each.opcode == Opcode.COPY:
        return _Touched(
            words=_span(fields["words"], fields["lines"]),
            lines=_span(fields["line"], fields["lines"]),
        )
    if each.opcode == Opcode.COMPUTE:
        return _Touched(_computed(config, fields["entry"], fields["n"], fields["bases"]))
    if each.opcode in NEAR_COMMANDS:
        return _Touched()
    rows = [_span(fields[name], fields["n"]) for name in ("a", "d") if name in fields]
    return _Touched(frozenset().union(*rows))


def _span(first: int, count: int) -> frozenset[int]:
    return frozenset(range(first, first + count))


@lru_cache(maxsize=1 << 12)
def _computed(config: SramConfig, entry: int, n: int, bases: Sequence[int]) -> frozenset[int]:
    """Rows that a microprogram reads or writes."""
    program = microprograms(config)[entry]
    spans = [(row, extent(program, base, n)) for base, row in zip(Base, bases, strict=True)]
    return frozenset().union(*(_span(row + first, end - first) for row, (first, end) in spans))
