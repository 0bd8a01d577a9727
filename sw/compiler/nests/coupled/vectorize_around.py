"""Loops around loops in steps of a vector."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import SetOp
from gnarl.sw.compiler.nests.lane_kinds import Kind, lane_kinds
from gnarl.sw.compiler.nests.values import is_innermost, is_inside
from gnarl.sw.compiler.nests.variables import are_private
from gnarl.sw.compiler.nests.vectorize_loops import bounds_of, has_vectors, replace_by_vectors


def vectorize_around(module: ModuleOp, lanes: int) -> ModuleOp:
    """A loop with constant bounds around loops that vectors cannot step over, as those of an inner
    product, steps over ``lanes`` iterations itself, where these load and store neighbours: each
    lane goes through the inner loops in the source's order, with variables of its own. The rest of
    an iteration count is a vector with a mask, behind the loop. O(operations x depth)."""
    module = copied(module)
    loops = [each for each in module.walk() if isinstance(each, scf.ForOp)]
    for loop in reversed(loops):
        inner = [each for each in loops if each is not loop and is_inside(each, loop)]
        if not inner or not _is_candidate(loop):
            continue
        apart = _own_variables(loop)
        if apart is None or any(_steps(each, lane_kinds(each, ())) for each in inner):
            continue
        kinds = lane_kinds(loop, apart)
        if kinds is not None and Kind.CHAINED not in kinds.values():
            replace_by_vectors(loop, kinds, lanes, {}, apart)
    return module


def _own_variables(loop: scf.ForOp) -> set[str] | None:
    """Variables of numbers that a loop sets, if each of its iterations can have its own."""
    sets = [each for each in loop.body.walk() if isinstance(each, SetOp)]
    if any(each.value.type not in (f32, i32) for each in sets) or not are_private(loop):
        return None
    return {each.variable.data for each in sets}


def _is_candidate(loop: scf.ForOp) -> bool:
    """Whether a loop is known to have several iterations, and no vectors."""
    bounds = bounds_of(loop)
    return bounds is not None and bounds[1] - bounds[0] >= 2 and not has_vectors(loop)


def _steps(loop: scf.ForOp, kinds: Mapping[SSAValue, Kind] | None) -> bool:
    """Whether vectors can step over a loop that has none inside, and none waits for another."""
    return is_innermost(loop) and kinds is not None and Kind.CHAINED not in kinds.values()
