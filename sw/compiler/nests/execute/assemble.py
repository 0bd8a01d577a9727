"""Assembles instructions of virtual registers to a program of the execute unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.nests.execute.allocate import RegistersError, allocate
from gnarl.sw.compiler.nests.execute.copies import copy, fill_gaps, remove_copies
from gnarl.sw.compiler.nests.execute.emit import emit
from gnarl.sw.compiler.nests.execute.fuse import fuse_products
from gnarl.sw.compiler.nests.execute.keep_constants import keep_constants
from gnarl.sw.compiler.nests.execute.liveness import live_out
from gnarl.sw.compiler.nests.execute.machine import Block, Register
from gnarl.sw.compiler.nests.execute.order import best_order
from gnarl.sw.compiler.nests.execute.overlap import overlap_iterations
from gnarl.sw.compiler.nests.execute.sink_takes import sink_takes
from gnarl.sw.compiler.nests.execute.webs import split_webs
from gnarl.sw.compiler.nests.unit import Unit

WINDOWS = (64, 32, 16, 8, 1)
"""How far a step may overtake others, the farthest first: until registers suffice."""


class ProgramWordsError(CapacityError):
    """The program's memory does not hold the instructions ``needed``."""

    def __init__(self, needed: int, config: Unit) -> None:
        super().__init__(f"program_words = {config.program_words}: must be at least {needed}")
        self.needed = needed


def assemble(
    select: Callable[[], list[Block]], name: str, config: Unit
) -> tuple[list[Instruction], list[int]]:
    """The program, and the address of each block.

    ``select``: makes the blocks, once for each try; ``name``: of the function, for errors. Raises
    ``CapacityError`` where registers or the program's memory do not suffice.
    """
    for overlaps in (True, False):
        blocks, registers = _ordered(select, name, overlaps)
        code, addresses = emit(blocks, registers)
        if len(code) <= config.program_words:
            break
    check_size(code, config)
    return code, addresses


def _ordered(
    select: Callable[[], list[Block]], name: str, overlaps: bool
) -> tuple[list[Block], Mapping[Register, int]]:
    """The blocks with their steps in order, and registers; raises ``CapacityError`` for these.
    ``overlaps``: whether iterations of loops may, which takes more instructions."""
    tries = product((True, False) if overlaps else (False,), WINDOWS, (True, False))
    is_kept = True
    for may_overlap, window, keeps in tries:
        if not keeps and not is_kept:
            continue
        blocks = select()
        _jump_at_once(blocks)
        sink_takes(blocks)
        remove_copies(blocks)
        fuse_products(blocks)
        fill_gaps(blocks)
        is_kept = keeps and keep_constants(blocks)
        _begin_variables(blocks)
        done = overlap_iterations(blocks, window) if may_overlap else set()
        if done:
            split_webs(blocks)
        for number, live in enumerate(live_out(blocks)):
            if number not in done:
                blocks[number].steps = best_order(blocks[number], live, window)
        try:
            return blocks, allocate(blocks)
        except RegistersError as error:
            problem = error
    raise CapacityError(f"{name}: {problem}")


def check_size(code: Sequence[Instruction], config: Unit) -> None:
    """Raises ``ProgramWordsError`` where the program's memory does not suffice."""
    if len(code) > config.program_words:
        raise ProgramWordsError(len(code), config)


def _jump_at_once(blocks: Sequence[Block]) -> None:
    """Replaces a jump to a jump by token by the latter."""
    for block in blocks:
        last = block.steps[-1] if block.steps else None
        if last is None or last.opcode != Opcode.JUMP or last.target is None:
            continue
        target = blocks[last.target]
        if [step.opcode for step in target.steps] == [Opcode.JUMP_TOKEN]:
            block.steps[-1], block.following = target.steps[0], target.following


def _begin_variables(blocks: Sequence[Block]) -> None:
    """What may be read before it is written is 0, as scalar registers are at the start."""
    first = blocks[0]
    needed = set(live_out(blocks)[0])
    for step in reversed(first.steps):
        if step.dst is not None:
            needed.discard(step.dst)
        needed |= set(step.reads)
    assert not any(register.kind == "m" for register in needed), "a mask that nothing sets"
    vectors = [register for register in needed if register.kind == "v"]
    first.steps[:0] = [copy(each, 0) for each in sorted(vectors, key=lambda each: each.number)]
