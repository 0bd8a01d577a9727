"""Random programs of commands for in-SRAM computing: right ones, and ones of which fields, words or
commands are damaged."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np

from cocotb_tests.sram_compute.near_programs import RandomStreams, clearing_engines
from cocotb_tests.sram_compute.programs import RandomProgram, clearing
from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION, Instruction
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import UNIT_WORDS, Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command, decode, numbers
from tests.support.damaged_fields import damage_field
from tests.support.execute.core_programs import computing_program, moving_program

FIRST_LINE = 64
"""Of arrays: programs lie before it."""


def right_program(config: SramConfig, seed: int) -> list[Command]:
    """Commands of which each has a meaning, of all kinds, and that read nothing that they have not
    written."""
    chance = random.Random(seed)
    arrays = RandomProgram(config, chance, FIRST_LINE)
    streams = RandomStreams(config, chance, FIRST_LINE)
    found = [*clearing(config), *clearing_engines()]
    for _ in range(chance.randrange(1, 5)):
        if config.near_lanes and chance.random() < 0.4:
            found += [streams.copy(), *(fitting_loop(streams) if chance.random() < 0.6 else [])]
        else:
            found += arrays.commands(chance.randrange(1, 5))[:-1]
    return [*found, command(Opcode.END)]


def fitting_loop(streams: RandomStreams) -> list[Command]:
    """One of those whose elements small banks have room for."""
    while True:
        with suppress(ValueError):
            return streams.loop()


def damaged_program(config: SramConfig, seed: int) -> np.ndarray:
    """uint32 [units, words of a unit]: a right program with some damage, or words at random."""
    chance = random.Random(seed)
    commands = right_program(config, seed)
    # Not the beginning, where there would be the most damage: it clears all.
    first = len(clearing(config)) if chance.random() < 0.5 else 0
    commands = commands[first:]
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(commands))
        match chance.randrange(8):
            case 0:
                commands.insert(at, _any_command(chance))
            case 1 if len(commands) > 1:
                del commands[at]
            case 2:
                commands.insert(at, chance.choice(commands))
            case _:
                commands[at] = _damaged(commands[at], chance)
    units = assemble(commands)
    if chance.random() < 0.1:
        row, word = chance.randrange(len(units)), chance.randrange(UNIT_WORDS)
        units[row, word] ^= 1 << chance.randrange(32)
    if chance.random() < 0.03:
        units[chance.randrange(len(units))] = [chance.getrandbits(32) for _ in range(UNIT_WORDS)]
    return units[: FIRST_LINE * 4]


def damaged_core_program(config: SramConfig, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Units of a ``CORE`` and an ``END``, and the core's instructions, uint32 [n, words of one]: a
    random program, of which some words are any. It may not end."""
    chance = random.Random(seed)
    given = computing_program(seed, config.core_lanes, length=40, memory_words=1024)
    words = given.instructions[: config.core_instructions].copy()
    for _ in range(chance.randrange(4)):
        row, word = chance.randrange(len(words)), chance.randrange(words.shape[1])
        words[row, word] ^= np.uint32(1 << chance.randrange(32))
    if chance.random() < 0.1:
        row = chance.randrange(len(words))
        words[row] = Instruction(ExecuteOpcode.JUMP, immediate=row).words()
    first = command(Opcode.CORE, first=chance.choice((0, 0, 0, 1, 40)))
    return assemble([first, command(Opcode.END)]), words


def damaged_mixed_program(config: SramConfig, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of commands of all kinds, some of which start the core, at one of several programs
    that compute or move words, or anywhere; and of fields of its instructions."""
    chance = random.Random(f"mixed {seed}")
    commands = right_program(config, seed)[:-1]
    commands = commands[: chance.randrange(len(commands)) + 1]
    firsts: list[int] = []
    parts: list[np.ndarray] = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        firsts.append(sum(map(len, parts)))
        parts.append(_core_part(config, chance))
    words = np.concatenate(parts)[: config.core_instructions]
    for _ in range(chance.choice((1, 1, 2, 3))):
        first = chance.choice((*firsts, *firsts, chance.randrange(len(words))))
        # Mostly behind all that the others have done.
        at = len(commands) if chance.random() < 0.6 else chance.randrange(len(commands) + 1)
        synced = [command(Opcode.SYNC)] if chance.random() < 0.7 else []
        commands[at:at] = [*synced, command(Opcode.CORE, first=first)]
    commands.append(command(Opcode.END))
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        if chance.random() < 0.6:
            damage_field(chance, words, INSTRUCTION)
        else:
            at = chance.randrange(len(commands))
            commands[at] = _damaged(commands[at], chance)
    return assemble(commands)[: FIRST_LINE * 4], words


def _core_part(config: SramConfig, chance: random.Random) -> np.ndarray:
    """A program of the core that uses words of commands, or all words that there are."""
    seed, memory_words = chance.getrandbits(32), chance.choice((1024, 4096, config.memory_words))
    if chance.random() < 0.5:
        return moving_program(seed, config.core_lanes, memory_words).instructions
    length = chance.choice((5, 20, 40))
    given = computing_program(seed, config.core_lanes, length=length, memory_words=memory_words)
    return given.instructions


def _any_command(chance: random.Random) -> Command:
    """Any command, each field at random or extreme."""
    found = command(chance.choice(list(Opcode)))
    for _ in range(4):
        found = _damaged(found, chance)
    return found


def _damaged(given: Command, chance: random.Random) -> Command:
    """With another value in one number."""
    fields = [each for each in numbers(given.opcode) if each.field != "opcode"]
    if not fields:
        return given
    number = chance.choice(fields)
    most = (1 << number.width) - 1
    value = chance.choice((0, 1, most, most // 2 + 1, most - 1, chance.randint(0, most)))
    units = assemble([given])
    whole = int.from_bytes(np.ascontiguousarray(units, "<u4").tobytes(), "little")
    if chance.random() < 0.3:
        value = (whole >> number.offset & most) ^ 1 << chance.randrange(number.width)
    whole = whole & ~(most << number.offset) | value << number.offset
    octets = whole.to_bytes(4 * units.size, "little")
    return decode(np.frombuffer(octets, "<u4").reshape(-1, UNIT_WORDS))
