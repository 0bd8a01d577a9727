"""Every parameter of a DPU, checked, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from hw.lib.configuration import (
    TargetConfig,
    choice_violations,
    flag_violations,
    format_violations,
    number_violations,
)
from hw.lib.errors import Violation
from hw.lib.formats import NumberFormat, parse_format

OUTPUT_INTERCONNECTS = ("crossbar", "layered", "single")


@dataclass(frozen=True)
class DpuConfig(TargetConfig):
    """A DPU of ``trees`` PE trees over ``banks`` register banks. Source: DPU-v2, section III.

    depth
        D, layers of PEs in a tree: 1 to 4.
    banks
        B, register banks and tree inputs: 8 to 64, a multiple of 2**depth.
    registers
        R, words in a bank: 8 to 256.
    format
        number format of the datapath: a name of ``hw.lib.formats``, at most 32 bits wide.
    output_interconnect
        figure 6: ``crossbar`` (a), any PE to any bank; ``layered`` (b), one PE of each layer to a
        bank; ``single`` (c), one PE to a bank.
    pe_stages
        pipeline registers in a PE, its output register included: 1 to 8.
    instruction_words
        depth of the instruction memory in words of ``isa.instruction_word_bits``.
    data_rows
        depth of the data memory in rows of ``banks`` words.
    overlap
        adds the formats that load or store beside an ``exec``; the paper's set lacks them.
    """

    depth: int = 3
    banks: int = 64
    registers: int = 32
    format: str = "float32"
    output_interconnect: str = "layered"
    pe_stages: int = 1
    instruction_words: int = 8192
    data_rows: int = 4096
    overlap: bool = True

    target = "dpu"

    def violations(self) -> list[Violation]:
        found = number_violations(
            self,
            (
                ("depth", 1, 4),
                ("banks", 8, 64),
                ("registers", 8, 256),
                ("pe_stages", 1, 8),
                ("instruction_words", 4, 1 << 20),
                ("data_rows", 4, 1 << 20),
            ),
        )
        if not found and self.banks % (1 << self.depth):
            problem = f" = {self.banks}: must be a multiple of 2**depth = {1 << self.depth}"
            found.append(Violation("banks", problem))
        return [
            *found,
            *format_violations(self, "format"),
            *choice_violations(self, "output_interconnect", OUTPUT_INTERCONNECTS),
            *flag_violations(self, ["overlap"]),
        ]

    @property
    def number_format(self) -> NumberFormat:
        return parse_format(self.format)

    @property
    def width(self) -> int:
        """Bits of a data word."""
        return self.number_format.width

    @property
    def trees(self) -> int:
        """T, the number of PE trees."""
        return self.banks >> self.depth

    @property
    def tree_inputs(self) -> int:
        """Inputs of one tree."""
        return 1 << self.depth

    @property
    def pes_per_tree(self) -> int:
        return (1 << self.depth) - 1

    @property
    def pes(self) -> int:
        return self.trees * self.pes_per_tree

    def layer_latency(self, layer: int) -> int:
        """Cycles from issue until a result of PE layer ``layer`` (1 to depth) can be read.

        Layer 0 is the crossbar itself: a copy. The crossbar's output is registered, then every PE
        layer takes ``pe_stages`` cycles; the bank forwards the word that it is writing.
        """
        return 1 + layer * self.pe_stages

    @property
    def load_latency(self) -> int:
        """Cycles from issue of a load until its words can be read."""
        return 2

    @property
    def drain_cycles(self) -> int:
        """Cycles after the last issue until every result is written."""
        return max(self.layer_latency(self.depth), self.load_latency)
