"""Brings into the cache what iterations to come will load."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Block, Operation, SSAValue

from gnarl.hw.lib.lines.line_size import LINE_WORDS, WORD_BYTES
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.coupled.loads import (
    counted_around,
    indices_of,
    insert,
    outermost,
    with_values,
    words_ahead,
)
from gnarl.sw.compiler.nests.dialects.flat import FetchOp, PrefetchOp
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.execute.unroll import MOST_ITERATIONS, cost
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.nests.operations import LOADS, array_of, written_arrays
from gnarl.sw.compiler.nests.unit import Unit
from gnarl.sw.compiler.nests.values import (
    constant_of,
    depth_of,
    integer,
    iterations_of,
    right_inside,
)

ON_THE_WAY = 20
"""Cycles that a line takes beside those of main memory, with others before it."""

UNKNOWN_ITERATIONS = 8
"""Taken for those of loops whose bounds are not constants."""

MOST_AHEAD = 32


def prefetch(module: ModuleOp, config: Unit, room: Mapping[str, int]) -> ModuleOp:
    """Fetches lines ahead: before a load whose place follows from a loop's induction variable, or
    from a word that was loaded by it, the line of as many iterations later as memory's latency
    takes.

    ``room``: words of memory behind the end of each array. Words that tell places are read ahead
    of the loop's end, which must stay inside memory; what they then are does not matter, since
    fetching has no effect outside memory. O(loads x depth).
    """
    module = copied(module)
    arrays = arrays_of(function_of(module))
    rooms: dict[SSAValue, int] = {array: room[name] for array, name in arrays.items()}
    _Prefetching(module, config, rooms, written_arrays(module)).run()
    return module


class _Prefetching:
    def __init__(
        self,
        module: ModuleOp,
        config: Unit,
        rooms: Mapping[SSAValue, int],
        written: set[SSAValue],
    ) -> None:
        self._module = module
        self._config = config
        self._rooms = rooms
        self._written = written
        self._later: dict[tuple[SSAValue, scf.ForOp], SSAValue] = {}
        self._tells: set[Operation] = set()
        self._distances: dict[scf.ForOp, int] = {}

    def run(self) -> None:
        loads = [each for each in self._module.walk() if isinstance(each, LOADS)]
        for load in loads:
            if (told := self._told(load)) is not None:
                self._fetch_told(load, *told)
        for load in loads:
            loop = self._counted(load)
            if loop is None or self._told(load) is not None:
                continue
            around = None if load in self._tells else counted_around(load, loop)
            if around is not None:
                self._fetch_once(load, loop, around)
            else:
                self._fetch_counted(load, loop)

    def _told(self, load: Operation) -> tuple[memref.LoadOp, scf.ForOp] | None:
        """The load of a word that tells the place, and the innermost loop that both change in."""
        told: tuple[memref.LoadOp, scf.ForOp] | None = None
        for index in indices_of(load):
            for value in affine_of(index).terms:
                owner = value.owner
                if not isinstance(owner, memref.LoadOp) or owner.memref in self._written:
                    continue
                loop = self._counted(owner)
                if loop is not None and (told is None or depth_of(loop) > depth_of(told[1])):
                    told = owner, loop
        return told if told is not None and self._most(told[1]) > 0 else None

    def _most(self, loop: scf.ForOp) -> int:
        """Iterations that load what half of the cache holds."""
        words = _words(loop.body.block, self._config.lanes)
        return self._config.l1_bytes // WORD_BYTES // 2 // max(1, words)

    def _counted(self, load: Operation) -> scf.ForOp | None:
        """The innermost loop whose induction variable is in the load's place, and that has more
        iterations than are fetched ahead, if there is one."""
        loops = []
        for index in indices_of(load):
            for value, factor in affine_of(index).terms.items():
                loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
                if isinstance(loop, scf.ForOp) and factor > 0:
                    loops.append(loop)
        loops.sort(key=depth_of, reverse=True)
        return next(filter(self._is_long, loops), loops[0] if loops else None)

    def _is_long(self, loop: scf.ForOp) -> bool:
        """Whether it has iterations so far ahead."""
        count = _iterations(loop, MOST_AHEAD + 1)
        return count > MOST_AHEAD or count > self._distance(loop)

    def _fetch_told(self, load: Operation, tells: memref.LoadOp, loop: scf.ForOp) -> None:
        distance = self._distance(loop)
        later = self._later.get((tells.res, loop))
        if later is None:
            ahead = words_ahead(tells, loop, distance)
            if ahead > self._rooms[tells.memref]:
                return
            values = self._moved(tells, loop, distance, tells)
            later_load = memref.LoadOp.get(tells.memref, values)
            insert(later_load, tells)
            later = self._later[tells.res, loop] = later_load.res
            self._tells.add(tells)
        indices = [with_values(index, {tells.res: later}, load) for index in indices_of(load)]
        insert(FetchOp(array_of(load), indices), load)

    def _fetch_counted(self, load: Operation, loop: scf.ForOp) -> None:
        distance = self._distance(loop)
        if load in self._tells:  # what is read ahead, too
            distance = 2 * distance + LINE_WORDS
        place = outermost(load, loop)
        insert(FetchOp(array_of(load), self._moved(load, loop, distance, place)), place)

    def _fetch_once(self, load: Operation, loop: scf.ForOp, around: scf.ForOp) -> None:
        """What all iterations of a loop load, in each one of that around."""
        place = right_inside(loop, around)
        first: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: loop.lb}
        indices = self._moved(load, around, self._distance(around), place, first)
        insert(FetchOp(array_of(load), indices), place)

    @staticmethod
    def _moved(
        load: Operation,
        loop: scf.ForOp,
        distance: int,
        before: Operation,
        others: Mapping[SSAValue, SSAValue] = {},
    ) -> list[SSAValue]:
        """The load's indices so many iterations later, with ``others`` in the place of values."""
        step = constant_of(loop.step)
        assert step is not None
        induction = loop.body.block.args[0]
        off = integer(distance * step)
        later = arith.AddiOp(induction, off.result)
        insert(off, before)
        insert(later, before)
        values = {**others, induction: later.result}
        return [with_values(index, values, before) for index in indices_of(load)]

    def _distance(self, loop: scf.ForOp) -> int:
        """Iterations."""
        if loop not in self._distances:
            cycles = max(1, _cycles(loop.body.block))
            wanted = -(-(self._config.latency + ON_THE_WAY) // cycles)
            if 2 * wanted > MOST_ITERATIONS:  # so that an iteration has what the next one needs
                wanted = max(1, wanted // MOST_ITERATIONS) * MOST_ITERATIONS
            self._distances[loop] = max(1, min(wanted, self._most(loop), MOST_AHEAD))
        return self._distances[loop]


def _cycles(block: Block) -> int:
    """Estimates the cycles of an iteration where nothing waits for memory."""
    found = 0
    for operation in block.ops:
        for region in operation.regions:
            for inner in region.blocks:
                found += _iterations(operation) * _cycles(inner)
    return found + cost(each for each in block.ops if not each.regions)


def _words(block: Block, lanes: int) -> int:
    """How many words an iteration loads."""
    found = 0
    for operation in block.ops:
        for region in operation.regions:
            for inner in region.blocks:
                found += _iterations(operation) * _words(inner, lanes)
        if isinstance(operation, LOADS):
            found += lanes if isinstance(operation.results[0].type, VectorType) else 1
    return found


def _iterations(operation: Operation, unknown: int = UNKNOWN_ITERATIONS) -> int:
    if not isinstance(operation, scf.ForOp):
        return 1
    found = iterations_of(operation)
    return unknown if found is None else len(found)


def join_prefetches(module: ModuleOp) -> ModuleOp:
    """Keeps, of a block's fetches from one address on, those that each name another line; an
    address that is not known to begin a line is taken as if it did. O(operations)."""
    module = copied(module)
    for block in [
        block for each in module.walk() for region in each.regions for block in region.blocks
    ]:
        groups: dict[tuple[object, ...], list[PrefetchOp]] = {}
        for operation in block.ops:
            if isinstance(operation, PrefetchOp):
                key = operation.array.data, operation.address
                groups.setdefault(key, []).append(operation)
        for (_, address), group in groups.items():
            begins = address is None or _begins_line(address)
            lines: set[int] = set()
            last: int | None = None
            for each in sorted(group, key=lambda one: one.place[1]):
                offset = each.place[1]
                if begins and offset // LINE_WORDS not in lines:
                    lines.add(offset // LINE_WORDS)
                elif not begins and (last is None or offset - last >= LINE_WORDS):
                    last = offset
                else:
                    each.detach()
                    each.erase()
    return module


def _begins_line(address: object) -> bool:
    assert isinstance(address, SSAValue)
    return all(factor % LINE_WORDS == 0 for factor in affine_of(address).terms.values())
