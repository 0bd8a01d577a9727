"""Loop nests as commands of stream engines. Source: Infinity Stream, sections 3.1 and 5.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.lib.lines.line_size import LINE_WORDS, WORD_BYTES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, UNITS, Opcode
from gnarl.hw.sram_compute.program import Command
from gnarl.sw.compiler.nests.as_words import as_words, words_of
from gnarl.sw.compiler.sram_compute.command_places import (
    CommandPlaces,
    all_for,
    first_store,
    joined_places,
)
from gnarl.sw.compiler.sram_compute.near.copy_schedule import unwritten_lines, with_copies
from gnarl.sw.compiler.sram_compute.near.expressions import require_word
from gnarl.sw.compiler.sram_compute.near.lanes import Room, order_by_lanes
from gnarl.sw.compiler.sram_compute.near.statements import Statements
from gnarl.sw.compiler.sram_compute.near.streams import BankArray
from gnarl.sw.compiler.sram_compute.tdfg.statements import NotTensor
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Assign, AugmentedStore, Load, Nest, Statement, Store
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.place import Location

MOST_LOOPS = 4096
"""``NEAR`` commands of a program."""


@dataclass(frozen=True)
class NearCode:
    """Commands of stream engines.

    arrays
        where they are in banks.
    computing
        commands without those that copy.
    results
        arrays that are written.
    loads
        ranges of lines of arrays that must be there before.
    order
        the nest with the additions in the program's order.
    stores
        the place in the source that each ``NEAR`` of ``computing`` is for; one where there is none.
    """

    arrays: Mapping[str, BankArray]
    computing: Sequence[Command]
    results: Sequence[str]
    loads: Mapping[str, Sequence[range]]
    order: Nest
    stores: Sequence[Location]

    @property
    def units(self) -> int:
        """Units of all commands."""
        return sum(UNITS[each.opcode] for each in self.commands(dict.fromkeys(self.arrays, 0)))

    def commands(self, lines: Mapping[str, int]) -> list[Command]:
        """All: what is needed comes to banks, is computed, what is written goes back. ``lines``:
        the first one of each array in memory."""
        return [each for _, commands in self._parts(lines) for each in commands]

    def places(self, lines: Mapping[str, int]) -> CommandPlaces:
        """Of all ``commands``."""
        parts = self._parts(lines)
        return joined_places(
            all_for(self.stores[number], len(commands)) for number, commands in parts if commands
        )

    def _parts(self, lines: Mapping[str, int]) -> list[tuple[int, list[Command]]]:
        return with_copies(self.computing, self.arrays, self.loads, self.results, lines)


def near_code(
    nest: Nest,
    binding: Binding,
    config: SramConfig,
    *,
    reassociate: bool,
    zeros: frozenset[str],
    most_loops: int = MOST_LOOPS,
) -> NearCode:
    """Commands for the sizes and scalars of ``binding``.

    ``reassociate``: whether lanes may have sums of their own; ``zeros``: arrays that begin as 0,
    in main memory; ``most_loops``: ``NEAR`` commands
    that there may be. Raises ``WorkloadError`` naming the line that stream engines cannot run, and
    ``CapacityError``.
    """
    given, nest, binding = nest, as_words(nest), words_of(binding)
    arrays, room = _placed(nest, binding, config)
    numbers: dict[str, float] = dict(binding.sizes)
    numbers |= {name: value.item() for name, value in binding.scalars.items()}
    statements = Statements(
        arrays, numbers, room if reassociate else None, config.banks, most_loops, zeros
    )
    try:
        for name in arrays:
            require_word(nest.arrays[name].type, nest.arrays[name].place)
        computing, stores = list[Command](), list[Location]()
        for group in _groups(nest):
            commands = statements.commands(group)
            computing += commands
            loops = sum(each.opcode == Opcode.NEAR for each in commands)
            stores += [first_store(group)] * loops
    except NotTensor as refusal:
        raise WorkloadError(str(refusal)) from None
    order = order_by_lanes(given, binding.sizes, room.lanes, statements.by_lanes)
    written = statements.written_first
    loads = {name: unwritten_lines(each, written.get(name)) for name, each in arrays.items()}
    stores = stores or [first_store(nest.body)]
    return NearCode(arrays, computing, nest.results, loads, order, stores)


def _groups(nest: Nest) -> list[tuple[Statement, ...]]:
    """Statements of the body that may share locals."""
    if any(isinstance(each, Assign) for each in nest.body):
        return [nest.body]
    return [(each,) for each in nest.body]


def _placed(nest: Nest, binding: Binding, config: SramConfig) -> tuple[dict[str, BankArray], Room]:
    """Each array of the body begins with the first bank, and so does room for a strip of each bank
    behind them. Raises ``CapacityError``."""
    accesses = (
        each for each in nodes(nest.body) if isinstance(each, Load | Store | AugmentedStore)
    )
    used = {each.array for each in accesses}
    step = config.banks * STRIP // LINE_WORDS
    line, arrays = 0, {}
    for name in nest.arrays:
        if name not in used:
            continue
        arrays[name] = BankArray(binding.arrays[name].shape, line)
        line += -(-arrays[name].lines // step) * step
    room = Room(config.banks, line * LINE_WORDS)
    words = room.word + room.lanes
    if words > config.banks * config.bank_words:
        raise CapacityError(
            f"{nest.name}: banks x arrays x wordlines x bitlines = {config.banks} x "
            f"{config.arrays} x {config.wordlines} x {config.bitlines}: must be at least "
            f"{8 * WORD_BYTES * words}, for {words} words of arrays and sums"
        )
    return arrays, room
