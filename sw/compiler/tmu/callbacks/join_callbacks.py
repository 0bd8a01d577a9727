"""Fewer tokens where callbacks follow each other."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from gnarl.sw.compiler.nests.dialects.slc import CallbackOp


def join_callbacks(module: ModuleOp) -> None:
    """Callbacks that follow each other without words of their own become one, in place."""
    for callback in [each for each in module.walk() if isinstance(each, CallbackOp)]:
        behind = callback.next_op
        while isinstance(behind, CallbackOp) and not (callback.streams or behind.streams):
            for operation in list(behind.body.block.ops):
                operation.detach()
                callback.body.block.add_op(operation)
            behind.detach()
            behind.erase()
            behind = callback.next_op
