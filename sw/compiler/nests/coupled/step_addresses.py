"""Addresses that a loop goes on by, instead of computing them. Source: Allen, Cocke and Kennedy,
"Reduction of Operator Strength" (1981)."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.flat import Access, StoreOp
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.execute.affine import Affine, affine_of
from gnarl.sw.compiler.nests.execute.simplify import simplify
from gnarl.sw.compiler.nests.values import (
    constant_of,
    integer,
    is_defined_inside,
    is_innermost,
    iterations_of,
)

MOST = 6
"""Addresses that a loop keeps, of the scalar registers."""

_SUMS = (arith.AddiOp, arith.MuliOp, arith.ShLIOp)


def step_addresses(module: ModuleOp) -> ModuleOp:
    """Turns addresses in an innermost loop into variables of their own, where the loop has constant
    bounds and needs its induction variable for addresses alone: each is computed before the loop,
    and grows in each iteration by as much as the address did. O(operations)."""
    module = copied(module)
    count = 0
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        addresses = _addresses(loop)
        if addresses and len(addresses) <= MOST:
            _step(loop, addresses, count)
            count += len(addresses)
    return simplify(module) if count else module


def _addresses(loop: scf.ForOp) -> dict[SSAValue, Affine]:
    """Sums of multiples of the induction variable and of what the loop does not change, if it is
    used for nothing else."""
    if iterations_of(loop) is None or not is_innermost(loop):
        return {}
    counter = loop.body.block.args[0]
    addresses: dict[SSAValue, Affine] = {}
    values: list[SSAValue] = [counter]
    while values:
        value = values.pop()
        for use in value.uses:
            if isinstance(use.operation, Access):
                is_stored = isinstance(use.operation, StoreOp) and use.operation.value is value
                if value is counter or is_stored:
                    return {}
                addresses[value] = affine_of(value)
            elif isinstance(use.operation, _SUMS):
                values += use.operation.results
            else:
                return {}
    for affine in addresses.values():
        others = set(affine.terms) - {counter}
        if counter not in affine.terms or any(is_defined_inside(each, loop) for each in others):
            return {}
    return addresses


def _step(loop: scf.ForOp, addresses: dict[SSAValue, Affine], first: int) -> None:
    block, body, step = loop.parent_block(), loop.body.block, constant_of(loop.step)
    assert block is not None and step is not None
    counter, end = body.args[0], body.last_op
    assert end is not None
    at_begin: dict[SSAValue, SSAValue] = {counter: loop.lb}
    for operation in list(body.ops):
        if isinstance(operation, _SUMS) and not set(operation.operands).isdisjoint(at_begin):
            block.insert_op_before(operation.clone(at_begin), loop)
    for number, (address, affine) in enumerate(addresses.items(), first):
        name = f"address_{number}"
        block.insert_op_before(SetOp(name, at_begin[address]), loop)
        get = GetOp(name, address.type)
        body.insert_op_before(get, body.first_op or end)
        further = integer(affine.terms[counter] * step)
        later = arith.AddiOp(get.value, further.result)
        body.insert_ops_before([further, later, SetOp(name, later.result)], end)
        for use in list(address.uses):
            if isinstance(use.operation, Access):
                use.operation.operands[use.index] = get.value
