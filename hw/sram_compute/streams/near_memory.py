"""Stream engines near the banks' arrays, and what they share. Source: Infinity Stream, 5.1."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.bank.bank import word_request_layout
from gnarl.hw.sram_compute.isa import NEAR_COMMANDS, UNIT_BITS, UNITS, Opcode
from gnarl.hw.sram_compute.memory_map import ErrorCause
from gnarl.hw.sram_compute.streams.copy_queue import QUEUED_COPIES, CopyQueue, is_early
from gnarl.hw.sram_compute.streams.stream_engine import StreamEngine
from gnarl.hw.sram_compute.streams.stream_sequencer import StreamSequencer
from gnarl.hw.sram_compute.streams.word_copy import WordCopy
from gnarl.hw.sram_compute.streams.word_network import WordNetwork
from gnarl.hw.sram_compute.streams.word_place import place_layout, word_place

_STEPS = ("loop", "begin", "fetch", "address", "compute", "result", "divides", "advance")
"""What the sequencer has all engines do."""

COMMAND_BITS = UNIT_BITS * max(UNITS[opcode] for opcode in NEAR_COMMANDS)


class NearMemory(wiring.Component):
    """Does the commands ``NEAR_COMMANDS``.

    Parameters: ``lines`` of memory; ``banks``, ``arrays``, ``wordlines``, ``bitlines``,
    ``network_bits``.

    Members
    -------
    command, start
        in: one of them, as a program has it; a pulse. ``STREAM`` and ``OPERATION`` are over at
        once, a ``COPY`` goes to a queue.
    is_complete
        out: as of ``StreamSequencer``.
    has_room
        out: for one more ``COPY``.
    copies, streams
        out: lines are copied, or are to be; engines run: from the cycle behind ``start`` on.
    waits
        out: engines wait for copies.
    is_final
        out: as of ``StreamSequencer``.
    port
        out: a ``LinePort`` to memory.
    request0, request1, …; accesses; response0, response1, …
        out, out, in: to and from the banks, as of ``WordNetwork``.
    fault, stream
        out: what is wrong, and with which stream.
    begins, words_between_banks
        out: as of ``StreamSequencer``, ``WordNetwork``.
    """

    def __init__(
        self,
        lines: int,
        banks: int,
        arrays: int,
        wordlines: int,
        bitlines: int,
        network_bits: int,
    ) -> None:
        self._size = (wordlines, bitlines, arrays, banks)
        self._copy = WordCopy(lines, banks)
        self._network = WordNetwork(banks, arrays, wordlines, bitlines, network_bits)
        request = word_request_layout(wordlines, bitlines, arrays)
        members: dict[str, Any] = {}
        for bank in range(banks):
            members |= {f"request{bank}": Out(request), f"response{bank}": In(32)}
        super().__init__(
            {
                **members,
                "command": In(COMMAND_BITS),
                "start": In(1),
                "is_complete": Out(1),
                "has_room": Out(1),
                "copies": Out(1),
                "waits": Out(1),
                "streams": Out(1),
                "is_final": Out(1),
                "port": Out(LinePort((lines - 1).bit_length(), LINE_WORDS, 1)),
                "accesses": Out(banks),
                "fault": Out(ErrorCause),
                "stream": Out(4),
                "begins": Out(1),
                "words_between_banks": Out(range(banks + 1)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        wordlines, bitlines, arrays, banks = self._size
        m.submodules.copy = copy = self._copy
        m.submodules.queue = queue = CopyQueue()
        m.submodules.network = network = self._network
        m.submodules.sequencer = sequencer = StreamSequencer(banks, COMMAND_BITS)
        self._connect_commands(m, queue, sequencer)
        bad, early = Signal(banks), Signal(banks)
        waiting = (getattr(queue, f"pending{place}") for place in range(QUEUED_COPIES))
        pending = [copy.pending, *waiting]
        m.d.comb += network.is_early.eq(early.any())
        with m.If(bad.any()):
            m.d.comb += self.fault.eq(ErrorCause.STREAM)
        for bank in range(banks):
            engine = StreamEngine(wordlines, bitlines, arrays, banks)
            m.submodules[f"engine_{bank}"] = engine
            m.d.comb += network.is_taken[bank].eq(copy.accesses[bank])
            self._connect_engine(m, bank, engine, sequencer)
            m.d.comb += [
                bad[bank].eq(engine.is_bad),
                early[bank].eq(
                    engine.access.enable
                    & Cat(is_early(engine.access, each) for each in pending).any()
                ),
            ]
            self._connect_bank(m, bank)
        return m

    def _connect_commands(self, m: Module, queue: CopyQueue, sequencer: StreamSequencer) -> None:
        """Commands go to the queue of copies or to the sequencer, which share the network."""
        copy, network = self._copy, self._network
        opcode = self.command[: Opcode.as_shape().width]
        wiring.connect(m, copy.port, wiring.flipped(self.port))
        m.d.comb += [
            queue.i.payload.eq(data.View(isa.COPY, self.command[: isa.COPY.size])),
            queue.i.valid.eq(self.start & (opcode == Opcode.COPY)),
            self.has_room.eq(queue.i.ready),
            queue.o.ready.eq(~copy.busy),
            copy.command.eq(queue.o.payload),
            copy.start.eq(queue.o.valid & queue.o.ready),
            self.copies.eq(copy.busy | queue.o.valid),
            sequencer.command.eq(self.command),
            sequencer.sets_stream.eq(self.start & (opcode == Opcode.STREAM)),
            sequencer.sets_operation.eq(self.start & (opcode == Opcode.OPERATION)),
            sequencer.start.eq(self.start & (opcode == Opcode.NEAR)),
            self.is_complete.eq(sequencer.is_complete),
            self.streams.eq(sequencer.busy),
            self.is_final.eq(sequencer.is_final),
            self.begins.eq(sequencer.begins),
            self.stream.eq(sequencer.stream),
            network.enable.eq(sequencer.access),
            self.waits.eq(network.waits),
            sequencer.access_done.eq(network.done),
            self.words_between_banks.eq(network.words_between_banks),
        ]

    def _connect_engine(
        self, m: Module, bank: int, engine: StreamEngine, sequencer: StreamSequencer
    ) -> None:
        """An engine does what the sequencer says, with its bank's words from the network."""
        network = self._network
        m.d.comb += [
            engine.number.eq(bank),
            *(getattr(engine, name).eq(getattr(sequencer, name)) for name in _STEPS),
            getattr(network, f"access{bank}").eq(engine.access),
            engine.operand.eq(getattr(network, f"operand{bank}")),
            getattr(network, f"response{bank}").eq(getattr(self, f"response{bank}")),
        ]

    def _connect_bank(self, m: Module, bank: int) -> None:
        """A bank is accessed by a copy or by the network."""
        copy, network = self._copy, self._network
        wordlines, bitlines, arrays, banks = self._size
        layout = place_layout(wordlines, bitlines, arrays, banks)
        place = word_place(layout, copy.words[bank], arrays, banks)
        is_copied = copy.accesses[bank]
        request, asked = getattr(self, f"request{bank}"), getattr(network, f"request{bank}")
        m.d.comb += [
            self.accesses[bank].eq(is_copied | network.accesses[bank]),
            *(
                request[name].eq(Mux(is_copied, place[name], asked[name]))
                for name in ("array", "row", "group")
            ),
            request.write.eq(Mux(is_copied, copy.writes[bank].replicate(32), asked.write)),
            request.data.eq(Mux(is_copied, copy.data[bank], asked.data)),
            copy.read[bank].eq(getattr(self, f"response{bank}")),
        ]
