"""The DPU's instructions as text, one line each.

``b3[7]`` is register 7 of bank 3, with ``!`` if the instruction frees it. What a bank receives is
written as an expression of what is read, through the crossbar and the PEs::

     12  0x0005dc  EXEC_LOAD   b4 = (b0[1]! * b5[2]) + b9[0]!; row 7 to banks 0-15 20
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from gnarl.hw.dpu.assembly import disassemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, Opcode, PeOp
from gnarl.hw.dpu.topology import pe_list, pe_number, writers

_SYMBOLS = {PeOp.ADD: "+", PeOp.SUB: "-", PeOp.MUL: "*"}
_FUNCTIONS = {PeOp.MAX: "max", PeOp.MIN: "min"}


def listing(config: DpuConfig, stream: np.ndarray) -> Iterator[str]:
    """A line for each instruction of a byte stream: its number, byte address, opcode and effect.

    Raises ``ValueError`` as ``gnarl.hw.dpu.assembly.split`` does.
    """
    opcodes, columns, addresses = disassemble(config, stream)
    printer = _Printer(config)
    for number, (opcode, address) in enumerate(zip(opcodes, addresses, strict=True)):
        fields = {name: column[number] for name, column in columns.items()}
        effect = printer.effect(Opcode(opcode), fields)
        yield f"{number:7d}  {address:#08x}  {Opcode(opcode).name:<10}  {effect}".rstrip()


class _Printer:
    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        self._pes = pe_list(config)
        self._writers = [writers(config, bank) for bank in range(config.banks)]

    def effect(self, opcode: Opcode, fields: dict[str, np.ndarray]) -> str:
        """What one instruction does."""
        self._fields = fields
        self._named: set[int] = set()
        parts = list(self._results())
        if opcode in (Opcode.LOAD, Opcode.EXEC_LOAD):
            parts.append(f"row {fields['row']} to banks {_ranges(fields['load_enable'])}")
        elif opcode in (Opcode.STORE, Opcode.EXEC_STORE):
            mask = fields["read_enable" if opcode == Opcode.STORE else "store_enable"]
            parts.append(f"row {fields['row']} from {self._registers(mask)}")
        read, freed = fields["read_enable"].copy(), fields["valid_reset"]
        read[list(self._named)] = False
        if read.any():
            parts.append(f"reads {self._registers(read)}")
        if (freed & ~fields["read_enable"]).any():
            parts.append(f"frees {self._registers(freed & ~fields['read_enable'])}")
        return "; ".join(parts)

    def _results(self) -> Iterator[str]:
        """What each bank receives through the output interconnect."""
        for bank, writers_of_bank in enumerate(self._writers):
            source = int(self._fields["write_source"][bank])
            if self._fields["write_enable"][bank] or source == WRITE_COPY:
                yield f"b{bank} = {self._lane(bank)}"
            elif source >= FIRST_WRITER + len(writers_of_bank):
                yield f"b{bank} = writer {source - FIRST_WRITER}, which it lacks"
            elif source >= FIRST_WRITER:
                yield f"b{bank} = {self._result(writers_of_bank[source - FIRST_WRITER])}"

    def _result(self, pe: int, inner: bool = False) -> str:
        """What a PE computes; ``inner`` results come in brackets where they need them."""
        tree, layer, place = self._pes[pe].tree, self._pes[pe].layer, self._pes[pe].place
        operation = int(self._fields["operation"][pe])

        def operand(side: int, inner: bool) -> str:
            if layer == 1:
                return self._lane((tree << self._config.depth) + 2 * place + side)
            return self._result(pe_number(self._config, tree, layer - 1, 2 * place + side), inner)

        if operation in (PeOp.PASS_LEFT, PeOp.PASS_RIGHT):
            return operand(operation - PeOp.PASS_LEFT, inner)
        if operation in _SYMBOLS:
            text = f"{operand(0, True)} {_SYMBOLS[PeOp(operation)]} {operand(1, True)}"
            return f"({text})" if inner else text
        name = _FUNCTIONS[PeOp(operation)] if operation in _FUNCTIONS else f"op{operation}"
        return f"{name}({operand(0, False)}, {operand(1, False)})"

    def _lane(self, lane: int) -> str:
        """What the crossbar hands to a tree input."""
        bank = int(self._fields["source"][lane])
        if bank >= self._config.banks or not self._fields["read_enable"][bank]:
            return f"b{bank}[unread]"
        return self._register(bank)

    def _register(self, bank: int) -> str:
        self._named.add(bank)
        freed = "!" if self._fields["valid_reset"][bank] else ""
        return f"b{bank}[{self._fields['read_address'][bank]}]{freed}"

    def _registers(self, banks: np.ndarray) -> str:
        return " ".join(self._register(bank) for bank in np.flatnonzero(banks).tolist()) or "none"


def _ranges(mask: np.ndarray) -> str:
    """The numbers of the set bits, neighbours joined: ``0-15 20``."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    spans = edges.reshape(-1, 2).tolist()
    texts = [str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in spans]
    return " ".join(texts) or "none"
