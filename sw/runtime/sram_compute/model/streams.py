"""Stream engines: what they do to the words of banks, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, WORD_BITS, Second, When
from gnarl.hw.sram_compute.memory_map import ErrorCause
from gnarl.hw.sram_compute.streams.stream_engine import DIVIDE_CYCLES
from gnarl.hw.sram_compute.streams.word_network import word_cycles
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError, require_cycles
from gnarl.sw.runtime.sram_compute.model.check import StoppedError
from gnarl.sw.runtime.sram_compute.model.copy_waits import Accesses, CopyWaits, Round
from gnarl.sw.runtime.sram_compute.model.engines import Engines, Fields
from gnarl.sw.runtime.sram_compute.model.near_limits import groups_of, is_beyond
from gnarl.sw.runtime.sram_compute.model.strip_arithmetic import computed
from gnarl.sw.runtime.sram_compute.model.strip_times import Times

_STEPS = np.arange(STRIP)

_EMPTY_STREAM: dict[str, Any] = {
    **dict.fromkeys(("base", "is_transposed", "is_indirect", "row", "scale", "length"), 0),
    "strides": (0, 0, 0),
}


class Streaming:
    """Runs of a ``NEAR`` command, on streams and operations as they were set.

    strips, words_between_banks
        what all runs have done.
    """

    def __init__(self, config: SramConfig, engines: Engines) -> None:
        self._config = config
        self._engines = engines
        self._number = np.arange(config.banks)[:, None]
        self.streams: dict[int, Fields] = {}
        self.operations: dict[int, Fields] = {}
        self.strips = 0
        self.words_between_banks = 0

    def is_complete(self, near: Fields) -> bool:
        return all(slot in self.operations for slot in range(near["last"] + 1))

    def run(self, near: Fields, start: int, waits: CopyWaits, max_cycles: int) -> int:
        """Begins in a cycle; the first in which all is through. Raises ``StoppedError``, and
        ``CycleLimitError`` where that is not before ``max_cycles``."""
        if is_beyond(self._config, near, self.operations, self.streams, max_cycles - start):
            raise CycleLimitError(max_cycles)
        times, idle = Times(), start + 1
        for place, begins_z in self._places(near):
            operation = self.operations[place.slot]
            require_cycles(idle, max_cycles)
            idle += 2 * begins_z
            offered = idle + 2
            if not place.runs(operation["when"]):
                idle = offered
                continue
            stores = operation["operation"] == ExecuteOpcode.STORE
            accesses = operation["reads"] or stores
            begun = times.begin(offered + 3 * accesses, stores and operation["a_is_turned"])
            cycles, accessed = self._strip(near, place, operation, stores)
            first = times.first_access(begun)
            steps = (
                STRIP if accessed is None or accessed.fault is None else max(0, accessed.fault - 1)
            )
            if accessed is None or waits.is_over(begun):
                begins = [first, *(first + np.cumsum(cycles[:steps])).tolist()]
            else:
                begins = waits.begins(first, accessed, steps)
            if accessed is not None and accessed.fault is not None:
                # An address is known as soon as the access of the step before begins.
                known = begins[-1] if accessed.fault else times.first_address(begun)
                require_cycles(known, max_cycles)
                raise StoppedError(ErrorCause.STREAM, operation["stream"])
            times.accessed(begins)
            self.strips += 1
            idle = begun + 1
        return max(idle, times.through)

    def _places(self, near: Fields) -> Iterator[tuple[_LoopOperation, bool]]:
        """All operations in order, and whether they are the first of a z."""
        _, height, depth = near["counts"]
        groups = groups_of(self._config, near)
        for z in range(near["first_z"], depth):
            for x in range(groups):
                for y in range(height):
                    for slot in range(near["last"] + 1):
                        is_met = (x == 0, x == groups - 1, y == 0, y == height - 1)
                        yield _LoopOperation(slot, x, y, z, is_met), not (x or y or slot)

    def _strip(
        self, near: Fields, place: _LoopOperation, operation: Fields, stores: bool
    ) -> tuple[np.ndarray, Accesses | None]:
        """Does an operation; the cycles of each step's access, and what is accessed."""
        engines = self._engines
        registers = engines.registers
        own, first_strip = self._own(near, place)
        strip = first_strip + own
        x = strip * STRIP + _STEPS
        is_there = (near["first"] <= x) & (x < near["counts"][0])
        b = registers[operation["b"]]
        if operation["b_source"] == Second.IMMEDIATE:
            b = np.full_like(b, operation["immediate"])
        elif operation["b_source"] == Second.X:
            b = x.astype(np.uint32)
        a, cycles = None, np.ones(STRIP, np.int64)
        if operation["operation"] == ExecuteOpcode.FDIV:
            cycles = np.full(STRIP, DIVIDE_CYCLES)
        accesses: Accesses | None = None
        columns = _columns(engines.turned)
        if operation["reads"] or stores:
            index = self._rotated(operation).astype(np.int64)
            (rows, columns_of, banks), enabled, is_bad, lines = self._access(
                place, operation, own, first_strip, is_there, index
            )
            faults = np.flatnonzero(is_bad.any(axis=0))
            fault = int(faults[0]) if len(faults) else None
            enabled = enabled & ~is_bad
            cycles, rounds = self._rounds(rows, columns_of, banks, enabled, stores)
            accesses = Accesses(lines, enabled, stores, rounds, fault)
            if fault is not None:
                return cycles, accesses
            if stores:
                stream = self.streams[operation["stream"]] if enabled.any() else _EMPTY_STREAM
                data = columns if operation["a_is_turned"] else b
                self._store(stream, rows, columns_of, banks, enabled, data, is_there)
            else:
                a = np.zeros_like(b)
                a[enabled] = engines.read(rows[enabled], columns_of[enabled])
                if self._is_uniform(operation):
                    a = np.where(is_there, a[:, :1], 0).astype(np.uint32)
        if stores:
            return cycles, accesses
        if operation["d_is_turned"]:
            self._turn(operation, a)
            return cycles, accesses
        if a is None and operation["a_is_turned"]:
            a = columns
        self._compute(operation, a, b, is_there | bool(operation["is_whole"]))
        return cycles, accesses

    def _compute(
        self, operation: Fields, a: np.ndarray | None, b: np.ndarray, changes: np.ndarray
    ) -> None:
        """Element by element: where a register is rotated in place, elements that come around have
        been written before."""
        registers, offset = self._engines.registers, operation["offset"]
        opcode = ExecuteOpcode(operation["operation"])
        d, c = registers[operation["d"]], registers[operation["c"]].copy()
        b = b.copy()
        for part in (_STEPS[: STRIP - offset], _STEPS[STRIP - offset :]):
            if a is None:
                left = registers[operation["a"]][:, (part + offset) % STRIP]
            else:
                left = a[:, part]
            result = computed(
                opcode,
                np.ascontiguousarray(left),
                np.ascontiguousarray(b[:, part]),
                np.ascontiguousarray(c[:, part]),
            )
            d[:, part] = np.where(changes[:, part], result, d[:, part])

    def _turn(self, operation: Fields, a: np.ndarray | None) -> None:
        """Fills the transposers from a stream, word by word from themselves, or from a register."""
        turned = self._engines.turned
        if a is not None:
            turned[:] = a
        elif operation["a_is_turned"]:
            for step in range(STRIP):
                turned[:, step] = _columns(turned)[:, step]
        else:
            turned[:] = self._rotated(operation)

    def _own(self, near: Fields, place: _LoopOperation) -> tuple[np.ndarray, int]:
        """Strips from the first one of all banks to each bank's, [banks, 1]; its number."""
        banks = self._config.banks
        if near["span"]:
            return self._number * near["span"], place.x
        stream = self.streams.get(near["owner"], _EMPTY_STREAM)
        first = (stream["base"] + place.z * stream["strides"][2]) % (1 << WORD_BITS)
        return (self._number - first // STRIP) % banks, place.x * banks

    def _rotated(self, operation: Fields) -> np.ndarray:
        """Register a, from the element that step 0 takes."""
        elements = (_STEPS + operation["offset"]) % STRIP
        return self._engines.registers[operation["a"]][:, elements]

    def _access(
        self,
        place: _LoopOperation,
        operation: Fields,
        own: np.ndarray,
        first_strip: int,
        is_there: np.ndarray,
        index: np.ndarray,
    ) -> tuple[
        tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, np.ndarray, np.ndarray | None
    ]:
        """Rows, places in rows and banks; which are accessed, and cannot be; and lines of words;
        [banks, steps] each."""
        is_set = operation["stream"] in self.streams
        stream = self.streams.get(operation["stream"], _EMPTY_STREAM)
        by_x, by_y, by_z = stream["strides"]
        steps = (first_strip + own) * STRIP + _STEPS
        element = stream["base"] + steps * by_x + place.y * by_y + place.z * by_z
        enabled = is_there
        if stream["is_transposed"]:
            enabled = is_there.any(axis=1, keepdims=True) & np.ones(STRIP, bool)
        elif self._is_uniform(operation):
            enabled = is_there.any(axis=1, keepdims=True) & (_STEPS == 0)
        is_bad = np.full_like(enabled, not is_set)
        if stream["is_indirect"]:
            element = element + index % (1 << WORD_BITS) * stream["scale"]
            is_bad = index >= stream["length"]
        element = element % (1 << WORD_BITS)
        config, engines = self._config, self._engines
        if stream["is_transposed"]:
            rows = stream["row"] + _STEPS + 0 * element
            is_bad = is_bad | (element >= config.tiles * config.bitlines)
            is_bad = is_bad | (rows >= config.wordlines)
            places = engines.transposed_places(element, rows)
        else:
            is_bad = is_bad | (element >= engines.word_count)
            places = engines.places(element)
        lines = None if stream["is_transposed"] else element // LINE_WORDS
        return places, enabled, is_bad & enabled, lines

    def _is_uniform(self, operation: Fields) -> bool:
        """Whether one word is all elements of a strip: it is read once."""
        if not operation["reads"]:
            return False
        stream = self.streams.get(operation["stream"], _EMPTY_STREAM)
        return not (stream["strides"][0] or stream["is_indirect"] or stream["is_transposed"])

    def _store(
        self,
        stream: Fields,
        rows: np.ndarray,
        columns: np.ndarray,
        banks: np.ndarray,
        enabled: np.ndarray,
        data: np.ndarray,
        is_there: np.ndarray,
    ) -> None:
        """Step by step; in a step a bank's own engine is the first, the others follow by number."""
        mask = np.full_like(data, (1 << 32) - 1)
        if stream["is_transposed"]:
            bits = np.packbits(is_there, axis=1, bitorder="little").view("<u4")
            mask = np.broadcast_to(bits, data.shape)
        engine, step = np.nonzero(enabled)
        remote = banks[engine, step] != engine
        order = np.lexsort((engine, remote, step))
        at = engine[order], step[order]
        self._engines.write(rows[at], columns[at], data[at], mask[at])

    def _rounds(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        banks: np.ndarray,
        enabled: np.ndarray,
        stores: bool,
    ) -> tuple[np.ndarray, dict[int, list[Round]]]:
        """Cycles of each step, as ``WordNetwork`` has it, and of each round of those in which words
        go from bank to bank."""
        cycles = np.ones(STRIP, np.int64)
        rounds: dict[int, list[Round]] = {}
        crosses = (enabled & (banks != self._number)).any(axis=0)
        for step in np.flatnonzero(crosses):
            wants = [
                (int(engine), int(banks[engine, step]), (rows[engine, step], columns[engine, step]))
                for engine in np.flatnonzero(enabled[:, step])
            ]
            rounds[int(step)] = self._step_rounds(wants, stores)
            cycles[step] = sum(spent for spent, _ in rounds[int(step)])
        return cycles, rounds

    def _step_rounds(self, wants: list[tuple[int, int, Any]], stores: bool) -> list[Round]:
        """Rounds in which words go from bank to bank in a step. ``wants``: engines, the banks of
        their words, and these."""
        rounds: list[Round] = []
        while wants:
            chosen: dict[int, tuple[int, Any]] = {}
            for engine, bank, word in wants:
                if bank not in chosen or engine == bank:
                    chosen[bank] = engine, word
            served = {
                engine
                for engine, bank, word in wants
                if engine == chosen[bank][0] or not stores and word == chosen[bank][1]
            }
            crossing = sum(engine in served and engine != bank for engine, bank, _ in wants)
            spent = word_cycles(self._config.network_bits) if crossing else 1
            rounds.append((spent, frozenset(chosen)))
            self.words_between_banks += crossing
            wants = [each for each in wants if each[0] not in served]
        return rounds


@dataclass(frozen=True)
class _LoopOperation:
    """An operation of the loop: its slot, group of strips, y and z; which of ``When`` holds."""

    slot: int
    x: int
    y: int
    z: int
    is_met: tuple[bool, ...]

    def runs(self, when: int) -> bool:
        return all(self.is_met[bit] for bit in When if when >> bit & 1)


def _columns(turned: np.ndarray) -> np.ndarray:
    """Bit t of all words of each transposer, for each t: uint32 [banks, steps]."""
    bits = turned[:, :, None] >> np.arange(STRIP, dtype=np.uint32) & np.uint32(1)
    places = np.arange(STRIP, dtype=np.uint32)[None, :, None]
    return np.bitwise_or.reduce(bits << places, axis=1)
