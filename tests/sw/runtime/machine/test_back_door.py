"""Access to RAMs behind the host port's back: the same words as through the port."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.dpu.memory_map import memory_map as dpu_memory_map
from gnarl.hw.lib.machine.memory_map import MemoryMap, RamMap, Window
from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import memory_map as sam_memory_map
from gnarl.hw.sam.top import build as build_sam
from gnarl.sw.runtime.machine import ram_access
from gnarl.sw.runtime.machine.host import BackDoor, HostDriver, HostError
from gnarl.sw.runtime.machine.ram_access import RamContents
from gnarl.sw.runtime.machine.simulator import SimulationError, Simulator
from gnarl.sw.runtime.machine.verilate import SHIM_FOLDER, run_verilator
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.verilog import verilog
from tests.hw.sam.graphs import graph, small
from tests.support.machines.front_door import FrontDoor
from tests.support.parameters import slow_but
from tests.support.targets import adder

NARROW = {"index_bits": 11, "array_words": 37}
POOL = {"root": 1, "fiberlookup": 1, "fiberwrite": 1, "valwrite": 1}
COPY = graph(
    {
        "root": "root",
        "i": "fiberlookup",
        "vals": "arrayvals",
        "crd": "fiberwrite",
        "x": "valwrite",
    },
    [
        "root.out_ref -> i.ref",
        "i.out_crd -> crd.crd",
        "i.out_ref -> vals.ref",
        "vals.out_val -> x.val",
    ],
)
"""A compressed vector as it is: arrays of one word a row and of two, read and written."""


@dataclass(frozen=True)
class Design:
    """A machine and what its host knows of it."""

    verilog: Callable[[str], str]
    memory_map: MemoryMap
    digest: str


def dpu() -> Design:
    configuration = load_configuration("dpu_d1_b8")
    config: Any = configuration.config
    return Design(lambda _: verilog(configuration), dpu_memory_map(config), config.digest)


def sam(graph: Graph | None, **fields: Any) -> Design:
    config = small(graph, **NARROW, **fields)
    return Design(partial(to_verilog, build_sam(config)), sam_memory_map(config), config.digest)


DESIGNS: dict[str, Callable[[], Design]] = {
    "adder": lambda: Design(partial(to_verilog, adder.Adder()), adder.memory_map(), adder.DIGEST),
    "dpu_d1_b8": dpu,
    "sam": lambda: sam(COPY),
    "sam_shared": lambda: sam(COPY, memory="shared", memory_bandwidth=4),
    "sam_lines": lambda: sam(COPY, memory="lines", memory_channels=4),
    "sam_fabric": lambda: sam(None, fabric=POOL),
}
WITHOUT_RAMS = {"settings", "configuration", "places"}


@dataclass(frozen=True)
class Doors:
    """Two drivers of one machine."""

    simulator: Simulator
    windows: tuple[Window, ...]
    back: HostDriver
    front: HostDriver


def doors(simulator: Simulator, memory_map: MemoryMap, digest: str) -> Doors:
    return Doors(
        simulator,
        memory_map.windows,
        HostDriver(simulator, memory_map, digest),
        HostDriver(FrontDoor(simulator), memory_map, digest),
    )


@pytest.fixture(
    scope="module", params=slow_but(["adder", "dpu_d1_b8", "sam_shared", "sam_lines"], DESIGNS)
)
def machine(request: pytest.FixtureRequest) -> Iterator[Doors]:
    design = DESIGNS[request.param]()
    with Simulator(design.verilog(request.param), request.param) as simulator:
        yield doors(simulator, design.memory_map, design.digest)


@pytest.fixture(scope="module")
def adder_verilog() -> str:
    return to_verilog(adder.Adder(), "adder")


@pytest.fixture
def adders(adder_verilog: str) -> Iterator[Doors]:
    with Simulator(adder_verilog, "adder") as simulator:
        yield doors(simulator, adder.memory_map(), adder.DIGEST)


def random_rows(window: Window, rows: int, seed: int) -> np.ndarray:
    """Random rows of all bits: the largest word is among them."""
    random = np.random.default_rng([seed, *window.name.encode()])
    words = random.integers(0, 1 << window.word_bits, (rows, window.words), np.uint32)
    words[0, 0] = (1 << window.word_bits) - 1
    return words


def refused(text: str, kind: type[HostError] = HostError) -> pytest.RaisesExc[HostError]:
    return pytest.raises(kind, match=f"^{re.escape(text)}$")


def test_all_windows_but_registers_have_rams(machine: Doors) -> None:
    assert {window.name for window in machine.windows if not window.rams} <= WITHOUT_RAMS
    assert any(window.rams for window in machine.windows)


@pytest.mark.parametrize("writes, reads", [("front", "back"), ("back", "front")])
def test_words_written_by_one_door_are_read_by_the_other(
    machine: Doors, writes: str, reads: str
) -> None:
    writer, reader = getattr(machine, writes), getattr(machine, reads)
    memories = [window for window in machine.windows if window.rams]
    # All windows are written before any is read: none overlaps another.
    for window in memories:
        writer.write_window(window.name, random_rows(window, window.rows, len(writes)))
    for window in memories:
        found = reader.read_window(window.name, 0, window.rows)
        assert found.dtype == np.uint32
        assert (found == random_rows(window, window.rows, len(writes))).all(), window.name


def test_some_rows_leave_the_others_as_they_are(machine: Doors) -> None:
    for window in (window for window in machine.windows if window.rams):
        expected = random_rows(window, window.rows, 1)
        machine.front.write_window(window.name, expected)
        for first in range(min(6, window.rows)):
            rows = min(window.rows - first, 5 * first + 1)
            part = random_rows(window, rows, 2 + first)
            machine.back.write_window(window.name, part, first)
            expected[first : first + rows] = part
            assert (machine.back.read_window(window.name, first, rows) == part).all()
        assert (machine.front.read_window(window.name, 0, window.rows) == expected).all()


def test_registers_are_accessed_through_the_port(machine: Doors) -> None:
    for window in (window for window in machine.windows if not window.rams):
        machine.back.write_window(window.name, np.ones((window.rows, 1), int))
        found = machine.back.read_window(window.name, 0, window.rows)
        assert (found == machine.front.read_window(window.name, 0, window.rows)).all()


def test_both_doors_refuse_rows_beyond_the_last(machine: Doors) -> None:
    for window in machine.windows:
        words = np.zeros((2, window.words), int)
        asked = f"asked for {window.rows - 1} to {window.rows}"
        text = f"window {window.name}: has rows 0 to {window.rows - 1}, {asked}"
        for driver in (machine.back, machine.front):
            with refused(text):
                driver.write_window(window.name, words, window.rows - 1)
            with refused(text):
                driver.read_window(window.name, window.rows - 1, 2)


def test_both_doors_refuse_words_that_do_not_fit(machine: Doors) -> None:
    for window in (window for window in machine.windows if window.rams):
        largest = (1 << window.word_bits) - 1
        before = machine.front.read_window(window.name, 0, 1)
        words = np.full((1, window.words), largest + 1, np.int64)
        text = f"window {window.name}: words must be whole numbers from 0 to "
        for driver in (machine.back, machine.front):
            with refused(f"{text}2**{window.word_bits} - 1"):
                driver.write_window(window.name, words)
        assert (machine.front.read_window(window.name, 0, 1) == before).all()


def test_both_doors_are_refused_while_busy(adders: Doors) -> None:
    text = "window table: its memory cannot be accessed while the accelerator is busy"
    table = random_rows(adders.windows[0], adder.ROWS, 0)
    table[:, 0] = 0
    adders.back.write_window("table", table)
    adders.back.start()
    for driver in (adders.back, adders.front):
        with refused(text):
            driver.write_window("table", np.zeros((1, adder.WORDS), int))
        with refused(text):
            driver.read_window("table", 0, 1)
    assert adders.back.wait(10 * adder.CYCLES).done
    assert (adders.back.read_window("table", 0, adder.ROWS) == adder.expected(table)).all()


def test_a_run_is_the_same_by_both_doors(adders: Doors) -> None:
    table = random_rows(adders.windows[0], adder.ROWS, 0)
    table[:, 0] = 0
    for driver in (adders.front, adders.back):
        driver.write_window("table", table)
        assert driver.run(10 * adder.CYCLES).done
        assert driver.cycles() == adder.CYCLES
        assert (driver.read_window("table", 0, adder.ROWS) == adder.expected(table)).all()


def test_the_back_door_takes_no_cycles(adders: Doors) -> None:
    table = adders.windows[0]
    assert isinstance(adders.simulator, BackDoor)
    before = adders.simulator.cycles
    adders.simulator.poke(table, 1, random_rows(table, 7, 0))
    assert (adders.simulator.peek(table, 1, 7) == random_rows(table, 7, 0)).all()
    assert adders.simulator.cycles == before


def test_no_rows_are_no_access(adders: Doors) -> None:
    for row in (0, adder.ROWS):
        adders.back.write_window("table", np.empty((0, adder.WORDS), int), row)
        assert adders.back.read_window("table", row, 0).shape == (0, adder.WORDS)


def test_an_instance_that_does_not_exist_is_named(adders: Doors) -> None:
    window = dataclasses.replace(adders.windows[0], rams=RamMap((("table.word_0", "tables", "x"),)))
    with refused("adder: no RAM at tables", SimulationError):
        adders.simulator.peek(window, 0, 1)


def test_a_closed_simulation_is_refused(adder_verilog: str) -> None:
    simulator = Simulator(adder_verilog, "adder")
    window = adder.memory_map().windows[0]
    words = simulator.peek(window, 0, 1)
    simulator.close()
    with refused("adder: the simulation was closed", SimulationError):
        simulator.peek(window, 0, 1)
    with refused("adder: the simulation was closed", SimulationError):
        simulator.poke(window, 0, words)


ROWS = 13
SHAPES = [(3, 8), (2, 16), (3, 16), (2, 32), (3, 32), (4, 32), (1, 13)]
"""Words of a row in one RAM, and bits of a word."""

RAM = """
module ram_{rows}x{width}(input clk, input [3:0] address, input write, input [{width}-1:0] data);
  reg [{width}-1:0] words [{rows}-1:0];
  always @(posedge clk) if (write) words[address] <= data;
endmodule
"""

BANKS = """
  ram_{rows}x{width} even_{width}(clk, data[3:0], 1'b0, data[{width}-1:0]);
  ram_{rows}x{width} odd_{width}(clk, data[3:0], 1'b0, data[{width}-1:0]);
"""

WIDE = """
module wide(
  input clk, input rst, input host__request__valid, input [63:0] host__request__payload,
  input host__response__ready, output host__request__ready, output host__response__valid,
  output [31:0] host__response__payload);
  assign host__request__ready = 1;
  assign host__response__valid = 0;
  assign host__response__payload = 0;
  wire [127:0] data = {2{host__request__payload}};
"""
"""A design whose port never answers; with banks of RAMs that nothing writes or reads."""


@pytest.fixture(scope="module")
def wide() -> Iterator[Simulator]:
    shapes = [{"rows": ROWS, "width": words * bits} for words, bits in SHAPES]
    rams = "".join(RAM.format(**shape) for shape in shapes)
    banks = "".join(BANKS.format(**shape) for shape in shapes)
    with Simulator(f"{rams}{WIDE}{banks}endmodule\n", "wide") as simulator:
        yield simulator


@pytest.mark.parametrize("words, word_bits", SHAPES)
def test_a_ram_may_hold_several_words_of_a_row(wide: Simulator, words: int, word_bits: int) -> None:
    banks = ((f"even_{words * word_bits}",), (f"odd_{words * word_bits}",))
    window = Window("w", 2 * ROWS - 3, words, word_bits, RamMap(banks, first_row=3))
    table = random_rows(window, window.rows, 0)
    wide.poke(window, 0, table)
    assert (wide.peek(window, 0, window.rows) == table).all()
    # Row 3 of the banks is row 0 of the window: in the odd bank at address 1.
    even, odd = (
        wide.peek(Window("x", ROWS, words, word_bits, RamMap((bank,))), 0, ROWS) for bank in banks
    )
    assert (even[2:] == table[1::2]).all() and not even[:2].any()
    assert (odd[1:] == table[::2]).all() and not odd[:1].any()


def test_blocks_of_rows_are_the_same_words(machine: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ram_access, "_BLOCK_WORDS", 7)
    for window in (window for window in machine.windows if window.rams):
        rows = random_rows(window, window.rows - 1, 9)
        machine.back.write_window(window.name, rows, 1)
        assert (machine.back.read_window(window.name, 1, len(rows)) == rows).all()
        assert (machine.front.read_window(window.name, 1, len(rows)) == rows).all()


def test_words_lie_in_the_octets_of_a_row_lowest_first() -> None:
    octets = np.arange(1, 17, dtype=np.uint8).reshape(2, 8)
    contents = RamContents(octets, 48)
    assert contents.words(3, 16).tolist() == [[0x0201, 0x0403, 0x0605], [0x0A09, 0x0C0B, 0x0E0D]]
    assert contents.words(6, 8).tolist() == octets[:, :6].tolist()
    assert contents.words(1, 20).tolist() == [[0x04030201], [0x0C0B0A09]]


@pytest.mark.parametrize("words, word_bits", [(2, 32), (4, 13), (3, 10), (49, 1)])
def test_words_that_rows_do_not_hold_are_refused(words: int, word_bits: int) -> None:
    text = f"{words} words of {word_bits} bits in a RAM of 48 bits a row"
    with pytest.raises(ValueError, match=f"^{text}$"):
        RamContents(np.zeros((2, 8), np.uint8), 48).words(words, word_bits)


def test_the_back_door_costs_the_simulation_nothing(tmp_path: Path) -> None:
    (tmp_path / "top.v").write_text(dpu().verilog("dpu_d1_b8"))
    code = []
    for opened in ([], [str(SHIM_FOLDER / "rams.vlt")]):
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        flags = [
            "--cc",
            "--top-module",
            "dpu_d1_b8",
            "--prefix",
            "Vtop",
            "--Mdir",
            ".",
            "-Wno-fatal",
        ]
        assert run_verilator([*flags, *opened, "../top.v"], folder).returncode == 0
        code.append({path.name: path.read_text() for path in folder.glob("Vtop___024root*")})
    # All that is evaluated in a cycle; only tables of names are added elsewhere.
    assert code[0] == code[1]
    assert len(code[0]) > 3
