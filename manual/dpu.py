"""Writes the reference manual of the instruction set: ``python -m manual.dpu``.

Whatever follows from the configuration, the layouts and the memory map is taken from them.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from amaranth.hdl import Shape
from amaranth.lib import data

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    ISSUED,
    OPERATION_DETAIL,
    WRITE_COPY,
    WRITE_NONE,
    WRITE_SOURCE_DETAIL,
    ErrorCause,
    Opcode,
    PeOp,
    instruction,
    instruction_bytes,
    instruction_word_bits,
    opcodes,
)
from gnarl.hw.dpu.memory_map import memory_map
from gnarl.hw.dpu.topology import pe_list, writers
from gnarl.hw.lib.losses import LOSSES
from gnarl.hw.lib.machine.memory_map import CONTROL, STATUS, CommonCause, Register

PATH = Path(__file__).parents[1] / "docs" / "dpu_isa.md"

OPCODE_TEXTS = {
    Opcode.NOP: "Does nothing.",
    Opcode.HALT: "Ends the program: what is under way is still written, then the machine is done.",
    Opcode.EXEC: "Reads banks, hands the words to the trees, computes, writes results to banks.",
    Opcode.COPY: "Reads banks and writes the crossbar's outputs to banks, lane b to bank b.",
    Opcode.LOAD: "Writes words of a row of the data memory to banks, word b to bank b.",
    Opcode.STORE: "Writes the word of every bank that it reads to a row of the data memory.",
    Opcode.EXEC_LOAD: "`EXEC` and `LOAD` at one time.",
    Opcode.EXEC_STORE: "`EXEC`, and stores those of the words that it reads which the mask names.",
}

OPERATION_TEXTS = {
    PeOp.PASS_LEFT: "the left input, all bits as they are",
    PeOp.PASS_RIGHT: "the right input, all bits as they are",
    PeOp.ADD: "left + right",
    PeOp.SUB: "left - right",
    PeOp.MUL: "left × right",
    PeOp.MAX: "the greater: IEEE 754-2019 maximum, NaN if an input is, -0 below +0",
    PeOp.MIN: "the smaller: IEEE 754-2019 minimum, likewise",
}

COMMON_TEXTS = {
    CommonCause.CYCLE_LIMIT: (
        "the run takes more cycles than `LIMIT_LO` and `LIMIT_HI` allow ([limits of "
        "cycles](cycle_limits.md)); on every accelerator",
        "0",
    ),
}

CAUSE_TEXTS = {
    ErrorCause.NONE: ("no error", "0"),
    ErrorCause.ILLEGAL_OPCODE: (
        "the instruction's opcode, or a PE's operation or a bank's write source in it, has a value "
        "that means nothing",
        f"the opcode; {OPERATION_DETAIL:#x} + PE; {WRITE_SOURCE_DETAIL:#x} + bank",
    ),
    ErrorCause.ADDRESS_OUT_OF_RANGE: (
        "the instruction doesn't end within the memory; or its row, the bank of a lane, or a "
        "register that it reads or frees doesn't exist",
        "the instruction's byte address; the row; the lane; the bank",
    ),
    ErrorCause.READ_OF_EMPTY_REGISTER: ("a register is read that holds no word", "the bank"),
    ErrorCause.WRITE_TO_FULL_BANK: ("a word comes to a bank without empty register", "the bank"),
    ErrorCause.WRITE_CONFLICT: ("two words come to one bank in one cycle", "the bank"),
}

_SIZES = [(1, 8, 16), (2, 16, 32), (3, 16, 32), (3, 64, 32), (3, 64, 128), (4, 64, 256)]
"""Depth, banks and registers whose instruction lengths are shown."""


def manual(config: DpuConfig) -> str:
    """The manual as Markdown, with the bit positions of ``config``."""
    parts = [
        "# The DPU's instruction set\n\n"
        "Written by `python -m manual.dpu` from `hw/dpu/isa.py`; a test compares the two. "
        "Source of the architecture: DPU-v2, section III.",
        _machine(config),
        _timing(config),
        _opcodes(),
        _formats(config),
        _fields(),
        _operations(config),
        _lengths(),
        _errors(),
        _host(config),
    ]
    return "\n\n".join(parts) + "\n"


def _machine(config: DpuConfig) -> str:
    return f"""\
Numbers below are those of this configuration: depth {config.depth}, {config.banks} banks of \
{config.registers} registers, `{config.format}`, `{config.output_interconnect}` output \
interconnect, pipeline stages in a PE: {config.pe_stages}, {config.data_rows} rows of data memory.

## The machine

- **Banks.** {config.banks} banks of {config.registers} words. An instruction reads at most one \
register of each. A write goes to the lowest register that was empty when the cycle began. \
`valid_reset` empties a register at the end of the cycle; a start empties all.
- **Crossbar.** Lane i, which is input i of the trees counted through, gets the word of bank \
`source[i]`; 0 if that bank isn't read.
- **Trees.** {config.trees} trees of {config.depth} layers, {config.pes_per_tree} PEs each. PEs \
are numbered tree by tree, within a tree layer by layer from the inputs up, within a layer from \
left to right. PE k of layer l takes PEs 2k and 2k + 1 of layer l - 1; those of layer 1, lanes.
- **Output interconnect.** Each bank takes the result of one PE, or its own lane; \
`write_source` says which.
- **Data memory.** Rows of {config.banks} words. One load or store a cycle, done in order of issue.
- **Program.** Instructions are packed one after the other from byte 0 of the instruction memory, \
without gaps; bit 0 of a field is its lowest, and bit 0 of an instruction is the lowest of its \
first byte. The memory supplies {instruction_word_bits(config)} bits a cycle. Bytes that are 0 are \
`NOP`s."""


def _timing(config: DpuConfig) -> str:
    rows = [("a copy", "1", config.layer_latency(0))]
    for layer in range(1, config.depth + 1):
        latency = config.layer_latency(layer)
        rows.append((f"a result of layer {layer}", f"1 + {layer} × stages of a PE", latency))
    rows.append(("a word of a load", str(config.load_latency), config.load_latency))
    start = config.start_cycles
    return (
        "## Timing\n\n"
        f"The first instruction issues {start} cycles after the start, then one in each "
        f"cycle, in order. Nothing waits: a program must not read a word before it's there. `HALT` "
        f"is done {config.drain_cycles} cycles after its issue, so a program of n instructions "
        f"takes {start} + n - 1 + {config.drain_cycles} cycles.\n\n"
        + _table(
            ["of an instruction that issues in cycle t", "can be read in", "here"],
            [(what, f"t + {formula}", f"t + {cycles}") for what, formula, cycles in rows],
        )
        + "\n\nA word can be read in the very cycle in which it's written. Lower layers of an "
        "instruction are written before higher ones, so results of different instructions can "
        "meet in one bank. A load in the cycle after a store sees what was stored.\n\n"
        "Configurations with more registers: `fetch_stages` is the time to the first issue, "
        "`write_stages` comes to every latency, and `fault_stages` to the end of a run, and to the "
        "time from an error to the end of the run that it ends."
    )


def _opcodes() -> str:
    rows = [(opcode.value, f"`{opcode.name}`", OPCODE_TEXTS[opcode]) for opcode in Opcode]
    return (
        "## Opcodes\n\n"
        + _table(["opcode", "name", "effect"], rows)
        + "\n\n`EXEC_LOAD` and `EXEC_STORE` exist in configurations with `overlap`."
    )


def _formats(config: DpuConfig) -> str:
    parts = ["## Formats\n\nHighest bit on the left."]
    formats: dict[str, list[str]] = {}
    for opcode in opcodes(config):
        drawing = _diagram(instruction(config, opcode))
        formats.setdefault(drawing, []).append(f"`{opcode.name}`")
    for drawing, names in formats.items():
        parts.append(f"{', '.join(names)}\n\n```\n{drawing}\n```")
    return "\n\n".join(parts)


def _diagram(layout: data.StructLayout) -> str:
    """Fields side by side, under the numbers of their highest and lowest bit."""
    numbers, names = [], []
    for name, field in reversed(list(layout)):
        high, low = str(field.offset + field.width - 1), str(field.offset)
        width = max(len(high) + len(low) + 1, len(name))
        numbers.append(high + low.rjust(width - len(high)))
        names.append(name.center(width))
    rule = "+".join(["", *("-" * (len(name) + 2) for name in names), ""])
    return "\n".join(["  " + "   ".join(numbers), rule, "| " + " | ".join(names) + " |", rule])


def _fields() -> str:
    """A table from the docstring of ``isa.instruction``: names on a line, then their meaning,
    indented."""
    text = inspect.cleandoc(instruction.__doc__ or "")
    rows = []
    for names, meaning in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", text, re.M):
        meaning = " ".join(textwrap.dedent(meaning).split()).replace("``", "`")
        rows.append((", ".join(f"`{name}`" for name in names.split(", ")), meaning))
    return "## Fields\n\n" + _table(["field", "meaning"], rows)


def _operations(config: DpuConfig) -> str:
    width = Shape.cast(PeOp).width
    rows = [
        (operation.value, f"`{operation.name}`", OPERATION_TEXTS[operation]) for operation in PeOp
    ]
    pes = pe_list(config)
    sources = [(WRITE_NONE, "nothing is written"), (WRITE_COPY, "the bank's own lane")]
    for place, number in enumerate(writers(config, 1)):
        pe = pes[number]
        text = f"PE {number}: layer {pe.layer}, place {pe.place} of tree {pe.tree}"
        sources.append((FIRST_WRITER + place, text))
    return (
        "## PE operations\n\n"
        + _table(["operation", "name", "result"], rows)
        + f"\n\nOther values of the {width} bits are illegal. Floating point rounds to nearest "
        "even, keeps subnormals, and any NaN that is computed is the canonical one. In fixed "
        "point, sums wrap, and products are rounded to nearest even and wrap.\n\n"
        "## Write sources\n\n"
        "The PEs that a bank can take depend on `output_interconnect`: `crossbar`, all PEs, layer "
        "by layer; `layered`, in each layer the one above the bank's own lane; `single`, one PE, "
        "those of a tree from left to right for its banks 1, 2, …, and the top PE also for its "
        "bank 0. For bank 1 here:\n\n" + _table(["write_source", "what the bank takes"], sources)
    )


def _lengths() -> str:
    rows = []
    for depth, banks, registers in _SIZES:
        config = DpuConfig(depth=depth, banks=banks, registers=registers)
        lengths = [instruction_bytes(config, opcode) for opcode in Opcode]
        rows.append((depth, banks, registers, *lengths, instruction_word_bits(config)))
    head = ["depth", "banks", "registers", *(f"`{opcode.name}`" for opcode in Opcode), "word, bits"]
    return (
        f"## Lengths in bytes\n\nWith {DpuConfig().data_rows} rows of data memory; the word is "
        "what the instruction memory supplies in a cycle.\n\n" + _table(head, rows)
    )


def _errors() -> str:
    rows = [(cause.value, f"`{cause.name}`", *CAUSE_TEXTS[cause]) for cause in ErrorCause]
    rows += [(cause.value, f"`{cause.name}`", *COMMON_TEXTS[cause]) for cause in CommonCause]
    return (
        "## Errors\n\nAn error stops the machine at once and stays until it's cleared; until then "
        "a start is ignored. If several come in a cycle, the lowest cause counts, and of its "
        "details the first kind below, then the lowest.\n\n"
        + _table(["cause", "name", "when", "detail"], rows)
    )


def _host(config: DpuConfig) -> str:
    where = memory_map(config)
    registers = [
        (register.value, f"`{register.name}`", _register_text(register))
        for register in Register
        if register != Register.COUNTERS
    ]
    for index, name in enumerate(where.counters):
        address = where.counter_address(index)
        registers.append((address, f"`{name}`", "counter, low word; the high word follows"))
    windows = [
        (f"{window.base:#x}", f"`{window.name}`", window.rows, window.words, window.stride)
        for window in where.windows
    ]
    return (
        "## Host memory map\n\nAddresses count 32-bit words.\n\n"
        + _table(["address", "register", "what"], registers)
        + f"\n\nThe counters count instructions issued: {', '.join(ISSUED)}; `EXEC_LOAD` counts "
        "as exec and load, `EXEC_STORE` as exec and store. The others count results of PEs that "
        f"lose something: {', '.join(LOSSES)} ([dpu.md](dpu.md#lost-results)). Windows are "
        "open to the host while the machine isn't busy:\n\n"
        + _table(["base", "window", "rows", "words a row", "words from row to row"], windows)
    )


def _register_text(register: Register) -> str:
    if register == Register.CONTROL:
        return f"bits that act when written as 1: {_bits(CONTROL)}"
    if register == Register.STATUS:
        return f"bits: {_bits(STATUS)}"
    return {
        Register.MAGIC: "the same for every accelerator",
        Register.VERSION: "of registers, windows and port",
        Register.DIGEST: "first 32 bits of the configuration's digest",
        Register.DETAIL: "detail of the error",
        Register.CYCLES_LO: "cycles of the last run; reading holds the high word",
        Register.CYCLES_HI: "high word of what was read low last",
        Register.LIMIT_LO: "cycles that a run may take, written; all ones after a clear: no limit",
        Register.LIMIT_HI: "its high word",
    }[register]


def _bits(layout: data.StructLayout) -> str:
    places = []
    for name, field in layout:
        if name != "reserved":
            high = field.offset + field.width - 1
            span = f"{high}:{field.offset}" if field.width > 1 else f"{field.offset}"
            places.append(f"{span} {name}")
    return ", ".join(places)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    PATH.write_text(manual(DpuConfig()))
