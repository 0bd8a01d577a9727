"""The passes of coupled programs in order, each from module to module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod

from xdsl.dialects.builtin import MemRefType, ModuleOp

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.nests.coupled.blocks import block_loops
from gnarl.sw.compiler.nests.coupled.code import coupled_code
from gnarl.sw.compiler.nests.coupled.interchange import interchange
from gnarl.sw.compiler.nests.coupled.jam import jam
from gnarl.sw.compiler.nests.coupled.keep_results import keep_results
from gnarl.sw.compiler.nests.coupled.merge_loops import merge_loops
from gnarl.sw.compiler.nests.coupled.peel import peel
from gnarl.sw.compiler.nests.coupled.prefetch import join_prefetches, prefetch
from gnarl.sw.compiler.nests.coupled.reuse import reuse
from gnarl.sw.compiler.nests.coupled.step_addresses import step_addresses
from gnarl.sw.compiler.nests.coupled.vectorize_around import vectorize_around
from gnarl.sw.compiler.nests.execute.linearize import linearize
from gnarl.sw.compiler.nests.execute.simplify import simplify
from gnarl.sw.compiler.nests.execute.unroll import SHARES, unroll_counted, unroll_open
from gnarl.sw.compiler.nests.functions import ModulePass, arrays_of, function_of
from gnarl.sw.compiler.nests.guard import guard
from gnarl.sw.compiler.nests.hoist import hoist
from gnarl.sw.compiler.nests.unit import Unit
from gnarl.sw.compiler.nests.variables import to_variables
from gnarl.sw.compiler.nests.vectorize_loops import vectorize_loops

STEPS = {
    "hoist": ("interchange", "hoist", "merge_loops"),
    "vectorize": (
        "keep_locals",
        "peel",
        "guard",
        "vectorize_around",
        "vectorize_loops",
        "jam",
        "block_loops",
    ),
    "keep_sums": ("keep_results", "unroll_counted", "keep_results"),
    "lower": (
        "prefetch",
        "unroll_open",
        "linearize",
        "reuse",
        "join_prefetches",
        "step_addresses",
    ),
}
"""What is dumped, by the names that decoupled programs' passes have, and the passes of each."""


def coupled_passes(
    config: Unit,
    zeros: Collection[str],
    room: Mapping[str, int],
    share: int,
    reassociate: bool = True,
) -> dict[str, ModulePass]:
    """Passes by name, in order.

    ``zeros``: arrays that are 0 before the run; ``room``: words of memory behind the end of each
    array; ``share``: of ``SHARES``; ``reassociate``: whether lanes may have sums of their own.
    """
    budget = config.program_words // share if share else 0
    return {
        "interchange": interchange,
        "hoist": hoist,
        "merge_loops": lambda module: merge_loops(module, config),
        "keep_locals": to_variables,
        "peel": peel,
        "guard": guard,
        "vectorize_around": lambda module: vectorize_around(module, config.lanes),
        "vectorize_loops": lambda module: vectorize_loops(module, config.lanes, reassociate),
        "jam": jam if share else lambda module: module,
        "block_loops": lambda module: block_loops(module, budget),
        "unroll_counted": lambda module: unroll_counted(module, budget),
        "keep_results": lambda module: keep_results(module, zeros),
        "prefetch": lambda module: prefetch(module, config, room),
        "unroll_open": lambda module: unroll_open(module, budget),
        "linearize": lambda module: simplify(linearize(module)),
        "reuse": lambda module: simplify(reuse(module)),
        "join_prefetches": join_prefetches,
        "step_addresses": step_addresses,
    }


def couple(
    module: ModuleOp,
    config: Unit,
    zeros: Collection[str],
    bases: Mapping[str, int],
    done: str = "",
    shares: Sequence[int] = SHARES,
    reassociate: bool = True,
    timed: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> tuple[dict[str, ModuleOp], int, list[Instruction]]:
    """What each of ``STEPS`` after ``done`` makes of a module, with which of ``shares``, and the
    program.

    ``done``: the last step that the module went through; none for SCF. ``bases``: the first word of
    each array; ``timed``: around each run of a step. Raises ``CapacityError`` where registers or
    the program's memory do not suffice however little is unrolled, ``WorkloadError`` for operations
    that the unit lacks.
    """
    room = _room(module, config, bases)
    left = list(STEPS)[list(STEPS).index(done) + 1 if done else 0 :]
    for share in shares:
        passes = coupled_passes(config, zeros, room, share, reassociate)
        by_step, current = {}, module
        for step in left:
            with timed(step):
                for name in STEPS[step]:
                    current = passes[name](current)
            by_step[step] = current
        try:
            return by_step, share, coupled_code(current, config, bases)
        except CapacityError:
            if share == shares[-1]:
                raise
    raise AssertionError(shares)


def _room(module: ModuleOp, config: Unit, bases: Mapping[str, int]) -> dict[str, int]:
    room = {}
    for array, name in arrays_of(function_of(module)).items():
        assert isinstance(array.type, MemRefType)
        room[name] = config.memory_words - bases[name] - prod(array.type.get_shape())
    return room
