"""Yosys's files, as it wrote them of small designs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gnarl.sw.runtime.fpga.netlist import DesignMemory, Netlist, read_memories, read_registers

MEMORIES = r"""

  attribute \src "design.v:5041.14-5041.19"
  attribute \gnarl_ram 1
  attribute \hdlname "machine core memory words"
  cell $mem_v2 \machine.core.memory.words
    parameter \MEMID "\\machine.core.memory.words"
    parameter \WIDTH 32
    parameter \SIZE 512
    parameter \RD_PORTS 1
    parameter \WR_PORTS 1
    parameter \INIT 16384'x
    connect \RD_CLK \clk
  end

  attribute \full_case 1
  cell $mem_v2 $flatten\machine.\fetch.$auto$proc_rom.cc:155:do_switch$1273
    parameter \MEMID "$auto$proc_rom.cc:155:do_switch$1273"
    parameter \WIDTH 5
    parameter \SIZE 16
    parameter \WR_PORTS 0
  end

  attribute \hdlname "machine bank_0 words"
  cell $mem_v2 \machine.bank_0.words
    parameter \WIDTH 8
    parameter \SIZE 16
    parameter \WR_PORTS 1
  end
"""


def test_memories_are_those_that_are_written() -> None:
    assert read_memories(MEMORIES) == [
        DesignMemory("machine.bank_0.words", 16, 8, is_ram=False),
        DesignMemory("machine.core.memory.words", 512, 32, is_ram=True),
    ]


def test_a_design_without_memories() -> None:
    assert read_memories("\n\n") == []


def cell(kind: str, outputs: dict[str, list[Any]], inputs: dict[str, list[Any]]) -> dict[str, Any]:
    directions = dict.fromkeys(outputs, "output") | dict.fromkeys(inputs, "input")
    return {"type": kind, "port_directions": directions, "connections": outputs | inputs}


def wire(bits: list[Any]) -> dict[str, Any]:
    return {"hide_name": 0, "bits": bits, "attributes": {}}


NETLIST = Netlist(
    {
        "cells": {
            "misleading_TRELLIS_FF_Q": cell("TRELLIS_FF", {"Q": [2]}, {"DI": [3], "CLK": [9]}),
            "alias_TRELLIS_FF_Q": cell("TRELLIS_FF", {"Q": [10]}, {"DI": [11], "CLK": [9]}),
            "lut": cell("LUT4", {"Z": [3]}, {"A": [2], "B": ["0"]}),
            "other_lut": cell("LUT4", {"Z": [4]}, {"A": [2]}),
            "machine.core.memory.words.0.0": cell("DP16KD", {"DOA0": [5]}, {}),
            "machine.core.memory.words_LUT4_A": cell("LUT4", {"Z": [6]}, {}),
            "machine.core.memory.words.0.1": cell("DP16KD", {"DOA0": [7]}, {}),
        },
        "netnames": {
            "machine.core.count": wire([2, 8]),
            "host_i": wire([2]),
            "machine.core.inner.i": wire([10]),
            "machine.core.o": wire([10]),
            "$auto$1": wire([10]) | {"hide_name": 1},
        },
    },
    read_registers("top/machine.core.count\ntop/machine.core.gone\n"),
)


def test_cells_are_counted() -> None:
    assert NETLIST.counts == Counter({"TRELLIS_FF": 2, "LUT4": 3, "DP16KD": 2})


def test_cells_of_a_memory_are_those_below_its_path() -> None:
    memory = DesignMemory("machine.core.memory.words", 512, 64, is_ram=True)
    assert NETLIST.cells_of(memory) == Counter({"DP16KD": 2})


@pytest.mark.parametrize(
    ("name", "register"),
    [
        ("misleading_TRELLIS_FF_Q", "machine.core.count"),
        ("lut", "machine.core.count"),
        ("alias_TRELLIS_FF_Q", "machine.core.o"),
        ("other_lut", None),
    ],
)
def test_registers_are_called_as_in_the_verilog(name: str, register: str | None) -> None:
    assert NETLIST.register(name) == register
