"""What a region computes more than once, in place of keeping it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gnarl.sw.compiler.sam.fuse.views import View, Views
from gnarl.sw.workloads.einsum.program import accesses, reductions
from gnarl.sw.workloads.tensor.expression import Access


def repeated(views: Views, order: Sequence[str]) -> Iterator[str]:
    """A line for each statement that is computed at several views, and for each view with a sum or
    a maximum in it that is computed again in each turn of a loop."""
    places: dict[str, list[Access]] = {}
    for view in views.views:
        places.setdefault(view.statement, []).append(view.result)
    for name, results in places.items():
        if len(results) > 1:
            listed = ", ".join(f"({','.join(each.indices)})" for each in results)
            yield f"{name} is computed at each of {listed}"
    around = _loops_around(views, {index: place for place, index in enumerate(order)})
    reducing: set[Access] = set()
    for view in views.views:
        parts = reductions(view.expression)
        if not (any(True for _ in parts) or reducing.intersection(accesses(view.expression))):
            continue
        reducing.add(view.result)
        if loops := [index for index in order if index in around[view.result]]:
            yield f"{view.result} is computed again in each turn of {', '.join(loops)}"


def _loops_around(views: Views, place: Mapping[str, int]) -> dict[Access, set[str]]:
    """Loops outside of each view's own that it does not depend on: those of what takes it, as far
    as they run outside of its innermost loop."""
    around: dict[Access, set[str]] = {view.result: set() for view in views.views}
    for view in reversed(views.views):
        loops = around[view.result] | _own(view)
        for taken in set(accesses(view.expression)) & around.keys():
            inner = max((place[index] for index in taken.indices), default=-1)
            around[taken] |= {
                index for index in loops if index not in taken.indices and place[index] < inner
            }
    return around


def _own(view: View) -> set[str]:
    """A statement's loops."""
    used = (view.result, *accesses(view.expression))
    return {index for access in used for index in access.indices}
