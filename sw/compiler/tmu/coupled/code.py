"""From a function to a program of the execute unit."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from hw.lib.errors import CapacityError
from hw.tmu.config import TmuConfig
from hw.tmu.execute_isa import Instruction
from sw.compiler.tmu.coupled.allocate import RegistersError, allocate
from sw.compiler.tmu.coupled.copies import copy, remove_copies
from sw.compiler.tmu.coupled.emit import emit
from sw.compiler.tmu.coupled.fuse import fuse_products
from sw.compiler.tmu.coupled.liveness import live_out
from sw.compiler.tmu.coupled.machine import Block
from sw.compiler.tmu.coupled.schedule import schedule
from sw.compiler.tmu.coupled.select import select

WINDOWS = (64, 32, 16, 8, 1)
"""How far a step may overtake others, the farthest first: until registers suffice."""


def coupled_code(
    module: ModuleOp, config: TmuConfig, bases: Mapping[str, int]
) -> list[Instruction]:
    """The program. Raises ``CapacityError`` where registers or the program's memory do not suffice,
    ``WorkloadError`` for operations that the unit lacks."""
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    for window in WINDOWS:
        blocks = select(function, config.lanes, bases)
        remove_copies(blocks)
        fuse_products(blocks)
        _begin_variables(blocks)
        schedule(blocks, window)
        try:
            registers = allocate(blocks)
            break
        except RegistersError as error:
            if window == WINDOWS[-1]:
                raise CapacityError(f"{function.sym_name.data}: {error}") from None
    code = emit(blocks, registers)
    if len(code) > config.program_words:
        raise CapacityError(f"program_words = {config.program_words}: must be at least {len(code)}")
    return code


def _begin_variables(blocks: list[Block]) -> None:
    """What may be read before it is written is 0."""
    first = blocks[0]
    needed = set(live_out(blocks)[0])
    for step in reversed(first.steps):
        if step.dst is not None:
            needed.discard(step.dst)
        needed |= set(step.reads)
    masks = {register for register in needed if register.kind == "m"}
    assert not masks, "a mask that nothing sets"
    first.steps[:0] = [
        copy(register, 0) for register in sorted(needed, key=lambda each: each.number)
    ]
