"""Decides when an instruction issues, and what it waits for."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.lib.execute.decoded import DECODED, Path
from gnarl.hw.lib.execute.pending import NAMED, Pending

_REGISTERS = ("a", "b", "c", "dst")


def _registers(instruction: Any, kind: str, named: Any) -> list[Any]:
    """Registers of a kind that must not be under way for an instruction to issue."""
    writes = instruction[f"writes_{kind}"]
    if kind == "scalar":
        writes = writes | instruction.at_once
    connections = []
    for place, name in enumerate(_REGISTERS):
        is_read = instruction[name][kind] if name != "dst" else writes
        index = instruction[name].index if name != "dst" else instruction.dst
        connections += [named[place].enable.eq(is_read), named[place].index.eq(index)]
    return connections


class Issue(wiring.Component):
    """Interlocks. Operands are read at issue, but for the vector register c of ``FMUL_ADD``, which
    is read ``stages`` cycles later: so sums of products follow each other as sums do; and for the
    vector register a of what adders do, which may come from adders in the cycle in which they need
    it: so sums follow each other after ``stages`` cycles.

    Members
    -------
    valid, instruction
        in: the next instruction.
    advances, coming
        in: another one comes with the next cycle.
    stops
        in: nothing issues in this cycle.
    has_data
        in: of the data queue, as much as it takes.
    slot_free, addend_comes, sum_comes
        in: of the result bus: what it needs is free; its c comes soon enough; adders have its a
        when they need it.
    has_room, has_tag
        in: of loads and stores.
    divided
        in: the divider's instruction has ended.
    compares, compared
        in: the instruction before writes mask ``compared`` a cycle late.
    scalar_ends, vector_ends
        in: registers that can be read from the next cycle on.
    issues
        out.
    takes_sum
        out: what issues takes a from the adders.
    addend
        out: of ``NAMED``: the vector register to be read now for an earlier instruction.
    waits_data, waits_memory, waits_registers
        out: it does not issue, for want of words of the queue, else of loads' results or places
        for requests, else of other results, units or cycles of the bus.
    """

    def __init__(self, stages: int) -> None:
        self._stages = stages
        pair = data.ArrayLayout(NAMED, 2)
        super().__init__(
            {
                "valid": In(1),
                "instruction": In(DECODED),
                "advances": In(1),
                "coming": In(DECODED),
                "stops": In(1),
                "has_data": In(1),
                "slot_free": In(1),
                "addend_comes": In(1),
                "sum_comes": In(1),
                "has_room": In(1),
                "has_tag": In(1),
                "divided": In(1),
                "compares": In(1),
                "compared": In(2),
                "scalar_ends": In(pair),
                "vector_ends": In(pair),
                "issues": Out(1),
                "takes_sum": Out(1),
                "addend": Out(NAMED),
                "waits_data": Out(1),
                "waits_memory": Out(1),
                "waits_registers": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i = self.instruction
        m.submodules.scalars = scalars = Pending(len(_REGISTERS))
        m.submodules.vectors = vectors = Pending(len(_REGISTERS))
        self._connect(m, scalars, "scalar")
        self._connect(m, vectors, "vector")
        # A sum that goes into its own addend comes behind what the addend waits for.
        reads_late, excused = Signal(), Signal(len(_REGISTERS))
        sum_comes = Signal()
        addend_comes = reads_late & self.addend_comes
        m.d.comb += [
            reads_late.eq((i.opcode == Opcode.FMUL_ADD) & i.c.vector),
            sum_comes.eq((i.path == Path.ADD) & i.a.vector & self.sum_comes),
            excused.eq(
                Cat(
                    sum_comes,
                    0,
                    addend_comes,
                    (addend_comes & (i.dst == i.c.index)) | (sum_comes & (i.dst == i.a.index)),
                )
            ),
        ]

        divides = Signal()
        with m.If(self.issues & i.divides):
            m.d.sync += divides.eq(1)
        with m.Elif(self.divided):
            m.d.sync += divides.eq(0)

        waits_queue, has_no_place, waits_others = Signal(), Signal(), Signal()
        from_memory = scalars.from_memory.any() | vectors.from_memory.any()
        m.d.comb += [
            waits_queue.eq(i.takes & ~self.has_data),
            has_no_place.eq((i.memory & ~self.has_room) | (i.load & ~self.has_tag)),
            waits_others.eq(
                scalars.waits.any()
                | (vectors.waits & ~excused).any()
                | has_no_place
                | ~self.slot_free
                | (i.divides & divides)
                | (i.uses_mask & self.compares & (i.mask == self.compared))
                | self._overtakes(m, reads_late)
            ),
        ]
        waits = self.valid & ~self.stops
        waits_memory = has_no_place | from_memory
        m.d.comb += [
            self.issues.eq(waits & ~waits_queue & ~waits_others),
            self.takes_sum.eq(self.issues & sum_comes),
            self.waits_data.eq(waits & waits_queue),
            self.waits_memory.eq(waits & ~waits_queue & waits_memory),
            self.waits_registers.eq(waits & ~waits_queue & ~waits_memory & waits_others),
        ]
        return m

    def _connect(self, m: Module, file: Pending, kind: str) -> None:
        i = self.instruction
        for instruction, named in ((i, file.asked), (self.coming, file.coming)):
            m.d.comb += _registers(instruction, kind, named)
        m.d.comb += [
            file.valid.eq(self.valid),
            file.begins.enable.eq(i[f"writes_{kind}"]),
            file.begins.index.eq(i.dst),
            file.is_load.eq(i.load),
            file.issues.eq(self.issues),
            file.advances.eq(self.advances),
            file.ends.eq(getattr(self, f"{kind}_ends")),
        ]

    def _overtakes(self, m: Module, reads_late: Signal) -> Any:
        """Whether the instruction could write a register that an earlier one has yet to read.

        Results of float units come too late for that.
        """
        i = self.instruction
        # The one at place n is read in n cycles.
        reads = [Signal(NAMED, name=f"addend_{n}") for n in range(self._stages)]
        for read, following in zip(reads, reads[1:], strict=False):
            m.d.sync += read.eq(following)
        m.d.sync += [
            reads[-1].enable.eq(self.issues & reads_late),
            reads[-1].index.eq(i.c.index),
        ]
        m.d.comb += self.addend.eq(reads[0])
        is_early = i.path.matches(Path.INTEGER, Path.NONE)
        # Reads of the next cycle see what is written a cycle later, and no result is that early.
        overtaken = [read.enable & (read.index == i.dst) for read in reads[2:]]
        return i.writes_vector & is_early & (Cat(overtaken).any() if overtaken else Const(0))
