"""Streams that give the same are one."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from gnarl.sw.compiler.nests.dialects.slc import AluStrOp, ForOp, MemStrOp
from gnarl.sw.compiler.nests.scf import PLACE

_Key = tuple[object, ...]


def share_streams(module: ModuleOp) -> None:
    """What a loop around or an earlier stream of the same loop has already is neither loaded nor
    computed again, in place. Nothing writes what streams read. O(operations)."""
    for function in module.body.block.ops:
        for region in function.regions:
            _share(region.block, {})


def _share(block: Block, known: Mapping[_Key, Operation]) -> None:
    known = dict(known)
    for operation in list(block.ops):
        if isinstance(operation, ForOp):
            _share(operation.body.block, known)
        elif isinstance(operation, MemStrOp | AluStrOp):
            same = known.setdefault(_key(operation), operation)
            if same is not operation:
                operation.stream.replace_all_uses_with(same.results[0])
                operation.detach()
                operation.erase()


def _key(operation: Operation) -> _Key:
    attributes = {**operation.properties, **operation.attributes}
    attributes.pop(PLACE, None)
    types = tuple(result.type for result in operation.results)
    return type(operation), tuple(operation.operands), types, tuple(sorted(attributes.items()))
