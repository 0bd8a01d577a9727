"""Variables that a loop adds up, one in each lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    UnitAttr,
    VectorType,
    f32,
    i64,
)
from xdsl.ir import Operation, Region

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import CallbackOp, ForOp, GetOp, SetOp, body_of
from gnarl.sw.compiler.nests.scf import STATEMENT
from gnarl.sw.workloads.loops.ir.nest import For, Nest, statements

SUMS = "sums_by_lanes"
"""The attribute of a vector loop behind which its lanes' sums are added."""

_BY_LANES = "_by_lanes"

_ADD = vector.CombiningKindAttr(vector.CombiningKindFlag.ADD)


@dataclass(frozen=True)
class LaneSum:
    """A sum that lanes can share. ``add``: float32 sum of what ``get`` reads, which nothing else
    uses, for ``set``."""

    get: GetOp
    add: arith.AddfOp
    set: SetOp

    @property
    def variable(self) -> str:
        return self.get.variable.data

    @property
    def of_lanes(self) -> str:
        """The variable with a sum for each lane."""
        return f"{self.variable}{_BY_LANES}"


def is_of_lanes(variable: str) -> bool:
    """Whether a variable has a sum for each lane."""
    return variable.endswith(_BY_LANES)


def of_second_half(variable: str) -> str:
    """The name of a second variable like ``variable``, a sum for each lane, for the second half of
    the iterations."""
    return f"{variable.removesuffix(_BY_LANES)}_of_second_half{_BY_LANES}"


def lane_sums(body: Region) -> dict[str, LaneSum]:
    """Variables that a body reads only to add to them, by name. O(operations)."""
    gets = [each for each in body.walk() if isinstance(each, GetOp)]
    sets = [each for each in body.walk() if isinstance(each, SetOp)]
    names = Counter(each.variable.data for each in gets)
    names.update(each.variable.data for each in sets)
    getting = {each.variable.data: each for each in gets}
    sums = {}
    for each in sets:
        name, add = each.variable.data, each.value.owner
        if names[name] != 2 or name not in getting or not isinstance(add, arith.AddfOp):
            continue
        if _is_apart(getting[name], add) and add.result.type == f32:
            sums[name] = LaneSum(getting[name], add, each)
    return sums


def _is_apart(get: GetOp, add: arith.AddfOp) -> bool:
    """Whether what is read is only added to, for one use."""
    users = [each.operation for each in get.value.uses]
    return users == [add] and len(list(add.result.uses)) == 1


def add_lanes(loop: ForOp, sums: Collection[LaneSum], lanes: int) -> None:
    """Behind a vector loop, adds the lanes' sums to their variables, and sets them to 0.

    What a callback right before the loop sets these variables to is set behind it, if it does
    nothing else.
    """
    if not sums:
        return
    loop.attributes[SUMS] = UnitAttr()
    block = loop.parent_block()
    assert block is not None
    region = body_of([])
    before = loop.prev_op
    while isinstance(before, arith.ConstantOp):
        before = before.prev_op
    if isinstance(before, CallbackOp) and _only_sets(before, {each.variable for each in sums}):
        for operation in list(before.body.block.ops):
            operation.detach()
            region.block.add_op(operation)
        before.detach()
        before.erase()
    region.block.add_ops(totals(sums, lanes))
    behind = loop.next_op
    if isinstance(behind, CallbackOp):
        first = behind.body.block.first_op
        for operation in list(region.block.ops):
            operation.detach()
            if first is None:
                behind.body.block.add_op(operation)
            else:
                behind.body.block.insert_op_before(operation, first)
    else:
        block.insert_op_after(CallbackOp([], region), loop)


def totals(sums: Collection[LaneSum], lanes: int) -> list[Operation]:
    """Adds the lanes' sums to their variables, and sets them to 0."""
    type = VectorType(f32, [lanes])
    zero = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [0.0]))
    added: list[Operation] = [zero]
    for each in sums:
        partial, total = GetOp(each.of_lanes, type), GetOp(each.variable, f32)
        one = vector.ReductionOp.build(
            operands=[partial.value, None],
            properties={"kind": _ADD, "fastmath": arith.FastMathFlagsAttr("none")},
            result_types=[f32],
        )
        result = arith.AddfOp(total.value, one.results[0])
        added += [partial, one, total, result, SetOp(each.variable, result.result)]
        added.append(SetOp(each.of_lanes, zero.result))
    return added


def _only_sets(callback: CallbackOp, names: Collection[str]) -> bool:
    """Whether a callback only sets variables ``names`` to constants."""
    return not callback.streams and all(
        isinstance(each, arith.ConstantOp)
        or (
            isinstance(each, SetOp)
            and each.variable.data in names
            and isinstance(each.value.owner, arith.ConstantOp)
        )
        for each in callback.body.block.ops
    )


def summed_loops(module: ModuleOp) -> set[int]:
    """Numbers of the nest's statements that are loops with sums by lanes."""
    return loops_with(SUMS, module)


def loops_with(attribute: str, module: ModuleOp) -> set[int]:
    """Numbers of the nest's statements that are loops with an attribute."""
    loops = set()
    for loop in module.walk():
        if attribute in loop.attributes:
            number = loop.attributes[STATEMENT]
            assert isinstance(number, IntegerAttr)
            loops.add(number.value.data)
    return loops


def renumbered(module: ModuleOp, before: Nest, after: Nest) -> ModuleOp:
    """Its loops have the numbers of statements that they have in the nest ``after`` their sums are
    rewritten there."""
    module = copied(module)
    pairs = zip(_loops(before), _loops(after), strict=True)
    numbers = {number: IntegerAttr(statement, i64) for number, statement in pairs}
    for loop in module.walk():
        if STATEMENT in loop.attributes:
            number = loop.attributes[STATEMENT]
            assert isinstance(number, IntegerAttr)
            loop.attributes[STATEMENT] = numbers[number.value.data]
    return module


def _loops(nest: Nest) -> list[int]:
    loops = enumerate(statements(nest.body))
    return [number for number, statement in loops if isinstance(statement, For)]
