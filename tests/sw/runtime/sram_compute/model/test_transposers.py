"""What transposers of stream engines hold, on RTL and in the model, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.near_programs import clearing_engines, near
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.isa import STRIP, Opcode, Second
from gnarl.hw.sram_compute.program import assemble, command
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.machine import ending, program
from tests.support.sram_compute.programs import FIRST_LINE

NAMED = load_configuration("sram_b2", ["banks=1", "arrays=2", "formats=[]"])
FACTOR = 0x9E37_79B1
OR, MULTIPLY = ExecuteOpcode.OR.value, ExecuteOpcode.MUL.value
IMMEDIATE = {"b_source": Second.IMMEDIATE.value}

TURNS: dict[str, list[dict[str, Any]]] = {
    "all": [{"a": 1, "d_is_turned": 1}],
    "from an element on": [{"a": 1, "offset": 5, "d_is_turned": 1}],
    "halves change places": [{"a": 1, "offset": 16, "d_is_turned": 1}],
    "in place": [{"a": 1, "d_is_turned": 1}, {"a_is_turned": 1, "d_is_turned": 1}],
}


def column(words: np.ndarray, bit: int) -> np.uint32:
    return np.uint32(sum(int(word >> bit & 1) << place for place, word in enumerate(words)))


def expected(turns: list[dict[str, Any]]) -> list[int]:
    register = np.arange(STRIP, dtype=np.uint32) * np.uint32(FACTOR)
    words = np.zeros(STRIP, np.uint32)
    for each in turns:
        for step in range(STRIP):
            if each.get("a_is_turned"):
                words[step] = column(words, step)
            else:
                words[step] = register[(step + each.get("offset", 0)) % STRIP]
    return [int(column(words, step)) for step in range(STRIP)]


@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("backend", ["model", "rtl"])
def test_turned_words(name: str, backend: str):
    operations = [
        {"operation": OR, "d": 1, "b_source": Second.X.value},
        {"operation": MULTIPLY, "d": 1, "a": 1, "immediate": FACTOR, **IMMEDIATE},
        *({"operation": OR, **each} for each in TURNS[name]),
        {"operation": ExecuteOpcode.STORE.value, "a_is_turned": 1},
    ]
    commands = [
        *clearing_engines(),
        command(Opcode.STREAM, stream=0, strides=(1, 0, 0)),
        *near(operations, counts=(STRIP, 1, 1)),
        command(Opcode.COPY, is_store=1, line=FIRST_LINE, lines=2),
        command(Opcode.END),
    ]
    with Device(NAMED, backend) as device:
        found = ending(device, program(NAMED.config, assemble(commands)), 0)
    assert found.error == ""
    assert np.frombuffer(found.memory, np.uint32)[:STRIP].tolist() == expected(TURNS[name])
