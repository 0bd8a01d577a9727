"""Loops of ``NEAR`` that are sure to take too long, which need not be done to know it."""

from __future__ import annotations

from collections.abc import Mapping

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, WORD_BITS, When
from gnarl.sw.runtime.sram_compute.model.engines import Fields

_FIRST_OR_LAST_X = 1 << When.FIRST_X | 1 << When.LAST_X
_FIRST_OR_LAST_Y = 1 << When.FIRST_Y | 1 << When.LAST_Y


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
    of_x = [_counted(each["when"], When.FIRST_X, When.LAST_X, groups) for each in body]
    of_y = [_counted(each["when"], When.FIRST_Y, When.LAST_Y, height) for each in body]
    of_z = sum(x * y for x, y in zip(of_x, of_y, strict=True))
    offered = 2 * groups * height * planes * len(body)
    if of_z * planes <= strips and offered <= cycles:
        return False
    # What comes before so many strips: of the loops the last iterations, at most.
    of_group = sum(y for y, each in zip(of_y, body, strict=True) if _is_any_x(each))
    of_row = sum(_is_any_x(each) and not each["when"] & _FIRST_OR_LAST_Y for each in body)
    z, x, y = depth - 1, groups - 1, height - 1
    if strips < of_z * planes:
        z = near["first_z"] + strips // of_z
    if strips < of_z and of_group:
        x = min(x, strips // of_group)
        if strips < of_group and of_row:
            y = min(y, strips // of_row)
    ends = (_end_of_x(config, near, x), y + 1, z + 1)
    accessing = [
        each
        for each, x, y in zip(body, of_x, of_y, strict=True)
        if x * y and (each["reads"] or each["operation"] == ExecuteOpcode.STORE)
    ]
    return all(
        each["stream"] in streams and _is_inside(config, near, streams[each["stream"]], ends)
        for each in accessing
    )


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
