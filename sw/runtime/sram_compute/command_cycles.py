"""Cycles that no right program of commands takes."""

from __future__ import annotations

from math import prod

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, Opcode
from gnarl.hw.sram_compute.memory_map import WATCHDOG_CYCLES
from gnarl.hw.sram_compute.network.tree_port import chunks
from gnarl.hw.sram_compute.operations import MAX_WIDTH
from gnarl.hw.sram_compute.program import Command, disassemble
from gnarl.hw.sram_compute.streams.stream_engine import DIVIDE_CYCLES
from gnarl.hw.sram_compute.streams.word_network import word_cycles
from gnarl.sw.compiler.sram_compute.sections import line_count
from gnarl.sw.program.program import Launch
from gnarl.sw.runtime.sram_compute.model.near_limits import groups_of

_LINE = 64
"""Cycles of a line besides those of memory and of its bits."""

_START, _WORD = 1 << 20, 1 << 10
"""Cycles of programs of which nothing is known, and for each word of their tensors."""


def most_command_cycles(config: SramConfig, launch: Launch, *, of_nest: bool) -> int:
    """Upper bound of the cycles of a launch's commands, one after the other.

    If they are lowered from a nest, by the loops of each ``NEAR``, and without the core's programs.
    Else nothing is known of what these should do: as many cycles each as products of whole matrices
    of some thousand rows would take.
    """
    specs = (*launch.inputs, *launch.outputs)
    unknown = _START + _WORD * LINE_WORDS * sum(map(line_count, specs))
    layouts: dict[int, int] = {}
    cycles = WATCHDOG_CYCLES + config.latency
    for _, each in disassemble(launch.sections["commands"]):
        if each.opcode == Opcode.LAYOUT:
            layouts[each.fields["layout"]] = prod(each.fields["sizes"])
        more = _moved(config, each, layouts)
        if each.opcode in (Opcode.CORE, Opcode.NEAR) and not of_nest:
            more = unknown
        cycles += _command(config) + more
    return cycles


def _command(config: SramConfig) -> int:
    """Upper bound for a command that moves no lines and loops over no strips: a microprogram that
    works through all bits of two numbers for each bit of a result, rows that are moved bitline by
    bitline, or that go to each tile one after the other, as a whole or by bits."""
    computed = 64 * MAX_WIDTH * MAX_WIDTH
    moved = MAX_WIDTH * config.bitlines
    exchanged = MAX_WIDTH * config.tiles * (1 + config.bitlines // config.network_bits)
    parts = chunks(config.arrays, config.tree_bits, config.network_bits)
    packed = moved * parts
    return computed + moved + exchanged + packed


def _moved(config: SramConfig, command: Command, layouts: dict[int, int]) -> int:
    """What comes to that for the size of what the command is about."""
    fields = command.fields
    memory = config.latency + config.line_cycles
    if command.opcode in (Opcode.LOAD, Opcode.STORE):
        # An array has its place on bitlines; a line has one word on them at least.
        lines = min(layouts.get(fields["layout"], 0), config.tiles * config.bitlines)
        return lines * (memory + STRIP * MAX_WIDTH + _LINE)
    if command.opcode == Opcode.COPY:
        return int(fields["lines"]) * (memory + _LINE)
    if command.opcode == Opcode.NEAR:
        _, height, depth = fields["counts"]
        operations = (
            groups_of(config, fields)
            * height
            * max(0, depth - fields["first_z"])
            * (fields["last"] + 1)
        )
        step = max(config.banks * word_cycles(config.network_bits), DIVIDE_CYCLES)
        return int(operations) * (STRIP * step + memory + _LINE)
    return 0
