"""The order of loops one inside of the other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dependences.orders import may_permute
from gnarl.sw.compiler.nests.execute.affine import Affine, affine_of
from gnarl.sw.compiler.nests.operations import ADDRESSES
from gnarl.sw.compiler.nests.values import (
    body_like,
    counted,
    is_defined_inside,
    iterations_of,
    trips,
)


def interchange(module: ModuleOp) -> ModuleOp:
    """Moves loops that go through the elements of what is written to the outside of a perfect nest
    of constant bounds, the one along neighbouring elements as the last of these; loops that add up
    come inside, in their order. So each element is completed at once, and its terms are added in
    the source's order. ``for k: for i: for j: c[i, j] += …`` becomes ``for i: for j: for k: …``.

    Only where all accesses of an array that is written are at one place, whose indices name each of
    the former loops: no iterations that touch one element change their order then. O(operations x
    depth).
    """
    module = copied(module)
    done: set[Operation] = set()
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        band = _band(loop)
        if len(band) > 1 and loop not in done:
            done |= set(band)
            order = _order(band)
            if order != list(range(len(band))) and may_permute(band):
                _rebuild(band, order)
    return module


def _band(loop: scf.ForOp) -> list[scf.ForOp]:
    """The loop, and those inside of it one of which is all that the one around does."""
    band: list[scf.ForOp] = []
    inner: scf.ForOp | None = loop
    while inner is not None and iterations_of(inner) is not None and not inner.results:
        band.append(inner)
        loops = [each for each in inner.body.block.ops if each.regions]
        others = [each for each in inner.body.block.ops if not each.regions]
        is_alone = all(isinstance(each, (*ADDRESSES, scf.YieldOp)) for each in others)
        inner = loops[0] if len(loops) == 1 and isinstance(loops[0], scf.ForOp) else None
        if not is_alone:
            inner = None
    return band


def _order(band: Sequence[scf.ForOp]) -> list[int]:
    """Numbers of the loops as they should come."""
    before = list(range(len(band)))
    body = band[-1].body.block
    accesses = [each for each in body.ops if isinstance(each, memref.LoadOp | memref.StoreOp)]
    if any(each.regions for each in body.ops) or any(not each.indices for each in accesses):
        return before
    places = {each: [affine_of(index) for index in each.indices] for each in accesses}
    across = set(before)
    for store in accesses:
        if not isinstance(store, memref.StoreOp):
            continue
        if any(each.memref is store.memref and places[each] != places[store] for each in accesses):
            return before
        if not _is_known_before(places[store], band[-1]):
            return before
        across &= {number for number in before if _names(places[store], _counter(band[number]))}
    return _sorted(band, across, list(places.values()))


def _is_known_before(place: Sequence[Affine], loop: scf.ForOp) -> bool:
    """Whether only the counter of a loop is not known before it."""
    terms = {value for index in place for value in index.terms} - {_counter(loop)}
    return not any(is_defined_inside(each, loop) for each in terms)


def _sorted(
    band: Sequence[scf.ForOp], across: set[int], places: Sequence[Sequence[Affine]]
) -> list[int]:
    """Loops ``across`` come first, of which one along all places is last; the others behind."""
    before = range(len(band))
    along = [
        number
        for number in across
        if all(_is_along(place, _counter(band[number])) for place in places)
    ]
    last = [max(along)] if along else []
    first = [number for number in before if number in across and number not in last]
    return first + last + [number for number in before if number not in across]


def _counter(loop: scf.ForOp) -> SSAValue:
    return loop.body.block.args[0]


def _names(place: Sequence[Affine], counter: SSAValue) -> bool:
    """Whether an index tells the loop's iteration."""
    return any(set(index.terms) == {counter} for index in place)


def _is_along(place: Sequence[Affine], counter: SSAValue) -> bool:
    """Whether iterations have one element, or neighbouring ones."""
    *rows, last = (index.terms.get(counter, 0) for index in place)
    return not any(rows) and last in (0, 1)


def _rebuild(band: Sequence[scf.ForOp], order: Sequence[int]) -> None:
    outermost = band[0]
    block = outermost.parent_block()
    assert block is not None
    values: dict[SSAValue, SSAValue] = {}
    bodies = []
    for number in order:
        body = body_like(band[number])
        values[_counter(band[number])] = body.args[0]
        bodies.append(body)
    for loop in band:
        bodies[-1].add_ops(
            each.clone(values)
            for each in loop.body.block.ops
            if not isinstance(each, scf.YieldOp) and each not in band
        )
    new_loop: scf.ForOp | None = None
    for number, body in reversed(list(zip(order, bodies, strict=True))):
        if new_loop is not None:
            body.add_op(new_loop)
        body.add_op(scf.YieldOp())
        bounds, new_loop = counted(trips(band[number]), body)
        new_loop.attributes |= band[number].attributes
        block.insert_ops_before(bounds, outermost)
    assert new_loop is not None
    block.insert_op_before(new_loop, outermost)
    outermost.detach()
    outermost.erase()
