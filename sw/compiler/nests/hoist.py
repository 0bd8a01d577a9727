"""Moves out of loops what all of their iterations do alike."""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.fiber import MergeOp
from gnarl.sw.compiler.nests.guard import left_out
from gnarl.sw.compiler.nests.operations import ADDRESSES, written_arrays
from gnarl.sw.compiler.nests.values import constant_of, is_defined_inside


def hoist(module: ModuleOp) -> ModuleOp:
    """Integer arithmetic leaves the loops that it does not depend on; loads of arrays that nothing
    writes, too, where the loop is sure to run and no choice has to leave them out.
    O(operations x depth + choices x operations)."""
    module = copied(module)
    written, choices = written_arrays(module), left_out(module)
    loops = [each for each in module.walk() if isinstance(each, scf.ForOp | MergeOp)]
    for loop in reversed(loops):  # inner ones first
        runs = isinstance(loop, scf.ForOp) and _runs(loop)
        block = loop.parent_block()
        assert block is not None
        for operation in list(loop.body.block.ops):
            is_load = isinstance(operation, memref.LoadOp) and operation.memref not in written
            is_done = is_load and runs and operation not in choices
            if not isinstance(operation, ADDRESSES) and not is_done:
                continue
            if not any(is_defined_inside(each, loop) for each in operation.operands):
                operation.detach()
                block.insert_op_before(operation, loop)
    return module


def _runs(loop: scf.ForOp) -> bool:
    lower, upper = constant_of(loop.lb), constant_of(loop.ub)
    return lower is not None and upper is not None and lower < upper
