"""The host port by itself, with the state of an accelerator and its memories made up."""

from __future__ import annotations

import enum

import numpy as np

from gnarl.hw.lib.machine.host import HostPort
from gnarl.hw.lib.machine.memory_map import MAGIC, NO_LIMIT, VERSION, MemoryMap, Register, Window
from tests.support.machines.amaranth_port import AmaranthPort

DIGEST = 0x89ABCDEF


class Cause(enum.IntEnum):
    NONE = 0


def bare() -> tuple[HostPort, AmaranthPort]:
    component = HostPort(MemoryMap([], [], Cause), DIGEST)
    pulses = (component.start, component.stop, component.clear)
    return component, AmaranthPort(component, watched=pulses)


def write(port: AmaranthPort, address: int, *words: int) -> None:
    port.write_words(address, np.array(words, np.uint32))


def test_it_says_what_it_is():
    _, port = bare()
    assert port.read_words(0, 3).tolist() == [MAGIC, VERSION, DIGEST]


def test_status_and_detail_show_the_inputs():
    component, port = bare()
    for busy, done, cause, detail in ((1, 0, 0, 0), (0, 1, 0, 3), (1, 1, 255, 2**32 - 1)):
        port.set(component.busy, busy)
        port.set(component.done, done)
        port.set(component.cause, cause)
        port.set(component.detail, detail)
        expected = [busy | done << 1 | cause << 8, detail]
        assert port.read_words(Register.STATUS, 2).tolist() == expected


def test_each_control_bit_gives_one_pulse():
    for bit in range(3):
        _, port = bare()
        write(port, Register.CONTROL, 1 << bit)
        port.step(5)
        active = [pulses for pulses in port.log if any(pulses)]
        assert active == [tuple(int(bit == other) for other in range(3))]


def test_only_writes_of_control_give_pulses():
    _, port = bare()
    write(port, Register.CONTROL, 0)
    write(port, Register.STATUS, 7)
    write(port, Register.CONTROL | 1 << 30, 7)
    port.read_words(Register.CONTROL, 1)
    port.step(5)
    assert not any(map(any, port.log))


def test_the_high_half_is_of_the_moment_when_the_low_one_was_read():
    component, port = bare()
    port.set(component.cycles, 2**32 - 1)
    low = port.read_words(Register.CYCLES_LO, 1)
    port.set(component.cycles, 2**32)
    high = port.read_words(Register.CYCLES_HI, 1)
    assert (int(high[0]), int(low[0])) == (0, 2**32 - 1)
    assert port.read_words(Register.CYCLES_LO, 2).tolist() == [0, 1]


def test_counters_have_two_words_each():
    component = HostPort(MemoryMap([], ["first", "second"], Cause), DIGEST)
    port = AmaranthPort(component)
    port.set(component.counters.first, 3 << 32 | 1)
    port.set(component.counters.second, 4 << 32 | 2)
    assert port.read_words(Register.COUNTERS, 5).tolist() == [1, 3, 2, 4, 0]


def limits(*writes: tuple[int, int]) -> list[int]:
    """What ``limit`` becomes while the host writes words to addresses."""
    component = HostPort(MemoryMap([], [], Cause), DIGEST)
    port = AmaranthPort(component, watched=(component.limit,))
    for address, word in writes:
        write(port, address, word)
    assert port.read_words(Register.LIMIT_LO, 2).tolist() == [0, 0]
    seen = [limit for (limit,) in port.log]
    return [limit for before, limit in zip([None, *seen], seen, strict=False) if limit != before]


def test_the_limit_has_48_bits_and_is_none_at_first():
    written = ((Register.LIMIT_LO, 2**32 - 2), (Register.LIMIT_HI, 0xABCD0003))
    assert limits(*written) == [NO_LIMIT, NO_LIMIT - 1, 3 << 32 | 2**32 - 2]


def test_only_a_clear_takes_the_limit_away():
    written = ((Register.LIMIT_HI, 0), (Register.CONTROL, 3))
    assert limits(*written) == [NO_LIMIT, 2**32 - 1]
    assert limits(*written, (Register.CONTROL, 4)) == [NO_LIMIT, 2**32 - 1, NO_LIMIT]


def test_a_response_comes_five_cycles_after_its_request():
    _, port = bare()
    port.read_words(Register.MAGIC, 1)
    assert port.taken == [5]


def test_reads_are_pipelined():
    _, port = bare()
    port.read_words(0, 20)
    assert port.taken == list(range(5, 25))


def test_a_window_gets_row_and_lane_of_each_word():
    component = HostPort(MemoryMap([Window("w", 3, 3, 8)], [], Cause), DIGEST)
    bus = component.windows.w
    port = AmaranthPort(component, watched=(bus.write_enable, bus.row, bus.lane, bus.write_data))
    write(port, component.memory_map.window("w").base, *range(0x1F0, 0x200))
    port.step(2)
    written = [access[1:] for access in port.log if access[0]]
    assert written == [(row, lane, 0xF0 + 4 * row + lane) for row in range(3) for lane in range(3)]


def test_a_window_of_one_word_has_one_address():
    component = HostPort(MemoryMap([Window("w", 1, 1)], [], Cause), DIGEST)
    port = AmaranthPort(component)
    port.set(component.windows.w.read_data, 5)
    assert port.read_words(9, 3).tolist() == [0, 5, 0]
