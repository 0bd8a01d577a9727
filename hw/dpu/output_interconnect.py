"""The interconnect from PEs, crossbar and data memory to the register banks."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, write_source_bits
from gnarl.hw.dpu.topology import pe_list, writers
from gnarl.hw.lib.cut_points import named


class OutputInterconnect(wiring.Component):
    """Gathers what each register bank is to write in a cycle. Source: DPU-v2, III.C and figure 6.

    An instruction's write sources travel along with its words: a copy comes
    ``config.layer_end(0)`` cycles after issue, the result of a PE of layer l
    ``config.layer_end(l)`` cycles. These, and loads, go to the banks ``config.write_stages`` later.

    Members:

    * ``issue``, ``write_source`` [banks]: of the instruction that issues, as in ``isa``; sources
      that name no writer write nothing.
    * ``copies`` [banks]: the crossbar's lanes; ``results`` [pes]: in order of ``topology``.
    * ``load_enable`` (a bit for each bank), ``loads`` [banks]: words from the data memory.
    * ``clear``: forgets the instructions under way.
    * ``write_enable`` (a bit for each bank), ``words`` [banks]: to the banks.
    * ``conflict`` (a bit for each bank): two or more words come for it; ``words`` means nothing.
    """

    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        banks = config.banks
        words = data.ArrayLayout(config.width, banks)
        super().__init__(
            {
                "issue": In(1),
                "write_source": In(data.ArrayLayout(write_source_bits(config), banks)),
                "copies": In(words),
                "results": In(data.ArrayLayout(config.width, config.pes)),
                "load_enable": In(banks),
                "loads": In(words),
                "clear": In(1),
                "write_enable": Out(banks),
                "words": Out(words),
                "conflict": Out(banks),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        sources = self._travel(m)
        for bank in range(self._config.banks):
            offers = [(self.load_enable[bank], self.loads[bank])]
            chosen, _ = self._choice(m, sources, bank, 0, WRITE_COPY, 1)
            offers.append((chosen, self.copies[bank]))
            for layer, first, pes in self._writers_by_layer(bank):
                chosen, number = self._choice(m, sources, bank, layer, first, len(pes))
                offers.append((chosen, Array(self.results[pe] for pe in pes)[number]))
            asked = named(m, f"asked_{bank}", Cat(ask for ask, _ in offers))
            gated = (Mux(asked[place], word, 0) for place, (_, word) in enumerate(offers))
            several = (asked & (asked - 1)[: len(asked)]).any()
            written = self._register(
                m, bank, write_enable=asked.any(), word=_any_of(list(gated)), conflict=several
            )
            m.d.comb += [
                self.write_enable[bank].eq(written["write_enable"]),
                self.words[bank].eq(written["word"]),
                self.conflict[bank].eq(written["conflict"]),
            ]
        return m

    def _choice(
        self,
        m: Module,
        sources: list[tuple[Value, Any]],
        bank: int,
        layer: int,
        first: int,
        count: int,
    ) -> tuple[Signal, Value]:
        """Whether a bank takes a word of a layer in this cycle, and which of ``count``.

        ``first`` is the write source of the layer's word 0. Found in the cycle before.
        """
        cycle = self._config.layer_end(layer) - 1
        active, source = sources[cycle][0], sources[cycle][1][bank]
        is_one = (source >= first) & (source < first + count)
        chosen = Signal(name=f"chosen_{bank}_{layer}")
        m.d.sync += chosen.eq(active & is_one & ~self.clear)
        if count == 1:
            return chosen, Const(0)
        number = named(m, f"number_{bank}_{layer}", source - first)
        which = Signal(range(count), name=f"which_{bank}_{layer}", reset_less=True)
        m.d.sync += which.eq(number)
        return chosen, which

    def _register(self, m: Module, bank: int, **values: Value) -> dict[str, Value]:
        """What a bank is to write, behind ``write_stages``."""
        for stage in range(self._config.write_stages):
            after = {
                name: Signal(len(value), name=f"{name}_{bank}_{stage}", reset_less=name == "word")
                for name, value in values.items()
            }
            m.d.sync += [
                after[name].eq(value if name == "word" else value & ~self.clear)
                for name, value in values.items()
            ]
            values = dict(after)
        return values

    def _writers_by_layer(self, bank: int) -> list[tuple[int, int, list[int]]]:
        """Layer, first write source, and PEs of that and the next write sources."""
        pes = pe_list(self._config)
        numbered = enumerate(writers(self._config, bank), FIRST_WRITER)
        found = []
        for layer, group in groupby(numbered, key=lambda writer: pes[writer[1]].layer):
            sources, numbers = zip(*group, strict=True)
            found.append((layer, sources[0], list(numbers)))
        return found

    def _travel(self, m: Module) -> list[tuple[Value, Any]]:
        """Whether an instruction is there, and its write sources, so many cycles after issue."""
        stages: list[tuple[Value, Any]] = [(self.issue, self.write_source)]
        config = self._config
        for cycle in range(1, config.layer_end(config.depth)):
            active = Signal(name=f"active_{cycle}")
            source = Signal(
                self.write_source.shape(), name=f"write_source_{cycle}", reset_less=True
            )
            m.d.sync += [active.eq(stages[-1][0] & ~self.clear), source.eq(stages[-1][1])]
            stages.append((active, source))
        return stages


def _any_of(words: list[Value]) -> Value:
    """Bitwise or, as a balanced tree."""
    while len(words) > 1:
        words = [
            words[place] | words[place + 1] if place + 1 < len(words) else words[place]
            for place in range(0, len(words), 2)
        ]
    return words[0]
