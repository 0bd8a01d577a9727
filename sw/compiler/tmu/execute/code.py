"""Instructions of the execute unit for the cases of a DLC program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.execute.assemble import assemble
from gnarl.sw.compiler.nests.execute.linearize import linearize
from gnarl.sw.compiler.nests.execute.machine import Block
from gnarl.sw.compiler.nests.execute.simplify import simplify
from gnarl.sw.compiler.nests.execute.unroll import SHARES, unroll_counted
from gnarl.sw.compiler.nests.functions import function_of
from gnarl.sw.compiler.tmu.dialects.dlc import START
from gnarl.sw.compiler.tmu.execute.rotate import rotate_loops
from gnarl.sw.compiler.tmu.execute.select_cases import select_cases
from gnarl.sw.compiler.tmu.execute.split_choices import share_reads, split_choices


@dataclass(frozen=True)
class ExecuteCode:
    """``instructions``, and the addresses of ``tokens`` by their names."""

    instructions: list[Instruction]
    tokens: dict[str, int]


def execute_code(module: ModuleOp, config: TmuConfig, bases: Mapping[str, int]) -> ExecuteCode:
    """The program: ``start``, then a case behind the other, each ending in the next token.

    ``bases``: the first word of each array. Raises ``CapacityError`` where registers or the
    program's memory do not suffice, ``WorkloadError`` for operations that the unit lacks.
    """
    for share in SHARES:
        try:
            return _unrolled(module, config, bases, config.program_words // share if share else 0)
        except CapacityError:
            if share == SHARES[-1]:
                raise
    raise AssertionError(SHARES)


def _unrolled(
    module: ModuleOp, config: TmuConfig, bases: Mapping[str, int], budget: int
) -> ExecuteCode:
    """Loops of a case are written out to at most ``budget`` instructions."""
    cases = ModuleOp([function_of(module).clone()])
    cases = share_reads(linearize(unroll_counted(rotate_loops(cases), budget)))
    made = function_of(simplify(split_choices(simplify(cases))))
    entries: dict[str, int] = {}

    def select() -> list[Block]:
        blocks, found = select_cases(made, config.lanes, bases)
        entries.update(found)
        return blocks

    code, addresses = assemble(select, made.sym_name.data, config)
    tokens = {token: addresses[block] for token, block in entries.items() if token != START}
    return ExecuteCode(code, tokens)
