"""Schedules copies of lines between memory and banks, beside what stream engines compute.

Copies go on while engines compute (docs/sram_compute.md, "Stream engines"), and what a program does
is as if its commands were done one after the other. So lines are right where each is loaded before
all commands that access it, and stored behind all that write it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.isa import WORD_BITS, Opcode
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.compiler.sram_compute.near.streams import BankArray

_LEAST_LINES = 16
"""Lines of a copy, where there are as many."""

_MOST_PARTS = 512
"""Parts of all ``NEAR`` commands."""


@dataclass(frozen=True)
class _Part:
    """Commands up to a ``NEAR``, the last one.

    reach
        of each array that it accesses, the line behind the last one, from the array's first on.
    lowest
        of each array that it writes, the first line.
    number
        which ``NEAR`` of all it is one of.
    """

    commands: Sequence[Command]
    reach: Mapping[str, int]
    lowest: Mapping[str, int]
    number: int


def with_copies(
    computing: Sequence[Command],
    arrays: Mapping[str, BankArray],
    loads: Mapping[str, Sequence[range]],
    results: Sequence[str],
    lines: Mapping[str, int],
) -> list[tuple[int, list[Command]]]:
    """Commands of stream engines and, between them, copies: of ``loads`` to banks, as far as the
    next ``NEAR`` and the one behind it need them; of ``results`` to memory, as soon as they are
    there. A ``NEAR`` is done in parts, so that what it writes is stored while it goes on. Each
    list of commands has the number of the ``NEAR`` of ``computing`` that it is for.

    ``lines``: the first one of each array in memory. O(commands + parts x arrays).
    """
    parts = [*_parts(computing, arrays, frozenset(results))]
    left = _lowest_behind(parts, arrays)
    copies = _Copies(arrays, loads, lines)
    found = []
    for number, part in enumerate(parts):
        commands: list[Command] = []
        for name, reach in sorted(part.reach.items(), key=lambda each: each[1]):
            commands += copies.load(name, reach)
        for name, reach in parts[number + 1].reach.items() if number + 1 < len(parts) else ():
            commands += copies.load(name, reach, least=_LEAST_LINES)
        if number:
            for name in results:
                commands += copies.store(name, left[number - 1].get(name), least=_LEAST_LINES)
        found.append((part.number, [*commands, *part.commands]))
    rest = [each for name in results for each in copies.store(name, arrays[name].lines)]
    return [*found, (parts[-1].number if parts else 0, rest)]


def unwritten_lines(placed: BankArray, box: Sequence[range] | None) -> list[range]:
    """Lines of an array that have words besides a box of its elements, or besides the gaps between
    its rows; a line alone between two of these counts, too."""
    if box is None:
        return [range(placed.lines)]
    words = np.zeros((*placed.shape[:-1], placed.pitch), np.bool_)
    words[tuple(slice(each.start, each.stop) for each in box)] = True
    words[..., placed.shape[-1] :] = True
    is_unwritten: np.ndarray = np.any(~words.reshape(placed.lines, LINE_WORDS), axis=1)
    is_unwritten[1:-1] |= is_unwritten[:-2] & is_unwritten[2:]
    ends = np.flatnonzero(np.diff(is_unwritten, prepend=False, append=False)).tolist()
    return [range(first, end) for first, end in zip(ends[::2], ends[1::2], strict=True)]


class _Copies:
    """Copies of arrays, which go from their first line on."""

    def __init__(
        self,
        arrays: Mapping[str, BankArray],
        loads: Mapping[str, Sequence[range]],
        lines: Mapping[str, int],
    ) -> None:
        self._arrays = arrays
        self._loads = loads
        self._lines = lines
        self._loaded = dict.fromkeys(arrays, 0)
        self._stored = dict.fromkeys(arrays, 0)

    def load(self, name: str, until: int, least: int = 0) -> list[Command]:
        """Loads the lines up to ``until`` that are not there yet; at least so many lines, if
        any."""
        first = self._loaded[name]
        if until <= first:
            return []
        end = min(max(until, first + least), self._arrays[name].lines)
        self._loaded[name] = end
        parts = (range(max(first, part.start), min(end, part.stop)) for part in self._loads[name])
        return [self._copy(name, part.start, part.stop, is_store=False) for part in parts if part]

    def store(self, name: str, until: int | None, least: int = 1) -> list[Command]:
        """Lines up to ``until``, if there are so many; ``None``: that are all."""
        until = self._arrays[name].lines if until is None else until
        first = self._stored[name]
        if until - first < least:
            return []
        self._stored[name] = until
        loads = self.load(name, until)
        return [*loads, self._copy(name, first, until, is_store=True)]

    def _copy(self, name: str, first: int, end: int, *, is_store: bool) -> Command:
        return command(
            Opcode.COPY,
            is_store=int(is_store),
            line=self._lines[name] + first,
            words=self._arrays[name].line + first,
            lines=end - first,
        )


def _parts(
    computing: Sequence[Command], arrays: Mapping[str, BankArray], results: frozenset[str]
) -> Iterator[_Part]:
    """Each ``NEAR``, or several z of it, which write ``_LEAST_LINES`` of results or more."""
    most = _MOST_PARTS // max(1, sum(each.opcode == Opcode.NEAR for each in computing))
    streams: dict[int, Command] = {}
    operations: dict[int, Command] = {}
    before: list[Command] = []
    number = 0
    for each in computing:
        if each.opcode == Opcode.STREAM:
            streams[each.fields["stream"]] = each
        elif each.opcode == Opcode.OPERATION:
            operations[each.fields["slot"]] = each
        if each.opcode != Opcode.NEAR:
            before.append(each)
            continue
        width, height, depth = each.fields["counts"]
        used = [operations[slot].fields for slot in range(each.fields["last"] + 1)]
        reach, lowest = _accessed(each, used, streams, arrays)
        written = sum(reach[name] - line for name, line in lowest.items() if name in results)
        size = -(-depth // max(1, min(most, written // _LEAST_LINES)))
        for first_z in range(0, depth, size):
            end_z = min(first_z + size, depth)
            counts = (width, height, end_z)
            near = replace(each, fields={**each.fields, "counts": counts, "first_z": first_z})
            reach, lowest = _accessed(near, used, streams, arrays)
            yield _Part([*before, near], reach, lowest, number)
            before = []
        number += 1


def _accessed(
    near: Command,
    operations: Sequence[Mapping[str, int]],
    streams: Mapping[int, Command],
    arrays: Mapping[str, BankArray],
) -> tuple[dict[str, int], dict[str, int]]:
    """``reach`` and ``lowest`` of a part."""
    reach: dict[str, int] = {}
    lowest: dict[str, int] = {}
    for operation in operations:
        stores = operation["operation"] == ExecuteOpcode.STORE
        if not stores and not operation["reads"]:
            continue
        first, last = _lines(near, streams[operation["stream"]])
        for name, placed in arrays.items():
            if last < placed.line or first >= placed.line + placed.lines:
                continue
            reach[name] = max(reach.get(name, 0), min(last - placed.line + 1, placed.lines))
            if stores:
                low = max(0, first - placed.line)
                lowest[name] = min(lowest.get(name, low), low)
    return reach, lowest


def _lines(near: Command, stream: Command) -> tuple[int, int]:
    """The first and the last line of words that a stream may access."""
    fields, (width, height, depth) = stream.fields, near.fields["counts"]
    firsts = (near.fields["first"], 0, near.fields["first_z"])
    low = high = fields["base"]
    for stride, first, count in zip(fields["strides"], firsts, (width, height, depth), strict=True):
        signed = stride - (1 << WORD_BITS) if stride >> (WORD_BITS - 1) else stride
        ends = (signed * first, signed * (count - 1))
        low, high = low + min(ends), high + max(ends)
    if fields["is_indirect"]:
        high += fields["scale"] * (fields["length"] - 1)
    turn = low % (1 << WORD_BITS) - low
    return (low + turn) // LINE_WORDS, (high + turn) // LINE_WORDS


def _lowest_behind(parts: Sequence[_Part], arrays: Mapping[str, BankArray]) -> list[dict[str, int]]:
    """For each part, the first lines of arrays that parts behind it write."""
    behind: list[dict[str, int]] = []
    lowest: dict[str, int] = {}
    for part in reversed(parts):
        behind.append(dict(lowest))
        for name, line in part.lowest.items():
            lowest[name] = min(line, lowest.get(name, arrays[name].lines))
    return behind[::-1]
