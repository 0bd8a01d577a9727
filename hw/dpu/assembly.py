"""The DPU's instructions as columns of fields and as a stream of bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode, instruction, instruction_bytes, opcodes
from gnarl.hw.lib.encoding.packing import pack, unpack

BANK_MASKS = ("read_enable", "valid_reset", "write_enable", "load_enable", "store_enable")
"""Fields of one bit a bank: bool columns."""

_OPCODE_MASK = (1 << Opcode.as_shape().width) - 1


def assemble(
    config: DpuConfig, instructions: np.ndarray, columns: Mapping[str, np.ndarray]
) -> np.ndarray:
    """The byte stream (uint8) of ``n`` instructions without gaps.

    ``instructions`` is uint8 [n], values of ``Opcode``. ``columns`` has a row for each instruction
    and a column for each field of the formats in use, as ``gnarl.hw.lib.encoding.packing.pack``
    wants them; bank masks are bool [n, banks]. Rows of fields that an instruction's format lacks
    are ignored. Raises ``ValueError`` as ``pack`` does, with the instruction's number as index, and
    for an opcode that the configuration lacks.
    """
    lengths = _lengths(config)
    unknown = np.flatnonzero(~np.isin(instructions, list(lengths)))
    if len(unknown):
        raise ValueError(
            f"opcode[{unknown[0]}] = {instructions[unknown[0]]}: "
            f"must be one of {_known_opcodes(config)}"
        )
    table = np.zeros(_OPCODE_MASK + 1, np.int64)
    table[list(lengths)] = list(lengths.values())
    ends = np.cumsum(table[instructions])
    stream = np.zeros(ends[-1] if len(ends) else 0, np.uint8)
    for opcode, length in lengths.items():
        rows = np.flatnonzero(instructions == opcode)
        if not len(rows):
            continue
        layout = instruction(config, opcode)
        present = {name: columns[name] for name in layout.members if name in columns}
        present["opcode"] = instructions
        if "padding" in layout.members:
            present["padding"] = np.zeros(len(instructions), np.uint8)
        words = pack(layout, present, rows)
        starts = ends[rows] - length
        for octet in range(length):
            stream[starts + octet] = words[:, octet]
    return stream


def split(config: DpuConfig, stream: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Opcodes (uint8 [n]) and byte addresses (int64 [n]) of the instructions in ``stream``.

    Raises ``ValueError`` where an opcode is unknown or the stream ends inside an instruction.
    """
    lengths = _lengths(config)
    first_bytes = stream.tolist()
    addresses: list[int] = []
    address = 0
    while address < len(first_bytes):
        opcode = first_bytes[address] & _OPCODE_MASK
        if opcode not in lengths:
            raise ValueError(
                f"instruction {len(addresses)} at byte {address} has opcode {opcode}: "
                f"must be one of {_known_opcodes(config)}"
            )
        addresses.append(address)
        address += lengths[opcode]
    if address != len(first_bytes):
        raise ValueError(
            f"instruction {len(addresses) - 1} at byte {addresses[-1]} has "
            f"{address - addresses[-1]} bytes: the stream ends after {len(first_bytes)}"
        )
    places = np.array(addresses, np.int64)
    return stream[places] & np.uint8(_OPCODE_MASK), places


def disassemble(
    config: DpuConfig, stream: np.ndarray, only: Collection[str] | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Opcodes, columns and byte addresses of the instructions in ``stream``.

    Inverse of ``assemble``: columns for every field of the configuration's formats, or ``only`` for
    some of them, 0 in the rows of instructions that lack it. Raises ``ValueError`` as ``split``
    does.
    """
    opcodes, addresses = split(config, stream)
    columns: dict[str, np.ndarray] = {}
    for opcode, length in _lengths(config).items():
        rows = np.flatnonzero(opcodes == opcode)
        words = np.empty((len(rows), length), np.uint8)
        for octet in range(length):
            words[:, octet] = stream[addresses[rows] + octet]
        layout = instruction(config, opcode)
        for name, part in unpack(layout, words, BANK_MASKS, only=only).items():
            if name in ("opcode", "padding"):
                continue
            if name not in columns:
                columns[name] = np.zeros((len(opcodes), *part.shape[1:]), part.dtype)
            columns[name][rows] = part
    return opcodes, columns, addresses


def _lengths(config: DpuConfig) -> dict[Opcode, int]:
    return {opcode: instruction_bytes(config, opcode) for opcode in opcodes(config)}


def _known_opcodes(config: DpuConfig) -> str:
    return ", ".join(f"{opcode.value} ({opcode.name})" for opcode in opcodes(config))
