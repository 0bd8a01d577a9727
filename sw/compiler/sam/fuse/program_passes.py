"""Passes from program to program: what fusion does to statements, without graphs of them."""

from __future__ import annotations

from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.global_iteration import globally
from gnarl.sw.compiler.sam.fuse.partial_order import first_order, partial_order
from gnarl.sw.compiler.sam.fuse.regions import free_formats, walked_formats
from gnarl.sw.compiler.sam.fuse.views import Views, views_of
from gnarl.sw.workloads.einsum.program import Einsum, EinsumProgram


def in_one_space(program: EinsumProgram) -> EinsumProgram:
    """The program, bit for bit the same, as one region: an index means the same in all of its
    statements. What no result needs goes. Raises ``WorkloadError`` as ``views_of`` does."""
    return _of_views(program, _views(program))


def iterated_globally(program: EinsumProgram) -> EinsumProgram:
    """The program in one space, with sums outside of the products that they are factors of, which
    rounds otherwise. Raises ``WorkloadError`` as ``views_of`` does."""
    return _of_views(program, globally(_views(program)))


def ordered(program: EinsumProgram) -> EinsumProgram:
    """The program in one space, with an order of loops for all statements, in which tensors are
    stored, dense inputs made to fit; sums over several indices may round otherwise.

    Raises ``WorkloadError`` as ``views_of`` and ``partial_order`` do.
    """
    views = _views(program)
    walked = walked_formats(program, views, program.formats)
    order = first_order(partial_order(views, walked))
    found = _of_views(program, views)
    statements = (
        replace(each, order=tuple(index for index in order if index in each.indices))
        for each in found.einsums
    )
    formats = {**found.formats, **free_formats(views, walked, order)}
    return replace(found, statements=tuple(statements), formats=formats)


def _views(program: EinsumProgram) -> Views:
    for each in program.rearrangements:
        raise WorkloadError(
            f"{each.place or program.name}: {each.name} is a {each.how.kind}, which shares no "
            "loops with others: must be computed"
        )
    return views_of(program, [each.name for each in program.einsums], program.results)


def _of_views(program: EinsumProgram, views: Views) -> EinsumProgram:
    """The program whose statements are views of another's."""
    own = {each.name: each for each in program.einsums}
    statements: list[Einsum] = []
    shapes = dict(program.shapes)
    for view in views.views:
        found = replace(own[view.statement], result=view.result, expression=view.expression)
        order = view.order if {*view.order} == {*found.indices} else ()
        statements.append(replace(found, order=order))
        if view.statement in shapes:
            shapes[view.result.tensor] = shapes[view.statement]
    made = replace(program, statements=tuple(statements))
    there = {*made.inputs, *(each.name for each in statements)}
    return replace(
        made,
        formats={name: each for name, each in program.formats.items() if name in there},
        shapes={name: each for name, each in shapes.items() if name in there},
    )
