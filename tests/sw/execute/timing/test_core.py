"""Cycles of the core's programs, by hand; random ones are held against the RTL elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES
from gnarl.sw.execute.fields import fields_of_words
from gnarl.sw.execute.timing.core import CoreTime
from gnarl.sw.execute.timing.lines import empty_lines
from gnarl.sw.execute.values import execute

LANES = 4
LATENCY, LINE_CYCLES = 30, 5
SETS = 4
FIRST, ENDS = 3, 2
"""Cycles from the start to the first issue, and from ``HALT`` to the end of what needs no time."""


def timed(text: str, *, loads: int = 4, start: int = 0, parts: int = 1 << 20, **channel: int):
    """The time of a program on memory of 0."""
    words = assemble(text + "\n halt").words()
    lines = empty_lines(
        cache_bytes=SETS * 256,
        loads=loads,
        latency=LATENCY,
        line_cycles=LINE_CYCLES,
        **{"free": 0, "empties": -100, **channel},
    )
    time = CoreTime(fields_of_words(words), LANES, loads, lines, start)
    for part in execute.traced(words, np.zeros(4096, np.uint32), LANES):
        for first in range(0, len(part), parts):
            time.done(part[first : first + parts])
    return time


def end(text: str, **options: int) -> int:
    found = timed(text, **options).end
    assert found is not None
    return found


def test_nothing_takes_from_the_start_to_a_halt():
    assert end("") == FIRST + ENDS
    assert end("", start=70) == 70 + FIRST + ENDS


GAPS = {
    ("add s1, zero, 1", "add s2, s1, 1"): 1,
    ("add.v v1, zero, 1", "add.v v2, v1, 1"): 2,
    ("extract.v s1, v1, 2", "add s2, s1, 1"): 3,
    ("fadd s1, s2, s3", "fadd s4, s1, s5"): FLOAT_STAGES + 2,
    ("fmul.v v1, v2, v3", "fmul.v v4, v1, v5"): FLOAT_STAGES + 1,
    ("fmul_add.v v1, v2, v3, v4", "add.v v5, v1, 1"): 2 * FLOAT_STAGES + 1,
    ("fmul_add.v v1, v2, v3, v1", "fmul_add.v v1, v2, v3, v1"): FLOAT_STAGES + 1,
    ("fadd.v v1, v1, v2", "fadd.v v1, v1, v3"): FLOAT_STAGES,
    ("reduce_add.v s1, v1", "add s2, s1, 1"): 2 * FLOAT_STAGES + 2,
    ("fdiv s1, s2, s3", "add s4, s1, 1"): 20,
    ("fdiv.v v1, v2, v3", "fdiv.v v4, v5, v6"): 20,
    ("fsqrt.v v1, v2", "add.v v3, v1, 1"): 18 * LANES + 4,
}
"""Of two instructions, from the issue of the first to that of the second."""


@pytest.mark.parametrize("first, second", GAPS)
def test_an_instruction_waits_for_what_it_needs(first: str, second: str):
    """As ``gnarl.hw.lib.execute.execute_unit`` has it."""
    assert end(f"{first}\n{second}") - end(first) == GAPS[first, second]


def test_branches_that_are_taken_take_two_more():
    assert (
        end("branch_eq zero, zero, there\nthere:") == end("branch_ne zero, zero, there\nthere:") + 2
    )


def test_loops_take_their_bodies_and_what_the_first_waits():
    def loop(count: int) -> int:
        return end(f"add s1, zero, {count}\n loop s1, done\n add s2, s2, 1\n add s3, s3, 1\ndone:")

    assert loop(2) - loop(1) == loop(9) - loop(8) == 2
    assert loop(1) == FIRST + 4 + 1 + ENDS  # its last instruction waits for it to run
    assert loop(0) == FIRST + 2 + 2 + ENDS


TO_CACHE, TO_MEMORY, BACK = 3, 2, 3
HIT = TO_CACHE + 2 + BACK
MISS = TO_CACHE + TO_MEMORY + LATENCY + BACK
"""From a load's issue to that of what needs it."""


def test_a_load_waits_for_its_line():
    assert end("load s1, [zero]\n add s2, s1, 1") == FIRST + MISS + 1 + ENDS


def test_a_line_that_is_there_comes_soon():
    warm = "load s1, [zero]\n add s2, s1, 1\n"
    assert end(warm + "load s3, [zero + 1]\n add s4, s3, 1") - end(warm) == HIT + 1


def test_memory_gives_a_line_at_a_time():
    """To loads under way at once; another waits for one of them."""
    several = [f"load s{n}, [{16 * n}]" for n in range(1, 6)]
    four = end("\n".join(several[:4]) + "\n add s9, s4, 1")
    assert four == FIRST + MISS + 1 + ENDS + 3 * LINE_CYCLES
    assert end("\n".join(several) + "\n add s9, s5, 1") == FIRST + 2 * MISS + 1 + ENDS


def test_lines_that_are_written_go_to_memory_in_the_end():
    """A line that is written twice goes there once."""
    found = [timed("\n".join(f"store s1, [{16 * n}]" for n in range(count))) for count in (1, 2, 3)]
    assert [each.lines_written for each in found] == [1, 2, 3]
    assert found[2].end - found[1].end == LINE_CYCLES
    assert timed("store s1, [zero]\n store s2, [zero + 3]").lines_written == 1


def test_a_vector_in_two_lines_reads_both():
    assert timed("load.v v1, [12]").lines_read == 1
    assert timed("load.v v1, [13]").lines_read == 2


def test_prefetches_read_lines_in_memory_alone():
    assert timed("prefetch [zero]").lines_read == 1
    assert timed("prefetch [4096]").lines_read == 0


def test_a_memory_in_use_is_waited_for():
    text = "load s1, [zero]\n add s2, s1, 1"
    assert end(text, free=200) == 200 + LATENCY + BACK + 1 + ENDS
    assert end(text, empties=100) == 100 + SETS + TO_MEMORY + LATENCY + BACK + 1 + ENDS


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_parts_of_a_program_take_as_long_as_the_whole(parts: int):
    text = """
        add s1, zero, 30
        loop s1, done
        load.v v1, [s2], s2 += 37
        fmul_add.v v2, v1, v1, v2
        store.v v2, [s3 + 1024], s3 += 5
    done:
    """
    assert end(text, parts=parts) == end(text)
