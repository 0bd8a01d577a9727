"""Drops what nothing needs."""

from __future__ import annotations

from xdsl.ir import Block, Operation

from gnarl.sw.compiler.nests.dialects.slc import PopOp


def drop_unused(block: Block) -> None:
    """Operations of a block go that have results, no regions and take nothing from the queue, and
    whose results nothing uses; in place. O(operations)."""
    for operation in reversed(list(block.ops)):
        if _is_pure(operation) and not any(result.uses for result in operation.results):
            operation.detach()
            operation.erase()


def _is_pure(operation: Operation) -> bool:
    """Whether nothing is lost without it, where nothing uses it."""
    return bool(operation.results) and not operation.regions and not isinstance(operation, PopOp)
