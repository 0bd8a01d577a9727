"""One memory for the arrays of all blocks, behind an arbiter."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.arbiter import RoundRobin
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.memory.ram import Ram
from gnarl.hw.lib.select import selected
from gnarl.hw.lib.stream.shared_reader import SharedReader
from gnarl.hw.sam.memory.arrays import Arrays, array_ports
from gnarl.hw.sam.memory.placement import (
    PLACES,
    MemoryRows,
    bank_ram,
    in_turn,
    place_layout,
    shared_windows,
)


class SharedArrays(wiring.Component):
    """A memory of rows, in banks, that serves a request a cycle in each bank.

    Row r lies in bank r modulo the number of banks. A row of two words is one request, too: the
    memory is two words wide as far as such rows go, which come first. Each array lies where the
    host has placed it; several may lie at one place. The ports of a bank take turns. Every port's
    answers come in the order of its requests, ``latency`` cycles after they were granted.

    Parameters: ``arrays``, windows and whether their blocks write them: there is room for all of
    their rows; ``address_bits`` of ports; ``banks``, a power of two; ``latency``, ``in_flight`` as
    for ``SharedReader``.

    Members: ``ports.WINDOW``, a ``ReadPort`` or ``WritePort`` in for each array; ``windows.pairs``,
    ``windows.words``, a ``WindowSignature`` in for each kind of rows that there are; ``places`` in:
    an array of ``place_layout``, the same during a run; ``faults`` out: a bit for each array, it is
    asked for a row beyond its place; ``busy`` in: a run is going on; ``reset`` in: forgets requests
    under way.
    """

    def __init__(
        self,
        arrays: Arrays,
        address_bits: int,
        banks: int,
        latency: int,
        in_flight: int,
    ) -> None:
        arrays = tuple(arrays)
        self._arrays = arrays
        self._address_bits = address_bits
        self._banks = banks
        self._latency = latency
        self._in_flight = in_flight
        windows = [window for window, _ in arrays]
        self._turns = in_turn(windows)
        self._rows = MemoryRows.of(windows)
        self._host_windows = [
            window for window in shared_windows(windows, "", banks) if window.name != PLACES
        ]
        self._width = self._host_windows[0].word_bits
        self._row_bits = self._rows.bits
        self._bank_bits = (banks - 1).bit_length()
        super().__init__(
            {
                "ports": In(array_ports(arrays, address_bits)),
                "windows": In(
                    wiring.Signature(
                        {window.name: Out(WindowSignature(window)) for window in self._host_windows}
                    )
                ),
                "places": In(data.ArrayLayout(place_layout(self._rows), len(arrays))),
                "faults": Out(len(arrays)),
                "busy": In(1),
                "reset": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        banks = [self._make_bank(m, bank) for bank in range(self._banks)]
        for turn, number in enumerate(self._turns):
            self._connect_port(m, turn, number, banks)
        self._connect_host(m, banks)
        return m

    def _make_bank(self, m: Module, number: int) -> _Bank:
        """The memories of a bank, which do what the port does that has its turn."""
        bank = _Bank(number, len(self._arrays), self._row_bits, self._width)
        m.submodules[f"turns_{number}"] = turns = ResetInserter(self.reset)(
            RoundRobin(len(self._arrays))
        )
        m.d.comb += [turns.requests.eq(bank.requests), bank.grants.eq(turns.grant)]
        m.d.sync += bank.serves.eq(bank.grants)
        rows = [self._rows.all, self._rows.pairs]
        for word, ram_rows in enumerate(-(-count // self._banks) for count in rows if count):
            m.submodules[bank_ram(number, word)] = ram = Ram(ram_rows, self._width)
            m.d.comb += [
                ram.address.eq(bank.row),
                ram.read_enable.eq(1),
                ram.write_enable.eq(bank.write_enable[word]),
                ram.write_data.eq(bank.write_data[word]),
                bank.read_data[word].eq(ram.read_data),
            ]
        return bank

    def _connect_port(self, m: Module, turn: int, number: int, banks: list[_Bank]) -> None:
        """The requests of array ``number``, each to the bank that it is for."""
        window, writes = self._arrays[number]
        place = self.places[number]
        port = getattr(self.ports, window.name)
        wants = Signal(name=f"{window.name}_wants")
        granted = Signal(name=f"{window.name}_granted")
        row = Signal(self._row_bits, name=f"{window.name}_row")
        request = port.write if writes else port.address
        address = request.payload.address if writes else request.payload
        is_there = Signal(name=f"{window.name}_is_there")
        m.d.comb += [
            is_there.eq(address < place.rows),
            row.eq(place.base + address),
            self.faults[number].eq(self.busy & request.valid & ~is_there),
            granted.eq(Cat(bank.grants[turn] for bank in banks).any()),
        ]
        for bank in banks:
            is_here = self._bank_of(row) == bank.number
            m.d.comb += bank.requests[turn].eq(wants & is_there & is_here & self.busy)
            bank.rows.append(row)
        if writes:
            m.d.comb += [wants.eq(port.write.valid), port.write.ready.eq(granted)]
            for bank in banks:
                bank.writes.append((turn, port.write.payload.data))
        else:
            m.submodules[f"{window.name}_reader"] = reader = ResetInserter(self.reset)(
                SharedReader(
                    self._address_bits,
                    window.word_bits,
                    window.words,
                    self._latency,
                    self._in_flight,
                )
            )
            wiring.connect(m, reader.port, wiring.flipped(port))
            m.d.comb += [
                wants.eq(reader.wants),
                reader.granted.eq(granted),
                reader.arrives.eq(Cat(bank.serves[turn] for bank in banks).any()),
            ]
            for word in range(window.words):
                m.d.comb += reader.row[word].eq(
                    selected((bank.serves[turn], bank.read_data[word]) for bank in banks)
                )

    def _connect_host(self, m: Module, banks: list[_Bank]) -> None:
        """While no run is going on, the one window that is selected has all banks."""
        windows = [
            (self._rows.first(window.words), getattr(self.windows, window.name))
            for window in self._host_windows
        ]
        row = Signal(self._row_bits, name="host_row")
        data_in = Signal(self._width, name="host_data")
        lane = Signal(name="host_lane")
        writes = Signal(name="host_writes")
        was_bank = Signal(max(1, self._bank_bits), name="host_was_bank")
        was_lane = Signal(name="host_was_lane")
        m.d.comb += [
            row.eq(selected((host.selected, first + host.row) for first, host in windows)),
            lane.eq(selected((host.selected, host.lane) for _, host in windows)),
            data_in.eq(selected((host.selected, host.write_data) for _, host in windows)),
            writes.eq(Cat(host.write_enable for _, host in windows).any()),
        ]
        m.d.sync += [was_bank.eq(self._bank_of(row)), was_lane.eq(lane)]
        answers = [Mux(was_lane, bank.read_data[1], bank.read_data[0]) for bank in banks]
        answer = Signal(self._width, name="host_answer")
        m.d.comb += answer.eq(
            selected(
                (was_bank == bank.number, word) for bank, word in zip(banks, answers, strict=True)
            )
        )
        for _, host in windows:
            m.d.comb += host.read_data.eq(answer)

        for bank in banks:
            served = selected(zip(bank.grants, bank.rows, strict=True))
            host_writes = writes & (self._bank_of(row) == bank.number)
            m.d.comb += bank.row.eq(Mux(self.busy, served, row) >> self._bank_bits)
            for word in range(2):
                put = [(bank.grants[turn], row) for turn, row in bank.writes if word < len(row)]
                writing = Cat(grant for grant, _ in put).any()
                written = selected((grant, row[word]) for grant, row in put)
                m.d.comb += [
                    bank.write_data[word].eq(Mux(self.busy, written, data_in)),
                    bank.write_enable[word].eq(
                        Mux(self.busy, writing, host_writes & (lane == word))
                    ),
                ]

    def _bank_of(self, row: Value) -> Value:
        return row[: self._bank_bits]


class _Bank:
    """Signals of a bank: a bit for each port that asks, is granted, and was granted a cycle ago;
    the row, of the whole memory, that each one wants; and those that write, with their rows."""

    def __init__(self, number: int, ports: int, row_bits: int, width: int) -> None:
        self.number = number
        self.requests = Signal(ports, name=f"requests_{number}")
        self.grants = Signal(ports, name=f"grants_{number}")
        self.serves = Signal(ports, name=f"serves_{number}")
        self.row = Signal(row_bits, name=f"row_{number}")
        self.write_enable = Signal(2, name=f"write_enable_{number}")
        self.write_data = [Signal(width, name=f"write_data_{number}_{word}") for word in range(2)]
        self.read_data = [Signal(width, name=f"read_data_{number}_{word}") for word in range(2)]
        self.rows: list[Signal] = []
        self.writes: list[tuple[int, Any]] = []
