"""Arrays in a memory of lines, at their ports."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.sam.memory.line_arrays import LineArrays
from gnarl.hw.sam.memory.line_placement import (
    all_lines,
    lines_of,
    require_lines,
    rows_per_line,
)
from tests.hw.sam.arrays import ARRAYS, COORDINATES, SEGMENTS, WINDOWS, place, run

LINE_WORDS = 4


def places(line_words: int) -> list[tuple[int, int]]:
    """Each array has its own."""
    found, base = [], 0
    for window in WINDOWS:
        found.append((base, window.rows))
        base += lines_of(window, window.rows, line_words)
    return found


def memory(**fields: Any) -> LineArrays:
    defaults = {
        "line_words": LINE_WORDS,
        "channels": 2,
        "latency": 5,
        "line_cycles": 1,
        "slots": 4,
        "ahead": 0,
        "in_flight": 8,
    }
    return LineArrays(ARRAYS, 8, **(defaults | fields))


def simulate(arrays: LineArrays, bench: Any, line_words: int = LINE_WORDS) -> None:
    async def testbench(ctx: Any) -> None:
        place(ctx, arrays, places(line_words))
        await load(ctx, arrays, line_words)
        await bench(ctx, arrays)

    simulator = Simulator(arrays)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def _words(name: str, rows: int, line_words: int) -> list[list[int]]:
    """Numbers of the words of an array's rows."""
    number = [window.name for window in WINDOWS].index(name)
    window, first = WINDOWS[number], places(line_words)[number][0] * line_words
    return [
        [first + row * window.stride + word for word in range(window.words)] for row in range(rows)
    ]


async def host_write(ctx: Any, arrays: LineArrays, words: dict[int, int]) -> None:
    host = arrays.windows.words
    ctx.set(host.selected, 1)
    ctx.set(host.write_enable, 1)
    for row, word in words.items():
        ctx.set(host.row, row)
        ctx.set(host.write_data, word)
        await ctx.tick()
    ctx.set(host.write_enable, 0)
    ctx.set(host.selected, 0)


async def host_read(
    ctx: Any, arrays: LineArrays, name: str, rows: int, line_words: int = LINE_WORDS
) -> list[list[int]]:
    host = arrays.windows.words
    ctx.set(host.selected, 1)
    found = []
    for words in _words(name, rows, line_words):
        found.append([])
        for word in words:
            ctx.set(host.row, word)
            await ctx.tick()
            found[-1].append(ctx.get(host.read_data))
    ctx.set(host.selected, 0)
    return found


async def load(ctx: Any, arrays: LineArrays, line_words: int) -> None:
    """Both arrays that are read; a run begins."""
    contents: dict[int, int] = {}
    for name, rows in (("seg", SEGMENTS), ("crd", COORDINATES)):
        for numbers, words in zip(_words(name, len(rows), line_words), rows, strict=True):
            contents |= dict(zip(numbers, words, strict=True))
    await host_write(ctx, arrays, contents)
    ctx.set(arrays.busy, 1)


async def finish(ctx: Any, arrays: LineArrays) -> None:
    """The run ends once all is written."""
    ctx.set(arrays.drain, 1)
    await ctx.tick().until(arrays.settled)
    ctx.set(arrays.drain, 0)
    ctx.set(arrays.busy, 0)
    await restart(ctx, arrays)


async def restart(ctx: Any, arrays: LineArrays) -> None:
    ctx.set(arrays.reset, 1)
    await ctx.tick()
    ctx.set(arrays.reset, 0)


@pytest.mark.parametrize("latency", [2, 3, 20])
def test_a_line_is_asked_for_once_and_answers_come_a_cycle_each(latency):
    """Four cycles to the memory and back, besides its latency."""

    async def bench(ctx: Any, arrays: LineArrays) -> None:
        answers, times, _ = await run(ctx, arrays, {"crd": [0, 1, 2, 3]}, [])
        assert answers["crd"] == COORDINATES[:4]
        assert times["crd"] == list(range(latency + 4, latency + 8))
        # The line is still there: two cycles.
        answers, times, _ = await run(ctx, arrays, {"crd": [3, 0, 2]}, [])
        assert answers["crd"] == [COORDINATES[row] for row in (3, 0, 2)]
        assert times["crd"] == [2, 3, 4]

    simulate(memory(latency=latency), bench)


def test_a_channel_takes_its_cycles_for_each_line():
    async def bench(ctx: Any, arrays: LineArrays) -> None:
        _, times, _ = await run(ctx, arrays, {"crd": [0, 4, 8, 12]}, [])
        assert times["crd"] == [9, 16, 23, 30]

    simulate(memory(channels=1, line_cycles=7, latency=5), bench)


def test_channels_take_lines_at_the_same_time():
    async def bench(ctx: Any, arrays: LineArrays) -> None:
        _, times, _ = await run(ctx, arrays, {"crd": [0, 4, 8, 12]}, [])
        assert times["crd"] == [9, 10, 16, 17]

    simulate(memory(channels=2, line_cycles=7, latency=5), bench)


@pytest.mark.parametrize(("ahead", "cycles"), [(0, 98), (1, 56), (3, 41)])
def test_lines_behind_those_that_are_walked_are_asked_for_ahead(ahead, cycles):
    """Six lines: each is waited for, or half of them are, or it is mostly there."""

    async def bench(ctx: Any, arrays: LineArrays) -> None:
        answers, _, took = await run(ctx, arrays, {"crd": list(range(24))}, [])
        assert answers["crd"] == COORDINATES
        assert took == cycles

    simulate(memory(channels=4, latency=10, ahead=ahead, in_flight=2, slots=8), bench)


async def lines_of_walk(ctx: Any, arrays: LineArrays, rows: list[int]) -> int:
    """How many lines move for rows that are asked for one by one, each long after the last."""
    port, moved = arrays.ports.crd, 0
    ctx.set(port.data.ready, 1)
    for row in rows:
        ctx.set(port.address.payload, row)
        ctx.set(port.address.valid, 1)
        for _ in range(30):
            moved += ctx.get(arrays.lines) >> 1 & 1
            is_accepted = ctx.get(port.address.ready)
            await ctx.tick()
            if is_accepted:
                ctx.set(port.address.valid, 0)
    return moved


@pytest.mark.parametrize(
    ("ahead", "rows", "lines"),
    [
        (0, [8, 20, 16], 3),
        (2, [8], 3),  # the first row of all looks ahead
        (2, [8, 20], 4),  # a jump does not
        (2, [8, 12], 4),
        (2, [20], 1),  # nothing is beyond the last line
        (2, [16], 2),
        (3, [0, 4, 8, 12, 16, 20], 6),
    ],
)
def test_which_lines_are_asked_for(ahead, rows, lines):
    async def bench(ctx: Any, arrays: LineArrays) -> None:
        assert await lines_of_walk(ctx, arrays, rows) == lines

    simulate(memory(channels=1, ahead=ahead, slots=8), bench)


def test_words_are_written_as_lines():
    """24 words are six lines, each of which moves once; the last two once nothing more comes."""

    async def bench(ctx: Any, arrays: LineArrays) -> None:
        writes = [(row, 7 * row + 1) for row in range(24)]
        moved, port = 0, arrays.ports.out.write
        for row, word in writes:
            ctx.set(port.valid, 1)
            ctx.set(port.payload, {"address": row, "data": [word]})
            while True:
                ready = ctx.get(port.ready)
                moved += ctx.get(arrays.lines) >> 2 & 1
                await ctx.tick()
                if ready:
                    break
        ctx.set(port.valid, 0)
        for _ in range(20):
            moved += ctx.get(arrays.lines) >> 2 & 1
            await ctx.tick()
        assert moved == 4
        await finish(ctx, arrays)
        assert await host_read(ctx, arrays, "out", 24) == [[word] for _, word in writes]

    simulate(memory(), bench)


GEOMETRIES = [
    {"channels": 1, "latency": 2, "line_cycles": 1, "slots": 2, "ahead": 1, "in_flight": 2},
    {"channels": 2, "latency": 7, "line_cycles": 3, "slots": 2, "ahead": 0, "in_flight": 3},
    {"channels": 4, "latency": 3, "line_cycles": 1, "slots": 8, "ahead": 3, "in_flight": 9},
    {"channels": 8, "latency": 12, "line_cycles": 2, "slots": 4, "ahead": 2, "in_flight": 5},
]


@pytest.mark.parametrize("line_words", [2, 4, 16])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda each: f"{each['channels']} channels")
def test_stalls_lose_nothing(geometry, line_words):
    noise = random.Random(line_words)

    async def bench(ctx: Any, arrays: LineArrays) -> None:
        reads = {
            "seg": [noise.randrange(20) for _ in range(30)] + list(range(20)),
            "crd": list(range(24)) + [noise.randrange(24) for _ in range(30)],
        }
        writes = [(row, noise.randrange(256)) for row in range(24)]
        answers, _, _ = await run(ctx, arrays, reads, writes, stalls=0.3, seed=line_words)
        assert answers["seg"] == [SEGMENTS[row] for row in reads["seg"]]
        assert answers["crd"] == [COORDINATES[row] for row in reads["crd"]]
        await finish(ctx, arrays)
        out = await host_read(ctx, arrays, "out", 24, line_words)
        assert out == [[word] for _, word in writes]
        assert await host_read(ctx, arrays, "seg", 20, line_words) == SEGMENTS
        assert await host_read(ctx, arrays, "crd", 24, line_words) == COORDINATES

    simulate(memory(line_words=line_words, **geometry), bench, line_words)


def test_a_reset_forgets_what_is_under_way():
    async def bench(ctx: Any, arrays: LineArrays) -> None:
        port, write = arrays.ports.crd, arrays.ports.out.write
        await host_write(ctx, arrays, {})
        for cycles in range(1, 16):
            ctx.set(arrays.busy, 1)
            ctx.set(port.address.valid, 1)
            ctx.set(port.address.payload, 20)
            ctx.set(port.data.ready, 0)
            ctx.set(write.valid, 1)
            ctx.set(write.payload, {"address": 3, "data": [99]})
            await ctx.tick().repeat(cycles)
            ctx.set(port.address.valid, 0)
            ctx.set(write.valid, 0)
            ctx.set(arrays.busy, 0)
            await restart(ctx, arrays)
            ctx.set(arrays.busy, 1)
            answers, times, _ = await run(ctx, arrays, {"crd": [5, 6]}, [(0, cycles)])
            assert answers["crd"] == [COORDINATES[5], COORDINATES[6]]
            assert times["crd"] == [9, 10]
            await finish(ctx, arrays)
            assert await host_read(ctx, arrays, "out", 1) == [[cycles]]

    simulate(memory(), bench)


def test_what_one_run_has_written_the_next_one_reads():
    async def bench(ctx: Any, arrays: LineArrays) -> None:
        words = [(row, 7 * row + 1) for row in range(24)]
        await run(ctx, arrays, {"seg": [], "crd": []}, words)
        await finish(ctx, arrays)
        seg, crd, out = places(LINE_WORDS)
        place(ctx, arrays, [seg, out, crd])
        ctx.set(arrays.busy, 1)
        rows = [5, 23, 0, 7]
        answers, _, _ = await run(ctx, arrays, {"crd": rows}, [(2, 99)])
        assert answers["crd"] == [[7 * row + 1] for row in rows]
        await finish(ctx, arrays)
        assert await host_read(ctx, arrays, "crd", 4) == [[200], [199], [99], [197]]

    simulate(memory(), bench)


@pytest.mark.parametrize("name", ["seg", "crd", "out"])
def test_a_row_beyond_a_place_is_a_fault(name):
    number = [window.name for window in WINDOWS].index(name)

    async def bench(ctx: Any, arrays: LineArrays) -> None:
        own = places(LINE_WORDS)
        own[number] = own[number][0], 5
        place(ctx, arrays, own)
        port = getattr(arrays.ports, name)
        for row, is_there in ((4, True), (5, False), (19, False)):
            if name == "out":
                ctx.set(port.write.valid, 1)
                ctx.set(port.write.payload, {"address": row, "data": [1]})
            else:
                ctx.set(port.address.valid, 1)
                ctx.set(port.address.payload, row)
            await ctx.delay(1e-9)
            ready = port.write.ready if name == "out" else port.address.ready
            assert ctx.get(ready) == is_there
            assert ctx.get(arrays.faults) == (0 if is_there else 1 << number)
        ctx.set(arrays.busy, 0)
        await ctx.delay(1e-9)
        assert ctx.get(arrays.faults) == 0

    simulate(memory(), bench)


def test_arrays_begin_with_a_line():
    assert rows_per_line(Window("seg", 5, 2, 8), 4) == 2
    assert rows_per_line(Window("vals", 5, 3, 8), 4) == 1
    assert all_lines([Window("seg", 5, 2, 8), Window("crd", 5, 1, 8)], 4) == 3 + 2
    assert all_lines([Window("one", 1, 1, 8)], 16) == 1


def test_a_row_that_is_longer_than_a_line_is_refused():
    wide = Window("vals", 16, 16, 32)
    require_lines([wide], 16)
    with pytest.raises(ConfigError) as caught:
        require_lines([wide], 8)
    assert str(caught.value) == ("line_bytes = 32: must be at least 64, the bytes of a row of vals")


WIDE = Window("wide", 6, 3, 16)
NARROW = Window("narrow", 9, 1, 20)


def test_rows_of_any_number_of_words():
    """Three words of 16 bits take four words of memory; those of an array of 20 bits one each."""
    arrays = LineArrays(
        [(WIDE, False), (NARROW, True)],
        8,
        line_words=8,
        channels=2,
        latency=4,
        line_cycles=2,
        slots=2,
        ahead=1,
        in_flight=4,
    )
    rows = [[100 * row + word for word in range(3)] for row in range(6)]

    async def bench(ctx: Any) -> None:
        place(ctx, arrays, [(0, 6), (3, 9)])
        contents = {4 * row + word: rows[row][word] for row in range(6) for word in range(3)}
        await host_write(ctx, arrays, contents)
        ctx.set(arrays.busy, 1)
        read, write = arrays.ports.wide, arrays.ports.narrow.write
        ctx.set(read.data.ready, 1)
        for row in (5, 0, 1, 4):
            ctx.set(read.address.valid, 1)
            ctx.set(read.address.payload, row)
            await ctx.tick().until(read.address.ready)
            ctx.set(read.address.valid, 0)
            *_, answer = await ctx.tick().sample(read.data.payload).until(read.data.valid)
            assert list(answer) == rows[row]
        for row in range(9):
            ctx.set(write.valid, 1)
            ctx.set(write.payload, {"address": row, "data": [(1 << 20) - 1 - row]})
            await ctx.tick().until(write.ready)
        ctx.set(write.valid, 0)
        await finish(ctx, arrays)
        host, found = arrays.windows.words, []
        for row in range(9):
            ctx.set(host.row, 3 * 8 + row)
            await ctx.tick()
            found.append(ctx.get(host.read_data))
        assert found == [(1 << 20) - 1 - row for row in range(9)]

    simulator = Simulator(arrays)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
