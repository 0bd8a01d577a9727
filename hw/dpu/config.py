"""Every parameter of a DPU, checked, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.lib.configuration import (
    TargetConfig,
    choice_violations,
    flag_violations,
    format_violations,
    number_violations,
)
from gnarl.hw.lib.cut_points import TECHNOLOGIES
from gnarl.hw.lib.errors import Violation
from gnarl.hw.lib.formats import NumberFormat, parse_format

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
        number format of the datapath: a name of ``gnarl.hw.lib.formats``, at most 32 bits wide.
    output_interconnect
        figure 6: ``crossbar`` (a), any PE to any bank; ``layered`` (b), one PE of each layer to a
        bank; ``single`` (c), one PE to a bank.
    pe_stages
        pipeline registers in a PE, its output register included: 1 to 10.
    technology
        what the PE's registers are placed for, when there are several: ``fpga`` or ``silicon``.
    fetch_stages
        cycles from a start until the first instruction issues: 3; 4, with registers behind the
        decoder; 5 and 6, with one or two others behind the instruction memory, too.
    write_stages
        registers between output interconnect and banks: 0, or 1 for results, copies and loads that
        can be read a cycle later.
    fault_stages
        registers between an error and the end of the run that it ends: 0 or 1.
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
    technology: str = "fpga"
    fetch_stages: int = 3
    write_stages: int = 0
    fault_stages: int = 0
    instruction_words: int = 8192
    data_rows: int = 4096
    overlap: bool = True

    target = "dpu"

    def violations(self) -> list[Violation]:
        wrong = number_violations(
            self,
            (
                ("depth", 1, 4),
                ("banks", 8, 64),
                ("registers", 8, 256),
                ("pe_stages", 1, 10),
                ("fetch_stages", 3, 6),
                ("write_stages", 0, 1),
                ("fault_stages", 0, 1),
                ("instruction_words", 4, 1 << 20),
                ("data_rows", 4, 1 << 20),
            ),
        )
        if not wrong and self.banks % (1 << self.depth):
            problem = f" = {self.banks}: must be a multiple of 2**depth = {1 << self.depth}"
            wrong.append(Violation("banks", problem))
        return [
            *wrong,
            *format_violations(self, "format"),
            *choice_violations(self, "output_interconnect", OUTPUT_INTERCONNECTS),
            *choice_violations(self, "technology", TECHNOLOGIES),
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

    @property
    def start_cycles(self) -> int:
        """Cycles from a start until the first instruction issues; then one issues in each cycle."""
        return self.fetch_stages

    @property
    def decoder_stages(self) -> int:
        """Registers behind the decoder."""
        return int(self.fetch_stages > 3)

    def layer_end(self, layer: int) -> int:
        """Cycles from issue until PE layer ``layer`` (1 to depth) has its result, and the next one
        takes it.

        Layer 0 is the crossbar itself: its output is registered. Every PE layer takes
        ``pe_stages`` cycles.
        """
        return 1 + layer * self.pe_stages

    def layer_latency(self, layer: int) -> int:
        """Cycles from issue until a result of PE layer ``layer`` (1 to depth) can be read; of layer
        0, a copy.

        The way to the bank takes ``write_stages``; the bank forwards the word that it is writing.
        """
        return self.layer_end(layer) + self.write_stages

    @property
    def load_latency(self) -> int:
        """Cycles from issue of a load until its words can be read."""
        return 2 + self.write_stages

    @property
    def drain_cycles(self) -> int:
        """Cycles from the issue of a ``HALT`` on until every result is written, and no error under
        way."""
        return max(self.layer_latency(self.depth), self.load_latency) + self.fault_stages

    def run_cycles(self, instructions: int) -> int:
        """Cycles of a run of so many instructions, its ``HALT`` the last."""
        return self.start_cycles + instructions - 1 + self.drain_cycles
