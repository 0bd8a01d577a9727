"""A tree of processing elements."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.dpu.isa import PeOp
from gnarl.hw.dpu.pe import Pe
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.count_ones import count_ones
from gnarl.hw.lib.losses import LOSSES


class PeTree(Instanced):
    """A binary tree of PEs, every one's result in reach. Source: DPU-v2, section III.A.

    PEs are numbered as ``gnarl.hw.dpu.topology`` numbers those of one tree. Operations come with
    the operands of layer 1 and travel along with their layer. One set of operands a cycle, no reset
    but of what is counted.

    Parameters: ``format`` of the words; ``depth`` in layers; ``pe_stages``, pipeline registers in a
    PE; the ``technology`` for which they are placed.

    Members: ``words`` [2**depth]: operands of layer 1; ``operation`` [2**depth - 1]: for each PE;
    ``results`` [2**depth - 1]: of each PE, ``pe_stages`` cycles later for each layer; ``counts``
    [depth]: whether the results that each layer has now are of an instruction; ``losses``: how many
    of these lost something a cycle ago, by name of ``gnarl.hw.lib.losses``.
    """

    def __init__(self, format: NumberFormat, depth: int, pe_stages: int, technology: str) -> None:
        self._format = format
        self._depth = depth
        self._pe_stages = pe_stages
        self._technology = technology
        pes = (1 << depth) - 1
        super().__init__(
            {
                "words": In(data.ArrayLayout(format.width, pes + 1)),
                "operation": In(data.ArrayLayout(PeOp, pes)),
                "results": Out(data.ArrayLayout(format.width, pes)),
                "counts": In(depth),
                "losses": Out(data.StructLayout(dict.fromkeys(LOSSES, pes.bit_length()))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        operands = [self.words[lane] for lane in range(1 << self._depth)]
        lost: dict[str, list[Value]] = {name: [] for name in LOSSES}
        number = 0
        for layer in range(1, self._depth + 1):
            results = []
            for place in range(len(operands) // 2):
                pe = Pe(self._format, self._pe_stages, self._technology)
                m.submodules[f"pe_{layer}_{place}"] = pe
                m.d.comb += [
                    pe.left.eq(operands[2 * place]),
                    pe.right.eq(operands[2 * place + 1]),
                    pe.operation.eq(self._operation(m, number, (layer - 1) * self._pe_stages)),
                    self.results[number].eq(pe.o),
                ]
                for name, found in lost.items():
                    found.append(pe.losses[name] & self.counts[layer - 1])
                results.append(pe.o)
                number += 1
            operands = results
        for name, found in lost.items():
            m.d.sync += self.losses[name].eq(count_ones(Cat(found)))
        return m

    def _operation(self, m: Module, pe: int, cycles: int) -> Any:
        """The operation of a PE, ``cycles`` later than it came."""
        operation = self.operation[pe]
        for cycle in range(cycles):
            after = Signal(PeOp, name=f"operation_{pe}_{cycle}", reset_less=True)
            m.d.sync += after.eq(operation)
            operation = after
        return operation
