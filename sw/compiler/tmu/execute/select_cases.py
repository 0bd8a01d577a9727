"""Instructions of virtual registers for the cases of a DLC function."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.machine import Block, Step
from gnarl.sw.compiler.nests.execute.select import Selection
from gnarl.sw.compiler.tmu.dialects.dlc import END, START, CaseOp


def select_cases(
    function: func.FuncOp, lanes: int, bases: Mapping[str, int]
) -> tuple[list[Block], dict[str, int]]:
    """Blocks of a DLC function's cases, one case behind the other, and the first block of each.

    A case ends in the next one's beginning; any may follow any, up to ``end``, or ``start`` if that
    is alone. Otherwise as ``select``.
    """
    selection = Selection(lanes, bases)
    entries: dict[str, int] = {}
    ends = []
    cases = [each.token.data for each in function.body.block.ops if isinstance(each, CaseOp)]
    last = END if END in cases else START
    for operation in function.body.block.ops:
        if not isinstance(operation, CaseOp):
            selection.operations([operation])
            continue
        entries[operation.token.data] = selection.begin() if entries else 0
        selection.operations(operation.body.block.ops)
        if operation.token.data == last:
            selection.end(Step(Opcode.HALT), [])
        else:
            selection.end(Step(Opcode.JUMP_TOKEN), [])
            ends.append(selection.blocks[-1])
    following = [block for token, block in entries.items() if token != START]
    for block in ends:
        block.following = following
    return selection.blocks, entries
