"""Compiles a function to a program of the execute unit alone."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.sw.compiler.nests.execute.assemble import assemble
from gnarl.sw.compiler.nests.execute.select import select
from gnarl.sw.compiler.nests.functions import function_of
from gnarl.sw.compiler.nests.unit import Unit


def coupled_code(module: ModuleOp, config: Unit, bases: Mapping[str, int]) -> list[Instruction]:
    """The program. Raises ``CapacityError`` where registers or the program's memory do not suffice,
    ``WorkloadError`` for operations that the unit lacks."""
    function = function_of(module)
    code, _ = assemble(
        lambda: select(function, config.lanes, bases), function.sym_name.data, config
    )
    return code
