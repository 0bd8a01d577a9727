"""Loops of ``NEAR`` that are sure to take too long, which need not be done to know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, WORD_BITS, When
from gnarl.sw.runtime.sram_compute.model.engines import Fields

_FIRST_OR_LAST_X = 1 << When.FIRST_X | 1 << When.LAST_X
_FIRST_OR_LAST_Y = 1 << When.FIRST_Y | 1 << When.LAST_Y


@dataclass(frozen=True)
class _Iterations:
    """How often operations of a loop are done: ``of_x`` times in a row of groups, ``of_y`` times
    in the rows of a plane."""

    body: list[Fields]
    of_x: list[int]
    of_y: list[int]

    @property
    def of_plane(self) -> int:
        return sum(x * y for x, y in zip(self.of_x, self.of_y, strict=True))

    @property
    def of_group(self) -> int:
        """In each group of a plane, of operations that no group leaves out."""
        return sum(y for y, each in zip(self.of_y, self.body, strict=True) if _is_any_x(each))

    @property
    def of_row(self) -> int:
        """In each row of a group, of operations that neither group nor row leaves out."""
        return sum(_is_any_x(each) and not each["when"] & _FIRST_OR_LAST_Y for each in self.body)

    def accesses(self) -> Iterator[Fields]:
        """Operations that are done, and access memory."""
        for each, x, y in zip(self.body, self.of_x, self.of_y, strict=True):
            if x * y and (each["reads"] or each["operation"] == ExecuteOpcode.STORE):
                yield each


def is_beyond(
    config: SramConfig,
    near: Fields,
    operations: Mapping[int, Fields],
    streams: Mapping[int, Fields],
    cycles: int,
) -> bool:
    """Whether a loop takes more than so many cycles, and no access is an error before; false where
    only doing it tells. O(operations)."""
    strips = max(0, cycles) // STRIP + 1  # An operation on a strip takes a cycle for each element.
    body = [operations[slot] for slot in range(near["last"] + 1)]
    _, height, depth = near["counts"]
    groups, planes = groups_of(config, near), max(0, depth - near["first_z"])
    iterations = _Iterations(
        body,
        [_counted(each["when"], When.FIRST_X, When.LAST_X, groups) for each in body],
        [_counted(each["when"], When.FIRST_Y, When.LAST_Y, height) for each in body],
    )
    offered = 2 * groups * height * planes * len(body)
    if iterations.of_plane * planes <= strips and offered <= cycles:
        return False
    x, y, z = _last_iterations(near, iterations, groups, strips)
    ends = (_end_of_x(config, near, x), y + 1, z + 1)
    return all(
        each["stream"] in streams and _is_inside(config, near, streams[each["stream"]], ends)
        for each in iterations.accesses()
    )


def _last_iterations(
    near: Fields, iterations: _Iterations, groups: int, strips: int
) -> tuple[int, int, int]:
    """What comes before so many strips: of the loops over x, y and z the last iterations, at
    most."""
    _, height, depth = near["counts"]
    x, y, z = groups - 1, height - 1, depth - 1
    of_plane, of_group, of_row = iterations.of_plane, iterations.of_group, iterations.of_row
    if strips < of_plane * max(0, depth - near["first_z"]):
        z = near["first_z"] + strips // of_plane
    if strips < of_plane and of_group:
        x = min(x, strips // of_group)
        if strips < of_group and of_row:
            y = min(y, strips // of_row)
    return x, y, z


def groups_of(config: SramConfig, near: Fields) -> int:
    """Groups of strips along x."""
    return int(near["span"] or -(-near["counts"][0] // (STRIP * config.banks)))


def _is_any_x(operation: Fields) -> bool:
    return not operation["when"] & _FIRST_OR_LAST_X


def _counted(when: int, first: When, last: When, count: int) -> int:
    """Iterations of ``count`` in which an operation runs."""
    is_first, is_last = when >> first & 1, when >> last & 1
    if is_first and is_last:
        return int(count == 1)
    return min(count, 1) if is_first or is_last else count


def _end_of_x(config: SramConfig, near: Fields, group: int) -> int:
    end = int(near["counts"][0])
    return end if near["span"] else min(end, (group + 1) * config.banks * STRIP)


def _is_inside(config: SramConfig, near: Fields, stream: Fields, ends: tuple[int, ...]) -> bool:
    """Whether all elements below the ``ends`` of x, y and z are; those of which an index decides
    are not known to be."""
    firsts = [near["first"], 0, near["first_z"]]
    lasts = [end - 1 for end in ends]
    size = config.banks * config.bank_words
    if stream["is_transposed"]:
        firsts[0], lasts[0] = firsts[0] // STRIP * STRIP, lasts[0] | STRIP - 1
        size = config.tiles * config.bitlines
        if stream["row"] + STRIP > config.wordlines:
            return False
    low = high = _signed(stream["base"])
    for first, last, stride in zip(firsts, lasts, map(_signed, stream["strides"]), strict=True):
        low += min(first * stride, last * stride)
        high += max(first * stride, last * stride)
    wrapped = low % (1 << WORD_BITS)
    return not stream["is_indirect"] and wrapped + high - low < size


def _signed(word: int) -> int:
    return word - (word >> WORD_BITS - 1 << WORD_BITS)
