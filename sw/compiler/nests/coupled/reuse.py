"""Keeps what one iteration loads for the next one. Source: predictive commoning, O'Brien (1990)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.flat import LoadOp, StoreOp
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.values import constant_of

MOST = 16
"""Values that a loop keeps, of the scalar registers."""


def reuse(module: ModuleOp) -> ModuleOp:
    """A word or vector that a loop loads, and has loaded an iteration before as that of an
    iteration to come, becomes a variable: it is loaded before the loop, if that runs, and set in
    each iteration.

    What is shifted alone is kept shifted. Words are of arrays that nothing writes. O(loads^2).
    """
    module = copied(module)
    written = {each.array.data for each in module.walk() if isinstance(each, StoreOp)}
    count = 0
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        pairs = _pairs(loop, written)
        if 0 < len(pairs) <= MOST:
            _keep(loop, pairs, count)
            count += len(pairs)
    return module


Pair: TypeAlias = tuple[Operation, Operation]
"""An operation, and one that gives what it gives an iteration later."""


def _pairs(loop: scf.ForOp, written: Collection[str]) -> list[Pair]:
    step, induction = constant_of(loop.step), loop.body.block.args[0]
    assert step is not None
    loads: dict[tuple[str, int, Attribute], LoadOp] = {}
    for each in loop.body.block.ops:
        if isinstance(each, LoadOp) and each.array.data not in written:
            if each.address is induction and each.mask is None:
                loads[*each.place, each.value.type] = each
    pairs: list[Pair] = []
    # A word that becomes a variable does so behind the one that is set to it.
    arrays = list(dict.fromkeys(array for array, _, _ in loads))
    ordered = sorted(loads.items(), key=lambda each: (arrays.index(each[0][0]), each[0][1]))
    for (array, offset, type), load in ordered:
        ahead = loads.get((array, offset + step, type))
        if ahead is None:
            continue
        one, other = _shifted(load), _shifted(ahead)
        if one is not None and other is not None and _shift(one) == _shift(other):
            pairs.append((one, other))
        else:
            pairs.append((load, ahead))
    return pairs


def _shifted(load: LoadOp) -> arith.ShLIOp | None:
    """The one use of a load, if it is a shift by a number."""
    users = {use.operation for use in load.value.uses}
    if len(users) != 1:
        return None
    (user,) = users
    is_shift = isinstance(user, arith.ShLIOp) and constant_of(user.rhs) is not None
    return user if is_shift and isinstance(user, arith.ShLIOp) else None


def _shift(operation: arith.ShLIOp) -> int | None:
    return constant_of(operation.rhs)


def _keep(loop: scf.ForOp, pairs: list[Pair], first: int) -> None:
    block, body = loop.parent_block(), loop.body.block
    assert block is not None
    before: list[Operation] = []
    end = body.last_op
    assert end is not None
    for number, (now, ahead) in enumerate(pairs, first):
        name = f"ahead_{number}"
        load = now if isinstance(now, LoadOp) else now.operands[0].owner
        assert isinstance(load, LoadOp)
        first_load: Operation = load.clone({body.args[0]: loop.lb})
        before.append(first_load)
        if now is not load:
            first_load = now.clone({load.value: first_load.results[0]})
            before.append(first_load)
        before.append(SetOp(name, first_load.results[0]))
        get = GetOp(name, now.results[0].type)
        body.insert_op_before(get, now)
        now.results[0].replace_all_uses_with(get.value)
        body.insert_op_before(SetOp(name, ahead.results[0]), end)
        for each in (now, load):
            if each.parent is not None and not each.results[0].uses.get_length():
                each.detach()
                each.erase()
    runs = arith.CmpiOp(loop.lb, loop.ub, "slt")
    inside = Block()
    block.insert_ops_before([runs, scf.IfOp(runs.result, [], [inside])], loop)
    loop.detach()
    inside.add_ops([*before, loop, scf.YieldOp()])
