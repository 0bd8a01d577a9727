"""Locals of the nest that iterations leave to others, as variables of the execute unit."""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.scf import PLACE


def to_variables(module: ModuleOp) -> ModuleOp:
    """Loads and stores of ``memref.alloca`` without dimensions become ``slc.get`` and ``slc.set``.

    Their names have a dot, and so differ from those that passes make up. O(operations).
    """
    module = copied(module)
    for number, local in enumerate(
        [each for each in module.walk() if isinstance(each, memref.AllocaOp)]
    ):
        name = f"{local.memref.name_hint or 'local'}.{number}"
        assert isinstance(local.memref.type, MemRefType)
        for use in list(local.memref.uses):
            operation = use.operation
            block = operation.parent_block()
            assert block is not None
            replacement: Operation
            if isinstance(operation, memref.LoadOp):
                replacement = GetOp(name, local.memref.type.element_type)
                block.insert_op_before(replacement, operation)
                operation.res.replace_all_uses_with(replacement.results[0])
            else:
                assert isinstance(operation, memref.StoreOp)
                replacement = SetOp(name, operation.value)
                block.insert_op_before(replacement, operation)
            if PLACE in operation.attributes:
                replacement.attributes[PLACE] = operation.attributes[PLACE]
            operation.detach()
            operation.erase()
        local.detach()
        local.erase()
    return module


def copy_apart(operation: Operation, values: dict[SSAValue, SSAValue], number: int) -> Operation:
    """A copy with variables of its own, of that number. ``values`` gets its results."""
    made = operation.clone(values)
    for each in made.walk():
        if isinstance(each, GetOp | SetOp):
            each.properties["variable"] = type(each.variable)(f"{each.variable.data}_{number}")
    return made


def are_private(loop: scf.ForOp) -> bool:
    """Whether each variable is set in an iteration before that reads it, and used nowhere else."""
    known: set[str] = set()
    for each in loop.body.block.ops:
        for operation in each.walk():
            if isinstance(operation, GetOp) and operation.variable.data not in known:
                return False
        if isinstance(each, SetOp):
            known.add(each.variable.data)
        elif any(isinstance(one, SetOp) and one.variable.data not in known for one in each.walk()):
            return False
    function: Operation = loop
    while (parent := function.parent_op()) is not None:
        function = parent
    inside = set(loop.walk())
    return not any(
        isinstance(each, GetOp | SetOp) and each.variable.data in known and each not in inside
        for each in function.walk()
    )
