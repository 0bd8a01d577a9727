"""How many iterations of the loops around a sum are best done at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.sw.compiler.nests.coupled.keep_results import MOST_VECTORS
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.execute.unroll import cost
from gnarl.sw.compiler.nests.operations import LOADS, STORES, array_of, written_arrays
from gnarl.sw.compiler.nests.values import trips

_MOST_SCALARS = 8
"""Sums of scalars that are kept; other registers are for addresses and what is loaded."""

_ADDITION = FLOAT_STAGES + 2
"""Cycles from an addition of scalars to one that needs its result: see ``execute.latency``."""

LONG = 16
"""Instructions of an iteration that has enough to do while it waits."""

Counts = Mapping[scf.ForOp, int]
"""Iterations of loops that are done at a time; 1 of others."""


@dataclass(frozen=True)
class Work:
    """The work of an iteration of a loop that adds up.

    instructions
        for each of those sets of loops around it that what they compute depends on.
    sums
        how many are kept in registers.
    is_wide
        whether they are vectors.
    """

    instructions: Mapping[frozenset[scf.ForOp], int]
    sums: int
    is_wide: bool

    def of(self, counts: Counts) -> int:
        """Instructions where so many iterations of loops around are done at a time."""
        return sum(
            number * prod(counts.get(loop, 1) for loop in loops)
            for loops, number in self.instructions.items()
        )


def work_of(adding: scf.ForOp, around: Sequence[scf.ForOp]) -> Work:
    """The work of an innermost loop, by the loops ``around`` it, the outermost first.
    O(operations)."""
    depends: dict[SSAValue, frozenset[scf.ForOp]] = {
        loop.body.block.args[0]: frozenset({loop}) for loop in around
    }
    instructions: dict[frozenset[scf.ForOp], int] = {}
    written, sums, is_wide = written_arrays(adding), 0, False
    for operation in around[0].walk():
        loops = frozenset[scf.ForOp]().union(
            *(depends.get(each, frozenset[scf.ForOp]()) for each in operation.operands)
        )
        if isinstance(operation, GetOp):
            loops = frozenset(around)
        depends |= dict.fromkeys(operation.results, loops)
        if operation.parent_block() is not adding.body.block:
            continue
        if isinstance(operation, (*STORES, SetOp)):
            sums += 1
            is_wide |= any(isinstance(each.type, VectorType) for each in operation.operands)
        elif not isinstance(operation, LOADS) or array_of(operation) not in written:
            instructions[loops] = instructions.get(loops, 0) + _instructions(operation)
    return Work(instructions, sums, is_wide)


def _instructions(operation: Operation) -> int:
    """A product of vectors becomes one with the sum that needs it."""
    users = [use.operation for result in operation.results for use in result.uses]
    is_fused = len(users) == 1 and isinstance(users[0], arith.AddfOp)
    if isinstance(operation, arith.MulfOp) and isinstance(operation.result.type, VectorType):
        return int(not is_fused)
    return cost([operation])


def best_counts(work: Work, around: Sequence[scf.ForOp], budget: int) -> Counts:
    """How many iterations of up to two of the loops ``around`` to do at a time, for the fewest
    cycles; of one over vectors a line, if possible, so that none is loaded twice.

    ``budget``: instructions that may become of an iteration. O(loops^2)."""
    tried: list[dict[scf.ForOp, int]] = [{}]
    for number in (1, 2):
        for loops in combinations(around, number):
            tried += [dict(zip(loops, each, strict=True)) for each in _counts(work, loops)]
    fitting = [each for each in tried if not each or _made(work, each) <= budget]
    return min(fitting, key=lambda each: (_splits_lines(around, each), _cycles(work, each)))


def _counts(work: Work, loops: Sequence[scf.ForOp]) -> Iterator[tuple[int, ...]]:
    most = (MOST_VECTORS if work.is_wide else _MOST_SCALARS) // work.sums
    for each in product(*(range(2, min(most, len(trips(loop))) + 1) for loop in loops)):
        if prod(each) <= most:
            yield each


def _made(work: Work, counts: Counts) -> int:
    """Operations before sums are kept: each is loaded and stored, too."""
    return work.of(counts) + 2 * work.sums * prod(counts.values())


def _splits_lines(around: Sequence[scf.ForOp], counts: Counts) -> bool:
    """Whether a loop over vectors needs several iterations of the block for a line."""
    for loop in around:
        span, step = trips(loop), trips(loop).step
        if step > 1 and counts.get(loop, 1) * step < LINE_WORDS and counts.get(loop, 1) < len(span):
            return True
    return False


def _cycles(work: Work, counts: Counts) -> Fraction:
    """Cycles of the loop that adds up, for an iteration of it and of all loops around."""
    cycles = 0
    parts = [
        [(len(trips(loop)) // count, count), (1, len(trips(loop)) % count)]
        for loop, count in counts.items()
    ]
    for each in product(*parts):
        times = prod(time for time, _ in each)
        sizes = {loop: size for loop, (_, size) in zip(counts, each, strict=True)}
        if all(sizes.values()):
            cycles += times * max(work.of(sizes), _ADDITION)
    return Fraction(cycles, prod(len(trips(loop)) for loop in counts))
